/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts.h: how the file system of an open file is mounted, from /proc/self/mountinfo.
 *
 * Tests: tests/unit/pmem/mounts_test.cpp, tests/tools/media_test
 */
#ifndef RPMI_MOUNTS_H
#define RPMI_MOUNTS_H

#include <stdbool.h>

struct rpmi_mount {
    char type[32];      /* "ext4" */
    char point[512];    /* path of the mount point in this mount namespace */
    char root[512];     /* the directory of the file system that is mounted there */
    char options[1024]; /* of the file system, comma-separated */
};

/* Of an open file or directory. 0, or -1: it cannot be read. */
int rpmi_mount_of(int fd, struct rpmi_mount *mount);

/* One line of mountinfo. 0, or -1: it is not such a line, or a field is too long for @mount. */
int rpmi_mount_parse(const char *line, struct rpmi_mount *mount);

/* Is there such an option, the whole word? */
bool rpmi_mount_has(const struct rpmi_mount *mount, const char *option);

/* Open for reading the file in the upper layer of the overlay that holds @fd; -1: there is none, or
 * another file is there. */
int rpmi_mount_open_upper(int fd);

#endif
