// SPDX-License-Identifier: BSD-3-Clause
// When an ORDER ends: by a certificate and its WRITEs, or by a PERSIST; and in the order of posts.
#include "unit/transport/wrap/ordered.h"

using Ids = std::vector<uint64_t>;
using Kinds = std::vector<uint8_t>;

TEST_CASE("order: it ends when it is certified and its WRITEs have completed", "[unit]")
{
    for (bool certified_first : { false, true }) {
        Ordered ordered;

        ordered.server.late = 1000;
        ordered.post({ Ordered::write(7), Ordered::order_of(7, 64, 128) });
        CHECK(ordered.poll().empty());
        if (certified_first)
            ordered.agent.answer(0, KEY);
        else
            ordered.server.late = 0;
        CHECK(ordered.poll().empty());
        if (certified_first)
            ordered.server.late = 0;
        else
            ordered.agent.answer(0, KEY);
        CHECK(ordered.poll() == Ids{ 7 });
        CHECK(ordered.poll().empty());
    }
}

TEST_CASE("order: completions come in the order of posts", "[unit]")
{
    Ordered ordered;

    ordered.post({ Ordered::write(1), Ordered::order_of(1, 64, 128) });
    ordered.post({ Ordered::write(2, RPMI_OP_SIGNALED) });
    CHECK(ordered.poll().empty()); // the WRITE has completed, the ORDER in front of it has not
    ordered.agent.answer(0, KEY);
    CHECK(ordered.poll() == Ids{ 1, 2 });
}

TEST_CASE("order: a certificate of some records ends the ORDERs for these", "[unit]")
{
    Ordered ordered;

    ordered.post({ Ordered::write(1), Ordered::order_of(1, 0, 64) });
    ordered.agent.answer(0, KEY);
    CHECK(ordered.poll() == Ids{ 1 });
    ordered.post({ Ordered::write(2), Ordered::order_of(2, 64, 192) });
    ordered.agent.answer(128, KEY); // the second line has not arrived yet
    CHECK(ordered.poll().empty());
    REQUIRE(ordered.agent.fake.posted.size() == 3); // there was progress: asked again at once
    CHECK(ordered.agent.asked()[0].offset == 128);
    ordered.agent.answer(128, KEY);
    CHECK(ordered.poll().empty());
    CHECK(ordered.agent.fake.posted.size() == 3); // there was none: not at once
    ordered.pass(10000);
    CHECK(ordered.poll().empty());
    REQUIRE(ordered.agent.fake.posted.size() == 4);
    CHECK(ordered.agent.asked()[0].offset == 128);
    CHECK(ordered.agent.asked()[0].end_lsn == 192);
    ordered.agent.answer(0, KEY);
    CHECK(ordered.poll() == Ids{ 2 });
}

TEST_CASE("order: what is not certified in time is persisted by the server", "[unit]")
{
    Ordered ordered;

    ordered.post({ Ordered::write(7), Ordered::order_of(7, 64, 128) });
    CHECK(ordered.poll().empty());
    ordered.pass(RPMI_ORDER_NS + 1000);
    CHECK(ordered.poll().empty());
    REQUIRE(ordered.kinds() == Kinds{ RPMI_OP_WRITE, RPMI_OP_PERSIST });
    CHECK(ordered.server.posted[1].offset == RPMI_LOG_HEADER_BYTES + 64);
    CHECK(ordered.server.posted[1].len == 64);
    CHECK(ordered.poll() == Ids{ 7 });
    CHECK(ordered.link->stats.order_fallbacks == 1);
    // The agent is away now: the next one is persisted at once.
    ordered.post({ Ordered::write(8), Ordered::order_of(8, 128, 192) });
    CHECK(ordered.kinds() ==
          Kinds{ RPMI_OP_WRITE, RPMI_OP_PERSIST, RPMI_OP_WRITE, RPMI_OP_PERSIST });
    CHECK(ordered.poll() == Ids{ 8 });
    ordered.agent.answer(0, KEY); // much too late, and does no harm
    CHECK(ordered.poll().empty());
}

TEST_CASE("order: it is given up before the connection is", "[unit]")
{
    Ordered ordered(1000);

    ordered.post({ Ordered::write(7), Ordered::order_of(7, 64, 128) });
    ordered.pass(400000);
    CHECK(ordered.poll().empty());
    CHECK(ordered.kinds() == Kinds{ RPMI_OP_WRITE });
    ordered.pass(200000);
    CHECK(ordered.poll().empty());
    CHECK(ordered.kinds() == Kinds{ RPMI_OP_WRITE, RPMI_OP_PERSIST });
}

TEST_CASE("order: an agent that answers nonsense is left alone, and asked again later", "[unit]")
{
    static const uint64_t other[] = { 1, 2 };
    Ordered ordered;

    ordered.post({ Ordered::write(1), Ordered::order_of(1, 64, 128) });
    ordered.agent.answer(0, other);
    CHECK(ordered.poll().empty());
    CHECK(ordered.kinds() == Kinds{ RPMI_OP_WRITE, RPMI_OP_PERSIST });
    CHECK(ordered.poll() == Ids{ 1 });
    CHECK(ordered.order()->agent.stats.refused == 1);
    ordered.post({ Ordered::write(2), Ordered::order_of(2, 128, 192) });
    CHECK(ordered.agent.fake.posted.size() == 1);
    CHECK(ordered.poll() == Ids{ 2 });
    ordered.pass(RPMI_AGENT_PAUSE_NS);
    ordered.agent.fake.late = INT32_MAX;
    ordered.post({ Ordered::write(3), Ordered::order_of(3, 192, 256) });
    REQUIRE(ordered.agent.fake.posted.size() == 2);
    ordered.agent.answer(0, KEY);
    CHECK(ordered.poll() == Ids{ 3 });
}

