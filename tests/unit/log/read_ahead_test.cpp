// SPDX-License-Identifier: BSD-3-Clause
// read_ahead_test.cpp: a reader whose bytes a copy engine copies returns what a reader without one
// returns, whatever the engine does.
#include "support/fake_copier.h"
#include "unit/log/readers.h"

extern "C" {
#include "log/reader.h"
}

using namespace loop;

namespace
{

const uint64_t AHEAD_CAPACITY = 256 << 10;
const uint32_t AHEAD_BUFFER = 8192;

// A reader with a small buffer, and a copier unless @engine is "".
struct AheadReader : Reader {
    AheadReader(rpm_log *log, const char *engine, uint32_t level = 0)
    {
        rpm_reader_opts opts = rpm_reader_opts_init();

        opts.buffer_bytes = AHEAD_BUFFER;
        opts.engine = engine;
        opts.level = level;
        REQUIRE(rpm_reader_open(log, &opts, &reader) == 0);
    }
    AheadReader(rpm_log *log, FakeCopier &fake, uint32_t level = 0)
        : AheadReader(log, nullptr, level)
    {
        REQUIRE(rpmi_read_ahead_use(reader, &fake.copier) == 0);
    }
};

// Appends records of all lengths and reads them, over several laps of the ring.
void follow_ahead(rpm_log *log, Reader &reader, uint32_t rounds)
{
    uint64_t seed = 1;

    for (uint32_t round = 0; round < rounds; round++) {
        std::vector<std::string> appended;

        for (uint32_t bytes = 0; bytes < 120000; seed++) {
            appended.push_back(payload(seed, 1 + (seed * 997) % (seed % 17 == 0 ? 30000 : 1500)));
            append(log, appended.back());
            bytes += static_cast<uint32_t>(appended.back().size());
        }
        for (const std::string &data : appended)
            REQUIRE(reader.next() == data);
        REQUIRE(reader.next() == "");
        REQUIRE(rpm_log_trim(log, info(log).tail_lsn) == 0);
    }
}

} // namespace

TEST_CASE("read ahead: by an engine a reader returns every record, lap for lap", "[unit]")
{
    EACH_KIND(kind);
    std::string engine = GENERATE("rdma", "cpu");
    uint32_t level = GENERATE(0u, RPM_DURABLE);
    CAPTURE(engine, level);
    if (engine == "cpu" && !kind.setup.synchronous)
        return;
    Server server(2u << 20);
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, AHEAD_CAPACITY);
    AheadReader reader(log, engine.c_str(), level);

    follow_ahead(log, reader, 8);
    CHECK(conn.link->stats().copied_bytes > 8 * 120000);
    CHECK(conn.link->stats().copy_fallbacks == 0);
}

TEST_CASE("read ahead: copies follow each other, and a frame at their border is not copied again",
          "[unit]")
{
    Server server(2u << 20);
    Conn conn(server, queued());
    Log log(conn, "a", WRITER, AHEAD_CAPACITY);
    FakeCopier fake(conn);
    const uint64_t records = 150;

    for (uint64_t i = 0; i < records; i++)
        append(log, payload(i, 1100)); // 1152 bytes of the ring, so not all of a copy
    AheadReader reader(log, fake);
    for (uint64_t i = 0; i < records; i++)
        REQUIRE(reader.next() == payload(i, 1100));
    CHECK(fake.copies <= records * 1152 / AHEAD_BUFFER + 4);
}

TEST_CASE("read ahead: an engine that is slow, refuses or fails costs time, and no record",
          "[unit]")
{
    Server server(2u << 20);
    Conn conn(server, queued());
    Log log(conn, "a", WRITER, AHEAD_CAPACITY);
    FakeCopier fake(conn);
    struct {
        uint32_t delay;
        uint32_t fail_each;
        uint32_t busy_each;
        bool overlaps;
    } rows[] = { { 0, 0, 0, true },  { 3, 0, 0, true }, { 0, 3, 0, true }, { 2, 2, 0, true },
                 { 0, 0, 2, true },  { 1, 1, 0, true }, { 4, 5, 7, true }, { 0, 1, 0, false },
                 { 2, 3, 5, false }, { 0, 0, 1, true } };

    for (const auto &row : rows) {
        FakeCopier copier(conn);
        uint64_t before = conn.link->stats().copy_fallbacks;

        CAPTURE(&row - rows);
        copier.delay = row.delay;
        copier.fail_each = row.fail_each;
        copier.busy_each = row.busy_each;
        copier.caps.overlaps = row.overlaps;
        {
            AheadReader reader(log, copier);

            follow_ahead(log, reader, 3);
        }
        CHECK(copier.closed);
        CHECK_FALSE(copier.outstanding);
        CHECK((conn.link->stats().copy_fallbacks > before) ==
              (row.fail_each != 0 || row.busy_each != 0));
    }
}

TEST_CASE("read ahead: bytes that were copied before a record was appended are not the tail",
          "[unit]")
{
    Server server(2u << 20);
    Conn conn(server, queued());
    Log log(conn, "a", WRITER, AHEAD_CAPACITY);
    FakeCopier fake(conn);
    std::vector<std::string> later;
    uint32_t first = 0;

    for (uint64_t i = 0; i < 14; i++)
        append(log, payload(i, 1000));
    AheadReader reader(log, fake, RPM_DURABLE);
    for (uint64_t i = 0; i < 14 && !fake.outstanding; i++, first++)
        REQUIRE(reader.next() == payload(i, 1000));
    // The copy under way has taken its bytes, some of them behind the tail, where records follow.
    REQUIRE(fake.outstanding);
    REQUIRE(reader.reader->read_ahead.lsn < info(log).tail_lsn);
    REQUIRE(reader.reader->read_ahead.lsn + reader.reader->read_ahead.len > info(log).tail_lsn);
    for (uint64_t i = 0; i < 50; i++) {
        later.push_back(payload(1000 + i, 500));
        append(log, later.back());
    }
    for (uint64_t i = first; i < 14; i++)
        REQUIRE(reader.next() == payload(i, 1000));
    for (const std::string &data : later)
        REQUIRE(reader.next() == data);
    CHECK(reader.next() == "");
}

