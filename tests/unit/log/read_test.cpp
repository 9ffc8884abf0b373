// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/readers.h"

extern "C" {
#include "base/clock.h"
#include "log/log.h"
}

using namespace loop;

TEST_CASE("read: a level that cannot be proven", "[unit]")
{
    Setup setup = queued(bit(RPM_METHOD_READ) | bit(RPM_METHOD_WRITE));
    Server server;

    setup.ddio = RPM_YES;
    Conn conn(server, setup);
    Log log(conn, "a", WRITER, 4096, RPM_VISIBLE);
    Reader reader;
    CHECK(reader.open(log, 0, RPM_DURABLE) == RPM_E_NOCAP);
}

TEST_CASE("read: every allocation may fail, and none comes after open", "[unit]")
{
    EACH_KIND(kind);
    Server server(4u << 20);
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 2u << 20);
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    rpm_record record;
    uint64_t n = 1;

    for (; n < 10; n++) {
        rpmi_mem_fail_at(n);
        int err = rpm_reader_open(log, nullptr, &reader);
        rpmi_mem_fail_at(0);
        if (err == 0)
            break;
        CHECK(err == RPM_E_NOMEM);
    }
    CHECK(n == 3);
    rpm_reader_close(&reader);
    std::string big = payload(1, rpm_log_record_max(log) - 1);
    append(log, "small");
    append(log, big);
    append(log, "small");
    opts.buffer_bytes = 4096; // much smaller than the record
    REQUIRE(rpm_reader_open(log, &opts, &reader) == 0);
    auto freeze = std::make_unique<Freeze>();
    CHECK(rpm_reader_next(reader, &record) == 1);
    REQUIRE(rpm_reader_next(reader, &record) == 1);
    CHECK(std::string(static_cast<const char *>(record.data), record.len) == big);
    CHECK(rpm_reader_next(reader, &record) == 1);
    CHECK(rpm_reader_next(reader, &record) == 0);
    freeze.reset();
    rpm_reader_close(&reader);
}

TEST_CASE("read: following a writer, record by record", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn reader_conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 8192);
    Log read_only(reader_conn, "a", 0);
    Reader reader(read_only);
    Reader durable(read_only, 0, RPM_DURABLE);

    for (uint64_t i = 0; i < 500; i++) {
        std::string data = payload(i, 1 + (i * 31) % 400);

        CHECK(reader.next() == "");
        if (i % 11 == 0)
            REQUIRE(rpm_log_trim(log, info(log).tail_lsn) == 0);
        append(log, data);
        REQUIRE(reader.next() == data);
        REQUIRE(durable.next() == data);
    }
}

TEST_CASE("read: what is given out at DURABLE survives a power cut", "[unit]")
{
    EACH_KIND(kind);
    for (uint64_t k = 0; k < 20; k++) {
        Server server;
        Conn conn(server, kind.setup, &conn_opts);
        Conn reader_conn(server, kind.setup, &conn_opts);
        Log log(conn, "a", WRITER, 8192);
        Log read_only(reader_conn, "a", 0);
        Reader reader(read_only, 0, RPM_DURABLE);
        std::vector<std::string> got;

        // Never sealed, so visible at most. The reader reads in between, at the tail too.
        for (uint64_t i = 0; i <= k; i++) {
            REQUIRE(append_async(log, payload(i, 10), i, RPM_MORE) == 0);
            reap(log, 1, 3);
            std::string data;
            while (i % 2 == k % 2 && (data = reader.next()) != "")
                got.push_back(data);
        }
        CAPTURE(k);
        CHECK(got.size() == k + 1);
        rpm_reader_close(&reader.reader);
        read_only.close();
        server.power_cut();
        REQUIRE(server.start() == 0);
        log.close();
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        Log after(conn, "a", RPM_LOG_WRITE);
        auto all = read_all(after);
        REQUIRE(all.size() >= got.size());
        for (size_t i = 0; i < got.size(); i++)
            CHECK(all[i].data == got[i]);
    }
}

