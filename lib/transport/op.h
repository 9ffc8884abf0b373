/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op.h: the operations a link carries out, in the shape of verbs work requests.
 */
#ifndef RPMI_OP_H
#define RPMI_OP_H

#include "base/limits.h"

#include <stdint.h>

enum rpmi_op_kind {
    RPMI_OP_WRITE = 1,     /* head, body, then zeros up to len, into remote memory */
    RPMI_OP_READ = 2,      /* len bytes of remote memory into @into; pushes earlier WRITEs */
    RPMI_OP_PERSIST = 3,   /* message: server CPU flushes [offset, offset + len), then answers */
    RPMI_OP_FLUSH = 4,     /* native FLUSH(persistence) of [offset, offset + len) by the NIC */
    RPMI_OP_WRITE_IMM = 5, /* WRITE; server CPU is told, flushes it, then answers */
    RPMI_OP_COPY =
        6, /* message with the bytes; server CPU copies past its caches, fences, answers */
    RPMI_OP_DRAIN = 7,  /* client's CPU fences its own non-temporal stores (direct mapping only) */
    RPMI_OP_CAS = 8,    /* 8 bytes at offset: expect -> operand; old value into @into */
    RPMI_OP_FAA = 9,    /* 8 bytes at offset: += operand; old value into @into */
    RPMI_OP_STEPS = 10, /* message: server CPU carries out the list (wire/steps.h) that is the body,
                           then answers with @len bytes into @into */
    RPMI_OP_KINDS = 11
};

enum rpmi_op_flag {
    RPMI_OP_SIGNALED = 1, /* report its completion; a failure is always reported */
    RPMI_OP_FENCED = 2,   /* start only when every earlier READ, FLUSH, PERSIST and every earlier
                             DURABLE op has completed: what they made durable is so before */
    RPMI_OP_DURABLE =
        4, /* COPY, WRITE_IMM, STEPS: answer after the persistence domain, not before */
    RPMI_OP_OTHER_QP = 8, /* send on the second queue pair: no order with the first */
    RPMI_OP_WAIT = 16,    /* the poster waits for this one before it posts the next (H9 off) */
    RPMI_OP_CACHED = 32,  /* COPY, WRITE by the client's CPU: where bytes are to leave its caches,
                             by stores and write-backs, not by non-temporal stores (H4 off) */
    RPMI_OP_WORD = 64 /* WRITE of one aligned word of 8 bytes, where the facts have ATOMIC WRITE:
                         placed whole, and behind every earlier FLUSH, FENCED or not */
};

struct rpmi_op {
    uint8_t kind;        /* enum rpmi_op_kind */
    uint8_t flags;       /* enum rpmi_op_flag */
    uint16_t head_bytes; /* at most RPMI_LINE_BYTES */
    uint32_t key;        /* granted by the server */
    uint64_t offset;     /* bytes from the start of the key's object */
    uint64_t len;        /* bytes at the server; at least head_bytes + body_bytes */
    const void *head;    /* gathered first; borrowed until post returns */
    const void *body;    /* gathered second; see RPMI_LINK_PLACES_ON_POST for how long borrowed */
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

#endif
