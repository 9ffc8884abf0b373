// SPDX-License-Identifier: BSD-3-Clause
// Who fulfils an ORDER, by what agent and server take: a closed loop of writers over one server CPU
// and one agent, on a clock of the test.
#include "support/death.h"
#include "unit/transport/wrap/ordered.h"

#include <functional>
#include <memory>

using Kinds = std::vector<uint8_t>;

namespace
{

const uint64_t HOP_NS = 1000;
const uint64_t HOLD_NS = 20000; // RPMI_UPSTREAM_HOLD_NS

// What the machines of one world take.
struct World {
    uint64_t now_ns = 390000000; // writers try the agent at 400 ms
    uint64_t message_ns = 2000;  // of the server CPU, for a message
    uint64_t prove_ns = 100;     // more for each PROVE of a list
    uint64_t agent_ns = 0;       // that the agent waits before it sends a list on
    bool agent_hangs = false;
    uint64_t cpu_free_ns = 0;
    uint64_t agent_free_ns = 0;
    size_t expected = 0; // lists that the agent took on before
    uint64_t messages = 0;

    World() = default;
    World(const World &) = delete;

    // When the server CPU has done what arrives at @arrives_ns.
    uint64_t serve(uint64_t arrives_ns, uint64_t takes_ns)
    {
        messages++;
        cpu_free_ns = std::max(cpu_free_ns, arrives_ns) + takes_ns;
        return cpu_free_ns;
    }
};

// A writer: one ORDER at a time.
struct Writer {
    World &world;
    Ordered ordered;
    rpmi_transport_ops server_ops = *fake_ops();
    rpmi_transport_ops agent_ops;
    std::deque<uint64_t> due_ns; // of the completions that the server's link owes
    bool asked = false;          // the agent has its list, and has not taken it on
    uint64_t asked_ns = 0;
    uint64_t answer_ns = UINT64_MAX;
    uint64_t stepped_ns = 0;
    uint64_t look_ns = 0;
    uint64_t lsn = 0;
    uint64_t began_ns = 0;
    uint64_t appends = 0;
    uint64_t slowest_ns = 0;
    bool busy = false;

