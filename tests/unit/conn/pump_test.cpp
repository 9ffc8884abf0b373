// SPDX-License-Identifier: BSD-3-Clause
#include "support/loop.h"
#include "support/rounds.h"

using namespace loop;

namespace
{

// An owner that records its completions.
struct Owner {
    rpmi_owner owner; // first
    std::vector<std::pair<uint64_t, int>> heard;
    std::vector<int> losses;

    Owner() : owner{}
    {
        owner.complete = [](rpmi_owner *self, uint64_t seq, int status) {
            reinterpret_cast<Owner *>(self)->heard.push_back({ seq, status });
        };
        owner.lost = [](rpmi_owner *self, int status) {
            reinterpret_cast<Owner *>(self)->losses.push_back(status);
        };
    }
};

struct Pumped {
    Server server;
    Conn conn;
    Owner one;
    Owner two;

    explicit Pumped(const rpm_conn_opts *opts = nullptr) : conn(server, queued(), opts)
    {
        REQUIRE(rpmi_conn_join(conn, &one.owner) == 0);
        REQUIRE(rpmi_conn_join(conn, &two.owner) == 0);
    }
    ~Pumped()
    {
        for (Owner *owner : { &one, &two }) {
            rpmi_conn_drain(conn, &owner->owner);
            rpmi_conn_leave(conn, &owner->owner);
        }
    }
    // Reads of the scratch line: harmless ops.
    int post(Owner &owner, uint64_t seq, uint32_t n = 1, uint8_t last = RPMI_OP_SIGNALED,
             uint32_t wait_at = UINT32_MAX)
    {
        std::vector<rpmi_op> ops(n);

        for (uint32_t i = 0; i < n; i++) {
            ops[i].kind = RPMI_OP_READ;
            ops[i].len = 8;
            ops[i].into = conn.conn->word;
            ops[i].flags = i == wait_at ? RPMI_OP_WAIT : 0;
        }
        ops[n - 1].flags |= last;
        return rpmi_conn_post(conn, &owner.owner, ops.data(), n, seq);
    }
};

using Heard = std::vector<std::pair<uint64_t, int>>;

} // namespace

TEST_CASE("pump: a completion finds its owner", "[unit]")
{
    Pumped pumped;

    pumped.conn.link->manual = true;
    REQUIRE(pumped.post(pumped.one, 1) == 0);
    REQUIRE(pumped.post(pumped.two, 1) == 0);
    REQUIRE(pumped.post(pumped.one, 2) == 0);
    for (int i = 0; i < 3; i++)
        pumped.conn.link->step();
    CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.one.heard.empty());
    pumped.conn.link->hold = 2;
    CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.one.heard == Heard{ { 1, 0 } });
    CHECK(pumped.two.heard == Heard{ { 1, 0 } });
    pumped.conn.link->hold = 5;
    CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.one.heard.size() == 2);
    CHECK(pumped.conn.conn->credit.used == 0);
}

TEST_CASE("pump: a drain waits for the ops of its owner, or for the loss", "[unit]")
{
    Pumped pumped;

    pumped.conn.link->manual = true;
    REQUIRE(pumped.post(pumped.one, 1) == 0);
    REQUIRE(pumped.post(pumped.one, 2) == 0);
    REQUIRE(pumped.post(pumped.two, 1) == 0);
    rpmi_conn_drain(pumped.conn, &pumped.one.owner);
    CHECK(pumped.one.heard == Heard{ { 1, 0 }, { 2, 0 } });
    CHECK(pumped.two.heard.empty());
    REQUIRE(pumped.post(pumped.one, 3, 2, 0) == 0); // no completion of its own
    rpmi_conn_drain_all(pumped.conn);
    CHECK(pumped.two.heard == Heard{ { 1, 0 } });
    CHECK(pumped.conn.link->flight.empty());
    REQUIRE(pumped.post(pumped.one, 3) == 0);
    pumped.conn.link->faults.lose_op = 1;
    rpmi_conn_drain(pumped.conn, &pumped.one.owner);
    CHECK(pumped.two.heard == Heard{ { 1, 0 } });
    CHECK(pumped.one.losses.size() == 1);
    CHECK(pumped.one.owner.due == 0);
}

