/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reap.c: report the ops that have ended by the completions and messages that came (collect.c).
 *
 * An op ends by the completion of its last request or, if the server CPU carries it out, by the
 * message that counts its RPC requests as done. These can arrive in any order, but ops are reported
 * in the order posted, each after its own end. An op that needs no report is skipped when a later
 * op has ended, or when its own request is known to be finished.
 *
 * When the queue pair fails, the request at which it failed gets the reason, all later requests
 * RPM_E_LOST.
 *
 * Waiting: spin, then sleep on the descriptors of the completion queue and of the connection.
 *
 * Tests: tests/conform/transport_test.cpp, tests/conform/loss_test.cpp (in tests/live/)
 */
#include "transport/verbs/verbs.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "transport/remote.h"

#include <poll.h>

#define SPINS_AT_ONCE 16u
#define SPIN_WORTH_NS 500000u /* if waits usually take longer, the spin is short */
#define SLICE_MS 100          /* longest sleep between two checks of the connection */

enum op_outcome { OUTSTANDING, ENDED, FAILED };

/* The outcome of an op that is not known to have ended: if the queue pair is broken or the server
 * CPU failed a request, no completion of it can arrive any more. */
static enum op_outcome outcome_if_broken(const struct rpmi_verbs *verbs)
{
    return verbs->broken || verbs->rpc_status != 0 ? FAILED : OUTSTANDING;
}

/* Has an op ended, and how? */
static enum op_outcome outcome_of(const struct rpmi_verbs *verbs,
                                  const struct rpmi_verbs_sent *sent)
{
    if (sent->refused != 0)
        return sent->wr + 1 <= verbs->finished && sent->rpc <= verbs->rpcs_done
                   ? FAILED
                   : outcome_if_broken(verbs);
    if (sent->rpc != 0 && sent->rpc <= verbs->rpcs_done)
        return sent->rpc == verbs->rpcs_done && verbs->rpc_status != 0 ? FAILED : ENDED;
    if (sent->rpc == 0 && sent->wr < verbs->finished)
        return ENDED;
    if (verbs->rpc_status != 0)
        return FAILED;
    /* No request behind the failed one was carried out. Unsignaled ones in front of it were, but
     * the client cannot distinguish them from it. */
    return verbs->broken && (sent->rpc != 0 || sent->wr >= verbs->broken_wr) ? FAILED : OUTSTANDING;
}

static bool writes(uint8_t kind)
{
    return kind == RPMI_OP_WRITE || kind == RPMI_OP_WRITE_IMM || kind == RPMI_OP_CAS ||
           kind == RPMI_OP_FAA;
}

/* Why it failed: the request that broke the queue pair, and the RPC request that the server CPU
 * refused, have their own reasons; all other ops get RPM_E_LOST. */
static int failure_of(struct rpmi_verbs *verbs, const struct rpmi_verbs_sent *sent)
{
    int status = RPM_E_LOST;

    if (sent->refused != 0)
        return sent->refused;
    if (verbs->rpc_status != 0 && sent->rpc == verbs->rpcs_done)
        return rpmi_fail(verbs->rpc_status, "%s", rpmi_remote_reason(verbs->rpc_status));
    if (verbs->broken && sent->rpc == 0 && !verbs->failure_reported) {
        verbs->failure_reported = true;
        status = verbs->broken_status;
    }
    if (status == RPM_E_LOST && writes(sent->kind) && verbs->fenced[sent->key % RPMI_KEYS_MAX])
        status = rpmi_fail(RPM_E_FENCED, "another writer claimed the log; claim it to write again");
    return status;
}

/* The number of the next op to report, or sent_tail. The ops before it need no report. */
static uint64_t next_to_report(const struct rpmi_verbs *verbs, enum op_outcome *outcome)
{
    for (uint64_t i = verbs->sent_head; i != verbs->sent_tail; i++) {
        const struct rpmi_verbs_sent *sent = &verbs->sent[i % verbs->link.depth];

        *outcome = outcome_of(verbs, sent);
        if (*outcome == FAILED || (sent->signaled && *outcome == ENDED))
            return i;
        if (sent->signaled)
            return verbs->sent_tail;
    }
    return verbs->sent_tail;
}

