// SPDX-License-Identifier: BSD-3-Clause
#include "cluster.h"

namespace
{

// The time that a thread spends on the answer of a phase of one operation.
const uint64_t TAKEN = HINTS.nic_poll + HINTS.client_switch;

// Latency of one operation at a time, in a load of its own.
uint64_t alone(rpm_load_by by, rpm_load_op op, uint64_t bytes, rpm_load_memory memory,
               rpm_load_persist persist = RPM_PERSIST_NONE)
{
    rpm_load load = load_of(by, op);

    load.bytes = bytes;
    load.memory = memory;
    load.persist = persist;
    load.flush_memory = RPM_LOAD_DRAM;
    load.region_bytes = 64ull << 20;
    return cost_of(load).p50_ps;
}

double rate(const rpm_cost &cost)
{
    return static_cast<double>(cost.ops) * 1e12 / static_cast<double>(cost.duration_ps);
}

} // namespace

TEST_CASE("cluster model: one operation takes as long as it does in a load, and the thread's part",
          "[unit]")
{
    rpm_script_op write = op_of(0, RPM_LOAD_WRITE, 64);
    auto latency = [](const rpm_script_op &op) {
        rpm_cost cost = cost_of({ op });

        CHECK(cost.p50_ps == cost.max_ps);
        CHECK(cost.duration_ps / cost.ops == cost.mean_ps); // one after another
        return cost.p50_ps;
    };

    CHECK(latency(in_dram(op_of(0, RPM_LOAD_READ, 200))) ==
          alone(RPM_BY_NIC, RPM_LOAD_READ, 200, RPM_LOAD_DRAM) + TAKEN);
    CHECK(latency(in_dram(op_of(0, RPM_LOAD_CAS, 8))) ==
          alone(RPM_BY_NIC, RPM_LOAD_CAS, 8, RPM_LOAD_DRAM) + TAKEN);
    CHECK(latency(write) == alone(RPM_BY_NIC, RPM_LOAD_WRITE, 64, RPM_LOAD_NVM) + TAKEN);
    write.flush_memory = RPM_LOAD_DRAM;
    write.persist = RPM_PERSIST_CHAIN;
    CHECK(latency(write) ==
          alone(RPM_BY_NIC, RPM_LOAD_WRITE, 64, RPM_LOAD_NVM, RPM_PERSIST_CHAIN) + TAKEN);
    write.persist = RPM_PERSIST_WAIT; // whose first answer is taken as well
    CHECK(latency(write) == alone(RPM_BY_NIC, RPM_LOAD_WRITE, 64, RPM_LOAD_NVM, RPM_PERSIST_WAIT) +
                                HINTS.nic_poll + TAKEN);
    CHECK(latency(by_call(in_dram(op_of(0, RPM_LOAD_READ, 64)))) ==
          alone(RPM_BY_CALL, RPM_LOAD_READ, 64, RPM_LOAD_DRAM) + TAKEN);
}

TEST_CASE("cluster model: a call that writes anything ends with a fence, once", "[unit]")
{
    rpm_script_op write = by_call(op_of(0, RPM_LOAD_WRITE, 64));
    rpm_script_op read = by_call(in_dram(op_of(0, RPM_LOAD_READ, 64)));
    auto latency = [](const Ops &ops) {
        Cluster cluster({ ops });

        cluster.load.ddio = RPM_YES; // messages are at hand
        return cluster.run().p50_ps;
    };
    uint64_t one = latency({ write });
    uint64_t two = latency({ write, write });

    CHECK(two > one);
    CHECK(two < one + HINTS.stream_latency); // less than with a fence of its own
    CHECK(latency({ write, read }) >= one);
    CHECK(latency({ write, read }) > latency({ read, read }));
    CHECK(cost_of({ write, write }).module_write_bytes == 2 * 64 * 2000);
}

TEST_CASE("cluster model: more threads have more throughput until a NIC is full", "[unit]")
{
    rpm_script_op read = in_dram(op_of(0, RPM_LOAD_READ, 8));
    Cluster cluster({ { read } });
    auto with = [&cluster](uint32_t threads, uint32_t machines) {
        cluster.load.threads = threads;
        cluster.load.machines = machines;
        return rate(cluster.run());
    };

    cluster.load.coroutines = 8;
    cluster.load.transactions = 20000;
    cluster.load.servers = 1;
    double one = with(1, 0);
    CHECK(with(4, 0) > 3.9 * one);
    CHECK(with(4, 1) > 3.9 * one);
    double most = 1e12 / static_cast<double>(HINTS.nic_message);
    CHECK(with(96, 96) > 0.9 * most); // the server's
    CHECK(with(96, 96) <= 1.01 * most);
}

TEST_CASE("cluster model: two servers do more than one, but not over one client machine", "[unit]")
{
    rpm_script_op here = in_dram(op_of(0, RPM_LOAD_READ, 8));
    rpm_script_op there = in_dram(op_of(0, RPM_LOAD_READ, 8, 1));
    Cluster cluster({ { here }, { there } });
    double most = 1e12 / static_cast<double>(HINTS.nic_message);

    cluster.load.servers = 2;
    cluster.load.threads = 96;
    cluster.load.coroutines = 8;
    cluster.load.transactions = 20000;
    CHECK(rate(cluster.run()) > 1.7 * most);
    cluster.load.machines = 1;
    CHECK(rate(cluster.run()) <= 1.01 * most);
}

