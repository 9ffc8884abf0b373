// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("serve: PERSIST makes writes of any client in a range durable", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *writer = bench.dial();
    rpmi_sim_client *other = bench.dial();
    auto data = pattern(3000, 1);
    std::vector<unsigned char> into(1);

    bench.write(writer, 4096, data, 0);
    REQUIRE(bench.status_of(writer, bench.read(writer, 4096, into)) == 0);
    uint64_t number = bench.post(other, Bench::request(other, RPMI_SIM_PERSIST, 4096, 3000));
    REQUIRE(bench.status_of(other, number) == 0);
    rpmi_power_cut(bench.machine(), RPMI_CUT_DROP);
    REQUIRE(bench.pool(4096, 3000) == data);
}

TEST_CASE("serve: without DURABLE the answer promises visibility only", "[unit]")
{
    bool lost = false;

    for (uint64_t seed = 1; seed < 40; seed++)
        for (uint32_t kind : { RPMI_SIM_COPY, RPMI_SIM_WRITE_IMM }) {
            Bench bench("adr", seed);
            rpmi_sim_client *client = bench.dial();
            auto data = pattern(2500, 1);

            REQUIRE(bench.status_of(client,
                                    bench.write(client, 4096, data, RPMI_SIM_SIGNALED, kind)) == 0);
            REQUIRE(bench.pool(4096, 2500) == data);
            rpmi_power_cut(bench.machine(), RPMI_CUT_DROP);
            lost = lost || bench.pool(4096, 2500) != data;
        }
    REQUIRE(lost);
}

TEST_CASE("serve: a COPY of many packets is durable once, after the last", "[unit]")
{
    const char *presets[] = { "adr", "msync", "eadr" };

    for (uint64_t seed = 1; seed < 60; seed++)
        for (uint32_t cached : { 0u, uint32_t(RPMI_SIM_CACHED) }) {
            Bench bench(presets[seed % 3], seed);
            rpmi_sim_client *client = bench.dial();
            auto data = pattern(30000, 1);
            uint32_t flags = RPMI_SIM_SIGNALED | RPMI_SIM_DURABLE | cached;

            REQUIRE(bench.status_of(client,
                                    bench.write(client, 4100, data, flags, RPMI_SIM_COPY)) == 0);
            rpmi_power_cut(bench.machine(), RPMI_CUT_DROP);
            REQUIRE(bench.pool(4100, 30000) == data);
        }
}

namespace
{

// What the server CPU holds while it works.
struct Watch {
    explicit Watch(Bench &bench) : machine(bench.machine())
    {
        machine->cpu.meanwhile = look;
        machine->cpu.context = this;
    }

    static void look(void *context)
    {
        Watch *watch = static_cast<Watch *>(context);

        watch->streams = watch->streams || watch->machine->cpu.streams != 0;
        watch->dirty = watch->dirty || watch->machine->media.cache.dirty_count != 0;
    }

    rpmi_machine *machine;
    bool streams = false;
    bool dirty = false;
};

} // namespace

TEST_CASE("serve: a cached COPY goes by way of the cache and is written back", "[unit]")
{
    for (uint32_t cached : { 0u, uint32_t(RPMI_SIM_CACHED) })
        for (const char *preset : { "adr", "eadr" }) {
            Bench bench(preset);
            rpmi_sim_client *client = bench.dial();
            auto data = pattern(640, 1);
            uint32_t flags = RPMI_SIM_SIGNALED | RPMI_SIM_DURABLE | cached;
            bool adr = preset == std::string("adr");
            Watch watch(bench);

            REQUIRE(bench.status_of(client,
                                    bench.write(client, 4096, data, flags, RPMI_SIM_COPY)) == 0);
            // Where the caches survive there is nothing to stream past them, nor to write back.
            REQUIRE(watch.streams == (adr && cached == 0));
            REQUIRE(watch.dirty == (adr && cached != 0));
            REQUIRE(bench.machine()->media.cache.dirty_count == 0);
            REQUIRE(bench.pool(4096, 640) == data);
        }
}

