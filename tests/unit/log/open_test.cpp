// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

extern "C" {
#include "log/log.h"
}

using namespace loop;

namespace
{

// rpm_log_opts as a later version may define it.
struct NewerOpts {
    rpm_log_opts known;
    uint64_t later;
};

} // namespace

TEST_CASE("open: read only needs a log, CREATE makes one, EXCL insists on it", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    rpm_log_opts opts = rpm_log_opts_init();
    Log log;

    CHECK(rpm_log_open(conn, "a", nullptr, &log.log) == RPM_E_NOENT);
    CHECK(log.log == nullptr);
    opts.flags = RPM_LOG_CREATE | RPM_LOG_EXCL;
    opts.capacity_bytes = 8192;
    REQUIRE(log.open(conn, "a", opts) == 0);
    CHECK(info(log).capacity_bytes == 8192);
    CHECK(info(log).epoch == 0);
    Log again;
    CHECK(again.open(conn, "a", opts) == RPM_E_EXISTS);
    opts.flags = RPM_LOG_CREATE;
    opts.capacity_bytes = 4096; // of an existing log: ignored
    REQUIRE(again.open(conn, "a", opts) == 0);
    CHECK(info(again).capacity_bytes == 8192);
    again.close();
    REQUIRE(rpm_log_open(conn, "a", nullptr, &again.log) == 0);
    CHECK(rpm_log_append(again, "x", 1, nullptr) == RPM_E_DENIED);
    CHECK(read_all(again).empty());
}

TEST_CASE("open: options out of range are refused, and nothing is created", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    struct {
        int err;
        void (*spoil)(rpm_log_opts *);
    } bad[] = {
        { RPM_E_INVAL, [](rpm_log_opts *o) { o->flags |= 16; } },
        { RPM_E_INVAL, [](rpm_log_opts *o) { o->level = 5; } },
        { RPM_E_INVAL, [](rpm_log_opts *o) { o->inflight_max = 65537; } },
        { RPM_E_INVAL, [](rpm_log_opts *o) { o->staging_bytes = 1; } },
        { RPM_E_INVAL, [](rpm_log_opts *o) { o->staging_bytes = 65537; } },
        { RPM_E_INVAL, [](rpm_log_opts *o) { o->capacity_bytes = 4095; } },
        { RPM_E_INVAL, [](rpm_log_opts *o) { o->capacity_bytes = 5000; } },
        { RPM_E_INVAL, [](rpm_log_opts *o) { o->size = 4; } },
        { RPM_E_INVAL, [](rpm_log_opts *o) { o->size = 1u << 20; } },
        { RPM_E_INVAL, [](rpm_log_opts *o) { o->mem = reinterpret_cast<void *>(0x1001); } },
        { RPM_E_NOSPACE, [](rpm_log_opts *o) { o->capacity_bytes = 1u << 20; } },
        { RPM_E_INVAL, [](rpm_log_opts *o) { o->capacity_bytes = ~0ull - 4095; } },
        { RPM_E_NOMEM, [](rpm_log_opts *o) { o->staging_bytes = 1u << 30; } },
    };

    for (const auto &row : bad) {
        rpm_log_opts opts = rpm_log_opts_init();
        rpm_log *log = nullptr;

        opts.flags = WRITER;
        opts.capacity_bytes = 8192;
        row.spoil(&opts);
        CAPTURE(&row - bad);
        CHECK(rpm_log_open(conn, "a", &opts, &log) == row.err);
        CHECK(log == nullptr);
        CHECK(std::string(rpm_last_error()) != "");
        rpm_entry entry = rpm_entry_init();
        CHECK(rpm_conn_next(conn, &entry) == 0);
    }
}

TEST_CASE("open: invalid names are refused", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;

    opts.flags = WRITER;
    opts.capacity_bytes = 4096;
    for (const std::string &name :
         { std::string(), std::string(64, 'a'), std::string("a b"), std::string("a\n"),
           std::string("\xc3\xa4"), std::string(5000, 'a') })
        CHECK(rpm_log_open(conn, name.c_str(), &opts, &log) == RPM_E_NAME);
    CHECK(log == nullptr);
    Log longest(conn, std::string(63, 'z').c_str(), WRITER, 4096);
    Log odd(conn, "A/b.c-d_9", WRITER, 4096);
}

