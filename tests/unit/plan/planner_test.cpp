// SPDX-License-Identifier: BSD-3-Clause
#include "unit/plan/support.h"

extern "C" {
#include "base/canary.h"
#include "wire/call.h"
}
#include "support/catch.h"

#include <string>

namespace
{

const uint32_t FAR_CPU =
    1u << RPM_METHOD_MESSAGE | 1u << RPM_METHOD_IMMEDIATE | 1u << RPM_METHOD_COPY;

struct Expect {
    rpm_method method;
    uint8_t write_kind;
    uint8_t durable_flags; // of writes, at durable
    uint8_t seal_kind;
};

const Expect SHAPES[] = {
    { RPM_METHOD_READ, RPMI_OP_WRITE, 0, RPMI_OP_READ },
    { RPM_METHOD_MESSAGE, RPMI_OP_WRITE, 0, RPMI_OP_PERSIST },
    { RPM_METHOD_IMMEDIATE, RPMI_OP_WRITE_IMM, RPMI_OP_DURABLE, 0 },
    { RPM_METHOD_COPY, RPMI_OP_COPY, RPMI_OP_DURABLE, 0 },
    { RPM_METHOD_FLUSH, RPMI_OP_WRITE, 0, RPMI_OP_FLUSH },
    { RPM_METHOD_STORE, RPMI_OP_WRITE, 0, RPMI_OP_DRAIN },
};

rpm_facts eadr()
{
    rpm_facts facts = facts_of(RPM_DOMAIN_EADR, RPM_NO, EVERY_METHOD);

    facts.native_flush = RPM_YES;
    return facts;
}

} // namespace

TEST_CASE("planner: each method has its ops at each level", "[unit]")
{
    rpm_facts facts = eadr();

    for (const Expect &expect : SHAPES)
        for (rpm_level level : { RPM_VISIBLE, RPM_PROCESS, RPM_DURABLE }) {
            rpm_request request = request_of(RPM_REQUEST_APPEND, level);
            rpmi_plan plan;

            request.method = expect.method;
            CAPTURE(rpm_method_name(expect.method), rpm_level_name(level));
            REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
            CHECK(plan.method == expect.method);
            CHECK(plan.level == level);
            CHECK(plan.write_kind == expect.write_kind);
            CHECK(plan.write_flags == (level == RPM_DURABLE ? expect.durable_flags : 0));
            CHECK(plan.seal_kind == expect.seal_kind);
            CHECK(plan.seal_flags == 0);
            CHECK(plan.seal_bytes == 1);
        }
}

TEST_CASE("planner: posted is a plain write, whatever method is requested", "[unit]")
{
    rpm_facts facts = eadr();
    rpm_request request = request_of(RPM_REQUEST_APPEND, RPM_POSTED);
    rpmi_plan plan;

    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.method == RPM_METHOD_WRITE);
    CHECK(plan.write_kind == RPMI_OP_WRITE);
    CHECK(plan.seal_kind == 0);
    request.method = RPM_METHOD_READ;
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.method == RPM_METHOD_READ);
    CHECK(plan.seal_kind == 0);
}

TEST_CASE("planner: the cheapest legal method among those that the link has", "[unit]")
{
    static const rpm_method order[] = {
        RPM_METHOD_STORE, RPM_METHOD_FLUSH,     RPM_METHOD_READ,
        RPM_METHOD_COPY,  RPM_METHOD_IMMEDIATE, RPM_METHOD_MESSAGE
    };
    rpm_request request = request_of(RPM_REQUEST_BATCH);
    rpm_facts facts = eadr();
    rpmi_plan plan;

    for (rpm_method method : order) {
        CAPTURE(rpm_method_name(method));
        REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
        CHECK(plan.method == method);
        CHECK(plan.level == RPM_DURABLE);
        facts.methods &= ~bit(method);
    }
    plan.method = RPM_METHOD_DEFAULT;
    CHECK(rpmi_plan_make(&facts, &request, &plan) == RPM_E_NOCAP);
    CHECK(plan.method == RPM_METHOD_DEFAULT); // out params are set only on success
}

