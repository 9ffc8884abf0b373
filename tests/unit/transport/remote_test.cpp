// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/clock.h"
#include "transport/remote.h"
#include "transport/stage.h"
}
#include "support/catch.h"

#include <librpm/error.h>
#include <string>

TEST_CASE("remote: each refusal has its own text, any other status that of its name", "[unit]")
{
    CHECK(std::string(rpmi_remote_reason(RPM_E_FENCED)) == "a newer writer claimed the log");
    CHECK(std::string(rpmi_remote_reason(RPM_E_DENIED)) == "the server knows no such key or right");
    CHECK(std::string(rpmi_remote_reason(RPM_E_RANGE)) == "outside the object");
    CHECK(std::string(rpmi_remote_reason(RPM_E_IO)) == "the server could not make it durable");
    CHECK(std::string(rpmi_remote_reason(RPM_E_LOST)) == rpm_strerror(RPM_E_LOST));
}

TEST_CASE("remote: only operations that the server CPU carries out are sent to it", "[unit]")
{
    for (int kind = 0; kind <= UINT8_MAX; kind++) {
        bool carried = kind == RPMI_OP_WRITE || kind == RPMI_OP_READ || kind == RPMI_OP_PERSIST ||
                       kind == RPMI_OP_COPY || kind == RPMI_OP_CAS || kind == RPMI_OP_FAA ||
                       kind == RPMI_OP_STEPS;
        rpmi_op ops[2] = {};

        ops[0].kind = RPMI_OP_WRITE;
        ops[1].kind = static_cast<uint8_t>(kind);
        CHECK(rpmi_remote_check_kinds(ops, 1, "a test") == 0);
        CHECK(rpmi_remote_check_kinds(ops, 2, "a test") == (carried ? 0 : RPM_E_NOCAP));
    }
}

TEST_CASE("remote: facts are equal if all fields that plans depend on are", "[unit]")
{
    rpm_facts before = rpm_facts_init();
    rpm_facts now = before;

    CHECK(rpmi_remote_same_facts(&before, &now) == 0);
    for (uint32_t rpm_facts::*field :
         { &rpm_facts::domain, &rpm_facts::methods, &rpm_facts::medium, &rpm_facts::ddio }) {
        now = before;
        now.*field += 1;
        CHECK(rpmi_remote_same_facts(&before, &now) == RPM_E_NOCAP);
    }
    now = before;
    now.port_node = 1;
    CHECK(rpmi_remote_same_facts(&before, &now) == 0);
}

TEST_CASE("remote: a link watches only at a server that says that it carries a WATCH out", "[unit]")
{
    rpmi_accept accepted = {}; // of a server that says nothing of steps

    CHECK(rpmi_remote_step_flags(&accepted) == RPMI_LINK_STEPS);
    accepted.steps = ~(1u << RPMI_STEP_WATCH);
    CHECK(rpmi_remote_step_flags(&accepted) ==
          (RPMI_LINK_STEPS | RPMI_LINK_SUM | RPMI_LINK_CARRY | RPMI_LINK_COMPARE));
    accepted.steps = 1u << RPMI_STEP_CARRY;
    CHECK(rpmi_remote_step_flags(&accepted) == (RPMI_LINK_STEPS | RPMI_LINK_CARRY));
    accepted.steps = 1u << RPMI_STEP_WATCH;
    CHECK(rpmi_remote_step_flags(&accepted) == (RPMI_LINK_STEPS | RPMI_LINK_WATCH));
}

TEST_CASE("remote: a link carries SUMs and COMPAREs only to a server that says it knows them",
          "[unit]")
{
    rpmi_accept accepted = {};

    CHECK(rpmi_remote_step_flags(&accepted) == RPMI_LINK_STEPS);
    accepted.steps = 1u << RPMI_STEP_SUM;
    CHECK(rpmi_remote_step_flags(&accepted) == (RPMI_LINK_STEPS | RPMI_LINK_SUM));
    accepted.steps = 1u << RPMI_STEP_COMPARE;
    CHECK(rpmi_remote_step_flags(&accepted) == (RPMI_LINK_STEPS | RPMI_LINK_COMPARE));
}

TEST_CASE("remote: invalid options are refused, and a secret is copied completely", "[unit]")
{
    std::string longest(RPMI_SECRET_BYTES - 1, 's');
    std::string too_long = longest + "s";
    rpmi_link_opts opts = { 1000000, 1, 1, longest.c_str(), false };
    char secret[RPMI_SECRET_BYTES];

    memset(secret, 'x', sizeof(secret));
    CHECK(rpmi_remote_take_opts(&opts, secret) == 0);
    CHECK(secret == longest);
    opts.secret = nullptr;
    CHECK(rpmi_remote_take_opts(&opts, secret) == 0);
    CHECK(secret[0] == '\0');
    opts.secret = too_long.c_str();
    CHECK(rpmi_remote_take_opts(&opts, secret) == RPM_E_INVAL);
    opts.secret = nullptr;
    for (uint32_t depth : { 0u, RPMI_DEPTH_MAX + 1 }) {
        opts.depth = depth;
        CHECK(rpmi_remote_take_opts(&opts, secret) == RPM_E_INVAL);
    }
    opts.depth = RPMI_DEPTH_MAX;
    for (uint64_t bytes : { uint64_t{ 0 }, uint64_t{ RPMI_STAGING_MAX + 1 } }) {
        opts.staging_bytes = bytes;
        CHECK(rpmi_remote_take_opts(&opts, secret) == RPM_E_INVAL);
    }
    opts.staging_bytes = RPMI_STAGING_MAX;
    CHECK(rpmi_remote_take_opts(&opts, secret) == 0);
}

namespace
{

int answer;
int dials;

int dial(rpmi_link *, uint64_t)
{
    return ++dials < 3 ? answer : 0;
}

} // namespace

TEST_CASE("remote: a client dials again while no server answers, and for no other reason", "[unit]")
{
    rpmi_link link = {};

    for (int status : { RPM_E_REFUSED, RPM_E_LOST }) {
        answer = status;
        dials = 0;
        CHECK(rpmi_remote_redial(&link, dial, rpmi_clock_ns() + 10000000000u) == 0);
        CHECK(dials == 3);
    }
    for (int status : { RPM_E_DENIED, RPM_E_VERSION, RPM_E_NOCAP, RPM_E_TIMEDOUT }) {
        answer = status;
        dials = 0;
        CHECK(rpmi_remote_redial(&link, dial, rpmi_clock_ns() + 10000000000u) == status);
        CHECK(dials == 1);
    }
    answer = RPM_E_REFUSED;
    dials = 0;
    CHECK(rpmi_remote_redial(&link, dial, rpmi_clock_ns()) == RPM_E_REFUSED);
    CHECK(dials == 1);
}
