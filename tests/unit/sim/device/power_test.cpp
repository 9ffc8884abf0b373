// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include <set>

namespace
{

// Two generations of CPU stores to 8 lines, nothing persisted, then a cut.
std::vector<unsigned char> after_cut(const char *preset, uint64_t seed, rpmi_cut cut)
{
    Bench bench(preset, seed);
    std::vector<unsigned char> one(512, 1);
    std::vector<unsigned char> two(512, 2);

    rpmi_sim_cpu_enter(bench.machine());
    rpmi_sim_cpu_store(bench.machine(), RPMI_PLACE_POOL, 4096, one.data(), one.size());
    rpmi_sim_cpu_store(bench.machine(), RPMI_PLACE_POOL, 4096, two.data(), two.size());
    rpmi_sim_cpu_leave(bench.machine());
    REQUIRE(bench.pool(4096, 512) == two);
    rpmi_power_cut(bench.machine(), cut);
    return bench.pool(4096, 512);
}

bool whole(const std::vector<unsigned char> &bytes, size_t unit)
{
    for (size_t at = 0; at < bytes.size(); at += unit)
        for (size_t i = 1; i < unit; i++)
            if (bytes[at + i] != bytes[at])
                return false;
    return true;
}

} // namespace

TEST_CASE("power: a CPU store without persist is lost by DROP and kept by NONE", "[unit]")
{
    for (const char *preset : { "adr", "adr-noddio", "msync" }) {
        // Seeds differ in what was evicted before the cut: some lose all, none gains anything.
        bool lost_all = false;

        for (uint64_t seed = 1; seed < 30; seed++) {
            auto bytes = after_cut(preset, seed, RPMI_CUT_DROP);

            lost_all = lost_all || bytes == std::vector<unsigned char>(512, 0);
            REQUIRE(whole(bytes, 64));
        }
        REQUIRE(lost_all);
        REQUIRE(after_cut(preset, 1, RPMI_CUT_NONE) == std::vector<unsigned char>(512, 2));
    }
}

TEST_CASE("power: under eADR a CPU store needs no persist", "[unit]")
{
    for (rpmi_cut cut : CUTS)
        REQUIRE(after_cut("eadr", 1, cut) == std::vector<unsigned char>(512, 2));
}

TEST_CASE("power: REORDER keeps lines whole, in any order, older and newer ones", "[unit]")
{
    std::set<unsigned char> first;
    std::set<unsigned char> last;
    bool later_without_earlier = false;

    for (uint64_t seed = 1; seed < 200; seed++) {
        auto bytes = after_cut("adr", seed, RPMI_CUT_REORDER);

        REQUIRE(whole(bytes, 64));
        first.insert(bytes[0]);
        last.insert(bytes[511]);
        later_without_earlier = later_without_earlier || (bytes[0] == 0 && bytes[511] == 2);
    }
    REQUIRE(first == std::set<unsigned char>{ 0, 1, 2 });
    REQUIRE(last == std::set<unsigned char>{ 0, 1, 2 });
    REQUIRE(later_without_earlier);
}

TEST_CASE("power: TEAR splits lines at 8 bytes and nowhere else", "[unit]")
{
    bool torn = false;

    for (uint64_t seed = 1; seed < 200; seed++) {
        auto bytes = after_cut("adr", seed, RPMI_CUT_TEAR);

        REQUIRE(whole(bytes, 8));
        torn = torn || !whole(bytes, 64);
    }
    REQUIRE(torn);
}

TEST_CASE("power: a block device keeps sectors whole under REORDER", "[unit]")
{
    std::set<unsigned char> seen;

    for (uint64_t seed = 1; seed < 100; seed++) {
        auto bytes = after_cut("msync", seed, RPMI_CUT_REORDER);

        seen.insert(bytes[0]);
        // The sector as it was at one moment: lines stored up to then are new, the others old.
        REQUIRE(whole(bytes, 64));
        for (size_t at = 64; at < bytes.size(); at += 64)
            REQUIRE(bytes[at] <= bytes[at - 64]);
    }
    REQUIRE(seen.size() == 3);
}

