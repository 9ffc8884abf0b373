// SPDX-License-Identifier: BSD-3-Clause
// descriptors.h: how many file descriptors this process has open, to find leaked ones.
#ifndef TESTS_SUPPORT_DESCRIPTORS_H
#define TESTS_SUPPORT_DESCRIPTORS_H

#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <unistd.h>

// Without pipes: librpm opens none, and a sanitizer opens two when it starts its symbolizer, at any
// time. Counts its own descriptor and two directory entries too: only the difference of two calls
// is of use.
inline int open_descriptors()
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    if (dir == nullptr)
        abort();
    while (const dirent *entry = readdir(dir)) {
        char target[8] = {};

        (void)!readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
        n += strncmp(target, "pipe:", 5) != 0;
    }
    closedir(dir);
    return n;
}

#endif
