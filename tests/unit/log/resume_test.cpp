// SPDX-License-Identifier: BSD-3-Clause
#include "support/rounds.h"
#include "unit/log/worker.h"

using namespace loop;

namespace
{

struct Case {
    Way way;
    bool late;
    bool torn;
    bool defers_cleanup;
};

std::vector<Case> cases()
{
    std::vector<Case> all;

    for (Way way : { Way::Async, Way::More, Way::Blocking, Way::Batch, Way::Reserve })
        for (int loss = 0; loss < 3; loss++)
            for (bool defers_cleanup : { false, true })
                all.push_back({ way, loss == 1, loss == 2, defers_cleanup });
    return all;
}

// Runs with the link lost at op @k; false if there was no such op.
bool run_lost_at(const Kind &kind, const Case &what, uint64_t k)
{
    rpm_conn_opts conn_opts = with_method(kind.method);
    Server server(192 << 10);
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 64 << 10);
    Worker worker(server, conn, log, what.way, 14);

    server.defers_cleanup = what.defers_cleanup;
    append(log, "before");
    conn.link->faults.lose_op = k;
    conn.link->faults.lose_late = what.late;
    conn.link->faults.lose_torn = what.torn;
    worker.run();
    server.reap();
    bool lost = conn.link->faults.lose_op == 0;
    worker.check(log, 1);
    return lost;
}

} // namespace

TEST_CASE("resume: the link lost at any op, and each record is there exactly once", "[unit]")
{
    EACH_KIND(kind);
    uint64_t losses = 0;

    for (const Case &what : cases()) {
        CAPTURE(static_cast<int>(what.way), what.late, what.torn, what.defers_cleanup);
        for (uint64_t k = 1; k < 400; k++) {
            CAPTURE(k);
            if (!run_lost_at(kind, what, k))
                break;
            losses++;
        }
    }
    CHECK(losses > (kind.setup.fast_path ? 150 : 400));
}

TEST_CASE("resume: a resume that is cut off at any call or op can be repeated", "[unit]")
{
    EACH_KIND(kind);
    Way way = GENERATE(Way::Async, Way::Batch);
    bool defers_cleanup = GENERATE(false, true);
    bool settles = GENERATE(false, true);

    for (uint64_t k = 1; k < 30; k += kSlow ? 9 : 3) {
        for (uint64_t again = 1; again <= 12; again++) {
            for (int where = 0; where < 3; where++) {
                rpm_conn_opts opts = with_method(kind.method);
                Server server(192 << 10);
                Conn conn(server, kind.setup, &opts);
                Log log(conn, "a", WRITER, 64 << 10);
                Worker worker(server, conn, log, way, 14);

                CAPTURE(k, again, where);
                server.defers_cleanup = defers_cleanup;
                worker.settles = settles;
                conn.link->faults.lose_op = k;
                conn.link->faults.lose_late = k % 2 == 0;
                // Calls come with the resume, so that this one is lost in it.
                if (where == 0)
                    conn.link->faults.lose_call = again;
                if (where == 1) {
                    conn.link->faults.lose_call = again;
                    conn.link->faults.lose_reply = true;
                }
                if (where == 2)
                    conn.link->faults.refuse = static_cast<uint32_t>(again);
                worker.run();
                server.reap();
                worker.check(log);
            }
        }
    }
}

