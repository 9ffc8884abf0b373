// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/worker.h"

using namespace loop;

namespace
{

struct Slices {
    std::vector<std::string> data;
    std::vector<rpm_slice> slices;

    Slices(uint64_t seed, size_t n, size_t most)
    {
        rpmi_rng rng;

        rpmi_rng_seed(&rng, seed);
        for (size_t i = 0; i < n; i++)
            data.push_back(payload(seed + i, 1 + rpmi_rng_below(&rng, most)));
        for (const std::string &one : data)
            slices.push_back({ one.data(), one.size() });
    }

    int append(rpm_log *log, uint64_t *lsns = nullptr)
    {
        return rpm_log_append_batch(log, slices.data(), static_cast<uint32_t>(slices.size()), lsns);
    }
};

} // namespace

TEST_CASE("batch: all records are appended, in order, with one flush", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 256 << 10);
    Slices batch(3, 40, 400);
    std::vector<uint64_t> lsns(40);
    struct rpm_conn_stats before = conn.link->stats();

    auto freeze = std::make_unique<Freeze>();
    REQUIRE(batch.append(log, lsns.data()) == 0);
    freeze.reset();
    CHECK(conn.link->stats().flushes + conn.link->stats().reads - before.flushes - before.reads <=
          1);
    auto all = read_all(log);
    REQUIRE(all.size() == 40);
    for (size_t i = 0; i < 40; i++) {
        CHECK(all[i].data == batch.data[i]);
        CHECK(all[i].lsn == lsns[i]);
    }
    CHECK(reap(log, 1, 10).empty());
}

TEST_CASE("batch: a batch may exceed the queue, a post and the staging memory", "[unit]")
{
    EACH_KIND(kind);
    rpm_log_opts opts = rpm_log_opts_init();
    Server server;

    conn_opts.depth = 64;
    Conn conn(server, kind.setup, &conn_opts);
    Log log;
    opts.flags = WRITER;
    opts.capacity_bytes = 512 << 10;
    opts.staging_bytes = 64 << 10;
    REQUIRE(log.open(conn, "a", opts) == 0);
    Slices batch(9, 256, 1500);
    REQUIRE(batch.append(log) == 0);
    auto all = read_all(log);
    REQUIRE(all.size() == 256);
    for (size_t i = 0; i < 256; i++)
        REQUIRE(all[i].data == batch.data[i]);
    CHECK(batch.append(log) == 0); // once more, around the end of the ring
    CHECK(batch.append(log) == RPM_E_FULL);
}

TEST_CASE("batch: a batch that does not fit leaves no record", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);
    Slices three(1, 3, 40);
    Slices many(2, 62, 40);
    Slices huge(3, 5, 1900);
    uint64_t lsns[64] = { 5 };

    REQUIRE(three.append(log) == 0);
    uint64_t ops = conn.link->ops;
    CHECK(many.append(log, lsns) == RPM_E_FULL);
    CHECK(lsns[0] == 5);
    std::string big(1900, 'h');
    for (rpm_slice &slice : huge.slices)
        slice = { big.data(), big.size() };
    CHECK(huge.append(log) == RPM_E_FULL);
    CHECK(conn.link->ops <= ops + 2); // a READ of the head, and no write
    CHECK(read_all(log).size() == 3);
    many.slices.resize(61);
    CHECK(many.append(log) == 0);
    CHECK(read_all(log).size() == 64);
}

TEST_CASE("batch: bad arguments anywhere are refused before the first byte is sent", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    Log reader(conn, "a", 0);
    Slices batch(1, 5, 40);
    std::string big(rpm_log_record_max(log) + 1, 'x');

    CHECK(rpm_log_append_batch(log, batch.slices.data(), 0, nullptr) == RPM_E_INVAL);
    CHECK(rpm_log_append_batch(log, batch.slices.data(), 257, nullptr) == RPM_E_INVAL);
    CHECK(batch.append(reader) == RPM_E_DENIED);
    batch.slices[4].len = 0;
    CHECK(batch.append(log) == RPM_E_INVAL);
    batch.slices[4] = { big.data(), big.size() };
    CHECK(batch.append(log) == RPM_E_TOOBIG);
    CHECK(read_all(log).empty());
}

TEST_CASE("batch: asynchronous appends beside a batch keep their completions", "[unit]")
{
    EACH_KIND(kind);
    rpm_log_opts opts = rpm_log_opts_init();
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log;
    Slices batch(1, 6, 200);

    opts.flags = WRITER;
    opts.inflight_max = 8;
    opts.capacity_bytes = 64 << 10;
    REQUIRE(log.open(conn, "a", opts) == 0);
    REQUIRE(append_async(log, "one", 1, RPM_MORE) == 0);
    REQUIRE(append_async(log, "two", 2) == 0);
    REQUIRE(batch.append(log) == 0);
    CHECK(batch.append(log) == RPM_E_BUSY); // the two asynchronous ones are still to be polled
    auto done = reap(log, 2, 1);
    REQUIRE(done.size() == 2);
    CHECK(done[0].context == reinterpret_cast<void *>(1));
    CHECK(done[1].context == reinterpret_cast<void *>(2));
    CHECK(batch.append(log) == 0);
    CHECK(read_all(log).size() == 14);
}

TEST_CASE("batch: after a fence in the middle, a prefix of the batch may be in the log", "[unit]")
{
    EACH_KIND(kind);
    for (uint64_t at = 1; at < 90; at += 7) {
        Server server;
        Conn conn(server, kind.setup, &conn_opts);
        Conn other_conn(server, kind.setup, &conn_opts);
        Log log(conn, "a", WRITER, 256 << 10);
        Log other;
        Slices batch(1, 80, 100);
        rpm_log_opts opts = rpm_log_opts_init();
        rpm_outcome outcomes[256];
        uint32_t count = 0;
        uint64_t op = 0;

        CAPTURE(at);
        opts.flags = RPM_LOG_WRITE | RPM_LOG_TAKEOVER;
        conn.link->on_op = [&](const rpmi_op &) {
            if (++op == at)
                REQUIRE(other.open(other_conn, "a", opts) == 0);
        };
        int err = batch.append(log);
        conn.link->on_op = nullptr;
        if (err == 0)
            continue;
        CHECK(err == RPM_E_FENCED);
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        CHECK(rpm_log_resume(log, outcomes, 256, &count) == RPM_E_FENCED);
        auto all = read_all(other);
        uint32_t present = 0;
        for (uint32_t i = 0; i < count; i++) {
            CHECK(outcomes[i].present >= 0);
            CHECK((outcomes[i].present == 1) == (i < all.size()));
            present += outcomes[i].present == 1;
        }
        CHECK(present == all.size());
        for (size_t i = 0; i < all.size(); i++)
            CHECK(all[i].data == batch.data[i]);
    }
}
