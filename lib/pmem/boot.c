/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * boot.c: read the boot id of the kernel.
 *
 * Tests: tests/unit/pmem/boot_test.cpp
 */
#include "pmem/boot.h"

#include "base/assert.h"
#include "pmem/sysfs.h"

#define UUID_DIGITS 32
#define USED_DIGITS 16

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

uint64_t rpmi_boot_id(const char *path)
{
    char line[64];
    uint64_t id = 0;
    int digits = 0;

    RPM_ASSERT(path != NULL);
    if (rpmi_sysfs_line(path, line, sizeof(line)) < 0)
        return 0;
    for (const char *at = line; *at != '\0'; at++) {
        int digit = digit_of(*at);

        if (*at == '-')
            continue;
        if (digit < 0)
            return 0;
        if (digits++ < USED_DIGITS)
            id = id << 4 | (uint64_t)digit;
    }
    return digits == UUID_DIGITS ? id : 0;
}