TEST_CASE("read: an overtaken reader gets RPM_E_TRIMMED, whatever bytes are at its place", "[unit]")
{
    EACH_KIND(kind);
    size_t len = GENERATE(1, 20, 500, 1500);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);

    CAPTURE(len);
    for (uint64_t behind = 0; behind < 6; behind++) {
        Reader reader(log, info(log).tail_lsn);

        CHECK(reader.next() == ""); // it has read the tail here
        for (uint64_t until = info(log).tail_lsn + 12000; info(log).tail_lsn < until;) {
            if (rpm_log_append(log, std::string(len, '\0').data(), len, nullptr) == RPM_E_FULL)
                REQUIRE(rpm_log_trim(log, info(log).tail_lsn) == 0);
        }
        REQUIRE(rpm_log_trim(log, info(log).tail_lsn) == 0);
        append(log, std::string(1 + behind * 64, 'z'));
        // The same bytes may be there again; the reader still reads the head soon.
        std::string said;
        for (int i = 0; i < 70 && said == ""; i++)
            said = reader.next();
        CHECK(said == "RPM_E_TRIMMED");
        CHECK(reader.next() == "RPM_E_TRIMMED");
    }
}

TEST_CASE("read: a trim of a pad frame alone takes nothing from a reader in front of it", "[unit]")
{
    Setup setup = synchronous();
    Server server;

    setup.line_bytes = 256;
    Conn conn(server, setup);
    Log log(conn, "a", WRITER, 8192);
    Reader reader(log);

    append(log, "one");
    CHECK(reader.next() == "one");
    CHECK(append(log, payload(1, 300)) == 256);
    REQUIRE(rpm_log_trim(log, 256) == 0);
    CHECK(read_all(log, 64).size() == 1);
    CHECK(reader.next() == payload(1, 300));
    CHECK(reader.next() == "");
    Reader late;
    append(log, "two");
    REQUIRE(rpm_log_trim(log, 768) == 0);
    CHECK(late.open(log, 64) == RPM_E_TRIMMED);
    CHECK(late.open(log, 100) == RPM_E_TRIMMED);
}

TEST_CASE("read: the tail is looked at alone while nothing changes", "[unit]")
{
    Kind kind = kinds()[1];
    rpm_conn_opts conn_opts = with_method(kind.method);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    Reader reader(log);

    append(log, "x");
    CHECK(reader.next() == "x");
    CHECK(reader.next() == "");
    CHECK(reader.next() == "");
    uint64_t ops = conn.link->ops;
    uint64_t bytes = conn.link->stats().read_bytes;
    for (int i = 0; i < 50; i++)
        CHECK(reader.next() == "");
    CHECK(conn.link->ops == ops + 50);
    CHECK(conn.link->stats().read_bytes == bytes + 50 * 64);
}

TEST_CASE("read: a reader at a damaged record gets an error, wherever it began", "[unit]")
{
    EACH_KIND(kind);
    bool was_there = GENERATE(true, false); // when it was the tail
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 8192);
    Reader reader(log);

    CAPTURE(was_there);
    append(log, "one");
    CHECK(reader.next() == "one");
    CHECK(reader.next() == "");
    append(log, "two");
    if (was_there) {
        CHECK(reader.next() == "two");
        CHECK(reader.next() == "");
    }
    uint64_t damaged = append(log, "three");
    append(log, "four");
    unsigned char &byte = server.pool.bytes[36864 + 4096 + damaged + 25];
    byte ^= 1;
    if (!was_there)
        CHECK(reader.next() == "two");
    CHECK(reader.next() == ""); // it may be outstanding
    server.now_ns += 100000000;
    CHECK(reader.next() == "RPM_E_CORRUPT");
    CHECK(reader.next() == "RPM_E_CORRUPT");
    byte ^= 1;
    CHECK(reader.next() == "three");
    CHECK(reader.next() == "four");
    CHECK(reader.next() == "");
}

TEST_CASE("read: a new writer's records follow those of the old one", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Log read_only;
    Log log(conn, "a", WRITER, 8192);
    REQUIRE(rpm_log_open(other_conn, "a", nullptr, &read_only.log) == 0);
    Reader reader(read_only);

    append(log, "one");
    CHECK(reader.next() == "one");
    for (const char *data : { "torn", "hidden" })
        REQUIRE(append_async(log, data, 0, RPM_MORE) == 0);
    REQUIRE(rpm_log_persist(log) == 0);
    server.pool.bytes[36864 + 4096 + 64 + 25] ^= 1;
    CHECK(reader.next() == "");
    log.close();
    REQUIRE(rpm_log_open(conn, "a", nullptr, &log.log) == 0);
    log.close();
    Log next(conn, "a", RPM_LOG_WRITE);
    CHECK(reader.next() == "");
    append(next, "two");
    CHECK(reader.next() == "two");
    CHECK(reader.next() == ""); // without "hidden"
    append(next, "three");
    CHECK(reader.next() == "three");
}

