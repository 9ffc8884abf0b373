// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

extern "C" {
#include "log/log.h"
}

using namespace loop;

namespace
{

// The ops that one append turned into.
std::vector<rpmi_op> ops_of_append(const Setup &setup, uint32_t method, const char *hints,
                                   size_t len, uint64_t before = 0)
{
    rpm_conn_opts conn_opts = with_method(method);
    std::vector<rpmi_op> seen;
    Server server;

    conn_opts.hints = hints;
    Conn conn(server, setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);
    for (uint64_t i = 0; i < before; i++)
        append(log, "x");
    if (before > 0)
        REQUIRE(rpm_log_trim(log, info(log).tail_lsn) == 0);
    conn.link->on_op = [&](const rpmi_op &op) { seen.push_back(op); };
    append(log, payload(1, len));
    conn.link->on_op = nullptr;
    return seen;
}

} // namespace

TEST_CASE("group: each method turns one record into its ops", "[unit]")
{
    struct {
        uint32_t method;
        std::vector<int> kinds;
    } expected[] = {
        { RPM_METHOD_READ, { RPMI_OP_WRITE, RPMI_OP_READ } },
        { RPM_METHOD_MESSAGE, { RPMI_OP_WRITE, RPMI_OP_PERSIST } },
        { RPM_METHOD_COPY, { RPMI_OP_COPY } },
        { RPM_METHOD_IMMEDIATE, { RPMI_OP_WRITE_IMM } },
        { RPM_METHOD_FLUSH, { RPMI_OP_WRITE, RPMI_OP_FLUSH } },
    };

    for (const auto &row : expected) {
        auto ops = ops_of_append(queued(), row.method, "all", 100);

        CAPTURE(row.method);
        REQUIRE(ops.size() == row.kinds.size());
        for (size_t i = 0; i < ops.size(); i++)
            CHECK(ops[i].kind == row.kinds[i]);
        CHECK(ops[0].len == 128);
        CHECK(ops[0].offset == 4096);
        // Header, payload and zeros lie in one piece; what copies at the far end needs no zeros.
        CHECK(ops[0].head_bytes == 0);
        CHECK(ops[0].body_bytes == (row.method == RPM_METHOD_COPY ? 124 : 128));
        CHECK((ops.back().flags & RPMI_OP_SIGNALED) != 0);
        if (ops.size() == 2)
            CHECK((ops[0].flags & RPMI_OP_SIGNALED) == 0);
    }
}

TEST_CASE("group: without H6 only the bytes that carry data are written", "[unit]")
{
    auto ops = ops_of_append(queued(), RPM_METHOD_READ, "-H6", 100);

    CHECK(ops[0].len == 124);
    CHECK(ops[0].body_bytes == 124);
}

TEST_CASE("group: a frame is sent as it lies, whatever its staging held before", "[unit]")
{
    rpm_conn_opts conn_opts = with_method(RPM_METHOD_READ);
    Server server;
    Conn conn(server, queued(), &conn_opts);
    Log log(conn, "a", WRITER);
    rpm_log *raw = log;
    std::vector<unsigned char> sent;

    memset(raw->outbox.base, 0xee, raw->outbox.bytes);
    conn.link->on_op = [&](const rpmi_op &op) {
        auto at = static_cast<const unsigned char *>(op.body);
        if (op.kind == RPMI_OP_WRITE)
            sent.assign(at, at + op.body_bytes);
    };
    for (size_t len : { 1u, 40u, 41u, 232u, 233u, 1000u }) {
        CAPTURE(len);
        append(log, payload(7, len));
        REQUIRE(sent.size() == (len + 24 + 63) / 64 * 64);
        CHECK(std::string(sent.begin() + 24, sent.begin() + 24 + static_cast<long>(len)) ==
              payload(7, len));
        CHECK(std::all_of(sent.begin() + 24 + static_cast<long>(len), sent.end(),
                          [](unsigned char byte) { return byte == 0; }));
    }
    conn.link->on_op = nullptr;
}

TEST_CASE("group: the largest record finds room, and lies where any type may", "[unit]")
{
    rpm_conn_opts conn_opts = with_method(RPM_METHOD_READ);
    rpm_log_opts opts = rpm_log_opts_init();
    Server server;
    Conn conn(server, queued(), &conn_opts);

    opts.staging_bytes = 64 << 10;
    opts.flags = WRITER;
    opts.capacity_bytes = 256 << 10;
    Log log;
    REQUIRE(log.open(conn, "a", opts) == 0);
    rpm_log *raw = log;
    uint64_t max = raw->record_max;
    void *room = nullptr;

    CHECK(max == (32u << 10) - 256 - 24);
    for (int i = 0; i < 3; i++) {
        REQUIRE(rpm_log_reserve(log, max, &room) == 0);
        CHECK(reinterpret_cast<uintptr_t>(room) % 32 == 0);
        memset(room, i, max);
        REQUIRE(rpm_log_commit(log, max, 0, nullptr, nullptr) == 0);
        REQUIRE(reap(log, 1).size() == 1);
    }
    CHECK(rpm_log_reserve(log, max + 1, &room) == RPM_E_TOOBIG);
}

