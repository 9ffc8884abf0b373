/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sysfs.c: read the small text files in which the kernel reports facts.
 *
 * Tests: tests/unit/pmem/sysfs_test.cpp
 */
#include "pmem/sysfs.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int rpmi_sysfs_line(const char *path, char *line, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        return -1;
    got = read(fd, line, bytes - 1);
    (void)close(fd);
    if (got < 0)
        return -1;
    line[got] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return (int)strlen(line);
}