TEST_CASE("open: an object of another kind is refused", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    rpm_region_opts region_opts = rpm_region_opts_init();
    rpm_region *region;
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;

    region_opts.flags = RPM_REGION_CREATE;
    region_opts.bytes = 100;
    REQUIRE(rpm_region_open(conn, "a", &region_opts, &region) == 0);
    opts.flags = WRITER;
    CHECK(rpm_log_open(conn, "a", &opts, &log) == RPM_E_EXISTS);
    CHECK(rpm_log_open(conn, "a", nullptr, &log) == RPM_E_EXISTS);
    rpm_region_close(&region);
}

TEST_CASE("open: older and newer callers are served or refused", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    NewerOpts newer = {};
    rpm_log *log = nullptr;

    newer.known = rpm_log_opts_init();
    newer.known.size = sizeof(newer);
    newer.known.flags = WRITER;
    newer.known.capacity_bytes = 8192;
    newer.later = 1;
    CHECK(rpm_log_open(conn, "a", &newer.known, &log) == RPM_E_OPTS);
    CHECK(rpm_log_mem_bytes(&newer.known) == 0);
    newer.later = 0;
    REQUIRE(rpm_log_open(conn, "a", &newer.known, &log) == 0);
    rpm_log_close(&log);
    CHECK(log == nullptr);
    rpm_log_close(&log);

    rpm_log_opts older = rpm_log_opts_init();
    older.size = offsetof(rpm_log_opts, level);
    older.flags = RPM_LOG_WRITE;
    older.level = 99; // beyond its size: not read
    REQUIRE(rpm_log_open(conn, "a", &older, &log) == 0);
    CHECK(info(log).level == RPM_DURABLE);

    struct rpm_log_info small = rpm_log_info_init();
    small.size = offsetof(struct rpm_log_info, capacity_bytes);
    small.capacity_bytes = 7;
    CHECK(rpm_log_info(log, &small) == 0);
    CHECK(small.capacity_bytes == 7);
    small.size = 3;
    CHECK(rpm_log_info(log, &small) == RPM_E_INVAL);
    rpm_log_close(&log);
}

TEST_CASE("open: a second writer is refused until the first has left, or is taken over", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    rpm_log_opts opts = rpm_log_opts_init();
    Log log(conn, "a", WRITER);
    Log other;

    opts.flags = RPM_LOG_WRITE;
    append(log, "one");
    CHECK(other.open(other_conn, "a", opts) == RPM_E_OWNED);
    CHECK(other.open(conn, "a", opts) == RPM_E_OWNED); // on the same connection too
    append(log, "two");
    Log reader(other_conn, "a", 0);
    CHECK(read_all(reader).size() == 2);
    log.close();
    REQUIRE(other.open(other_conn, "a", opts) == 0);
    append(other, "three");
    opts.flags |= RPM_LOG_TAKEOVER;
    REQUIRE(rpm_log_open(conn, "a", &opts, &log.log) == 0);
    CHECK(rpm_log_append(other, "four", 4, nullptr) == RPM_E_FENCED);
    append(log, "five");
    CHECK(read_all(log).size() == 4);
    CHECK(info(log).epoch == 3);
}

TEST_CASE("open: a level that cannot be proven is refused before anything is created", "[unit]")
{
    Setup setup = queued(bit(RPM_METHOD_READ) | bit(RPM_METHOD_WRITE));
    Server server;

    setup.ddio = RPM_YES;
    Conn conn(server, setup);
    rpm_log_opts opts = rpm_log_opts_init();
    Log log;
    rpm_entry entry = rpm_entry_init();

    opts.flags = WRITER;
    opts.capacity_bytes = 4096;
    CHECK(log.open(conn, "a", opts) == RPM_E_NOCAP);
    CHECK(std::string(rpm_last_error()).size() > 10);
    CHECK(rpm_conn_next(conn, &entry) == 0);
    opts.level = RPM_VISIBLE;
    REQUIRE(log.open(conn, "a", opts) == 0);
    CHECK(info(log).level == RPM_VISIBLE);
    append(log, "x");
    CHECK(read_all(log).size() == 1);

    // The connection demands a method that the link lacks; the method of a log comes first.
    rpm_conn_opts conn_opts = with_method(RPM_METHOD_COPY);
    Conn insists(server, setup, &conn_opts);
    Log other;
    CHECK(other.open(insists, "b", opts) == RPM_E_NOCAP);
    opts.method = RPM_METHOD_READ; // the log's own method counts
    CHECK(other.open(insists, "b", opts) == 0);
}

