// SPDX-License-Identifier: BSD-3-Clause
// A reader that waits at the tail while the server watches it. The clock is virtual: while the
// server holds a list it calls on_pause() of the reader's link each 10 us.
#include "support/catch.h"
#include "unit/log/readers.h"

extern "C" {
#include "conn/conn.h"
#include "log/reader.h"
}

using namespace loop;

namespace
{

const uint64_t MS = 1000000;

Setup watching()
{
    Setup setup = queued();

    setup.watch = true;
    return setup;
}

struct FollowWorld {
    Server server;
    Conn writing;
    Conn reading;
    Log log;
    Log read_only;
    Reader reader;

    explicit FollowWorld(const Setup &setup = watching(), const rpm_conn_opts *opts = nullptr)
        : writing(server, queued()), reading(server, setup, opts),
          log(writing, "a", RPM_LOG_WRITE | RPM_LOG_CREATE, 8192), read_only(reading, "a", 0),
          reader(read_only)
    {
    }
    void append(const std::string &data)
    {
        int err = rpm_log_append(log, data.data(), data.size(), nullptr);

        if (err == RPM_E_FULL) {
            trim();
            err = rpm_log_append(log, data.data(), data.size(), nullptr);
        }
        REQUIRE(err == 0);
    }
    void trim()
    {
        struct rpm_log_info info = rpm_log_info_init();

        REQUIRE(rpm_log_info(log, &info) == 0);
        REQUIRE(rpm_log_trim(log, info.tail_lsn) == 0);
    }
    // Wait until the server has the reader's list, for @ms at most; then do this once.
    void meanwhile(std::function<void()> act, uint64_t lists = 1)
    {
        uint64_t steps = reading.link->stats().steps + lists;

        reading.link->on_pause = [this, act, steps]() mutable {
            if (act == nullptr || reading.link->stats().steps < steps)
                return;
            std::function<void()> once = act;

            act = nullptr;
            once();
        };
    }
    // The next record, "" for none, or the name of the error.
    std::string wait(uint64_t timeout_us)
    {
        rpm_record record;
        int found = rpm_reader_wait(reader.reader, timeout_us, &record);

        reading.link->on_pause = nullptr;
        if (found == 1)
            return std::string(static_cast<const char *>(record.data), record.len);
        return found == 0 ? "" : rpm_error_name(found);
    }
    struct rpm_conn_stats &stats()
    {
        return reading.link->stats();
    }
};

} // namespace

TEST_CASE("follow: an idle reader sends a few lists, and one that must poll a READ each ms",
          "[unit]")
{
    bool watches = GENERATE(true, false);
    FollowWorld world(watches ? watching() : queued());

    CAPTURE(watches);
    world.append("x");
    CHECK(world.wait(0) == "x");
    CHECK(world.wait(5000) == ""); // it has waited for a while
    uint64_t reads = world.stats().reads;
    uint64_t steps = world.stats().steps;
    uint64_t begin = world.server.now_ns;
    for (int i = 0; i < 10; i++)
        CHECK(world.wait(1000000) == "");
    CHECK(world.server.now_ns - begin >= 10000 * MS);
    CHECK(world.server.now_ns - begin < 10100 * MS);
    CAPTURE(world.stats().reads - reads, world.stats().steps - steps);
    if (watches) {
        CHECK(world.stats().steps - steps >= 10);
        CHECK(world.stats().steps - steps <= 30);
        CHECK(world.stats().reads - reads <= 60);
    } else {
        CHECK(world.stats().steps == steps);
        CHECK(world.stats().reads - reads > 9000);
    }
}

TEST_CASE("follow: the answer that wakes the reader has the record", "[unit]")
{
    FollowWorld world;
    uint64_t appended = 0;
    uint64_t reads = 0;

    for (size_t len : { 6u, 6u, 5u, 500u, 499u, 2000u, 2000u }) {
        std::string data(len, static_cast<char>('a' + len % 26));
        size_t before = world.reader.reader->has_last ? world.reader.reader->last.len : 0;

        world.meanwhile([&] {
            reads = world.stats().reads;
            world.append(data);
            appended = world.server.now_ns;
        });
        CHECK(world.wait(50000) == data);
        CAPTURE(len);
        REQUIRE(appended != 0);
        CHECK(world.server.now_ns - appended < 100000);
        if (before >= len && len < 2000)
            CHECK(world.stats().reads == reads); // the READ was in the list
        appended = 0;
    }
}

TEST_CASE("follow: every record of a ring comes, in order, wherever it is placed", "[unit]")
{
    FollowWorld world;
    uint64_t lists = world.stats().steps;

    // Lengths that leave gaps of every size at the ring's end, which pad frames fill.
    for (uint64_t i = 0; i < 300; i++) {
        std::string data(1 + i * 97 % 1500, static_cast<char>('a' + i % 26));

        world.meanwhile([&] { world.append(data); });
        REQUIRE(world.wait(50000) == data);
    }
    CHECK(world.stats().steps >= lists + 300);
}

TEST_CASE("follow: several records, and those of a new writer, come after one list", "[unit]")
{
    FollowWorld world;

    world.meanwhile([&] {
        Conn conn(world.server, queued());
        Log newer(conn, "a", RPM_LOG_WRITE | RPM_LOG_TAKEOVER);

        REQUIRE(rpm_log_append(newer, "one", 3, nullptr) == 0);
        REQUIRE(rpm_log_append(newer, "two", 3, nullptr) == 0);
    });
    CHECK(world.wait(50000) == "one");
    CHECK(world.wait(0) == "two");
    CHECK(world.wait(0) == "");
}

