/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explain.c: a plan as text for people: each op, the rule behind it, and what every hint changed or
 * did not change. It describes the plan that the planner makes, and decides nothing itself.
 *
 * H1 to H3 are about the platform: the nodes of memory, port and cores, and DDIO. A plan cannot
 * change these: the text says what was found, what the plan asks for, and what to change.
 *
 * Tests: tests/unit/plan/explain_test.cpp
 */
#include <librpm/plan.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/opts.h"
#include "plan/legal.h"
#include "plan/rule.h"
#include "plan/text.h"

struct explanation {
    const struct rpm_facts *facts;
    const struct rpm_request *request;
    const struct rpmi_plan *plan;
    struct rpmi_text text;
};

static bool is_append(const struct explanation *out)
{
    return out->request->kind == RPM_REQUEST_APPEND || out->request->kind == RPM_REQUEST_BATCH;
}

static uint32_t writes_of(const struct explanation *out)
{
    bool many = out->request->kind == RPM_REQUEST_BATCH && out->request->count > 0;

    return many ? out->request->count : 1;
}

/* Bytes that one write puts on the wire, and the hint that padded it; 0: none did. */
static uint64_t write_bytes(const struct explanation *out, uint32_t *hint)
{
    const struct rpm_request *request = out->request;
    const struct rpmi_plan *plan = out->plan;
    uint64_t bytes = request->bytes;

    *hint = 0;
    if (request->kind == RPM_REQUEST_ATOMIC)
        return sizeof(uint64_t);
    if (is_append(out)) {
        bytes += RPMI_FRAME_HEADER_BYTES;
        if (bytes > RPMI_XPLINE_BYTES && plan->large_unit == RPMI_XPLINE_BYTES) {
            *hint = rpmi_rule_xpline.hint;
            return rpmi_align_up(bytes, plan->large_unit);
        }
    } else if (request->slot_bytes != 0 && request->offset % request->slot_bytes != 0) {
        return bytes;
    }
    if (plan->pad_unit > 1)
        *hint = rpmi_cpu_writes(plan) ? rpmi_rule_word_cpu.hint : rpmi_rule_word_nic.hint;
    return rpmi_align_up(bytes, plan->pad_unit);
}

static const char *kind_name(const struct rpmi_plan *plan, uint8_t kind)
{
    switch (kind) {
    case RPMI_OP_WRITE:
        if (plan->method == RPM_METHOD_CARRY)
            return "for the agent,";
        return plan->method == RPM_METHOD_STORE ? "store past the client CPU's cache," : "write";
    case RPMI_OP_WRITE_IMM:
        return "write with immediate";
    case RPMI_OP_COPY:
        return "message with the bytes,";
    case RPMI_OP_CAS:
        return "compare-and-swap or fetch-and-add,";
    case RPMI_OP_READ:
        return "read";
    case RPMI_OP_FLUSH:
        return "native flush of";
    case RPMI_OP_PERSIST:
        return plan->method == RPM_METHOD_STORE ? "flush by the client CPU of"
                                                : "message: the server CPU flushes";
    case RPMI_OP_ORDER:
        return "order to the agent: the server CPU certifies";
    case RPMI_OP_CARRY:
        return "message to the agent with them: the server CPU stores and certifies";
    default:
        return "fence by the client CPU";
    }
}

/* DDIO is added under ADR only, where it matters. */
static void add_platform(struct explanation *out)
{
    static const char *const ddio[] = {
        [RPM_UNKNOWN] = ", ddio unknown, counted as on",
        [RPM_NO] = ", ddio off",
        [RPM_YES] = ", ddio on",
    };
    const struct rpm_facts *facts = out->facts;
    enum rpmi_platform platform = rpmi_platform_of(facts);
    bool adr = platform == RPMI_PLATFORM_ADR_DDIO || platform == RPMI_PLATFORM_ADR_NO_DDIO;
    bool none = platform == RPMI_PLATFORM_NONE;

    rpmi_text_add(&out->text, "platform: %s%s%s, medium %s%s\n",
                  rpm_domain_name(none ? RPM_DOMAIN_NONE : (enum rpm_domain)facts->domain),
                  facts->domain_declared != 0 && !none ? " (declared)" : "",
                  adr ? ddio[facts->ddio <= RPM_YES ? facts->ddio : RPM_UNKNOWN] : "",
                  rpm_medium_name((enum rpm_medium)facts->medium),
                  facts->modelled != 0 ? ", modelled" : "");
}