TEST_CASE("open: a log's method is its own, and its readers', also after a reconnect", "[unit]")
{
    rpm_conn_opts conn_opts = with_method(RPM_METHOD_READ);
    rpm_log_opts opts = rpm_log_opts_init();
    Server server;
    Conn conn(server, queued(), &conn_opts);
    Log other(conn, "other", WRITER, 4096);
    std::vector<int> seen;
    Log log;

    opts.flags = WRITER;
    opts.capacity_bytes = 4096;
    opts.method = RPM_METHOD_COUNT;
    CHECK(log.open(conn, "log", opts) == RPM_E_INVAL);
    opts.method = RPM_METHOD_STORE;
    CHECK(log.open(conn, "log", opts) == RPM_E_NOCAP);
    opts.method = RPM_METHOD_WRITE;
    CHECK(log.open(conn, "log", opts) == RPM_E_NOCAP);
    opts.method = RPM_METHOD_COPY;
    REQUIRE(log.open(conn, "log", opts) == 0);
    CHECK(info(log).method == RPM_METHOD_COPY);
    CHECK(info(other).method == RPM_METHOD_READ);
    conn.link->on_op = [&](const rpmi_op &op) { seen.push_back(op.kind); };
    append(log, "x");
    append(other, "y");
    CHECK(seen == std::vector<int>{ RPMI_OP_COPY, RPMI_OP_WRITE, RPMI_OP_READ });
    conn.link->on_op = nullptr;
    server.stop();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    rpm_outcome outcomes[256];
    uint32_t count = 0;
    REQUIRE(rpm_log_resume(log, outcomes, 256, &count) == 0);
    CHECK(info(log).method == RPM_METHOD_COPY);

    // A reader that demands an unavailable method is refused.
    Log reading;
    opts.flags = 0;
    opts.method = RPM_METHOD_STORE;
    REQUIRE(reading.open(conn, "other", opts) == 0);
    rpm_reader_opts reader_opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    reader_opts.level = RPM_DURABLE;
    CHECK(rpm_reader_open(reading, &reader_opts, &reader) == RPM_E_NOCAP);
}

TEST_CASE("open: at each level an append does what the level says", "[unit]")
{
    uint32_t level = GENERATE(1, 2, 3, 4);
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 16384, level);

    CAPTURE(level);
    append(log, "one");
    REQUIRE(append_async(log, "two", 2, RPM_MORE) == 0);
    REQUIRE(append_async(log, "three", 3) == 0);
    CHECK(reap(log, 2).size() == 2);
    REQUIRE(append_async(log, "four", 4, RPM_MORE) == 0);
    REQUIRE(rpm_log_persist(log) == 0);
    CHECK(reap(log, 1).size() == 1);
    CHECK(read_all(log).size() == 4);
    CHECK(info(log).level == level);
    log.close();
    if (level < 4)
        return;
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    Log after(conn, "a", RPM_LOG_WRITE);
    CHECK(read_all(after).size() == 4);
}

TEST_CASE("open: the caller's memory is used, and nothing else", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    rpm_log_opts opts = rpm_log_opts_init();
    Log log;

    opts.flags = WRITER;
    opts.capacity_bytes = 16384;
    opts.inflight_max = 100;
    size_t bytes = rpm_log_mem_bytes(&opts);
    CHECK(bytes > 100 * sizeof(rpmi_entry));
    CHECK(rpm_log_mem_bytes(nullptr) >= sizeof(rpm_log));
    CHECK(rpm_log_mem_bytes(nullptr) < bytes);
    void *mem = aligned_alloc(64, (bytes + 63) / 64 * 64);
    opts.mem = mem;
    REQUIRE(log.open(conn, "a", opts) == 0);
    CHECK(static_cast<void *>(log.log) == mem);
    for (uint64_t i = 0; i < 100; i++)
        REQUIRE(append_async(log, payload(i, 20), i) == 0);
    CHECK(append_async(log, "x", 0) == RPM_E_BUSY);
    CHECK(reap(log, 100).size() == 100);
    log.close();
    free(mem);
}