TEST_CASE("power: what is persistent survives every cut", "[unit]")
{
    for (const char *preset : { "adr", "adr-noddio", "eadr", "msync" })
        for (rpmi_cut cut : CUTS) {
            Bench bench(preset, 5);
            auto bytes = pattern(700, 1);

            rpmi_sim_cpu_enter(bench.machine());
            rpmi_sim_cpu_store(bench.machine(), RPMI_PLACE_POOL, 4100, bytes.data(), bytes.size());
            REQUIRE(rpmi_sim_cpu_persist(bench.machine(), RPMI_PLACE_POOL, 4100, bytes.size()) ==
                    0);
            rpmi_sim_cpu_leave(bench.machine());
            rpmi_power_cut(bench.machine(), cut);
            REQUIRE(bench.pool(4100, bytes.size()) == bytes);
        }
}

TEST_CASE("power: bytes in the NIC are lost by DROP, kept by NONE, torn by TEAR", "[unit]")
{
    std::set<rpmi_cut> kept;
    std::set<rpmi_cut> lost;
    bool torn = false;

    for (uint64_t seed = 1; seed < 120; seed++)
        for (rpmi_cut cut : CUTS) {
            Bench bench("adr-noddio", seed);
            rpmi_sim_client *client = bench.dial();
            auto bytes = pattern(64, 1);

            bench.write(client, 4096, bytes);
            while (client->responder[0].expected == 0)
                REQUIRE(rpmi_world_step(bench.world));
            rpmi_power_cut(bench.machine(), cut);
            auto now = bench.pool(4096, 64);
            if (now == bytes)
                kept.insert(cut);
            else if (now == std::vector<unsigned char>(64))
                lost.insert(cut);
            else
                torn = true;
            REQUIRE(
                (cut == RPMI_CUT_TEAR || now == bytes || now == std::vector<unsigned char>(64)));
        }
    REQUIRE(kept == std::set<rpmi_cut>{ RPMI_CUT_NONE, RPMI_CUT_TEAR, RPMI_CUT_REORDER });
    REQUIRE(lost == std::set<rpmi_cut>{ RPMI_CUT_DROP, RPMI_CUT_TEAR, RPMI_CUT_REORDER });
    REQUIRE(torn);
}

TEST_CASE("power: bytes in the PCIe queue and in a core's buffers count as outstanding", "[unit]")
{
    bool kept = false;
    bool torn = false;

    for (uint64_t seed = 1; seed < 60; seed++)
        for (rpmi_cut cut : CUTS) {
            Bench bench("adr-noddio", seed);
            rpmi_sim_client *client = bench.dial();
            auto data = pattern(256, 1);

            bench.write(client, 4096, data);
            while (bench.machine()->pcie.tail == 0 || client->responder[0].cut != 256)
                REQUIRE(rpmi_world_step(bench.world));
            REQUIRE(bench.machine()->pcie.lines == 0);
            rpmi_sim_cpu_enter(bench.machine());
            rpmi_sim_cpu_stream(bench.machine(), 8192, data.data(), 256);
            rpmi_sim_cpu_leave(bench.machine());
            rpmi_power_cut(bench.machine(), cut);
            for (uint64_t offset : { 4096u, 8192u }) {
                auto now = bench.pool(offset, 256);

                if (cut == RPMI_CUT_NONE)
                    REQUIRE(now == data);
                if (cut == RPMI_CUT_DROP && offset == 8192)
                    REQUIRE(now == std::vector<unsigned char>(256));
                kept = kept || (cut == RPMI_CUT_REORDER && now == data);
                torn = torn || (cut == RPMI_CUT_TEAR && now != data &&
                                now != std::vector<unsigned char>(256));
            }
            bench.start();
            REQUIRE(rpmi_client_dial(client) == 0);
            bench.run_dry();
            REQUIRE(client->connected);
            REQUIRE(bench.detached == 0); // the new server never knew the old client
        }
    REQUIRE(kept);
    REQUIRE(torn);
}