    Writer(World &in, bool orders, const rpmi_calibration &calibration)
        : world(in), ordered(5000000, orders, nullptr, calibration)
    {
        // The fakes are the first members of what holds them, so the writer is found by its links.
        by_link()[&ordered.server.link] = this;
        by_link()[&ordered.agent.fake.link] = this;
        server_ops.now_ns = [](rpmi_link *link) { return of(link)->world.now_ns; };
        server_ops.post = [](rpmi_link *link, const rpmi_op *ops, uint32_t n) {
            Writer *ours = of(link);
            int taken = fake_post(link, ops, n);

            for (int i = 0; i < taken; i++)
                if ((ops[i].flags & RPMI_OP_SIGNALED) != 0)
                    ours->due_ns.push_back(ours->ends(ops[i].kind));
            return taken;
        };
        server_ops.poll = [](rpmi_link *link, rpmi_done *done, uint32_t) {
            Writer *ours = of(link);

            if (ours->due_ns.empty() || ours->world.now_ns < ours->due_ns.front())
                return 0;
            ours->due_ns.pop_front();
            return fake_poll(link, done, 1);
        };
        ordered.server.link.ops = &server_ops;
        agent_ops = ordered.agent.ops;
        agent_ops.post = [](rpmi_link *link, const rpmi_op *ops, uint32_t n) {
            of(link)->asked = true;
            of(link)->asked_ns = of(link)->world.now_ns;
            return fake_post(link, ops, n);
        };
        agent_ops.poll = [](rpmi_link *link, rpmi_done *done, uint32_t n) {
            Writer *ours = of(link);

            if (ours->world.now_ns < ours->answer_ns)
                return 0;
            ours->answer_ns = UINT64_MAX;
            ours->ordered.agent.answer(0, KEY);
            return fake_poll(link, done, n);
        };
        ordered.agent.fake.link.ops = &agent_ops;
    }
    Writer(const Writer &) = delete;
    ~Writer()
    {
        by_link().erase(&ordered.server.link);
        by_link().erase(&ordered.agent.fake.link);
    }
    static std::map<rpmi_link *, Writer *> &by_link()
    {
        static std::map<rpmi_link *, Writer *> all;

        return all;
    }
    static Writer *of(rpmi_link *link)
    {
        return by_link().at(link);
    }
    // When something comes to it; it looks again after a while in any case.
    uint64_t next_ns() const
    {
        uint64_t due = due_ns.empty() ? UINT64_MAX : due_ns.front();

        return std::min({ due, answer_ns > stepped_ns ? answer_ns : UINT64_MAX, look_ns });
    }
    uint64_t ends(uint8_t kind)
    {
        if (kind == RPMI_OP_WRITE)
            return world.now_ns + 2 * HOP_NS;
        return world.serve(world.now_ns + HOP_NS, world.message_ns) + HOP_NS;
    }
    // When the agent may take its list on.
    uint64_t taken_on_ns() const
    {
        uint64_t at_ns = std::max(asked_ns + HOP_NS + world.agent_ns, world.agent_free_ns);

        return at_ns > world.now_ns ? at_ns : world.agent_free_ns + HOLD_NS;
    }
    void step()
    {
        if (busy && !ordered.poll().empty()) {
            busy = false;
            appends++;
            slowest_ns = std::max(slowest_ns, world.now_ns - began_ns);
        }
        if (busy)
            return;
        began_ns = world.now_ns;
        busy = true;
        ordered.server.posted.clear();
        if (ordered.post({ Ordered::write(lsn), Ordered::order_of(lsn, lsn, lsn + 64) }) != 2)
            FAIL("not taken");
        lsn += 64;
    }
};

// The agent takes on all lists that have arrived, and has one outstanding at a time. It waits for a
// while until as many have arrived as before.
void run_agent(World &world, std::vector<std::unique_ptr<Writer>> &writers)
{
    std::vector<Writer *> taken;

    if (world.now_ns < world.agent_free_ns || world.agent_hangs)
        return;
    for (auto &writer : writers)
        if (writer->asked && writer->asked_ns + HOP_NS + world.agent_ns <= world.now_ns)
            taken.push_back(writer.get());
    if (taken.empty())
        return;
    if (taken.size() < world.expected && world.now_ns < world.agent_free_ns + HOLD_NS)
        return;
    world.expected = taken.size();
    world.agent_free_ns =
        world.serve(world.now_ns + HOP_NS, world.message_ns + world.prove_ns * taken.size()) +
        HOP_NS;
    for (Writer *writer : taken) {
        writer->asked = false;
        writer->answer_ns = world.agent_free_ns + HOP_NS;
    }
}

struct Loop {
    World world;
    std::vector<std::unique_ptr<Writer>> writers;

    explicit Loop(size_t n, bool orders = false, const rpmi_calibration &calibration = {})
    {
        for (size_t i = 0; i < n; i++)
            writers.push_back(std::make_unique<Writer>(world, orders, calibration));
    }
    uint64_t sum(const std::function<uint64_t(Writer &)> &of)
    {
        uint64_t all = 0;

        for (auto &writer : writers)
            all += of(*writer);
        return all;
    }
    uint64_t appends()
    {
        return sum([](Writer &writer) { return writer.appends; });
    }
    uint64_t by_server()
    {
        return sum([](Writer &writer) {
            return writer.ordered.server.link.stats.order_server +
                   writer.ordered.server.link.stats.order_fallbacks;
        });
    }
    // Appends a microsecond during @ns.
    double run(uint64_t ns)
    {
        uint64_t until_ns = world.now_ns + ns;
        uint64_t before = appends();

        for (auto &writer : writers)
            writer->slowest_ns = 0;
        while (world.now_ns < until_ns) {
            uint64_t next_ns = UINT64_MAX;

            run_agent(world, writers);
            for (auto &writer : writers) {
                if (writer->next_ns() <= world.now_ns) {
                    writer->step();
                    writer->stepped_ns = world.now_ns;
                    writer->look_ns = world.now_ns + 10000;
                }
                next_ns = std::min(next_ns, writer->next_ns());
                if (writer->asked && !world.agent_hangs)
                    next_ns = std::min(next_ns, writer->taken_on_ns());
            }
            world.now_ns = std::max(world.now_ns + 1, next_ns);
        }
        return static_cast<double>(appends() - before) / (static_cast<double>(ns) / 1000);
    }
    // The part of the appends during @ns that the agent fulfils.
    double agent_share(uint64_t ns)
    {
        uint64_t all = appends();
        uint64_t server = by_server();

        run(ns);
        return 1 - static_cast<double>(by_server() - server) / static_cast<double>(appends() - all);
    }
    void forget_agent()
    {
        for (auto &writer : writers)
            rpmi_agent_forget(&writer->ordered.order()->agent);
    }
};

// The rate of writers for which the server does it all: their agent knows of no claim.
double rate_without(size_t writers, uint64_t ns)
{
    Loop loop(writers);

    loop.forget_agent();
    loop.run(ns / 10);
    return loop.run(ns);
}

// A calibration for all sizes.
rpmi_calibration estimates(uint64_t agent_ns, uint64_t server_ns)
{
    rpmi_calibration made = {};

    std::fill(std::begin(made.agent_ns), std::end(made.agent_ns), agent_ns);
    std::fill(std::begin(made.server_ns), std::end(made.server_ns), server_ns);
    return made;
}

} // namespace