TEST_CASE("open: every allocation may fail, nothing leaks, nothing is created", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_entry entry = rpm_entry_init();
    size_t staged = conn.link->staged.size();
    Log log;
    uint64_t n = 1;

    opts.flags = WRITER;
    opts.capacity_bytes = 4096;
    for (; n < 20; n++) {
        rpmi_mem_fail_at(n);
        int err = log.open(conn, "a", opts);
        rpmi_mem_fail_at(0);
        if (err == 0)
            break;
        CHECK(err == RPM_E_NOMEM);
        CHECK(rpm_conn_next(conn, &entry) == 0);
        CHECK(conn.conn->owners_open == 0);
        CHECK(conn.link->staged.size() == staged);
    }
    CHECK(n == 3); // handle, staging memory
}

TEST_CASE("open: after a loss at any call or op, the next attempt works", "[unit]")
{
    EACH_KIND(kind);
    uint64_t lost = 0;

    for (uint64_t at = 1; at < 40; at++) {
        Server server;
        Conn conn(server, kind.setup, &conn_opts);
        rpm_log_opts opts = rpm_log_opts_init();
        size_t staged = conn.link->staged.size();
        Log log;

        opts.flags = WRITER;
        opts.capacity_bytes = 4096;
        CAPTURE(at);
        {
            Log first(conn, "a", WRITER, 4096);
            append(first, "one");
        }
        if (at <= 10) {
            conn.link->faults.lose_call = (at + 1) / 2;
            conn.link->faults.lose_reply = at % 2 == 0;
        } else if (at <= 14) {
            conn.link->faults.stall_call = at - 10;
        } else if (at <= 18) {
            conn.link->faults.garbage_call = at - 14;
        } else {
            conn.link->faults.lose_op = at - 18;
        }
        int err = log.open(conn, "a", opts);
        if (err == 0) {
            conn.link->faults = Faults();
            CHECK(read_all(log).size() == 1);
            continue;
        }
        lost++;
        CHECK((err == RPM_E_LOST || err == RPM_E_TIMEDOUT || err == RPM_E_PROTO));
        CHECK(conn.conn->owners_open == 0);
        CHECK(conn.link->staged.size() == staged);
        CHECK(log.open(conn, "a", opts) != 0); // lost until it reconnects
        conn.link->faults = Faults();
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        REQUIRE(log.open(conn, "a", opts) == 0);
        append(log, "two");
        CHECK(read_all(log).size() == 2);
    }
    CHECK(lost >= 15);
}

TEST_CASE("open: many logs, until the pool, the keys or the connection are full", "[unit]")
{
    Server server(4u << 20);
    rpm_conn_opts conn_opts = rpm_conn_opts_init();
    rpm_log_opts opts = rpm_log_opts_init();

    conn_opts.staging_bytes = 64u << 20;
    Conn conn(server, synchronous(), &conn_opts);
    std::vector<rpm_log *> logs;
    rpm_log *log = nullptr;
    int err = 0;

    opts.flags = WRITER;
    opts.capacity_bytes = 4096;
    opts.staging_bytes = 64 << 10;
    while ((err = rpm_log_open(conn, ("l" + std::to_string(logs.size())).c_str(), &opts, &log)) ==
           0) {
        logs.push_back(log);
        REQUIRE(logs.size() < 300);
    }
    CHECK(err == RPM_E_LIMIT);
    CHECK(logs.size() == 127); // two keys each
    rpm_entry entry = rpm_entry_init();
    strcpy(entry.name, "l126~");
    REQUIRE(rpm_conn_next(conn, &entry) == 1); // only created
    CHECK(std::string(entry.name) == "l127");
    CHECK(entry.writer == 0);
    REQUIRE(rpm_conn_remove(conn, "l127") == 0);
    for (rpm_log *one : logs)
        append(one, "x");

    // A reader on each of them, until the keys are used up.
    Conn readers(server, synchronous(), &conn_opts);
    std::vector<rpm_log *> open_readers;
    while ((err = rpm_log_open(readers, "l0", nullptr, &log)) == 0) {
        open_readers.push_back(log);
        REQUIRE(open_readers.size() < 300);
    }
    CHECK(err == RPM_E_LIMIT);
    CHECK(open_readers.size() == 255);

    // The 128th object fits the directory, the 129th does not.
    Conn third(server, synchronous(), &conn_opts);
    Log one_more(third, "l127", WRITER, 4096);
    CHECK(rpm_log_open(third, "l128", &opts, &log) == RPM_E_LIMIT);
    for (rpm_log *one : open_readers)
        rpm_log_close(&one);
    for (rpm_log *one : logs)
        rpm_log_close(&one);
    REQUIRE(rpm_log_open(third, "l5", &opts, &log) == 0);
    rpm_log_close(&log);
}

