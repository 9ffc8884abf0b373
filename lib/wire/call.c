/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.c: encode and decode control messages.
 *
 * No checksum: they travel over a socket or a reliable queue pair, and every field is checked. The
 * decoder refuses only messages that librpm never sends; the service decides whether the request
 * makes sense.
 *
 * Format: FORMAT.md, section 7.   Tests: tests/unit/wire/call_test.cpp
 */
#include "wire/call.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "wire/field.h"

#include <inttypes.h>
#include <string.h>

#define CALL_FLAGS                                                                                 \
    (RPMI_CALL_CREATE | RPMI_CALL_EXCL | RPMI_CALL_TAKEOVER | RPMI_CALL_GUARDED |                  \
     RPMI_CALL_REPAIR | RPMI_CALL_RESUME | RPMI_CALL_DURABLE)
#define CALL_AT_FLAGS 4
#define CALL_AT_KEY 8
#define CALL_AT_OBJECT 12
#define CALL_AT_BYTES 16
#define CALL_AT_LSN 24
#define CALL_AT_NAME 32
#define CALL_AT_REST 96

#define REPLY_AT_KEY 4
#define REPLY_AT_OBJECT 8
#define REPLY_AT_EPOCH 12
#define REPLY_AT_WRITER 16
#define REPLY_AT_FLAGS 20
#define REPLY_AT_BYTES 24
#define REPLY_AT_OFFSET 32
#define REPLY_AT_ID 40
#define REPLY_AT_VALUE 48
#define REPLY_AT_ZERO 56
#define REPLY_AT_NAME 64
#define REPLY_AT_TEXT 128
#define REPLY_AT_REST 288

#define NAME_BYTES (RPM_NAME_MAX + 1)
#define ERRNO_MAX 4095 /* no system has a higher one */

_Static_assert(CALL_AT_NAME + NAME_BYTES == CALL_AT_REST, "a name fits its field");
_Static_assert(CALL_AT_REST < RPMI_CALL_BYTES, "a call has room left");
_Static_assert(REPLY_AT_NAME + NAME_BYTES == REPLY_AT_TEXT, "a name fits its field");
_Static_assert(REPLY_AT_TEXT + RPMI_REPLY_TEXT_BYTES == REPLY_AT_REST, "a text fits its field");
_Static_assert(REPLY_AT_REST < RPMI_REPLY_BYTES, "a reply has room left");

void rpmi_call_put(void *bytes, const struct rpmi_call *call)
{
    unsigned char *to = bytes;
    struct rpmi_call again;

    RPM_ASSERT(call->object <= RPM_KIND_LOCKS);
    RPM_ASSERT(call->kind >= RPMI_CALL_OPEN && call->kind < RPMI_CALL_KINDS);
    RPM_ASSERT((call->flags & ~(uint32_t)CALL_FLAGS) == 0);
    memset(to, 0, RPMI_CALL_BYTES);
    rpmi_store32(to, call->kind);
    rpmi_store32(to + CALL_AT_FLAGS, call->flags);
    rpmi_store32(to + CALL_AT_KEY, call->key);
    rpmi_store32(to + CALL_AT_OBJECT, call->object);
    rpmi_store64(to + CALL_AT_BYTES, call->bytes);
    rpmi_store64(to + CALL_AT_LSN, call->lsn);
    rpmi_text_put(to + CALL_AT_NAME, NAME_BYTES, call->name);
    /* Write only what rpmi_call_get() accepts. */
    RPM_ASSERT_SLOW(rpmi_call_get(to, &again) == 0 && again.kind == call->kind);
}