TEST_CASE("read: after a resume a reader goes on, if what it had read is still there", "[unit]")
{
    EACH_KIND(kind);
    bool survives = GENERATE(true, false);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 8192);
    Reader reader(log);
    rpm_outcome outcomes[256];
    uint32_t count;

    CAPTURE(survives);
    append(log, "one");
    REQUIRE(append_async(log, "two", 2, RPM_MORE) == 0);
    REQUIRE(append_async(log, "more", 3, RPM_MORE) == 0);
    reap(log, 2, 10);
    CHECK(reader.next() == "one");
    CHECK(reader.next() == "two"); // visible; the rest is in the reader's buffer
    if (survives)
        REQUIRE(rpm_log_persist(log) == 0);
    server.pool.bytes = survives ? server.pool.bytes : server.pool.kept;
    bool gone = memcmp(&server.pool.bytes[36864 + 4096 + 64 + 24], "two", 3) != 0;
    server.stop();
    REQUIRE(server.start() == 0);
    std::string lost = reader.next();
    CHECK((lost == "RPM_E_LOST" || lost == "more"));
    CHECK(rpm_log_append(log, "x", 1, nullptr) == RPM_E_LOST);
    CHECK(reader.next() == "RPM_E_LOST");
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    CHECK(reader.next() == "RPM_E_LOST");
    REQUIRE(rpm_log_resume(log, outcomes, 256, &count) == 0);
    if (gone) {
        CHECK(reader.next() == "RPM_E_RANGE");
        append(log, "2nd");
        append(log, "3rd");
        CHECK(reader.next() == "RPM_E_RANGE"); // although a record begins there again
    } else {
        append(log, "after");
        std::string next = reader.next();
        if (next == "more")
            next = reader.next();
        CHECK(next == "after");
        CHECK(reader.next() == "");
    }
}

TEST_CASE("read: a reader of a read-only log is lost with the connection", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 8192);
    append(log, "one");
    append(log, "two");
    log.close();
    Log read_only(conn, "a", 0);
    Log other(conn, "b", WRITER, 8192); // each reader takes a key of its own
    Reader reader(read_only);
    CHECK(reader.next() == "one");
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    CHECK(reader.next() == "RPM_E_LOST"); // another object may have its key now
    CHECK(rpm_log_trim(read_only, 64) == RPM_E_LOST);
    struct rpm_log_info none = rpm_log_info_init();
    CHECK(rpm_log_info(read_only, &none) == RPM_E_LOST);
}

TEST_CASE("read: lost at any op of a reader", "[unit]")
{
    EACH_KIND(kind);
    for (uint64_t at = 1; at < 12; at++) {
        Server server;
        Conn conn(server, kind.setup, &conn_opts);
        Log log(conn, "a", WRITER, 8192);
        Reader reader;
        std::string got;

        for (uint64_t i = 0; i < 10; i++)
            append(log, payload(i, 600));
        conn.link->faults.lose_op = at;
        int err = reader.open(log, 0, RPM_DURABLE);
        if (err != 0) {
            CHECK(err == RPM_E_LOST);
            continue;
        }
        for (uint64_t i = 0; i < 11 && (got = reader.next()) != "RPM_E_LOST"; i++)
            CHECK(got == (i < 10 ? payload(i, 600) : ""));
    }
}

TEST_CASE("read: waiting for a record, in the link's time", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn reader_conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 8192);
    Log read_only(reader_conn, "a", 0);
    Reader reader(read_only);
    rpm_record record;
    uint32_t pauses = 0;

    CHECK(rpm_reader_wait(reader.reader, 0, &record) == 0);
    reader_conn.link->on_pause = [&] {
        if (++pauses == 20)
            append(log, "at last");
    };
    CHECK(rpm_reader_wait(reader.reader, 100000000, &record) == 1);
    CHECK(record.len == 7);
    CHECK(pauses == 20);
    uint64_t begin = server.now_ns;
    CHECK(rpm_reader_wait(reader.reader, 50000, &record) == 0);
    CHECK(server.now_ns - begin >= 50000000);
    CHECK(server.now_ns - begin < 53000000);
    reader_conn.link->on_pause = [&] { reader_conn.link->drop(); };
    CHECK(rpm_reader_wait(reader.reader, UINT64_MAX, &record) == RPM_E_LOST);
}

