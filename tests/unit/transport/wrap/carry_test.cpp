// SPDX-License-Identifier: BSD-3-Clause
// A link whose agent carries records: their bytes are in the list that the agent is sent, and what
// the agent does not get certified, the link writes.
#include "unit/transport/wrap/ordered.h"

extern "C" {
#include "wire/carry.h"
}
#include <cstring>

namespace
{

using Kinds = std::vector<uint8_t>;
using Seqs = std::vector<uint64_t>;

// The records of one WRITE each, of 64 bytes, at LSN 64 * i; and a CARRY for some of them.
struct Carrying : Ordered {
    unsigned char body[64][64];
    unsigned char head[8] = { 'h', 'e', 'a', 'd', 'h', 'e', 'a', 'd' };

    explicit Carrying(bool seals = true) : Ordered(5000000, true, "agent")
    {
        for (size_t i = 0; i < 64; i++)
            memset(body[i], static_cast<int>('A' + i), sizeof(body[i]));
        if (seals)
            seal();
    }
    void seal()
    {
        rpmi_call call = {};
        rpmi_reply reply = {};

        call.kind = RPMI_CALL_SEAL;
        call.key = WRITE_KEY;
        REQUIRE(link->ops->call(link, &call, &reply, UINT64_MAX) == 0);
    }
    rpmi_op record(size_t i)
    {
        rpmi_op op = write(0);

        op.offset = RPMI_LOG_HEADER_BYTES + 64 * i;
        op.len = 64;
        op.body = body[i];
        op.body_bytes = 64;
        return op;
    }
    static rpmi_op carry(uint64_t id, size_t first, size_t end)
    {
        rpmi_op op = order_of(id, 64 * first, 64 * end);

        op.kind = RPMI_OP_CARRY;
        return op;
    }
    // CARRYs of the last list that the agent was sent.
    std::vector<rpmi_step> carried() const
    {
        return agent.asked(RPMI_STEP_CARRY);
    }
};

} // namespace

TEST_CASE("carry: the link asks whether the server declares the agent, and delegates each log",
          "[unit][agent]")
{
    Carrying carrying;
    const std::vector<rpmi_call> &called = carrying.server.called;

    CHECK((carrying.link->facts.methods & 1u << RPM_METHOD_CARRY) != 0);
    REQUIRE(called.size() == 3);
    CHECK(called[0].kind == RPMI_CALL_DELEGATE);
    CHECK(called[0].key == 0);
    CHECK(std::string(called[0].name) == "agent");
    CHECK(called[1].kind == RPMI_CALL_SEAL);
    CHECK(called[2].kind == RPMI_CALL_DELEGATE);
    CHECK(called[2].key == WRITE_KEY);
}

TEST_CASE("carry: an agent that the server does not declare is refused when the link opens",
          "[unit][agent]")
{
    FakeAgent agent;
    Fake server;
    rpmi_link *link = nullptr;
    rpmi_agent_address address = agent.address();

    server.link.facts.methods = 1u << RPM_METHOD_MESSAGE;
    CHECK(rpmi_carry_set_name(&address, "") == RPM_E_INVAL);
    CHECK(rpmi_carry_set_name(&address, std::string(64, 'n').c_str()) == RPM_E_INVAL);
    REQUIRE(rpmi_carry_set_name(&address, "agent") == 0);
    CHECK(rpmi_order_open(&server.link, &address, 1000, &link) == RPM_E_NOCAP); // an older server
    server.link.flags |= RPMI_LINK_CARRY;
    server.call_status = RPM_E_DENIED;
    CHECK(rpmi_order_open(&server.link, &address, 1000, &link) == RPM_E_DENIED);
    CHECK(agent.dialled == 0);
}

TEST_CASE("carry: one message to the agent has the bytes and the question", "[unit][agent]")
{
    Carrying carrying;
    rpmi_op second = carrying.record(1);

    second.head = carrying.head;
    second.head_bytes = 8;
    second.body_bytes = 16; // 40 zeros behind
    REQUIRE(carrying.post({ carrying.record(0), second, Carrying::carry(5, 0, 2) }) == 3);
    CHECK(carrying.server.posted.empty());
    REQUIRE(carrying.carried().size() == 1);
    rpmi_step step = carrying.carried()[0];
    CHECK(step.offset == 0);
    CHECK(step.len == 128);
    CHECK(step.log_id == 99);
    CHECK(step.epoch == 3);
    CHECK(rpmi_carry_check(&step, KEY) == 0);
    const unsigned char *bytes = static_cast<const unsigned char *>(step.data);
    CHECK(memcmp(bytes, carrying.body[0], 64) == 0);
    CHECK(memcmp(bytes + 64, "headheadBBBBBBBBBBBBBBBB\0\0\0", 27) == 0);
    CHECK(bytes[127] == 0);
    REQUIRE(carrying.agent.asked().size() == 1);
    CHECK(carrying.agent.asked()[0].end_lsn == 128);
    CHECK(carrying.poll().empty());
    carrying.agent.answer(0, KEY);
    CHECK(carrying.poll() == Seqs{ 5 });
    CHECK(carrying.server.posted.empty());
    CHECK(carrying.link->stats.carried == 1);
    CHECK(carrying.link->stats.order_fallbacks == 0);
}

