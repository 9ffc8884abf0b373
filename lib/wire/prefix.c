/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prefix.c: write and check magic and version of a message. See prefix.h.
 *
 * Tests: tests/unit/wire/prefix_test.cpp
 */
#include "wire/prefix.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"

#include <inttypes.h>

void rpmi_prefix_put(const struct rpmi_prefix *prefix, void *bytes)
{
    unsigned char *to = bytes;

    RPM_ASSERT(prefix->magic != 0 && prefix->version != 0);
    rpmi_store64(to + RPMI_PREFIX_AT_MAGIC, prefix->magic);
    rpmi_store32(to + RPMI_PREFIX_AT_VERSION, prefix->version);
}

int rpmi_prefix_check(const struct rpmi_prefix *prefix, const void *bytes, size_t len)
{
    const unsigned char *from = bytes;
    uint32_t version;

    RPM_ASSERT(prefix->magic != 0 && prefix->version != 0);
    if (len < RPMI_PREFIX_BYTES || rpmi_load64(from + RPMI_PREFIX_AT_MAGIC) != prefix->magic)
        return rpmi_fail(RPM_E_PROTO, "the other side's message is not %s", prefix->message);
    version = rpmi_load32(from + RPMI_PREFIX_AT_VERSION);
    if (version != prefix->version)
        return rpmi_fail(RPM_E_VERSION,
                         "the other side has %s version %" PRIu32 ", this side version %" PRIu32
                         ": update the older librpm",
                         prefix->protocol, version, prefix->version);
    return 0;
}
