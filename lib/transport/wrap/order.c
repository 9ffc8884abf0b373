/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order.c: a link on which ORDER brings records to their level. The server's link carries the
 * WRITEs in front of it. The agent's link carries the question which of them the server sees, at
 * once: the two links have no order between them, so the answer may be "not all of them yet", and
 * the question is then asked again. An ORDER has ended when the server has certified all of its
 * records and the WRITEs in front of it have completed: before that the NIC may still send them
 * again, and staging memory must keep their bytes.
 *
 * A CARRY is an ORDER whose WRITEs the agent sends, if it can (carry.h).
 *
 * The link asks the agent or the server, by what each of them takes (order_choose.c). An ORDER that
 * the agent has not fulfilled in time, or whose agent is away, is done by a PERSIST of the same
 * bytes, on the server's link behind the WRITEs.
 *
 * Invariants
 *   completions are reported in the order of posts, though the two links answer independently
 *   sent[] has an entry for each completion that the server's link owes, in order
 *   an ORDER ends by a certificate of its claim or by a PERSIST, and by nothing else
 *
 * Tests: tests/unit/transport/wrap/order_test.cpp, tests/crash/
 */
#include "transport/wrap/order.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/canary.h"
#include "base/err.h"
#include "base/mem.h"
#include "transport/wrap/carry.h"
#include "transport/wrap/order_link.h"

#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define AGAIN_NS 5000ull /* between the first two questions about the same records; doubles */
#define REAP 8
#define LOOK_TURNS 64u /* of a link that uses no ORDER, to each look at the agent */
#define IDLE_MAX_NS 50000ull
#define IDLE_NS 500ull
#define LOOK_PART 8u /* an answer that nothing waits for is looked for as late as by such a part */

static uint64_t now_of(struct rpmi_order *order)
{
    return rpmi_wrap_now_ns(&order->wrap.link);
}

/* The server's link has completed what sent[] says is next. */
static void take_sent(struct rpmi_order *order, const struct rpmi_done *done)
{
    const struct rpmi_order_sent *sent = &order->sent[order->sent_first];
    struct rpmi_order_entry *entry = &order->pending[sent->pending];

    RPM_ASSERT(order->sent_used > 0);
    order->sent_first = (order->sent_first + 1) % order->room;
    order->sent_used--;
    if (sent->wants == RPMI_WANTS_WRITTEN) {
        entry->written = true;
        return;
    }
    entry->done = true;
    entry->status = done->status;
    rpmi_order_measure(order, entry);
}

/* A failed op, which ends the server's link: what is not done yet has an unknown end. The user gets
 * the reason behind what is done. */
static void take_failure(struct rpmi_order *order, const struct rpmi_done *done)
{
    uint32_t left = 0;

    while (left < order->used && rpmi_order_entry(order, left)->done)
        left++;
    order->used = left + 1 > order->room ? order->room : left + 1;
    *rpmi_order_entry(order, order->used - 1) =
        (struct rpmi_order_entry){ .id = done->id, .done = true, .status = done->status };
    order->failed = true;
}

/* True: a completion was reaped, so that there may be room for ops that were not taken. */
static bool reap_inner(struct rpmi_order *order)
{
    struct rpmi_done done[REAP];
    bool reaped = false;
    int n;

    do {
        n = rpmi_wrap_poll(&order->wrap.link, done, REAP);
        reaped = reaped || n > 0;
        for (int i = 0; i < n && !order->failed; i++)
            if (done[i].status != 0)
                take_failure(order, &done[i]);
            else
                take_sent(order, &done[i]);
    } while (n == REAP);
    return reaped;
}

static bool is_certified(struct rpmi_order *order, const struct rpmi_order_entry *entry)
{
    const struct rpmi_claimed *claim = rpmi_agent_claim(&order->agent, entry->piece[0].key);

    return claim != NULL && claim->certified_lsn >= entry->end_lsn;
}

/* Is it an ORDER whose records the agent may still get certified? */
static bool is_open(struct rpmi_order *order, const struct rpmi_order_entry *entry)
{
    return entry->is_order && !entry->done && !entry->persisting && !is_certified(order, entry) &&
           rpmi_agent_claim(&order->agent, entry->piece[0].key) != NULL;
}

static bool has_open(struct rpmi_order *order)
{
    for (uint32_t i = 0; i < order->used; i++)
        if (is_open(order, rpmi_order_entry(order, i)))
            return true;
    return false;
}

