// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include <numeric>

namespace
{

using Steps = std::vector<rpm_chain_step>;

rpm_chain_step step(uint32_t op, uint32_t path, uint64_t bytes = 64, uint32_t phase = 0)
{
    rpm_chain_step one = {};

    one.op = op;
    one.path = path;
    one.bytes = bytes;
    one.phase = phase;
    return one;
}

rpm_chain_step work(uint32_t path, uint64_t ps)
{
    rpm_chain_step one = step(path == 9 ? RPM_CHAIN_WAIT : RPM_CHAIN_WORK, path == 9 ? 0 : path);

    one.work_ps = ps;
    return one;
}

std::vector<rpm_chain_cost> run_groups(const std::string &preset,
                                       const std::vector<rpm_chain_group> &groups)
{
    rpmi_params params = params_of(preset);
    std::vector<rpm_chain_cost> costs(groups.size());
    rpm_chain_load load = rpm_chain_load_init();

    load.groups = groups.data();
    load.count = static_cast<uint32_t>(groups.size());
    load.seed = 1;
    if (rpmi_chains_run(&params, &load, costs.data()) != 0)
        throw std::runtime_error(rpm_last_error());
    return costs;
}

struct Load {
    std::vector<Steps> chains;
    std::vector<uint32_t> shares{};
    uint32_t threads = 1;
    uint32_t depth = 1;
    uint32_t select = 0;
    uint32_t ops = 500;
};

rpm_chain_cost run_chains(const Load &load, const std::string &preset = "bf2")
{
    std::vector<rpm_chain> chains;
    rpm_chain_group group = {};

    for (size_t i = 0; i < load.chains.size(); i++)
        chains.push_back({ load.chains[i].data(), static_cast<uint32_t>(load.chains[i].size()),
                           i < load.shares.size() ? load.shares[i] : 0 });
    group.chains = chains.data();
    group.count = static_cast<uint32_t>(chains.size());
    group.threads = load.threads;
    group.depth = load.depth;
    group.select = load.select;
    group.ops = load.ops;
    return run_groups(preset, { group })[0];
}

const uint64_t kSecond_ps = 1000000000000;

} // namespace

TEST_CASE("chain: an idle chain takes the sum of its steps, by phases", "[unit]")
{
    uint64_t soc = run("bf2", flow_of(RPM_PATH_SOC, RPM_PATH_READ)).p50_ps;
    uint64_t host = run("bf2", flow_of(RPM_PATH_HOST, RPM_PATH_READ, 4096)).p50_ps;
    rpm_chain_cost cost = run_chains({ { { step(RPM_CHAIN_READ, RPM_PATH_SOC, 64, 1),
                                           step(RPM_CHAIN_READ, RPM_PATH_HOST, 4096, 3) } } });

    CHECK(cost.all.p50_ps == soc + host);
    CHECK(cost.phase_ps[1] == soc);
    CHECK(cost.phase_ps[3] == host);
    CHECK(cost.phase_ps[0] + cost.phase_ps[2] == 0);
    CHECK(cost.ops[0] == cost.all.ops);
    CHECK(cost.mean_ps[0] == soc + host);
    CHECK(cost.all.bytes == cost.all.ops * (64 + 4096));
    CHECK(cost.all.pcie0_bytes == cost.all.ops * 4096);
}

TEST_CASE("chain: a WRITE that is acknowledged early does not disturb the next step", "[unit]")
{
    rpm_chain_cost cost = run_chains({ { { step(RPM_CHAIN_WRITE, RPM_PATH_SOC, 1100),
                                           step(RPM_CHAIN_WRITE, RPM_PATH_HOST, 600) } } },
                                     "bf2,pcie_rate=0.1 GB/s");

    CHECK(static_cast<double>(cost.all.pcie1_bytes) ==
          Approx(static_cast<double>(cost.all.ops * 1700)).epsilon(0.1));
}

