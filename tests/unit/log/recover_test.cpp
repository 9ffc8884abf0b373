// SPDX-License-Identifier: BSD-3-Clause
#include "support/rounds.h"
#include "unit/log/kinds.h"

extern "C" {
#include "base/rng.h"
#include "wire/guard.h"

#include <cstring>
}

using namespace loop;

namespace
{

// Counts the warnings and errors of the server.
struct Warnings {
    unsigned count = 0;

    Warnings()
    {
        rpm_diag_sink(
            [](void *all, rpm_diag_level, const char *) { static_cast<Warnings *>(all)->count++; },
            this, RPM_DIAG_WARNING);
    }
    Warnings(const Warnings &) = delete;
    ~Warnings()
    {
        rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);
    }
};

// The newest head of a log.
uint64_t server_turn(const std::vector<unsigned char> &pool)
{
    rpmi_head head = {};

    REQUIRE(rpmi_head_pick(&pool[HEADER], &head, nullptr) == 0);
    return head.turn;
}

} // namespace

TEST_CASE("recover: writers of different levels, power cuts, and nothing is called damaged",
          "[unit]")
{
    EACH_KIND(kind);
    for (uint64_t seed : seeds(0, rounds(200))) {
        Server server;
        std::vector<std::string> wrote;
        size_t durable = 0; // those of the first writers that were durable
        rpmi_rng rng;

        CAPTURE(seed);
        rpmi_rng_seed(&rng, seed);
        for (unsigned life = 0; life < 8; life++) {
            bool proves = rpmi_rng_below(&rng, 2) == 0;
            Conn conn(server, kind.setup, &conn_opts);
            Log log(conn, "a", WRITER, 8192, proves ? RPM_DURABLE : RPM_VISIBLE);
            std::vector<Record> found = read_all(log);

            REQUIRE(found.size() >= durable);
            REQUIRE(found.size() <= wrote.size());
            for (size_t i = 0; i < found.size(); i++)
                REQUIRE(found[i].data == wrote[i]);
            wrote.resize(found.size());
            durable = proves ? wrote.size() : durable;
            for (uint64_t n = rpmi_rng_below(&rng, 5); n > 0; n--) {
                bool wait = rpmi_rng_below(&rng, 2) == 0;

                wrote.push_back(payload(rpmi_rng_next(&rng), 20 + 30 * n)); // all differ
                if (!wait) {
                    REQUIRE(append_async(log, wrote.back(), 0, RPM_MORE) == 0);
                    continue;
                }
                append(log, wrote.back());
                durable = proves ? wrote.size() : durable;
            }
            if (rpmi_rng_below(&rng, 3) == 0)
                continue;
            // Any line may have been evicted from the caches before.
            for (uint64_t at = RING; at < RING + 8192; at += 64)
                if (rpmi_rng_below(&rng, 2) == 0)
                    std::memcpy(&server.pool.kept[at], &server.pool.bytes[at], 64);
            server.power_cut();
            REQUIRE(server.start() == 0);
        }
    }
}

TEST_CASE("recover: records behind a torn one never come back", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    {
        Log log(conn, "a", WRITER, 4096);

        append(log, "one");
        for (const char *data : { "torn", "whole", "whole too" }) // at 64, 128, 192
            REQUIRE(append_async(log, data, 0, RPM_MORE) == 0);
        REQUIRE(rpm_log_persist(log) == 0);
    }
    server.pool.bytes[RING + 64 + 25] ^= 1;
    {
        Log log(conn, "a", RPM_LOG_WRITE);

        CHECK(info(log).torn == 3);
        CHECK(info(log).stranded == 2);
        CHECK(info(log).tail_lsn == 64);
        CHECK(append(log, "new") == 64); // up to the old, whole record
        CHECK(read_all(log).size() == 2);
    }
    Log again(conn, "a", RPM_LOG_WRITE);
    CHECK(info(again).records == 2);
    CHECK(info(again).tail_lsn == 128);
    CHECK(append(again, "newer") == 128);
    auto all = read_all(again);
    REQUIRE(all.size() == 3);
    CHECK(all[0].epoch == 1);
    CHECK(all[1].epoch == 2);
    CHECK(all[2].epoch == 3);
}