TEST_CASE("choose: with sixteen writers and a good agent, the agent is asked", "[unit]")
{
    Loop loop(16);
    Loop always(16, true);

    loop.run(20000000);
    CHECK(loop.agent_share(5000000) > 0.9);
    uint64_t messages = loop.world.messages;
    double rate = loop.run(5000000);
    always.run(1000000);
    CHECK(rate > 0.9 * always.run(5000000)); // the best in hindsight
    CHECK(rate > 2 * rate_without(16, 5000000));
    CHECK(static_cast<double>(loop.world.messages - messages) < 0.25 * rate * 5000);
}

TEST_CASE("choose: with one writer, whose order takes two hops more, the server is asked", "[unit]")
{
    Loop loop(1);

    loop.run(1000000);
    CHECK(loop.agent_share(20000000) < 0.15); // a trial of 2 ms
    CHECK(loop.run(10000000) > 0.97 * rate_without(1, 10000000));
}

TEST_CASE("choose: an agent that is two milliseconds away costs the probes", "[unit]")
{
    for (size_t writers : { 1, 16 }) {
        Loop loop(writers);

        loop.world.agent_ns = 2000000;
        double rate = loop.run(50000000);
        CAPTURE(writers);
        CHECK(rate * 1.05 > rate_without(writers, 50000000)); // from the first append on
        CHECK(loop.sum([](Writer &writer) { return writer.slowest_ns; }) < writers * 100000);
        CHECK(loop.sum([](Writer &writer) {
            return writer.ordered.server.link.stats.order_probes;
        }) >= writers);
        // Its time is known to an eighth, though nothing waits for it.
        for (auto &writer : loop.writers) {
            uint64_t mean_ns = writer->ordered.order()->mean_ns[0];
            CHECK(mean_ns > 2000000);
            CHECK(mean_ns < 2500000);
        }
    }
}

TEST_CASE("choose: an agent that never answers costs nothing, and is left alone", "[unit]")
{
    Loop loop(1);

    loop.world.agent_hangs = true;
    double rate = loop.run(300000000);
    CHECK(rate * 1.01 > rate_without(1, 300000000));
    CHECK(loop.writers[0]->slowest_ns < 10000);
    CHECK(loop.writers[0]->ordered.server.link.stats.order_probes == 1);
    CHECK(loop.writers[0]->ordered.server.link.stats.order_fallbacks > 0); // since it is away
}

TEST_CASE("choose: an agent that becomes slow is left, and asked again once it is fast", "[unit]")
{
    Loop loop(8);

    loop.world.message_ns = 20000;
    loop.world.prove_ns = 1000;
    loop.run(20000000);
    REQUIRE(loop.agent_share(20000000) > 0.9);
    loop.world.agent_ns = 5000000;
    loop.run(100000000);
    CHECK(loop.agent_share(20000000) < 0.01);
    loop.world.agent_ns = 0;
    double share = 0;
    for (int i = 0; i < 10 && share < 0.9; i++) {
        loop.run(200000000);
        share = loop.agent_share(20000000);
    }
    CHECK(share > 0.9);
}