TEST_CASE("chain: a call and its reply take what a message takes, with a payload", "[unit]")
{
    rpmi_params p = params_of("bf2");

    for (uint32_t path : { RPM_PATH_HOST, RPM_PATH_SOC }) {
        rpm_path which = static_cast<rpm_path>(path);
        bool soc = path == RPM_PATH_SOC;
        uint64_t message = run("bf2", flow_of(which, RPM_PATH_SEND)).p50_ps;
        rpm_chain_cost cost =
            run_chains({ { { step(RPM_CHAIN_CALL, path), step(RPM_CHAIN_REPLY, path) } } });
        uint64_t wires_ps = 64 * 1000000 / p.network_rate;

        if (soc)
            wires_ps += (64 + p.pcie_header) * 1000000 / p.pcie_rate;
        CHECK(cost.all.p50_ps == message + wires_ps);
        CHECK(cost.soc_ps == (soc ? p.soc_call : 0));
        CHECK(cost.host_ps == (soc ? 0 : p.call_work + p.call_reply));
        CHECK(cost.thread_ps == p.nic_post);
    }
}

TEST_CASE("chain: a reply that does not go out with its doorbell is fetched from memory", "[unit]")
{
    rpmi_params p = params_of("bf2");

    for (uint32_t path : { RPM_PATH_HOST, RPM_PATH_SOC }) {
        uint64_t took_ps[2];

        for (uint64_t i = 0; i < 2; i++)
            took_ps[i] = run_chains({ { { step(RPM_CHAIN_CALL, path),
                                          step(RPM_CHAIN_REPLY, path, p.nic_inline + i) } } })
                             .all.p50_ps;
        CHECK(took_ps[1] - took_ps[0] >
              2 * p.switch_latency + (path == RPM_PATH_HOST ? p.dram_latency : 0));
    }
}

TEST_CASE("chain: a host thread calls a SoC core by the NIC, over both links", "[unit]")
{
    rpmi_params p = params_of("bf2");
    rpm_chain_cost cost = run_chains({ { { step(RPM_CHAIN_CALL, RPM_PATH_COPY_NIC, 64, 0),
                                           step(RPM_CHAIN_REPLY, RPM_PATH_COPY_NIC, 64, 1) } } });

    CHECK(cost.soc_ps == p.soc_call);
    CHECK(cost.thread_ps == p.nic_post);
    CHECK(cost.phase_ps[0] > p.nic_post + 2 * p.switch_latency + 2 * p.nic_latency);
    CHECK(cost.phase_ps[1] > 2 * p.switch_latency + 2 * p.nic_latency + p.completion);
    CHECK(cost.all.pcie0_bytes == cost.all.ops * 128);
}

TEST_CASE("chain: SoC cores post copies, wait for their memory, and work", "[unit]")
{
    rpmi_params p = params_of("bf2");

    CHECK(run_chains({ { { step(RPM_CHAIN_READ, RPM_PATH_COPY_NIC, 4096) } } }).soc_ps ==
          p.soc_post);
    CHECK(run_chains({ { { step(RPM_CHAIN_WRITE, RPM_PATH_COPY_ENGINE, 4096) } } }).soc_ps ==
          p.soc_post);
    rpm_chain_cost look = run_chains({ { { step(RPM_CHAIN_READ, RPM_PATH_SOC_ONLY) } } });
    CHECK(look.soc_ps == p.soc_dram_latency);
    CHECK(look.all.p50_ps == p.soc_dram_latency + 64 * 1000000 / p.soc_dram_rate);

    rpm_chain_cost busy = run_chains({ { { work(RPM_PATH_SOC, 2000000) } }, {}, 32, 4, 0, 4000 });
    CHECK(mops(busy.all) == Approx(static_cast<double>(p.soc_cores) / 2).epsilon(0.01));
    busy = run_chains({ { { work(RPM_PATH_HOST, 2000000) } }, {}, 64, 4, 0, 4000 });
    CHECK(mops(busy.all) == Approx(static_cast<double>(p.host_cores) / 2).epsilon(0.01));
    busy = run_chains({ { { work(0, 2000000) } }, {}, 3, 4, 0, 4000 });
    CHECK(mops(busy.all) == Approx(1.5).epsilon(0.01));
    CHECK(busy.thread_ps == 2000000);
}

