// SPDX-License-Identifier: BSD-3-Clause
#include "context.h"

TEST_CASE("sim poll: a poll without completions runs one event", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();
    uint32_t key = Context::region(link);
    void *into = link->ops->stage(link, 64);
    rpmi_op op = {};
    rpmi_done done;
    int polls = 0;

    op.kind = RPMI_OP_READ;
    op.flags = RPMI_OP_SIGNALED;
    op.key = key;
    op.len = 8;
    op.into = into;
    op.id = 77;
    REQUIRE(link->ops->post(link, &op, 1) == 1);
    for (;; polls++) {
        uint64_t events = rpm_sim_events(context.sim);
        int got = link->ops->poll(link, &done, 1);

        REQUIRE(rpm_sim_events(context.sim) <= events + 1);
        if (got != 0) {
            REQUIRE(got == 1);
            break;
        }
        REQUIRE(polls < 1000);
    }
    REQUIRE(polls > 2);
    REQUIRE(done.id == 77);
    REQUIRE(done.status == 0);
}

TEST_CASE("sim poll: waiting and pausing move the clock and nothing else", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();
    uint64_t now = link->ops->now_ns(link);

    REQUIRE(link->ops->wait(link, now + 12345) == RPM_E_TIMEDOUT);
    REQUIRE(link->ops->now_ns(link) == now + 12345);
    link->ops->pause(link, 55);
    REQUIRE(link->ops->now_ns(link) == now + 12400);
    REQUIRE(rpm_sim_now_ns(context.sim) == now + 12400);
}

TEST_CASE("sim poll: a lost link says so after its last completion", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();
    uint32_t key = Context::region(link);
    void *into = link->ops->stage(link, 64);
    std::vector<rpmi_op> ops(3);
    rpmi_done done[4];

    for (size_t i = 0; i < ops.size(); i++) {
        ops[i].kind = RPMI_OP_READ;
        ops[i].flags = RPMI_OP_SIGNALED;
        ops[i].key = key;
        ops[i].len = 8;
        ops[i].into = into;
        ops[i].id = i;
    }
    REQUIRE(link->ops->post(link, ops.data(), 3) == 3);
    rpm_sim_power_cut(context.sim, 0, RPM_CUT_NONE);
    REQUIRE(link->ops->wait(link, Context::deadline(link)) == 0);
    REQUIRE(link->ops->poll(link, done, 4) == 3);
    for (size_t i = 0; i < 3; i++)
        REQUIRE((done[i].id == i && done[i].status == RPM_E_LOST));
    REQUIRE(link->ops->wait(link, Context::deadline(link)) == 0);
    REQUIRE(link->ops->poll(link, done, 4) == RPM_E_LOST);
    REQUIRE(link->lost == RPM_E_LOST);
    REQUIRE(link->ops->post(link, ops.data(), 1) == RPM_E_LOST);
}
