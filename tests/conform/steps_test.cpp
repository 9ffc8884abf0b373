// SPDX-License-Identifier: BSD-3-Clause
// steps_test.cpp: lists of steps as <librpm/steps.h> describes them, on every transport: steps in
// order, lists that end early, refusals without effect, completions in order, a lost link,
// concurrent clients.
#include "conform/fixture.h"

extern "C" {
#include "wire/steps.h"
}
#include <librpm.h>

using namespace conform;

namespace
{

const uint64_t BYTES = 64 << 10;

void *number(uint64_t n)
{
    return reinterpret_cast<void *>(static_cast<uintptr_t>(n));
}

// A client with a persistent region and a DRAM region.
struct Client {
    rpm_conn *conn = nullptr;
    rpm_region *rows = nullptr;
    rpm_region *words = nullptr;

    Client(Server *server, const std::string &wrap) : server_(server)
    {
        rpm_conn_opts opts = rpm_conn_opts_init();

        opts.timeout_us = 30000000;
        conn = server->connect(wrap, opts);
        open();
    }
    Client(const Client &) = delete;
    ~Client()
    {
        close();
        rpm_conn_close(&conn);
    }
    void open()
    {
        rpm_region_opts opts = rpm_region_opts_init();

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = BYTES;
        opts.inflight_max = 32;
        REQUIRE(rpm_region_open(conn, server_->name("rows").c_str(), &opts, &rows) == 0);
        opts.flags |= RPM_REGION_DRAM;
        opts.bytes = 4096;
        REQUIRE(rpm_region_open(conn, server_->name("words").c_str(), &opts, &words) == 0);
    }
    void close()
    {
        rpm_region_close(&rows);
        rpm_region_close(&words);
    }
    rpm_step read(uint64_t offset, void *into, uint64_t len) const
    {
        rpm_step step = {};

        step.kind = RPM_STEP_READ;
        step.region = rows;
        step.offset = offset;
        step.into = into;
        step.len = len;
        return step;
    }
    rpm_step write(uint64_t offset, const std::string &data) const
    {
        rpm_step step = {};

        step.kind = RPM_STEP_WRITE;
        step.region = rows;
        step.offset = offset;
        step.data = data.data();
        step.len = data.size();
        return step;
    }
    rpm_step word(uint64_t offset, uint64_t *into) const
    {
        rpm_step step = read(offset, into, 8);

        step.region = words;
        return step;
    }
    rpm_step cas(uint64_t offset, uint64_t expect, uint64_t operand, uint64_t *into,
                 uint32_t flags = 0) const
    {
        rpm_step step = word(offset, into);

        step.kind = RPM_STEP_CAS;
        step.flags = flags;
        step.expect = expect;
        step.operand = operand;
        return step;
    }
    rpm_step faa(uint64_t offset, uint64_t operand, uint64_t *into) const
    {
        rpm_step step = word(offset, into);

        step.kind = RPM_STEP_FAA;
        step.operand = operand;
        return step;
    }
    int run(const std::vector<rpm_step> &steps, uint32_t *done) const
    {
        return rpm_steps_run(rows, steps.data(), static_cast<uint32_t>(steps.size()), done);
    }
    std::string bytes(uint64_t offset, size_t len) const
    {
        std::string data(len, '\0');

        REQUIRE(rpm_region_read(rows, offset, &data[0], len) == 0);
        return data;
    }

  private:
    Server *server_;
};

struct World {
    std::unique_ptr<Server> server;
    Client client;

    explicit World(const Setup &setup)
        : server(start_server(setup.server)), client(server.get(), setup.wrap)
    {
    }
};

#define ON_EACH_SETUP()                                                                            \
    Setup setup = GENERATE(from_range(all_setups()));                                              \
    CAPTURE(setup.server, setup.wrap);                                                             \
    World world(setup);                                                                            \
    Client &client = world.client

std::vector<rpm_completion> reap(rpm_region *region, size_t n)
{
    std::vector<rpm_completion> all;

    while (all.size() < n) {
        rpm_completion done[8];
        int got = rpm_region_poll(region, done, 8);

        REQUIRE(got >= 0);
        all.insert(all.end(), done, done + got);
    }
    return all;
}

} // namespace

