/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hello.c: the hello of shm:, and the accept message of every handshake.
 *
 * Invariants
 *   magic and version have the same offsets in every version of the protocol, so that client and
 *     server of different versions report the mismatch instead of misreading each other
 *   each field of the facts is encoded by itself: the struct in memory may grow, the message may
 *     not
 *
 * Format: FORMAT.md, section 6.   Tests: tests/unit/wire/hello_test.cpp
 */
#include "wire/hello.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/layout.h"
#include "wire/prefix.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define HELLO_MAGIC 0x4f4c4c45484d5052ull  /* "RPMHELLO" */
#define ACCEPT_MAGIC 0x4d434c45574d5052ull /* "RPMWELCM" */

#define FACTS 14

/* A server says nothing of RPM_METHOD_ORDER, which depends on the client's agent. */
#define METHODS_END (1u << RPM_METHOD_ORDER)

static const struct rpmi_field HELLO_FIELDS[] = {
    RPMI_OWN(RPMI_PREFIX_AT_MAGIC, 8, "magic"),
    RPMI_NUMBER(RPMI_PREFIX_AT_VERSION, struct rpmi_hello, version),
    RPMI_NUMBER(12, struct rpmi_hello, mode),
    RPMI_NUMBER(16, struct rpmi_hello, depth),
    RPMI_NUMBER(24, struct rpmi_hello, staging_bytes),
    RPMI_TEXT(32, struct rpmi_hello, secret),
};

static const struct rpmi_field ACCEPT_FIELDS[] = {
    RPMI_OWN(RPMI_PREFIX_AT_MAGIC, 8, "magic"),
    RPMI_NUMBER(RPMI_PREFIX_AT_VERSION, struct rpmi_accept, version),
    RPMI_NUMBER(12, struct rpmi_accept, status),
    RPMI_NUMBER(16, struct rpmi_accept, mode),
    RPMI_NUMBER(20, struct rpmi_accept, client),
    RPMI_NUMBER(24, struct rpmi_accept, server_epoch),
    RPMI_NUMBER(28, struct rpmi_accept, depth),
    RPMI_NUMBER(32, struct rpmi_accept, staging_bytes),
    RPMI_NUMBER(40, struct rpmi_accept, pool_bytes),
    RPMI_NUMBER(48, struct rpmi_accept, dram_bytes),
    RPMI_NUMBER(56, struct rpmi_accept, facts.medium),
    RPMI_NUMBER(60, struct rpmi_accept, facts.domain),
    RPMI_NUMBER(64, struct rpmi_accept, facts.domain_declared),
    RPMI_NUMBER(68, struct rpmi_accept, facts.ddio),
    RPMI_NUMBER(72, struct rpmi_accept, facts.native_flush),
    RPMI_NUMBER(76, struct rpmi_accept, facts.atomic_write),
    RPMI_NUMBER(80, struct rpmi_accept, facts.memory_window),
    RPMI_NUMBER(84, struct rpmi_accept, facts.granularity_bytes),
    RPMI_NUMBER(88, struct rpmi_accept, facts.line_bytes),
    RPMI_NUMBER(92, struct rpmi_accept, facts.methods),
    RPMI_NUMBER(96, struct rpmi_accept, facts.memory_node),
    RPMI_NUMBER(100, struct rpmi_accept, facts.port_node),
    RPMI_NUMBER(104, struct rpmi_accept, facts.modelled),
    RPMI_NUMBER(108, struct rpmi_accept, steps),
    RPMI_TEXT(112, struct rpmi_accept, text),
    RPMI_NUMBER(272, struct rpmi_accept, facts.pool_starts),
};

const struct rpmi_layout rpmi_hello_layout = RPMI_LAYOUT("hello", HELLO_FIELDS, RPMI_HELLO_BYTES);
const struct rpmi_layout rpmi_accept_layout =
    RPMI_LAYOUT("accept", ACCEPT_FIELDS, RPMI_ACCEPT_BYTES);

static const struct rpmi_prefix HELLO = { HELLO_MAGIC, RPMI_PROTOCOL_VERSION, "a hello",
                                          "protocol" };