static void add_request(struct explanation *out)
{
    static const char *const names[] = {
        [RPM_REQUEST_APPEND] = "append",
        [RPM_REQUEST_BATCH] = "batch",
        [RPM_REQUEST_WRITE] = "region write",
        [RPM_REQUEST_ATOMIC] = "atomic",
    };
    const struct rpm_request *request = out->request;
    const struct rpm_facts *facts = out->facts;
    const char *reason = "";

    rpmi_text_add(&out->text, "request: %s", names[request->kind]);
    if (request->kind == RPM_REQUEST_BATCH)
        rpmi_text_add(&out->text, " of %u records", writes_of(out));
    if (request->kind != RPM_REQUEST_ATOMIC)
        rpmi_text_add(&out->text, "%s%llu bytes",
                      request->kind == RPM_REQUEST_BATCH ? ", each " : " of ",
                      (unsigned long long)request->bytes);
    rpmi_text_add(&out->text, ", level %s\n", rpm_level_name(out->plan->level));
    add_platform(out);
    (void)rpm_legal(facts, out->plan->method, out->plan->level, &reason);
    if (request->kind == RPM_REQUEST_ATOMIC && out->plan->level <= RPM_VISIBLE)
        reason = "an atomic answers with the old value, so it was carried out";
    rpmi_text_add(&out->text, "method: %s: %s\n", rpm_method_name(out->plan->method), reason);
}

static void add_writes(struct explanation *out)
{
    const struct rpmi_plan *plan = out->plan;
    uint32_t n = writes_of(out);
    uint32_t hint;
    uint64_t bytes = write_bytes(out, &hint);

    if (n > 1)
        rpmi_text_add(&out->text, "op 1..%u: %s %llu bytes each", n,
                      kind_name(plan, plan->write_kind), (unsigned long long)bytes);
    else
        rpmi_text_add(&out->text, "op 1: %s %llu bytes", kind_name(plan, plan->write_kind),
                      (unsigned long long)bytes);
    if ((plan->write_flags & RPMI_OP_DURABLE) != 0)
        rpmi_text_add(&out->text, ", answered once durable");
    rpmi_text_add(&out->text, " <- method %s", rpm_method_name(plan->method));
    if (hint != 0)
        rpmi_text_add(&out->text, "; H%u", hint);
    if (out->request->kind == RPM_REQUEST_ATOMIC && rpmi_hint_on(plan, rpmi_rule_lock.hint))
        rpmi_text_add(&out->text, "; H%u", rpmi_rule_lock.hint);
    rpmi_text_add(&out->text, "\n");
}

static void add_seal(struct explanation *out)
{
    const struct rpmi_plan *plan = out->plan;
    uint32_t n = writes_of(out);
    uint32_t hint;
    uint64_t bytes = write_bytes(out, &hint) * n;
    bool waits = (plan->write_flags & RPMI_OP_WAIT) != 0;

    if (waits)
        rpmi_text_add(&out->text, "wait: for op %u <- H%u is off\n", n, rpmi_rule_chain.hint);
    if (plan->seal_kind == 0)
        return;
    rpmi_text_add(&out->text, "op %u: %s", n + 1, kind_name(plan, plan->seal_kind));
    if (plan->seal_kind == RPMI_OP_READ)
        rpmi_text_add(&out->text, " %u byte of the scratch key", plan->seal_bytes);
    else if (plan->seal_kind != RPMI_OP_DRAIN)
        rpmi_text_add(&out->text, " the range of %llu bytes", (unsigned long long)bytes);
    rpmi_text_add(&out->text, " <- method %s", rpm_method_name(plan->method));
    if (!waits)
        rpmi_text_add(&out->text, "; H%u", rpmi_rule_chain.hint);
    rpmi_text_add(&out->text, "\n");
}

