// SPDX-License-Identifier: BSD-3-Clause
// What an ORDER posts: nothing to the server but its WRITEs, and a question to the agent.
#include "unit/transport/wrap/ordered.h"

using Kinds = std::vector<uint8_t>;

TEST_CASE("order: WRITEs go to the server, the question to the agent, at once", "[unit]")
{
    Ordered ordered;

    CHECK(ordered.post({ Ordered::write(7), Ordered::write(7), Ordered::order_of(7, 64, 192) }) ==
          3);
    CHECK(ordered.kinds() == Kinds{ RPMI_OP_WRITE, RPMI_OP_WRITE });
    CHECK((ordered.server.posted[0].flags & RPMI_OP_SIGNALED) == 0);
    CHECK((ordered.server.posted[1].flags & RPMI_OP_SIGNALED) != 0);
    REQUIRE(ordered.agent.asked().size() == 1);
    CHECK(ordered.agent.asked()[0].log_id == 99);
    CHECK(ordered.agent.asked()[0].epoch == 3);
    CHECK(ordered.agent.asked()[0].offset == 64);
    CHECK(ordered.agent.asked()[0].end_lsn == 192);
    CHECK((ordered.agent.fake.posted[0].flags & RPMI_OP_DURABLE) != 0);
}

TEST_CASE("order: at the ring's end it has two pieces, and is one question", "[unit]")
{
    Ordered ordered;

    CHECK(ordered.post({ Ordered::write(7), Ordered::order_of(7, 4032, 4096, 0),
                         Ordered::order_of(7, 4096, 4160) }) == 3);
    REQUIRE(ordered.agent.asked().size() == 1);
    CHECK(ordered.agent.asked()[0].offset == 4032);
    CHECK(ordered.agent.asked()[0].end_lsn == 4160);
    ordered.agent.answer(0, KEY);
    CHECK(ordered.poll() == std::vector<uint64_t>{ 7 });
}

TEST_CASE("order: behind WRITEs that were posted before, a READ tells when they are done", "[unit]")
{
    Ordered ordered;

    ordered.server.late = 1000;
    CHECK(ordered.post({ Ordered::write(0) }) == 1);
    CHECK(ordered.post({ Ordered::order_of(7, 64, 128) }) == 1);
    REQUIRE(ordered.kinds() == Kinds{ RPMI_OP_WRITE, RPMI_OP_READ });
    CHECK(ordered.server.posted[1].key == RPMI_KEY_SCRATCH);
    CHECK(ordered.server.posted[1].id == 7); // a failure of it is one of the ORDER
    ordered.agent.answer(0, KEY);
    CHECK(ordered.poll().empty());
    ordered.server.late = 0;
    CHECK(ordered.poll() == std::vector<uint64_t>{ 7 });
}

TEST_CASE("order: with nothing in front of it, it needs the certificate alone", "[unit]")
{
    Ordered ordered;

    CHECK(ordered.post({ Ordered::write(1, RPMI_OP_SIGNALED) }) == 1);
    CHECK(ordered.poll() == std::vector<uint64_t>{ 1 });
    CHECK(ordered.post({ Ordered::order_of(7, 64, 128) }) == 1);
    CHECK(ordered.kinds() == Kinds{ RPMI_OP_WRITE });
    ordered.agent.answer(0, KEY);
    CHECK(ordered.poll() == std::vector<uint64_t>{ 7 });
}

TEST_CASE("order: what the server's link does not take is not taken", "[unit]")
{
    Ordered ordered;
    std::vector<rpmi_op> ops = { Ordered::write(7), Ordered::write(7),
                                 Ordered::order_of(7, 64, 192) };

    ordered.server.take_most = 0;
    CHECK(ordered.post(ops) == 0);
    ordered.server.take_most = 1;
    CHECK(ordered.post({ ops[0], ops[0], ops[1], ops[2] }) == 1);
    CHECK(ordered.agent.asked().empty());
    ordered.server.posted.clear();
    ordered.server.take_most = 8;
    CHECK(ordered.post({ ops[1], ops[2] }) == 2);
    CHECK(ordered.kinds() == Kinds{ RPMI_OP_WRITE });
    CHECK(ordered.agent.asked().size() == 1);
    ordered.server.post_result = RPM_E_LOST;
    CHECK(ordered.post(ops) == RPM_E_LOST);
}

TEST_CASE("order: while the agent is busy, questions wait and are asked together", "[unit]")
{
    Ordered ordered;

    ordered.post({ Ordered::write(1), Ordered::order_of(1, 0, 64) });
    ordered.post({ Ordered::write(2), Ordered::order_of(2, 64, 128) });
    ordered.post({ Ordered::write(3), Ordered::order_of(3, 128, 256) });
    CHECK(ordered.agent.fake.posted.size() == 1);
    ordered.agent.answer(0, KEY);
    CHECK(ordered.poll() == std::vector<uint64_t>{ 1 });
    REQUIRE(ordered.agent.fake.posted.size() == 2);
    REQUIRE(ordered.agent.asked().size() == 1);
    CHECK(ordered.agent.asked()[0].offset == 64);
    CHECK(ordered.agent.asked()[0].end_lsn == 256);
}