TEST_CASE("steps: each step sees the effects of the steps before it", "[conform]")
{
    ON_EACH_SETUP();
    const std::string data = "some bytes", more(1500, 'm');
    uint64_t found[4] = { 99, 99, 99, 99 };
    char early[10], late[10], all[1500];
    uint32_t done = 99;

    REQUIRE(client.run({ client.read(100, early, 10), client.write(100, data),
                         client.faa(8, 5, &found[0]), client.read(100, late, 10),
                         client.cas(8, 5, 7, &found[1]), client.cas(8, 5, 9, &found[2]),
                         client.write(4000, more), client.read(4000, all, 1500),
                         client.word(8, &found[3]) },
                       &done) == 0);
    CHECK(done == 9);
    CHECK(std::string(early, 10) == std::string(10, '\0'));
    CHECK(std::string(late, 10) == data);
    CHECK(std::string(all, 1500) == more);
    CHECK(found[0] == 0);
    CHECK(found[1] == 5);
    CHECK(found[2] == 7);
    CHECK(found[3] == 7);
    CHECK(client.bytes(4000, 1500) == more);
}

TEST_CASE("steps: a list ends where a MUST finds something else", "[conform]")
{
    ON_EACH_SETUP();
    const std::string data = "never";
    uint64_t found[3] = { 99, 99, 99 };
    uint64_t word = 1234;
    uint32_t done = 99;

    REQUIRE(rpm_region_write(client.rows, 64, &word, 8) == 0);
    REQUIRE(client.run({ client.faa(0, 3, &found[0]), client.cas(0, 4, 9, &found[1], RPM_STEP_MUST),
                         client.write(0, data), client.faa(0, 100, &found[2]) },
                       &done) == 0);
    CHECK(done == 1);
    CHECK(found[0] == 0);
    CHECK(found[1] == 3);
    CHECK(found[2] == 99);
    rpm_step version = client.read(64, &found[2], 8);
    version.flags = RPM_STEP_MUST;
    version.expect = 1233;
    REQUIRE(client.run({ version, client.write(0, data) }, &done) == 0);
    CHECK(done == 0);
    CHECK(found[2] == 1234);
    CHECK(client.bytes(0, 5) == std::string(5, '\0'));
    version.expect = 1234;
    version.into = nullptr; // not carried out
    REQUIRE(
        client.run({ version, client.cas(0, 3, 9, nullptr, RPM_STEP_MUST), client.write(0, data) },
                   &done) == 0);
    CHECK(done == 3);
    CHECK(client.bytes(0, 5) == data);
}

TEST_CASE("steps: a list of the maximum steps and bytes is taken, a longer one refused",
          "[conform]")
{
    ON_EACH_SETUP();
    std::vector<rpm_step> many;
    std::vector<uint64_t> found(65, 99);
    uint32_t done = 99;

    for (uint64_t i = 0; i < 64; i++)
        many.push_back(client.faa(8 * (i % 3), 1, &found[i]));
    REQUIRE(client.run(many, &done) == 0);
    CHECK(done == 64);
    for (uint64_t i = 0; i < 64; i++)
        REQUIRE(found[i] == i / 3);
    many.push_back(client.faa(0, 1, &found[64]));
    CHECK(client.run(many, &done) == RPM_E_TOOBIG);

    const std::string longest(4080, 'l'), longer(4081, 'x');
    std::string all(4088, '?'), beyond(4089, '?');
    REQUIRE(client.run({ client.write(7, longest) }, &done) == 0);
    REQUIRE(client.run({ client.read(7, &all[0], 4088) }, &done) == 0);
    CHECK(all == longest + std::string(8, '\0'));
    CHECK(client.run({ client.write(0, longer) }, &done) == RPM_E_TOOBIG);
    CHECK(client.run({ client.read(0, &beyond[0], 4089) }, &done) == RPM_E_TOOBIG);
    CHECK(client.bytes(0, 7) == std::string(7, '\0'));
}

