/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.c: encode and decode the headers of requests and answers on a byte stream.
 *
 * Invariants
 *   lengths that were checked here can be added without overflow
 *   the service checks keys, offsets and counts
 *
 * Format: FORMAT.md, section 10.   Tests: tests/unit/wire/stream_test.cpp
 */
#include "wire/stream.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/call.h"
#include "wire/op_kind.h"
#include "wire/steps.h"

#include <stdbool.h>

#define AT_FLAGS 1
#define AT_HEAD 2
#define AT_KEY 4
#define AT_OFFSET 8
#define AT_LEN 16
#define AT_BODY 24
#define AT_REST 28

#define AT_VALUE 4
#define AT_REQUEST 8

#define WORD_BYTES 8u
#define OPERANDS_BYTES 16u

void rpmi_request_put(void *bytes, const struct rpmi_request *request)
{
    unsigned char *to = bytes;

    RPM_ASSERT(request->head_bytes <= RPMI_LINE_BYTES && request->body_bytes <= RPMI_BODY_MAX);
    to[0] = request->kind;
    to[AT_FLAGS] = request->flags;
    to[AT_HEAD] = (unsigned char)request->head_bytes;
    to[AT_HEAD + 1] = 0;
    rpmi_store32(to + AT_KEY, request->key);
    rpmi_store64(to + AT_OFFSET, request->offset);
    rpmi_store64(to + AT_LEN, request->len);
    rpmi_store32(to + AT_BODY, request->body_bytes);
    rpmi_store32(to + AT_REST, 0);
}

/* Are the lengths those that a request of its kind can have? */
static bool is_well_formed(const struct rpmi_request *request)
{
    uint64_t head = request->head_bytes;
    uint64_t body = request->body_bytes;

    switch (request->kind) {
    case RPMI_OP_WRITE:
    case RPMI_OP_COPY:
        return head <= RPMI_LINE_BYTES && body <= RPMI_BODY_MAX && head + body <= request->len;
    case RPMI_OP_READ:
        return head == 0 && body == 0 && request->len <= RPMI_BODY_MAX;
    case RPMI_OP_PERSIST:
        return head == 0 && body == 0;
    case RPMI_OP_CAS:
    case RPMI_OP_FAA:
        return head == OPERANDS_BYTES && body == 0 && request->len == WORD_BYTES;
    case RPMI_OP_STEPS:
        return head == 0 && body > 0 && body <= RPMI_STEPS_BYTES &&
               request->len >= RPMI_STEPS_ANSWER_HEAD && request->len <= RPMI_STEPS_BYTES &&
               request->key == 0 && request->offset == 0;
    case RPMI_REQUEST_CALL:
        return head == 0 && body == RPMI_CALL_BYTES && request->len == 0 && request->flags == 0 &&
               request->key == 0 && request->offset == 0;
    default:
        return false;
    }
}

int rpmi_request_get(const void *bytes, struct rpmi_request *request)
{
    const unsigned char *from = bytes;

    request->kind = from[0];
    request->flags = from[AT_FLAGS];
    request->head_bytes = (uint16_t)(from[AT_HEAD] | from[AT_HEAD + 1] << 8);
    request->key = rpmi_load32(from + AT_KEY);
    request->offset = rpmi_load64(from + AT_OFFSET);
    request->len = rpmi_load64(from + AT_LEN);
    request->body_bytes = rpmi_load32(from + AT_BODY);
    if (RPMI_UNLIKELY((request->flags & ~(RPMI_OP_DURABLE | RPMI_OP_CACHED | RPMI_REQUEST_LAST)) !=
                          0 ||
                      rpmi_load32(from + AT_REST) != 0 || !is_well_formed(request)))
        return rpmi_fail(RPM_E_PROTO,
                         "invalid request: kind %u, flags 0x%x, %u head bytes, %u body bytes",
                         request->kind, request->flags, request->head_bytes, request->body_bytes);
    return 0;
}

void rpmi_answer_put(void *bytes, const struct rpmi_answer *answer)
{
    unsigned char *to = bytes;

    RPM_ASSERT(answer->kind >= RPMI_ANSWER_DONE && answer->kind <= RPMI_ANSWER_REPLY);
    rpmi_store32(to, answer->kind);
    rpmi_store32(to + AT_VALUE, answer->value);
    rpmi_store64(to + AT_REQUEST, answer->request);
}

static bool answer_is_valid(const struct rpmi_answer *answer)
{
    switch (answer->kind) {
    case RPMI_ANSWER_DONE:
        return answer->value == 0;
    case RPMI_ANSWER_FAIL:
        return answer->value >= (uint32_t)-RPMI_ERRNO_MAX;
    case RPMI_ANSWER_DATA:
        return answer->value >= 1 && answer->value <= RPMI_BODY_MAX;
    case RPMI_ANSWER_REPLY:
        return answer->value == RPMI_REPLY_BYTES && answer->request == 0;
    default:
        return false;
    }
}

int rpmi_answer_get(const void *bytes, struct rpmi_answer *answer)
{
    const unsigned char *from = bytes;

    answer->kind = from[0];
    answer->value = rpmi_load32(from + AT_VALUE);
    answer->request = rpmi_load64(from + AT_REQUEST);
    if (RPMI_UNLIKELY(rpmi_load32(from) >> 8 != 0 || !answer_is_valid(answer)))
        return rpmi_fail(RPM_E_PROTO, "invalid answer: kind %u, value %u", answer->kind,
                         answer->value);
    return 0;
}