namespace
{
uint64_t fake_now;
uint32_t fake_asked;
} // namespace

TEST_CASE("read: a clock that goes backwards does not make a wait endless", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Log log(conn, "a", WRITER, 8192);
    Reader reader(log);
    rpm_record record;

    fake_now = 1000000000;
    fake_asked = 0;
    rpmi_clock_replace([]() -> uint64_t {
        fake_asked++;
        // Back and forth, and slowly forward on the whole.
        fake_now += 1000;
        return fake_asked % 3 == 0 ? fake_now - 500000000 : fake_now;
    });
    conn.link->clock = rpmi_clock_ns;
    CHECK(rpm_reader_wait(reader.reader, 1000, &record) == 0);
    CHECK(fake_asked < 5000);
    append(log, "x");
    CHECK(rpm_reader_wait(reader.reader, 1000, &record) == 1);
    rpmi_clock_replace(nullptr);
    conn.link->clock = nullptr;
}

namespace
{

// Opens a reader at @from and calls @meanwhile just before its n-th op. Returns the error of
// opening, or else the result of the first record.
int open_while(Conn &conn, rpm_log *log, uint64_t from, uint32_t n, std::function<void()> meanwhile)
{
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    rpm_record record;
    uint32_t ops = 0;

    opts.from_lsn = from;
    conn.link->on_op = [&](const rpmi_op &) {
        if (++ops == n)
            meanwhile();
    };
    int err = rpm_reader_open(log, &opts, &reader);
    conn.link->on_op = nullptr;
    if (err == 0) {
        err = rpm_reader_next(reader, &record);
        rpm_reader_close(&reader);
    }
    return err;
}

} // namespace

TEST_CASE("read: a reader opens at the tail while records are appended there", "[unit]")
{
    for (uint32_t n = 1; n <= 8; n++) {
        Server server;
        Conn writing(server, synchronous());
        Conn reading(server, queued());
        Log writer(writing, "a", WRITER, 4096);

        for (int i = 0; i < 5; i++)
            append(writer, "x");
        Log log(reading, "a", 0);
        int err = open_while(reading, log, 320, n, [&] {
            append(writer, "y");
            append(writer, "y");
        });
        CAPTURE(n, rpm_last_error());
        CHECK((err == 1 || (err == 0 && n > 3))); // not yet requested then
        CHECK(open_while(reading, log, 336, 0, [] {}) == RPM_E_RANGE);
        CHECK(open_while(reading, log, 512, 0, [] {}) == RPM_E_RANGE);
    }
}

TEST_CASE("read: a reader that opens at records trimmed meanwhile gets RPM_E_TRIMMED", "[unit]")
{
    bool over = GENERATE(false, true); // another writer, with another epoch, uses the space again

    for (uint32_t n = 1; n <= 3; n++) {
        Server server;
        Conn writing(server, synchronous());
        Conn reading(server, queued());
        Log writer(writing, "a", WRITER, 4096);

        for (int i = 0; i < 5; i++)
            append(writer, "x");
        Log log(reading, "a", 0);
        int err = open_while(reading, log, 320, n, [&] {
            append(writer, "y");
            append(writer, "y");
            REQUIRE(rpm_log_trim(writer, 384) == 0);
            if (!over)
                return;
            writer.close();
            Log other(writing, "a", RPM_LOG_WRITE);
            for (int i = 0; i < 63; i++)
                append(other, payload(7, 40));
        });
        CAPTURE(n, over, rpm_last_error());
        // Until the space is reused, the record may still be read whole.
        CHECK((err == RPM_E_TRIMMED || (err == 1 && !over)));
    }
}

TEST_CASE("read: a reader opens at the head while a writer trims without a pause", "[unit]")
{
    for (uint32_t n = 1; n <= 3; n++) {
        Server server;
        Conn writing(server, synchronous());
        Conn reading(server, queued());
        Log writer(writing, "a", WRITER, 4096);

        for (int i = 0; i < 5; i++)
            append(writer, "x");
        Log log(reading, "a", 0);
        int err = open_while(reading, log, 0, n, [&] { REQUIRE(rpm_log_trim(writer, 128) == 0); });
        CAPTURE(n, rpm_last_error());
        CHECK(err == 1);
    }
}