TEST_CASE("read ahead: a copy whose bytes are not needed any more ends before the next", "[unit]")
{
    Server server(2u << 20);
    Conn conn(server, queued());
    Log log(conn, "a", WRITER, AHEAD_CAPACITY);
    FakeCopier fake(conn);

    fake.delay = 20;
    AheadReader reader(log, fake);
    follow_ahead(log, reader, 4);
    CHECK(fake.copies > 50);
    CHECK(conn.link->stats().copy_fallbacks == 0);
}

TEST_CASE("read ahead: a copy that never ends is left alone, and its bytes are read", "[unit]")
{
    Server server(2u << 20);
    Conn conn(server, queued());
    Log log(conn, "a", WRITER, AHEAD_CAPACITY);
    FakeCopier fake(conn);

    {
        AheadReader reader(log, fake);

        fake.stuck = true;
        follow_ahead(log, reader, 4);
        CHECK(fake.copies == 1);
        CHECK(fake.outstanding);
    }
    CHECK(fake.closed);
    CHECK_FALSE(fake.outstanding); // before the buffer was freed
    CHECK(conn.link->stats().copy_fallbacks > 10);
}

TEST_CASE("read ahead: after a lost link nothing is returned that was copied before", "[unit]")
{
    std::string engine = GENERATE("rdma", "fake");
    CAPTURE(engine);
    Server server(2u << 20);
    Conn conn(server, queued());
    Log log(conn, "a", WRITER, AHEAD_CAPACITY);
    FakeCopier fake(conn);
    auto reader = std::make_unique<AheadReader>(log, engine == "fake" ? nullptr : "rdma");
    uint64_t i = 0;
    uint32_t n = 0;

    if (engine == "fake")
        REQUIRE(rpmi_read_ahead_use(reader->reader, &fake.copier) == 0);
    for (uint64_t k = 0; k < 200; k++)
        append(log, payload(k, 1000));
    while (reader->reader->read_ahead.len == 0)
        REQUIRE(reader->next() == payload(i++, 1000));
    conn.link->drop();
    for (std::string data; (data = reader->next()) != "RPM_E_LOST"; i++)
        REQUIRE(data == payload(i, 1000));
    rpm_outcome outcomes[256];
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    REQUIRE(rpm_log_resume(log, outcomes, 256, &n) == 0);
    for (; i < 200; i++)
        REQUIRE(reader->next() == payload(i, 1000));
    CHECK(reader->next() == "");
    reader.reset();
}

TEST_CASE("read ahead: a log that is opened again waits for the copy under way by its old key",
          "[unit]")
{
    bool late = GENERATE(false, true);
    Server server(2u << 20);
    Conn conn(server, queued());
    Conn thief(server, queued());
    auto first = std::make_unique<Log>(conn, "first", WRITER, 4096);
    Log log(conn, "a", WRITER, AHEAD_CAPACITY);
    auto reader = std::make_unique<AheadReader>(log, "rdma");
    rpm_outcome outcomes[1];
    uint32_t n = 0;

    CAPTURE(late);
    for (uint64_t i = 0; i < 50; i++)
        append(log, payload(i, 1000));
    first.reset(); // so the log's new key has another number than its old one
    Log taken(thief, "a", RPM_LOG_WRITE | RPM_LOG_TAKEOVER);
    REQUIRE(rpm_log_trim(log, 1088) == RPM_E_FENCED); // the link lives
    conn.link->manual = true;
    for (uint64_t i = 0; reader->reader->read_ahead.len == 0; i++)
        REQUIRE(reader->next() == payload(i, 1000));
    REQUIRE(conn.link->flight.size() == 1);
    if (late)
        conn.link->faults.stall_op = 1;
    int err = rpm_log_settle(log, outcomes, 1, &n);
    CHECK(err == (late ? RPM_E_TIMEDOUT : 0));
    CHECK(conn.link->flight.size() == (late ? 1 : 0));
    CHECK((rpm_conn_turn(conn) == 0) == !late);
    reader.reset();
}

TEST_CASE("read ahead: engines that are unknown, or out of reach, are refused at open", "[unit]")
{
    Server server(2u << 20);
    Conn conn(server, queued());
    Log log(conn, "a", WRITER, AHEAD_CAPACITY);
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    uint64_t n = 1;

    opts.engine = "dsa";
    CHECK(rpm_reader_open(log, &opts, &reader) == RPM_E_INVAL);
    opts.engine = "cpu";
    CHECK(rpm_reader_open(log, &opts, &reader) == RPM_E_NOCAP);
    opts.engine = "rdma";
    for (; n < 10; n++) {
        rpmi_mem_fail_at(n);
        int err = rpm_reader_open(log, &opts, &reader);
        rpmi_mem_fail_at(0);
        if (err == 0)
            break;
        CHECK(err == RPM_E_NOMEM);
    }
    CHECK(n == 6);
    append(log, "one");
    rpm_record record;
    auto freeze = std::make_unique<Freeze>();
    CHECK(rpm_reader_next(reader, &record) == 1);
    CHECK(rpm_reader_next(reader, &record) == 0);
    freeze.reset();
    rpm_reader_close(&reader);
}
