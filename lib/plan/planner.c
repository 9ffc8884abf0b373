/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * planner.c: choose the cheapest legal method, make ops of it, and apply the rules.
 *
 * Invariants
 *   the method of a plan is legal for its level (asserted against legal.c after the rules have run)
 *   at a level above posted, every write either certifies itself or is followed by a seal
 *   a plan uses only methods that the link reports
 *
 * Tests: tests/unit/plan/planner_test.cpp
 */
#include "plan/plan.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"
#include "base/limits.h"
#include "plan/legal.h"
#include "plan/refuse.h"
#include "plan/rule.h"
#include "wire/call.h"

const struct rpmi_rule *const rpmi_rules[RPMI_RULES] = {
    &rpmi_rule_numa,     &rpmi_rule_spread,   &rpmi_rule_ddio, &rpmi_rule_copy,  &rpmi_rule_xpline,
    &rpmi_rule_word_nic, &rpmi_rule_word_cpu, &rpmi_rule_lock, &rpmi_rule_chain,
};

/* A store costs no round trip; a flush by the NIC costs less than a READ, and a READ less than work
 * of the server CPU, of which a carry and an order share one message with other clients; with a
 * carry the client sends one message instead of two. WRITE alone is legal for posted only, and then
 * it is the cheapest. */
static const enum rpm_method by_cost[] = {
    RPM_METHOD_WRITE, RPM_METHOD_STORE, RPM_METHOD_FLUSH,     RPM_METHOD_READ,    RPM_METHOD_CARRY,
    RPM_METHOD_ORDER, RPM_METHOD_COPY,  RPM_METHOD_IMMEDIATE, RPM_METHOD_MESSAGE,
};

struct shape {
    uint8_t write_kind;
    uint8_t seal_kind; /* 0: each write certifies itself, or no proof is needed */
};

static const struct shape shapes[RPM_METHOD_COUNT] = {
    [RPM_METHOD_WRITE] = { RPMI_OP_WRITE, 0 },
    [RPM_METHOD_READ] = { RPMI_OP_WRITE, RPMI_OP_READ },
    [RPM_METHOD_MESSAGE] = { RPMI_OP_WRITE, RPMI_OP_PERSIST },
    [RPM_METHOD_IMMEDIATE] = { RPMI_OP_WRITE_IMM, 0 },
    [RPM_METHOD_COPY] = { RPMI_OP_COPY, 0 },
    [RPM_METHOD_FLUSH] = { RPMI_OP_WRITE, RPMI_OP_FLUSH },
    [RPM_METHOD_STORE] = { RPMI_OP_WRITE, RPMI_OP_DRAIN },
    [RPM_METHOD_ORDER] = { RPMI_OP_WRITE, RPMI_OP_ORDER },
    [RPM_METHOD_CARRY] = { RPMI_OP_WRITE, RPMI_OP_CARRY },
};

static bool uses_agent(enum rpm_method method)
{
    return method == RPM_METHOD_ORDER || method == RPM_METHOD_CARRY;
}

static bool link_has(const struct rpm_facts *facts, enum rpm_method method)
{
    return (facts->methods & (1u << method)) != 0;
}

/* The server certifies records of a log: they certify themselves, and bytes of a region do not. It
 * certifies that they are durable. */
static bool may_order(const struct rpm_request *request, enum rpm_level level)
{
    return request->kind <= RPM_REQUEST_BATCH && level == RPM_DURABLE;
}

static enum rpm_method choose(const struct rpm_facts *facts, const struct rpm_request *request,
                              enum rpm_level level)
{
    for (size_t i = 0; i < sizeof(by_cost) / sizeof(by_cost[0]); i++)
        if (link_has(facts, by_cost[i]) && rpm_legal(facts, by_cost[i], level, NULL) &&
            (!uses_agent(by_cost[i]) || may_order(request, level)))
            return by_cost[i];
    return RPM_METHOD_DEFAULT;
}

static int check(const struct rpm_request *request)
{
    int err;

    if (request->kind < RPM_REQUEST_APPEND || request->kind > RPM_REQUEST_ATOMIC)
        return rpmi_fail(RPM_E_INVAL, "request kind %u, known are %u to %u", request->kind,
                         RPM_REQUEST_APPEND, RPM_REQUEST_ATOMIC);
    err = rpmi_level_check(request->level);
    if (err == 0)
        err = rpmi_method_check(request->method);
    if (err != 0)
        return err;
    if (request->kind <= RPM_REQUEST_BATCH && request->bytes > RPMI_RECORD_MAX)
        return rpmi_fail(RPM_E_TOOBIG, "a record of %llu bytes, maximum %u; split it",
                         (unsigned long long)request->bytes, RPMI_RECORD_MAX);
    if (request->slot_bytes % RPMI_LINE_BYTES != 0)
        return rpmi_fail(RPM_E_INVAL, "slot_bytes of %u is not a multiple of %u",
                         request->slot_bytes, RPMI_LINE_BYTES);
    if ((request->hints & ~RPM_HINTS_ALL) != 0)
        return rpmi_fail(RPM_E_INVAL, "hints %#x, known are %#x (H1 to H9)", request->hints,
                         (unsigned)RPM_HINTS_ALL);
    return 0;
}