TEST_CASE("pump: credits run out and come back, and a run without completions gets one", "[unit]")
{
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.depth = 100;
    Pumped pumped(&opts);
    uint32_t posted = 0;
    while (pumped.post(pumped.one, posted + 1, 1, 0) == 0)
        REQUIRE(++posted < 200);
    CHECK(posted == 98);
    CHECK(pumped.conn.conn->due_count == 1); // the request that the pump added
    CHECK(pumped.post(pumped.two, 1) == RPM_E_BUSY);
    CHECK(pumped.conn.conn->due_count == 1);
    for (int i = 0; i < 200; i++)
        CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.conn.conn->credit.used == 0);
    CHECK(pumped.one.heard.empty()); // its owner has posted nothing
    CHECK(pumped.post(pumped.two, 1) == 0);
}

TEST_CASE("pump: the largest post goes out at the smallest depth", "[unit]")
{
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.depth = 64;
    Pumped pumped(&opts);
    CHECK(pumped.post(pumped.one, 1, RPMI_BATCH_OPS_MAX) == 0);
    for (int i = 0; i < 100; i++)
        CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.one.heard == Heard{ { 1, 0 } });
}

TEST_CASE("pump: a throttle holds back while a completion is to come, and only then", "[unit]")
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    struct rpm_conn_stats stats = rpm_conn_stats_init();

    opts.pace = RPM_PACE_THROTTLE;
    Pumped pumped(&opts);
    pumped.conn.link->manual = true;
    REQUIRE(rpm_conn_stats(pumped.conn, &stats) == 0);
    CHECK(stats.throttle_limit == RPMI_THROTTLE_LIMIT_MIN);
    REQUIRE(pumped.post(pumped.one, 1, 8) == 0);
    CHECK(pumped.post(pumped.two, 1) == RPM_E_BUSY);
    CHECK(pumped.conn.conn->credit.used == 8);
    REQUIRE(rpm_conn_stats(pumped.conn, &stats) == 0);
    CHECK(stats.throttle_held == 1);
    while (pumped.conn.link->step())
        ;
    pumped.conn.link->hold = 1;
    CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.one.heard == Heard{ { 1, 0 } });
    // A post above the limit goes alone, when nothing else is outstanding.
    CHECK(pumped.post(pumped.two, 1, 2) == 0);
    CHECK(pumped.post(pumped.one, 2, RPMI_BATCH_OPS_MAX) == RPM_E_BUSY);
    while (pumped.conn.link->step())
        ;
    pumped.conn.link->hold = 1;
    CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.post(pumped.one, 2, RPMI_BATCH_OPS_MAX) == 0);
    while (pumped.conn.link->step())
        ;
    pumped.conn.link->hold = 1;
    CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.one.heard.back() == std::make_pair(uint64_t(2), 0));
    // The link must not hold requests without completions back: no completion would follow them.
    for (uint64_t seq = 3; seq < 60; seq++)
        REQUIRE(pumped.post(pumped.one, seq, 1, 0) == 0);
    CHECK(pumped.post(pumped.one, 60) == 0);
    CHECK(pumped.post(pumped.one, 61) == RPM_E_BUSY);
}

TEST_CASE("pump: a throttled connection still ends at its depth", "[unit]")
{
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.pace = RPM_PACE_THROTTLE;
    opts.depth = 100;
    Pumped pumped(&opts);
    uint32_t posted = 0;
    while (pumped.post(pumped.one, posted + 1, 1, 0) == 0)
        REQUIRE(++posted < 200);
    CHECK(posted == 98);
    CHECK(pumped.conn.conn->due_count == 1); // the nudge
    for (int i = 0; i < 200; i++)
        CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.conn.conn->credit.used == 0);
    CHECK(pumped.conn.conn->throttle.posted == 99);
}

