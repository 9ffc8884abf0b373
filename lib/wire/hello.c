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
#include "wire/field.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define HELLO_MAGIC 0x4f4c4c45484d5052ull  /* "RPMHELLO" */
#define ACCEPT_MAGIC 0x4d434c45574d5052ull /* "RPMWELCM" */
#define AT_VERSION 8
#define PREFIX_BYTES 12 /* magic and version */

#define HELLO_AT_MODE 12
#define HELLO_AT_DEPTH 16
#define HELLO_AT_ZERO 20
#define HELLO_AT_STAGING 24
#define HELLO_AT_SECRET 32
#define HELLO_AT_REST 160

#define ACCEPT_AT_STATUS 12
#define ACCEPT_AT_MODE 16
#define ACCEPT_AT_CLIENT 20
#define ACCEPT_AT_EPOCH 24
#define ACCEPT_AT_DEPTH 28
#define ACCEPT_AT_STAGING 32
#define ACCEPT_AT_POOL 40
#define ACCEPT_AT_DRAM 48
#define ACCEPT_AT_FACTS 56
#define ACCEPT_AT_ZERO 108
#define ACCEPT_AT_TEXT 112
#define ACCEPT_AT_REST 272

#define FACTS 13
#define ERRNO_MAX 4095

_Static_assert(HELLO_AT_SECRET + RPMI_SECRET_BYTES == HELLO_AT_REST, "a secret fits its field");
_Static_assert(HELLO_AT_REST < RPMI_HELLO_BYTES, "a hello has room left");
_Static_assert(ACCEPT_AT_FACTS + 4 * FACTS == ACCEPT_AT_ZERO, "facts fit their field");
_Static_assert(ACCEPT_AT_TEXT + RPMI_ACCEPT_TEXT_BYTES == ACCEPT_AT_REST, "a text fits");
_Static_assert(ACCEPT_AT_REST < RPMI_ACCEPT_BYTES, "an accept message has room left");
/* A field added to struct rpm_facts is added to the message too, or left out on purpose here. */
_Static_assert(sizeof(struct rpm_facts) == (sizeof(size_t) + 4 * FACTS + _Alignof(size_t) - 1) /
                                               _Alignof(size_t) * _Alignof(size_t),
               "every fact is exchanged");

static int prefix_get(const unsigned char *from, size_t len, uint64_t magic, const char *what);
static void facts_put(unsigned char *to, const struct rpm_facts *facts);
static bool facts_get(const unsigned char *from, struct rpm_facts *facts);
static bool facts_are_sound(const struct rpm_facts *facts);
static bool accept_is_sound(const struct rpmi_accept *accepted);

void rpmi_hello_put(void *bytes, const struct rpmi_hello *hello)
{
    unsigned char *to = bytes;

    RPM_ASSERT(hello->mode <= RPMI_MODE_RING);
    memset(to, 0, RPMI_HELLO_BYTES);
    rpmi_store64(to, HELLO_MAGIC);
    rpmi_store32(to + AT_VERSION, hello->version);
    rpmi_store32(to + HELLO_AT_MODE, hello->mode);
    rpmi_store32(to + HELLO_AT_DEPTH, hello->depth);
    rpmi_store64(to + HELLO_AT_STAGING, hello->staging_bytes);
    rpmi_text_put(to + HELLO_AT_SECRET, RPMI_SECRET_BYTES, hello->secret);
}

int rpmi_hello_get(const void *bytes, size_t len, struct rpmi_hello *hello)
{
    const unsigned char *from = bytes;
    struct rpmi_hello found = { .version = RPMI_PROTOCOL_VERSION };
    int err = prefix_get(from, len, HELLO_MAGIC, "hello");

    if (err != 0)
        return err;
    if (len != RPMI_HELLO_BYTES)
        return rpmi_fail(RPM_E_PROTO, "a hello has %u bytes, not %zu", RPMI_HELLO_BYTES, len);
    found.mode = rpmi_load32(from + HELLO_AT_MODE);
    found.depth = rpmi_load32(from + HELLO_AT_DEPTH);
    found.staging_bytes = rpmi_load64(from + HELLO_AT_STAGING);
    if (found.mode > RPMI_MODE_RING)
        return rpmi_fail(RPM_E_PROTO, "a hello that wishes for mode %" PRIu32, found.mode);
    if (!rpmi_text_get(from + HELLO_AT_SECRET, RPMI_SECRET_BYTES, found.secret))
        return rpmi_fail(RPM_E_PROTO, "a hello with an unterminated secret");
    if (rpmi_load32(from + HELLO_AT_ZERO) != 0 ||
        !rpmi_all_zero(from + HELLO_AT_REST, RPMI_HELLO_BYTES - HELLO_AT_REST))
        return rpmi_fail(RPM_E_PROTO, "a hello with reserved bytes in use");
    *hello = found;
    return 0;
}

void rpmi_accept_put(void *bytes, const struct rpmi_accept *accepted)
{
    unsigned char *to = bytes;

    RPM_ASSERT(accept_is_sound(accepted));
    memset(to, 0, RPMI_ACCEPT_BYTES);
    rpmi_store64(to, ACCEPT_MAGIC);
    rpmi_store32(to + AT_VERSION, accepted->version);
    rpmi_store32(to + ACCEPT_AT_STATUS, (uint32_t)accepted->status);
    rpmi_store32(to + ACCEPT_AT_MODE, accepted->mode);
    rpmi_store32(to + ACCEPT_AT_CLIENT, accepted->client);
    rpmi_store32(to + ACCEPT_AT_EPOCH, accepted->server_epoch);
    rpmi_store32(to + ACCEPT_AT_DEPTH, accepted->depth);
    rpmi_store64(to + ACCEPT_AT_STAGING, accepted->staging_bytes);
    rpmi_store64(to + ACCEPT_AT_POOL, accepted->pool_bytes);
    rpmi_store64(to + ACCEPT_AT_DRAM, accepted->dram_bytes);
    facts_put(to + ACCEPT_AT_FACTS, &accepted->facts);
    rpmi_text_put(to + ACCEPT_AT_TEXT, RPMI_ACCEPT_TEXT_BYTES, accepted->text);
}

