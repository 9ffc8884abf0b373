// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("nic: a WRITE lands whole, wherever it begins and however long it is", "[unit]")
{
    for (const char *preset : { "adr", "adr-noddio", "eadr", "msync" })
        for (uint64_t len : { 1u, 7u, 64u, 65u, 1023u, 1024u, 1025u, 5000u, 20000u }) {
            Bench bench(preset, len);
            rpmi_sim_client *client = bench.dial();
            auto data = pattern(len, 1);

            CAPTURE(preset, len);
            uint64_t number = bench.write(client, 4096 + len % 61, data);
            REQUIRE(bench.status_of(client, number) == 0);
            bench.run_dry();
            REQUIRE(bench.pool(4096 + len % 61, len) == data);
            REQUIRE(bench.pool(4096 + len % 61 + len, 64) == std::vector<unsigned char>(64));
            REQUIRE(bench.pool(4096 + len % 61 - 8, 8) == std::vector<unsigned char>(8));
            REQUIRE(client->packets == 0);
        }
}

TEST_CASE("nic: the acknowledgement leaves before the bytes are placed", "[unit]")
{
    bool acked_first = false;

    for (uint64_t seed = 1; seed < 100 && !acked_first; seed++) {
        Bench bench("adr-noddio", seed);
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(64, 1);

        REQUIRE(bench.status_of(client, bench.write(client, 4096, data)) == 0);
        acked_first = bench.pool(4096, 64) != data;
        bench.run_dry();
        REQUIRE(bench.pool(4096, 64) == data);
    }
    REQUIRE(acked_first);
}

TEST_CASE("nic: the client may reuse its memory once the WRITE has completed", "[unit]")
{
    for (uint64_t seed = 1; seed < 50; seed++) {
        Bench bench("adr", seed);
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(3000, 1);
        auto kept = data;

        REQUIRE(bench.status_of(client, bench.write(client, 4096, data)) == 0);
        std::fill(data.begin(), data.end(), static_cast<unsigned char>(0xee));
        bench.run_dry();
        REQUIRE(bench.pool(4096, 3000) == kept);
    }
}

TEST_CASE("nic: head, body and zeros are gathered into one WRITE", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    unsigned char head[64];
    std::vector<unsigned char> body(2000, 2);
    rpmi_sim_request request = Bench::request(client, RPMI_SIM_WRITE, 4096, 3072);

    memset(head, 1, sizeof(head));
    memset(bench.machine()->media.pool + 4096, 9, 4096);
    request.head = head;
    request.head_bytes = 40;
    request.body = body.data();
    request.body_bytes = body.size();
    uint64_t number = bench.post(client, request);
    memset(head, 7, sizeof(head)); // borrowed until post returned, no longer
    REQUIRE(bench.status_of(client, number) == 0);
    bench.run_dry();
    auto now = bench.pool(4096, 3073);
    for (size_t i = 0; i < now.size(); i++)
        REQUIRE(now[i] == (i < 40 ? 1 : i < 2040 ? 2 : i < 3072 ? 0 : 9));
}

TEST_CASE("nic: a refused op ends with the reason, later ones are lost, earlier ones complete",
          "[unit]")
{
    struct {
        uint32_t key;
        uint64_t offset;
        int status;
    } const table[] = {
        { 99, 0, RPM_E_DENIED },
        { KEY_POOL, POOL_BYTES - 8, RPM_E_RANGE },
        { KEY_POOL, UINT64_MAX - 8, RPM_E_RANGE },
        { KEY_LEASE, 0, RPM_E_FENCED },
    };

    for (const auto &row : table)
        for (uint32_t kind : { RPMI_SIM_WRITE, RPMI_SIM_READ, RPMI_SIM_PERSIST, RPMI_SIM_FLUSH,
                               RPMI_SIM_WRITE_IMM, RPMI_SIM_COPY }) {
            Bench bench("adr", kind);
            rpmi_sim_client *client = bench.dial();
            std::vector<unsigned char> bytes(64, 1);
            rpmi_sim_request bad = Bench::request(client, kind, row.offset, 64, 0);

            CAPTURE(row.key, row.offset, kind);
            bench.revoked = true;
            bench.write(client, 4096, bytes);
            bad.key = row.key;
            bad.id = client->tail;
            bad.body = kind == RPMI_SIM_READ ? nullptr : bytes.data();
            bad.body_bytes = kind == RPMI_SIM_READ ? 0 : 64;
            bad.into = bytes.data();
            bench.post(client, bad);
            bench.write(client, 8192, bytes, 0);
            bench.run_dry();
            auto all = Bench::reap(client);
            REQUIRE(all.size() == 3);
            CHECK(all[0].status == 0);
            CHECK(all[1].status == row.status);
            CHECK(all[2].status == RPM_E_LOST);
            CHECK(client->lost == row.status);
            CHECK(rpmi_client_ready(client));
            CHECK(client->packets == 0);
        }
}

TEST_CASE("nic: a key revoked while a WRITE waits in the NIC stops it", "[unit]")
{
    for (uint64_t seed = 1; seed < 100; seed++) {
        Bench bench("adr-noddio", seed);
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(64, 1);
        std::vector<unsigned char> into(1);
        rpmi_sim_request request = Bench::request(client, RPMI_SIM_WRITE, 4096, 64);

        request.key = KEY_LEASE;
        request.body = data.data();
        request.body_bytes = 64;
        bench.post(client, request);
        uint64_t number = bench.read(client, 4096, into);
        while (client->responder[0].received.head == nullptr)
            REQUIRE(rpmi_world_step(bench.world));
        bench.revoked = true;
        bench.run_dry();
        REQUIRE(bench.pool(4096, 64) == std::vector<unsigned char>(64));
        REQUIRE(client->lost == RPM_E_FENCED);
        // The WRITE may have been acknowledged, which proves nothing. The READ after it was not.
        int status = client->slot[number % client->room].status;
        REQUIRE((status == RPM_E_FENCED || status == RPM_E_LOST));
    }
}

TEST_CASE("nic: packets of an earlier connection are dropped", "[unit]")
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        Bench bench("adr", seed, [](rpmi_world_opts &opts) { opts.delay_ns = 100000; });
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(64, 1);

        bench.write(client, 4096, data);
        while (client->packets == 0)
            REQUIRE(rpmi_world_step(bench.world));
        REQUIRE(rpmi_client_dial(client) == 0); // the packet is still on the wire
        while (client->dialling)
            REQUIRE(rpmi_world_step(bench.world));
        bool arrived = client->packets == 0;
        bench.run_dry();
        REQUIRE(client->connected);
        REQUIRE(client->responder[0].expected == 0);
        if (!arrived)
            REQUIRE(bench.pool(4096, 64) == std::vector<unsigned char>(64));
    }
}
