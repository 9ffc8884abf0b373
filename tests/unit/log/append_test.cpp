// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

extern "C" {
#include "log/log.h"
}

using namespace loop;

TEST_CASE("append: what was appended is read back, at every method", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    std::vector<Record> wrote;

    auto freeze = std::make_unique<Freeze>();
    for (uint64_t i = 0; i < 20; i++) {
        std::string data = payload(i, 1 + 37 * i);

        wrote.push_back({ data, append(log, data), 1 });
    }
    freeze.reset();
    CHECK(read_all(log) == wrote);
    CHECK(info(log).method == kind.method);

    // They are durable: a power cut loses none.
    log.close();
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    Log after(conn, "a", WRITER);
    CHECK(read_all(after) == wrote);
    CHECK(info(after).epoch == 2);
    CHECK(info(after).records == 20);
}

TEST_CASE("append: every length from 1 to the largest fits its lines", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 16384);
    size_t max = rpm_log_record_max(log);

    CHECK(max == 8192 - RPMI_FRAME_HEADER_BYTES);
    for (size_t len = 1; len <= max; len += len < 300 ? 1 : 397) {
        std::string data = payload(len, len);
        uint64_t lsn = append(log, data);
        std::vector<Record> all = read_all(log, lsn);
        bool media = kind.setup.line_bytes == 256 && len + 24 > 256;

        CAPTURE(len);
        REQUIRE(all.size() == 1);
        CHECK(all[0].data == data);
        CHECK(lsn % (media ? 256 : 64) == 0);
        REQUIRE(rpm_log_trim(log, info(log).tail_lsn) == 0);
    }
    std::string largest = payload(1, max);
    uint64_t lsn = append(log, largest);
    CHECK(read_all(log, lsn)[0].data == largest);
    CHECK(rpm_log_append(log, std::string(max + 1, 'x').data(), max + 1, &lsn) == RPM_E_TOOBIG);
}

TEST_CASE("append: a record of 40 bytes takes one line, one of 41 two", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Log log(conn, "a", WRITER);

    CHECK(append(log, payload(1, 40)) == 0);
    CHECK(append(log, payload(2, 41)) == 64);
    CHECK(append(log, payload(3, 232)) == 192);
    CHECK(append(log, payload(4, 233)) == 448);
    CHECK(append(log, payload(5, 1)) == 448 + 320);
}

TEST_CASE("append: on media lines a large record starts at 256 and small ones fill in", "[unit]")
{
    Setup setup = synchronous();
    Server server;

    setup.line_bytes = 256;
    Conn conn(server, setup);
    Log log(conn, "a", WRITER);
    CHECK(append(log, payload(1, 40)) == 0);
    CHECK(append(log, payload(2, 233)) == 256); // a pad frame from 64 to 256
    CHECK(append(log, payload(3, 232)) == 768);
    CHECK(append(log, payload(4, 40)) == 1024);
    CHECK(read_all(log).size() == 4);
    CHECK(info(log).tail_lsn == 1088);
}

TEST_CASE("append: bad arguments are refused and nothing changes", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    Log reader(conn, "a", 0);
    size_t max = rpm_log_record_max(log);
    std::string big(max + 1, 'b');
    uint64_t lsn = 77;
    void *room = nullptr;
    uint64_t ops = conn.link->ops;

    CHECK(rpm_log_append(log, "x", 0, &lsn) == RPM_E_INVAL);
    CHECK(rpm_log_append(log, big.data(), big.size(), &lsn) == RPM_E_TOOBIG);
    CHECK(rpm_log_append(log, big.data(), SIZE_MAX, &lsn) == RPM_E_TOOBIG);
    CHECK(rpm_log_append(reader, "x", 1, &lsn) == RPM_E_DENIED);
    CHECK(rpm_log_append_async(log, "x", 1, 2, nullptr, &lsn) == RPM_E_INVAL);
    CHECK(rpm_log_append_async(log, "x", 0, 0, nullptr, &lsn) == RPM_E_INVAL);
    CHECK(rpm_log_append_async(reader, "x", 1, 0, nullptr, &lsn) == RPM_E_DENIED);
    CHECK(rpm_log_reserve(log, 0, &room) == RPM_E_INVAL);
    CHECK(rpm_log_reserve(log, max + 1, &room) == RPM_E_TOOBIG);
    CHECK(rpm_log_reserve(reader, 1, &room) == RPM_E_DENIED);
    CHECK(rpm_log_commit(log, 1, 0, nullptr, &lsn) == RPM_E_INVAL);
    CHECK(std::string(rpm_last_error()).find("reserved") != std::string::npos);
    CHECK(lsn == 77);
    CHECK(room == nullptr);
    CHECK(conn.link->ops == ops);
    CHECK(info(log).tail_lsn == 0);
    CHECK(append(log, "x") == 0);
}

