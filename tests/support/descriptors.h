// SPDX-License-Identifier: BSD-3-Clause
// descriptors.h: how many file descriptors this process has open, to find leaked ones.
#ifndef TESTS_SUPPORT_DESCRIPTORS_H
#define TESTS_SUPPORT_DESCRIPTORS_H

#include <cstdlib>
#include <dirent.h>

// Counts its own descriptor and two directory entries too: only the difference of two calls is of
// use.
inline int open_descriptors()
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    if (dir == nullptr)
        abort();
    while (readdir(dir) != nullptr)
        n++;
    closedir(dir);
    return n;
}

#endif