static enum rpm_level level_of(const struct rpm_request *request)
{
    if (request->level != RPM_LEVEL_DEFAULT)
        return (enum rpm_level)request->level;
    return request->kind == RPM_REQUEST_ATOMIC ? RPM_VISIBLE : RPM_DURABLE;
}

/* Set the method and the level of a plan. RPM_E_NOCAP. */
static int set_method_and_level(const struct rpm_facts *facts, const struct rpm_request *request,
                                struct rpmi_plan *plan)
{
    enum rpm_method insisted = (enum rpm_method)request->method;
    enum rpm_level level = level_of(request);
    enum rpm_method method =
        insisted != RPM_METHOD_DEFAULT ? insisted : choose(facts, request, level);

    /* The answer to an atomic proves that it is visible, so it needs no method that proves this, as
     * a WRITE does. */
    if (request->kind == RPM_REQUEST_ATOMIC && level <= RPM_VISIBLE)
        method = insisted != RPM_METHOD_DEFAULT ? insisted : choose(facts, request, RPM_POSTED);
    else if (!rpm_legal(facts, method, level, NULL))
        return rpmi_refuse(facts, insisted, level);
    if (method == RPM_METHOD_DEFAULT || !link_has(facts, method))
        return rpmi_refuse(facts, insisted, level);
    if (uses_agent(method) && level > RPM_POSTED && !may_order(request, level))
        return rpmi_fail(RPM_E_NOCAP,
                         "method %s makes records of a log durable, and nothing else; set no "
                         "method, or open a connection without one for this",
                         rpm_method_name(method));
    *plan = (struct rpmi_plan){ .method = method, .level = level, .hints = request->hints };
    return 0;
}

static void shape(const struct rpm_request *request, struct rpmi_plan *plan)
{
    const struct shape *shape = &shapes[plan->method];

    plan->write_kind = shape->write_kind != 0 ? shape->write_kind : RPMI_OP_WRITE;
    plan->seal_kind = plan->level > RPM_POSTED ? shape->seal_kind : 0;
    if (plan->level == RPM_DURABLE &&
        (plan->write_kind == RPMI_OP_COPY || plan->write_kind == RPMI_OP_WRITE_IMM))
        plan->write_flags |= RPMI_OP_DURABLE;
    if (uses_agent(plan->method) && plan->seal_kind != 0 && request->method == plan->method)
        plan->seal_flags |= RPMI_OP_ALWAYS;
    plan->pad_unit = 1;
    plan->large_unit = RPMI_LINE_BYTES;
    plan->seal_bytes = 1;
}

/* The op that brings a range, written by any client, to the domain. A READ or a FLUSH by our queue
 * pair does not flush a CPU's cache that may hold another writer's bytes, so the server CPU flushes
 * if the link carries messages; if it does not, no CPU has written. Under eADR caches survive. */
static uint8_t persist_kind(const struct rpm_facts *facts, const struct rpmi_plan *plan)
{
    if (plan->level < RPM_DURABLE)
        return 0;
    if (plan->seal_kind != RPMI_OP_READ && plan->seal_kind != RPMI_OP_FLUSH)
        return RPMI_OP_PERSIST;
    if (facts->domain == RPM_DOMAIN_EADR || !link_has(facts, RPM_METHOD_MESSAGE))
        return plan->seal_kind;
    return RPMI_OP_PERSIST;
}

static void assert_legal(const struct rpm_facts *facts, const struct rpm_request *request,
                         const struct rpmi_plan *plan)
{
    bool certified = (plan->write_flags & RPMI_OP_DURABLE) != 0;
    bool answered = plan->write_kind == RPMI_OP_COPY || plan->write_kind == RPMI_OP_WRITE_IMM;

    if (plan->level == RPM_POSTED)
        return;
    if (request->kind == RPM_REQUEST_ATOMIC && plan->level == RPM_VISIBLE)
        return;
    RPM_ASSERT(rpm_legal(facts, plan->method, plan->level, NULL));
    RPM_ASSERT(plan->seal_kind != 0 || (plan->level == RPM_DURABLE ? certified : answered));
}

/* Remove the rules that a test removed as a canary, to see that the crash suite fails. */
static void apply_canaries(struct rpmi_plan *plan)
{
    if (RPMI_CANARY(NO_FLUSH)) {
        plan->seal_kind = 0;
        plan->write_flags &= (uint8_t)~RPMI_OP_DURABLE;
    }
    if (RPMI_CANARY(OTHER_QP) && plan->seal_kind != 0)
        plan->seal_flags |= RPMI_OP_OTHER_QP;
}

int rpmi_plan_make(const struct rpm_facts *facts, const struct rpm_request *request,
                   struct rpmi_plan *plan)
{
    struct rpmi_plan made;
    int err = check(request);