TEST_CASE("planner: with an agent, records are ordered where a READ proves nothing", "[unit]")
{
    rpm_facts facts =
        facts_of(RPM_DOMAIN_ADR, RPM_YES, bit(RPM_METHOD_READ) | FAR_CPU | bit(RPM_METHOD_ORDER));
    rpmi_plan plan;

    for (rpm_request_kind kind : { RPM_REQUEST_APPEND, RPM_REQUEST_BATCH }) {
        rpm_request request = request_of(kind);

        REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
        CHECK(plan.method == RPM_METHOD_ORDER);
        CHECK(plan.write_kind == RPMI_OP_WRITE);
        CHECK(plan.seal_kind == RPMI_OP_ORDER);
        CHECK(plan.seal_flags == 0); // the link chooses between the agent and the server
        request.method = RPM_METHOD_ORDER;
        REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
        CHECK(plan.seal_flags == RPMI_OP_ALWAYS);
    }
    rpm_request request = request_of(RPM_REQUEST_WRITE); // bytes of a region certify nothing
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.method == RPM_METHOD_COPY);
    request.method = RPM_METHOD_ORDER;
    CHECK(rpmi_plan_make(&facts, &request, &plan) == RPM_E_NOCAP);
    request = request_of(RPM_REQUEST_APPEND, RPM_VISIBLE);
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.method == RPM_METHOD_READ);
    request = request_of(RPM_REQUEST_APPEND);
    request.method = RPM_METHOD_ORDER; // a range that any client wrote is flushed by a message
    REQUIRE(rpmi_plan_make_persist(&facts, &request, &plan) == 0);
    CHECK(plan.seal_kind == RPMI_OP_PERSIST);
    facts.ddio = RPM_NO;
    request.method = 0;
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.method == RPM_METHOD_READ);
}

TEST_CASE("planner: an agent that the server declares carries records where it may", "[unit]")
{
    rpm_facts facts =
        facts_of(RPM_DOMAIN_ADR, RPM_YES,
                 bit(RPM_METHOD_READ) | FAR_CPU | bit(RPM_METHOD_ORDER) | bit(RPM_METHOD_CARRY));
    rpm_request request = request_of(RPM_REQUEST_BATCH);
    rpmi_plan plan;

    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.method == RPM_METHOD_CARRY);
    CHECK(plan.write_kind == RPMI_OP_WRITE);
    CHECK(plan.seal_kind == RPMI_OP_CARRY);
    request = request_of(RPM_REQUEST_WRITE);
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.method == RPM_METHOD_COPY);
    request.method = RPM_METHOD_CARRY;
    CHECK(rpmi_plan_make(&facts, &request, &plan) == RPM_E_NOCAP);
    request = request_of(RPM_REQUEST_APPEND);
    request.method = RPM_METHOD_CARRY;
    REQUIRE(rpmi_plan_make_persist(&facts, &request, &plan) == 0);
    CHECK(plan.seal_kind == RPMI_OP_PERSIST);
    facts.methods &= ~bit(RPM_METHOD_CARRY); // the server declares no such agent
    CHECK(rpmi_plan_make(&facts, &request, &plan) == RPM_E_NOCAP);
    facts.ddio = RPM_NO;
    facts.methods |= bit(RPM_METHOD_CARRY);
    request.method = 0;
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.method == RPM_METHOD_READ);
}

TEST_CASE("planner: with DDIO on or unknown, method read is not chosen", "[unit]")
{
    rpm_facts facts =
        facts_of(RPM_DOMAIN_ADR, GENERATE(RPM_YES, RPM_UNKNOWN), bit(RPM_METHOD_READ) | FAR_CPU);
    rpm_request request = request_of(RPM_REQUEST_WRITE);
    rpmi_plan plan;

    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.method == RPM_METHOD_COPY);
    facts.ddio = RPM_NO;
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(plan.method == RPM_METHOD_READ);
}

TEST_CASE("planner: a requested method must be legal, and the link must have it", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, RPM_YES, bit(RPM_METHOD_READ) | FAR_CPU);
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    rpmi_plan plan;

    request.method = GENERATE(RPM_METHOD_WRITE, RPM_METHOD_READ, RPM_METHOD_READ_OTHER,
                              RPM_METHOD_FLUSH, RPM_METHOD_STORE);
    CHECK(rpmi_plan_make(&facts, &request, &plan) == RPM_E_NOCAP);
    request.method = RPM_METHOD_MESSAGE;
    CHECK(rpmi_plan_make(&facts, &request, &plan) == 0);
}

TEST_CASE("planner: no combination of facts is planned illegally", "[unit]")
{
    uint32_t planned = 0;

    for (uint32_t bits = 0; bits < 4 * 3 * 3 * 7 * 2; bits++)
        for (uint32_t insisted = 0; insisted < RPM_METHOD_COUNT; insisted++)
            for (uint32_t level = RPM_VISIBLE; level <= RPM_DURABLE; level++) {
                rpm_facts facts = rpm_facts_init();
                rpm_request request = request_of(RPM_REQUEST_APPEND, rpm_level(level));
                rpmi_plan plan;

                facts.domain = bits % 4;
                facts.ddio = bits / 4 % 3;
                facts.native_flush = bits / 12 % 3;
                facts.medium = bits / 36 % 7;
                facts.domain_declared = bits / 252;
                facts.methods = EVERY_METHOD;
                request.method = insisted;
                if (rpmi_plan_make(&facts, &request, &plan) != 0)
                    continue;
                planned++;
                REQUIRE(rpm_legal(&facts, plan.method, rpm_level(level), nullptr) == 1);
                REQUIRE((insisted == 0 || plan.method == rpm_method(insisted)));
            }
    CHECK(planned > 1000);
}

