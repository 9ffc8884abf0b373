/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message.c: encode and decode messages over a queue pair.
 *
 * Format: FORMAT.md, section 11.   Tests: tests/unit/wire/message_test.cpp
 */
#include "wire/message.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/layout.h"

#define RIGHTS_ALL 7u

#define RPC_AT_KIND 8
#define RPC_AT_FLAGS 9
#define RPC_AT_ZERO 10
#define RPC_AT_KEY 12
#define RPC_AT_OFFSET 16
#define RPC_AT_LEN 24
#define RPC_AT_BODY 32
#define RPC_AT_ZERO_TOO 36

void rpmi_msg_head(void *bytes, enum rpmi_msg_kind kind, uint32_t len)
{
    rpmi_store32(bytes, (uint32_t)kind);
    rpmi_store32((unsigned char *)bytes + 4, len);
}

uint32_t rpmi_msg_kind(const void *bytes, uint32_t len)
{
    static const uint32_t fixed[] = {
        [RPMI_MSG_AUTH] = RPMI_AUTH_MSG,
        [RPMI_MSG_ACCEPT] = RPMI_ACCEPT_MSG,
        [RPMI_MSG_CALL] = RPMI_CALL_MSG,
        [RPMI_MSG_REPLY] = RPMI_REPLY_MSG,
        [RPMI_MSG_RPC] = 0,
        [RPMI_MSG_DONE] = RPMI_DONE_BYTES,
        [RPMI_MSG_FENCED] = RPMI_FENCED_BYTES,
        [RPMI_MSG_RESULT] = 0,
    };
    const unsigned char *from = bytes;
    uint32_t kind;

    if (len < RPMI_MSG_HEAD || rpmi_load32(from + 4) != len)
        return 0;
    kind = rpmi_load32(from);
    if (kind == 0 || kind >= sizeof(fixed) / sizeof(fixed[0]))
        return 0;
    if (fixed[kind] != 0)
        return len == fixed[kind] ? kind : 0;
    if (kind == RPMI_MSG_RESULT)
        return len >= RPMI_RESULT_BYTES + RPMI_STEPS_ANSWER_HEAD && len <= RPMI_RESULT_MSG ? kind
                                                                                           : 0;
    return len >= RPMI_RPC_BYTES && len <= RPMI_RPC_MSG ? kind : 0;
}

static const struct rpmi_field GRANT_FIELDS[] = {
    RPMI_NUMBER(0, struct rpmi_grant_key, address),
    RPMI_NUMBER(8, struct rpmi_grant_key, bytes),
    RPMI_NUMBER(16, struct rpmi_grant_key, guarded_bytes),
    RPMI_NUMBER(24, struct rpmi_grant_key, read_rkey),
    RPMI_NUMBER(28, struct rpmi_grant_key, write_rkey),
    RPMI_NUMBER(32, struct rpmi_grant_key, rights),
};

const struct rpmi_layout rpmi_grant_layout = RPMI_LAYOUT("grant", GRANT_FIELDS, RPMI_GRANT_BYTES);

void rpmi_grant_put(void *bytes, const struct rpmi_grant_key *key)
{
    RPM_ASSERT(key->rights <= RIGHTS_ALL && key->guarded_bytes <= key->bytes);
    rpmi_layout_put(&rpmi_grant_layout, bytes, key);
}

int rpmi_grant_get(const void *bytes, struct rpmi_grant_key *key)
{
    const char *wrong = rpmi_layout_get(&rpmi_grant_layout, bytes, key);

    if (wrong != NULL)
        return rpmi_fail(RPM_E_PROTO, "the server granted a key with %s", wrong);
    if (key->rights > RIGHTS_ALL || key->guarded_bytes > key->bytes ||
        key->address > UINT64_MAX - key->bytes)
        return rpmi_fail(RPM_E_PROTO,
                         "the server granted a key with rights %#x on %llu bytes at %#llx, %llu of "
                         "them guarded: out of bounds",
                         key->rights, (unsigned long long)key->bytes,
                         (unsigned long long)key->address, (unsigned long long)key->guarded_bytes);
    return 0;
}

