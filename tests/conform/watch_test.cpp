// SPDX-License-Identifier: BSD-3-Clause
// watch_test.cpp: lists that begin with a WATCH, on every transport: the word changes, the time is
// over, the client leaves, the server stops. Where the server holds such lists, an idle client
// sends one message.
#include "conform/fixture.h"

extern "C" {
#include "base/clock.h"
#include "wire/steps.h"
}
#include <librpm.h>

#include <algorithm>
#include <atomic>
#include <chrono>

using namespace conform;

namespace
{

const uint64_t WORD = 64; // of the watched one

struct Watcher : Connected {
    rpm_region *words = nullptr;

    explicit Watcher(Server *server, const std::string &wrap = "") : Connected(server, wrap)
    {
        rpm_region_opts region = rpm_region_opts_init();

        region.flags = RPM_REGION_CREATE | RPM_REGION_DRAM;
        region.bytes = 4096;
        REQUIRE(rpm_region_open(conn, server->name("watched").c_str(), &region, &words) == 0);
    }
    ~Watcher()
    {
        rpm_region_close(&words);
    }
    bool held() const
    {
        return (rpmi_conn_link(conn)->flags & RPMI_LINK_WATCH) != 0;
    }
    uint64_t value() const
    {
        uint64_t word = 0;

        REQUIRE(rpm_region_read(words, WORD, &word, sizeof(word)) == 0);
        return word;
    }
    rpm_step step(uint32_t kind, uint64_t offset, uint64_t *into) const
    {
        rpm_step made = {};

        made.kind = kind;
        made.region = words;
        made.offset = offset;
        made.len = sizeof(uint64_t);
        made.into = into;
        made.operand = 1;
        return made;
    }
    rpm_step watch(uint64_t expect, uint64_t wait_us, uint64_t *into) const
    {
        rpm_step made = step(RPM_STEP_WATCH, WORD, into);

        made.expect = expect;
        made.operand = wait_us;
        return made;
    }
};

// Another client that adds 1 to the word @after_ms from now: in the device model at once, while the
// watching client lets time pass; else in a thread.
class Changer
{
  public:
    Changer(Server *server, const std::string &where, int after_ms) : client_(server)
    {
        if (where.compare(0, 4, "sim ") == 0) {
            REQUIRE(rpm_steps_async(client_.words, &add_, 1, nullptr) == 0);
            return;
        }
        thread_ = std::thread([this, after_ms] {
            uint32_t done = 0;

            std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
            err_ = rpm_steps_run(client_.words, &add_, 1, &done);
        });
    }
    Changer(const Changer &) = delete;
    ~Changer()
    {
        if (thread_.joinable())
            thread_.join();
        CHECK(err_ == 0);
    }

  private:
    Watcher client_;
    rpm_step add_ = client_.step(RPM_STEP_FAA, WORD, nullptr);
    std::thread thread_;
    int err_ = 0;
};

bool holds(const std::string &where)
{
    return where.compare(0, 4, "sim ") != 0 && where != "shm direct";
}

#define ON_EACH_SERVER()                                                                           \
    std::string where = GENERATE(from_range(servers()));                                           \
    std::string wrap = GENERATE(from_range(wraps()));                                              \
    CAPTURE(where, wrap);                                                                          \
    std::unique_ptr<Server> server = start_server(where);                                          \
    Watcher client(server.get(), wrap)

} // namespace

TEST_CASE("watch: it ends when another client changes the word, and the list goes on", "[conform]")
{
    ON_EACH_SERVER();
    uint64_t before = client.value();
    uint64_t found[2] = { 0, 0 };
    rpm_step steps[2] = { client.watch(before, RPM_WATCH_US_MAX, &found[0]),
                          client.step(RPM_STEP_READ, WORD, &found[1]) };
    uint32_t done = 0;

    {
        Changer changer(server.get(), where, 10);

        // A slow machine may start the thread later than the time that a WATCH can wait.
        for (int i = 0; i < 30 && done == 0; i++)
            REQUIRE(rpm_steps_run(client.words, steps, 2, &done) == 0);
    }
    CHECK(done == 2);
    CHECK(found[0] == before + 1);
    CHECK(found[1] == before + 1);
}

TEST_CASE("watch: it ends when its time is over, and no step behind it is carried out", "[conform]")
{
    ON_EACH_SERVER();
    uint64_t before = client.value();
    uint64_t found = ~before;
    rpm_step steps[2] = { client.watch(before, 30000, &found),
                          client.step(RPM_STEP_FAA, WORD, nullptr) };
    uint64_t begin = client.now();
    uint32_t done = 99;

    REQUIRE(rpm_steps_run(client.words, steps, 2, &done) == 0);
    CHECK(done == 0);
    CHECK(found == before);
    CHECK(client.now() - begin >= 29000000);
    CHECK(client.now() - begin < PATIENCE);
    CHECK(client.value() == before);
}