TEST_CASE("planner: a request with a field out of range is refused", "[unit]")
{
    rpm_facts facts = eadr();
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    rpmi_plan plan;

    switch (GENERATE(0, 1, 2, 3, 4, 5)) {
    case 0:
        request.kind = 0;
        break;
    case 1:
        request.kind = 5;
        break;
    case 2:
        request.level = 5;
        break;
    case 3:
        request.method = RPM_METHOD_COUNT;
        break;
    case 4:
        request.slot_bytes = 65;
        break;
    default:
        request.hints = 1;
        break;
    }
    CHECK(rpmi_plan_make(&facts, &request, &plan) == RPM_E_INVAL);
    CHECK(rpmi_plan_make_persist(&facts, &request, &plan) == RPM_E_INVAL);
}

TEST_CASE("planner: the longest record is planned, a longer one is not", "[unit]")
{
    rpm_facts facts = eadr();
    rpm_request request = request_of(RPM_REQUEST_BATCH);
    rpmi_plan plan;

    request.bytes = RPMI_RECORD_MAX;
    CHECK(rpmi_plan_make(&facts, &request, &plan) == 0);
    request.bytes++;
    CHECK(rpmi_plan_make(&facts, &request, &plan) == RPM_E_TOOBIG);
    request.kind = RPM_REQUEST_WRITE;
    CHECK(rpmi_plan_make(&facts, &request, &plan) == 0);
}

TEST_CASE("planner: persist uses the server CPU, whose cache may hold writes of other clients",
          "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, RPM_NO, EVERY_METHOD);
    rpm_request request = request_of(RPM_REQUEST_WRITE);
    rpmi_plan plan;

    facts.native_flush = RPM_YES;
    request.method = GENERATE(RPM_METHOD_READ, RPM_METHOD_MESSAGE, RPM_METHOD_IMMEDIATE,
                              RPM_METHOD_COPY, RPM_METHOD_FLUSH, RPM_METHOD_STORE);
    CAPTURE(request.method);
    REQUIRE(rpmi_plan_make_persist(&facts, &request, &plan) == 0);
    CHECK(plan.seal_kind == RPMI_OP_PERSIST);
    CHECK(plan.level == RPM_DURABLE);
}

TEST_CASE("planner: persist uses the NIC if no CPU writes, or if caches survive", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, RPM_NO, bit(RPM_METHOD_READ));
    rpm_request request = request_of(RPM_REQUEST_WRITE);
    rpmi_plan plan;

    REQUIRE(rpmi_plan_make_persist(&facts, &request, &plan) == 0);
    CHECK(plan.seal_kind == RPMI_OP_READ);
    facts = eadr();
    request.method = RPM_METHOD_FLUSH;
    REQUIRE(rpmi_plan_make_persist(&facts, &request, &plan) == 0);
    CHECK(plan.seal_kind == RPMI_OP_FLUSH);
    facts = facts_of(RPM_DOMAIN_ADR, RPM_YES, bit(RPM_METHOD_READ));
    request.method = RPM_METHOD_DEFAULT;
    CHECK(rpmi_plan_make_persist(&facts, &request, &plan) == RPM_E_NOCAP);
}

TEST_CASE("planner: below durable there is nothing to persist", "[unit]")
{
    rpm_facts facts = eadr();
    rpm_request request =
        request_of(RPM_REQUEST_WRITE, GENERATE(RPM_POSTED, RPM_VISIBLE, RPM_PROCESS));
    rpmi_plan plan;
    rpmi_op ops[1];

    REQUIRE(rpmi_plan_make_persist(&facts, &request, &plan) == 0);
    CHECK(plan.seal_kind == 0);
    CHECK(rpmi_plan_seal(&plan, 3, nullptr, 0, nullptr, ops) == 0);
}