static const struct rpmi_prefix ACCEPT = { ACCEPT_MAGIC, RPMI_PROTOCOL_VERSION, "an accept message",
                                           "protocol" };

/* A field added to struct rpm_facts is added to the message too, or left out on purpose here. */
_Static_assert(sizeof(struct rpm_facts) == (sizeof(size_t) + 4 * FACTS + _Alignof(size_t) - 1) /
                                               _Alignof(size_t) * _Alignof(size_t),
               "every fact is exchanged");

static bool facts_are_sound(const struct rpm_facts *facts);
static bool accept_is_sound(const struct rpmi_accept *accepted);

void rpmi_hello_put(void *bytes, const struct rpmi_hello *hello)
{
    RPM_ASSERT(hello->mode <= RPMI_MODE_RING);
    rpmi_layout_put(&rpmi_hello_layout, bytes, hello);
    rpmi_store64(bytes, HELLO_MAGIC);
}

int rpmi_hello_get(const void *bytes, size_t len, struct rpmi_hello *hello)
{
    struct rpmi_hello found;
    const char *wrong;
    int err = rpmi_prefix_check(&HELLO, bytes, len);

    if (err != 0)
        return err;
    if (len != RPMI_HELLO_BYTES)
        return rpmi_fail(RPM_E_PROTO, "a hello of %zu bytes, expected are %u", len,
                         RPMI_HELLO_BYTES);
    wrong = rpmi_layout_get(&rpmi_hello_layout, bytes, &found);
    if (wrong != NULL)
        return rpmi_fail(RPM_E_PROTO, "a hello with %s", wrong);
    if (found.mode > RPMI_MODE_RING)
        return rpmi_fail(RPM_E_PROTO, "a hello asks for mode %" PRIu32 ", expected is 0 to %d",
                         found.mode, RPMI_MODE_RING);
    *hello = found;
    return 0;
}

void rpmi_accept_put(void *bytes, const struct rpmi_accept *accepted)
{
    RPM_ASSERT(accept_is_sound(accepted));
    rpmi_layout_put(&rpmi_accept_layout, bytes, accepted);
    rpmi_store64(bytes, ACCEPT_MAGIC);
}

int rpmi_accept_get(const void *bytes, size_t len, struct rpmi_accept *accepted)
{
    struct rpmi_accept found = { .facts.size = sizeof(found.facts) };
    const char *wrong;
    int err = rpmi_prefix_check(&ACCEPT, bytes, len);

    if (err != 0)
        return err;
    if (len != RPMI_ACCEPT_BYTES)
        return rpmi_fail(RPM_E_PROTO, "an accept message of %zu bytes, expected are %u", len,
                         RPMI_ACCEPT_BYTES);
    wrong = rpmi_layout_get(&rpmi_accept_layout, bytes, &found);
    if (wrong != NULL)
        return rpmi_fail(RPM_E_PROTO, "an accept message with %s", wrong);
    if (!accept_is_sound(&found))
        return rpmi_fail(RPM_E_PROTO, "an accept message with fields out of bounds");
    *accepted = found;
    return 0;
}

static bool facts_are_sound(const struct rpm_facts *facts)
{
    return facts->medium <= RPM_MEDIUM_DEVDAX && facts->domain <= RPM_DOMAIN_EADR &&
           facts->domain_declared <= 1 && facts->ddio <= RPM_YES &&
           facts->native_flush <= RPM_YES && facts->atomic_write <= RPM_YES &&
           facts->memory_window <= RPM_YES && facts->methods < METHODS_END &&
           facts->memory_node >= -1 && facts->port_node >= -1 && facts->modelled <= 1;
}

/* Of a refusal only status and text count; a grant has a client and a mode. */
static bool accept_is_sound(const struct rpmi_accept *accepted)
{
    if (accepted->status > 0 || accepted->status < -RPMI_ERRNO_MAX ||
        accepted->mode > RPMI_MODE_RING)
        return false;
    if (!facts_are_sound(&accepted->facts))
        return false;
    return accepted->status != 0 || (accepted->client != 0 && accepted->server_epoch != 0 &&
                                     accepted->mode != RPMI_MODE_AUTO);
}
