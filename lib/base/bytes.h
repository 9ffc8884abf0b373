/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytes.h: little-endian load and store, and alignment of 64-bit values.
 */
#ifndef RPMI_BYTES_H
#define RPMI_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t rpmi_load64(const void *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof(value));
    return le64toh(value);
}

static inline uint32_t rpmi_load32(const void *from)
{
    uint32_t value;

    memcpy(&value, from, sizeof(value));
    return le32toh(value);
}

static inline uint16_t rpmi_load16(const void *from)
{
    uint16_t value;

    memcpy(&value, from, sizeof(value));
    return le16toh(value);
}

static inline void rpmi_store64(void *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof(value));
}

static inline void rpmi_store32(void *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof(value));
}

static inline void rpmi_store16(void *to, uint16_t value)
{
    value = htole16(value);
    memcpy(to, &value, sizeof(value));
}

/* @align is a power of two. The caller has checked that nothing overflows. */
static inline uint64_t rpmi_align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

static inline uint64_t rpmi_align_down(uint64_t value, uint64_t align)
{
    return value & ~(align - 1);
}

static inline bool rpmi_is_aligned(uint64_t value, uint64_t align)
{
    return (value & (align - 1)) == 0;
}

/* Is [offset, offset + len) inside [0, bytes)? Never overflows. */
static inline bool rpmi_in_bounds(uint64_t offset, uint64_t len, uint64_t bytes)
{
    return offset <= bytes && len <= bytes - offset;
}

#endif