TEST_CASE("cluster model: a write with its READ is two messages, chained or not", "[unit]")
{
    rpm_script_op write = op_of(0, RPM_LOAD_WRITE, 64);

    CHECK(cost_of({ write }).requests == 2000);
    write.persist = RPM_PERSIST_CHAIN;
    CHECK(cost_of({ write }).requests == 4000);
    write.persist = RPM_PERSIST_WAIT;
    CHECK(cost_of({ write }).requests == 4000);
}

TEST_CASE("cluster model: pauses reduce throughput and latency", "[unit]")
{
    rpm_script_op swap = in_dram(op_of(0, RPM_LOAD_CAS, 8));
    Cluster cluster({ { swap } });

    cluster.load.threads = 64;
    cluster.load.coroutines = 4;
    cluster.load.transactions = 20000;
    rpm_cost busy = cluster.run();
    cluster.load.pause_ns = 100000;
    rpm_cost idle = cluster.run();
    CHECK(rate(idle) < 1.01 * 256 / 100e-6);
    CHECK(rate(idle) > 0.9 * 256 / 105e-6);
    CHECK(idle.p50_ps < busy.p50_ps);
}

TEST_CASE("cluster model: logs fill media lines, random rows do not", "[unit]")
{
    rpm_script_op row = op_of(0, RPM_LOAD_WRITE, 64);
    rpm_script_op log = row;

    row.persist = log.persist = RPM_PERSIST_CHAIN;
    log.pattern = RPM_LOAD_SEQUENTIAL;
    Cluster rows({ { row } });
    Cluster logs({ { log } });
    for (Cluster *cluster : { &rows, &logs }) {
        cluster->load.threads = 4;
        cluster->load.transactions = 20000;
    }
    CHECK(rows.run().media_write_bytes > 3 * 20000 * 64);
    CHECK(logs.run().media_write_bytes < 20000 * 64 * 3 / 2);
}

TEST_CASE("cluster model: partial lines are read before they are written", "[unit]")
{
    rpm_script_op write = op_of(0, RPM_LOAD_WRITE, 16);

    CHECK(cost_of({ write }).partial_words == 2000);
    write.pad_bytes = 64;
    CHECK(cost_of({ write }).partial_words == 0);
    CHECK(cost_of({ write }).bytes == 2000 * 16);
}

TEST_CASE("cluster model: atomics and reads have separate units in the NIC", "[unit]")
{
    rpm_script_op swap = in_dram(op_of(0, RPM_LOAD_CAS, 8));
    rpm_script_op read = in_dram(op_of(0, RPM_LOAD_READ, 8));
    Cluster cluster({ { swap }, { read } });
    rpmi_cluster_model *run;
    uint32_t swaps = 0;

    cluster.load.threads = 200;
    run = cluster.open(HINTS);
    rpmi_cluster_start(run);
    for (uint64_t i = 0; i < 200000; i++) {
        rpmi_cluster_step(run);
        swaps = std::max(swaps, run->server[0]->atomics.under_way);
        REQUIRE(run->server[0]->atomics.under_way <= HINTS.nic_atomics);
        REQUIRE(run->server[0]->reads.under_way <= HINTS.nic_reads);
    }
    CHECK(swaps == HINTS.nic_atomics);
    rpmi_cluster_close(&run);
}

TEST_CASE("cluster model: scripts are drawn by their weights", "[unit]")
{
    Cluster cluster({ { in_dram(op_of(0, RPM_LOAD_READ, 1)) },
                      { in_dram(op_of(0, RPM_LOAD_READ, 101)) },
                      { in_dram(op_of(0, RPM_LOAD_READ, 65536)) } });

    cluster.scripts()[0].weight = 3;
    cluster.scripts()[2].weight = 0;
    cluster.load.transactions = 20000;
    rpm_cost cost = cluster.run();
    double mean = static_cast<double>(cost.bytes) / 20000;
    CHECK(mean > 26 - 1.5);
    CHECK(mean < 26 + 1.5);
}

TEST_CASE("cluster model: the same seed is the same run, another seed is another", "[unit]")
{
    rpm_script_op write = op_of(0, RPM_LOAD_WRITE, 300);
    rpm_script_op call = by_call(op_of(1, RPM_LOAD_WRITE, 300, 1));
    Cluster cluster({ { write, call } });

    cluster.load.servers = 2;
    cluster.load.threads = 7;
    cluster.load.coroutines = 3;
    cluster.load.ddio = RPM_YES;
    rpm_cost first = cluster.run();
    rpm_cost again = cluster.run();
    CHECK(memcmp(&first, &again, sizeof(first)) == 0);
    cluster.load.seed = 2;
    again = cluster.run();
    CHECK(memcmp(&first, &again, sizeof(first)) != 0);
}

TEST_CASE("cluster model: the public function gives the same result", "[unit]")
{
    rpm_script_op read = in_dram(op_of(0, RPM_LOAD_READ, 8));
    rpm_script script = { &read, 1, 1 };
    rpm_script_load load = rpm_script_load_init();
    rpm_cost cost = rpm_cost_init();
    rpm_model *model = nullptr;

    load.scripts = &script;
    load.count = 1;
    load.seed = 1;
    REQUIRE(rpm_model_open("hints", &model) == 0);
    REQUIRE(rpm_model_run_scripts(model, &load, &cost) == 0);
    CHECK(cost.ops == 20000);
    CHECK(cost.p50_ps == cost_of({ read }).p50_ps);
    script.weight = 0;
    CHECK(rpm_model_run_scripts(model, &load, &cost) == RPM_E_INVAL);
    rpm_model_close(&model);
}