/* The agent does not fulfil it: have a PERSIST do so, if the server's link has room. */
static void fall_back(struct rpmi_order *order, uint32_t i, bool late, uint64_t now_ns)
{
    struct rpmi_order_entry *entry = rpmi_order_entry(order, i);

    if (late && entry->carried)
        rpmi_agent_late(&order->agent, now_ns);
    else if (late)
        rpmi_order_late(order, entry, now_ns);
    else
        rpmi_order_unmeasure(order, entry);
    if (order->agent.away_until_ns > now_ns)
        order->trouble_ns = 0; /* that is over once it is asked again */
    rpmi_order_persist(order, i);
}

/* End what can end; have a PERSIST do what the agent does not. True: an ORDER waits for it. */
static bool judge_orders(struct rpmi_order *order, bool away, uint64_t now_ns)
{
    bool waits = false;

    for (uint32_t i = 0; i < order->used; i++) {
        struct rpmi_order_entry *entry = rpmi_order_entry(order, i);
        bool late = now_ns - entry->posted_ns > entry->patience_ns && !RPMI_CANARY(ORDER_ENDLESS);

        if (!entry->is_order || entry->done || entry->persisting)
            continue; /* a PERSIST that was posted ends the ORDER when it completes */
        if (is_certified(order, entry)) {
            if (entry->certified_ns == 0)
                entry->certified_ns = now_ns;
            entry->done = entry->written;
            if (entry->done)
                rpmi_order_measure(order, entry);
            continue;
        }
        if (late || away || rpmi_carry_failed(order, entry) ||
            rpmi_agent_claim(&order->agent, entry->piece[0].key) == NULL)
            fall_back(order, i, late, now_ns);
        waits = waits || !entry->persisting;
    }
    return waits;
}

/* Where the records of an ORDER begin that are not certified yet. */
static uint64_t open_lsn(struct rpmi_order *order, const struct rpmi_order_entry *entry)
{
    const struct rpmi_claimed *claim = rpmi_agent_claim(&order->agent, entry->piece[0].key);

    RPM_ASSERT(claim != NULL && claim->certified_lsn < entry->end_lsn);
    return claim->certified_lsn > entry->first_lsn ? claim->certified_lsn : entry->first_lsn;
}

/* Add an ORDER to the questions: to one that ends where it begins, or as a new one. */
static uint32_t add_ask(struct rpmi_ask *asks, uint32_t n, const struct rpmi_order_entry *entry,
                        uint64_t first_lsn)
{
    for (uint32_t i = 0; i < n; i++)
        if (asks[i].key == entry->piece[0].key) {
            if (asks[i].end_lsn == entry->first_lsn)
                asks[i].end_lsn = entry->end_lsn;
            return n;
        }
    if (n == RPMI_ASKS_MAX)
        return n;
    asks[n] = (struct rpmi_ask){
        .key = entry->piece[0].key,
        .first_lsn = first_lsn,
        .end_lsn = entry->end_lsn,
    };
    return n + 1;
}

/* They are asked about now, for the first time. */
static void note_asked(struct rpmi_order *order, const struct rpmi_ask *asks, uint32_t n,
                       uint64_t now_ns)
{
    for (uint32_t i = 0; i < order->used; i++) {
        struct rpmi_order_entry *entry = rpmi_order_entry(order, i);

        for (uint32_t k = 0; k < n && is_open(order, entry) && entry->asked_ns == 0; k++)
            if (asks[k].key == entry->piece[0].key && asks[k].end_lsn >= entry->end_lsn)
                entry->asked_ns = now_ns;
    }
}

/* Ask for all ORDERs that wait. About the same records it asks again only after a while. */
static void ask(struct rpmi_order *order, uint64_t now_ns)
{
    struct rpmi_ask asks[RPMI_ASKS_MAX];
    uint64_t sum = 0; /* changes with the questions: with more records, and with fewer */
    uint32_t n = 0;

    for (uint32_t i = 0; i < order->used; i++) {
        const struct rpmi_order_entry *entry = rpmi_order_entry(order, i);

        if (!is_open(order, entry))
            continue;
        n = add_ask(asks, n, entry, open_lsn(order, entry));
        sum += entry->end_lsn + open_lsn(order, entry);
    }
    if (n == 0 || (sum == order->asked_sum && now_ns < order->again_ns))
        return;
    order->pause_ns = sum == order->asked_sum ? 2 * order->pause_ns : AGAIN_NS;
    order->asked_sum = sum;
    order->again_ns = now_ns + order->pause_ns;
    note_asked(order, asks, n, now_ns);
    rpmi_agent_send(&order->agent, asks, n, now_ns);
    rpmi_carry_hand(order);
}