void rpmi_rpc_put(void *bytes, const struct rpmi_rpc *rpc)
{
    unsigned char *to = bytes;

    RPM_ASSERT(rpc->body_bytes <= RPMI_RPC_BODY_MAX);
    RPM_ASSERT(rpc->body_bytes <= rpc->len || rpc->kind == RPMI_OP_STEPS);
    RPM_ASSERT((rpc->flags & ~RPMI_RPC_FLAGS) == 0);
    rpmi_msg_head(to, RPMI_MSG_RPC, RPMI_RPC_BYTES + rpc->body_bytes);
    to[RPC_AT_KIND] = rpc->kind;
    to[RPC_AT_FLAGS] = rpc->flags;
    to[RPC_AT_ZERO] = to[RPC_AT_ZERO + 1] = 0;
    rpmi_store32(to + RPC_AT_KEY, rpc->key);
    rpmi_store64(to + RPC_AT_OFFSET, rpc->offset);
    rpmi_store64(to + RPC_AT_LEN, rpc->len);
    rpmi_store32(to + RPC_AT_BODY, rpc->body_bytes);
    rpmi_store32(to + RPC_AT_ZERO_TOO, 0);
}

/* Does the request have the fields of its kind? */
static bool is_well_formed(const struct rpmi_rpc *rpc)
{
    switch (rpc->kind) {
    case RPMI_OP_PERSIST:
        return rpc->body_bytes == 0;
    case RPMI_OP_COPY:
        return rpc->body_bytes <= rpc->len;
    case RPMI_OP_STEPS:
        return rpc->body_bytes > 0 && rpc->len >= RPMI_STEPS_ANSWER_HEAD &&
               rpc->len <= RPMI_STEPS_BYTES && rpc->key == 0 && rpc->offset == 0;
    default:
        return false;
    }
}

int rpmi_rpc_get(const void *bytes, uint32_t message_bytes, struct rpmi_rpc *rpc)
{
    const unsigned char *from = bytes;

    rpc->kind = from[RPC_AT_KIND];
    rpc->flags = from[RPC_AT_FLAGS];
    rpc->key = rpmi_load32(from + RPC_AT_KEY);
    rpc->offset = rpmi_load64(from + RPC_AT_OFFSET);
    rpc->len = rpmi_load64(from + RPC_AT_LEN);
    rpc->body_bytes = rpmi_load32(from + RPC_AT_BODY);
    if (!is_well_formed(rpc) || (rpc->flags & ~RPMI_RPC_FLAGS) != 0 || from[RPC_AT_ZERO] != 0 ||
        from[RPC_AT_ZERO + 1] != 0 || rpmi_load32(from + RPC_AT_ZERO_TOO) != 0 ||
        rpc->body_bytes != message_bytes - RPMI_RPC_BYTES)
        return RPM_E_PROTO;
    return 0;
}

void rpmi_result_put(void *bytes, uint64_t done, uint32_t answer_bytes)
{
    rpmi_msg_head(bytes, RPMI_MSG_RESULT, RPMI_RESULT_BYTES + answer_bytes);
    rpmi_store64((unsigned char *)bytes + RPMI_MSG_HEAD, done);
}

int rpmi_result_get(const void *bytes, uint64_t *done)
{
    *done = rpmi_load64((const unsigned char *)bytes + RPMI_MSG_HEAD);
    return *done != 0 ? 0 : RPM_E_PROTO;
}

void rpmi_done_put(void *bytes, uint64_t done, int32_t status)
{
    unsigned char *to = bytes;

    RPM_ASSERT(status <= 0 && status >= -RPMI_ERRNO_MAX);
    rpmi_msg_head(to, RPMI_MSG_DONE, RPMI_DONE_BYTES);
    rpmi_store64(to + 8, done);
    rpmi_store32(to + 16, (uint32_t)status);
    rpmi_store32(to + 20, 0);
}

int rpmi_done_get(const void *bytes, uint64_t *done, int32_t *status)
{
    const unsigned char *from = bytes;

    *done = rpmi_load64(from + 8);
    *status = (int32_t)rpmi_load32(from + 16);
    if (*status > 0 || *status < -RPMI_ERRNO_MAX || rpmi_load32(from + 20) != 0)
        return RPM_E_PROTO;
    return 0;
}

void rpmi_fenced_put(void *bytes, uint32_t key)
{
    unsigned char *to = bytes;

    RPM_ASSERT(key < RPMI_KEYS_MAX);
    rpmi_msg_head(to, RPMI_MSG_FENCED, RPMI_FENCED_BYTES);
    rpmi_store32(to + 8, key);
    rpmi_store32(to + 12, 0);
}

int rpmi_fenced_get(const void *bytes, uint32_t *key)
{
    const unsigned char *from = bytes;

    *key = rpmi_load32(from + 8);
    return *key < RPMI_KEYS_MAX && rpmi_load32(from + 12) == 0 ? 0 : RPM_E_PROTO;
}
