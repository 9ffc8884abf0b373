// SPDX-License-Identifier: BSD-3-Clause
// guard_test.cpp: a region that a log's claim guards, on every transport: once another client has
// taken the log over, nothing is written through the older writer's handles any more.
#include "conform/fixture.h"

extern "C" {
#include "base/clock.h"
}
#include <librpm.h>

using namespace conform;

namespace
{

const uint64_t BYTES = 64 << 10;

// A client of the setup's server.
class Client
{
  public:
    Client(Server *server, const std::string &wrap) : server_(server)
    {
        rpm_conn_opts opts = rpm_conn_opts_init();

        opts.timeout_us = 30000000;
        conn = server->connect(wrap, opts);
    }
    Client(const Client &) = delete;
    ~Client()
    {
        rpm_region_close(&region);
        rpm_region_close(&words);
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
    int claim()
    {
        rpm_log_opts opts = rpm_log_opts_init();

        opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | RPM_LOG_TAKEOVER;
        opts.capacity_bytes = 64 << 10;
        return rpm_log_open(conn, server_->name("log").c_str(), &opts, &log);
    }
    int open(bool guarded)
    {
        rpm_region_opts opts = rpm_region_opts_init();

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = BYTES;
        opts.claim = guarded ? log : nullptr;
        int err = rpm_region_open(conn, server_->name("rows").c_str(), &opts, &region);
        opts.flags |= RPM_REGION_DRAM;
        opts.bytes = 4096;
        return err != 0 ? err
                        : rpm_region_open(conn, server_->name("locks").c_str(), &opts, &words);
    }
    int write(uint64_t offset, const std::string &data)
    {
        return rpm_region_write(region, offset, data.data(), data.size());
    }
    std::string read(uint64_t offset, size_t len)
    {
        std::string data(len, '\0');
        int err = rpm_region_read(region, offset, &data[0], len);

        return err == 0 ? data : rpm_error_name(err);
    }
    uint64_t word()
    {
        uint64_t found = 0;

        REQUIRE(rpm_region_read(words, 0, &found, sizeof(found)) == 0);
        return found;
    }
    std::string name(const std::string &object)
    {
        return server_->name(object);
    }

    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    rpm_region *region = nullptr;
    rpm_region *words = nullptr;

  private:
    Server *server_;
};

// The writer, the client that took over, and a client that only reads.
struct World {
    std::unique_ptr<Server> server;
    Client old;
    Client next;