/* Does an ORDER wait for the agent, or for the server, while the agent's time is measured? If not,
 * the link is used like the server's own. */
static bool waits_for_agent(struct rpmi_order *order)
{
    if (order->probe.active && order->probe.served_ns == 0)
        return true;
    for (uint32_t i = 0; i < order->used; i++)
        if (rpmi_order_entry(order, i)->is_order && !rpmi_order_entry(order, i)->done)
            return true;
    return false;
}

/* Take an answer that nothing waits for, and notice that an agent has ended. Each look is a system
 * call, so a turn does it seldom. */
static void look_at_agent(struct rpmi_order *order)
{
    uint64_t now_ns = now_of(order);

    order->turns = 0;
    (void)rpmi_agent_take(&order->agent, order->wrap.link.server_epoch, rpmi_order_level(order),
                          now_ns);
    rpmi_order_probe_turn(order, true);
    order->look_ns = now_ns + (now_ns - order->agent.asked_ns) / LOOK_PART;
}

/* Look seldom, but for an answer that is due as soon as its time is to be known. */
static void look_sometimes(struct rpmi_order *order)
{
    bool expected = order->agent.asks != 0 || order->probe.active;

    if (expected ? now_of(order) >= order->look_ns : ++order->turns >= LOOK_TURNS)
        look_at_agent(order);
}

/* ORDERs have waited since @since_ns for no answer of the agent: add that to their patience. */
static uint64_t wait_longer(struct rpmi_order *order, uint64_t since_ns)
{
    uint64_t ns = now_of(order) - since_ns;

    for (uint32_t i = 0; i < order->used && ns > 0; i++)
        rpmi_order_entry(order, i)->patience_ns += ns;
    return ns;
}

/* Notice answers, and ask what is to be asked. True: a list has ended. */
static bool agent_turn(struct rpmi_order *order, uint64_t dial_ns)
{
    uint64_t now_ns = now_of(order);
    bool taken = rpmi_agent_take(&order->agent, order->wrap.link.server_epoch,
                                 rpmi_order_level(order), now_ns);
    bool open = has_open(order);
    bool is_free;
    bool away;

    rpmi_order_probe_turn(order, !open);
    is_free = open && rpmi_agent_is_free(&order->agent, now_ns, dial_ns);
    now_ns += wait_longer(order, now_ns); /* dialling it may have taken a while */
    away = rpmi_order_is_away(order, now_ns);
    if (judge_orders(order, away || order->agent.link == NULL, now_ns) && is_free)
        ask(order, now_ns);
    order->wrap.inner->stats.agent_setup_ns = order->agent.setup_ns;
    return taken;
}

/* True: something was reaped. @dial_ns: how long it may block to dial an agent that was away. */
static bool turn(struct rpmi_order *order, uint64_t dial_ns)
{
    bool reaped = reap_inner(order);

    if (order->wrap.link.lost != 0 || order->failed)
        return true;
    if (waits_for_agent(order))
        return agent_turn(order, dial_ns) || reaped;
    look_sometimes(order);
    return reaped;
}

static uint32_t give(struct rpmi_order *order, struct rpmi_done *done, uint32_t n)
{
    uint32_t count = 0;

    while (count < n && order->used > 0 && order->pending[order->first].done) {
        const struct rpmi_order_entry *entry = &order->pending[order->first];

        done[count++] = (struct rpmi_done){ entry->id, entry->status };
        rpmi_carry_release(order, entry);
        order->first = (order->first + 1) % order->room;
        order->used--;
    }
    return count;
}

/* In the device model no time passes while neither link has an event: let it pass, in longer and
 * longer steps. */
static void idle(struct rpmi_order *order, uint64_t most_ns)
{
    uint64_t ns = order->idle_ns < most_ns ? order->idle_ns : most_ns;

    rpmi_wrap_pause(&order->wrap.link, ns);
    order->idle_ns += order->idle_ns < IDLE_MAX_NS ? order->idle_ns / 2 : 0;
}

static int order_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct rpmi_order *order = rpmi_order_of(link);
    int taken = rpmi_order_post(order, ops, n);

    order->idle_ns = IDLE_NS;
    if (waits_for_agent(order))
        (void)turn(order, rpmi_order_dial_ns(order));
    return taken;
}