TEST_CASE("carry: records that come meanwhile are in the next list, once", "[unit][agent]")
{
    Carrying carrying;

    REQUIRE(carrying.post({ carrying.record(0), Carrying::carry(1, 0, 1) }) == 2);
    REQUIRE(carrying.post({ carrying.record(1), Carrying::carry(2, 1, 2) }) == 2);
    REQUIRE(carrying.post({ carrying.record(2), Carrying::carry(3, 2, 3) }) == 2);
    CHECK(carrying.agent.fake.posted.size() == 1);
    carrying.agent.answer(0, KEY);
    CHECK(carrying.poll() == Seqs{ 1 });
    REQUIRE(carrying.agent.fake.posted.size() == 2);
    REQUIRE(carrying.carried().size() == 2);
    CHECK(carrying.carried()[0].offset == 64);
    CHECK(carrying.carried()[1].offset == 128);
    REQUIRE(carrying.agent.asked().size() == 1); // one question for both
    carrying.agent.answer(0, KEY);
    CHECK(carrying.poll() == Seqs{ 2, 3 });
    CHECK(carrying.server.posted.empty());
}

TEST_CASE("carry: what the answer does not certify, the link writes at once", "[unit][agent]")
{
    Carrying carrying;
    rpmi_op second = carrying.record(1);

    second.head = carrying.head;
    second.head_bytes = 8;
    second.body_bytes = 16;
    carrying.post({ carrying.record(0), Carrying::carry(1, 0, 1) });
    carrying.agent.answer(0, KEY);
    CHECK(carrying.poll() == Seqs{ 1 });
    carrying.post({ second, carrying.record(2), Carrying::carry(2, 1, 3) });
    memset(carrying.head, 0, sizeof(carrying.head)); // was borrowed for the post only
    carrying.agent.answer(64, KEY);                  // nothing of it
    CHECK(carrying.poll().empty());
    REQUIRE(carrying.kinds() == Kinds{ RPMI_OP_WRITE, RPMI_OP_WRITE, RPMI_OP_PERSIST });
    const rpmi_op &written = carrying.server.posted[0];
    CHECK(written.offset == second.offset);
    CHECK(written.len == 64);
    CHECK(memcmp(written.head, "headhead", 8) == 0);
    CHECK(written.body == second.body);
    CHECK(written.body_bytes == 16);
    CHECK(carrying.server.posted[2].len == 128);
    CHECK(carrying.poll() == Seqs{ 2 });
    CHECK(carrying.link->stats.order_fallbacks == 1);
    carrying.post({ carrying.record(3), Carrying::carry(3, 3, 4) }); // and goes on carrying
    CHECK(carrying.carried().size() == 1);
    carrying.agent.answer(0, KEY);
    CHECK(carrying.poll() == Seqs{ 3 });
}

TEST_CASE("carry: what is late is written, also what the agent was not sent yet", "[unit][agent]")
{
    Carrying carrying;

    carrying.post({ carrying.record(0), Carrying::carry(1, 0, 1) });
    carrying.post({ carrying.record(1), Carrying::carry(2, 1, 2) });
    carrying.pass(RPMI_ORDER_NS + 1000);
    CHECK(carrying.poll().empty());
    CHECK(carrying.kinds() ==
          Kinds{ RPMI_OP_WRITE, RPMI_OP_PERSIST, RPMI_OP_WRITE, RPMI_OP_PERSIST });
    CHECK(carrying.poll() == Seqs{ 1, 2 });
    CHECK(carrying.order()->agent.carried_bytes == 0);
    CHECK(carrying.order()->carry_used == 0);
    carrying.post({ carrying.record(2), Carrying::carry(3, 2, 3) }); // the agent is away
    CHECK(carrying.server.posted.size() == 6);
    CHECK(carrying.poll() == Seqs{ 3 });
}

TEST_CASE("carry: a queue that is full takes the WRITEs later", "[unit][agent]")
{
    Carrying carrying;

    carrying.post({ carrying.record(0), carrying.record(1), Carrying::carry(1, 0, 2) });
    carrying.agent.answer(64, KEY); // a part only
    carrying.server.take_most = 0;
    CHECK(carrying.poll().empty());
    CHECK(carrying.server.posted.empty());
    carrying.server.take_most = 1;
    CHECK(carrying.poll().empty());
    CHECK(carrying.kinds() == Kinds{ RPMI_OP_WRITE, RPMI_OP_WRITE, RPMI_OP_PERSIST });
    CHECK(carrying.poll() == Seqs{ 1 });
}