TEST_CASE("append: a full ring is RPM_E_FULL, loses nothing, and takes appends after a trim",
          "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);
    std::vector<Record> wrote;
    uint64_t lsn = 5;
    int err;

    for (uint64_t i = 0;; i++) {
        std::string data = payload(i, 100);

        err = rpm_log_append(log, data.data(), data.size(), &lsn);
        if (err != 0)
            break;
        wrote.push_back({ data, lsn, 1 });
        REQUIRE(i < 100);
    }
    CHECK(err == RPM_E_FULL);
    CHECK(wrote.size() == 32);
    CHECK(lsn == wrote.back().lsn);
    CHECK(read_all(log) == wrote);
    CHECK(append_async(log, std::string(100, 'x'), 1) == RPM_E_FULL);
    CHECK(reap(log, 1, 20).empty());
    REQUIRE(rpm_log_trim(log, wrote[1].lsn) == 0);
    wrote.erase(wrote.begin());
    wrote.push_back({ payload(77, 100), append(log, payload(77, 100)), 1 });
    CHECK(read_all(log) == wrote);
    CHECK(rpm_log_append(log, "x", 1, &lsn) == RPM_E_FULL);

    // Another client trims: the writer reads the new head itself.
    Log other(conn, "a", 0);
    REQUIRE(rpm_log_trim(other, wrote[2].lsn) == 0);
    append(log, payload(78, 100));
    CHECK(read_all(log).size() == 31);
}

TEST_CASE("append: outstanding appends fill the queue, polling empties it", "[unit]")
{
    EACH_KIND(kind);
    rpm_log_opts opts = rpm_log_opts_init();
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log;
    uint64_t lsn;

    opts.flags = WRITER;
    opts.capacity_bytes = 65536;
    opts.inflight_max = 3;
    REQUIRE(log.open(conn, "a", opts) == 0);
    for (uintptr_t i = 1; i <= 3; i++)
        REQUIRE(append_async(log, "abc", i) == 0);
    CHECK(append_async(log, "abc", 4) == RPM_E_BUSY);
    CHECK(rpm_log_append(log, "d", 1, &lsn) == RPM_E_BUSY);
    auto done = reap(log, 3);
    REQUIRE(done.size() == 3);
    for (uintptr_t i = 1; i <= 3; i++) {
        CHECK(done[i - 1].context == reinterpret_cast<void *>(i));
        CHECK(done[i - 1].status == 0);
        CHECK(done[i - 1].lsn == 64 * (i - 1));
    }
    CHECK(reap(log, 1, 20).empty());
    CHECK(append(log, "d") == 192);
}

TEST_CASE("append: a run of MORE is flushed once, by its last one", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    struct rpm_conn_stats before = conn.link->stats();

    for (uintptr_t i = 1; i <= 9; i++)
        REQUIRE(append_async(log, payload(i, 64), i, RPM_MORE) == 0);
    CHECK(reap(log, 1, 50).empty());
    CHECK(conn.link->stats().flushes == before.flushes);
    REQUIRE(append_async(log, payload(10, 64), 10) == 0);
    CHECK(reap(log, 10).size() == 10);
    CHECK(conn.link->stats().flushes + conn.link->stats().reads <=
          before.flushes + before.reads + 1);
    CHECK(conn.link->stats().writes == before.writes + 10);

    REQUIRE(append_async(log, payload(11, 64), 11, RPM_MORE) == 0);
    REQUIRE(rpm_log_persist(log) == 0);
    CHECK(reap(log, 1, 1).size() == 1);
    server.power_cut();
    REQUIRE(server.start() == 0);
    log.close();
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    Log after(conn, "a", WRITER);
    CHECK(read_all(after).size() == 11);
}

TEST_CASE("append: MORE without end never runs a queue dry", "[unit]")
{
    EACH_KIND(kind);
    rpm_log_opts opts = rpm_log_opts_init();
    Server server;

    conn_opts.depth = 64;
    Conn conn(server, kind.setup, &conn_opts);
    Log log;
    opts.flags = WRITER;
    opts.inflight_max = 40;
    opts.capacity_bytes = 256 << 10;
    opts.staging_bytes = 64 << 10;
    REQUIRE(log.open(conn, "a", opts) == 0);
    uint64_t sent = 0;
    uint64_t came = 0;
    for (uint32_t turn = 0; turn < 20000 && sent < 1000; turn++) {
        int err = append_async(log, payload(sent, 200), sent, RPM_MORE);

        REQUIRE((err == 0 || err == RPM_E_BUSY));
        sent += err == 0;
        for (const rpm_completion &done : reap(log, 40, err == 0 ? 0 : 2)) {
            CHECK(done.status == 0);
            REQUIRE(done.context == reinterpret_cast<void *>(came));
            came++;
        }
    }
    CHECK(sent == 1000);
    REQUIRE(rpm_log_persist(log) == 0);
    came += reap(log, 1000, 5000).size();
    CHECK(came == 1000);
    CHECK(read_all(log).size() == 1000);
}

