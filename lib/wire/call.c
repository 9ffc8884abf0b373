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
#include "base/limits.h"
#include "wire/layout.h"

#include <inttypes.h>
#include <string.h>

#define CALL_FLAGS                                                                                 \
    (RPMI_CALL_CREATE | RPMI_CALL_EXCL | RPMI_CALL_TAKEOVER | RPMI_CALL_GUARDED |                  \
     RPMI_CALL_REPAIR | RPMI_CALL_RESUME | RPMI_CALL_DURABLE)

#define REPLY_FLAGS ((uint32_t)RPMI_CALL_CREATE | RPMI_REPLY_RUN_LASTS | RPMI_REPLY_BOOT_LASTS)

static const struct rpmi_field CALL_FIELDS[] = {
    RPMI_NUMBER(0, struct rpmi_call, kind),          RPMI_NUMBER(4, struct rpmi_call, flags),
    RPMI_NUMBER(8, struct rpmi_call, key),           RPMI_NUMBER(12, struct rpmi_call, object),
    RPMI_NUMBER(16, struct rpmi_call, bytes),        RPMI_NUMBER(24, struct rpmi_call, lsn),
    RPMI_TEXT(32, struct rpmi_call, name),           RPMI_NUMBER(96, struct rpmi_call, id),
    RPMI_NUMBER(104, struct rpmi_call, epoch),       RPMI_NUMBER(108, struct rpmi_call, set.copies),
    RPMI_NUMBER(109, struct rpmi_call, set.acks),    RPMI_NUMBER(110, struct rpmi_call, set.member),
    RPMI_NUMBER(112, struct rpmi_call, set.members), RPMI_NUMBER(120, struct rpmi_call, token),
};

static const struct rpmi_field REPLY_FIELDS[] = {
    RPMI_NUMBER(0, struct rpmi_reply, status),
    RPMI_NUMBER(4, struct rpmi_reply, key),
    RPMI_NUMBER(8, struct rpmi_reply, object),
    RPMI_NUMBER(12, struct rpmi_reply, epoch),
    RPMI_NUMBER(16, struct rpmi_reply, writer),
    RPMI_NUMBER(20, struct rpmi_reply, flags),
    RPMI_NUMBER(24, struct rpmi_reply, bytes),
    RPMI_NUMBER(32, struct rpmi_reply, offset),
    RPMI_NUMBER(40, struct rpmi_reply, id),
    RPMI_NUMBER(48, struct rpmi_reply, value),
    RPMI_NUMBER(56, struct rpmi_reply, token),
    RPMI_TEXT(64, struct rpmi_reply, name),
    RPMI_TEXT(128, struct rpmi_reply, text),
    RPMI_NUMBER(288, struct rpmi_reply, certificate_key[0]),
    RPMI_NUMBER(296, struct rpmi_reply, certificate_key[1]),
};

const struct rpmi_layout rpmi_call_layout = RPMI_LAYOUT("call", CALL_FIELDS, RPMI_CALL_BYTES);
const struct rpmi_layout rpmi_reply_layout = RPMI_LAYOUT("reply", REPLY_FIELDS, RPMI_REPLY_BYTES);

void rpmi_call_put(void *bytes, const struct rpmi_call *call)
{
    struct rpmi_call again;

    RPM_ASSERT(call->object <= RPM_KIND_LOCKS);
    RPM_ASSERT(call->kind >= RPMI_CALL_OPEN && call->kind < RPMI_CALL_KINDS);
    RPM_ASSERT((call->flags & ~(uint32_t)CALL_FLAGS) == 0);
    rpmi_layout_put(&rpmi_call_layout, bytes, call);
    /* Write only what rpmi_call_get() accepts. */
    RPM_ASSERT_SLOW(rpmi_call_get(bytes, &again) == 0 && again.kind == call->kind);
}

int rpmi_call_get(const void *bytes, struct rpmi_call *call)
{
    struct rpmi_call found;
    const char *wrong = rpmi_layout_get(&rpmi_call_layout, bytes, &found);

    if (found.kind < RPMI_CALL_OPEN || found.kind >= RPMI_CALL_KINDS)
        return rpmi_fail(RPM_E_PROTO, "call of unknown kind %" PRIu32, found.kind);
    if ((found.flags & ~(uint32_t)CALL_FLAGS) != 0 || found.object > RPM_KIND_LOCKS)
        return rpmi_fail(RPM_E_PROTO,
                         "call with flags %#x and object kind %u, known are flags %#x and kinds 0 "
                         "to %d",
                         found.flags, found.object, (unsigned)CALL_FLAGS, RPM_KIND_LOCKS);
    if (wrong != NULL)
        return rpmi_fail(RPM_E_PROTO, "call with %s", wrong);
    *call = found;
    return 0;
}

void rpmi_reply_put(void *bytes, const struct rpmi_reply *reply)
{
    struct rpmi_reply again;

    RPM_ASSERT((reply->flags & ~REPLY_FLAGS) == 0);
    RPM_ASSERT(reply->object <= RPM_KIND_LOCKS);
    RPM_ASSERT(reply->status <= 0 && reply->status >= -RPMI_ERRNO_MAX);
    rpmi_layout_put(&rpmi_reply_layout, bytes, reply);
    RPM_ASSERT_SLOW(rpmi_reply_get(bytes, &again) == 0 && again.status == reply->status);
}

int rpmi_reply_get(const void *bytes, struct rpmi_reply *reply)
{
    struct rpmi_reply found;
    const char *wrong = rpmi_layout_get(&rpmi_reply_layout, bytes, &found);

    if (found.status > 0 || found.status < -RPMI_ERRNO_MAX)
        return rpmi_fail(RPM_E_PROTO, "reply with status %" PRId32 ", expected is %d to 0",
                         found.status, -RPMI_ERRNO_MAX);
    if ((found.flags & ~REPLY_FLAGS) != 0 || found.object > RPM_KIND_LOCKS)
        return rpmi_fail(RPM_E_PROTO,
                         "reply with flags %#x and object kind %u, known are flags %#x and kinds 0 "
                         "to %d",
                         found.flags, found.object, REPLY_FLAGS, RPM_KIND_LOCKS);
    if (wrong != NULL)
        return rpmi_fail(RPM_E_PROTO, "reply with %s", wrong);
    *reply = found;
    return 0;
}

uint32_t rpmi_rights_of(uint32_t kind)
{
    switch (kind) {
    case RPM_KIND_REGION:
        return RPMI_RIGHT_READ | RPMI_RIGHT_WRITE;
    case RPM_KIND_DRAM:
        return RPMI_RIGHT_READ | RPMI_RIGHT_WRITE | RPMI_RIGHT_ATOMIC;
    case RPM_KIND_LOCKS:
        return RPMI_RIGHT_READ | RPMI_RIGHT_ATOMIC;
    default:
        return RPMI_RIGHT_READ;
    }
}