TEST_CASE("planner: a seal is one op, or one message for each range", "[unit]")
{
    const rpmi_range ranges[] = { { 4096, 64 }, { 64, 128 }, { 1024, 1 } };
    rpm_facts facts = eadr();
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    unsigned char into = 0;
    rpmi_plan plan;
    rpmi_op ops[3];

    request.method = RPM_METHOD_READ;
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    REQUIRE(rpmi_plan_seal(&plan, 3, ranges, 3, &into, ops) == 1);
    CHECK(ops[0].kind == RPMI_OP_READ);
    CHECK(ops[0].key == RPMI_KEY_SCRATCH);
    CHECK(ops[0].offset == 0);
    CHECK(ops[0].len == 1);
    CHECK(ops[0].into == &into);

    request.method = RPM_METHOD_FLUSH;
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    REQUIRE(rpmi_plan_seal(&plan, 3, ranges, 3, &into, ops) == 1);
    CHECK(ops[0].kind == RPMI_OP_FLUSH);
    CHECK(ops[0].key == 3);
    CHECK(ops[0].offset == 64);
    CHECK(ops[0].len == 4096);

    request.method = RPM_METHOD_MESSAGE;
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    REQUIRE(rpmi_plan_seal(&plan, 3, ranges, 3, &into, ops) == 3);
    for (int i = 0; i < 3; i++) {
        CHECK(ops[i].kind == RPMI_OP_PERSIST);
        CHECK(ops[i].key == 3);
        CHECK(ops[i].offset == ranges[i].offset);
        CHECK(ops[i].len == ranges[i].len);
    }

    request.method = RPM_METHOD_STORE;
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    REQUIRE(rpmi_plan_seal(&plan, 3, ranges, 3, &into, ops) == 1);
    CHECK(ops[0].kind == RPMI_OP_DRAIN);

    request.method = RPM_METHOD_COPY;
    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    CHECK(rpmi_plan_seal(&plan, 3, ranges, 3, &into, ops) == 0);
}

TEST_CASE("planner: a write op is filled from the plan", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_MSYNC, RPM_YES, FAR_CPU);
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    rpmi_plan plan;
    rpmi_op op = {};

    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    rpmi_plan_write(&plan, 7, 4096, 128, &op);
    CHECK(op.kind == RPMI_OP_COPY);
    CHECK(op.flags == RPMI_OP_DURABLE);
    CHECK(op.key == 7);
    CHECK(op.offset == 4096);
    CHECK(op.len == 128);
}

TEST_CASE("planner: a canary omits the flush, or flushes other bytes", "[unit]")
{
    rpm_facts facts = facts_of(RPM_DOMAIN_ADR, RPM_NO, bit(RPM_METHOD_READ));
    rpm_request request = request_of(RPM_REQUEST_APPEND);
    rpmi_plan plan;
    int err;

    rpmi_canary_now = RPMI_CANARY_NO_FLUSH;
    err = rpmi_plan_make(&facts, &request, &plan);
    rpmi_canary_now = RPMI_CANARY_NONE;
    REQUIRE(err == 0);
    CHECK(plan.seal_kind == 0);

    rpmi_canary_now = RPMI_CANARY_OTHER_QP;
    err = rpmi_plan_make(&facts, &request, &plan);
    rpmi_canary_now = RPMI_CANARY_NONE;
    REQUIRE(err == 0);
    CHECK(plan.seal_flags == RPMI_OP_OTHER_QP);

    facts.ddio = RPM_YES;
    CHECK(rpmi_plan_make(&facts, &request, &plan) == RPM_E_NOCAP);
    rpmi_canary_now = RPMI_CANARY_READ_DDIO;
    err = rpmi_plan_make(&facts, &request, &plan);
    rpmi_canary_now = RPMI_CANARY_NONE;
    CHECK(err == 0);
}

TEST_CASE("planner: H1 to H4 change neither method, level nor seal", "[unit]")
{
    for (uint32_t domain = RPM_DOMAIN_NONE; domain <= RPM_DOMAIN_EADR; domain++)
        for (uint32_t ddio = RPM_UNKNOWN; ddio <= RPM_YES; ddio++)
            for (uint32_t method = 0; method < RPM_METHOD_COUNT; method++) {
                rpm_facts facts = facts_of(static_cast<rpm_domain>(domain),
                                           static_cast<rpm_answer>(ddio), EVERY_METHOD);
                rpm_request on = request_of(RPM_REQUEST_APPEND);
                rpm_request off = on;
                rpmi_plan with;
                rpmi_plan plain;
                int err;

                on.method = method;
                off.method = method;
                off.hints &= ~(RPM_HINT(1) | RPM_HINT(2) | RPM_HINT(3) | RPM_HINT(4));
                err = rpmi_plan_make(&facts, &on, &with);
                REQUIRE(rpmi_plan_make(&facts, &off, &plain) == err);
                if (err != 0)
                    continue;
                CHECK(with.method == plain.method);
                CHECK(with.level == plain.level);
                CHECK(with.write_kind == plain.write_kind);
                CHECK((with.write_flags & RPMI_OP_DURABLE) ==
                      (plain.write_flags & RPMI_OP_DURABLE));
                CHECK(with.seal_kind == plain.seal_kind);
                CHECK(with.seal_flags == plain.seal_flags);
            }
}

TEST_CASE("planner: rule i is hint i + 1", "[unit]")
{
    for (uint32_t i = 0; i < RPMI_RULES; i++)
        CHECK(rpmi_rules[i]->hint == i + 1);
}
