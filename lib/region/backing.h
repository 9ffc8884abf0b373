/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backing.h: what the bytes of a file end on when msync has returned: a disk, memory, or something
 * that this library does not know.
 *
 * Tests: tests/unit/region/backing_test.cpp, tests/tools/media_test
 */
#ifndef RPMI_BACKING_H
#define RPMI_BACKING_H

#include <librpm/facts.h>
#include <sys/types.h>

struct rpmi_backing {
    enum rpm_medium medium; /* FILE: disks. TMPFS: memory. UNKNOWN: see why */
    char why[160];          /* "it lies on ..." of one that is unknown; else "" */
};

/* Walk from an open file or directory through overlays, loop devices and device mapper. */
void rpmi_backing_of(int fd, struct rpmi_backing *backing);

/* The same from a block device on; @devices is where sysfs lists them, "/sys/dev/block". */
void rpmi_backing_of_device(const char *devices, dev_t dev, struct rpmi_backing *backing);

#endif