TEST_CASE("recover: records found are durable before the epoch is sealed", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);
    rpm_log_opts opts = rpm_log_opts_init();
    Log other;

    REQUIRE(append_async(log, "visible", 1, RPM_MORE) == 0);
    reap(log, 1, 5);
    conn.link->drop();
    opts.flags = RPM_LOG_WRITE;
    // Power fails just before the seal, and just after it.
    bool after = GENERATE(false, true);
    other_conn.link->faults.lose_call = 3;
    other_conn.link->faults.lose_reply = after;
    CHECK(other.open(other_conn, "a", opts) == RPM_E_LOST);
    log.close();
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(other_conn) == 0);
    REQUIRE(other.open(other_conn, "a", opts) == 0);
    CHECK(read_all(other).size() == 1);
    CHECK(info(other).epoch == 3); // the epoch that was claimed and never used is not granted again
}

TEST_CASE("recover: power cuts after every persist by the server in an open leave the log whole",
          "[unit]")
{
    EACH_KIND(kind);
    for (uint32_t n = 1; n < 12; n++) {
        Server server;
        Conn conn(server, kind.setup, &conn_opts);
        rpm_log_opts opts = rpm_log_opts_init();
        Log log;

        CAPTURE(n);
        opts.flags = WRITER;
        opts.capacity_bytes = 4096;
        server.pool.fail_persist_at = n;
        int err = log.open(conn, "a", opts);
        if (err == 0) {
            append(log, "one");
            CHECK(read_all(log).size() == 1);
            continue;
        }
        CHECK(err == RPM_E_IO);
        server.power_cut();
        REQUIRE(server.start() == 0);
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        REQUIRE(log.open(conn, "a", opts) == 0);
        append(log, "one");
        CHECK(read_all(log).size() == 1);
    }
}

TEST_CASE("recover: epochs grow with every writer, also over restarts", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    uint64_t last = 0;

    for (int i = 0; i < 10; i++) {
        Log log(conn, "a", WRITER);

        CHECK(info(log).epoch == last + 1);
        last = info(log).epoch;
        append(log, "x");
        log.close();
        if (i % 3 != 0)
            continue;
        server.power_cut();
        REQUIRE(server.start() == 0);
        REQUIRE(rpm_conn_reconnect(conn) == 0);
    }
    Log reader(conn, "a", 0);
    CHECK(read_all(reader).size() == 10);
}

TEST_CASE("recover: an open log's bounds and report", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    {
        Log log(conn, "a", WRITER, 8192);
        for (int i = 0; i < 30; i++)
            append(log, payload(static_cast<uint64_t>(i), 100));
        REQUIRE(rpm_log_trim(log, 10 * 128) == 0);
    }
    Log log(conn, "a", RPM_LOG_WRITE);
    struct rpm_log_info seen = info(log);
    CHECK(seen.head_lsn == 1280);
    CHECK(seen.tail_lsn == 30 * 128);
    CHECK(seen.records == 20);
    CHECK(seen.torn == 0);
    CHECK(seen.capacity_bytes == 8192);
    CHECK(seen.scan_bytes >= 20 * 128);
    CHECK(seen.method == kind.method);
}

