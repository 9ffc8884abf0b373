/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order_choose.c: who fulfils an ORDER, the agent or the server, by what each has taken for ORDERs
 * of this size (base/select.h), and for how long an ORDER waits for the agent.
 *
 * The agent is measured by what it fulfils and, while the server is the faster one, by probes: for
 * one ORDER of a hundred the agent is asked too, and nothing waits for its answer. So an agent that
 * is slow, far away or stopped delays no record. The answer is looked for while the server's is
 * awaited, and then less and less often, so that its time is known to an eighth.
 *
 * The time of one way depends on who else takes it: of the server, which all writers wait for, and
 * of the agent, which is worth its two messages more only if many share a list. So writers that
 * have one clock try the same way at the same time, for the first hundredth of each period, the
 * agent and the server in turn, and learn what it takes when all of them take it.
 *
 * A link may begin with estimates (calibration.h): it then asks the faster one from its first ORDER
 * on, and what it measures takes the estimates' place.
 *
 * Invariants
 *   both ways bring records to the level of the link, by methods that are legal for it
 *   a pick ends once: when its ORDER does, or when the agent has let it down
 *
 * Tests: tests/unit/transport/wrap/order_choose_test.cpp
 */
#include "base/assert.h"
#include "base/canary.h"
#include "transport/wrap/order_link.h"

#define PATIENCE 8u /* times what the agent takes on the average: how long an ORDER waits */
#define GIVE_UP 4u  /* times that: how long it may fulfil nothing in time, if it is far away */
#define PROBE 10u   /* times how long it may fulfil nothing: a probe delays nothing */
#define SETUP 4u    /* times what connecting took: how long it may take */
#define MEAN 8u     /* averages move by such a part of what is new */
#define PERIOD_NS 200000000ull
#define TRIAL_NS (PERIOD_NS / 100)
/* A way that takes longer than so many times the other is not tried; the server is tried in one
 * period of so many. */
#define TRIED 8u
#define PROBE_AGAIN_NS 5000ull
#define BLURRED 4u /* an answer was there for up to such a part of its time before it was seen */