static void add_cost(struct explanation *out)
{
    const struct rpmi_plan *plan = out->plan;
    uint32_t ops = writes_of(out) + (plan->seal_kind != 0 ? 1 : 0);
    uint32_t trips = rpmi_plan_round_trips(plan);

    if (trips == 0)
        rpmi_text_add(&out->text, "cost: no round trip: the client CPU does it all\n");
    else
        rpmi_text_add(&out->text, "cost: %u op%s, %u round trip%s\n", ops, ops == 1 ? "" : "s",
                      trips, trips == 1 ? "" : "s");
}

static void add_hints(struct explanation *out)
{
    for (uint32_t i = 0; i < RPMI_RULES; i++) {
        const struct rpmi_rule *rule = rpmi_rules[i];

        rpmi_text_add(&out->text, "H%u %s: %s\n", rule->hint,
                      rpmi_hint_on(out->plan, rule->hint) ? "on" : "off",
                      rule->describe(out->facts, out->request, out->plan));
    }
}

/* The other methods that would do, cheapest first, and why the rest would not. */
static void add_alternatives(struct explanation *out)
{
    enum rpm_method methods[RPM_METHOD_COUNT];
    uint32_t n =
        rpmi_plan_alternatives(out->facts, out->request, out->plan, methods, RPM_ALTERNATIVES_MAX);

    for (uint32_t i = 1; i < n; i++) {
        const char *reason = "";

        (void)rpm_legal(out->facts, methods[i], out->plan->level, &reason);
        rpmi_text_add(&out->text, "alternative %s: %s\n", rpm_method_name(methods[i]), reason);
    }
    for (uint32_t m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++) {
        const char *why =
            rpmi_plan_objection(out->facts, out->request, out->plan, (enum rpm_method)m);

        if (why != NULL)
            rpmi_text_add(&out->text, "not %s: %s\n", rpm_method_name((enum rpm_method)m), why);
    }
    if (out->plan->seal_kind == RPMI_OP_CARRY)
        rpmi_text_add(&out->text,
                      "choice: the agent carries records that fit in a list; for "
                      "others %s\n",
                      (out->plan->seal_flags & RPMI_OP_ALWAYS) != 0
                          ? "it is asked every time, since method carry is insisted on"
                          : "by measured time, the agent or the server CPU");
    if (out->plan->seal_kind == RPMI_OP_ORDER)
        rpmi_text_add(&out->text,
                      (out->plan->seal_flags & RPMI_OP_ALWAYS) != 0
                          ? "choice: the agent every time, since method order is insisted on\n"
                          : "choice: by measured time, the agent or the server CPU, with the same "
                            "level\n");
}

int rpm_explain(const struct rpm_facts *facts, const struct rpm_request *request, char *text,
                size_t bytes)
{
    rpmi_begin();

    struct rpm_facts known = rpm_facts_init();
    struct rpm_request asked = rpm_request_init();
    struct rpmi_plan plan;
    struct explanation made = { .facts = &known, .request = &asked, .plan = &plan };
    int err = rpmi_opts_in(&known, sizeof(known), facts);

    if (err == 0)
        err = rpmi_opts_in(&asked, sizeof(asked), request);
    if (err != 0)
        return err;
    rpmi_text_open(&made.text, text, bytes);
    err = rpmi_plan_make(&known, &asked, &plan);
    if (err == RPM_E_NOCAP)
        rpmi_text_add(&made.text, "refused: %s\n", rpm_last_error());
    if (err != 0)
        return err;
    add_request(&made);
    add_writes(&made);
    add_seal(&made);
    add_cost(&made);
    add_hints(&made);
    add_alternatives(&made);
    return (int)made.text.len;
}