TEST_CASE("open: a claim that finds no free key fences no writer", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Conn greedy(server, synchronous());
    Log log(conn, "a", WRITER);
    rpm_log_opts opts = rpm_log_opts_init();
    std::vector<rpm_log *> readers;
    rpm_log *one = nullptr;

    while (readers.size() < 254 && rpm_log_open(greedy, "a", nullptr, &one) == 0)
        readers.push_back(one);
    REQUIRE(readers.size() == 254);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_TAKEOVER;
    CHECK(rpm_log_open(greedy, "a", &opts, &one) == RPM_E_LIMIT);
    append(log, "still here");
    for (rpm_log *reader : readers)
        rpm_log_close(&reader);
}

TEST_CASE("open: a fenced log is closed only when its appends have ended at the link too", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    Conn other(server, queued());
    Log log(conn, "log", WRITER, 8192);
    Log taker;
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_region_opts region_opts = rpm_region_opts_init();
    rpm_region *region = nullptr;
    rpm_completion done[4];
    const std::string record(1000, 'r');

    for (int i = 0; i < 7; i++)
        append(log, record);
    conn.link->manual = true;
    REQUIRE(rpm_log_append_async(log, record.data(), record.size(), 0, nullptr, nullptr) == 0);
    while (conn.link->step())
        ;
    REQUIRE(conn.link->done.size() == 1); // it has ended, and was not polled
    opts.flags = WRITER | RPM_LOG_TAKEOVER;
    REQUIRE(taker.open(other, "log", opts) == 0);
    // The ring is full, so this asks the server, and learns that the claim has ended.
    CHECK(rpm_log_append_async(log, record.data(), record.size(), 0, nullptr, nullptr) ==
          RPM_E_FENCED);
    log.close();
    CHECK(conn.link->done.empty());

    // Else this region would take that completion for the one of its own write.
    region_opts.flags = RPM_REGION_CREATE;
    region_opts.bytes = 4096;
    REQUIRE(rpm_region_open(conn, "region", &region_opts, &region) == 0);
    CHECK(rpm_region_write_async(region, 0, "data", 4, nullptr) == 0);
    conn.link->hold = 1;
    CHECK(rpm_region_poll(region, done, 4) == 0);
    conn.link->manual = false;
    rpm_region_close(&region);
}

TEST_CASE("open: two logs and a region share a connection", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log one(conn, "one", WRITER);
    Log two(conn, "dir/two", WRITER);
    rpm_region_opts region_opts = rpm_region_opts_init();
    rpm_region *region;
    char back[6] = {};

    region_opts.flags = RPM_REGION_CREATE;
    region_opts.bytes = 1000;
    REQUIRE(rpm_region_open(conn, "r", &region_opts, &region) == 0);
    for (uintptr_t i = 0; i < 40; i++) {
        REQUIRE(append_async(one, payload(i, 30), i, RPM_MORE) == 0);
        REQUIRE(append_async(two, payload(i + 100, 90), i) == 0);
        if (i % 7 == 0)
            REQUIRE(rpm_region_write(region, i * 6, "region", 6) == 0);
    }
    REQUIRE(rpm_log_persist(one) == 0);
    CHECK(reap(one, 40).size() == 40);
    CHECK(reap(two, 40).size() == 40);
    CHECK(read_all(one).size() == 40);
    CHECK(read_all(two)[7].data == payload(107, 90));
    REQUIRE(rpm_region_read(region, 42 * 5, back, 6) == 0);
    CHECK(std::string(back, 6) == "region");
    rpm_region_close(&region);
}