TEST_CASE("recover: a claim or a seal that no server grants is refused", "[unit]")
{
    struct Wrong {
        uint32_t kind;
        std::function<void(rpmi_reply &)> change;
    };
    const Wrong all[] = {
        { RPMI_CALL_CLAIM, [](rpmi_reply &reply) { reply.key = RPMI_KEY_SCRATCH; } },
        { RPMI_CALL_CLAIM, [](rpmi_reply &reply) { reply.epoch = 0; } },
        { RPMI_CALL_SEAL, [](rpmi_reply &reply) { reply.value += 64; } }, // behind the tail
        { RPMI_CALL_SEAL, [](rpmi_reply &reply) { reply.value = UINT64_MAX; } },
        { RPMI_CALL_SEAL, [](rpmi_reply &reply) { reply.value = 1; } },
    };

    for (const Wrong &wrong : all) {
        Server server;
        Conn conn(server, queued());
        rpm_log_opts opts = rpm_log_opts_init();
        Log log;

        opts.flags = WRITER;
        opts.capacity_bytes = 8192;
        conn.link->on_reply = [&](const rpmi_call &call, rpmi_reply &reply) {
            if (call.kind == wrong.kind)
                wrong.change(reply);
        };
        CHECK(log.open(conn, "a", opts) == RPM_E_PROTO);
        conn.link->on_reply = nullptr;
        opts.flags |= RPM_LOG_TAKEOVER;
        REQUIRE(log.open(conn, "a", opts) == 0);
        append(log, "whole");
        CHECK(read_all(log).size() == 1);
    }
}

TEST_CASE("recover: a claim that no server grants to a repair is refused", "[unit]")
{
    rpm_repair_report report = rpm_repair_report_init();
    rpm_repair_opts opts = rpm_repair_opts_init();
    Server server;
    Conn conn(server, queued());

    {
        Log log(conn, "a", WRITER, 8192);
        append(log, "whole");
    }
    std::fill_n(server.pool.bytes.begin() + HEADER, 256, 0xff); // two of its head slots
    opts.flags = RPM_REPAIR_WRITE;
    conn.link->on_reply = [](const rpmi_call &call, rpmi_reply &reply) {
        if (call.kind == RPMI_CALL_CLAIM)
            reply.key = RPMI_KEY_SCRATCH;
    };
    CHECK(rpm_log_repair(conn, "a", &opts, &report) == RPM_E_PROTO);
    CHECK(report.done == 0);
}

TEST_CASE("recover: any bit of the head slots flipped, and no record is missing or changed",
          "[unit]")
{
    EACH_KIND(kind);
    bool trimmed = GENERATE(false, true); // the newest head is that of a trim, or of a seal
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    std::vector<unsigned char> good;
    std::vector<Record> records;
    {
        Log log(conn, "a", WRITER, 4096);

        for (uint64_t i = 0; i < 6; i++)
            append(log, payload(i, 40));
        REQUIRE(rpm_log_trim(log, 64) == 0);
    }
    {
        Log log(conn, "a", RPM_LOG_WRITE);

        for (uint64_t i = 0; i < 6; i++)
            append(log, payload(100 + i, 40));
        if (trimmed)
            REQUIRE(rpm_log_trim(log, 128) == 0);
        records = read_all(log);
    }
    REQUIRE(records.size() == (trimmed ? 10 : 11));
    good = server.pool.bytes;
    Warnings warnings;
    for (uint64_t bit = 0; bit < 8 * RPMI_GUARD_OFFSET; bit += kSlow ? 3 : 1) {
        // Nothing between the slots is read: some bytes of it are enough.
        if (bit / 8 % RPMI_HEAD_SLOT_STRIDE >= RPMI_HEAD_BYTES && bit % 64 != 0)
            continue;
        server.pool.bytes[HEADER + bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        CAPTURE(bit);
        {
            Log reader(conn, "a", 0);

            REQUIRE(read_all(reader) == records);
            REQUIRE(info(reader).records == records.size());
        }
        {
            Log writer(conn, "a", RPM_LOG_WRITE);

            append(writer, "more");
            REQUIRE(rpm_log_trim(writer, records[1].lsn) == 0);
            REQUIRE(read_all(writer).size() == records.size());
        }
        // The server writes a damaged copy of the newest head again, and reports it.
        bool newest = (bit / 8 / RPMI_HEAD_SLOT_STRIDE) % 2 == server_turn(good) % 2;
        REQUIRE(warnings.count == (newest && bit / 8 % RPMI_HEAD_SLOT_STRIDE < RPMI_HEAD_BYTES));
        warnings.count = 0;
        std::memcpy(server.pool.bytes.data(), good.data(), good.size());
    }
}
