/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backing.h: the devices that store the bytes of a file after msync has returned: disks, memory, or
 * a file system or device that this library does not know.
 *
 * Tests: tests/unit/pmem/backing_test.cpp, tests/tools/media_test
 */
#ifndef RPMI_BACKING_H
#define RPMI_BACKING_H

#include <librpm/facts.h>
#include <sys/types.h>

struct rpmi_backing {
    enum rpm_medium medium; /* FILE: disks. TMPFS: memory. UNKNOWN: see why */
    char why[160];          /* of UNKNOWN: the reason, "it lies on ..."; else "" */
};

/* Walk from an open file or directory through overlays, loop devices and device mapper. */
void rpmi_backing_of(int fd, struct rpmi_backing *backing);

/* The same for a block device. @devices: the directory of sysfs that lists all block devices,
 * "/sys/dev/block". */
void rpmi_backing_of_device(const char *devices, dev_t dev, struct rpmi_backing *backing);

#endif
