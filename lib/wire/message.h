/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message.h: the messages that client and server SEND each other over a queue pair. The NIC reads
 * and writes memory without a message; a message asks the server CPU for something, or is its
 * answer.
 *
 *   auth     client  handshake.h's auth message, the first one
 *   accept   server  handshake.h's sealed accept message, how many messages may be outstanding, the
 *                    scratch key
 *   call     client  call.h's call
 *   reply    server  call.h's reply, and the key that it grants
 *   RPC      client  PERSIST, COPY or STEPS, with the bytes of a COPY, the list of a STEPS
 *   done     server  how many RPC requests (messages and WRITEs with immediate data) are done, and
 *                    the status of the last one; all before it succeeded
 *   result   server  how many are done, the last of them a STEPS that succeeded, and its answer
 *   fenced   server  a newer writer claimed the log: that is why the NIC refuses accesses by this
 *                    key
 *
 * Each begins with its kind and its length, little-endian.
 *
 * Format: FORMAT.md, section 11.   Tests: tests/unit/wire/message_test.cpp
 */
#ifndef RPMI_MESSAGE_H
#define RPMI_MESSAGE_H

#include "base/limits.h"
#include "wire/call.h"
#include "wire/handshake.h"
#include "wire/op_kind.h"
#include "wire/steps.h"

#include <stdbool.h>
#include <stdint.h>

#define RPMI_MSG_HEAD 8u
#define RPMI_MESSAGES_MIN 2u /* messages outstanding that a server may grant */
#define RPMI_MESSAGES_MAX 64u
#define RPMI_RPC_BYTES 40u      /* an RPC request without its bytes */
#define RPMI_RPC_BODY_MAX 4096u /* bytes of a COPY in one message */
#define RPMI_GRANT_BYTES 40u
#define RPMI_DONE_BYTES 24u
#define RPMI_FENCED_BYTES 16u
#define RPMI_RESULT_BYTES 16u /* a result without the answer */

#define RPMI_AUTH_MSG (RPMI_MSG_HEAD + RPMI_AUTH_BYTES)
#define RPMI_ACCEPT_MSG (RPMI_MSG_HEAD + RPMI_SEALED_BYTES + 8u + RPMI_GRANT_BYTES)
#define RPMI_CALL_MSG (RPMI_MSG_HEAD + RPMI_CALL_BYTES)
#define RPMI_REPLY_MSG (RPMI_MSG_HEAD + RPMI_REPLY_BYTES + RPMI_GRANT_BYTES)
#define RPMI_RPC_MSG (RPMI_RPC_BYTES + RPMI_RPC_BODY_MAX)
#define RPMI_RESULT_MSG (RPMI_RESULT_BYTES + RPMI_STEPS_BYTES)

/* Offsets in the two messages that contain other messages. */
#define RPMI_ACCEPT_AT_MESSAGES (RPMI_MSG_HEAD + RPMI_SEALED_BYTES)
#define RPMI_ACCEPT_AT_GRANT (RPMI_ACCEPT_AT_MESSAGES + 8u)
#define RPMI_ACCEPT_BESIDE (RPMI_ACCEPT_MSG - RPMI_ACCEPT_AT_MESSAGES) /* proven as well */
#define RPMI_REPLY_AT_GRANT (RPMI_MSG_HEAD + RPMI_REPLY_BYTES)

#define RPMI_MSG_TO_CLIENT 4160u /* room for the longest */
#define RPMI_MSG_TO_SERVER 4160u

_Static_assert(RPMI_ACCEPT_MSG <= RPMI_MSG_TO_CLIENT, "an accept message fits");
_Static_assert(RPMI_ACCEPT_BESIDE <= RPMI_BESIDE_BYTES_MAX, "the transcript has room for it");
_Static_assert(RPMI_REPLY_MSG <= RPMI_MSG_TO_CLIENT, "a reply fits");
_Static_assert(RPMI_RESULT_MSG <= RPMI_MSG_TO_CLIENT, "a result fits");
_Static_assert(RPMI_STEPS_BYTES <= RPMI_RPC_BODY_MAX, "a list goes in one message");
_Static_assert(RPMI_RPC_MSG <= RPMI_MSG_TO_SERVER, "an RPC request fits");

