// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

namespace
{

rpm_load many(rpm_load_op op, uint64_t bytes = 64)
{
    rpm_load load = load_of(RPM_BY_NIC, op);

    load.bytes = bytes;
    load.threads = 60;
    load.depth = 8;
    load.memory = RPM_LOAD_DRAM;
    return load;
}

} // namespace

TEST_CASE("nic: atomics use at most all units", "[unit]")
{
    Bench bench(many(RPM_LOAD_CAS));

    rpmi_server_start(bench.server);
    for (int i = 0; i < 20000; i++) {
        REQUIRE(bench.step());
        REQUIRE(bench.server->atomics.under_way <= bench.params.nic_atomics);
    }
    CHECK(bench.server->atomics.under_way == bench.params.nic_atomics);
}

TEST_CASE("nic: atomics are as fast as their units turn over", "[unit]")
{
    rpmi_params params = params_of("hints");
    uint64_t hold_ps = rpmi_rate_ps(params.pcie_header, params.pcie_rate) + params.pcie_write +
                       params.dram_latency +
                       rpmi_rate_ps(8 + params.pcie_header, params.pcie_rate) + params.pcie_read -
                       params.pcie_write + params.nic_atomic;

    for (uint64_t units : { 1u, 5u }) {
        rpm_load load = many(RPM_LOAD_CAS);

        load.ddio = RPM_YES; // else the next one waits for the read of the word's line
        rpm_cost cost = cost_of(load, "hints,nic_atomics=" + std::to_string(units) + " units");

        CAPTURE(units);
        CHECK(cost.duration_ps >= cost.ops * hold_ps / units - hold_ps);
        CHECK(cost.duration_ps < cost.ops * hold_ps / units * 102 / 100);
    }
}

TEST_CASE("nic: a swapped word goes back to memory", "[unit]")
{
    rpm_load load = many(RPM_LOAD_CAS);

    load.memory = RPM_LOAD_NVM;
    rpm_cost cost = cost_of(load);
    CHECK(cost.partial_words >= cost.ops - 10);
    CHECK(cost.partial_words <= cost.ops + 10);
    CHECK(cost.module_write_bytes >= (cost.ops - 10) * 64);
    CHECK(cost.bytes == cost.ops * 8);
}

TEST_CASE("nic: small messages pass at its rate, large ones at the network's", "[unit]")
{
    rpmi_params params = params_of("hints");
    rpm_cost small = cost_of(many(RPM_LOAD_WRITE));
    rpm_cost large = cost_of(many(RPM_LOAD_WRITE, 8192));
    rpm_cost reads = cost_of(many(RPM_LOAD_READ, 8192));
    uint64_t large_ps = rpmi_rate_ps(8192, params.network_rate);

    CHECK(small.duration_ps / small.ops >= params.nic_message);
    CHECK(small.duration_ps / small.ops < params.nic_message * 102 / 100);
    CHECK(large.duration_ps / large.ops >= large_ps * 99 / 100);
    CHECK(large.duration_ps / large.ops < large_ps * 102 / 100);
    CHECK(reads.duration_ps / reads.ops >= large_ps * 99 / 100);
    CHECK(reads.duration_ps / reads.ops < large_ps * 102 / 100);
}

TEST_CASE("nic: reads of memory outstanding are no more than it can have", "[unit]")
{
    rpmi_params params = params_of("hints");
    // Fewer than nic_message lets the NIC receive.
    Bench bench(many(RPM_LOAD_READ), "hints,nic_reads=40 requests");

    rpmi_server_start(bench.server);
    for (int i = 0; i < 20000; i++) {
        REQUIRE(bench.step());
        REQUIRE(bench.server->reads.under_way <= bench.params.nic_reads);
    }
    CHECK(bench.server->reads.under_way == bench.params.nic_reads);

    rpm_cost few = cost_of(many(RPM_LOAD_READ), "hints,nic_reads=4 requests");
    uint64_t trip_ps = params.pcie_read + params.dram_latency;
    CHECK(few.duration_ps / few.ops >= trip_ps / 4);
    CHECK(few.duration_ps / few.ops < (trip_ps + 20000) / 4);
}

TEST_CASE("nic: a large read asks for some lines at a time", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_READ);

    load.bytes = 1 << 20;
    load.ops = 10;
    Bench bench(load);
    rpmi_server_start(bench.server);
    while (bench.server->finished < 3) {
        REQUIRE(bench.step());
        REQUIRE(bench.server->slot[0].lines <= RPMI_FETCH_LINES);
    }
    uint64_t reads = 0;
    for (uint32_t i = 0; i < 6; i++)
        reads += bench.module(i)->count.reads;
    CHECK(reads == 3 * (1 << 20) / 64);
}

TEST_CASE("nic: payloads cross PCIe in pieces that no boundary divides", "[unit]")
{
    struct Pieces {
        uint64_t skew, bytes, payload, count;
    };

    for (Pieces want : { Pieces{ 0, 1, 256, 1 },
                         Pieces{ 0, 256, 256, 1 },
                         { 32, 256, 256, 2 },
                         { 255, 2, 256, 2 },
                         { 0, 1000, 256, 4 },
                         { 0, 1000, 64, 16 } }) {
        rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

        load.bytes = want.bytes;
        load.align_bytes = 4096;
        load.skew_bytes = want.skew;
        Bench bench(load, "hints,pcie_payload=" + std::to_string(want.payload) + " B");
        rpmi_server_start(bench.server);
        while (bench.server->finished < 1)
            REQUIRE(bench.step());
        CHECK(bench.server->tlps == want.count);
    }
}

TEST_CASE("nic: writes that are not placed fill its buffer, and no more", "[unit]")
{
    rpm_load load = many(RPM_LOAD_WRITE, 1000);
    uint64_t most = 0;
    uint64_t waiting = 0;

    load.memory = RPM_LOAD_NVM;
    Bench bench(load, "hints,nic_buffer=8192 B");
    rpmi_server_start(bench.server);
    for (int i = 0; i < 60000; i++) {
        REQUIRE(bench.step());
        REQUIRE(bench.server->inbound_bytes < 8192 + 1000 + 128);
        REQUIRE(bench.server->inbound_count <= bench.server->inbound_room);
        most = bench.server->inbound_bytes > most ? bench.server->inbound_bytes : most;
        waiting = bench.server->backlog.count > waiting ? bench.server->backlog.count : waiting;
    }
    CHECK(most >= 8192);
    CHECK(waiting > 90);
}

TEST_CASE("nic: an answer that is ready does not wait for one that is yet to come", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.threads = 2;
    Bench bench(load);
    uint64_t wire_ps = rpmi_rate_ps(1200, bench.params.network_rate);
    uint64_t back_ps =
        bench.params.network_latency + bench.params.nic_latency + bench.params.completion;
    rpmi_event what;

    rpmi_server_nic_answer(bench.server, 0, 1000000, 1200);
    rpmi_server_nic_answer(bench.server, 1, 0, 0);
    REQUIRE(bench.step(&what));
    CHECK(what.arg == 1);
    CHECK(what.at == wire_ps + back_ps);
    do {
        REQUIRE(bench.step(&what));
    } while (what.kind != RPMI_PERF_EV_COMPLETION || what.arg != 0);
    CHECK(what.at == wire_ps + 1000000 + back_ps);
}
