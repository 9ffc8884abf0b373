// SPDX-License-Identifier: BSD-3-Clause
#include "cluster.h"
#include "support/rounds.h"

TEST_CASE("slots: a server has room for the operations that it gets, not for those of all clients",
          "[unit]")
{
    constexpr uint32_t kServers = 100;
    rpmi_params params = params_of("hints");
    std::vector<Ops> scripts;

    for (uint32_t server = 0; server < kServers; server++)
        scripts.push_back({ in_dram(op_of(0, RPM_LOAD_READ, 64, server)) });
    Cluster made(scripts);
    made.load.servers = kServers;
    made.load.threads = 512;
    made.load.coroutines = 4;
    made.load.transactions = rounds(20000);
    rpmi_cluster_model *cluster = made.open(params);
    rpm_cost cost = rpm_cost_init();

    REQUIRE(rpmi_cluster_run(cluster, &cost) == 0);
    uint64_t slots = 0;
    for (uint32_t i = 0; i < kServers; i++) {
        slots += cluster->server[i]->slots;
        CHECK(cluster->spare[i].room >= cluster->server[i]->slots);
    }
    CHECK(slots == kServers * 64); // 20 of the 2048 coroutines are at a server on average
    rpmi_cluster_close(&cluster);

    // All at one of the servers: it grows, and the others do not.
    scripts.resize(1);
    Cluster hot(scripts);
    hot.load = made.load;
    cluster = hot.open(params);
    REQUIRE(rpmi_cluster_run(cluster, &cost) == 0);
    CHECK(cluster->server[0]->slots == 2048);
    CHECK(cluster->server[1]->slots == 64);
    CHECK(cost.p50_ps > 0);
    rpmi_cluster_close(&cluster);
}

TEST_CASE("slots: a run ends with an error if a server finds no memory for more", "[unit]")
{
    rpmi_params params = params_of("hints");
    Cluster made({ { in_dram(op_of(0, RPM_LOAD_READ, 64)) } });
    made.load.threads = 512;
    rpmi_cluster_model *cluster = made.open(params);
    rpm_cost cost = rpm_cost_init();

    rpmi_mem_fail_at(1);
    CHECK(rpmi_cluster_run(cluster, &cost) == RPM_E_NOMEM);
    rpmi_mem_fail_at(0);
    rpmi_cluster_close(&cluster);
}
