/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.c: encode and decode the headers of requests and answers on a byte stream. Every operation
 * is a request, so the tables are unrolled (layout.h).
 *
 * Invariants
 *   lengths that were checked here can be added without overflow
 *   the service checks keys, offsets and counts
 *
 * Format: FORMAT.md, section 10.   Tests: tests/unit/wire/stream_test.cpp
 */
#include "wire/stream.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/call.h"
#include "wire/layout.h"
#include "wire/op_kind.h"
#include "wire/steps.h"

#include <stdbool.h>

#define WORD_BYTES 8u
#define OPERANDS_BYTES 16u

static const struct rpmi_field REQUEST_FIELDS[] = {
    RPMI_NUMBER(0, struct rpmi_request, kind),        RPMI_NUMBER(1, struct rpmi_request, flags),
    RPMI_NUMBER(2, struct rpmi_request, head_bytes),  RPMI_NUMBER(4, struct rpmi_request, key),
    RPMI_NUMBER(8, struct rpmi_request, offset),      RPMI_NUMBER(16, struct rpmi_request, len),
    RPMI_NUMBER(24, struct rpmi_request, body_bytes),
};

static const struct rpmi_field ANSWER_FIELDS[] = {
    RPMI_NUMBER(0, struct rpmi_answer, kind),
    RPMI_NUMBER(4, struct rpmi_answer, value),
    RPMI_NUMBER(8, struct rpmi_answer, request),
};

const struct rpmi_layout rpmi_request_layout =
    RPMI_LAYOUT("request", REQUEST_FIELDS, RPMI_REQUEST_BYTES);
const struct rpmi_layout rpmi_answer_layout =
    RPMI_LAYOUT("answer", ANSWER_FIELDS, RPMI_ANSWER_BYTES);

void rpmi_request_put(void *bytes, const struct rpmi_request *request)
{
    RPM_ASSERT(request->head_bytes <= RPMI_LINE_BYTES && request->body_bytes <= RPMI_BODY_MAX);
    rpmi_layout_put_inline(&rpmi_request_layout, bytes, request);
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
    const char *wrong = rpmi_layout_get_inline(&rpmi_request_layout, bytes, request);

    if (RPMI_UNLIKELY(wrong != NULL ||
                      (request->flags & ~(RPMI_OP_DURABLE | RPMI_OP_CACHED | RPMI_REQUEST_LAST)) !=
                          0 ||
                      !is_well_formed(request)))
        return rpmi_fail(RPM_E_PROTO,
                         "invalid request: kind %u, flags 0x%x, %u head bytes, %u body bytes",
                         request->kind, request->flags, request->head_bytes, request->body_bytes);
    return 0;
}

void rpmi_answer_put(void *bytes, const struct rpmi_answer *answer)
{
    RPM_ASSERT(answer->kind >= RPMI_ANSWER_DONE && answer->kind <= RPMI_ANSWER_REPLY);
    rpmi_layout_put_inline(&rpmi_answer_layout, bytes, answer);
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
    const char *wrong = rpmi_layout_get_inline(&rpmi_answer_layout, bytes, answer);

    if (RPMI_UNLIKELY(wrong != NULL || !answer_is_valid(answer)))
        return rpmi_fail(RPM_E_PROTO, "invalid answer: kind %u, value %u", answer->kind,
                         answer->value);
    return 0;
}
