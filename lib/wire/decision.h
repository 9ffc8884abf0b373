/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decision.h: a decision: how far the writer of a log may trim it, because durable segments have
 * its records. An agent writes the decision of each log to a line of a region of its own, which
 * writers read.
 *
 * Invariants
 *   a line is written as a whole; a reader that meets two mixed ones finds a wrong checksum
 *   numbers of decisions only grow while an agent runs, and begin anew when it is started again
 *
 * Format: FORMAT.md, section 14.   Tests: tests/unit/wire/decision_test.cpp
 */
#ifndef RPMI_DECISION_H
#define RPMI_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#define RPMI_DECISION_BYTES 64u

/* The region has sets of lines, and behind them a word for each set. A log's line is in the set of
 * its id, and writers of that set ask for a decision by another value in the set's word. */
#define RPMI_DECISIONS_NAME "decisions"
#define RPMI_DECISION_WAYS 8u
#define RPMI_DECISION_SETS 64u
#define RPMI_DECISION_SET_BYTES (RPMI_DECISION_WAYS * RPMI_DECISION_BYTES)
#define RPMI_DECISION_WORDS_AT (RPMI_DECISION_SETS * RPMI_DECISION_SET_BYTES)
#define RPMI_DECISIONS_BYTES (RPMI_DECISION_WORDS_AT + RPMI_DECISION_SETS * 8u)

struct rpmi_layout; /* wire/layout.h */
extern const struct rpmi_layout rpmi_decision_layout;

struct rpmi_decision {
    uint32_t epoch; /* of the log's head that it rests on, */
    uint64_t log_id;
    uint64_t head_lsn; /* and where the log began then */
    uint64_t trim_lsn; /* where the frame of last_lsn ends: the log may begin there */
    uint64_t last_lsn; /* of the last record that the segments have, and the checksum in its */
    uint64_t last_sum; /* frame: the log has the same record there, if it is the same history */
    uint64_t number;   /* from 1 on */
};

static inline uint64_t rpmi_decision_set(uint64_t log_id)
{
    return log_id % RPMI_DECISION_SETS;
}

/* Are its fields within their bounds? */
bool rpmi_decision_is_sound(const struct rpmi_decision *decision);

void rpmi_decision_put(void *bytes, const struct rpmi_decision *decision);

/* 0; RPM_E_NOENT: zeros, a line that was never written; RPM_E_VERSION; RPM_E_CORRUPT: a wrong
 * checksum, or fields out of their bounds. */
int rpmi_decision_get(const void *bytes, struct rpmi_decision *decision);

#endif