static int order_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    struct rpmi_order *order = rpmi_order_of(link);
    bool reaped = turn(order, 0);
    uint32_t count = give(order, done, n);

    if (count == 0 && link->lost != 0)
        return link->lost;
    if (count == 0 && !reaped && order->used > 0 && order->epoll_fd < 0)
        idle(order, UINT64_MAX);
    return (int)count;
}

/* Something to report, or room for more. */
static bool is_ready(const struct rpmi_order *order)
{
    return order->wrap.link.lost != 0 || (order->used > 0 && order->pending[order->first].done);
}

/* When a turn has something to do although neither link has an event. */
static uint64_t next_turn_ns(struct rpmi_order *order)
{
    uint64_t by_ns = UINT64_MAX;

    if (order->probe.active && order->agent.asks == 0)
        by_ns = order->probe.again_ns;
    for (uint32_t i = 0; i < order->used; i++) {
        const struct rpmi_order_entry *entry = rpmi_order_entry(order, i);
        uint64_t at_ns = entry->posted_ns + entry->patience_ns + 1;

        if (!entry->is_order || entry->done || entry->persisting)
            continue;
        if (order->agent.link != NULL && order->agent.asks == 0 && !is_certified(order, entry))
            at_ns = order->again_ns;
        by_ns = at_ns < by_ns ? at_ns : by_ns;
    }
    return by_ns;
}

static int order_arm(struct rpmi_link *link, uint64_t *by_ns)
{
    struct rpmi_order *order = rpmi_order_of(link);
    uint64_t turn_ns;
    int there;

    if (order->epoll_fd < 0)
        return rpmi_fail(RPM_E_NOCAP, "this link has no descriptor for an event loop");
    (void)turn(order, 0);
    if (is_ready(order))
        return 1;
    if (!waits_for_agent(order))
        look_at_agent(order); /* its descriptor may be what woke the program */
    there = rpmi_wrap_arm(link, by_ns);
    if (there == 0 && order->agent.link != NULL) /* also while idle: it may be lost */
        there = order->agent.link->ops->arm(order->agent.link, by_ns);
    turn_ns = next_turn_ns(order);
    *by_ns = turn_ns < *by_ns ? turn_ns : *by_ns;
    return there;
}

static void sleep_until(struct rpmi_order *order, uint64_t until_ns)
{
    struct epoll_event event;
    uint64_t by_ns = until_ns;
    uint64_t now_ns;

    if (order_arm(&order->wrap.link, &by_ns) != 0)
        return;
    now_ns = now_of(order);
    if (by_ns > now_ns)
        (void)epoll_wait(order->epoll_fd, &event, 1, (int)((by_ns - now_ns) / 1000000 + 1));
    order->wrap.inner->stats.sleeps++;
    rpmi_wrap_sync_stats(&order->wrap);
}

static int order_wait(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_order *order = rpmi_order_of(link);
    uint64_t spin_ns = 0;

    for (;;) {
        uint64_t now_ns;

        if (is_ready(order))
            return 0;
        if (!waits_for_agent(order))
            return rpmi_wrap_wait(link, deadline_ns);
        if (turn(order, 0) || is_ready(order))
            return 0;
        now_ns = now_of(order);
        spin_ns = spin_ns == 0 ? now_ns + RPMI_SPIN_NS : spin_ns;
        if (now_ns >= deadline_ns)
            return RPM_E_TIMEDOUT;
        if (order->epoll_fd < 0)
            idle(order, deadline_ns - now_ns);
        else if (now_ns < spin_ns)
            (void)sched_yield(); /* the agent may be waiting for this CPU */
        else
            sleep_until(order, deadline_ns);
    }
}

static int order_watch(struct rpmi_link *link, int epoll_fd)
{
    struct rpmi_order *order = rpmi_order_of(link);
    struct epoll_event event = { .events = EPOLLIN };

    if (order->epoll_fd < 0)
        return rpmi_wrap_watch(link, epoll_fd);
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, order->epoll_fd, &event) != 0)
        return rpmi_fail(RPM_E_NOMEM, "cannot watch a descriptor: %s", strerror(errno));
    return 0;
}

static int order_call(struct rpmi_link *link, const struct rpmi_call *call,
                      struct rpmi_reply *reply, uint64_t deadline_ns)
{
    struct rpmi_order *order = rpmi_order_of(link);
    int err = rpmi_wrap_call(link, call, reply, deadline_ns);