TEST_CASE("choose: with a calibration the faster one is asked from the first ORDER on", "[unit]")
{
    Loop loop(16, false, estimates(12000, 32000));
    Loop without(16);

    double rate = loop.run(1000000);
    CHECK(rate > 2 * without.run(1000000)); // which learns only when all writers try the agent
    CHECK(loop.by_server() * 20 < loop.appends());
    CHECK(loop.sum([](Writer &writer) { return writer.ordered.server.link.stats.order_probes; }) ==
          0);

    Loop alone(1, false, estimates(9000, 4000));
    alone.run(200000);
    CHECK(alone.by_server() == alone.appends() + 1); // one is outstanding
    CHECK(alone.writers[0]->ordered.server.link.stats.order_probes == 0);
}

TEST_CASE("choose: a wrong calibration is corrected by what is measured", "[unit]")
{
    Loop alone(1, false, estimates(1, RPMI_SELECT_GIVEN_MAX));
    Loop loop(16, false, estimates(RPMI_SELECT_GIVEN_MAX, 1));

    alone.run(250000000); // until a writer tries the server, and is told what it takes
    CHECK(alone.agent_share(20000000) < 0.15);
    loop.run(20000000); // in which all writers have tried the agent
    CHECK(loop.agent_share(5000000) > 0.9);
}

TEST_CASE("choose: no calibration makes an ORDER wait for longer than without", "[unit]")
{
    for (uint64_t agent_ns : { uint64_t{ 1 }, uint64_t{ 20000 }, uint64_t{ 1000000000 } }) {
        rpmi_calibration given = estimates(agent_ns, RPMI_SELECT_GIVEN_MAX);
        Loop hung(1, false, given);
        Ordered fresh(5000000, false, nullptr, given);

        hung.world.agent_hangs = true;
        hung.run(50000000);
        CAPTURE(agent_ns);
        CHECK(hung.appends() > 1000);
        CHECK(hung.writers[0]->slowest_ns <=
              (agent_ns < 1000000 ? 1100000 : RPMI_ORDER_NS + 100000));
        for (uint32_t i = 0; i < RPMI_SELECT_CLASSES; i++)
            CHECK(rpmi_order_patience_ns(fresh.order(), i) <= RPMI_ORDER_NS);
        CHECK(rpmi_order_give_up_ns(fresh.order()) == RPMI_ORDER_NS);
    }
}

TEST_CASE("choose: the same run chooses the same", "[unit]")
{
    Loop one(16);
    Loop other(16);

    one.run(5000000);
    other.run(5000000);
    CHECK(one.appends() == other.appends());
    CHECK(one.by_server() == other.by_server());
    CHECK(one.by_server() > 0);
}

TEST_CASE("choose: insisted on, the agent is asked every time", "[unit]")
{
    Loop loop(1, true);

    loop.world.agent_ns = 200000;
    loop.run(20000000);
    CHECK(loop.by_server() == 0);
    CHECK(loop.writers[0]->ordered.server.link.stats.order_probes == 0);
}