/* Free the entries of the oldest ops, as long as they need no report and have ended. */
static void skip_unreported(struct rpmi_verbs *verbs)
{
    while (verbs->sent_head != verbs->sent_tail) {
        const struct rpmi_verbs_sent *sent = &verbs->sent[verbs->sent_head % verbs->link.depth];

        if (sent->signaled || outcome_of(verbs, sent) != ENDED)
            return;
        verbs->sent_head++;
    }
}

/* Is the link lost, once all ops that have ended are reported? */
static bool is_lost(const struct rpmi_verbs *verbs)
{
    return verbs->broken || verbs->rpc_status != 0 ||
           (verbs->refusing && verbs->sent_head == verbs->sent_tail);
}

static bool has_report(const struct rpmi_verbs *verbs)
{
    enum op_outcome outcome;

    return next_to_report(verbs, &outcome) != verbs->sent_tail || is_lost(verbs);
}

static uint32_t reap(struct rpmi_verbs *verbs, struct rpmi_done *done, uint32_t n)
{
    uint32_t count = 0;

    RPM_ASSERT(verbs->sent_tail - verbs->sent_head <= verbs->link.depth);
    while (count < n) {
        enum op_outcome outcome = OUTSTANDING;
        uint64_t i = next_to_report(verbs, &outcome);
        const struct rpmi_verbs_sent *sent = &verbs->sent[i % verbs->link.depth];

        if (i == verbs->sent_tail)
            break;
        done[count].id = sent->id;
        done[count].status = outcome == FAILED ? failure_of(verbs, sent) : 0;
        count++;
        verbs->sent_head = i + 1;
    }
    skip_unreported(verbs);
    return count;
}

int rpmi_verbs_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    struct rpmi_verbs *verbs = rpmi_verbs_of(link);
    uint32_t count;

    if (RPMI_UNLIKELY(link->lost != 0))
        return RPM_E_LOST;
    rpmi_verbs_drain(verbs);
    count = reap(verbs, done, n);
    if (count > 0 || !is_lost(verbs))
        return (int)count;
    link->lost = RPM_E_LOST;
    return RPM_E_LOST;
}

/* Events of the connection: it ended, or the device is being removed. */
static void handle_cm_events(struct rpmi_verbs *verbs)
{
    struct rdma_cm_event *event;

    while (rdma_get_cm_event(verbs->events, &event) == 0) {
        enum rdma_cm_event_type what = event->event;

        (void)rdma_ack_cm_event(event);
        if (what == RDMA_CM_EVENT_DISCONNECTED || what == RDMA_CM_EVENT_DEVICE_REMOVAL) {
            rpmi_verbs_drain(verbs);
            if (!verbs->broken)
                (void)rpmi_fail(RPM_E_LOST, what == RDMA_CM_EVENT_DISCONNECTED
                                                ? "the server ended the connection"
                                                : "the device was removed");
            rpmi_verbs_break(verbs, verbs->finished, RPM_E_LOST);
        }
    }
}

/* Consume the events of both descriptors, so that they become readable only at the next ones. */
static void consume_events(struct rpmi_verbs *verbs)
{
    struct ibv_cq *cq;
    void *context;

    while (ibv_get_cq_event(verbs->channel, &cq, &context) == 0)
        ibv_ack_cq_events(cq, 1);
    handle_cm_events(verbs);
}

static void sleep_on(struct rpmi_verbs *verbs, uint64_t ns)
{
    struct pollfd fds[2] = {
        { .fd = verbs->channel->fd, .events = POLLIN },
        { .fd = verbs->events->fd, .events = POLLIN },
    };
    uint64_t ms = ns / 1000000u + 1;

    verbs->link.stats.sleeps++;
    (void)poll(fds, 2, ms < SLICE_MS ? (int)ms : SLICE_MS);
    consume_events(verbs);
}

typedef bool ready_fn(const struct rpmi_verbs *verbs, const void *context);

