/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prefix.h: the first 12 bytes of each message of a handshake: which message it is, and the version
 * of its protocol. They have the same offsets in every version, and are checked before anything
 * else: a client and a server of different versions report the mismatch instead of misreading each
 * other.
 *
 * Format: FORMAT.md, sections 6 and 9.   Tests: tests/unit/wire/prefix_test.cpp
 */
#ifndef RPMI_PREFIX_H
#define RPMI_PREFIX_H

#include <stddef.h>
#include <stdint.h>

#define RPMI_PREFIX_AT_MAGIC 0
#define RPMI_PREFIX_AT_VERSION 8
#define RPMI_PREFIX_BYTES 12

/* Its fields in the table of a message (layout.h) whose codec writes both. */
#define RPMI_PREFIX_FIELDS                                                                         \
    RPMI_OWN(RPMI_PREFIX_AT_MAGIC, 8, "magic"), RPMI_OWN(RPMI_PREFIX_AT_VERSION, 4, "version")

struct rpmi_prefix {
    uint64_t magic;
    uint32_t version;     /* of this side */
    const char *message;  /* for errors: "a hello" */
    const char *protocol; /* "handshake" */
};

void rpmi_prefix_put(const struct rpmi_prefix *prefix, void *bytes);

/* RPM_E_PROTO: another message, or fewer than RPMI_PREFIX_BYTES. RPM_E_VERSION: the other side has
 * another version. */
int rpmi_prefix_check(const struct rpmi_prefix *prefix, const void *bytes, size_t len);

#endif
