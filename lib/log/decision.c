/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decision.c: trim a log as its agent decides, after looking whether the decision still holds.
 *
 * What is read from the agent is not asserted: it may be old, of another history of the log, or a
 * lie. A lie can make the writer trim records that are in no segment; nothing else.
 *
 * Tests: tests/unit/log/decision_test.cpp
 */
#include "log/decision.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"
#include "log/log.h"
#include "transport/wrap/agent.h"

#include <inttypes.h>

#define AGAIN_NS 1000000ull /* between two READs that brought nothing new */
#define WAIT_NS 10000000ull /* that an append to a full ring waits for a READ */
#define DIAL_NS 20000000ull /* that it may take to dial an agent that was away */
#define PAUSE_NS 20000ull   /* between two looks whether the READ has come */

static struct rpmi_agent *agent_of(const struct rpm_log *log)
{
    return log->conn->link->agent;
}

static uint64_t now_of(const struct rpm_log *log)
{
    return log->conn->link->ops->now_ns(log->conn->link);
}

int rpmi_decision_open(struct rpm_log *log)
{
    if ((log->flags & RPM_LOG_AGENT_TIER) == 0)
        return 0;
    if (log->tier != NULL)
        return rpmi_fail(RPM_E_INVAL,
                         "log '%s': RPM_LOG_AGENT_TIER and a tier: the writer trims by its agent's "
                         "decisions or by looking into the tier; leave one of them out",
                         log->name);
    if (agent_of(log) == NULL)
        return rpmi_fail(RPM_E_INVAL,
                         "log '%s': RPM_LOG_AGENT_TIER on a connection without an agent; add "
                         "agent=URL, where rpm-agent listens that stores the log",
                         log->name);
    RPM_ASSERT(!log->trims.on && log->write_key == 0);
    log->trims.on = true;
    log->trims.late = (log->flags & RPM_LOG_LATE_FETCH) != 0;
    rpmi_fetch_want(agent_of(log));
    return 0;
}

/* Does the log have the record that the decision names, and does it end where it is to be trimmed?
 * 1: yes, 0: no, or an error. */
static int has_record(struct rpm_log *log, const struct rpmi_decision *decision)
{
    enum rpmi_verdict verdict = RPMI_FRAME_BLANK;
    struct rpmi_frame frame;
    int err;

    /* What the ring has of this lap, not more: the caller compared head and tail. */
    RPM_ASSERT(decision->last_lsn >= log->head.trim_lsn && decision->last_lsn < log->acked_lsn);
    err = rpmi_log_judge(log, decision->last_lsn, &frame, &verdict);

    if (err != 0)
        return err;
    return verdict == RPMI_FRAME_VALID && (frame.flags & RPMI_FRAME_PAD) == 0 &&
           frame.sum == decision->last_sum && rpmi_frame_end(&frame) == decision->trim_lsn;
}

/* Does what it rests on still hold? 1, 0, or an error. */
static int holds(struct rpm_log *log, const struct rpmi_decision *decision)
{
    int err = 0;

    if (RPMI_CANARY(STALE_COMMITTED))
        return decision->trim_lsn > log->head.trim_lsn;
    if (decision->epoch != log->epoch)
        return 0;
    /* Another client may have trimmed: then the agent knows a later head. */
    if (decision->head_lsn > log->head.trim_lsn)
        err = rpmi_log_trim_call(log, 0);
    if (err != 0)
        return err;
    return decision->head_lsn == log->head.trim_lsn ? has_record(log, decision) : 0;
}