TEST_CASE("choose: the server copies what it is to make durable, if that is all of it", "[unit]")
{
    Ordered ordered(5000000, false);
    auto at = [](uint64_t id, uint64_t lsn, uint64_t len) {
        rpmi_op op = Ordered::write(id);

        op.offset = RPMI_LOG_HEADER_BYTES + lsn % 4096;
        op.len = len;
        return op;
    };
    auto next = [&](const std::vector<rpmi_op> &ops) {
        ordered.server.posted.clear();
        CHECK(ordered.post(ops) == static_cast<int>(ops.size()));
        while (!ordered.server.done.empty())
            (void)ordered.poll();
        return ordered.kinds();
    };

    ordered.order()->wrap.link.facts.methods |= 1u << RPM_METHOD_COPY;
    ordered.server.link.facts.methods |= 1u << RPM_METHOD_COPY;
    rpmi_agent_forget(&ordered.order()->agent);
    CHECK(next({ at(7, 0, 64), at(7, 64, 128), Ordered::order_of(7, 0, 192) }) ==
          Kinds{ RPMI_OP_COPY, RPMI_OP_COPY });
    CHECK(ordered.server.posted[0].flags == RPMI_OP_DURABLE);
    CHECK(ordered.server.posted[1].flags == (RPMI_OP_DURABLE | RPMI_OP_SIGNALED));
    CHECK(ordered.server.posted[1].id == 7);
    // Around the end of the ring.
    CHECK(next({ at(8, 4032, 64), at(8, 4096, 64), Ordered::order_of(8, 4032, 4096, 0),
                 Ordered::order_of(8, 4096, 4160) }) == Kinds{ RPMI_OP_COPY, RPMI_OP_COPY });
    // Records that were posted before, a gap, another key, and a record too many.
    CHECK(next({ at(9, 256, 64), Ordered::order_of(9, 192, 320) }) ==
          Kinds{ RPMI_OP_WRITE, RPMI_OP_PERSIST });
    CHECK(next({ at(9, 320, 64), Ordered::order_of(9, 320, 448) }) ==
          Kinds{ RPMI_OP_WRITE, RPMI_OP_PERSIST });
    CHECK(next({ at(9, 448, 32), at(9, 512, 64), Ordered::order_of(9, 448, 576) }) ==
          Kinds{ RPMI_OP_WRITE, RPMI_OP_WRITE, RPMI_OP_PERSIST });
    rpmi_op other = at(9, 576, 64);
    other.key = 44;
    CHECK(next({ other, Ordered::order_of(9, 576, 640) }) ==
          Kinds{ RPMI_OP_WRITE, RPMI_OP_PERSIST });
    CHECK(next({ at(9, 640, 64), at(9, 704, 64), Ordered::order_of(9, 640, 704) }) ==
          Kinds{ RPMI_OP_WRITE, RPMI_OP_WRITE, RPMI_OP_PERSIST });
    CHECK(next({ Ordered::order_of(9, 704, 768) }) == Kinds{ RPMI_OP_PERSIST });
}

TEST_CASE("choose: the agent is not asked about half of what the server flushes", "[unit]")
{
    Ordered ordered(5000000, false);
    rpmi_op first = Ordered::order_of(7, 4032, 4096, 0);
    rpmi_op second = Ordered::order_of(7, 4096, 4160);

    rpmi_agent_late(&ordered.order()->agent, ordered.server.now_ns); // so the server does it
    ordered.server.take_most = 2;
    CHECK(ordered.post({ Ordered::write(7), first, second }) == 2);
    CHECK(ordered.kinds() == Kinds{ RPMI_OP_WRITE, RPMI_OP_PERSIST });
    ordered.always = true; // the agent would certify the second piece alone
    ordered.order()->agent.away_until_ns = 0;
    CHECK(ordered.post({ second }) == 1);
    CHECK(ordered.kinds() == Kinds{ RPMI_OP_WRITE, RPMI_OP_PERSIST, RPMI_OP_PERSIST });
    CHECK(ordered.agent.fake.posted.empty());
    CHECK(ordered.poll() == std::vector<uint64_t>{ 7 });
    CHECK(ordered.post({ Ordered::order_of(8, 4160, 4224) }) == 1); // only about that one
    CHECK(ordered.agent.asked().size() == 1);
}

TEST_CASE("choose: how long an ORDER waits follows what the agent has taken", "[unit]")
{
    Ordered ordered;
    rpmi_order *order = ordered.order();

    CHECK(rpmi_order_patience_ns(order, 0) == RPMI_ORDER_NS);
    order->mean_ns[0] = 10000;
    CHECK(rpmi_order_patience_ns(order, 0) == RPMI_ORDER_LEAST_NS);
    CHECK(rpmi_order_patience_ns(order, 1) == RPMI_ORDER_NS); // not measured for such sizes
    order->mean_ns[0] = 500000;
    CHECK(rpmi_order_patience_ns(order, 0) == 4000000);
    order->mean_ns[0] = 20000000; // another continent
    CHECK(rpmi_order_patience_ns(order, 0) == 80000000);
    CHECK(rpmi_order_give_up_ns(order) == 80000000);
    order->mean_ns[0] = 3000000000;
    CHECK(rpmi_order_patience_ns(order, 0) == 2500000000); // half of the connection's timeout
    order->mean_ns[0] = 0;
    order->agent.setup_ns = 50000000; // one that took long to connect to takes long to answer
    CHECK(rpmi_order_patience_ns(order, 0) == 200000000);
    CHECK(rpmi_order_dial_ns(order) == 200000000);
    order->agent.setup_ns = 1000;
    CHECK(rpmi_order_dial_ns(order) == RPMI_ORDER_DIAL_NS);
}