    explicit World(const Setup &setup)
        : server(start_server(setup.server)), old(server.get(), setup.wrap), next(server.get(), "")
    {
        uint64_t found = 0;

        REQUIRE(old.claim() == 0);
        REQUIRE(old.open(true) == 0);
        REQUIRE(old.write(0, "mine") == 0);
        REQUIRE(rpm_region_faa(old.words, 0, 7, &found) == 0);
        REQUIRE(rpm_region_persist(old.region, 0, 4) == 0);
        REQUIRE(rpm_region_persist(old.words, 0, 8) == 0);
        REQUIRE(rpm_log_append(old.log, "mine", 4, nullptr) == 0);
    }
    void take_over()
    {
        REQUIRE(next.claim() == 0);
        REQUIRE(next.open(true) == 0);
    }
    void check_untouched()
    {
        CHECK(next.read(0, 8) == std::string("mine\0\0\0\0", 8));
        CHECK(next.word() == 7);
    }
};

#define ON_EACH_SETUP()                                                                            \
    Setup setup = GENERATE(from_range(all_setups()));                                              \
    CAPTURE(setup.server, setup.wrap);                                                             \
    World world(setup)

// Operations that the older writer tries, each on a connection of its own, because on some links a
// refusal ends the connection.
struct Deed {
    const char *name;
    int (*act)(Client *);
};

int write_async(Client *client)
{
    rpm_completion done = {};
    int n = 0;
    int err = rpm_region_write_async(client->region, 0, "late", 4, nullptr);

    while (err == 0 && n == 0)
        n = rpm_region_poll(client->region, &done, 1);
    return err != 0 ? err : done.status;
}

// A list that begins with a word without a guard: it must not change that word either.
int steps(Client *client, bool async)
{
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *free = nullptr;
    rpm_completion done = {};
    uint32_t carried;
    int n = 0;

    opts.flags = RPM_REGION_DRAM;
    REQUIRE(rpm_region_open(client->conn, client->name("locks").c_str(), &opts, &free) == 0);
    rpm_step list[2] = {};
    list[0].kind = RPM_STEP_FAA;
    list[0].region = free;
    list[0].operand = 1;
    list[1].kind = RPM_STEP_WRITE;
    list[1].region = client->region;
    list[1].data = "late";
    list[1].len = 4;
    int err = async ? rpm_steps_async(client->region, list, 2, nullptr)
                    : rpm_steps_run(client->region, list, 2, &carried);
    while (async && err == 0 && n == 0)
        n = rpm_region_poll(client->region, &done, 1);
    rpm_region_close(&free);
    return err != 0 ? err : done.status;
}

std::vector<Deed> deeds()
{
    return {
        { "write", [](Client *client) { return client->write(0, "late"); } },
        { "long write", [](Client *client) { return client->write(0, std::string(BYTES, 'x')); } },
        { "writev",
          [](Client *client) {
              rpm_patch patches[2] = { { 0, "la", 2, 0 }, { 2, "te", 2, RPM_PATCH_AFTER } };

              return rpm_region_writev(client->region, patches, 2);
          } },
        { "write of words",
          [](Client *client) { return rpm_region_write(client->words, 0, "12345678", 8); } },
        { "asynchronous write", write_async },
        { "compare-and-swap",
          [](Client *client) {
              uint64_t found;

              return rpm_region_cas(client->words, 0, 7, 9, &found);
          } },
        { "fetch-and-add",
          [](Client *client) {
              uint64_t found;

              return rpm_region_faa(client->words, 0, 1, &found);
          } },
        { "steps", [](Client *client) { return steps(client, false); } },
        { "asynchronous steps", [](Client *client) { return steps(client, true); } },
        { "persist", [](Client *client) { return rpm_region_persist(client->region, 0, 64); } },
        { "persist of words",
          [](Client *client) { return rpm_region_persist(client->words, 0, 8); } },
        { "append",
          [](Client *client) { return rpm_log_append(client->log, "late", 4, nullptr); } },
    };
}

} // namespace

TEST_CASE("guard: while its owner holds the log a guarded region works as any other", "[conform]")
{
    ON_EACH_SETUP();
    std::string bytes(BYTES, 'y');
    uint64_t found = 0;

    CHECK(world.old.write(0, bytes) == 0);
    CHECK(world.old.read(0, BYTES) == bytes);
    CHECK(write_async(&world.old) == 0);
    CHECK(rpm_region_cas(world.old.words, 0, 7, 9, &found) == 0);
    CHECK(found == 7);
    CHECK(world.old.word() == 9);
    for (int i = 0; i < 20; i++) {
        REQUIRE(rpm_log_append(world.old.log, "record", 6, nullptr) == 0);
        REQUIRE(world.old.write(64 * static_cast<uint64_t>(i), "row") == 0);
        REQUIRE(rpm_region_faa(world.old.words, 8, 1, &found) == 0);
    }
    CHECK(found == 19);
}

TEST_CASE("guard: a writer that lost the log writes nothing and gets RPM_E_FENCED", "[conform]")
{
    Deed deed = GENERATE(from_range(deeds()));
    ON_EACH_SETUP();

    CAPTURE(deed.name);
    world.take_over();
    CHECK(world.old.read(0, 4) == "mine"); // reads go on
    CHECK(world.old.word() == 7);
    CHECK(deed.act(&world.old) == RPM_E_FENCED);
    world.check_untouched();
    CHECK(world.old.write(0, "late") == RPM_E_FENCED);
    // A refusal ended the connection, on every link; persist asks for the claim and is not refused.
    bool asks = std::string(deed.name).compare(0, 7, "persist") == 0;
    CHECK(world.old.read(0, 4) == (asks ? "mine" : "RPM_E_LOST"));
    world.check_untouched();
    CHECK(world.next.write(4, "ours") == 0);
    CHECK(world.next.read(0, 8) == "mineours");
}

TEST_CASE("guard: other handles to the region are not guarded", "[conform]")
{
    ON_EACH_SETUP();
    Client third(world.server.get(), "");

    REQUIRE(third.open(false) == 0);
    world.take_over();
    CHECK(third.write(0, "free") == 0);
    CHECK(world.next.read(0, 4) == "free");
    CHECK(world.old.read(0, 4) == "free");
}

TEST_CASE("guard: a writer that closed and claimed the log again opens its regions again",
          "[conform]")
{
    ON_EACH_SETUP();

    rpm_region_close(&world.old.region);
    rpm_region_close(&world.old.words);
    rpm_log_close(&world.old.log);
    world.take_over();
    CHECK(world.next.write(0, "ours") == 0);
    REQUIRE(world.old.claim() == 0);
    REQUIRE(world.old.open(true) == 0);
    CHECK(world.old.write(0, "mine") == 0);
    CHECK(world.next.write(0, "late") == RPM_E_FENCED);
    CHECK(world.old.read(0, 4) == "mine");
}

// Writes that are outstanding when the log is taken over may arrive before that, but not after, and
// not in part.
TEST_CASE("guard: outstanding writes end before the takeover does", "[conform]")
{
    const std::string lines(8192, 'z');
    ON_EACH_SETUP();
    uint64_t submitted = 0;

    while (submitted < 64 && rpm_region_write_async(world.old.region, 8192 * (submitted % 7 + 1),
                                                    lines.data(), lines.size(), nullptr) == 0)
        submitted++;
    CHECK(submitted > 0);
    world.take_over();
    std::string seen = world.next.read(0, BYTES);
    rpm_completion done[64];
    int ended = 0;
    for (int i = 0; i < 100000 && ended < static_cast<int>(submitted); i++) {
        int n = rpm_region_poll(world.old.region, done, 64);

        REQUIRE(n >= 0);
        ended += n;
        for (int k = 0; k < n; k++)
            CHECK((done[k].status == 0 || done[k].status == RPM_E_FENCED ||
                   done[k].status == RPM_E_LOST));
    }
    CHECK(world.old.write(0, "late") != 0);
    CHECK(world.next.read(0, BYTES) == seen);
}

TEST_CASE("guard: a region that several claims guard in one post", "[conform]")
{
    std::string what = GENERATE(from_range(one_of_each()));
    CAPTURE(what);
    std::unique_ptr<Server> server = start_server(what);
    Client client(server.get(), "");
    Client taker(server.get(), "");
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_region_opts region_opts = rpm_region_opts_init();
    rpm_log *second = nullptr;
    rpm_region *rows = nullptr;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 64 << 10;
    REQUIRE(client.claim() == 0);
    REQUIRE(client.open(true) == 0);
    REQUIRE(rpm_log_open(client.conn, server->name("second").c_str(), &opts, &second) == 0);
    region_opts.claim = second;
    REQUIRE(rpm_region_open(client.conn, server->name("rows").c_str(), &region_opts, &rows) == 0);
    REQUIRE(rpm_region_write(rows, 0, "second", 6) == 0);
    REQUIRE(client.write(0, "first ") == 0);
    REQUIRE(taker.claim() == 0);
    CHECK(rpm_region_write(rows, 0, "second", 6) == 0); // its log was not taken
    CHECK(client.write(0, "first ") == RPM_E_FENCED);
    REQUIRE(taker.open(false) == 0);
    CHECK(taker.read(0, 6) == "second");
    rpm_region_close(&rows);
    rpm_log_close(&second);
}