TEST_CASE("chain: to wait costs time and no core", "[unit]")
{
    rpm_chain_cost cost = run_chains({ { { work(9, 5000000) } } });

    CHECK(cost.all.p50_ps == 5000000);
    CHECK(cost.thread_ps + cost.host_ps + cost.soc_ps == 0);
}

TEST_CASE("chain: a store over PCIe takes one way, a load both, and the thread waits", "[unit]")
{
    rpmi_params p = params_of("wave");
    rpm_chain_cost store = run_chains({ { { step(RPM_CHAIN_STORE, RPM_PATH_SOC) } } }, "wave");
    rpm_chain_cost load = run_chains({ { { step(RPM_CHAIN_LOAD, RPM_PATH_SOC) } } }, "wave");
    uint64_t links = 2 * ((64 + p.pcie_header) * 1000000 / p.pcie_rate);
    uint64_t memory = p.soc_dram_latency + 64 * 1000000 / p.soc_dram_rate;

    CHECK(store.all.p50_ps == p.nic_post + p.pcie_write + p.switch_latency + links + memory);
    CHECK(store.thread_ps == p.nic_post);
    CHECK(load.all.p50_ps == p.pcie_read + 2 * p.switch_latency + links + memory);
    CHECK(load.thread_ps == load.all.mean_ps);
}

TEST_CASE("chain: shares divide the operations", "[unit]")
{
    Steps fast = { step(RPM_CHAIN_READ, RPM_PATH_SOC) };
    Steps slow = { step(RPM_CHAIN_READ, RPM_PATH_HOST) };
    rpm_chain_cost cost = run_chains({ { fast, slow }, { 5, 2 }, 2, 4, 0, 4000 });

    CHECK(static_cast<double>(cost.ops[0]) ==
          Approx(2.5 * static_cast<double>(cost.ops[1])).epsilon(0.01));
    CHECK(cost.mean_ps[0] < cost.mean_ps[1]);
    cost = run_chains({ { fast, slow }, { 0, 1 } });
    CHECK(cost.ops[0] == 0);
    CHECK(cost.mean_ps[0] == 0);
}

TEST_CASE("chain: the selector takes the faster chain, and both when one is saturated", "[unit]")
{
    Steps soc = { step(RPM_CHAIN_CALL, RPM_PATH_SOC), work(RPM_PATH_SOC, 700000),
                  step(RPM_CHAIN_REPLY, RPM_PATH_SOC) };
    Steps host = { step(RPM_CHAIN_CALL, RPM_PATH_HOST), step(RPM_CHAIN_REPLY, RPM_PATH_HOST) };
    rpm_chain_cost one = run_chains({ { host }, {}, 32, 16, 0, 20000 });
    rpm_chain_cost idle = run_chains({ { soc, host }, {}, 1, 1, 1, 4000 });
    rpm_chain_cost full = run_chains({ { soc, host }, {}, 32, 16, 1, 20000 });

    CHECK(static_cast<double>(idle.ops[1]) > 0.98 * static_cast<double>(idle.all.ops));
    CHECK(full.ops[0] > full.all.ops / 20);
    CHECK(full.ops[1] > full.all.ops / 20);
    CHECK(mops(full.all) > mops(one.all));
}

TEST_CASE("chain: groups run side by side", "[unit]")
{
    Steps steps = { work(RPM_PATH_SOC, 1000000) };
    rpm_chain chain = { steps.data(), 1, 1 };
    rpm_chain_group group = {};

    group.chains = &chain;
    group.count = 1;
    group.threads = 32;
    group.ops = 2000;
    std::vector<rpm_chain_cost> costs = run_groups("bf2", { group, group });
    CHECK(mops(costs[0].all) + mops(costs[1].all) == Approx(8).epsilon(0.01));
    CHECK(costs[0].all.duration_ps == costs[1].all.duration_ps);
}