    if (err != 0)
        return err;
    rpmi_agent_learn(&order->agent, call, reply);
    if (call->kind == RPMI_CALL_SEAL && reply->status == 0 && order->carries)
        rpmi_carry_delegate(order, call->key, deadline_ns);
    return 0;
}

static void set_methods(struct rpmi_order *order)
{
    order->wrap.link.facts.methods |= 1u << RPM_METHOD_ORDER;
    if (order->carries)
        order->wrap.link.facts.methods |= 1u << RPM_METHOD_CARRY;
}

static int order_reconnect(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_order *order = rpmi_order_of(link);
    int err = rpmi_wrap_reconnect(link, deadline_ns);

    set_methods(order);
    if (err != 0)
        return err; /* the old connection may still report what it owes */
    order->first = order->used = 0;
    order->sent_first = order->sent_used = 0;
    order->unsignaled = 0;
    order->failed = false;
    order->carry_first = order->carry_used = 0;
    rpmi_agent_forget(&order->agent);
    rpmi_order_choose_begin(order);
    return 0;
}

static void order_free(struct rpmi_order *order)
{
    if (order->epoll_fd >= 0)
        (void)close(order->epoll_fd);
    rpmi_free(order->pending);
    rpmi_free(order->sent);
}

static void order_close(struct rpmi_link *link)
{
    struct rpmi_order *order = rpmi_order_of(link);

    rpmi_agent_close(&order->agent);
    order_free(order);
    rpmi_wrap_close(link);
}

static const struct rpmi_transport_ops order_ops = {
    .size = sizeof(struct rpmi_transport_ops),
    .scheme = "order",
    .connect = rpmi_wrap_connect,
    .reconnect = order_reconnect,
    .post = order_post,
    .poll = order_poll,
    .wait = order_wait,
    .watch = order_watch,
    .arm = order_arm,
    .call = order_call,
    .stage = rpmi_wrap_stage,
    .unstage = rpmi_wrap_unstage,
    .peek = rpmi_wrap_peek,
    .now_ns = rpmi_wrap_now_ns,
    .pause = rpmi_wrap_pause,
    .close = order_close,
};

/* A set for the descriptors of both links. -1: this one has none, as one of the device model. */
static int open_events(struct rpmi_link *inner)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd >= 0 && inner->ops->watch(inner, fd) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static int open_rings(struct rpmi_order *order, struct rpmi_link *inner)
{
    order->room = 2 * inner->depth + 4 * RPMI_BATCH_OPS_MAX;
    order->pending = rpmi_alloc(order->room * sizeof(order->pending[0]), RPMI_LINE_BYTES);
    order->sent = rpmi_alloc(order->room * sizeof(order->sent[0]), RPMI_LINE_BYTES);
    order->word = inner->ops->stage(inner, RPMI_LINE_BYTES);
    return order->pending == NULL || order->sent == NULL || order->word == NULL ? RPM_E_NOMEM : 0;
}

int rpmi_order_open(struct rpmi_link *inner, const struct rpmi_agent_address *address,
                    uint64_t timeout_us, struct rpmi_link **outer)
{
    struct rpmi_order *order;
    int err;

    if ((inner->flags & RPMI_LINK_COMPLETES_ON_POST) != 0 ||
        (inner->facts.methods & 1u << RPM_METHOD_MESSAGE) == 0)
        return rpmi_fail(RPM_E_NOCAP,
                         "agent=%s: an agent is of no use to this connection, on which the server "
                         "CPU flushes nothing; leave it out",
                         address->url);
    order = rpmi_alloc(sizeof(*order), RPMI_LINE_BYTES);
    if (order == NULL)
        return RPM_E_NOMEM;
    order->epoll_fd = open_events(inner);
    /* The user gives the connection up after timeout_us: leave the server time for its part. */
    order->limit_ns = timeout_us * 1000 / 2;
    order->carries = address->carry[0] != '\0';
    err = order->carries ? rpmi_carry_ask(inner, address->carry, timeout_us) : 0;
    if (err == 0)
        err = open_rings(order, inner);
    if (err == 0)
        err = rpmi_agent_open(&order->agent, address, order->epoll_fd, inner->ops->now_ns(inner),
                              timeout_us);
    if (err != 0) {
        order_free(order);
        rpmi_free(order);
        return err;
    }
    inner->stats.agent_setup_ns = order->agent.setup_ns;
    rpmi_wrap_init(&order->wrap, &order_ops, inner);
    order->wrap.link.agent = &order->agent;
    set_methods(order);
    rpmi_order_choose_begin(order);
    *outer = &order->wrap.link;
    return 0;
}