TEST_CASE("serve: a call runs after the ops posted before it, and its reply comes back", "[unit]")
{
    for (uint64_t seed = 1; seed < 60; seed++) {
        Bench bench("adr", seed);
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(64, 1);
        rpmi_sim_request call = Bench::request(client, RPMI_SIM_CALL, 0, RPMI_CALL_BYTES);
        uint32_t called_by = 0;

        bench.on_call = [&](uint32_t id, const unsigned char *request, unsigned char *reply) {
            called_by = id;
            reply[0] = static_cast<unsigned char>(request[0] + 1);
            REQUIRE(bench.pool(4096, 64) == data);
        };
        client->call[0] = 6;
        call.body = client->call;
        call.body_bytes = RPMI_CALL_BYTES;
        call.into = client->reply;
        bench.write(client, 4096, data, 0);
        REQUIRE(bench.status_of(client, bench.post(client, call)) == 0);
        REQUIRE(client->reply[0] == 7);
        REQUIRE(called_by == client->id);
    }
}

TEST_CASE("serve: no answer leaves when the power goes inside the service", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    rpmi_sim_request call = Bench::request(client, RPMI_SIM_CALL, 0, RPMI_CALL_BYTES);
    int steps = 0;

    bench.on_call = [&](uint32_t, const unsigned char *, unsigned char *) {
        rpmi_world_cut_at(bench.world, 0, 2, RPMI_CUT_NONE);
        for (; steps < 5; steps++)
            rpmi_sim_cpu_store(bench.machine(), RPMI_PLACE_POOL,
                               4096u + static_cast<unsigned>(steps) * 64, "12345678", 8);
    };
    call.body = client->call;
    call.body_bytes = RPMI_CALL_BYTES;
    call.into = client->reply;
    REQUIRE(bench.status_of(client, bench.post(client, call)) == RPM_E_LOST);
    REQUIRE(steps == 5);
    for (uint64_t i = 0; i < 5; i++)
        REQUIRE(bench.pool(4096 + i * 64, 1)[0] == (i < 2 ? '1' : 0));
}

TEST_CASE("serve: other events happen while the server CPU works", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *one = bench.dial();
    rpmi_sim_client *two = bench.dial();
    auto data = pattern(64, 1);
    rpmi_sim_request call = Bench::request(one, RPMI_SIM_CALL, 0, RPMI_CALL_BYTES);
    bool landed = false;

    bench.on_call = [&](uint32_t, const unsigned char *, unsigned char *) {
        bench.write(two, 8192, data, 0);
        for (int i = 0; i < 2000; i++)
            rpmi_sim_cpu_store(bench.machine(), RPMI_PLACE_POOL, 4096, "12345678", 8);
        landed = bench.pool(8192, 64) == data;
    };
    call.body = one->call;
    call.body_bytes = RPMI_CALL_BYTES;
    call.into = one->reply;
    REQUIRE(bench.status_of(one, bench.post(one, call)) == 0);
    REQUIRE(landed);
}

TEST_CASE("serve: after a client is detached, none of its writes can land", "[unit]")
{
    bool halfway = false;

    for (uint64_t seed = 1; seed < 60; seed++)
        for (uint32_t kind : { RPMI_SIM_COPY, RPMI_SIM_WRITE }) {
            Bench bench("adr", seed);
            rpmi_sim_client *client = bench.dial();
            auto data = pattern(6000, 1);

            bench.write(client, 4096, data, RPMI_SIM_SIGNALED | RPMI_SIM_DURABLE, kind);
            for (uint64_t i = seed; i > 0; i--)
                rpmi_world_step(bench.world);
            rpmi_client_kill(client);
            while (bench.detached == 0)
                REQUIRE(rpmi_world_step(bench.world));
            auto then = bench.pool(4096, 6000);
            REQUIRE(bench.machine()->cpu.streams == 0);
            bench.run_dry();
            REQUIRE(bench.pool(4096, 6000) == then);
            halfway = halfway || (then[0] == data[0] && then != data);
        }
    REQUIRE(halfway);
}

TEST_CASE("serve: a new connection first detaches the previous client", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    uint32_t id = client->id;

    REQUIRE(rpmi_client_dial(client) == 0);
    bench.run_dry();
    REQUIRE(client->connected);
    REQUIRE(client->id != id);
    REQUIRE(bench.detached == 1);
}