    if (err == 0)
        err = set_method_and_level(facts, request, &made);
    if (err != 0)
        return err;
    shape(request, &made);
    if (request->kind == RPM_REQUEST_ATOMIC && made.level > RPM_VISIBLE)
        made.seal_kind = persist_kind(facts, &made);
    for (uint32_t i = 0; i < RPMI_RULES; i++) {
        err = rpmi_rules[i]->apply(facts, request, &made);
        if (err != 0)
            return err;
    }
    assert_legal(facts, request, &made);
    apply_canaries(&made);
    *plan = made;
    return 0;
}

const char *rpmi_plan_objection(const struct rpm_facts *facts, const struct rpm_request *request,
                                const struct rpmi_plan *plan, enum rpm_method method)
{
    const char *reason = "";

    if (request->kind == RPM_REQUEST_ATOMIC && plan->level <= RPM_VISIBLE)
        return method == plan->method ? NULL : "an atomic is one operation, whatever the method";
    if (!rpm_legal(facts, method, plan->level, &reason))
        return reason;
    if (uses_agent(method) && plan->level > RPM_POSTED && !may_order(request, plan->level))
        return "the server certifies durable records of logs, and nothing else";
    if (!link_has(facts, method))
        return method == RPM_METHOD_ORDER   ? "this link has no agent: agent=URL in its address"
               : method == RPM_METHOD_CARRY ? "this link has no agent that carries records: "
                                              "agent=URL,carry=NAME in its address"
                                            : "this link cannot carry it out";
    if (request->method != RPM_METHOD_DEFAULT && request->method != (uint32_t)method)
        return "another method was insisted on";
    return NULL;
}

uint32_t rpmi_plan_alternatives(const struct rpm_facts *facts, const struct rpm_request *request,
                                const struct rpmi_plan *plan, enum rpm_method *methods, uint32_t n)
{
    uint32_t count = 1;

    RPM_ASSERT(n > 0);
    methods[0] = plan->method;
    for (size_t i = 0; i < sizeof(by_cost) / sizeof(by_cost[0]) && count < n; i++)
        if (by_cost[i] != plan->method &&
            rpmi_plan_objection(facts, request, plan, by_cost[i]) == NULL)
            methods[count++] = by_cost[i];
    return count;
}

int rpmi_plan_make_persist(const struct rpm_facts *facts, const struct rpm_request *request,
                           struct rpmi_plan *plan)
{
    struct rpm_request any = *request;
    struct rpmi_plan made;
    int err = check(request);

    /* The server certifies only what the claim that asks has written. */
    if (uses_agent((enum rpm_method)any.method))
        any.method = RPM_METHOD_MESSAGE;
    if (err == 0)
        err = set_method_and_level(facts, &any, &made);
    if (err != 0)
        return err;
    shape(&any, &made);
    made.seal_kind = persist_kind(facts, &made);
    RPM_ASSERT(made.level < RPM_DURABLE || made.seal_kind != 0);
    *plan = made;
    return 0;
}

/* The smallest range that covers all ranges. */
static struct rpmi_range hull(const struct rpmi_range *ranges, uint32_t n)
{
    uint64_t from = ranges[0].offset;
    uint64_t to = ranges[0].offset + ranges[0].len;

    for (uint32_t i = 1; i < n; i++) {
        uint64_t end = ranges[i].offset + ranges[i].len;

        from = ranges[i].offset < from ? ranges[i].offset : from;
        to = end > to ? end : to;
    }
    return (struct rpmi_range){ .offset = from, .len = to - from };
}

uint32_t rpmi_plan_seal(const struct rpmi_plan *plan, uint32_t key, const struct rpmi_range *ranges,
                        uint32_t ranges_n, void *into, struct rpmi_op *ops)
{
    struct rpmi_op op = { .kind = plan->seal_kind, .flags = plan->seal_flags, .key = key };
    struct rpmi_range all;

    switch (plan->seal_kind) {
    case 0:
        return 0;
    case RPMI_OP_DRAIN:
        ops[0] = op;
        return 1;
    case RPMI_OP_READ:
        RPM_ASSERT(into != NULL);
        op.key = RPMI_KEY_SCRATCH;
        op.len = plan->seal_bytes;
        op.into = into;
        ops[0] = op;
        return 1;
    case RPMI_OP_FLUSH:
        RPM_ASSERT(ranges_n > 0);
        all = hull(ranges, ranges_n);
        op.offset = all.offset;
        op.len = all.len;
        ops[0] = op;
        return 1;
    default:
        RPM_ASSERT(plan->seal_kind == RPMI_OP_PERSIST || plan->seal_kind == RPMI_OP_ORDER ||
                   plan->seal_kind == RPMI_OP_CARRY);
        RPM_ASSERT(ranges_n > 0);
        for (uint32_t i = 0; i < ranges_n; i++) {
            op.offset = ranges[i].offset;
            op.len = ranges[i].len;
            ops[i] = op;
        }
        return ranges_n;
    }
}
