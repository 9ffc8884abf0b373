/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decision.h: trim the log of a writer that cannot see the segments of its records, because it is
 * on another machine than the folder.
 *
 * A process that is both an agent (<librpm/agent.h>) and stores segments (<librpm/tier.h>), as
 * rpm-agent is, stages a decision for each log: a line in its memory that says how far the log may
 * be trimmed, and what it rests on. A writer whose connection has that agent, and which opened the
 * log with RPM_LOG_AGENT_TIER, reads the line when the log is three quarters full, and goes on
 * appending meanwhile. It trims only if the line still holds: the head and the epoch of the log are
 * the same, and the last record that was stored is the log's own. So a line of an agent that has
 * ended, was stopped, or stored another history of the log is harmless: it is counted as stale
 * (struct rpm_conn_stats). The append that finds one that holds waits for two round trips to the
 * server, and one that finds the log full waits up to 10 ms for a decision.
 *
 * With a line that holds the writer trusts the agent: it cannot look whether the segments are
 * there.
 */
#ifndef LIBRPM_DECISION_H
#define LIBRPM_DECISION_H

#include <librpm/agent.h>
#include <librpm/tier.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpm_decision {
    size_t size; /* sizeof this struct as the caller compiled it */
    uint64_t log_id;
    uint64_t head_lsn; /* where the log began when this was decided, */
    uint32_t epoch;    /* and of the writer that had claimed it last */
    uint64_t trim_lsn; /* where the segments end that follow each other from there on */
    uint64_t last_lsn; /* of the last record in them, and the checksum of its frame */
    uint64_t last_sum;
};

static inline struct rpm_decision rpm_decision_init(void)
{
    struct rpm_decision decision;

    memset(&decision, 0, sizeof(decision));
    decision.size = sizeof(decision);
    return decision;
}

/**
 * rpm_archiver_decide: how far the log may be trimmed now.
 *
 * @archiver  Borrowed.
 * @decision  in: its size field (rpm_decision_init()); out: the rest, when 1 is returned.
 *
 * Returns 1 with a decision, 0 if no segment has records that are still in the log.
 * Durable:  the records up to trim_lsn survive a loss of power, in segments.
 * Errors:   RPM_E_CORRUPT (the log's head), RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_INVAL.
 * Threads:  one per conn, and per tier.
 * Cost:     one read of the log's head.
 */
RPM_MUST_CHECK int rpm_archiver_decide(struct rpm_archiver *archiver,
                                       struct rpm_decision *decision);

/**
 * rpm_agent_stage: let the writer of a log read a decision to trim it.
 *
 * The decision stays until another one of this log is staged. It holds only until the log is
 * trimmed, or claimed: so decide and stage again after each turn of the archiver, and while there
 * is nothing to store.
 *
 * @agent     Borrowed.
 * @decision  as rpm_archiver_decide() returned it. Borrowed until return.
 *
 * Returns 1 if it was staged; 0 if the same one is there already, or, with RPM_AGENT_ON_DEMAND, no
 * writer has asked.
 * Errors:   RPM_E_INVAL (no decision of rpm_archiver_decide()), RPM_E_OPTS.
 * Threads:  one per agent.
 */
RPM_MUST_CHECK int rpm_agent_stage(struct rpm_agent *agent, const struct rpm_decision *decision);

#ifdef __cplusplus
}
#endif
#endif