int rpmi_accept_get(const void *bytes, size_t len, struct rpmi_accept *accepted)
{
    const unsigned char *from = bytes;
    struct rpmi_accept found = { .version = RPMI_PROTOCOL_VERSION };
    int err = prefix_get(from, len, ACCEPT_MAGIC, "accept");

    if (err != 0)
        return err;
    if (len != RPMI_ACCEPT_BYTES)
        return rpmi_fail(RPM_E_PROTO, "an accept message has %u bytes, not %zu", RPMI_ACCEPT_BYTES,
                         len);
    found.status = (int32_t)rpmi_load32(from + ACCEPT_AT_STATUS);
    found.mode = rpmi_load32(from + ACCEPT_AT_MODE);
    found.client = rpmi_load32(from + ACCEPT_AT_CLIENT);
    found.server_epoch = rpmi_load32(from + ACCEPT_AT_EPOCH);
    found.depth = rpmi_load32(from + ACCEPT_AT_DEPTH);
    found.staging_bytes = rpmi_load64(from + ACCEPT_AT_STAGING);
    found.pool_bytes = rpmi_load64(from + ACCEPT_AT_POOL);
    found.dram_bytes = rpmi_load64(from + ACCEPT_AT_DRAM);
    if (!rpmi_text_get(from + ACCEPT_AT_TEXT, RPMI_ACCEPT_TEXT_BYTES, found.text))
        return rpmi_fail(RPM_E_PROTO, "an accept message with an unterminated text");
    if (!facts_get(from + ACCEPT_AT_FACTS, &found.facts) || !accept_is_sound(&found))
        return rpmi_fail(RPM_E_PROTO, "an accept message with fields out of bounds");
    if (rpmi_load32(from + ACCEPT_AT_ZERO) != 0 ||
        !rpmi_all_zero(from + ACCEPT_AT_REST, RPMI_ACCEPT_BYTES - ACCEPT_AT_REST))
        return rpmi_fail(RPM_E_PROTO, "an accept message with reserved bytes in use");
    *accepted = found;
    return 0;
}

/* The length is judged after the version: another version may have another length. */
static int prefix_get(const unsigned char *from, size_t len, uint64_t magic, const char *what)
{
    uint32_t version;

    if (len < PREFIX_BYTES || rpmi_load64(from) != magic)
        return rpmi_fail(RPM_E_PROTO, "the other side's first message is not a %s", what);
    version = rpmi_load32(from + AT_VERSION);
    if (version != RPMI_PROTOCOL_VERSION)
        return rpmi_fail(RPM_E_VERSION,
                         "the other side speaks protocol version %" PRIu32 ", not %u", version,
                         RPMI_PROTOCOL_VERSION);
    return 0;
}

static void facts_put(unsigned char *to, const struct rpm_facts *facts)
{
    const uint32_t word[FACTS] = {
        facts->medium,
        facts->domain,
        facts->domain_declared,
        facts->ddio,
        facts->native_flush,
        facts->atomic_write,
        facts->memory_window,
        facts->granularity_bytes,
        facts->line_bytes,
        facts->methods,
        (uint32_t)facts->memory_node,
        (uint32_t)facts->port_node,
        facts->modelled,
    };

    for (size_t i = 0; i < FACTS; i++)
        rpmi_store32(to + 4 * i, word[i]);
}

static bool facts_get(const unsigned char *from, struct rpm_facts *facts)
{
    uint32_t word[FACTS];

    for (size_t i = 0; i < FACTS; i++)
        word[i] = rpmi_load32(from + 4 * i);
    *facts = (struct rpm_facts){
        .size = sizeof(*facts),
        .medium = word[0],
        .domain = word[1],
        .domain_declared = word[2],
        .ddio = word[3],
        .native_flush = word[4],
        .atomic_write = word[5],
        .memory_window = word[6],
        .granularity_bytes = word[7],
        .line_bytes = word[8],
        .methods = word[9],
        .memory_node = (int32_t)word[10],
        .port_node = (int32_t)word[11],
        .modelled = word[12],
    };
    return facts_are_sound(facts);
}

static bool facts_are_sound(const struct rpm_facts *facts)
{
    return facts->medium <= RPM_MEDIUM_DEVDAX && facts->domain <= RPM_DOMAIN_EADR &&
           facts->domain_declared <= 1 && facts->ddio <= RPM_YES &&
           facts->native_flush <= RPM_YES && facts->atomic_write <= RPM_YES &&
           facts->memory_window <= RPM_YES && facts->methods < 1u << RPM_METHOD_COUNT &&
           facts->memory_node >= -1 && facts->port_node >= -1 && facts->modelled <= 1;
}

/* Of a refusal only status and text count; a grant has a client and a mode. */
static bool accept_is_sound(const struct rpmi_accept *accepted)
{
    if (accepted->status > 0 || accepted->status < -ERRNO_MAX || accepted->mode > RPMI_MODE_RING)
        return false;
    if (!facts_are_sound(&accepted->facts))
        return false;
    return accepted->status != 0 || (accepted->client != 0 && accepted->server_epoch != 0 &&
                                     accepted->mode != RPMI_MODE_AUTO);
}