TEST_CASE("group: without H9 the seal waits for the write", "[unit]")
{
    auto ops = ops_of_append(queued(), RPM_METHOD_READ, "-H9", 100);

    REQUIRE(ops.size() == 2);
    CHECK((ops[0].flags & RPMI_OP_SIGNALED) != 0); // its completion is what is waited for
}

TEST_CASE("group: a record at the end of the ring is led by a pad frame, and both are sealed",
          "[unit]")
{
    auto ops = ops_of_append(queued(), RPM_METHOD_MESSAGE, "all", 200, 62);

    REQUIRE(ops.size() == 4); // pad, record, and a seal of each piece
    CHECK(ops[0].offset == 4096 + 62 * 64);
    CHECK(ops[0].len == 64);
    CHECK(ops[1].offset == 4096);
    CHECK(ops[2].kind == RPMI_OP_PERSIST);
    CHECK(ops[2].offset == ops[0].offset);
    CHECK(ops[2].len == 128);
    CHECK(ops[3].offset == 4096);
    CHECK(ops[3].len == 256);
}

TEST_CASE("group: frames written in a run are sealed from its first byte", "[unit]")
{
    rpm_conn_opts conn_opts = with_method(RPM_METHOD_FLUSH);
    std::vector<rpmi_op> seen;
    Server server;
    Conn conn(server, queued(), &conn_opts);
    Log log(conn, "a", WRITER, 4096);

    append(log, "x");
    conn.link->on_op = [&](const rpmi_op &op) { seen.push_back(op); };
    for (uintptr_t i = 0; i < 5; i++)
        REQUIRE(append_async(log, payload(i, 100), i, i < 4 ? RPM_MORE : 0) == 0);
    CHECK(reap(log, 5).size() == 5);
    REQUIRE(seen.size() == 6);
    CHECK(seen[5].kind == RPMI_OP_FLUSH);
    CHECK(seen[5].offset == 4096 + 64);
    CHECK(seen[5].len == 5 * 128);
}

TEST_CASE("group: hints off or on, the log reads the same", "[unit]")
{
    const char *hints = GENERATE("all", "none", "-H5", "-H6", "-H9", "H9");
    EACH_KIND(kind);
    Server server;
    std::vector<Record> wrote;
    rpmi_rng rng;

    CAPTURE(hints);
    conn_opts.hints = hints;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 16384);
    rpmi_rng_seed(&rng, 5);
    for (uint64_t i = 0; i < 300; i++) {
        std::string data = payload(i, 1 + rpmi_rng_below(&rng, 600));
        uint64_t lsn;

        if (wrote.size() > 15) {
            REQUIRE(rpm_log_trim(log, wrote[8].lsn) == 0);
            wrote.erase(wrote.begin(), wrote.begin() + 8);
        }
        if (i % 3 == 0) {
            lsn = append(log, data);
        } else {
            REQUIRE(append_async(log, data, i, i % 3 == 1 ? RPM_MORE : 0, &lsn) == 0);
        }
        wrote.push_back({ data, lsn, 1 });
        reap(log, 4, i % 3 == 2 ? 50 : 1);
    }
    REQUIRE(rpm_log_persist(log) == 0);
    CHECK(read_all(log) == wrote);
    log.close();
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    Log after(conn, "a", RPM_LOG_WRITE);
    CHECK(read_all(after) == wrote);
}

TEST_CASE("group: what is undone leaves no trace", "[unit]")
{
    // No credit is left, so nothing can be posted: tail and staging must be as before.
    rpm_conn_opts conn_opts = with_method(RPM_METHOD_READ);
    Server server;
    Conn conn(server, queued(), &conn_opts);
    Log log(conn, "a", WRITER);
    rpm_log *raw = log;

    append(log, "x");
    uint64_t tail = raw->tail_lsn;
    uint64_t stage = raw->outbox.tail;
    uint32_t used = conn.conn->credit.used;
    conn.conn->credit.used = conn.conn->credit.limit;
    CHECK(append_async(log, payload(1, 300), 1) == RPM_E_BUSY);
    CHECK(raw->tail_lsn == tail);
    CHECK(raw->outbox.tail == stage);
    CHECK(raw->pending == 0);
    CHECK(raw->ops_count == 0);
    conn.conn->credit.used = used;
    CHECK(append(log, "y") == 64);
    CHECK(read_all(log).size() == 2);
}