TEST_CASE("watch: a word that differs already is returned at once", "[conform]")
{
    ON_EACH_SERVER();
    uint64_t found = 0;
    uint64_t value = client.value();
    rpm_step steps[2] = { client.watch(value + 1, RPM_WATCH_US_MAX, &found),
                          client.step(RPM_STEP_FAA, WORD, nullptr) };
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        uint64_t begin = client.now();
        uint32_t done = 0;

        steps[0].expect = value + 1;
        REQUIRE(rpm_steps_run(client.words, steps, 2, &done) == 0);
        CHECK(done == 2);
        CHECK(found == value++);
        least = std::min(least, client.now() - begin);
    }
    CHECK(least < 500000000);
}

TEST_CASE("watch: while nothing changes, a client whose list is held sends one message",
          "[conform]")
{
    ON_EACH_SERVER();
    rpm_step step = client.watch(client.value(), 200000, nullptr);
    struct rpm_conn_stats before = rpm_conn_stats_init();
    struct rpm_conn_stats after = rpm_conn_stats_init();
    uint32_t done = 99;

    if (!support::is_remote())
        REQUIRE(client.held() == holds(where));
    REQUIRE(rpm_conn_stats(client.conn, &before) == 0);
    REQUIRE(rpm_steps_run(client.words, &step, 1, &done) == 0);
    REQUIRE(rpm_conn_stats(client.conn, &after) == 0);
    CHECK(done == 0);
    CHECK(after.steps - before.steps == (client.held() ? 1 : 0));
    if (client.held())
        CHECK(after.reads == before.reads);
    else
        CHECK(after.reads > before.reads + 20);
}

TEST_CASE("watch: requests behind it wait, and complete in order", "[conform]")
{
    ON_EACH_SERVER();
    if (!client.held())
        return;
    uint64_t found[2] = { 99, 99 };
    rpm_step watch = client.watch(client.value(), 50000, &found[0]);
    rpm_step add = client.step(RPM_STEP_FAA, WORD, &found[1]);
    uint64_t begin = client.now();
    rpm_completion got[2];
    uint64_t first = client.value();
    int n = 0;

    REQUIRE(rpm_steps_async(client.words, &watch, 1, &found[0]) == 0);
    REQUIRE(rpm_steps_async(client.words, &add, 1, &found[1]) == 0);
    while (n < 2 && client.now() - begin < PATIENCE) {
        n += rpm_region_poll(client.words, got + n, static_cast<uint32_t>(2 - n));
        if (n < 2)
            std::this_thread::yield();
    }
    REQUIRE(n == 2);
    CHECK(got[0].context == &found[0]);
    CHECK(got[0].lsn == 0);
    CHECK(got[1].context == &found[1]);
    CHECK(got[1].lsn == 1);
    CHECK(found[0] == first);
    CHECK(found[1] == first);
    CHECK(client.now() - begin >= 49000000);
}

namespace
{

// A client that sends a WATCH of the word and dies: it closes its link without an answer.
void die_watching(Server *server, uint64_t expect, bool at_once)
{
    rpmi_link *link = nullptr;
    rpmi_call call = {};
    rpmi_reply reply = {};
    rpmi_step step = {};
    rpmi_done done;

    REQUIRE(server->connect("", &link) == 0);
    const rpmi_transport_ops *ops = link->ops;
    call.kind = RPMI_CALL_OPEN;
    call.object = RPM_KIND_DRAM;
    server->name("watched").copy(call.name, RPM_NAME_MAX);
    unsigned char *staged = static_cast<unsigned char *>(ops->stage(link, 128));
    bool opened = staged != nullptr &&
                  ops->call(link, &call, &reply, ops->now_ns(link) + SECOND) == 0 &&
                  reply.status == 0;
    if (opened) {
        step.kind = RPMI_STEP_WATCH;
        step.len = sizeof(uint64_t);
        step.key = reply.key;
        step.offset = WORD;
        step.expect = expect;
        step.operand = RPM_WATCH_US_MAX;
        rpmi_op op = make(RPMI_OP_STEPS, 0, 0, RPMI_STEPS_ANSWER_HEAD + sizeof(uint64_t));
        op.body = staged;
        op.body_bytes = rpmi_step_put(staged, &step);
        op.into = staged + RPMI_LINE_BYTES;
        opened = ops->post(link, &op, 1) == 1 && ops->poll(link, &done, 1) == 0;
        if (!at_once)
            ops->pause(link, 2000000);
    }
    ops->close(link);
    CHECK(opened);
}

} // namespace

