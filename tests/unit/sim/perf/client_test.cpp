// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

namespace
{

// A message of so many bytes, from its posting until the server's NIC has it.
uint64_t there(uint64_t bytes, uint64_t posts = 1)
{
    return posts * HINTS.nic_post + HINTS.nic_latency + HINTS.network_latency +
           rpmi_rate_ps(bytes, HINTS.network_rate) + HINTS.nic_message + HINTS.nic_latency;
}

// An answer, until a thread polls it.
uint64_t back(uint64_t bytes)
{
    return rpmi_rate_ps(bytes, HINTS.network_rate) + HINTS.network_latency + HINTS.nic_latency +
           HINTS.completion;
}

// A NIC's read of some bytes of memory.
uint64_t fetch(uint64_t bytes, uint64_t memory_ps)
{
    return rpmi_rate_ps(HINTS.pcie_header, HINTS.pcie_rate) + HINTS.pcie_write + memory_ps +
           rpmi_rate_ps(bytes + HINTS.pcie_header, HINTS.pcie_rate) + HINTS.pcie_read -
           HINTS.pcie_write + HINTS.nic_latency;
}

const uint64_t GATHER = HINTS.pcie_read + HINTS.llc_latency; // at the client

// The latency of all operations of a load, if it is one.
uint64_t latency_of(const rpm_load &load, const std::string &preset = "hints")
{
    rpm_cost cost = cost_of(load, preset);

    CHECK(cost.p50_ps == cost.max_ps);
    CHECK(cost.mean_ps == cost.p50_ps);
    CHECK(cost.duration_ps == cost.p50_ps * cost.ops);
    return cost.p50_ps;
}

} // namespace

TEST_CASE("client: a write is over after one way there and one back", "[unit]")
{
    CHECK(latency_of(load_of(RPM_BY_NIC, RPM_LOAD_WRITE)) == there(64) + back(0));
}

TEST_CASE("client: a payload that is not inline is fetched first", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.bytes = HINTS.nic_inline;
    CHECK(latency_of(load) == there(load.bytes) + back(0));
    load.bytes++;
    CHECK(latency_of(load) == GATHER + there(load.bytes) + back(0));
}

TEST_CASE("client: a write and an awaited READ are two round trips", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.persist = RPM_PERSIST_WAIT;
    load.flush_memory = RPM_LOAD_DRAM;
    CHECK(latency_of(load) ==
          there(64) + back(0) + there(0) + fetch(1, HINTS.dram_latency) + back(1));
}

TEST_CASE("client: a chained write and READ are one round trip", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);
    uint64_t one = GATHER + there(64, 2) + HINTS.nic_message + back(1);

    load.persist = RPM_PERSIST_CHAIN;
    load.flush_memory = RPM_LOAD_DRAM;
    CHECK(latency_of(load) == one + fetch(1, HINTS.dram_latency));
    load.flush_memory = RPM_LOAD_NVM; // what was just written is at hand
    CHECK(latency_of(load) == one + fetch(1, HINTS.buffer_latency));
    load.ddio = RPM_YES;
    CHECK(latency_of(load) == one + fetch(1, HINTS.llc_latency));
}

TEST_CASE("client: a read and a swap are one round trip", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_READ);

    load.region_bytes = 64ull << 30;
    CHECK(latency_of(load) == there(0) + fetch(64, HINTS.media_latency) + back(64));
    load.memory = RPM_LOAD_DRAM;
    CHECK(latency_of(load) == there(0) + fetch(64, HINTS.dram_latency) + back(64));
    load.op = RPM_LOAD_CAS;
    CHECK(latency_of(load) == there(0) + fetch(8, HINTS.dram_latency) + HINTS.nic_atomic + back(8));
}

TEST_CASE("client: a call is served by a core between two messages", "[unit]")
{
    rpm_load load = load_of(RPM_BY_CALL, RPM_LOAD_WRITE);
    uint64_t placed_ps = rpmi_rate_ps(128 + HINTS.pcie_header, HINTS.pcie_rate) + HINTS.pcie_write;

    load.ddio = RPM_YES;
    CHECK(latency_of(load) == there(128) + placed_ps + 2 * HINTS.llc_latency + HINTS.read_line +
                                  HINTS.call_work + HINTS.stream_latency + HINTS.call_reply +
                                  HINTS.nic_latency + back(16));
}

TEST_CASE("client: a thread posts one request after another", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.depth = 64;
    rpm_cost cost = cost_of(load);
    CHECK(cost.duration_ps / cost.ops == HINTS.nic_post);
    load.persist = RPM_PERSIST_CHAIN;
    cost = cost_of(load);
    CHECK(cost.duration_ps / cost.ops == 2 * HINTS.nic_post);
    load.persist = RPM_PERSIST_WAIT;
    cost = cost_of(load);
    // its two requests may fall on both sides of where the count begins
    CHECK(cost.duration_ps / cost.ops >= 2 * HINTS.nic_post * 999 / 1000);
    CHECK(cost.duration_ps / cost.ops < 2 * HINTS.nic_post * 101 / 100);
}

TEST_CASE("client: a message that is ready does not wait for one that is not", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_MIX);

    // One operation of each kind: reads at their own latency, though writes must gather first.
    load.threads = 2;
    load.write_percent = 50;
    load.bytes = 256;
    load.memory = RPM_LOAD_DRAM;
    Bench bench(load);
    uint64_t read_ps = there(0) + fetch(256, HINTS.dram_latency) + back(256);
    uint64_t finished = 0;
    uint64_t late = 0;
    rpmi_server_start(bench.server);
    while (finished < 2000) {
        rpmi_event next = bench.server->queue.heap[0];

        if (next.kind == RPMI_PERF_EV_COMPLETION && !bench.server->slot[next.arg].write)
            late += next.at - bench.server->slot[next.arg].start_ps > read_ps + 60000;
        REQUIRE(bench.step());
        finished = bench.server->finished;
    }
    CHECK(late == 0);
}

TEST_CASE("client: a mix has the given percentage of writes", "[unit]")
{
    for (uint32_t percent : { 0u, 30u, 100u }) {
        for (rpm_load_by by : { RPM_BY_NIC, RPM_BY_CORE }) {
            rpm_load load = load_of(by, RPM_LOAD_MIX);

            load.write_percent = percent;
            load.ops = 5000;
            rpm_cost cost = cost_of(load);
            uint64_t writes = cost.module_write_bytes / 64;

            CHECK(writes + 150 >= percent * 50);
            CHECK(writes <= percent * 50 + 150);
            if (percent % 100 == 0)
                CHECK(writes == percent * 50);
            CHECK(cost.module_read_bytes / 64 + writes <= cost.ops + 1);
        }
    }
}
