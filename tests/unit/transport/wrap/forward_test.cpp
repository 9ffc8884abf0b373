// SPDX-License-Identifier: BSD-3-Clause
#include "unit/transport/fake.h"

TEST_CASE("forward: the outer link has the facts of the inner link", "[unit]")
{
    Wrapped wrapped("wrap=trace");

    CHECK(wrapped.link->client == 1);
    CHECK(wrapped.link->server_epoch == 77);
    CHECK(wrapped.link->depth == 8);
    CHECK(wrapped.link->facts.methods == 2);
    CHECK(wrapped.link->lost == 0);
}

TEST_CASE("forward: the outer link does not have the inner link's fast path", "[unit]")
{
    static const rpmi_fast_path fast = {};
    Wrapped wrapped("wrap=trace");

    wrapped.fake.link.fast_path = &fast;
    wrapped.poll();
    CHECK(wrapped.link->fast_path == nullptr);
    CHECK(wrapped.link->ops->reconnect(wrapped.link, 0) == 0);
    CHECK(wrapped.link->fast_path == nullptr);
}

TEST_CASE("forward: every op reaches the inner link", "[unit]")
{
    Wrapped wrapped("wrap=trace");
    const rpmi_transport_ops *ops = wrapped.link->ops;
    rpmi_call call = {};
    rpmi_reply reply = {};
    rpmi_url url = {};

    CHECK(wrapped.post(5) == 1);
    CHECK(wrapped.fake.ids() == std::vector<uint64_t>{ 5 });
    CHECK(ops->wait(wrapped.link, 5000) == 0);
    CHECK(wrapped.link->stats.sleeps == 1);
    uint64_t by_ns = 7;
    CHECK(ops->watch(wrapped.link, 31) == 0);
    CHECK(wrapped.fake.watched == 31);
    CHECK(ops->arm(wrapped.link, &by_ns) == 1);
    CHECK(wrapped.poll().at(0).id == 5);
    CHECK(ops->arm(wrapped.link, &by_ns) == 0);
    CHECK(by_ns == 7);
    wrapped.fake.link.lost = RPM_E_LOST;
    CHECK(ops->arm(wrapped.link, &by_ns) == 1);
    CHECK(wrapped.link->lost == RPM_E_LOST);
    wrapped.fake.link.lost = wrapped.link->lost = 0;
    call.key = 3;
    CHECK(ops->call(wrapped.link, &call, &reply, 0) == 0);
    CHECK(reply.key == 4);
    CHECK(ops->stage(wrapped.link, 64) == wrapped.fake.stage);
    ops->unstage(wrapped.link, wrapped.fake.stage);
    CHECK(ops->peek(wrapped.link, 1, 0, 8) == wrapped.fake.stage);
    wrapped.fake.now_ns = 123;
    CHECK(ops->now_ns(wrapped.link) == 123);
    ops->pause(wrapped.link, 7);
    CHECK(wrapped.fake.now_ns == 130);
    CHECK(ops->connect(&url, nullptr, nullptr) == RPM_E_NOCAP);
}

TEST_CASE("forward: a loss is visible outside, and a reconnect repairs it", "[unit]")
{
    Wrapped wrapped("wrap=trace");

    wrapped.fake.link.lost = RPM_E_LOST;
    wrapped.poll();
    CHECK(wrapped.last == RPM_E_LOST);
    CHECK(wrapped.link->lost == RPM_E_LOST);
    CHECK(wrapped.link->ops->reconnect(wrapped.link, 0) == 0);
    CHECK(wrapped.link->lost == 0);
    CHECK(wrapped.link->client == 2); // a new id is seen outside too
}

TEST_CASE("forward: a user that gave up on the outer link is not overruled", "[unit]")
{
    Wrapped wrapped("wrap=trace");

    wrapped.link->lost = RPM_E_TIMEDOUT;
    wrapped.poll();
    CHECK(wrapped.link->lost == RPM_E_TIMEDOUT);
    CHECK(wrapped.link->ops->reconnect(wrapped.link, 0) == 0);
    CHECK(wrapped.link->lost == 0);
}

TEST_CASE("forward: each kind of op has a name", "[unit]")
{
    CHECK(rpmi_op_name(RPMI_OP_WRITE) == std::string("write"));
    CHECK(rpmi_op_name(RPMI_OP_WRITE_IMM) == std::string("write-imm"));
    CHECK(rpmi_op_name(RPMI_OP_FAA) == std::string("faa"));
    CHECK(rpmi_op_name(RPMI_OP_STEPS) == std::string("steps"));
    CHECK(rpmi_op_name(0) == std::string("unknown"));
    CHECK(rpmi_op_name(RPMI_OP_KINDS) == std::string("unknown"));
}