TEST_CASE("watch: clients that die while they watch leave nothing behind", "[conform]")
{
    std::string where = GENERATE(from_range(servers()));
    CAPTURE(where);
    std::unique_ptr<Server> server = start_server(where);
    Watcher client(server.get());
    if (!client.held())
        return;
    uint64_t value = client.value();
    uint64_t found = 0;
    uint32_t done = 0;

    // More than a server has clients at a time.
    for (int i = 0; i < 100; i++)
        die_watching(server.get(), value, i % 4 != 0);
    rpm_step steps[2] = { client.watch(value, 1000, nullptr),
                          client.step(RPM_STEP_READ, WORD, &found) };
    REQUIRE(rpm_steps_run(client.words, steps, 2, &done) == 0);
    CHECK(done == 0);
    steps[0] = client.watch(value, RPM_WATCH_US_MAX, nullptr);
    {
        Changer changer(server.get(), where, 1);

        for (int i = 0; i < 30 && done == 0; i++)
            REQUIRE(rpm_steps_run(client.words, steps, 2, &done) == 0);
    }
    CHECK(done == 2);
    CHECK(found == value + 1);
}

TEST_CASE("watch: a server that stops ends it, and the client learns that", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    ON_EACH_SERVER();
    rpm_step step = client.watch(client.value(), RPM_WATCH_US_MAX, nullptr);
    uint32_t done = 99;
    int err = 0;

    if (where.compare(0, 4, "sim ") == 0) {
        server->kill();
        CHECK(rpm_steps_run(client.words, &step, 1, &done) == RPM_E_LOST);
        return;
    }
    std::thread thread([&] {
        while (err == 0)
            err = rpm_steps_run(client.words, &step, 1, &done);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    server->kill();
    thread.join();
    CHECK(err == RPM_E_LOST);
}

namespace
{

struct Follower : Connected {
    rpm_log *log = nullptr;
    rpm_reader *reader = nullptr;

    // With @flags a writer, else a reader.
    Follower(Server *server, uint32_t flags) : Connected(server)
    {
        rpm_log_opts log_opts = rpm_log_opts_init();

        log_opts.flags = flags;
        log_opts.capacity_bytes = flags != 0 ? 256 << 10 : 0;
        REQUIRE(rpm_log_open(conn, server->name("followed").c_str(), &log_opts, &log) == 0);
        if (flags == 0)
            REQUIRE(rpm_reader_open(log, nullptr, &reader) == 0);
    }
    ~Follower()
    {
        rpm_reader_close(&reader);
        rpm_log_close(&log);
    }
};

} // namespace

TEST_CASE("watch: a reader at the tail of a log waits at the server, and an append wakes it",
          "[conform]")
{
    std::string where = GENERATE(from_range(servers()));
    CAPTURE(where);
    if (where.compare(0, 4, "sim ") == 0)
        return; // in the model a reader polls, and no thread appends meanwhile
    std::unique_ptr<Server> server = start_server(where);
    Follower writer(server.get(), RPM_LOG_WRITE | RPM_LOG_CREATE);
    Follower reader(server.get(), 0);
    bool held = (rpmi_conn_link(reader.conn)->flags & RPMI_LINK_WATCH) != 0;
    rpm_record record;
    uint64_t least = UINT64_MAX;

    CHECK(rpm_reader_wait(reader.reader, 300000, &record) == 0);
    CHECK((reader.stats().steps >= 2) == held);
    if (held)
        CHECK(reader.stats().reads < 120);
    for (uint64_t i = 0; i < 5; i++) {
        std::atomic<uint64_t> begin{ 0 };
        int err = 0;

        std::thread thread([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            begin = rpmi_clock_ns();
            err = rpm_log_append(writer.log, &i, sizeof(i), nullptr);
        });
        int found = rpm_reader_wait(reader.reader, PATIENCE / 1000, &record);
        uint64_t end = rpmi_clock_ns();
        thread.join();
        REQUIRE(err == 0);
        REQUIRE(found == 1);
        CHECK(record.len == sizeof(i));
        CHECK(memcmp(record.data, &i, sizeof(i)) == 0);
        least = std::min(least, end - begin);
    }
    CHECK(least < 50000000); // a list is held for 80 ms at this place
}

TEST_CASE("watch: a link that does not say that it carries a WATCH refuses it", "[conform]")
{
    std::string where = GENERATE(from_range(servers()));
    CAPTURE(where);
    Context context({ where, "" });
    if ((context.link->flags & RPMI_LINK_WATCH) != 0)
        return;
    rpmi_step step = {};
    rpmi_op op = make(RPMI_OP_STEPS, 0, 0, RPMI_STEPS_ANSWER_HEAD + sizeof(uint64_t));

    step.kind = RPMI_STEP_WATCH;
    step.len = sizeof(uint64_t);
    step.key = context.words;
    step.operand = RPM_WATCH_US_MAX;
    op.body = context.bytes;
    op.body_bytes = rpmi_step_put(context.bytes, &step);
    op.into = context.into;
    CHECK(context.exec({ op }) == RPM_E_NOCAP);
}
