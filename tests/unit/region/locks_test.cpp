// SPDX-License-Identifier: BSD-3-Clause
#include "unit/region/region.h"

using namespace loop;

namespace
{

struct Locks {
    rpm_locks *locks = nullptr;

    Locks(rpm_conn *conn, const char *name, uint64_t count)
    {
        REQUIRE(rpm_locks_open(conn, name, count, &locks) == 0);
    }
    Locks(const Locks &) = delete;
    ~Locks()
    {
        rpm_locks_close(&locks);
    }
    operator rpm_locks *() const
    {
        return locks;
    }
};

} // namespace

TEST_CASE("locks: one client holds a lock at a time, and it alone can release it", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Locks mine(conn, "l", 10);
    Locks theirs(other_conn, "l", 0);
    struct rpm_lock_owner owner = {};

    CHECK(rpm_locks_count(theirs) == 10);
    Freeze freeze;
    REQUIRE(rpm_lock_try(mine, 3) == 0);
    CHECK(rpm_lock_try(mine, 3) == RPM_E_OWNED);
    CHECK(rpm_lock_try(theirs, 3) == RPM_E_OWNED);
    CHECK(rpm_lock_try(theirs, 4) == 0);
    CHECK(rpm_lock_release(theirs, 3) == RPM_E_FENCED);
    CHECK(rpm_lock_release(mine, 5) == RPM_E_FENCED); // free
    REQUIRE(rpm_lock_owner(theirs, 3, &owner) == 0);
    CHECK(owner.client == rpm_conn_client(conn));
    CHECK(owner.epoch == server.epoch);
    CHECK(owner.alive == 1);
    CHECK(rpm_lock_break(theirs, 3) == RPM_E_OWNED); // its owner lives
    REQUIRE(rpm_lock_release(mine, 3) == 0);
    CHECK(rpm_lock_release(mine, 3) == RPM_E_FENCED);
    REQUIRE(rpm_lock_owner(mine, 3, &owner) == 0);
    CHECK(owner.client == 0);
    CHECK(owner.alive == 0);
    CHECK(rpm_lock_try(theirs, 3) == 0);
    for (uint64_t index : { uint64_t(10), uint64_t(1) << 61, UINT64_MAX }) {
        CHECK(rpm_lock_try(mine, index) == RPM_E_RANGE);
        CHECK(rpm_lock_release(mine, index) == RPM_E_RANGE);
        CHECK(rpm_lock_owner(mine, index, &owner) == RPM_E_RANGE);
        CHECK(rpm_lock_break(mine, index) == RPM_E_RANGE);
    }
}

TEST_CASE("locks: acquire waits for a held lock, with backoff unless the caller disables it",
          "[unit]")
{
    EACH_KIND(kind);
    bool eager = GENERATE(false, true);
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    Server server;
    conn_opts.pace = eager ? RPM_PACE_EAGER : 0;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Locks mine(conn, "l", 10);
    Locks theirs(other_conn, "l", 0);
    int tries = 0;
    uint64_t before;

    Freeze freeze;
    CHECK(rpm_lock_acquire(mine, 10) == RPM_E_RANGE);
    REQUIRE(rpm_lock_acquire(mine, 3) == 0);
    CHECK(rpm_lock_acquire(mine, 3) == RPM_E_OWNED); // the caller holds it: waiting is useless
    REQUIRE(rpm_lock_release(mine, 3) == 0);
    REQUIRE(rpm_lock_acquire(theirs, 3) == 0);
    REQUIRE(rpm_conn_stats(conn, &stats) == 0);
    CHECK(stats.backoffs == 0);
    CHECK(stats.backoff_ns == 0);
    conn.link->on_op = [&](const rpmi_op &op) {
        if (op.kind == RPMI_OP_CAS && ++tries == 5)
            CHECK(rpm_lock_release(theirs, 3) == 0);
    };
    before = server.now_ns;
    REQUIRE(rpm_lock_acquire(mine, 3) == 0);
    CHECK(tries == 5);
    conn.link->on_op = nullptr;
    REQUIRE(rpm_conn_stats(conn, &stats) == 0);
    CHECK(stats.backoffs == (eager ? 0 : 4));
    CHECK((stats.backoff_ns > 0) == !eager);
    CHECK(stats.backoff_ns <= server.now_ns - before);
    CHECK(rpm_lock_try(theirs, 3) == RPM_E_OWNED);
}

TEST_CASE("locks: acquire gives up at the connection's timeout", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    conn_opts.timeout_us = 20000;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Locks mine(conn, "l", 10);
    Locks theirs(other_conn, "l", 0);
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    uint64_t before;

    REQUIRE(rpm_lock_try(theirs, 1) == 0);
    before = server.now_ns;
    CHECK(rpm_lock_acquire(mine, 1) == RPM_E_OWNED);
    CHECK(server.now_ns - before >= 20000000);
    CHECK(server.now_ns - before < 21000000);
    REQUIRE(rpm_conn_stats(conn, &stats) == 0);
    CHECK(stats.backoffs > 10);
    CHECK(rpm_lock_try(mine, 2) == 0); // the connection is still usable
}