// Bypasses the checks of the library, which would send none of these lists.
TEST_CASE("steps: a list that the server refuses changes nothing", "[conform]")
{
    struct {
        const char *what;
        uint8_t kind;
        bool on_words;
        uint64_t offset;
        uint16_t len;
        uint32_t key; // used instead of the region's key; 0: the region's
        int err;
    } rows[] = {
        { "a write beyond", RPMI_STEP_WRITE, false, REGION - 4, 8, 0, RPM_E_RANGE },
        { "a read beyond", RPMI_STEP_READ, false, REGION, 8, 0, RPM_E_RANGE },
        { "a read far beyond", RPMI_STEP_READ, false, UINT64_MAX - 7, 8, 0, RPM_E_RANGE },
        { "an atomic beyond", RPMI_STEP_FAA, true, 4096, 8, 0, RPM_E_RANGE },
        { "an atomic on rows", RPMI_STEP_FAA, false, 0, 8, 0, RPM_E_DENIED },
        { "an atomic askew", RPMI_STEP_CAS, true, 12, 8, 0, RPM_E_INVAL },
        { "an unknown key", RPMI_STEP_READ, false, 0, 8, 200, RPM_E_DENIED },
        { "a key that cannot be", RPMI_STEP_WRITE, false, 0, 8, UINT32_MAX, RPM_E_DENIED },
        { "the scratch word", RPMI_STEP_WRITE, false, 0, 8, UINT32_MAX - 1, RPM_E_DENIED },
    };
    Setup setup = GENERATE(from_range(all_setups()));
    CAPTURE(setup.server, setup.wrap);

    for (const auto &row : rows) {
        Context context(setup);
        rpmi_step steps[2] = {};
        uint32_t bytes = 0;

        CAPTURE(row.what);
        memcpy(context.bytes + 8192, "12345678", 8);
        steps[0].kind = RPMI_STEP_WRITE;
        steps[0].key = context.region;
        steps[0].offset = 128;
        steps[0].len = 8;
        steps[0].data = context.bytes + 8192;
        steps[1] = steps[0];
        steps[1].kind = row.kind;
        steps[1].key = row.key == UINT32_MAX - 1 ? RPMI_KEY_SCRATCH
                       : row.key != 0            ? row.key
                       : row.on_words            ? context.words
                                                 : context.region;
        steps[1].offset = row.offset;
        steps[1].len = row.len;
        for (const rpmi_step &step : steps)
            bytes += rpmi_step_put(context.bytes + bytes, &step);
        rpmi_op op = make(RPMI_OP_STEPS, 0, 0, 8 + rpmi_step_result_bytes(&steps[1]));
        op.body = context.bytes;
        op.body_bytes = bytes;
        op.into = context.into;
        CHECK(context.exec({ op }) == row.err);

        rpmi_link *other = nullptr;
        REQUIRE(context.server->connect("", &other) == 0);
        context.ops->close(context.link);
        context.link = other;
        context.ops = other->ops;
        context.into = static_cast<unsigned char *>(context.ops->stage(other, REGION));
        REQUIRE(context.into != nullptr);
        context.open_objects();
        REQUIRE(context.exec({ context.read(128, 8) }) == 0);
        CHECK(memcmp(context.into, "\0\0\0\0\0\0\0\0", 8) == 0);
    }
}

