/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message.c: encode and decode messages over a queue pair.
 *
 * Format: FORMAT.md, section 11.   Tests: tests/unit/wire/message_test.cpp
 */
#include "wire/message.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/layout.h"

#define RIGHTS_ALL 7u

/* Fields that no struct of message.h has. */
struct msg_head {
    uint32_t kind;
    uint32_t bytes;
};

struct accept_msg {
    uint32_t messages;
};

struct done {
    uint64_t done;
    int32_t status;
};

struct fenced {
    uint32_t key;
};

#define HEAD RPMI_OWN(0, RPMI_MSG_HEAD, "head")

static const struct rpmi_field HEAD_FIELDS[] = {
    RPMI_NUMBER(0, struct msg_head, kind),
    RPMI_NUMBER(4, struct msg_head, bytes),
};

static const struct rpmi_field ACCEPT_FIELDS[] = {
    HEAD,
    RPMI_OWN(RPMI_MSG_HEAD, RPMI_SEALED_BYTES, "sealed accept"),
    RPMI_NUMBER(RPMI_ACCEPT_AT_MESSAGES, struct accept_msg, messages),
    RPMI_OWN(RPMI_ACCEPT_AT_GRANT, RPMI_GRANT_BYTES, "grant"),
};

static const struct rpmi_field GRANT_FIELDS[] = {
    RPMI_NUMBER(0, struct rpmi_grant_key, address),
    RPMI_NUMBER(8, struct rpmi_grant_key, bytes),
    RPMI_NUMBER(16, struct rpmi_grant_key, guarded_bytes),
    RPMI_NUMBER(24, struct rpmi_grant_key, read_rkey),
    RPMI_NUMBER(28, struct rpmi_grant_key, write_rkey),
    RPMI_NUMBER(32, struct rpmi_grant_key, rights),
};

static const struct rpmi_field RPC_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(8, struct rpmi_rpc, kind),
    RPMI_NUMBER(9, struct rpmi_rpc, flags),
    RPMI_NUMBER(12, struct rpmi_rpc, key),
    RPMI_NUMBER(16, struct rpmi_rpc, offset),
    RPMI_NUMBER(24, struct rpmi_rpc, len),
    RPMI_NUMBER(32, struct rpmi_rpc, body_bytes),
};

static const struct rpmi_field DONE_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(8, struct done, done),
    RPMI_NUMBER(16, struct done, status),
};

static const struct rpmi_field FENCED_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(8, struct fenced, key),
};

static const struct rpmi_field RESULT_FIELDS[] = {
    HEAD,
    RPMI_NUMBER(8, struct done, done),
};

const struct rpmi_layout rpmi_msg_head_layout =
    RPMI_LAYOUT("head of a message", HEAD_FIELDS, RPMI_MSG_HEAD);
const struct rpmi_layout rpmi_accept_msg_layout =
    RPMI_LAYOUT("accept message", ACCEPT_FIELDS, RPMI_ACCEPT_MSG);
const struct rpmi_layout rpmi_grant_layout = RPMI_LAYOUT("grant", GRANT_FIELDS, RPMI_GRANT_BYTES);
const struct rpmi_layout rpmi_rpc_layout = RPMI_LAYOUT("RPC request", RPC_FIELDS, RPMI_RPC_BYTES);
const struct rpmi_layout rpmi_done_layout = RPMI_LAYOUT("done", DONE_FIELDS, RPMI_DONE_BYTES);
const struct rpmi_layout rpmi_fenced_layout =
    RPMI_LAYOUT("fenced", FENCED_FIELDS, RPMI_FENCED_BYTES);
const struct rpmi_layout rpmi_result_layout =
    RPMI_LAYOUT("result", RESULT_FIELDS, RPMI_RESULT_BYTES);

void rpmi_msg_head(void *bytes, enum rpmi_msg_kind kind, uint32_t len)
{
    const struct msg_head head = { .kind = (uint32_t)kind, .bytes = len };

    rpmi_layout_put_inline(&rpmi_msg_head_layout, bytes, &head);
}

static struct msg_head head_of(const void *bytes)
{
    struct msg_head head;

    (void)rpmi_layout_get_inline(&rpmi_msg_head_layout, bytes, &head); /* has no reserved bytes */
    return head;
}

uint32_t rpmi_msg_bytes(const void *bytes)
{
    return head_of(bytes).bytes;
}

uint32_t rpmi_msg_kind(const void *bytes, uint32_t len)
{
    static const struct {
        uint32_t min;
        uint32_t max;
    } lengths[] = {
        [RPMI_MSG_AUTH] = { RPMI_AUTH_MSG, RPMI_AUTH_MSG },
        [RPMI_MSG_ACCEPT] = { RPMI_ACCEPT_MSG, RPMI_ACCEPT_MSG },
        [RPMI_MSG_CALL] = { RPMI_CALL_MSG, RPMI_CALL_MSG },
        [RPMI_MSG_REPLY] = { RPMI_REPLY_MSG, RPMI_REPLY_MSG },
        [RPMI_MSG_RPC] = { RPMI_RPC_BYTES, RPMI_RPC_MSG },
        [RPMI_MSG_DONE] = { RPMI_DONE_BYTES, RPMI_DONE_BYTES },
        [RPMI_MSG_FENCED] = { RPMI_FENCED_BYTES, RPMI_FENCED_BYTES },
        [RPMI_MSG_RESULT] = { RPMI_RESULT_BYTES + RPMI_STEPS_ANSWER_HEAD, RPMI_RESULT_MSG },
    };
    struct msg_head head;

    if (len < RPMI_MSG_HEAD)
        return 0;
    head = head_of(bytes);
    if (head.bytes != len || head.kind >= sizeof(lengths) / sizeof(lengths[0]))
        return 0;
    return len >= lengths[head.kind].min && len <= lengths[head.kind].max ? head.kind : 0;
}

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