TEST_CASE("pump: a throttle finds that its load needs none, and starts over with the link",
          "[unit]")
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    uint64_t seq = 0;

    opts.pace = RPM_PACE_THROTTLE;
    Pumped pumped(&opts);
    while (pumped.conn.conn->throttle.epochs_left == 0) {
        REQUIRE(pumped.post(pumped.one, ++seq, 2) == 0);
        while (pumped.one.heard.size() < seq)
            REQUIRE(rpmi_conn_pump(pumped.conn) == 0);
        REQUIRE(seq < 100000);
    }
    REQUIRE(rpm_conn_stats(pumped.conn, &stats) == 0);
    CHECK(stats.throttle_limit == 256);
    CHECK(stats.throttle_changes == 2);
    CHECK(stats.throttle_held == 0);
    pumped.conn.link->manual = true;
    REQUIRE(pumped.post(pumped.one, ++seq, 30) == 0);
    REQUIRE(rpm_conn_reconnect(pumped.conn) == 0); // drops these 30
    REQUIRE(rpm_conn_stats(pumped.conn, &stats) == 0);
    CHECK(stats.throttle_limit == RPMI_THROTTLE_LIMIT_MIN);
    pumped.conn.link->manual = false;
    REQUIRE(pumped.post(pumped.one, ++seq, 2) == 0);
    for (int i = 0; i < 10; i++)
        REQUIRE(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.conn.conn->credit.used == 0);
    CHECK(pumped.conn.conn->throttle.posted == 2 * (seq - 1));
}

TEST_CASE("pump: without a throttle its counters stay 0, also where there is nothing to throttle",
          "[unit]")
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    Setup setup = GENERATE(synchronous(), queued());
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    Server server;

    opts.pace = setup.synchronous ? RPM_PACE_THROTTLE : 0;
    Conn conn(server, setup, &opts);
    Log log(conn, "a", WRITER);
    append(log, "x");
    REQUIRE(rpm_conn_stats(conn, &stats) == 0);
    CHECK(stats.throttle_limit == 0);
    CHECK(stats.throttle_changes == 0);
    CHECK(stats.throttle_held == 0);
}

TEST_CASE("pump: throttled appends of every size, batches and runs all end", "[unit]")
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    Server server(8u << 20);
    uint64_t submitted = 0;
    uint64_t completed = 0;

    opts.pace = RPM_PACE_THROTTLE;
    opts.depth = GENERATE(64u, 256u);
    Conn conn(server, queued(), &opts);
    Log log(conn, "a", WRITER, 4u << 20);
    std::string large =
        payload(1, rpm_log_record_max(log) < 1u << 20 ? rpm_log_record_max(log) : 1u << 20);
    std::vector<rpm_slice> batch(250, rpm_slice{ large.data(), 50 });

    append(log, large);
    REQUIRE(rpm_log_append_batch(log, batch.data(), 250, nullptr) == 0);
    for (int i = 0; i < 3000; i++) {
        rpm_completion done[64];
        int err = append_async(log, "some bytes", 1, i % 17 != 0 ? RPM_MORE : 0);

        REQUIRE((err == 0 || err == RPM_E_BUSY));
        submitted += err == 0;
        int n = rpm_log_poll(log, done, i % 64 + 1);
        REQUIRE(n >= 0);
        completed += static_cast<uint64_t>(n);
    }
    REQUIRE(rpm_log_persist(log) == 0);
    completed += reap(log, submitted - completed).size();
    CHECK(completed == submitted);
    CHECK(submitted > 300);
    append(log, large);
}

TEST_CASE("pump: a link too small for a post is refused at once", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    rpm_conn *second = nullptr;
    rpmi_link_opts small = {};

    small.depth = 65;
    small.staging_bytes = 1 << 20;
    Link *link = new Link(&server, queued(), small);
    server.links.push_back(link);
    CHECK(rpmi_conn_wrap(&link->link, nullptr, &second) == RPM_E_NOCAP);
    CHECK(server.links.size() == 1);
}

TEST_CASE("pump: a link that takes ops one by one gets them all", "[unit]")
{
    Pumped pumped;

    pumped.conn.link->faults.take_most = 1;
    CHECK(pumped.post(pumped.one, 1, 40) == 0);
    for (int i = 0; i < 100; i++)
        CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.one.heard == Heard{ { 1, 0 } });
    CHECK(pumped.conn.link->ops == 40);
}