static uint64_t now_of(struct rpmi_order *order)
{
    return rpmi_wrap_now_ns(&order->wrap.link);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Begin with the estimates of a calibration. */
static void expect(struct rpmi_order *order)
{
    const struct rpmi_calibration *calibration = &order->agent.address.calibration;

    for (uint32_t i = 0; i < RPMI_SELECT_CLASSES; i++) {
        if (calibration->agent_ns[i] != 0)
            rpmi_select_expect(&order->select, RPMI_WAY_AGENT, i, calibration->agent_ns[i]);
        if (calibration->server_ns[i] != 0)
            rpmi_select_expect(&order->select, RPMI_WAY_SERVER, i, calibration->server_ns[i]);
    }
}

void rpmi_order_choose_begin(struct rpmi_order *order)
{
    uint32_t level = (uint32_t)rpmi_order_level(order);

    if (order->select.count == 0 || order->select.promise != level) {
        rpmi_select_init(&order->select, level);
        (void)rpmi_select_add(&order->select, level); /* RPMI_WAY_AGENT */
        (void)rpmi_select_add(&order->select, level); /* RPMI_WAY_SERVER */
        expect(order);
    }
    rpmi_select_lose_all(&order->select);
    order->probe = (struct rpmi_order_probe){ .active = false };
    order->split = false;
    order->trouble_ns = 0;
}

uint64_t rpmi_order_give_up_ns(const struct rpmi_order *order)
{
    uint64_t ns = larger(RPMI_ORDER_NS, SETUP * order->agent.setup_ns);

    for (uint32_t i = 0; i < RPMI_SELECT_CLASSES; i++)
        ns = larger(ns, GIVE_UP * order->mean_ns[i]);
    return smaller(ns, order->limit_ns);
}

/* Before the first measurement of a size class its estimate is used. A wrong estimate does not make
 * an ORDER wait longer than no estimate: most_ns limits both. */
uint64_t rpmi_order_patience_ns(const struct rpmi_order *order, uint32_t size_class)
{
    uint64_t most_ns = rpmi_order_give_up_ns(order);
    uint64_t mean_ns = order->mean_ns[size_class];

    RPM_ASSERT(size_class < RPMI_SELECT_CLASSES);
    if (mean_ns == 0)
        mean_ns = order->agent.address.calibration.agent_ns[size_class];
    if (mean_ns == 0)
        return most_ns;
    return smaller(larger(PATIENCE * mean_ns, RPMI_ORDER_LEAST_NS), most_ns);
}

uint64_t rpmi_order_dial_ns(const struct rpmi_order *order)
{
    return smaller(larger(RPMI_ORDER_DIAL_NS, SETUP * order->agent.setup_ns), order->limit_ns);
}

static uint64_t probe_patience_ns(const struct rpmi_order *order)
{
    return smaller(PROBE * rpmi_order_give_up_ns(order), order->limit_ns);
}

bool rpmi_order_is_away(struct rpmi_order *order, uint64_t now_ns)
{
    uint64_t late_ns =
        order->probe.active ? probe_patience_ns(order) : rpmi_order_give_up_ns(order);

    return rpmi_agent_is_away(&order->agent, now_ns,
                              RPMI_CANARY(ORDER_ENDLESS) ? UINT64_MAX : late_ns);
}

/* Can the agent be asked about what @key has written? Dials it, if it is time to. */
static bool is_there(struct rpmi_order *order, uint32_t key, uint64_t now_ns)
{
    const struct rpmi_agent *agent = &order->agent;

    if (rpmi_agent_claim(&order->agent, key) == NULL || rpmi_order_is_away(order, now_ns))
        return false;
    if (agent->link == NULL || agent->link->lost != 0)
        return rpmi_agent_is_free(&order->agent, now_ns, rpmi_order_dial_ns(order));
    return true;
}

/* It has been asked something else, and should have answered by now: an ORDER would wait too. */
static bool is_overdue(const struct rpmi_order *order, uint32_t size_class, uint64_t now_ns)
{
    return order->agent.asks != 0 &&
           now_ns - order->agent.asked_ns > rpmi_order_patience_ns(order, size_class);
}

/* Each alternative gives the promise of the link: one that is not legal is none, fast or not. */
static void assert_promise(const struct rpmi_order *order)
{
    const struct rpm_facts *facts = &order->wrap.link.facts;
    enum rpm_level level = rpmi_order_level(order);

    RPM_ASSERT(order->select.promise == (uint32_t)level);
    RPM_ASSERT(rpm_legal(facts, RPM_METHOD_ORDER, level, NULL));
    RPM_ASSERT(rpm_legal(facts, RPM_METHOD_MESSAGE, level, NULL));
}

/* The way that all writers try now, in turn; RPMI_WAYS: none. The agent is tried only if its probes
 * say that ORDERs would not wait for it for long. */
static enum rpmi_order_way trial_of(const struct rpmi_order *order, uint64_t bytes, uint64_t now_ns)
{
    uint64_t server_ns = rpmi_select_mean_ns(&order->select, RPMI_WAY_SERVER, bytes);
    uint64_t agent_ns = order->mean_ns[rpmi_select_class(bytes)];
    uint64_t period = now_ns / PERIOD_NS;

    if (now_ns % PERIOD_NS >= TRIAL_NS || server_ns == 0 || agent_ns == 0)
        return RPMI_WAYS;
    if (period % RPMI_WAYS == RPMI_WAY_AGENT)
        return agent_ns <= TRIED * server_ns ? RPMI_WAY_AGENT : RPMI_WAYS;
    return server_ns <= TRIED * agent_ns || period / RPMI_WAYS % TRIED == 0 ? RPMI_WAY_SERVER
                                                                            : RPMI_WAYS;
}

/* Who is to fulfil it, if both could. */
static struct rpmi_pick pick_of(struct rpmi_order *order, uint64_t bytes, uint64_t now_ns)
{
    enum rpmi_order_way trial = trial_of(order, bytes, now_ns);
    struct rpmi_pick pick;

    if (trial != RPMI_WAYS)
        return rpmi_select_take(&order->select, (uint32_t)trial, bytes);
    pick = rpmi_select_pick(&order->select, bytes);
    if (pick.alternative == RPMI_WAY_AGENT || !pick.probe ||
        rpmi_select_mean_ns(&order->select, RPMI_WAY_SERVER, bytes) == 0)
        return pick;
    rpmi_select_lost(&order->select, &pick); /* the server is measured by trials */
    return rpmi_select_take(&order->select, RPMI_WAY_AGENT, bytes);
}

struct rpmi_order_choice rpmi_order_choose(struct rpmi_order *order, const struct rpmi_op *pieces,
                                           uint32_t n)
{
    uint64_t bytes = rpmi_order_bytes(pieces, n);
    uint64_t now_ns = now_of(order);
    bool always = (pieces[0].flags & RPMI_OP_ALWAYS) != 0;
    struct rpmi_order_choice choice;
    struct rpmi_pick pick;

    assert_promise(order);
    if (order->split || always)
        return (struct rpmi_order_choice){
            .pick = rpmi_select_take(&order->select,
                                     order->split ? RPMI_WAY_SERVER : RPMI_WAY_AGENT, bytes),
            .away = order->split && always,
        };
    pick = pick_of(order, bytes, now_ns);
    if (pick.alternative == RPMI_WAY_SERVER)
        return (struct rpmi_order_choice){ .pick = pick };
    choice.away = !is_there(order, pieces[0].key, now_ns);
    if (!choice.away && !pick.probe && !is_overdue(order, pick.size_class, now_ns))
        return (struct rpmi_order_choice){ .pick = pick };
    rpmi_select_lost(&order->select, &pick);
    choice.pick = rpmi_select_take(&order->select, RPMI_WAY_SERVER, bytes);
    choice.probe = !choice.away && pick.probe && order->agent.asks == 0 && !order->probe.active;
    return choice;
}

void rpmi_order_probe(struct rpmi_order *order, const struct rpmi_op *pieces, uint32_t n,
                      uint32_t at)
{
    struct rpmi_order_probe *probe = &order->probe;
    const struct rpmi_claimed *claim = rpmi_agent_claim(&order->agent, pieces[0].key);

    RPM_ASSERT(claim != NULL && !probe->active && order->agent.asks == 0);
    *probe = (struct rpmi_order_probe){
        .active = true,
        .bytes = rpmi_order_bytes(pieces, n),
        .pick = rpmi_select_take(&order->select, RPMI_WAY_AGENT, rpmi_order_bytes(pieces, n)),
        .ask = { .key = pieces[0].key,
                 .epoch = claim->epoch,
                 .first_lsn = pieces[0].expect,
                 .end_lsn = pieces[n - 1].operand },
        .posted_ns = order->pending[at].posted_ns,
    };
    order->pending[at].probed = true;
    order->wrap.inner->stats.order_probes++;
    rpmi_order_probe_turn(order, true);
}

static void learn_mean(struct rpmi_order *order, const struct rpmi_pick *pick, uint64_t ns)
{
    uint64_t *mean_ns = &order->mean_ns[pick->size_class];

    RPM_ASSERT(pick->alternative == RPMI_WAY_AGENT);
    *mean_ns = *mean_ns == 0 ? ns : *mean_ns - *mean_ns / MEAN + ns / MEAN;
    order->trouble_ns = 0;
}

/* The answer came at some time between two looks. One that was not there when the server's was took
 * longer than that; how much longer is not known if the program did something else meanwhile. */
static uint64_t probe_took(const struct rpmi_order_probe *probe, uint64_t now_ns)
{
    uint64_t age_ns = now_ns - probe->posted_ns;
    uint64_t known_ns = probe->looked_ns == 0 ? 0 : probe->looked_ns - probe->posted_ns;

    if (probe->served_ns == 0 || probe->looked_ns == 0 ||
        now_ns - probe->looked_ns <= age_ns / BLURRED)
        return age_ns;
    return smaller(age_ns, 2 * larger(known_ns, probe->served_ns));
}

static void end_probe(struct rpmi_order *order, bool measured, uint64_t now_ns)
{
    struct rpmi_order_probe *probe = &order->probe;

    RPM_ASSERT(probe->active);
    probe->active = false;
    /* Later probes are not compared with the server: they wait for what other writers ask of it. */
    if (measured && rpmi_select_mean_ns(&order->select, RPMI_WAY_AGENT, probe->bytes) == 0)
        rpmi_select_done(&order->select, &probe->pick, probe_took(probe, now_ns));
    else
        rpmi_select_lost(&order->select, &probe->pick);
}

void rpmi_order_probe_turn(struct rpmi_order *order, bool may_ask)
{
    struct rpmi_order_probe *probe = &order->probe;
    const struct rpmi_claimed *claim;
    uint64_t now_ns;

    if (!probe->active)
        return;
    now_ns = now_of(order);
    claim = rpmi_agent_claim(&order->agent, probe->ask.key);
    if (claim == NULL || claim->epoch != probe->ask.epoch) {
        end_probe(order, false, now_ns);
    } else if (claim->certified_lsn >= probe->ask.end_lsn) {
        learn_mean(order, &probe->pick, probe_took(probe, now_ns));
        end_probe(order, true, now_ns);
    } else if (now_ns - probe->posted_ns > probe_patience_ns(order)) {
        rpmi_agent_late(&order->agent, now_ns);
        end_probe(order, true, now_ns);
    } else if (rpmi_order_is_away(order, now_ns) || order->agent.link == NULL) {
        end_probe(order, false, now_ns);
    } else if (order->agent.asks == 0 && may_ask && now_ns >= probe->again_ns) {
        probe->again_ns = now_ns + larger(PROBE_AGAIN_NS, (now_ns - probe->posted_ns) / 2);
        rpmi_agent_send(&order->agent, &probe->ask, 1, now_ns);
    }
    probe->looked_ns = now_ns;
}

/* The parts of the time of an ORDER that the agent has fulfilled. */
static void count_parts(struct rpmi_order *order, const struct rpmi_order_entry *entry,
                        uint64_t now_ns)
{
    struct rpm_conn_stats *stats = &order->wrap.inner->stats;
    uint64_t asked_ns = entry->asked_ns != 0 ? entry->asked_ns : entry->posted_ns;
    uint64_t certified_ns = larger(entry->certified_ns, asked_ns);

    RPM_ASSERT(entry->posted_ns <= asked_ns && certified_ns <= now_ns);
    stats->order_submit_ns += asked_ns - entry->posted_ns;
    stats->order_execute_ns += certified_ns - asked_ns;
    stats->order_complete_ns += now_ns - certified_ns;
}

void rpmi_order_measure(struct rpmi_order *order, struct rpmi_order_entry *entry)
{
    uint64_t now_ns;
    uint64_t took_ns;

    if (!entry->measured)
        return;
    now_ns = now_of(order);
    took_ns = now_ns - entry->posted_ns;
    entry->measured = false;
    rpmi_select_done(&order->select, &entry->pick, took_ns);
    if (entry->pick.alternative == RPMI_WAY_AGENT) {
        learn_mean(order, &entry->pick, took_ns);
        count_parts(order, entry, now_ns);
    } else if (entry->probed) {
        order->probe.served_ns = took_ns == 0 ? 1 : took_ns;
        order->look_ns = 0;
    }
    entry->probed = false;
}

void rpmi_order_late(struct rpmi_order *order, struct rpmi_order_entry *entry, uint64_t now_ns)
{
    if (!entry->measured)
        return;
    entry->measured = false;
    rpmi_select_done(&order->select, &entry->pick, now_ns - entry->posted_ns);
    if (order->trouble_ns == 0)
        order->trouble_ns = entry->posted_ns;
    if (now_ns - order->trouble_ns > rpmi_order_give_up_ns(order)) {
        rpmi_agent_late(&order->agent, now_ns);
        order->trouble_ns = 0;
    }
}

void rpmi_order_unmeasure(struct rpmi_order *order, struct rpmi_order_entry *entry)
{
    if (entry->measured)
        rpmi_select_lost(&order->select, &entry->pick);
    entry->measured = false;
}
