/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * boot.h: an id of the machine's boot. After another boot, memory that does not survive a power
 * loss may have lost its contents.
 *
 * Tests: tests/unit/pmem/boot_test.cpp
 */
#ifndef RPMI_BOOT_H
#define RPMI_BOOT_H

#include <stdint.h>

#define RPMI_BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"

/* The first 8 bytes of the boot id in the file @path, a random UUID; 0: it cannot be read. */
uint64_t rpmi_boot_id(const char *path);

#endif
