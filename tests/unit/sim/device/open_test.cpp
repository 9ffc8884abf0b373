// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

extern "C" {
#include "base/mem.h"
}

TEST_CASE("client: dialling ends connected, or refused with the reason", "[unit]")
{
    Bench bench("adr");

    rpmi_sim_client *client = bench.dial();
    REQUIRE(client->connected);
    REQUIRE(client->lost == 0);
    REQUIRE(client->epoch == 7);
    bench.refuse_attach = RPM_E_LIMIT;
    client = bench.dial();
    REQUIRE_FALSE(client->connected);
    REQUIRE(client->refused == RPM_E_LIMIT);
    rpmi_power_kill(bench.machine());
    client = bench.dial();
    REQUIRE(client->refused == RPM_E_REFUSED);
}

TEST_CASE("client: a dead client sends nothing more, and the server notices", "[unit]")
{
    bool some = false;
    bool none = false;

    for (uint64_t seed = 1; seed < 60; seed++) {
        Bench bench("adr", seed);
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(20000, 1);

        bench.write(client, 4096, data);
        rpmi_world_run_until(bench.world, bench.world->now_ns + seed * 30);
        rpmi_client_kill(client);
        bench.run_dry();
        auto now = bench.pool(4096, data.size());
        REQUIRE(now != data);
        some = some || now[0] != 0;
        none = none || now[0] == 0;
        for (size_t i = 1024; i < now.size();
             i += 1024) // packets on the wire still arrive, in order
            REQUIRE((now[i] == 0 || now[i - 1] == data[i - 1]));
        REQUIRE(bench.detached == 1);
        REQUIRE_FALSE(client->attached);
        auto all = Bench::reap(client);
        REQUIRE(all.size() == 1);
        REQUIRE(all[0].status == RPM_E_LOST);
    }
    REQUIRE(some);
    REQUIRE(none);
}

TEST_CASE("client: closing tells the server, and the memory is used again", "[unit]")
{
    Bench bench("adr");

    for (int i = 0; i < 300; i++) {
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(64, 1);

        REQUIRE(bench.status_of(client, bench.write(client, 4096, data)) == 0);
        rpmi_client_close(client);
        bench.clients.clear();
        bench.run_dry();
    }
    REQUIRE(bench.world->clients == 1);
    REQUIRE(bench.detached == 300);
}

TEST_CASE("client: every failed allocation of opening is an error", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = nullptr;
    uint64_t nth = 1;

    for (;; nth++) {
        rpmi_mem_fail_at(nth);
        int err = rpmi_client_open(bench.world, 0, 16, &client);
        if (err == 0)
            err = rpmi_client_dial(client);
        rpmi_mem_fail_at(0);
        if (err == 0)
            break;
        REQUIRE(err == RPM_E_NOMEM);
        if (client != nullptr)
            rpmi_client_close(client);
        client = nullptr;
    }
    REQUIRE(nth > 3);
    bench.clients.push_back(client);
    bench.run_dry();
    REQUIRE(client->connected);
}

TEST_CASE("client: nothing is allocated between opening and closing", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    auto data = pattern(3000, 1);

    rpmi_mem_freeze();
    for (int i = 0; i < 200; i++) {
        rpmi_sim_request request = Bench::request(client, RPMI_SIM_WRITE, 4096, data.size());

        request.body = data.data();
        request.body_bytes = data.size();
        rpmi_client_post(client, &request);
        uint64_t id;
        int status;
        while (!rpmi_client_reap(client, &id, &status))
            rpmi_world_step(bench.world);
    }
    rpmi_mem_thaw();
    REQUIRE(client->head == 200);
}