void rpmi_accept_msg_put(void *bytes, uint32_t messages, const struct rpmi_grant_key *scratch)
{
    const struct accept_msg accept = { .messages = messages };

    RPM_ASSERT(messages >= RPMI_MESSAGES_MIN && messages <= RPMI_MESSAGES_MAX);
    rpmi_layout_put(&rpmi_accept_msg_layout, bytes, &accept);
    rpmi_msg_head(bytes, RPMI_MSG_ACCEPT, RPMI_ACCEPT_MSG);
    rpmi_grant_put((unsigned char *)bytes + RPMI_ACCEPT_AT_GRANT, scratch);
}

int rpmi_accept_msg_get(const void *bytes, uint32_t *messages, struct rpmi_grant_key *scratch)
{
    struct accept_msg accept;
    const char *wrong = rpmi_layout_get(&rpmi_accept_msg_layout, bytes, &accept);

    if (wrong != NULL || accept.messages < RPMI_MESSAGES_MIN || accept.messages > RPMI_MESSAGES_MAX)
        return rpmi_fail(RPM_E_PROTO, "the server takes %u messages at once, expected are %u to %u",
                         accept.messages, RPMI_MESSAGES_MIN, RPMI_MESSAGES_MAX);
    *messages = accept.messages;
    return rpmi_grant_get((const unsigned char *)bytes + RPMI_ACCEPT_AT_GRANT, scratch);
}

void rpmi_rpc_put(void *bytes, const struct rpmi_rpc *rpc)
{
    RPM_ASSERT(rpc->body_bytes <= RPMI_RPC_BODY_MAX);
    RPM_ASSERT(rpc->body_bytes <= rpc->len || rpc->kind == RPMI_OP_STEPS);
    RPM_ASSERT((rpc->flags & ~RPMI_RPC_FLAGS) == 0);
    rpmi_layout_put_inline(&rpmi_rpc_layout, bytes, rpc);
    rpmi_msg_head(bytes, RPMI_MSG_RPC, RPMI_RPC_BYTES + rpc->body_bytes);
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
    const char *wrong = rpmi_layout_get_inline(&rpmi_rpc_layout, bytes, rpc);

    if (wrong != NULL || !is_well_formed(rpc) || (rpc->flags & ~RPMI_RPC_FLAGS) != 0 ||
        rpc->body_bytes != message_bytes - RPMI_RPC_BYTES)
        return RPM_E_PROTO;
    return 0;
}

void rpmi_result_put(void *bytes, uint64_t done, uint32_t answer_bytes)
{
    const struct done result = { .done = done };

    rpmi_layout_put_inline(&rpmi_result_layout, bytes, &result);
    rpmi_msg_head(bytes, RPMI_MSG_RESULT, RPMI_RESULT_BYTES + answer_bytes);
}

int rpmi_result_get(const void *bytes, uint64_t *done)
{
    struct done result;
    const char *wrong = rpmi_layout_get_inline(&rpmi_result_layout, bytes, &result);

    *done = result.done;
    return wrong == NULL && result.done != 0 ? 0 : RPM_E_PROTO;
}

void rpmi_done_put(void *bytes, uint64_t done, int32_t status)
{
    const struct done made = { .done = done, .status = status };

    RPM_ASSERT(status <= 0 && status >= -RPMI_ERRNO_MAX);
    rpmi_layout_put_inline(&rpmi_done_layout, bytes, &made);
    rpmi_msg_head(bytes, RPMI_MSG_DONE, RPMI_DONE_BYTES);
}

int rpmi_done_get(const void *bytes, uint64_t *done, int32_t *status)
{
    struct done found;
    const char *wrong = rpmi_layout_get_inline(&rpmi_done_layout, bytes, &found);

    *done = found.done;
    *status = found.status;
    return wrong == NULL && found.status <= 0 && found.status >= -RPMI_ERRNO_MAX ? 0 : RPM_E_PROTO;
}

void rpmi_fenced_put(void *bytes, uint32_t key)
{
    const struct fenced fenced = { .key = key };

    RPM_ASSERT(key < RPMI_KEYS_MAX);
    rpmi_layout_put_inline(&rpmi_fenced_layout, bytes, &fenced);
    rpmi_msg_head(bytes, RPMI_MSG_FENCED, RPMI_FENCED_BYTES);
}

int rpmi_fenced_get(const void *bytes, uint32_t *key)
{
    struct fenced fenced;
    const char *wrong = rpmi_layout_get_inline(&rpmi_fenced_layout, bytes, &fenced);

    *key = fenced.key;
    return wrong == NULL && fenced.key < RPMI_KEYS_MAX ? 0 : RPM_E_PROTO;
}
