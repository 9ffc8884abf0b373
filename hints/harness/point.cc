/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * point.cc: derive a load from hints, by the library's planner.
 */
#include "point.h"

namespace hints
{

namespace
{

/* The facts of a platform, changed to the settings that the hints prescribe. is_durable() uses the
 * unchanged facts. */
rpm_facts planned_facts(rpm_facts facts)
{
    facts.domain = RPM_DOMAIN_ADR;
    facts.medium = RPM_MEDIUM_DEVDAX;
    facts.ddio = RPM_NO;
    facts.methods |= 1u << RPM_METHOD_READ | 1u << RPM_METHOD_COPY | 1u << RPM_METHOD_STORE;
    return facts;
}

uint32_t method_of(const rpm_load &load)
{
    if (load.by == RPM_BY_CALL)
        return RPM_METHOD_COPY;
    return load.by == RPM_BY_CORE ? RPM_METHOD_STORE : RPM_METHOD_READ;
}

rpm_plan plan_of(const rpm_facts &facts, const Point &point)
{
    rpm_request request = rpm_request_init();
    rpm_plan plan = rpm_plan_init();
    rpm_facts planned = planned_facts(facts);

    request.kind = RPM_REQUEST_APPEND;
    request.bytes = point.load.bytes != 0 ? point.load.bytes : 64;
    request.hints = point.hints;
    request.level = RPM_DURABLE;
    request.method = method_of(point.load);
    if (point.load.op == RPM_LOAD_CAS) {
        request.kind = RPM_REQUEST_ATOMIC;
        request.level = RPM_VISIBLE;
        request.bytes = 8;
        request.method = 0;
    }
    cli::check("plan of " + point.label, rpm_plan_make(&planned, &request, &plan));
    return plan;
}

void plan_sizes(const rpm_plan &plan, rpm_load *load)
{
    load->pad_bytes = plan.pad_bytes;
    if (load->bytes > 256 && plan.large_bytes > plan.pad_bytes) {
        load->pad_bytes = plan.large_bytes;
        load->align_bytes = plan.large_bytes;
    }
}

/* One or two lines are stored and written back, which is faster than non-temporal stores, see
 * lib/plan/rule_copy.c. */
uint32_t copy_of(const rpm_plan &plan, uint64_t bytes)
{
    if (plan.copy == RPM_COPY_STREAM && bytes <= 128)
        return RPM_COPY_CLWB;
    return plan.copy;
}

} // namespace

void plan_load(const rpm_facts &facts, Point *point)
{
    rpm_plan plan = plan_of(facts, *point);
    rpm_load *load = &point->load;

    load->remote_socket = plan.same_node != 0 ? 0 : 1;
    load->ddio = plan.ddio;
    if (plan.copy != 0)
        load->copy = copy_of(plan, load->bytes);
    if (load->op == RPM_LOAD_CAS) {
        load->memory = (point->hints & RPM_HINT(8)) != 0 ? RPM_LOAD_DRAM : RPM_LOAD_NVM;
        return;
    }
    if (load->op == RPM_LOAD_READ)
        return;
    plan_sizes(plan, load);
    if (load->by == RPM_BY_NIC) {
        load->persist = plan.chained != 0 ? RPM_PERSIST_CHAIN : RPM_PERSIST_WAIT;
        load->flush_memory = plan.chained != 0 ? RPM_LOAD_DRAM : RPM_LOAD_NVM;
    } else if (plan.spread != 0) {
        load->writers_max = plan.writers_max;
    }
}

bool is_durable(rpm_facts facts, const Point &point)
{
    const rpm_load &load = point.load;
    rpm_method method = RPM_METHOD_WRITE;

    if (load.op == RPM_LOAD_READ || load.op == RPM_LOAD_CAS || load.memory == RPM_LOAD_DRAM)
        return false;
    if (load.ddio != 0)
        facts.ddio = load.ddio;
    if (load.by == RPM_BY_CORE && load.fence_bytes > 1 && load.fence_bytes > load.bytes)
        return false; /* an operation ends before its fence */
    if (load.by != RPM_BY_NIC) {
        if (load.copy == RPM_COPY_STORE && facts.domain == RPM_DOMAIN_ADR)
            return false;
        method = load.by == RPM_BY_CALL ? RPM_METHOD_COPY : RPM_METHOD_STORE;
    } else if (load.persist != RPM_PERSIST_NONE) {
        method = RPM_METHOD_READ;
    }
    return rpm_legal(&facts, method, RPM_DURABLE, nullptr) == 1;
}

std::string hints_text(uint32_t hints)
{
    std::string text;

    if ((hints & RPM_HINTS_ALL) == RPM_HINTS_ALL)
        return "all";
    for (int k = 1; k <= 9; k++)
        if ((hints & RPM_HINT(k)) != 0)
            text += (text.empty() ? "H" : "+H") + std::to_string(k);
    return text.empty() ? "none" : text;
}

const char *by_name(uint32_t by)
{
    static const char *const names[] = { "core", "nic", "call" };

    return names[by];
}

const char *op_name(uint32_t op)
{
    static const char *const names[] = { "read", "write", "cas", "mix" };

    return names[op];
}

const char *persist_name(uint32_t persist)
{
    static const char *const names[] = { "none", "wait", "chain" };

    return names[persist];
}

const char *copy_name(uint32_t copy)
{
    static const char *const names[] = { "", "stream", "clwb", "store" };

    return names[copy];
}

const char *memory_name(uint32_t memory)
{
    static const char *const names[] = { "nvm", "dram" };

    return names[memory];
}

const char *pattern_name(uint32_t pattern)
{
    static const char *const names[] = { "random", "sequential", "append" };

    return names[pattern];
}

} // namespace hints