TEST_CASE("follow: a reader that a trim overtakes learns so within a second", "[unit]")
{
    bool same = GENERATE(false, true); // the word at its place is the same again
    FollowWorld world;
    uint64_t lapped = 0;

    CAPTURE(same);
    CHECK(world.wait(4000000) == ""); // the next search behind the tail is 2.3 s away
    world.meanwhile([&] {
        const std::string zeros(1500, '\0');
        uint64_t at = world.reader.reader->next_lsn % 8192;
        unsigned char *word = &world.server.pool.bytes[RING + at];

        for (int i = 0; i < 20; i++)
            world.append(zeros);
        world.trim();
        if (same)
            memset(word, 0, 64);
        lapped = world.server.now_ns;
    });
    CHECK(world.wait(5000000) == "RPM_E_TRIMMED");
    REQUIRE(lapped != 0);
    CHECK(world.server.now_ns - lapped < 1100 * MS);
}

TEST_CASE("follow: a frame that arrives word by word comes as soon as it is whole", "[unit]")
{
    size_t there = GENERATE(8u, 16u, 24u, 64u); // bytes that have arrived
    FollowWorld world;
    std::string data(300, 'd');
    uint64_t lsn = world.reader.reader->next_lsn;
    uint64_t whole = 0;
    unsigned char *frame = &world.server.pool.bytes[RING + lsn];
    std::vector<unsigned char> bytes(384);
    uint64_t begin = world.server.now_ns;
    uint64_t lists = 0;

    CAPTURE(there);
    world.meanwhile([&] {
        world.append(data);
        memcpy(bytes.data(), frame, bytes.size());
        memset(frame + there, 0, bytes.size() - there);
        lists = world.stats().steps;
        world.reading.link->on_pause = [&] {
            if (whole == 0 && world.server.now_ns - begin > 500 * MS) {
                memcpy(frame, bytes.data(), bytes.size());
                whole = world.server.now_ns;
            }
        };
    });
    CHECK(world.wait(3000000) == data);
    REQUIRE(whole != 0);
    CHECK(world.server.now_ns - whole < 2 * MS);
    if (there > 8) // it has a tag: no word of it must change
        CHECK(world.stats().steps == lists);
    else
        CHECK(world.stats().steps > lists);
}

TEST_CASE("follow: it searches behind the tail after 100 ms, as a reader that polls", "[unit]")
{
    FollowWorld world;

    world.append("one");
    CHECK(world.wait(0) == "one");
    CHECK(world.wait(5000) == "");
    uint64_t begin = world.server.now_ns;
    world.meanwhile([&] {
        uint64_t lsn = world.reader.reader->next_lsn;
        uint64_t word = 0;

        world.append("damaged");
        world.append("whole");
        memcpy(&world.server.pool.bytes[RING + lsn], &word, sizeof(word)); // as if it never came
    });
    CHECK(world.wait(1000000) == "RPM_E_CORRUPT");
    CHECK(world.server.now_ns - begin >= 90 * MS);
    CHECK(world.server.now_ns - begin < 110 * MS);
}

TEST_CASE("follow: nothing waits behind a list: it is sent only on a quiet connection", "[unit]")
{
    FollowWorld world;
    Log other(world.reading, "other", RPM_LOG_WRITE | RPM_LOG_CREATE, 8192);
    rpm_completion done[4];

    CHECK(world.wait(5000) == "");
    uint64_t lists = world.stats().steps;
    REQUIRE(rpm_log_append_async(other, "x", 1, 0, nullptr, nullptr) == 0);
    world.reading.conn->due_count++; // as if it were not answered yet
    CHECK(world.wait(20000) == "");
    world.reading.conn->due_count--;
    CHECK(world.stats().steps == lists);
    CHECK(rpm_log_wait(other, done, 4, 0, 0) == 1);
    CHECK(world.wait(20000) == "");
    CHECK(world.stats().steps > lists);
}

TEST_CASE("follow: a wait that is shorter than a millisecond sends no list", "[unit]")
{
    FollowWorld world;

    CHECK(world.wait(5000) == "");
    uint64_t lists = world.stats().steps;
    for (int i = 0; i < 20; i++)
        CHECK(world.wait(900) == "");
    CHECK(world.stats().steps == lists);
}

TEST_CASE("follow: no list outlasts half of the connection's timeout", "[unit]")
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    opts.timeout_us = GENERATE(1000, 40000);
    CAPTURE(opts.timeout_us);
    FollowWorld world(watching(), &opts);

    CHECK(world.wait(200000) == "");
    CHECK(world.wait(200000) == ""); // the connection is not lost
    if (opts.timeout_us == 1000)
        CHECK(world.stats().steps == 0);
    else
        CHECK(world.stats().steps >= 10);
}

TEST_CASE("follow: a connection that is lost while the server watches ends the wait", "[unit]")
{
    FollowWorld world;

    CHECK(world.wait(5000) == "");
    world.meanwhile([&] { world.reading.link->drop(); });
    CHECK(world.wait(1000000) == "RPM_E_LOST");
}