int rpmi_call_get(const void *bytes, struct rpmi_call *call)
{
    const unsigned char *from = bytes;
    struct rpmi_call found = {
        .kind = rpmi_load32(from),
        .flags = rpmi_load32(from + CALL_AT_FLAGS),
        .key = rpmi_load32(from + CALL_AT_KEY),
        .object = rpmi_load32(from + CALL_AT_OBJECT),
        .bytes = rpmi_load64(from + CALL_AT_BYTES),
        .lsn = rpmi_load64(from + CALL_AT_LSN),
    };

    if (found.kind < RPMI_CALL_OPEN || found.kind >= RPMI_CALL_KINDS)
        return rpmi_fail(RPM_E_PROTO, "call of unknown kind %" PRIu32, found.kind);
    if ((found.flags & ~(uint32_t)CALL_FLAGS) != 0 || found.object > RPM_KIND_LOCKS)
        return rpmi_fail(RPM_E_PROTO, "call with unknown flags or object kind");
    if (!rpmi_text_get(from + CALL_AT_NAME, NAME_BYTES, found.name))
        return rpmi_fail(RPM_E_PROTO, "call with an unterminated name");
    if (!rpmi_all_zero(from + CALL_AT_REST, RPMI_CALL_BYTES - CALL_AT_REST))
        return rpmi_fail(RPM_E_PROTO, "call with reserved bytes in use");
    *call = found;
    return 0;
}

void rpmi_reply_put(void *bytes, const struct rpmi_reply *reply)
{
    unsigned char *to = bytes;
    struct rpmi_reply again;

    RPM_ASSERT((reply->flags & ~(uint32_t)RPMI_CALL_CREATE) == 0);
    RPM_ASSERT(reply->object <= RPM_KIND_LOCKS);
    RPM_ASSERT(reply->status <= 0 && reply->status >= -ERRNO_MAX);
    memset(to, 0, RPMI_REPLY_BYTES);
    rpmi_store32(to, (uint32_t)reply->status);
    rpmi_store32(to + REPLY_AT_KEY, reply->key);
    rpmi_store32(to + REPLY_AT_OBJECT, reply->object);
    rpmi_store32(to + REPLY_AT_EPOCH, reply->epoch);
    rpmi_store32(to + REPLY_AT_WRITER, reply->writer);
    rpmi_store32(to + REPLY_AT_FLAGS, reply->flags);
    rpmi_store64(to + REPLY_AT_BYTES, reply->bytes);
    rpmi_store64(to + REPLY_AT_OFFSET, reply->offset);
    rpmi_store64(to + REPLY_AT_ID, reply->id);
    rpmi_store64(to + REPLY_AT_VALUE, reply->value);
    rpmi_text_put(to + REPLY_AT_NAME, NAME_BYTES, reply->name);
    rpmi_text_put(to + REPLY_AT_TEXT, RPMI_REPLY_TEXT_BYTES, reply->text);
    RPM_ASSERT_SLOW(rpmi_reply_get(to, &again) == 0 && again.status == reply->status);
}

int rpmi_reply_get(const void *bytes, struct rpmi_reply *reply)
{
    const unsigned char *from = bytes;
    struct rpmi_reply found = {
        .status = (int32_t)rpmi_load32(from),
        .key = rpmi_load32(from + REPLY_AT_KEY),
        .object = rpmi_load32(from + REPLY_AT_OBJECT),
        .epoch = rpmi_load32(from + REPLY_AT_EPOCH),
        .writer = rpmi_load32(from + REPLY_AT_WRITER),
        .flags = rpmi_load32(from + REPLY_AT_FLAGS),
        .bytes = rpmi_load64(from + REPLY_AT_BYTES),
        .offset = rpmi_load64(from + REPLY_AT_OFFSET),
        .id = rpmi_load64(from + REPLY_AT_ID),
        .value = rpmi_load64(from + REPLY_AT_VALUE),
    };

    if (found.status > 0 || found.status < -ERRNO_MAX)
        return rpmi_fail(RPM_E_PROTO, "reply with status %" PRId32, found.status);
    if ((found.flags & ~(uint32_t)RPMI_CALL_CREATE) != 0 || found.object > RPM_KIND_LOCKS)
        return rpmi_fail(RPM_E_PROTO, "reply with unknown flags or object kind");
    if (!rpmi_text_get(from + REPLY_AT_NAME, NAME_BYTES, found.name) ||
        !rpmi_text_get(from + REPLY_AT_TEXT, RPMI_REPLY_TEXT_BYTES, found.text))
        return rpmi_fail(RPM_E_PROTO, "reply with an unterminated string");
    if (rpmi_load64(from + REPLY_AT_ZERO) != 0 ||
        !rpmi_all_zero(from + REPLY_AT_REST, RPMI_REPLY_BYTES - REPLY_AT_REST))
        return rpmi_fail(RPM_E_PROTO, "reply with reserved bytes in use");
    *reply = found;
    return 0;
}