TEST_CASE("carry: an agent that lies gets no bytes any more, and may store none", "[unit][agent]")
{
    const uint64_t other[RPMI_CERTIFICATE_KEY_WORDS] = { 5, 6 };
    Carrying carrying;

    carrying.post({ carrying.record(0), Carrying::carry(1, 0, 1) });
    carrying.agent.answer(0, other);
    CHECK(carrying.poll().empty());
    CHECK(carrying.poll() == Seqs{ 1 });
    carrying.pass(2 * RPMI_AGENT_PAUSE_NS); // it is asked again, but not trusted with bytes
    size_t before = carrying.server.posted.size();
    carrying.post({ carrying.record(1), Carrying::carry(2, 1, 2) });
    CHECK(carrying.server.called.back().kind == RPMI_CALL_UNDELEGATE);
    CHECK(carrying.server.called.back().key == WRITE_KEY);
    REQUIRE(carrying.server.posted.size() == before + 1);
    CHECK(carrying.server.posted.back().kind == RPMI_OP_WRITE);
    CHECK(carrying.carried().empty());
    CHECK(carrying.agent.asked().size() == 1);
    size_t calls = carrying.server.called.size();
    carrying.seal();
    CHECK(carrying.server.called.size() == calls + 1); // it is not delegated again
}

TEST_CASE("carry: records that end the ring and begin it are two pieces", "[unit][agent]")
{
    Carrying carrying;
    rpmi_op first = carrying.record(62);
    rpmi_op second = carrying.record(0);
    rpmi_op end = Carrying::order_of(7, 62 * 64, 64 * 64, 0);
    rpmi_op begin = Carrying::carry(7, 64, 65);

    end.kind = RPMI_OP_CARRY;
    first.body_bytes = first.len = 24; // a pad frame
    begin.offset = RPMI_LOG_HEADER_BYTES;
    REQUIRE(carrying.post({ first, second, end, begin }) == 4);
    REQUIRE(carrying.carried().size() == 2);
    CHECK(carrying.carried()[0].offset == 62 * 64);
    CHECK(carrying.carried()[0].len == 24);
    CHECK(carrying.carried()[1].offset == 64 * 64);
    CHECK(carrying.carried()[1].len == 64);
    carrying.agent.answer(0, KEY);
    CHECK(carrying.poll() == Seqs{ 7 });
}

TEST_CASE("carry: what it cannot carry whole, it writes and orders", "[unit][agent]")
{
    Carrying carrying;
    rpmi_op large = carrying.record(0);
    std::vector<unsigned char> bytes(RPMI_STEPS_BYTES);

    SECTION("a record that no list has room for")
    {
        large.len = large.body_bytes = RPMI_CARRIED_BYTES - RPMI_CARRY_HEAD_BYTES + 1;
        large.body = bytes.data();
        carrying.post({ large, Carrying::carry(1, 0, 64) });
    }
    SECTION("records of which some were posted before")
    {
        carrying.post({ carrying.record(0) });
        carrying.post({ carrying.record(1), Carrying::carry(1, 0, 2) });
    }
    SECTION("a WRITE that is to be reported")
    {
        large.flags = RPMI_OP_SIGNALED;
        carrying.post({ large, Carrying::carry(1, 0, 1) });
    }
    SECTION("a WRITE to another object")
    {
        large.key = READ_KEY;
        carrying.post({ large, Carrying::carry(1, 0, 1) });
    }
    SECTION("an ORDER")
    {
        carrying.post({ large, Carrying::order_of(1, 0, 64) });
    }
    SECTION("a claim that was not delegated")
    {
        carrying.order()->agent.claimed[WRITE_KEY].delegated = false;
        carrying.post({ large, Carrying::carry(1, 0, 1) });
    }
    CHECK(carrying.carried().empty());
    CHECK(carrying.agent.asked().size() == 1);
    CHECK(!carrying.server.posted.empty());
    CHECK(carrying.link->stats.carried == 0);
}

TEST_CASE("carry: after a reconnect nothing of before is carried", "[unit][agent]")
{
    Carrying carrying;

    carrying.post({ carrying.record(0), Carrying::carry(1, 0, 1) });
    carrying.post({ carrying.record(1), Carrying::carry(2, 1, 2) });
    CHECK(carrying.order()->agent.carried_steps == 1);
    CHECK(carrying.link->ops->reconnect(carrying.link, 0) == 0);
    CHECK(carrying.order()->agent.carried_bytes == 0);
    CHECK(carrying.order()->carry_used == 0);
    CHECK((carrying.link->facts.methods & 1u << RPM_METHOD_CARRY) != 0);
}