TEST_CASE("pump: WAIT holds the rest back until the server has answered", "[unit]")
{
    Pumped pumped;
    uint64_t at = 0;

    pumped.conn.link->on_op = [&](const rpmi_op &) {
        if (++at == 3)
            CHECK(pumped.conn.link->flight.empty());
    };
    CHECK(pumped.post(pumped.one, 1, 5, RPMI_OP_SIGNALED, 2) == 0);
    CHECK(pumped.conn.link->ops == 3);
    for (int i = 0; i < 10; i++)
        CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.one.heard == Heard{ { 1, 0 } });
    CHECK(pumped.conn.conn->credit.used == 0);
}

TEST_CASE("pump: each owner gets a loss once, and nothing is posted after it", "[unit]")
{
    Pumped pumped;

    pumped.conn.link->manual = true;
    REQUIRE(pumped.post(pumped.one, 1) == 0);
    pumped.conn.link->drop();
    CHECK(rpmi_conn_pump(pumped.conn) == RPM_E_LOST);
    CHECK(rpmi_conn_pump(pumped.conn) == RPM_E_LOST);
    CHECK(pumped.post(pumped.two, 1) == RPM_E_LOST);
    CHECK(rpmi_conn_wait(pumped.conn, UINT64_MAX) == RPM_E_LOST);
    CHECK(pumped.one.losses == std::vector<int>{ RPM_E_LOST });
    CHECK(pumped.two.losses == std::vector<int>{ RPM_E_LOST });
    CHECK(pumped.one.heard.empty());
    REQUIRE(rpm_conn_reconnect(pumped.conn) == 0);
    pumped.conn.link->manual = false;
    CHECK(pumped.conn.conn->credit.used == 0);
    CHECK(pumped.post(pumped.two, 2) == 0);
    pumped.conn.link->drop();
    CHECK(rpmi_conn_pump(pumped.conn) == RPM_E_LOST);
    CHECK(pumped.two.losses.size() == 2);
}

TEST_CASE("pump: a dropped connection is lost, and its close does not wait", "[unit]")
{
    Pumped pumped;
    Log log(pumped.conn, "log", WRITER);
    uint64_t calls = pumped.conn.link->calls;

    pumped.conn.link->manual = true;
    REQUIRE(pumped.post(pumped.one, 1) == 0);
    rpm_conn_drop(pumped.conn);
    rpm_conn_drop(pumped.conn);
    CHECK(pumped.one.losses == std::vector<int>{ RPM_E_LOST });
    CHECK(pumped.two.losses == std::vector<int>{ RPM_E_LOST });
    CHECK(pumped.post(pumped.two, 1) == RPM_E_LOST);
    CHECK(rpm_log_append(log, "x", 1, nullptr) == RPM_E_LOST);
    log.close();
    CHECK(pumped.conn.link->calls == calls); // else it would wait for a server that is stopped
    CHECK(pumped.server.links.size() == 1);  // which does not know yet
    REQUIRE(rpm_conn_reconnect(pumped.conn) == 0);
    pumped.conn.link->manual = false;
    CHECK(pumped.post(pumped.two, 2) == 0);
}

TEST_CASE("pump: a deadline that passes loses the link, with that reason", "[unit]")
{
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.timeout_us = 700;
    Pumped pumped(&opts);
    pumped.conn.link->faults.stall_op = 1;
    REQUIRE(pumped.post(pumped.one, 1) == 0);
    uint64_t begin = pumped.server.now_ns;
    CHECK(rpmi_conn_wait(pumped.conn, rpmi_conn_deadline(pumped.conn)) == RPM_E_TIMEDOUT);
    CHECK(pumped.server.now_ns - begin >= 700000);
    CHECK(pumped.server.now_ns - begin < 710000);
    CHECK(pumped.one.losses == std::vector<int>{ RPM_E_TIMEDOUT });
    CHECK(pumped.post(pumped.one, 2) == RPM_E_TIMEDOUT);
}

