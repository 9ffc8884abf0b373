/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sysfs.h: small text files, such as those in sysfs, in which the kernel reports facts.
 *
 * Tests: tests/unit/pmem/sysfs_test.cpp
 */
#ifndef RPMI_SYSFS_H
#define RPMI_SYSFS_H

#include <stddef.h>

/* The first line of a small text file. Length, or -1. */
int rpmi_sysfs_line(const char *path, char *line, size_t bytes);

#endif
