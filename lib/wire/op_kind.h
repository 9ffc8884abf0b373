/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_kind.h: kinds and flags of operations, by their numbers in the shared ring, on a stream and in
 * messages over a queue pair. Kinds that FORMAT.md does not name are never sent.
 *
 * Format: FORMAT.md, sections 8, 10 and 11.   Tests: tests/golden/
 */
#ifndef RPMI_OP_KIND_H
#define RPMI_OP_KIND_H

enum rpmi_op_kind {
    RPMI_OP_WRITE = 1,     /* head, body, then zeros up to len, into remote memory */
    RPMI_OP_READ = 2,      /* len bytes of remote memory into @into; pushes earlier WRITEs */
    RPMI_OP_PERSIST = 3,   /* message: server CPU flushes [offset, offset + len), then answers */
    RPMI_OP_FLUSH = 4,     /* native FLUSH(persistence) of [offset, offset + len) by the NIC */
    RPMI_OP_WRITE_IMM = 5, /* WRITE with immediate data; the server CPU flushes it, then answers */
    RPMI_OP_COPY =
        6, /* message with the bytes; server CPU copies past its caches, fences, answers */
    RPMI_OP_DRAIN = 7,  /* client's CPU fences its own non-temporal stores (direct mapping only) */
    RPMI_OP_CAS = 8,    /* 8 bytes at offset: expect -> operand; old value into @into */
    RPMI_OP_FAA = 9,    /* 8 bytes at offset: += operand; old value into @into */
    RPMI_OP_STEPS = 10, /* message: server CPU carries out the list (wire/steps.h) that is the body,
                           then answers with @len bytes into @into */
    RPMI_OP_ORDER = 11, /* the records in LSNs [expect, operand) at [offset, offset + len) are
                           certified by way of an agent; only a link with an agent has it, and its
                           number is never sent */
    RPMI_OP_CARRY =
        12, /* an ORDER whose WRITEs, posted in front of it at once, may be sent by way of
                           the agent; only such a link has it, and its number is never sent */
    RPMI_OP_KINDS = 13
};

enum rpmi_op_flag {
    RPMI_OP_SIGNALED = 1, /* report its completion; a failure is always reported */
    RPMI_OP_FENCED = 2,   /* start only when every earlier READ, FLUSH, PERSIST and every earlier
                             DURABLE op has completed: what they made durable is so before */
    RPMI_OP_DURABLE =
        4, /* COPY, WRITE_IMM, STEPS: answer after the persistence domain, not before */
    RPMI_OP_OTHER_QP = 8, /* send on the second queue pair: no order with the first */
    RPMI_OP_WAIT = 16,    /* the client waits for this op before it posts the next (H9 off) */
    RPMI_OP_CACHED = 32,  /* COPY, WRITE by the client's CPU: where bytes are to leave its caches,
                             by stores and write-backs, not by non-temporal stores (H4 off) */
    RPMI_OP_WORD = 64,    /* WRITE of one aligned 8-byte word, if the facts have ATOMIC WRITE: never
                         torn, and ordered behind every earlier FLUSH, FENCED or not */
    RPMI_OP_ALWAYS = RPMI_OP_WORD /* ORDER: by the agent, even if the server is faster */
};

#endif
