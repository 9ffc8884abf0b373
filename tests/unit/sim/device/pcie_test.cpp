// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

namespace
{

// A write of @bytes at @offset, in the queue of the first machine.
rpmi_packet *push(Bench &bench, rpmi_sim_client *client, uint64_t offset, uint32_t bytes)
{
    rpmi_packet *packet = rpmi_packet_take(client);
    rpmi_tlp tlp = {};

    packet->bytes = bytes;
    memset(packet->data, 0x5a, bytes);
    tlp.kind = RPMI_TLP_WRITE;
    tlp.offset = offset;
    tlp.bytes = bytes;
    tlp.packet = packet;
    tlp.client = client;
    rpmi_pcie_push(bench.machine(), &tlp);
    return packet;
}

} // namespace

TEST_CASE("pcie: a transaction lands line by line, in any order, one event each", "[unit]")
{
    bool last_before_first = false;
    bool first_before_last = false;

    for (uint64_t seed = 1; seed < 40; seed++) {
        Bench bench("adr-noddio", seed);
        rpmi_sim_client *client = bench.dial();

        push(bench, client, 4096, 256);
        while (bench.machine()->pcie.lines < 2)
            REQUIRE(rpmi_world_step(bench.world));
        bool first = bench.pool(4096, 1)[0] != 0;
        bool last = bench.pool(4096 + 192, 1)[0] != 0;
        last_before_first = last_before_first || (last && !first);
        first_before_last = first_before_last || (first && !last);
        bench.run_dry();
        REQUIRE(bench.machine()->pcie.lines == 4);
        REQUIRE(bench.pool(4096, 256) == std::vector<unsigned char>(256, 0x5a));
        REQUIRE(client->packets == 0);
    }
    REQUIRE(last_before_first);
    REQUIRE(first_before_last);
}

TEST_CASE("pcie: an earlier transaction has landed before a later one begins", "[unit]")
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        Bench bench("adr-noddio", seed);
        rpmi_sim_client *client = bench.dial();

        push(bench, client, 4096, 256);
        push(bench, client, 8192, 256);
        while (bench.pool(8192, 256) == std::vector<unsigned char>(256))
            REQUIRE(rpmi_world_step(bench.world));
        REQUIRE(bench.pool(4096, 256) == std::vector<unsigned char>(256, 0x5a));
    }
}

TEST_CASE("pcie: pieces cover exactly the bytes of a write, and partial words are counted",
          "[unit]")
{
    Bench bench("adr-noddio");
    rpmi_sim_client *client = bench.dial();

    push(bench, client, 4096 + 10, 100);
    bench.run_dry();
    REQUIRE(bench.machine()->pcie.lines == 2);
    REQUIRE(bench.machine()->pcie.partial_words == 2);
    auto now = bench.pool(4096, 128);
    for (size_t i = 0; i < now.size(); i++)
        REQUIRE(now[i] == (i >= 10 && i < 110 ? 0x5a : 0));
}

TEST_CASE("pcie: dropping the queue releases every packet", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();

    for (int i = 0; i < 5; i++)
        push(bench, client, 4096, 64);
    REQUIRE(client->packets == 5);
    rpmi_pcie_drop(bench.machine());
    REQUIRE(client->packets == 0);
    bench.run_dry();
    REQUIRE(bench.pool(4096, 1)[0] == 0);
}