TEST_CASE("pump: the owner gets the failure of its op, and the link is lost", "[unit]")
{
    Pumped pumped;
    rpmi_op op = {};

    op.kind = RPMI_OP_READ;
    op.key = 77;
    op.len = 8;
    op.into = pumped.conn.conn->word;
    REQUIRE(rpmi_conn_post(pumped.conn, &pumped.one.owner, &op, 1, 5) == 0); // not signaled
    CHECK(rpmi_conn_pump(pumped.conn) == RPM_E_LOST);
    CHECK(pumped.one.heard == Heard{ { 5, RPM_E_DENIED } });
    CHECK(pumped.one.losses == std::vector<int>{ RPM_E_LOST });
    CHECK(pumped.two.losses == std::vector<int>{ RPM_E_LOST });
}

TEST_CASE("pump: a post on a link that completes on post is done, and completes no more", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    rpmi_op op = {};

    op.kind = RPMI_OP_READ;
    op.flags = RPMI_OP_SIGNALED;
    op.len = 8;
    op.into = conn.conn->word;
    CHECK(rpmi_conn_post(conn, &conn.conn->self, &op, 1, 0) == RPMI_POST_DONE);
    CHECK(conn.conn->credit.used == 0);
    CHECK(rpmi_conn_pump(conn) == 0);
    CHECK(conn.conn->ended == 0);
    CHECK(rpmi_conn_exec(conn, &op, 1) == 0);
    conn.link->drop();
    CHECK(rpmi_conn_exec(conn, &op, 1) == RPM_E_LOST);
}

TEST_CASE("pump: a synchronous link that is lost in post fails all objects of the connection",
          "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Log one(conn, "one", WRITER);
    Log two(conn, "two", WRITER);

    conn.link->faults.lose_op = 1;
    CHECK(rpm_log_append(one, "x", 1, nullptr) == RPM_E_LOST);
    CHECK(rpm_log_append(two, "x", 1, nullptr) == RPM_E_LOST);
    CHECK(append_async(two, "x", 1) == RPM_E_LOST);
}

TEST_CASE("pump: random posts of two owners, each completion once and in order", "[unit]")
{
    for (uint64_t seed : seeds(1, 20)) {
        rpm_conn_opts opts = rpm_conn_opts_init();
        rpmi_rng rng;
        uint64_t next[2] = { 1, 1 };

        rpmi_rng_seed(&rng, seed);
        opts.depth = static_cast<uint32_t>(64 + rpmi_rng_below(&rng, 40));
        opts.pace = seed % 2 == 0 ? RPM_PACE_THROTTLE : 0;
        Pumped pumped(&opts);
        Owner *owners[2] = { &pumped.one, &pumped.two };
        pumped.conn.link->manual = true;
        pumped.conn.link->faults.take_most = static_cast<uint32_t>(rpmi_rng_below(&rng, 4));
        for (int turn = 0; turn < 3000; turn++) {
            uint64_t who = rpmi_rng_below(&rng, 2);
            uint32_t n = static_cast<uint32_t>(1 + rpmi_rng_below(&rng, 9));

            switch (rpmi_rng_below(&rng, 4)) {
            case 0: {
                bool wait = rpmi_rng_below(&rng, 20) == 0 && n > 1;
                int err = pumped.post(*owners[who], next[who], n, RPMI_OP_SIGNALED,
                                      wait ? n - 2 : UINT32_MAX);

                REQUIRE((err == 0 || err == RPM_E_BUSY));
                next[who] += err == 0;
                break;
            }
            case 1:
                pumped.conn.link->step();
                break;
            case 2:
                pumped.conn.link->hold++;
                break;
            default:
                REQUIRE(rpmi_conn_pump(pumped.conn) == 0);
                break;
            }
        }
        pumped.conn.link->manual = false;
        for (int i = 0; i < 500; i++)
            REQUIRE(rpmi_conn_pump(pumped.conn) == 0);
        CHECK(pumped.conn.conn->credit.used == 0);
        for (int who = 0; who < 2; who++) {
            REQUIRE(owners[who]->heard.size() == next[who] - 1);
            for (uint64_t i = 0; i + 1 < next[who]; i++)
                REQUIRE(owners[who]->heard[i] == std::make_pair(i + 1, 0));
        }
    }
}