TEST_CASE("steps: completions come in order with others, and lists go on side by side", "[conform]")
{
    ON_EACH_SETUP();
    const std::string data = "0123456789abcdef";
    uint64_t found[12][2];
    char got[12][16];
    rpm_step lists[12][3];

    for (uint64_t i = 0; i < 12; i++) {
        lists[i][0] = client.faa(16, 1, &found[i][0]);
        lists[i][1] = client.write(i * 64, data);
        lists[i][2] = client.read(i * 64, got[i], 16);
        REQUIRE(rpm_region_write_async(client.rows, 8192, "x", 1, number(2 * i)) == 0);
        REQUIRE(rpm_steps_async(client.rows, lists[i], 3, number(2 * i + 1)) == 0);
    }
    std::vector<rpm_completion> done = reap(client.rows, 24);
    for (uint64_t i = 0; i < 24; i++) {
        CHECK(done[i].context == number(i));
        CHECK(done[i].status == 0);
        CHECK(done[i].lsn == (i % 2 == 0 ? 8192 : 3));
    }
    for (uint64_t i = 0; i < 12; i++) {
        CHECK(found[i][0] == i);
        CHECK(std::string(got[i], 16) == data);
    }
    // A blocking list in between changes nothing.
    uint32_t carried = 0;
    REQUIRE(rpm_steps_async(client.words, lists[0], 1, number(7)) == 0);
    REQUIRE(rpm_steps_run(client.rows, lists[1], 1, &carried) == 0);
    CHECK(found[0][0] + 1 == found[1][0]);
    done = reap(client.words, 1);
    CHECK(done[0].lsn == 1);
    CHECK(done[0].context == number(7));
}

TEST_CASE("steps: the end of the server completes each list once", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    ON_EACH_SETUP();
    uint64_t found[16];
    rpm_step steps[16];
    uint64_t sent = 0;

    for (uint64_t i = 0; i < 16; i++)
        steps[i] = client.faa(0, 1, &found[i]);
    for (; sent < 8; sent++)
        REQUIRE(rpm_steps_async(client.rows, &steps[sent], 1, number(sent)) == 0);
    world.server->kill();
    while (sent < 16 && rpm_steps_async(client.rows, &steps[sent], 1, number(sent)) == 0)
        sent++;
    std::vector<rpm_completion> done = reap(client.rows, sent);
    for (uint64_t i = 0; i < sent; i++) {
        CHECK(done[i].context == number(i));
        CHECK((done[i].status == 0 || done[i].status == RPM_E_LOST));
        if (done[i].status == 0)
            CHECK(found[i] == i);
    }
    uint32_t carried = 0;
    CHECK(rpm_steps_async(client.rows, steps, 1, nullptr) == RPM_E_LOST);
    CHECK(rpm_steps_run(client.rows, steps, 1, &carried) == RPM_E_LOST);
    client.close();
    world.server->restart();
    REQUIRE(rpm_conn_reconnect(client.conn) == 0);
    client.open();
    steps[0] = client.faa(0, 1, &found[0]);
    REQUIRE(rpm_steps_run(client.rows, steps, 1, &carried) == 0);
    CHECK(carried == 1);
}

namespace
{

// Take the lock and read; then write one more and free the lock.
void count_up(Client &client, uint64_t me, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        uint64_t found, seen = 0;
        uint32_t done = 0;

        while (done == 0)
            REQUIRE(client.run(
                        { client.cas(0, 0, me, &found, RPM_STEP_MUST), client.read(512, &seen, 8) },
                        &done) == 0);
        std::string next(8, '\0');
        seen++;
        memcpy(&next[0], &seen, 8);
        REQUIRE(client.run({ client.write(512, next), client.cas(0, me, 0, &found, RPM_STEP_MUST) },
                           &done) == 0);
        REQUIRE(done == 2);
    }
}

} // namespace

TEST_CASE("steps: under a lock that steps take and free nothing is lost", "[conform]")
{
    std::string what = GENERATE(from_range(one_of_each()));
    CAPTURE(what);
    if (what.compare(0, 4, "sim ") == 0)
        return; // a single thread
    const int rounds = 300;
    std::unique_ptr<Server> server = start_server(what);
    Client one(server.get(), ""), two(server.get(), "");
    uint64_t total = 0;

    std::thread other([&] { count_up(two, 2, rounds); });
    count_up(one, 1, rounds);
    other.join();
    REQUIRE(rpm_region_read(one.rows, 512, &total, 8) == 0);
    CHECK(total == 2 * rounds);
}
