/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h: request and facts in, sequence of ops out. Made once when a log or region is opened;
 * applying it to one request is a few assignments. Pure: no I/O, no clock, no allocation.
 *
 * A group of writes reaches its level by each write being self-certifying (write_kind WRITE_IMM or
 * COPY), or by one seal after the last write (READ, PERSIST, FLUSH or DRAIN).
 *
 * Tests: tests/unit/plan/
 */
#ifndef RPMI_PLAN_H
#define RPMI_PLAN_H

#include "transport/op.h"

#include <librpm/plan.h>
#include <stdbool.h>
#include <stdint.h>

struct rpmi_plan {
    enum rpm_method method;
    enum rpm_level level;
    uint32_t hints;      /* RPM_HINT() bits in force */
    uint8_t write_kind;  /* enum rpmi_op_kind of every write */
    uint8_t write_flags; /* enum rpmi_op_flag of every write; SIGNALED is added to the last op.
                            WAIT (H9 off) matters on the last write of a group only */
    uint8_t seal_kind;   /* enum rpmi_op_kind that ends a group, 0: none needed */
    uint8_t seal_flags;
    uint32_t pad_unit;    /* log: written length is rounded up to this: 1 or 64 (H6, H7) */
    uint32_t large_unit;  /* log: frames over 256 bytes start at and fill this: 64 or 256 (H5) */
    uint32_t seal_bytes;  /* length of a READ seal, aimed at the scratch key */
    bool same_node;       /* H1 */
    bool spread;          /* H2 */
    uint32_t writers_max; /* H2: CPU writers in one module at a time, 0: any */
    uint32_t ddio;        /* H3: enum rpm_answer asked for, 0: unchanged */
    uint32_t copy;        /* H4: enum rpm_copy, 0: no CPU copies */
};

/* A contiguous piece of remote memory. */
struct rpmi_range {
    uint64_t offset;
    uint64_t len;
};

/* Choose. @request->method 0: the cheapest legal one among facts->methods. RPM_E_NOCAP with a
 * text that says why the level cannot be proven. */
int rpmi_plan_make(const struct rpm_facts *facts, const struct rpm_request *request,
                   struct rpmi_plan *plan);

/* The methods that could carry the request out at the plan's level, its own first, then in order of
 * cost: at most @n of them. Their number. */
uint32_t rpmi_plan_alternatives(const struct rpm_facts *facts, const struct rpm_request *request,
                                const struct rpmi_plan *plan, enum rpm_method *methods, uint32_t n);

/* Why @method is none of these, for people. NULL: it is one. */
const char *rpmi_plan_objection(const struct rpm_facts *facts, const struct rpm_request *request,
                                const struct rpmi_plan *plan, enum rpm_method method);

/* A plan that brings a range to the level, written by any client and any method (recovery,
 * persist): it does not rely on how this client wrote the range. RPM_E_NOCAP. */
int rpmi_plan_make_persist(const struct rpm_facts *facts, const struct rpm_request *request,
                           struct rpmi_plan *plan);

/* 0: the client's CPU stores and fences. 2: the last write completes before the seal is posted. */
static inline uint32_t rpmi_plan_round_trips(const struct rpmi_plan *plan)
{
    if (plan->method == RPM_METHOD_STORE && plan->write_kind == RPMI_OP_WRITE)
        return 0;
    return (plan->write_flags & RPMI_OP_WAIT) != 0 ? 2 : 1;
}

/* Fill in kind, flags, key, offset and length of one write; the caller sets the data pointers. */
static inline void rpmi_plan_write(const struct rpmi_plan *plan, uint32_t key, uint64_t offset,
                                   uint64_t len, struct rpmi_op *op)
{
    op->kind = plan->write_kind;
    op->flags = plan->write_flags & (uint8_t)~RPMI_OP_WAIT;
    op->key = key;
    op->offset = offset;
    op->len = len;
}

/* Mark the last write of a group, which the seal may have to wait for (H9 off). */
static inline void rpmi_plan_last_write(const struct rpmi_plan *plan, struct rpmi_op *op)
{
    op->flags |= plan->write_flags & RPMI_OP_WAIT;
}

/*
 * Append the ops that seal a group which touched @ranges of @key: one READ, FLUSH or DRAIN, or a
 * PERSIST, an ORDER or a CARRY for each range; of the last two the caller sets the LSNs. @into: one
 * byte of staging memory for a READ seal. Returns how many ops were written to @ops (0 when writes
 * certify themselves), at most @ranges_n or 1. The caller adds SIGNALED and the id to the last op
 * of the group.
 */
uint32_t rpmi_plan_seal(const struct rpmi_plan *plan, uint32_t key, const struct rpmi_range *ranges,
                        uint32_t ranges_n, void *into, struct rpmi_op *ops);

#endif
