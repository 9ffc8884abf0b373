/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.h: messages over a byte stream after the handshake: requests of the client, answers of the
 * server. A request is a header, then its head, then its body; an answer is a header, then the
 * result.
 *
 * Requests are counted from 0 in the order sent; calls are not counted. The server carries them out
 * in that order, and its answers say how many are done.
 *
 * Format: FORMAT.md, section 10.   Tests: tests/unit/wire/stream_test.cpp
 */
#ifndef RPMI_WIRE_STREAM_H
#define RPMI_WIRE_STREAM_H

#include <stdint.h>

#define RPMI_REQUEST_BYTES 32u
#define RPMI_ANSWER_BYTES 16u
#define RPMI_BODY_MAX (1u << 30) /* of a request, or of what a READ answers */

struct rpmi_layout; /* wire/layout.h */

enum {
    RPMI_REQUEST_CALL = 128, /* kind, beside those of enum rpmi_op_kind: the body is a call */
    RPMI_REQUEST_LAST = 128  /* in flags: ends a post; a failed request fails the rest of its
                                post */
};

struct rpmi_request {
    uint8_t kind;
    uint8_t flags;       /* RPMI_OP_DURABLE, RPMI_OP_CACHED, RPMI_REQUEST_LAST */
    uint16_t head_bytes; /* follow the header; CAS, FAA: expect and operand */
    uint32_t key;
    uint64_t offset;
    uint64_t len;        /* bytes at the server, at least head_bytes + body_bytes; STEPS: of the
                            answer */
    uint32_t body_bytes; /* follow the head */
};

enum rpmi_answer_kind {
    RPMI_ANSWER_DONE = 1, /* every request before this one was carried out, or failed */
    RPMI_ANSWER_FAIL = 2, /* value: why; before the DONE that counts it */
    RPMI_ANSWER_DATA = 3, /* value: how many bytes of the result follow, after those sent before */
    RPMI_ANSWER_REPLY = 4 /* value: RPMI_REPLY_BYTES; the reply to the call follows */
};

struct rpmi_answer {
    uint8_t kind;     /* enum rpmi_answer_kind */
    uint32_t value;   /* FAIL: a negative errno */
    uint64_t request; /* which; DONE: the first that is not done */
};

extern const struct rpmi_layout rpmi_request_layout;
extern const struct rpmi_layout rpmi_answer_layout;

void rpmi_request_put(void *bytes, const struct rpmi_request *request);
void rpmi_answer_put(void *bytes, const struct rpmi_answer *answer);

/* 0, or RPM_E_PROTO: a kind, flag or length that is not valid. */
int rpmi_request_get(const void *bytes, struct rpmi_request *request);
int rpmi_answer_get(const void *bytes, struct rpmi_answer *answer);

#endif