TEST_CASE("append: reserve and commit put the record there without a copy", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    void *room = nullptr;
    void *more = nullptr;
    uint64_t lsn = 0;

    append(log, "first");
    REQUIRE(rpm_log_reserve(log, 500, &room) == 0);
    CHECK(rpm_log_reserve(log, 1, &more) == RPM_E_INVAL);
    memset(room, 'r', 500);
    REQUIRE(rpm_log_commit(log, 300, 0, room, &lsn) == 0);
    auto done = reap(log, 1);
    REQUIRE(done.size() == 1);
    CHECK(done[0].context == room);
    CHECK(done[0].lsn == lsn);
    CHECK(read_all(log, lsn)[0].data == std::string(300, 'r'));

    REQUIRE(rpm_log_reserve(log, 100, &room) == 0);
    rpm_log_abandon(log);
    rpm_log_abandon(log);
    REQUIRE(rpm_log_reserve(log, 100, &room) == 0);
    CHECK(rpm_log_commit(log, 101, 0, nullptr, &lsn) == RPM_E_INVAL); // still ends the reservation
    REQUIRE(rpm_log_reserve(log, 100, &room) == 0);
    CHECK(rpm_log_commit(log, 0, 0, nullptr, &lsn) == RPM_E_INVAL);
    CHECK(read_all(log).size() == 2);
    CHECK(append(log, "last") == lsn + 384 - (kind.setup.line_bytes == 256 ? 0 : 0) +
                                     (kind.setup.line_bytes == 256 ? 128 : 0));
}

TEST_CASE("append: staging memory of odd size takes the largest record", "[unit]")
{
    rpm_log_opts opts = rpm_log_opts_init();
    Server server;
    Conn conn(server, queued());
    Log log;

    opts.flags = WRITER;
    opts.capacity_bytes = 512 << 10;
    opts.staging_bytes = (64 << 10) + 64; // half of it is no multiple of 64
    REQUIRE(log.open(conn, "a", opts) == 0);
    std::string data = payload(1, rpm_log_record_max(log));
    CHECK(data.size() == (32 << 10) - 256 - 24); // a frame of whole media lines, and room before it
    for (int i = 0; i < 5; i++)
        append(log, data);
    void *room;
    REQUIRE(rpm_log_reserve(log, data.size(), &room) == 0);
    CHECK(read_all(log).size() == 5);
}

TEST_CASE("append: staging memory is not read after it was reused", "[unit]")
{
    // The link reads payloads when the server carries the op out: all must arrive whole.
    EACH_KIND(kind);
    rpm_log_opts opts = rpm_log_opts_init();
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log;
    rpmi_rng rng;
    std::vector<Record> wrote;

    opts.flags = WRITER;
    opts.capacity_bytes = 512 << 10;
    opts.staging_bytes = 64 << 10;
    opts.inflight_max = 64;
    REQUIRE(log.open(conn, "a", opts) == 0);
    rpmi_rng_seed(&rng, 7);
    auto freeze = std::make_unique<Freeze>();
    for (uint64_t i = 0; i < 200; i++) {
        std::string data = payload(i, 1 + rpmi_rng_below(&rng, i % 10 == 0 ? 20000 : 900));
        uint64_t lsn;
        int err;

        for (uint32_t tries = 0; tries < 1000; tries++) {
            err = append_async(log, data, i, rpmi_rng_below(&rng, 2) != 0 ? RPM_MORE : 0, &lsn);
            if (err != RPM_E_BUSY)
                break;
            reap(log, 64, 1);
        }
        REQUIRE(err == 0);
        wrote.push_back({ data, lsn, 1 });
    }
    REQUIRE(rpm_log_persist(log) == 0);
    freeze.reset();
    CHECK(read_all(log) == wrote);
}

TEST_CASE("append: an append after a takeover is fenced, and readers see no change", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn old_conn(server, kind.setup, &conn_opts);
    Conn new_conn(server, kind.setup, &conn_opts);
    Log old_log(old_conn, "a", WRITER);
    uint64_t lsn = 9;

    append(old_log, "one");
    Log new_log(new_conn, "a", RPM_LOG_WRITE | RPM_LOG_TAKEOVER);
    CHECK(rpm_log_append(old_log, "two", 3, &lsn) == RPM_E_FENCED);
    CHECK(rpm_log_append(old_log, "two", 3, &lsn) == RPM_E_FENCED);
    CHECK(append_async(old_log, "two", 1) == RPM_E_FENCED);
    CHECK(lsn == 9);
    append(new_log, "three");
    auto all = read_all(new_log);
    REQUIRE(all.size() == 2);
    CHECK(all[1].data == "three");
    CHECK(all[1].epoch == 2);
    rpm_outcome outcomes[256];
    uint32_t count = 0;
    REQUIRE(rpm_conn_reconnect(old_conn) == 0);
    REQUIRE(rpm_log_settle(old_log, outcomes, 256, &count) == 0);
    CHECK(count == 2);               // the completion of blocking appends
    CHECK(read_all(old_log) == all); // fenced, and still readable
    CHECK(info(old_log).tail_lsn == 128);
}