static int judge(struct rpm_log *log, const struct rpmi_decision *decision, uint32_t run)
{
    struct rpmi_trims *trims = &log->trims;
    bool newer = run != trims->run || decision->number > trims->number;
    int good;

    RPM_ASSERT(log->acked_lsn <= log->tail_lsn && decision->log_id == log->log_id);
    trims->asks = run == trims->run && decision->number == trims->number;
    if (trims->asks)
        return 0;
    /* Records that were stored before their acknowledgement came here: take it next time. */
    if (newer && decision->trim_lsn > log->acked_lsn && decision->trim_lsn <= log->tail_lsn)
        return 0;
    good = newer && decision->trim_lsn <= log->acked_lsn ? holds(log, decision) : 0;
    if (good < 0)
        return good;
    if (newer) {
        trims->run = run;
        trims->number = decision->number;
    }
    if (good == 0) {
        log->conn->link->stats.decisions_stale++;
        return 0;
    }
    RPM_ASSERT(decision->trim_lsn <= log->acked_lsn && decision->trim_lsn > log->head.trim_lsn);
    log->conn->link->stats.decisions++;
    return rpmi_log_trim_call(log, decision->trim_lsn);
}

/* Take what has come, or send for it. */
static int turn(struct rpm_log *log, uint64_t now_ns)
{
    struct rpmi_trims *trims = &log->trims;
    struct rpmi_agent *agent = agent_of(log);
    struct rpmi_decision decision;
    uint32_t run;

    RPM_ASSERT(log->write_key != 0 && agent != NULL);
    switch (rpmi_agent_fetched(agent, log->log_id, now_ns, &decision, &run)) {
    case RPMI_FETCH_LINE:
        trims->reads++;
        trims->again_ns = now_ns + AGAIN_NS;
        return judge(log, &decision, run);
    case RPMI_FETCH_NOTHING:
        trims->reads++;
        trims->again_ns = now_ns + AGAIN_NS;
        trims->asks = true;
        return 0;
    case RPMI_FETCH_SENT:
    case RPMI_FETCH_LOST:
        return 0;
    default:
        if (now_ns >= trims->again_ns)
            rpmi_agent_fetch(agent, log->log_id, trims->asks ? now_ns | 1 : 0, now_ns, DIAL_NS);
        return 0;
    }
}

int rpmi_decision_look(struct rpm_log *log, uint64_t end_lsn)
{
    RPM_ASSERT(end_lsn > log->tail_lsn && log->free_lsn <= log->tail_lsn);
    if (log->trims.late || end_lsn - log->free_lsn <= log->capacity - log->capacity / 4)
        return 0;
    return turn(log, now_of(log));
}

/* Can a READ come? */
static bool is_reachable(const struct rpmi_agent *agent, uint64_t now_ns)
{
    return agent->link != NULL && agent->fetch.key != 0 && agent->away_until_ns <= now_ns;
}

int rpmi_decision_wait(struct rpm_log *log)
{
    uint64_t free_lsn = log->free_lsn;
    uint64_t reads = log->trims.reads;
    uint64_t now_ns = now_of(log);
    uint64_t until_ns = now_ns + WAIT_NS;
    int err = turn(log, now_ns);

    RPM_ASSERT(err != 0 || log->free_lsn >= free_lsn); /* space is never taken back */
    while (err == 0 && log->free_lsn == free_lsn && log->trims.reads == reads &&
           is_reachable(agent_of(log), now_ns) && now_ns < until_ns) {
        log->conn->link->ops->pause(log->conn->link, PAUSE_NS);
        now_ns = now_of(log);
        err = turn(log, now_ns);
    }
    return err;
}

int rpmi_decision_full(const struct rpm_log *log)
{
    const struct rpmi_agent *agent = agent_of(log);
    const char *why = "has not decided that segments have more records: see that it runs with "
                      "--tier and stores this log, or try again when it has stored more";

    if (agent->link == NULL || agent->link->lost != 0)
        why = "is away: start it, with --listen and --tier";
    else if (agent->fetch.key == 0)
        why = "has no decisions: run the rpm-agent of this librpm";
    return rpmi_fail(RPM_E_FULL,
                     "log '%s' is full from its head, %" PRIu64 ", to its tail, %" PRIu64
                     ", and its agent %s %s",
                     log->name, log->free_lsn, log->tail_lsn, agent->address.url, why);
}