TEST_CASE("order: of a claim that the link does not know, the server flushes", "[unit]")
{
    Ordered ordered;
    rpmi_op order = Ordered::order_of(7, 64, 128);

    order.key = 44;
    ordered.post({ Ordered::write(7), order });
    CHECK(ordered.kinds() == Kinds{ RPMI_OP_WRITE, RPMI_OP_PERSIST });
    CHECK(ordered.poll() == Ids{ 7 });
}

TEST_CASE("order: a failed op is reported, and nothing behind it", "[unit]")
{
    Ordered ordered;
    rpmi_done done[4];

    ordered.post({ Ordered::write(1), Ordered::order_of(1, 0, 64) });
    ordered.server.done.clear();
    ordered.server.done.push_back({ 1, RPM_E_FENCED });
    ordered.server.done.push_back({ 9, 0 });
    REQUIRE(ordered.link->ops->poll(ordered.link, done, 4) == 1);
    CHECK(done[0].id == 1);
    CHECK(done[0].status == RPM_E_FENCED);
    ordered.agent.answer(0, KEY);
    ordered.server.outstanding = 0;
    CHECK(ordered.poll().empty());
    CHECK(ordered.link->ops->reconnect(ordered.link, 0) == 0);
    CHECK((ordered.link->facts.methods & 1u << RPM_METHOD_ORDER) != 0);
    CHECK(rpmi_agent_claim(&ordered.order()->agent, WRITE_KEY) == nullptr);
}

TEST_CASE("order: a lost link says so", "[unit]")
{
    Ordered ordered;
    rpmi_done done[4];

    ordered.post({ Ordered::write(1), Ordered::order_of(1, 0, 64) });
    ordered.server.done.clear();
    ordered.server.link.lost = RPM_E_LOST;
    CHECK(ordered.link->ops->poll(ordered.link, done, 4) == RPM_E_LOST);
    CHECK(ordered.link->ops->wait(ordered.link, UINT64_MAX) == 0);
    CHECK(ordered.link->lost == RPM_E_LOST);
}

TEST_CASE("order: a wait ends with a certificate, or at its deadline", "[unit]")
{
    Ordered ordered;

    ordered.post({ Ordered::write(7), Ordered::order_of(7, 64, 128) });
    CHECK(ordered.link->ops->wait(ordered.link, ordered.server.now_ns) == RPM_E_TIMEDOUT);
    ordered.agent.answer(0, KEY);
    CHECK(ordered.link->ops->wait(ordered.link, UINT64_MAX) == 0);
    CHECK(ordered.poll() == Ids{ 7 });
}

TEST_CASE("order: an event loop hears of both links, and of the time that an ORDER has", "[unit]")
{
    Ordered ordered;
    uint64_t by_ns = UINT64_MAX;

    ordered.post({ Ordered::write(7), Ordered::order_of(7, 64, 128) });
    CHECK(ordered.poll().empty());
    CHECK(ordered.server.watched >= 0);
    CHECK(ordered.agent.fake.watched == ordered.server.watched);
    ordered.agent.fake.done.clear(); // no answer is on its way
    CHECK(ordered.link->ops->arm(ordered.link, &by_ns) == 0);
    CHECK(ordered.server.arms == 1);
    CHECK(ordered.agent.fake.arms == 1);
    CHECK(by_ns > ordered.server.now_ns);
    CHECK(by_ns <= ordered.server.now_ns + RPMI_ORDER_NS);
}

TEST_CASE("order: an agent that ends while nothing is wanted of it is noticed", "[unit]")
{
    Ordered ordered;
    bool sleeps = GENERATE(false, true);
    uint64_t by_ns = UINT64_MAX;

    ordered.agent.fake.link.lost = RPM_E_LOST;
    if (sleeps)
        CHECK(ordered.link->ops->arm(ordered.link, &by_ns) == 0);
    for (int i = 0; i < 64 && !sleeps; i++)
        CHECK(ordered.poll().empty());
    CHECK(ordered.order()->agent.link == nullptr);
    CHECK(ordered.agent.fake.closed == 1);
}

TEST_CASE("order: ops that are no ORDERs cost no look at the agent", "[unit]")
{
    Ordered ordered;

    for (uint64_t id = 1; id <= 20; id++) {
        ordered.post({ Ordered::write(id, RPMI_OP_SIGNALED) });
        CHECK(ordered.link->ops->wait(ordered.link, UINT64_MAX) == 0);
        CHECK(ordered.poll() == Ids{ id });
    }
    CHECK(ordered.server.waits == 20);           // by the server's own link
    CHECK(ordered.agent.fake.late == INT32_MAX); // which each poll would have lowered
}

TEST_CASE("order: a connection to which an agent is of no use gets none", "[unit]")
{
    FakeAgent agent;
    rpmi_agent_address address = agent.address();
    rpmi_link *link = nullptr;

    Fake direct(RPMI_LINK_COMPLETES_ON_POST);
    direct.link.facts.methods = 1u << RPM_METHOD_MESSAGE | 1u << RPM_METHOD_STORE;
    CHECK(rpmi_order_open(&direct.link, &address, 1000, &link) == RPM_E_NOCAP);
    Fake silent;
    CHECK(rpmi_order_open(&silent.link, &address, 1000, &link) == RPM_E_NOCAP);
    CHECK(agent.dialled == 0);
}
