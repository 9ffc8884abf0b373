// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

extern "C" {
#include "log/log.h"
}

using namespace loop;

namespace
{

// The ops that one append has become.
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
        // Header, payload and zeros are one piece; where the server copies, no zeros are sent.
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
    CHECK((ops[0].flags & RPMI_OP_SIGNALED) != 0); // the log waits for its completion
}

TEST_CASE("group: a record at the end of the ring is led by a pad frame, and both are sealed",
          "[unit]")
{
    auto ops = ops_of_append(queued(), RPM_METHOD_MESSAGE, "all", 200, 62);

    REQUIRE(ops.size() == 4); // pad, record, and a seal for each piece
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

TEST_CASE("group: an undone reservation leaves no trace", "[unit]")
{
    // Without a credit nothing can be posted: tail and staging memory must be unchanged.
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

namespace
{

// A log on a link whose operations are only carried out by step().
struct Slow {
    Server server;
    Conn conn;
    Log log;
    rpm_log *raw = nullptr;

    explicit Slow(const Kind &kind, const char *hints = "all", uint32_t pace = 0,
                  uint32_t depth = 0)
    {
        rpm_conn_opts conn_opts = with_method(kind.method);
        rpm_log_opts opts = rpm_log_opts_init();

        conn_opts.hints = hints;
        conn_opts.pace = pace;
        conn_opts.depth = depth;
        REQUIRE(connect(server, kind.setup, &conn_opts, &conn.conn) == 0);
        conn.link = link_of(conn.conn);
        opts.flags = WRITER;
        opts.capacity_bytes = 256 << 10;
        REQUIRE(log.open(conn, "a", opts) == 0);
        raw = log;
        conn.link->manual = !kind.setup.synchronous;
    }
    ~Slow()
    {
        conn.link->manual = false;
    }
    void append(uintptr_t first, uintptr_t n, size_t len = 40)
    {
        for (uintptr_t i = first; i < first + n; i++)
            REQUIRE(append_async(log, payload(i, len), i) == 0);
    }
    // Carries out all posted ops, releases their completions, polls once. Returns the contexts.
    std::vector<uintptr_t> turn(uint32_t room = 16)
    {
        std::vector<uintptr_t> all;
        rpm_completion done[64];

        while (conn.link->step())
            ;
        conn.link->hold = 1000;
        int n = rpm_log_poll(log, done, room);
        REQUIRE(n >= 0);
        for (int i = 0; i < n; i++) {
            REQUIRE(done[i].status == 0);
            all.push_back(reinterpret_cast<uintptr_t>(done[i].context));
        }
        conn.link->hold = 0;
        return all;
    }
    int poll()
    {
        rpm_completion done[64];

        return rpm_log_poll(log, done, 64);
    }
    size_t posted() const
    {
        return conn.link->flight.size();
    }
};

std::vector<Kind> queued_kinds()
{
    std::vector<Kind> some;

    for (const Kind &kind : kinds())
        if (!kind.setup.synchronous)
            some.push_back(kind);
    return some;
}

size_t seals(const Kind &kind)
{
    return kind.method == RPM_METHOD_COPY || kind.method == RPM_METHOD_IMMEDIATE ? 0 : 1;
}

std::vector<uintptr_t> range(uintptr_t first, uintptr_t n)
{
    std::vector<uintptr_t> all;

    for (uintptr_t i = first; i < first + n; i++)
        all.push_back(i);
    return all;
}

} // namespace

#define EACH_QUEUED(kind)                                                                          \
    Kind kind = GENERATE(from_range(queued_kinds()));                                              \
    CAPTURE(kind.name)

TEST_CASE("group: appends behind an outstanding flush share the next one", "[unit]")
{
    EACH_QUEUED(kind);
    Slow slow(kind);

    slow.append(1, 1);
    CHECK(slow.posted() == 1 + seals(kind)); // posted at once, with a flush of its own
    slow.append(2, 8);
    CHECK(slow.posted() == 1 + seals(kind));
    CHECK(slow.raw->waiting == 8);
    CHECK(slow.poll() == 0); // no completion to return, so no more appends follow: they are posted
    CHECK(slow.posted() == 9 + 2 * seals(kind));
    CHECK(slow.raw->waiting == 0);
    CHECK(slow.turn() == range(1, 9));
    slow.conn.link->manual = false;
    CHECK(read_all(slow.log).size() == 9);
}

TEST_CASE("group: a flush ends only what was posted before it", "[unit]")
{
    EACH_QUEUED(kind);
    Slow slow(kind);

    slow.append(1, 1);
    slow.append(2, 3);
    CHECK(slow.turn() == range(1, 1)); // only the first was outstanding
    CHECK(slow.raw->acked_lsn == 64);
    CHECK(slow.posted() == 0); // and its caller may append more
    CHECK(slow.raw->waiting == 3);
    CHECK(slow.poll() == 0);
    CHECK(slow.posted() == 3 + seals(kind));
    CHECK(slow.turn() == range(2, 3));
}

TEST_CASE("group: records that are appended together share one flush", "[unit]")
{
    EACH_QUEUED(kind);
    Slow slow(kind);
    uint64_t before;

    slow.append(0, 8);
    CHECK(slow.poll() == 0);
    CHECK(slow.turn() == range(0, 8));
    before = slow.conn.conn->ended;
    for (uintptr_t turn = 1; turn <= 5; turn++) {
        slow.append(8 * turn, 8);
        CHECK(slow.posted() == 0);
        CHECK(slow.poll() == 0);
        CHECK(slow.posted() == 8 + seals(kind));
        CHECK(slow.turn() == range(8 * turn, 8));
    }
    CHECK(slow.conn.conn->ended == before + 5);
    // Single appends again: the first one still waits for a poll, the later ones do not.
    slow.append(100, 1);
    CHECK(slow.posted() == 0);
    CHECK(slow.poll() == 0);
    CHECK(slow.turn() == range(100, 1));
    for (uintptr_t i = 101; i < 110; i++) {
        slow.append(i, 1);
        CHECK(slow.posted() == 1 + seals(kind));
        CHECK(slow.turn() == range(i, 1));
    }
}

TEST_CASE("group: at most two flushes are outstanding, the second not for a few", "[unit]")
{
    EACH_QUEUED(kind);
    Slow slow(kind);

    slow.append(1, 1);
    slow.append(2, 4);
    CHECK(slow.poll() == 0);
    CHECK(slow.raw->waiting == 0);
    slow.append(6, 30);
    CHECK(slow.poll() == 0);
    CHECK(slow.raw->waiting == 30); // two flushes are outstanding
    while (slow.conn.link->step())
        ;
    slow.conn.link->hold = 1;
    CHECK(slow.poll() == 1);
    CHECK(slow.poll() == 0); // 30 appends behind 4: they are posted
    CHECK(slow.raw->waiting == 0);
    CHECK(slow.turn(64) == range(2, 34));

    slow.append(36, 30);
    CHECK(slow.poll() == 0);
    slow.append(66, 2);
    CHECK(slow.poll() == 0);
    CHECK(slow.raw->waiting == 2); // 2 appends behind 30: they wait for these
    CHECK(slow.turn(64) == range(36, 30));
    CHECK(slow.poll() == 0);
    CHECK(slow.turn(64) == range(66, 2));
}

TEST_CASE("group: blocking calls post the waiting appends too", "[unit]")
{
    EACH_QUEUED(kind);
    enum How { APPEND, BATCH, PERSIST, CLOSE, OTHER };
    How how = GENERATE(APPEND, BATCH, PERSIST, CLOSE, OTHER);
    Slow slow(kind);
    Log other(slow.conn, "b", WRITER);
    rpm_slice batch[] = { { "x", 1 }, { "y", 1 } };
    uint64_t lsn = 0;

    CAPTURE(how);
    slow.append(1, 1);
    slow.append(2, 4);
    slow.conn.link->manual = false;
    if (how == APPEND)
        CHECK(append(slow.log, "x") == 5 * 64);
    else if (how == BATCH)
        CHECK(rpm_log_append_batch(slow.log, batch, 2, nullptr) == 0);
    else if (how == PERSIST)
        CHECK(rpm_log_persist(slow.log) == 0);
    else if (how == OTHER)
        append(other, "x");
    if (how < CLOSE) {
        CHECK(slow.raw->waiting == 0);
        CHECK(slow.raw->completed == slow.raw->submitted);
        CHECK(slow.turn() == range(1, 5));
    } else if (how == OTHER) {
        CHECK(slow.raw->waiting == 0); // posted, so that they do not wait for the end of that call
    }
    slow.log.close();
    Log after(slow.conn, "a", WRITER);
    CHECK(info(after).records >= 5);
    lsn = append(after, "z");
    CHECK(lsn >= 5 * 64);
}

TEST_CASE("group: waiting appends are posted in pieces that fit", "[unit]")
{
    EACH_QUEUED(kind);
    size_t len = GENERATE(40, 2000);
    Slow slow(kind);

    CAPTURE(len);
    slow.append(0, 1, len);
    slow.append(1, 50, len);
    slow.append(51, 50, len);
    CHECK(slow.raw->waiting == 100);
    CHECK(slow.raw->pending < 64); // RPMI_BATCH_OPS_MAX, or 16 KiB
    CHECK((len == 40 || slow.raw->pending <= 9));
    slow.conn.link->manual = false;
    auto done = reap(slow.log, 101);
    REQUIRE(done.size() == 101);
    for (uintptr_t i = 0; i < 101; i++)
        REQUIRE(done[i].context == reinterpret_cast<void *>(i));
    CHECK(read_all(slow.log).size() == 101);
}

TEST_CASE("group: the second half of a reservation may wait too", "[unit]")
{
    EACH_QUEUED(kind);
    Slow slow(kind);
    void *room = nullptr;

    slow.append(1, 2);
    for (uintptr_t i = 3; i < 6; i++) {
        REQUIRE(rpm_log_reserve(slow.log, 400, &room) == 0);
        memcpy(room, payload(i, 100).data(), 100);
        CHECK(slow.poll() == 0); // posts the waiting appends around the reservation
        REQUIRE(rpm_log_commit(slow.log, 100, 0, reinterpret_cast<void *>(i), nullptr) == 0);
    }
    REQUIRE(rpm_log_reserve(slow.log, 400, &room) == 0);
    rpm_log_abandon(slow.log);
    slow.append(6, 1);
    slow.conn.link->manual = false;
    CHECK(reap(slow.log, 6).size() == 6);
    auto all = read_all(slow.log);
    REQUIRE(all.size() == 6);
    for (uintptr_t i = 3; i < 6; i++)
        CHECK(all[i - 1].data == payload(i, 100));
}

TEST_CASE("group: nothing waits where posts complete at once, or without H9", "[unit]")
{
    Kind kind = kinds()[GENERATE(0, 1)];
    Slow slow(kind, "-H9");

    slow.conn.link->manual = false;
    for (uintptr_t i = 0; i < 20; i++) {
        REQUIRE(append_async(slow.log, "x", i) == 0);
        CHECK(slow.raw->waiting == 0);
    }
    CHECK(reap(slow.log, 20).size() == 20);
}

TEST_CASE("group: no more waits than the throttle lets go, or credits are left for", "[unit]")
{
    bool throttled = GENERATE(true, false);
    Slow slow(kinds()[1], "all", throttled ? RPM_PACE_THROTTLE : 0, 66);
    uint64_t sent = 0;
    uint64_t came = 0;
    uint32_t most = 0;

    CAPTURE(throttled);
    for (uint32_t turn = 0; turn < 20000 && came < 500; turn++) {
        if (sent < 500 && append_async(slow.log, payload(sent, 200), sent) == 0)
            sent++;
        most = std::max(most, slow.raw->ops_count);
        if (turn % 40 == 39)
            for (uintptr_t one : slow.turn())
                REQUIRE(one == came++);
    }
    CHECK(came == 500);
    CHECK(most > 0);
    CHECK(most <= (throttled ? RPMI_THROTTLE_LIMIT_MIN : 64));
    slow.conn.link->manual = false;
    CHECK(read_all(slow.log).size() == 500);
}

TEST_CASE("group: appends waiting when the link is lost complete once, and are settled", "[unit]")
{
    EACH_QUEUED(kind);
    Slow slow(kind);
    rpm_outcome outcomes[256];
    rpm_completion done[16];
    uint32_t count = 0;

    slow.append(1, 1);
    slow.append(2, 5);
    CHECK(slow.raw->pending == 5);
    slow.conn.link->drop();
    int n = rpm_log_poll(slow.log, done, 16);
    REQUIRE(n == 6);
    for (int i = 0; i < n; i++) {
        CHECK(done[i].context == reinterpret_cast<void *>(uintptr_t(i) + 1));
        CHECK(done[i].status == RPM_E_LOST);
    }
    CHECK(slow.raw->pending == 0);
    CHECK(slow.raw->waiting == 0);
    CHECK(slow.conn.conn->holding == 0);
    slow.conn.link->manual = false;
    REQUIRE(rpm_conn_reconnect(slow.conn) == 0);
    REQUIRE(rpm_log_resume(slow.log, outcomes, 256, &count) == 0);
    REQUIRE(count == 6);
    for (uint32_t i = 1; i < count; i++)
        CHECK(outcomes[i].present == 0);
    CHECK(reap(slow.log, 1, 5).empty());
    append(slow.log, "after");
    CHECK(read_all(slow.log).size() == 1u + static_cast<size_t>(outcomes[0].present));
}

TEST_CASE("group: appends waiting when the claim is lost complete as fenced", "[unit]")
{
    EACH_QUEUED(kind);
    Slow slow(kind);
    Conn usurper(slow.server, kind.setup);
    rpm_completion done[16];

    slow.append(1, 1);
    slow.append(2, 5);
    Log taken(usurper, "a", RPM_LOG_WRITE | RPM_LOG_TAKEOVER);
    slow.conn.link->manual = false;
    int n = 0;
    for (int i = 0; i < 100 && n < 6; i++) {
        int got = rpm_log_poll(slow.log, done, 16);

        REQUIRE(got >= 0);
        for (int k = 0; k < got; k++)
            CHECK(done[k].status == RPM_E_FENCED);
        n += got;
    }
    CHECK(n == 6);
    CHECK(slow.conn.conn->holding == 0);
    CHECK(append_async(slow.log, "x", 9) == RPM_E_FENCED);
    CHECK(read_all(taken).empty());
}