TEST_CASE("choose: a late ORDER is persisted soon, and the agent given up later", "[unit]")
{
    Ordered ordered;
    uint64_t lsn = 0;
    int asked = 0;

    ordered.order()->mean_ns[0] = 10000;
    for (; ordered.order()->agent.away_until_ns == 0 && asked < 100; asked++, lsn += 64) {
        ordered.post({ Ordered::write(lsn), Ordered::order_of(lsn, lsn, lsn + 64) });
        CHECK(ordered.poll().empty());
        ordered.pass(RPMI_ORDER_LEAST_NS + 1000);
        (void)ordered.poll();
        CHECK(ordered.kinds().back() == RPMI_OP_PERSIST);
        CHECK(ordered.poll() == std::vector<uint64_t>{ lsn });
    }
    CHECK(asked == 10); // RPMI_ORDER_NS
}

TEST_CASE("choose: an agent that answers, and certifies nothing, is given up as soon", "[unit]")
{
    Ordered ordered;
    uint64_t lsn = 64;
    int asked = 0;

    ordered.order()->mean_ns[0] = 10000;
    for (; ordered.order()->agent.away_until_ns == 0 && asked < 100; asked++, lsn += 64) {
        ordered.post({ Ordered::write(lsn), Ordered::order_of(lsn, lsn, lsn + 64) });
        ordered.agent.answer(lsn, KEY);
        CHECK(ordered.poll().empty());
        ordered.pass(RPMI_ORDER_LEAST_NS + 1000);
        (void)ordered.poll();
        CHECK(ordered.poll() == std::vector<uint64_t>{ lsn });
        ordered.agent.fake.done.clear();
        ordered.agent.fake.outstanding = 0;
        ordered.order()->agent.asks = 0; // what it answers late says nothing either
    }
    CHECK(asked == 10);
}

TEST_CASE("choose: a probe ends with the claim, and with the connection", "[unit]")
{
    Ordered ordered(5000000, false);
    rpmi_order *order = ordered.order();

    ordered.post({ Ordered::write(1), Ordered::order_of(1, 0, 64) });
    REQUIRE(order->probe.active);
    CHECK(ordered.poll() == std::vector<uint64_t>{ 1 });
    rpmi_agent_forget(&order->agent);
    ordered.agent.answer(0, KEY);
    CHECK(ordered.poll().empty());
    CHECK_FALSE(order->probe.active);
    CHECK(order->select.outstanding[RPMI_WAY_AGENT] == 0);
    ordered.learn(RPMI_CALL_OPEN, 0, READ_KEY);
    ordered.learn(RPMI_CALL_CLAIM, READ_KEY, WRITE_KEY);
    ordered.post({ Ordered::write(2), Ordered::order_of(2, 64, 128) });
    REQUIRE(order->probe.active);
    CHECK(ordered.link->ops->reconnect(ordered.link, 0) == 0);
    CHECK_FALSE(order->probe.active);
    CHECK(order->select.outstanding[RPMI_WAY_AGENT] == 0);
    CHECK(order->select.outstanding[RPMI_WAY_SERVER] == 0);
}

TEST_CASE("choose: a way that does not give the promise is no alternative", "[unit]")
{
    CHECK_FALSE(death_of([] {
                    Ordered ordered(5000000, false);

                    ordered.order()->wrap.link.facts.domain = RPM_DOMAIN_NONE;
                    ordered.post({ Ordered::write(1), Ordered::order_of(1, 0, 64) });
                }).empty());
    CHECK_FALSE(death_of([] {
                    Ordered ordered(5000000, false);

                    ordered.order()->wrap.link.facts.medium = RPM_MEDIUM_FILE; // not of ADR
                    ordered.post({ Ordered::write(1), Ordered::order_of(1, 0, 64) });
                }).empty());
}