enum rpmi_msg_kind {
    RPMI_MSG_AUTH = 1,
    RPMI_MSG_ACCEPT = 2,
    RPMI_MSG_CALL = 3,
    RPMI_MSG_REPLY = 4,
    RPMI_MSG_RPC = 5,
    RPMI_MSG_DONE = 6,
    RPMI_MSG_FENCED = 7,
    RPMI_MSG_RESULT = 8
};

struct rpmi_layout; /* wire/layout.h */

/* The address and rkeys of a key's memory, for the NIC. An rkey is valid only with its right. */
struct rpmi_grant_key {
    uint64_t address; /* of the first byte of the key's object */
    uint64_t bytes;
    uint64_t guarded_bytes; /* at the front, never written to by a client */
    uint32_t read_rkey;
    uint32_t write_rkey; /* atomics as well */
    uint32_t rights;     /* bits 0 read, 1 write, 2 atomic */
};

/* The immediate data of a WRITE contains its key and the number of its first line, if both fit. */
#define RPMI_IMM_LINES (1u << 24)

static inline bool rpmi_imm_fits(uint32_t key, uint64_t offset)
{
    return key < 256 && offset / RPMI_LINE_BYTES < RPMI_IMM_LINES;
}

static inline uint32_t rpmi_imm_make(uint32_t key, uint64_t offset)
{
    return key << 24 | (uint32_t)(offset / RPMI_LINE_BYTES);
}

/* Kind and length in front of a message of @len bytes. */
void rpmi_msg_head(void *bytes, enum rpmi_msg_kind kind, uint32_t len);

/* The kind of a message, or 0 if its length is not what it says or what its kind has. */
uint32_t rpmi_msg_kind(const void *bytes, uint32_t len);

/* The length that a message says it has. */
uint32_t rpmi_msg_bytes(const void *bytes);

/* Tables of the messages that hold more than a kind, a length and another message, each with its
 * head: a result in front of its answer, an RPC request in front of its body. */
extern const struct rpmi_layout rpmi_msg_head_layout;
extern const struct rpmi_layout rpmi_accept_msg_layout;
extern const struct rpmi_layout rpmi_rpc_layout;
extern const struct rpmi_layout rpmi_done_layout;
extern const struct rpmi_layout rpmi_fenced_layout;
extern const struct rpmi_layout rpmi_result_layout;
extern const struct rpmi_layout rpmi_grant_layout;

void rpmi_grant_put(void *bytes, const struct rpmi_grant_key *key);
/* RPM_E_PROTO: invalid bytes. */
int rpmi_grant_get(const void *bytes, struct rpmi_grant_key *key);

/* An accept message with the grant of key 0, and zeros as its sealed part, which
 * rpmi_sealed_make() writes behind the head. @messages: how many may be outstanding. */
void rpmi_accept_msg_put(void *bytes, uint32_t messages, const struct rpmi_grant_key *scratch);
/* The same fields; the sealed part is not read. RPM_E_PROTO. */
int rpmi_accept_msg_get(const void *bytes, uint32_t *messages, struct rpmi_grant_key *scratch);

#define RPMI_RPC_FLAGS (RPMI_OP_DURABLE | RPMI_OP_CACHED)

/* An RPC request; its body lies behind it, RPMI_RPC_BYTES from the message's first byte. */
struct rpmi_rpc {
    uint8_t kind;  /* RPMI_OP_PERSIST, RPMI_OP_COPY or RPMI_OP_STEPS */
    uint8_t flags; /* of RPMI_RPC_FLAGS */
    uint32_t key;
    uint64_t offset;
    uint64_t len; /* bytes at the server, at least body_bytes; STEPS: of the answer */
    uint32_t body_bytes;
};

void rpmi_rpc_put(void *bytes, const struct rpmi_rpc *rpc);
/* RPM_E_PROTO. */
int rpmi_rpc_get(const void *bytes, uint32_t message_bytes, struct rpmi_rpc *rpc);

void rpmi_fenced_put(void *bytes, uint32_t key);
/* RPM_E_PROTO. */
int rpmi_fenced_get(const void *bytes, uint32_t *key);

/* The front of a result: the RPC request whose answer of @answer_bytes follows. */
void rpmi_result_put(void *bytes, uint64_t done, uint32_t answer_bytes);
/* RPM_E_PROTO. */
int rpmi_result_get(const void *bytes, uint64_t *done);

void rpmi_done_put(void *bytes, uint64_t done, int32_t status);
int rpmi_done_get(const void *bytes, uint64_t *done, int32_t *status);

#endif