static bool spin(struct rpmi_verbs *verbs, ready_fn *ready, const void *context, uint64_t until_ns)
{
    do {
        for (uint32_t i = 0; i < SPINS_AT_ONCE; i++) {
            rpmi_verbs_drain(verbs);
            if (ready(verbs, context))
                return true;
            rpmi_cpu_relax();
        }
    } while (rpmi_clock_ns() < until_ns);
    return false;
}

/* How long a wait spins before it sleeps: spin_us of the URL; without it RPMI_SPIN_NS, or twice the
 * length of recent waits if that is longer and they were short, because a sleep costs more than a
 * short wait. */
static uint64_t spin_for(const struct rpmi_verbs *verbs)
{
    if (verbs->opts.spin_us != RPMI_VERBS_SPIN_AUTO)
        return verbs->opts.spin_us * 1000ull;
    if (verbs->usual_ns > SPIN_WORTH_NS)
        return RPMI_SPIN_NS;
    return 2 * verbs->usual_ns > RPMI_SPIN_NS ? 2 * verbs->usual_ns : RPMI_SPIN_NS;
}

static void note_wait(struct rpmi_verbs *verbs, uint64_t ns)
{
    verbs->usual_ns += ns / 8;
    verbs->usual_ns -= verbs->usual_ns / 8;
}

static uint64_t earlier(uint64_t one_ns, uint64_t other_ns)
{
    return one_ns < other_ns ? one_ns : other_ns;
}

static int wait_until(struct rpmi_verbs *verbs, ready_fn *ready, const void *context,
                      uint64_t deadline_ns)
{
    uint64_t now;
    uint64_t began;

    rpmi_verbs_drain(verbs);
    if (ready(verbs, context))
        return 0;
    began = now = rpmi_clock_ns();
    if (spin(verbs, ready, context, earlier(now + spin_for(verbs), deadline_ns))) {
        note_wait(verbs, rpmi_clock_ns() - began);
        return 0;
    }
    for (;;) {
        if (ibv_req_notify_cq(verbs->cq, 0) != 0)
            rpmi_verbs_break(verbs, verbs->finished, RPM_E_LOST);
        rpmi_verbs_drain(verbs);
        now = rpmi_clock_ns();
        if (ready(verbs, context)) {
            note_wait(verbs, now - began);
            return 0;
        }
        if (now >= deadline_ns)
            return RPM_E_TIMEDOUT;
        sleep_on(verbs, deadline_ns - now);
    }
}

static bool report_ready(const struct rpmi_verbs *verbs, const void *context)
{
    (void)context;
    return has_report(verbs) || rpmi_verbs_room_came(verbs);
}

int rpmi_verbs_wait(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_verbs *verbs = rpmi_verbs_of(link);

    if (link->lost != 0 || verbs->cq == NULL)
        return 0;
    return wait_until(verbs, report_ready, NULL, deadline_ns);
}

/* An event announces the first completion after the request for events. So request first, then
 * check for completions that came before. */
int rpmi_verbs_arm(struct rpmi_link *link, uint64_t *by_ns)
{
    struct rpmi_verbs *verbs = rpmi_verbs_of(link);

    RPM_ASSERT(verbs->watch.on); /* else no event would end the caller's sleep */
    (void)by_ns;
    if (link->lost != 0 || verbs->cq == NULL)
        return 1;
    consume_events(verbs);
    if (ibv_req_notify_cq(verbs->cq, 0) != 0)
        rpmi_verbs_break(verbs, verbs->finished, RPM_E_LOST);
    rpmi_verbs_drain(verbs);
    return has_report(verbs) ? 1 : 0;
}

static bool flag_ready(const struct rpmi_verbs *verbs, const void *context)
{
    return *(const bool *)context || verbs->broken || verbs->rpc_status != 0;
}

int rpmi_verbs_wait_flag(struct rpmi_verbs *verbs, const bool *flag, uint64_t deadline_ns)
{
    int err = wait_until(verbs, flag_ready, flag, deadline_ns);

    if (err != 0)
        return rpmi_remote_late();
    return *flag ? 0 : RPM_E_LOST;
}