TEST_CASE("chain: what does not exist is refused with the group, the value and the range", "[unit]")
{
    auto refusal = [](const rpm_chain_step &one, const std::string &preset) {
        try {
            run_chains({ { { one } } }, preset);
        } catch (const std::runtime_error &err) {
            return std::string(err.what());
        }
        return std::string();
    };
    rpm_chain_step bad = step(RPM_CHAIN_READ, RPM_PATH_SOC);

    CHECK(refusal(step(8, 1), "bf2") == "group 0: a step's op is 8, it must be 0 to 7");
    CHECK(refusal(step(0, 6), "bf2") == "group 0: a step's path is 6, it must be 0 to 5");
    CHECK(refusal(step(RPM_CHAIN_CALL, RPM_PATH_COPY_ENGINE), "bf2") ==
          "group 0: a step has op 2 on path 4, which it does not exist on; see enum rpm_chain_op");
    CHECK(refusal(work(0, kSecond_ps + 1), "bf2") ==
          "group 0: a step's work_ps is 1000000000001, it must be 0 to 1000000000000");
    bad.phase = 4;
    CHECK(refusal(bad, "bf2") == "group 0: a step's phase is 4, it must be 0 to 3");
    bad = step(RPM_CHAIN_READ, RPM_PATH_SOC, 128);
    bad.range_bytes = 127;
    CHECK(refusal(bad, "bf2") ==
          "group 0: a step's range_bytes is 127, it must be 128 to 68719476736");
    CHECK(refusal(step(RPM_CHAIN_READ, RPM_PATH_SOC, (16 << 20) + 1), "bf2") ==
          "group 0: a step's bytes is 16777217, it must be 1 to 16777216");
    CHECK(refusal(step(RPM_CHAIN_READ, RPM_PATH_SOC), "cx6").find("only path 1 exists") !=
          std::string::npos);

    Steps good = { step(RPM_CHAIN_READ, RPM_PATH_HOST) };
    CHECK_THROWS_WITH(run_chains({ { Steps{} } }),
                      Catch::Contains("steps of a chain is 0, it must be 1 to 16"));
    CHECK_THROWS_WITH(run_chains({ {} }), Catch::Contains("chains is 0, it must be 1 to 8"));
    CHECK_THROWS_WITH(run_chains({ { good, good } }), Catch::Contains("no share of any"));
    CHECK_THROWS_WITH(run_chains({ { good }, {}, 4097 }),
                      "group 0: threads is 4097, it must be 0 to 4096");
    CHECK_THROWS_WITH(run_chains({ { good }, {}, 1, 65 }),
                      "group 0: depth is 65, it must be 0 to 64");
    CHECK_THROWS_WITH(run_chains({ { good }, {}, 1, 1, 2 }),
                      "group 0: select is 2, it must be 0 to 1");
    CHECK_THROWS_WITH(run_chains({ { good }, {}, 1, 1, 0, (1 << 20) + 1 }),
                      "group 0: ops is 1048577, it must be 0 to 1048576");
    CHECK_THROWS_WITH(
        run_chains({ { Steps(16, good[0]), Steps(16, good[0]), Steps(9, good[0]) }, { 1, 1, 1 } }),
        Catch::Contains("steps of all chains is 41, it must be 1 to 40"));
    CHECK_THROWS_WITH(run_groups("bf2", {}), Catch::Contains("0 groups, there must be 1 to 8"));
}

TEST_CASE("chain: as many and as long steps as there may be have room", "[unit]")
{
    Steps longest(16, step(RPM_CHAIN_CALL, RPM_PATH_COPY_NIC, 4096));
    Steps rest(8, step(RPM_CHAIN_CALL, RPM_PATH_COPY_NIC, 4096));

    CHECK(run_chains({ { longest, longest, rest }, { 1, 1, 1 }, 1, 1, 0, 10 }).all.ops >= 10);
    CHECK(run_chains({ { { step(RPM_CHAIN_READ, RPM_PATH_HOST, 1 << 20) } }, {}, 8, 4, 0, 8 })
              .all.ops >= 8);
}

TEST_CASE("chain: without memory nothing is left behind", "[unit]")
{
    for (uint64_t nth = 1; nth <= 11; nth++) {
        rpmi_mem_fail_at(nth);
        CHECK_THROWS(run_chains({ { { step(RPM_CHAIN_READ, RPM_PATH_HOST) } } }));
        rpmi_mem_fail_at(0);
    }
}