TEST_CASE("locks: the server frees the locks of a dead owner when it notices the death", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Locks theirs(other_conn, "l", 10);
    Locks mine(conn, "l", 0);

    REQUIRE(rpm_lock_try(mine, 1) == 0);
    conn.link->drop();
    CHECK(rpm_lock_try(mine, 2) == RPM_E_LOST);
    CHECK(rpm_lock_release(mine, 1) == RPM_E_LOST);
    CHECK(rpm_lock_try(theirs, 1) == 0);
}

TEST_CASE("locks: of two clients that break an orphaned lock, one succeeds", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Locks mine(conn, "l", 10);
    Locks theirs(other_conn, "l", 0);
    struct rpm_lock_owner owner = {};
    uint64_t *word = reinterpret_cast<uint64_t *>(&server.dram.bytes[RPMI_LINE_BYTES]) + 7;

    *word = uint64_t(12345) << 32 | 1; // a client that the server does not know
    CHECK(rpm_lock_try(mine, 7) == RPM_E_OWNED);
    REQUIRE(rpm_lock_owner(mine, 7, &owner) == 0);
    CHECK(owner.client == 12345);
    CHECK(owner.alive == 0);
    // The other client is faster, just before our compare-and-swap.
    bool once = true;
    conn.link->on_op = [&](const rpmi_op &op) {
        if (op.kind == RPMI_OP_CAS && once) {
            once = false;
            CHECK(rpm_lock_break(theirs, 7) == 0);
        }
    };
    CHECK(rpm_lock_break(mine, 7) == RPM_E_OWNED);
    conn.link->on_op = nullptr;
    CHECK(rpm_lock_release(mine, 7) == RPM_E_FENCED);
    CHECK(rpm_lock_release(theirs, 7) == 0);
    *word = uint64_t(rpm_conn_client(other_conn)) << 32 | (server.epoch + 1); // of another run
    CHECK(rpm_lock_break(mine, 7) == 0);
    CHECK(rpm_lock_release(mine, 7) == 0);
}

TEST_CASE("locks: names, kinds and sizes", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    rpm_locks *locks = nullptr;

    CHECK(rpm_locks_open(conn, "l", 0, &locks) == RPM_E_NOENT);
    CHECK(rpm_locks_open(conn, "", 1, &locks) == RPM_E_NAME);
    CHECK(rpm_locks_open(conn, "l", UINT64_MAX, &locks) == RPM_E_NOSPACE);
    CHECK(rpm_locks_open(conn, "l", UINT64_MAX / 8, &locks) == RPM_E_NOSPACE);
    CHECK(rpm_locks_open(conn, "l", UINT64_MAX / 16, &locks) == RPM_E_NOSPACE);
    CHECK(rpm_locks_open(conn, "l", 1u << 20, &locks) == RPM_E_NOSPACE);
    CHECK(conn.conn->owners_open == 0);
    Region region(conn, "r", 64);
    Region dram(conn, "d", 64, 0, RPM_REGION_DRAM);
    CHECK(rpm_locks_open(conn, "r", 8, &locks) == RPM_E_EXISTS);
    CHECK(rpm_locks_open(conn, "d", 8, &locks) == RPM_E_EXISTS);
    CHECK(locks == nullptr);
    rpm_locks_close(&locks);
    Locks made(conn, "l", 5);
    Locks again(conn, "l", 9); // there is one already: its size counts
    CHECK(rpm_locks_count(again) == 5);
}

TEST_CASE("locks: lost at every op and call, in time", "[unit]")
{
    EACH_KIND(kind);
    for (int what = 0; what < 5; what++) {
        for (int fault = 0; fault < 4; fault++) {
            Server server;
            Conn conn(server, kind.setup, &conn_opts);
            Locks locks(conn, "l", 4);
            struct rpm_lock_owner owner = {};
            bool calls = what == 2 || what == 3; // owner and break ask the server
            int expected = RPM_E_LOST;

            if (kind.setup.synchronous && fault == 2)
                continue;
            REQUIRE(rpm_lock_try(locks, 0) == 0);
            CAPTURE(what, fault);
            if (fault == 0 || !calls)
                conn.link->faults.lose_op = 1;
            else if (fault == 1)
                conn.link->faults.lose_call = 1;
            else if (fault == 2)
                conn.link->faults.stall_op = 1, expected = RPM_E_TIMEDOUT;
            else
                conn.link->faults.stall_call = 1, expected = RPM_E_TIMEDOUT;
            int err = what == 0   ? rpm_lock_try(locks, 1)
                      : what == 1 ? rpm_lock_release(locks, 0)
                      : what == 2 ? rpm_lock_owner(locks, 0, &owner)
                      : what == 3 ? rpm_lock_break(locks, 0)
                                  : rpm_lock_acquire(locks, 1);
            CHECK(err == expected);
            CHECK(owner.client == 0);
        }
    }
}