namespace
{

// An owner that holds one operation back until it is released.
struct Holder {
    Owner owner; // first member: the callbacks get a pointer to it
    Pumped *pumped = nullptr;
    std::vector<bool> blocked; // of each call
    bool ready = true;

    static bool release(rpmi_owner *self, bool blocked)
    {
        Holder *holder = reinterpret_cast<Holder *>(self);

        holder->blocked.push_back(blocked);
        if (!holder->ready)
            return false;
        rpmi_conn_holds(holder->pumped->conn, self, false);
        REQUIRE(holder->pumped->post(holder->owner, 1) == 0);
        return true;
    }
    explicit Holder(Pumped &where) : pumped(&where)
    {
        owner.owner.release = release;
        REQUIRE(rpmi_conn_join(where.conn, &owner.owner) == 0);
    }
    ~Holder()
    {
        rpmi_conn_holds(pumped->conn, &owner.owner, false);
        rpmi_conn_leave(pumped->conn, &owner.owner);
    }
    void hold()
    {
        rpmi_conn_holds(pumped->conn, &owner.owner, true);
        rpmi_conn_holds(pumped->conn, &owner.owner, true); // counts once
        REQUIRE(pumped->conn.conn->holding >= 1);
    }
};

} // namespace

TEST_CASE("pump: deferred ops are posted by a pump, and complete by a later one", "[unit]")
{
    Pumped pumped;
    Holder holder(pumped);

    CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(holder.blocked.empty());
    holder.hold();
    holder.ready = false;
    CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.conn.link->ops == 0);
    holder.ready = true;
    CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(pumped.conn.conn->holding == 0);
    for (int i = 0; i < 10; i++)
        CHECK(rpmi_conn_pump(pumped.conn) == 0);
    CHECK(holder.blocked == std::vector<bool>{ false, false });
    CHECK(holder.owner.heard == Heard{ { 1, 0 } });
}

TEST_CASE("pump: a wait posts deferred ops before it sleeps", "[unit]")
{
    Pumped pumped;
    Holder holder(pumped);

    holder.hold();
    CHECK(rpmi_conn_wait(pumped.conn, rpmi_conn_deadline(pumped.conn)) == 0);
    CHECK(holder.blocked == std::vector<bool>{ true });
    CHECK(holder.owner.heard == Heard{ { 1, 0 } });
}

TEST_CASE("pump: deferred ops are not posted in the middle of another post", "[unit]")
{
    Pumped pumped;
    Holder holder(pumped);
    std::vector<uint64_t> order;

    holder.hold();
    pumped.conn.link->faults.take_most = 1; // each post waits until the link takes the next one
    pumped.conn.link->on_op = [&](const rpmi_op &op) { order.push_back(op.id); };
    REQUIRE(pumped.post(pumped.one, 7, 20) == 0);
    REQUIRE(pumped.post(pumped.two, 8, 5, RPMI_OP_SIGNALED, 2) == 0); // waits for its third
    CHECK(holder.blocked.empty());
    CHECK(rpmi_conn_wait(pumped.conn, rpmi_conn_deadline(pumped.conn)) == 0);
    CHECK(holder.blocked.size() == 1);
    pumped.conn.link->on_op = nullptr;
}

TEST_CASE("pump: on a lost link no deferred op is posted", "[unit]")
{
    Pumped pumped;
    Holder holder(pumped);

    pumped.conn.link->manual = true;
    REQUIRE(pumped.post(pumped.one, 1) == 0);
    holder.hold();
    pumped.conn.link->drop();
    CHECK(rpmi_conn_pump(pumped.conn) == RPM_E_LOST);
    CHECK(rpmi_conn_pump(pumped.conn) == RPM_E_LOST);
    CHECK(rpmi_conn_wait(pumped.conn, UINT64_MAX) == RPM_E_LOST);
    CHECK(holder.blocked.empty());
    CHECK(holder.owner.losses == std::vector<int>{ RPM_E_LOST });
}
