/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op.h: an operation that a link carries out, with the fields of a verbs work request, and its
 * completion.
 */
#ifndef RPMI_OP_H
#define RPMI_OP_H

#include "base/limits.h"
#include "wire/call.h"
#include "wire/op_kind.h"

#include <stdint.h>

struct rpmi_op {
    uint8_t kind;        /* enum rpmi_op_kind */
    uint8_t flags;       /* enum rpmi_op_flag */
    uint16_t head_bytes; /* at most RPMI_LINE_BYTES */
    uint32_t key;        /* granted by the server */
    uint64_t offset;     /* bytes from the start of the key's object */
    uint64_t len;        /* bytes at the server; at least head_bytes + body_bytes */
    const void *head;    /* bytes to write first; borrowed until post returns */
    const void *body;    /* bytes to write behind them; RPMI_LINK_COMPLETES_ON_POST says how long
                            borrowed */
    uint64_t body_bytes;
    void *into;       /* READ, CAS, FAA, STEPS: result; staging memory; borrowed until completion */
    uint64_t expect;  /* CAS */
    uint64_t operand; /* CAS, FAA */
    uint64_t id;      /* echoed in the completion */
};

struct rpmi_done {
    uint64_t id;
    int status; /* 0 or negative errno */
};

/* What its key must allow for an operation of this kind. */
static inline enum rpmi_right rpmi_op_right(uint8_t kind)
{
    switch (kind) {
    case RPMI_OP_WRITE:
    case RPMI_OP_WRITE_IMM:
    case RPMI_OP_COPY:
        return RPMI_RIGHT_WRITE;
    case RPMI_OP_CAS:
    case RPMI_OP_FAA:
        return RPMI_RIGHT_ATOMIC;
    default:
        return RPMI_RIGHT_READ;
    }
}

#endif
