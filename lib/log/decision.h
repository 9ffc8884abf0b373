/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decision.h: a writer that trims its log by the decisions of its connection's agent
 * (RPM_LOG_AGENT_TIER). It asks for one when the ring is three quarters full, and appends go on
 * until it is there.
 *
 * Invariants
 *   a log is trimmed by a decision only to the end of a whole record of its own, at most to its
 *     acknowledged tail, while epoch and head are those that the decision rests on
 *   the number of a decision counts once in a run of the agent
 *
 * Tests: tests/unit/log/decision_test.cpp
 */
#ifndef RPMI_LOG_DECISION_H
#define RPMI_LOG_DECISION_H

#include <stdbool.h>
#include <stdint.h>

struct rpm_log;

/* Embedded in struct rpm_log. */
struct rpmi_trims {
    bool on;
    bool late;         /* ask only when the ring is full */
    bool asks;         /* the last READ brought nothing new: the next one asks for a decision */
    uint32_t run;      /* of the agent whose decision was seen last, and the number of that */
    uint64_t number;   /* decision, which no later one of the run repeats */
    uint64_t again_ns; /* not before this read again */
    uint64_t reads;    /* that have come */
};

/* A log is opened for writing, with these flags. RPM_E_INVAL: its connection has no agent, or it is
 * given a tier of its own too. */
int rpmi_decision_open(struct rpm_log *log);

/* An append that ends at @end_lsn has room: look for a decision if the ring is three quarters full.
 * 0, or an error that ends the append. */
int rpmi_decision_look(struct rpm_log *log, uint64_t end_lsn);

/* The ring is full: wait for one more READ, for 10 ms at most, and trim by what it brings. As
 * rpmi_decision_look(). */
int rpmi_decision_wait(struct rpm_log *log);

/* The ring is still full: why? RPM_E_FULL. */
int rpmi_decision_full(const struct rpm_log *log);

#endif