TEST_CASE("power: a killed server keeps its memory and caches, not its DRAM", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    auto bytes = pattern(200, 1);
    rpmi_sim_request word = Bench::request(client, RPMI_SIM_FAA, 0, 8);
    unsigned char found[8];

    word.key = KEY_DRAM;
    word.operand = 7;
    word.into = found;
    bench.write(client, 4096, bytes, 0);
    REQUIRE(bench.status_of(client, bench.post(client, word)) == 0);
    rpmi_power_kill(bench.machine());
    REQUIRE(bench.pool(4096, 200) == bytes);
    REQUIRE(bench.machine()->powered);
    bench.start();
    REQUIRE(rpmi_sim_media_at(&bench.machine()->media, RPMI_PLACE_DRAM, 0, 8)[0] == 0xdb);

    // Not persisted: another power cut after the restart may still lose it.
    bool lost = false;
    for (uint64_t seed = 1; seed < 20 && !lost; seed++) {
        Bench again("adr", seed);

        bench.write(again.dial(), 4096, bytes, 0);
        again.run_to(again.clients[0], 0);
        while (again.machine()->pcie.lines < 4)
            REQUIRE(rpmi_world_step(again.world));
        rpmi_power_kill(again.machine());
        again.start();
        rpmi_power_cut(again.machine(), RPMI_CUT_DROP);
        lost = again.pool(4096, 200) != bytes;
    }
    REQUIRE(lost);
}

TEST_CASE("power: a kill can be armed, and interrupts the server process", "[unit]")
{
    for (uint64_t event = 1; event < 60; event++) {
        Bench bench("adr");
        auto bytes = pattern(64, 1);

        bench.write(bench.dial(), 4096, bytes, 0);
        rpmi_world_cut_at(bench.world, 0, event, RPMI_CUT_KILL);
        while (bench.machine()->running && rpmi_world_step(bench.world)) {
        }
        REQUIRE(bench.machine()->powered);
        if (bench.machine()->running)
            continue; // nothing was left to happen
        REQUIRE_FALSE(bench.machine()->serving);
        bench.start();
        REQUIRE(bench.machine()->running);
        REQUIRE(bench.machine()->serving);
    }
}

TEST_CASE("power: a client's death can be armed", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    auto bytes = pattern(64, 1);

    rpmi_world_kill_at(client, 2);
    bench.write(client, 4096, bytes, 0);
    REQUIRE(rpmi_world_step(bench.world));
    REQUIRE(client->lost == 0);
    REQUIRE(rpmi_world_step(bench.world));
    REQUIRE(client->lost == RPM_E_LOST);
    REQUIRE(client->dead);
}

TEST_CASE("power: a killed server's core empties its buffers", "[unit]")
{
    Bench bench("adr");
    auto data = pattern(256, 1);

    rpmi_sim_cpu_enter(bench.machine());
    rpmi_sim_cpu_stream(bench.machine(), 8192, data.data(), 256);
    rpmi_sim_cpu_leave(bench.machine());
    REQUIRE(bench.pool(8192, 256) != data);
    rpmi_power_kill(bench.machine());
    REQUIRE(bench.pool(8192, 256) == data);
}

TEST_CASE("power: after a cut the client's ops end as lost, and a new dialling works", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    auto bytes = pattern(64, 1);
    uint64_t number = bench.write(client, 4096, bytes);

    rpmi_power_cut(bench.machine(), RPMI_CUT_DROP);
    REQUIRE(bench.status_of(client, number) == RPM_E_LOST);
    REQUIRE(client->lost == RPM_E_LOST);
    bench.run_dry();

    REQUIRE(rpmi_client_dial(client) == 0);
    bench.run_dry();
    REQUIRE(client->refused == RPM_E_REFUSED);
    bench.start();
    REQUIRE(rpmi_client_dial(client) == 0);
    bench.run_dry();
    REQUIRE(client->connected);
    REQUIRE(bench.status_of(client, bench.write(client, 4096, bytes)) == 0);
}