TEST_CASE("resume: the answer to SEAL is lost, and the next attempt still knows its records",
          "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    rpm_outcome outcomes[256];
    uint32_t count = 0;

    append(log, "one");
    conn.link->faults.lose_op = 1;
    conn.link->faults.lose_late = true;
    REQUIRE(append_async(log, "two", 2) == 0);
    reap(log, 1, 20);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    conn.link->faults.lose_call = 3; // OPEN, CLAIM, SEAL
    conn.link->faults.lose_reply = true;
    CHECK(rpm_log_resume(log, outcomes, 256, &count) == RPM_E_LOST);
    CHECK(count == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    REQUIRE(rpm_log_resume(log, outcomes, 256, &count) == 0);
    REQUIRE(count == 1);
    CHECK(outcomes[0].context == reinterpret_cast<void *>(2));
    CHECK(outcomes[0].present == 1);
    CHECK(read_all(log).size() == 2);
    CHECK(rpm_log_resume(log, outcomes, 256, &count) == RPM_E_INVAL); // no claim to resume
}

namespace
{

// A writer whose last record has an unknown outcome: absent or present, as the test chooses.
struct Lost {
    Server server;
    Conn conn;
    Conn other_conn;
    Log log;
    uint64_t lsn = 0;
    rpm_outcome outcomes[256];
    uint32_t count = 99;

    Lost(const Kind &kind, const rpm_conn_opts &opts, bool present)
        : conn(server, kind.setup, &opts), other_conn(server, kind.setup, &opts),
          log(conn, "a", WRITER, 16384)
    {
        append(log, "one");
        conn.link->faults.lose_op = 1;
        conn.link->faults.lose_late = present;
        REQUIRE(append_async(log, "two", 2, 0, &lsn) == 0);
        for (const rpm_completion &done : reap(log, 1))
            CHECK(done.status != 0);
        REQUIRE(conn.link->broken);
        CHECK(append_async(log, "x", 1) == RPM_E_LOST);
        CHECK(rpm_log_trim(log, 64) == RPM_E_LOST);
    }

    int resume()
    {
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        return rpm_log_resume(log, outcomes, 256, &count);
    }
};

} // namespace

TEST_CASE("resume: while another writer lives, a resume is fenced and gives the outcomes", "[unit]")
{
    EACH_KIND(kind);
    bool present = GENERATE(false, true);
    Lost lost(kind, conn_opts, present);
    Log other(lost.other_conn, "a", RPM_LOG_WRITE);

    append(other, "three");
    CHECK(lost.resume() == RPM_E_FENCED);
    REQUIRE(lost.count == 1);
    CHECK(lost.outcomes[0].present == (present ? 1 : 0));
    CHECK(lost.outcomes[0].lsn == lost.lsn);
    CHECK(rpm_log_append(lost.log, "x", 1, nullptr) == RPM_E_FENCED);

    // It can only be read now.
    CHECK(read_all(lost.log).size() == (present ? 3 : 2));
    CHECK(info(lost.log).epoch == 2);
    CHECK(rpm_log_trim(lost.log, 64) == 0);

    // A second resume reports later attempts; it claims nothing, even after the other writer has
    // left.
    lost.count = 99;
    CHECK(rpm_log_resume(lost.log, lost.outcomes, 256, &lost.count) == RPM_E_FENCED);
    REQUIRE(lost.count == 1);
    CHECK(lost.outcomes[0].present == 0);
    CHECK(lost.outcomes[0].lsn == RPM_LSN_NONE);
    CHECK(rpm_log_claim(lost.log, 0) == RPM_E_OWNED);
    other.close();
    CHECK(rpm_log_resume(lost.log, lost.outcomes, 256, &lost.count) == RPM_E_FENCED);
    CHECK(lost.count == 0);
    REQUIRE(rpm_log_claim(lost.log, 0) == 0);
    append(lost.log, "four");
    CHECK(read_all(lost.log).size() == (present ? 3 : 2));
}

TEST_CASE("resume: after another writer left, a resume gives the outcomes, and a claim succeeds",
          "[unit]")
{
    EACH_KIND(kind);
    bool present = GENERATE(false, true);
    Lost lost(kind, conn_opts, present);
    {
        Log other(lost.other_conn, "a", RPM_LOG_WRITE);

        append(other, "three");
    }
    CHECK(lost.resume() == RPM_E_FENCED);
    REQUIRE(lost.count == 1);
    CHECK(lost.outcomes[0].present == (present ? 1 : 0));
    CHECK(append_async(lost.log, "x", 1) == RPM_E_FENCED);
    REQUIRE(rpm_log_claim(lost.log, 0) == 0);
    append(lost.log, "four");
    auto all = read_all(lost.log);
    CHECK(all.size() == (present ? 4 : 3));
    CHECK(all.back().epoch == 3);
}

TEST_CASE("resume: after another writer trimmed, the outcome is unknown", "[unit]")
{
    EACH_KIND(kind);
    bool present = GENERATE(false, true);
    bool stays = GENERATE(false, true);
    Lost lost(kind, conn_opts, present);
    Log other(lost.other_conn, "a", RPM_LOG_WRITE);

    append(other, "three");
    REQUIRE(rpm_log_trim(other, info(other).tail_lsn) == 0);
    append(other, "four");
    if (!stays)
        other.close();
    bool settles = GENERATE(false, true);
    REQUIRE(rpm_conn_reconnect(lost.conn) == 0);
    CHECK((settles ? rpm_log_settle : rpm_log_resume)(lost.log, lost.outcomes, 256, &lost.count) ==
          (settles ? RPM_E_TRIMMED : RPM_E_FENCED));
    REQUIRE(lost.count == 1);
    CHECK(lost.outcomes[0].present == -1);
    CHECK(rpm_log_claim(lost.log, 0) == (stays ? RPM_E_OWNED : 0));
    if (!stays)
        append(lost.log, "five");
    CHECK(read_all(lost.log).size() == (stays ? 1 : 2));
}

TEST_CASE("resume: a reader trimmed and no other client wrote: the record was present", "[unit]")
{
    EACH_KIND(kind);
    Lost lost(kind, conn_opts, true);
    Log other(lost.other_conn, "a", 0);

    REQUIRE(rpm_log_trim(other, info(other).tail_lsn) == 0);
    REQUIRE(lost.resume() == 0);
    REQUIRE(lost.count == 1);
    CHECK(lost.outcomes[0].present == 1);
    append(lost.log, "three");
    CHECK(read_all(lost.log).size() == 1);
}

TEST_CASE("resume: a writer that comes and goes between the first look and the claim is seen",
          "[unit]")
{
    EACH_KIND(kind);
    Lost lost(kind, conn_opts, false);
    bool came = false;

    REQUIRE(rpm_conn_reconnect(lost.conn) == 0);
    lost.conn.link->on_op = [&](const rpmi_op &op) {
        // The link is reading the head: all of this happens just after that READ.
        if (came || op.kind != RPMI_OP_READ || op.len < 256)
            return;
        came = true;
        lost.conn.link->on_call = [&] {
            lost.conn.link->on_call = nullptr;
            Log other(lost.other_conn, "a", RPM_LOG_WRITE);

            append(other, "three");
            append(other, "four");
            REQUIRE(rpm_log_trim(other, info(other).tail_lsn) == 0);
        };
    };
    CHECK(rpm_log_resume(lost.log, lost.outcomes, 256, &lost.count) == RPM_E_FENCED);
    REQUIRE(came);
    REQUIRE(lost.count == 1);
    CHECK(lost.outcomes[0].present == -1); // it was never there, but the writer cannot know that
    lost.conn.link->on_op = nullptr;
    REQUIRE(rpm_log_claim(lost.log, 0) == 0); // the claim that found this out was given back
}

TEST_CASE("resume: a fenced writer does not take the log back without asking for it", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    rpm_outcome outcomes[256];
    uint32_t count = 99;

    append(log, "one");
    // The other writer is between its claim and its seal.
    other_conn.link->faults.lose_call = 3;
    other_conn.link->on_drop = [&] {
        CHECK(rpm_log_append(log, "two", 3, nullptr) == RPM_E_FENCED);
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        CHECK(rpm_log_resume(log, outcomes, 256, &count) == RPM_E_FENCED);
    };
    rpm_log_opts opts = rpm_log_opts_init();
    opts.flags = RPM_LOG_WRITE | RPM_LOG_TAKEOVER;
    Log other;
    CHECK(other.open(other_conn, "a", opts) == RPM_E_LOST);
    CHECK(count == 1);
    CHECK(outcomes[0].present == 0);
    other_conn.link->on_drop = nullptr;
    CHECK(rpm_log_resume(log, outcomes, 256, &count) == RPM_E_FENCED);
    CHECK(count == 0);
    REQUIRE(rpm_log_claim(log, 0) == 0);
    append(log, "two");
    CHECK(read_all(log).size() == 2);
}

TEST_CASE("resume: what a fenced writer calls present survives a power cut", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_outcome outcomes[256];
    uint32_t count = 99;
    Log other;

    append(log, "one");
    REQUIRE(append_async(log, "two", 2, RPM_MORE) == 0); // visible, not durable
    reap(log, 1, 10);
    // The other writer dies before it makes the records that it found durable.
    other_conn.link->faults.lose_kind = RPMI_OP_PERSIST;
    other_conn.link->on_drop = [&] {
        CHECK(rpm_log_append(log, "x", 1, nullptr) == RPM_E_FENCED);
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        CHECK(rpm_log_resume(log, outcomes, 256, &count) == RPM_E_FENCED);
    };
    opts.flags = RPM_LOG_WRITE | RPM_LOG_TAKEOVER;
    CHECK(other.open(other_conn, "a", opts) == RPM_E_LOST);
    other_conn.link->on_drop = nullptr;
    REQUIRE(count == 2);
    CHECK(outcomes[0].present == 1);
    CHECK(outcomes[1].present == 0);
    log.close();
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    Log after(conn, "a", RPM_LOG_WRITE);
    CHECK(read_all(after).size() == 2);
}

TEST_CASE("resume: writes that arrive late do not come in any more", "[unit]")
{
    Kind kind = kinds()[GENERATE(1, 2, 5)];
    Way way = GENERATE(Way::Async, Way::More, Way::Batch);
    bool before = GENERATE(false, true);
    rpm_conn_opts conn_opts = with_method(kind.method);
    uint32_t came_in = 0;

    CAPTURE(kind.name, before);
    for (uint64_t k = 1; k < 40; k++) {
        Server server(192 << 10);
        Conn conn(server, kind.setup, &conn_opts);
        Log log(conn, "a", WRITER, 64 << 10);
        Worker worker(server, conn, log, way, 14);

        CAPTURE(k);
        server.defers_cleanup = true;
        server.delays_writes = true;
        conn.link->faults.stall_op = k;
        // Just before the claim late writes are still accepted; after its answer, never.
        uint64_t calls = conn.link->calls;
        conn.link->on_call = [&] {
            if (before && conn.link->calls == calls + 1)
                came_in += server.deliver_late();
        };
        worker.run();
        CHECK(server.deliver_late() == 0);
        server.reap();
        worker.check(log);
        conn.link->on_call = nullptr;
    }
    CHECK((came_in > 0) == before);
}

TEST_CASE("resume: many of them leave no keys behind", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Conn other_conn(server, synchronous());
    Log log(conn, "a", WRITER);
    rpm_outcome outcomes[256];
    uint32_t count;

    for (int i = 0; i < 300; i++) {
        Log other(other_conn, "a", RPM_LOG_WRITE | RPM_LOG_TAKEOVER);

        CHECK(rpm_log_append(log, "x", 1, nullptr) == RPM_E_FENCED);
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        CHECK(rpm_log_resume(log, outcomes, 256, &count) == RPM_E_FENCED);
        if (i % 2 == 0)
            other.close();
        REQUIRE(rpm_log_claim(log, i % 2 == 0 ? 0 : RPM_LOG_TAKEOVER) == 0);
        if (i % 2 != 0) {
            CHECK(append_async(other, "x", 1) == 0);
            CHECK(rpm_log_persist(other) == RPM_E_FENCED);
            REQUIRE(rpm_conn_reconnect(other_conn) == 0);
            REQUIRE(rpm_log_settle(other, outcomes, 256, &count) == 0);
        }
        if (i % 16 == 0)
            append(log, "y");
    }
    CHECK(read_all(log).size() == 19);
}

TEST_CASE("resume: errors that change nothing", "[unit]")
{
    Kind kind = kinds()[1];
    rpm_conn_opts conn_opts = with_method(kind.method);
    Lost lost(kind, conn_opts, true);
    Log other(lost.other_conn, "b", WRITER);
    Log reader(lost.other_conn, "a", 0);
    uint32_t count = 5;
    rpm_outcome one;

    CHECK(rpm_log_resume(reader, lost.outcomes, 256, &count) == RPM_E_DENIED);
    CHECK(rpm_log_resume(other, lost.outcomes, 256, &count) == RPM_E_INVAL);
    CHECK(rpm_log_resume(lost.log, &one, 0, &count) == RPM_E_INVAL);
    CHECK(rpm_log_resume(lost.log, lost.outcomes, 256, &count) == RPM_E_LOST); // before a reconnect
    CHECK(count == 5);
    CHECK(lost.resume() == 0);
    CHECK(lost.count == 1);
}

TEST_CASE("resume: a log that was removed and made again is not taken for the old one", "[unit]")
{
    Kind kind = kinds()[1];
    rpm_conn_opts conn_opts = with_method(kind.method);
    Lost lost(kind, conn_opts, true);

    REQUIRE(rpm_conn_remove(lost.other_conn, "a") == 0);
    CHECK(lost.resume() == RPM_E_NOENT);
    {
        Log fresh(lost.other_conn, "a", WRITER, 16384);

        append(fresh, "new");
    }
    CHECK(rpm_log_resume(lost.log, lost.outcomes, 256, &lost.count) == RPM_E_NOENT);
    CHECK(rpm_log_resume(lost.log, lost.outcomes, 256, &lost.count) == RPM_E_NOENT);
    CHECK(rpm_conn_remove(lost.other_conn, "a") == 0); // it holds no key of the log any more
    lost.log.close();
}

TEST_CASE("resume: an acknowledged record that is missing is corruption", "[unit]")
{
    Kind kind = kinds()[1];
    rpm_conn_opts conn_opts = with_method(kind.method);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    rpm_outcome outcomes[256];
    uint32_t count;

    append(log, "one");
    append(log, "two");
    server.stop();
    server.pool.bytes[36864 + 4096 + 64 + 25] ^= 1; // within the frame of "two"
    REQUIRE(server.start() == 0);
    CHECK(rpm_log_append(log, "x", 1, nullptr) == RPM_E_LOST);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    CHECK(rpm_log_resume(log, outcomes, 256, &count) == RPM_E_CORRUPT);
}

TEST_CASE("resume: another writer takes over while ours looks for the tail", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 16384);
    Log other;
    uint32_t reads = 0;
    rpm_outcome outcomes[256];
    uint32_t count = 99;

    for (uint64_t i = 0; i < 40; i++)
        append(log, payload(i, 200));
    conn.link->faults.lose_op = 1;
    REQUIRE(append_async(log, "unknown", 7) == 0);
    reap(log, 1, 20);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    conn.link->peeks = false;
    uint64_t before = conn.link->calls;
    conn.link->on_op = [&](const rpmi_op &op) {
        rpm_log_opts opts = rpm_log_opts_init();

        // After OPEN and CLAIM the first READ is of the head, the second one of the ring.
        if (op.kind != RPMI_OP_READ || conn.link->calls < before + 2 || ++reads != 2)
            return;
        opts.flags = RPM_LOG_WRITE | RPM_LOG_TAKEOVER;
        REQUIRE(other.open(other_conn, "a", opts) == 0);
        REQUIRE(rpm_log_trim(other, info(other).tail_lsn) == 0);
        for (uint64_t i = 0; i < 30; i++)
            append(other, payload(i, 333));
    };
    CHECK(rpm_log_resume(log, outcomes, 256, &count) == RPM_E_FENCED);
    conn.link->on_op = nullptr;
    CHECK(reads >= 2);
    REQUIRE(count == 1);
    CHECK(outcomes[0].context == reinterpret_cast<void *>(7));
    CHECK(outcomes[0].present == 0); // another record is in its place
    CHECK(rpm_log_append(log, "x", 1, nullptr) == RPM_E_FENCED);
    CHECK(read_all(log).size() == 30);
    CHECK(rpm_log_trim(log, info(log).tail_lsn) == 0); // as a reader
}
