// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include "support/rounds.h"

#include <algorithm>

namespace
{

// Results in whole numbers, which programs of all compilers must compute equally.
struct Golden {
    const char *preset;
    rpm_load load;
    uint64_t duration_ps, mean_ps, p99_ps, media_read, media_write, partial, events;
};

rpm_load clients(rpm_load_by by, rpm_load_op op, uint64_t bytes)
{
    rpm_load load = load_of(by, op);

    load.threads = 30;
    load.depth = 8;
    load.bytes = bytes;
    load.write_percent = 30;
    return load;
}

// 0 if the load is valid. Small enough to end soon.
rpm_load any_load(rpmi_rng *rng)
{
    const uint64_t sizes[] = { 1, 7, 16, 64, 64, 100, 256, 1024, 3000 };
    const uint64_t fences[] = { 0, 0, 256, 4096, UINT64_MAX };
    rpm_load load = rpm_load_init();
    auto below = [rng](uint32_t bound) {
        return static_cast<uint32_t>(rpmi_rng_below(rng, bound));
    };

    load.by = below(3);
    load.op = below(load.by == RPM_BY_NIC ? 4 : 2);
    if (load.by != RPM_BY_NIC && below(3) == 0)
        load.op = RPM_LOAD_MIX;
    load.write_percent = below(101);
    load.copy = below(4);
    load.persist = below(3);
    load.memory = below(4) == 0;
    load.flush_memory = below(2);
    load.pattern = below(2);
    load.bytes = sizes[below(9)];
    load.fence_bytes = fences[below(5)];
    load.pad_bytes = below(2) != 0 ? 1ull << below(9) : 0;
    load.align_bytes = below(3) == 0 ? 1 + below(5000) : 0;
    load.skew_bytes = below(4) == 0 ? below(4096) : 0;
    load.threads = 1 + (below(4) == 0 ? below(200) : below(20));
    load.depth = 1 + below(64);
    if (load.by == RPM_BY_CORE) {
        load.threads = 1 + below(64);
        load.depth = 1;
    }
    load.region_bytes = below(2) != 0 ? 0 : load.threads * (200000ull + below(100000));
    load.cores = below(3) == 0 ? 1 + below(64) : 0;
    load.remote_socket = below(2);
    load.ddio = below(3);
    load.use_dimms = below(2) != 0 ? 0 : below(4);
    load.own_dimms = load.use_dimms != 0 ? below(2) : 0;
    load.interval_ps = below(4) == 0 ? below(1000000) : 0;
    load.writers_max = below(3) == 0 ? 1 + below(4) : 0;
    load.ops = 1 + below(300);
    load.seed = rpmi_rng_next(rng);
    return load;
}

// Multiplies numbers of a preset by powers of two.
std::string any_preset(rpmi_rng *rng)
{
    const char *presets[] = { "hints", "hints-1dimm", "adr", "eadr", "dram" };
    const char *counts[] = {
        ",buffer_lines=1 lines",
        ",buffer_lines=1024 lines",
        ",wpq_lines=1 lines",
        ",wpq_lines=256 lines",
        ",fill_buffers=64 lines",
        ",fill_buffers=1 lines",
        ",reads_in_flight=64 lines",
        ",inbound_lines=1 lines",
        ",inbound_lines=4096 lines",
        ",nic_buffer=4096 B",
        ",nic_reads=1 requests",
        ",nic_reads=128 requests",
        ",nic_atomics=64 units",
        ",pcie_payload=64 B",
        ",pcie_payload=4096 B",
        ",dimms=1 dimms",
        ",dimms=8 dimms",
        ",media_line=64 B",
        ",directory=0 writes",
        ",llc_victims=1 ways",
        ",ddio_ways=11 ways",
        ",media_read=300 ns",
        ",media_write=50 us",
        ",media_fill=0 ns",
        ",channel_line=2 us",
        ",upi_latency=9 us",
        ",upi_rate=0.1 GB/s",
        ",stream_line=0.001 ns",
        ",stream_latency=90 us",
        ",clwb_line=0.001 ns",
        ",store_line=0.001 ns",
        ",read_line=0.001 ns",
        ",nic_post=0.001 ns",
        ",nic_message=0.001 ns",
        ",network_rate=1000 GB/s",
        ",pcie_rate=0.5 GB/s",
        ",nic_atomic=9 us",
        ",call_work=0.001 ns",
        ",dram_write=900 ns",
    };
    std::string spec = presets[rpmi_rng_below(rng, 5)];
    std::vector<std::string> chosen;

    for (uint64_t i = rpmi_rng_below(rng, 6); i > 0; i--) {
        std::string one = counts[rpmi_rng_below(rng, sizeof(counts) / sizeof(counts[0]))];
        std::string name = one.substr(0, one.find('='));

        if (std::find(chosen.begin(), chosen.end(), name) != chosen.end())
            continue;
        chosen.push_back(name);
        spec += one;
    }
    return spec;
}

} // namespace

TEST_CASE("server model: the same seed gives the same result, another one another", "[unit]")
{
    for (rpm_load_by by : { RPM_BY_CORE, RPM_BY_NIC, RPM_BY_CALL }) {
        rpm_load load = clients(by, RPM_LOAD_WRITE, 64);

        load.depth = by == RPM_BY_CORE ? 1 : 8;
        rpm_cost first = cost_of(load);
        rpm_cost again = cost_of(load);
        load.seed = 2;
        rpm_cost other = cost_of(load);

        CHECK(memcmp(&first, &again, sizeof(first)) == 0);
        CHECK(memcmp(&first, &other, sizeof(first)) != 0);
    }
}

TEST_CASE("server model: a short run of a busy NIC has the result of a long one", "[unit]")
{
    rpm_load load = clients(RPM_BY_NIC, RPM_LOAD_WRITE, 64);
    const char *large = "hints,nic_buffer=2 MiB"; // takes 32768 operations to fill

    load.ops = 4000;
    rpm_cost brief = cost_of(load, large);
    load.ops = 60000;
    rpm_cost lasting = cost_of(load, large);
    double each_brief = static_cast<double>(brief.duration_ps) / 4000;
    double each_lasting = static_cast<double>(lasting.duration_ps) / 60000;

    CHECK(each_brief == Approx(each_lasting).epsilon(0.03));
}

TEST_CASE("server model: results are the same on any machine", "[unit]")
{
    rpm_load wait = clients(RPM_BY_NIC, RPM_LOAD_WRITE, 16);
    rpm_load chain = clients(RPM_BY_NIC, RPM_LOAD_WRITE, 64);
    rpm_load stream = load_of(RPM_BY_CORE, RPM_LOAD_WRITE);
    rpm_load store = load_of(RPM_BY_CORE, RPM_LOAD_WRITE);
    rpm_load mix = clients(RPM_BY_NIC, RPM_LOAD_MIX, 1000);

    wait.ddio = RPM_YES;
    wait.remote_socket = 1;
    wait.persist = RPM_PERSIST_WAIT;
    chain.persist = RPM_PERSIST_CHAIN;
    chain.flush_memory = RPM_LOAD_DRAM;
    stream.threads = 8;
    stream.use_dimms = 1;
    stream.writers_max = 2;
    store.threads = 4;
    store.copy = RPM_COPY_STORE;
    store.pattern = RPM_LOAD_SEQUENTIAL;
    mix.skew_bytes = 8;
    const Golden golden[] = {
        { "hints", wait, 100393709, 12052343, 15576712, 995584, 999936, 1965, 295624 },
        { "hints", chain, 41946531, 5322901, 8815970, 475392, 475392, 0, 258128 },
        { "hints", stream, 236600000, 946577, 1656200, 512000, 512000, 0, 50865 },
        { "hints", store, 36832400, 73545, 331800, 518656, 391168, 0, 67331 },
        { "hints-1dimm", mix, 544596667, 66619995, 114715100, 1751040, 612352, 1196, 133321 },
        { "adr", clients(RPM_BY_CALL, RPM_LOAD_WRITE, 256), 97920000, 11750400, 11750400, 13056,
          518400, 0, 138158 },
        { "hints,dimms=3 dimms", clients(RPM_BY_NIC, RPM_LOAD_CAS, 8), 365224800, 43826976,
          43826976, 512000, 512000, 2000, 276213 },
    };

    for (const Golden &one : golden) {
        rpm_cost cost = cost_of(one.load, one.preset);

        CAPTURE(&one - golden, cost.duration_ps, cost.mean_ps, cost.p99_ps, cost.media_read_bytes,
                cost.media_write_bytes, cost.partial_words, cost.events);
        CHECK(cost.duration_ps == one.duration_ps);
        CHECK(cost.mean_ps == one.mean_ps);
        CHECK(cost.p99_ps == one.p99_ps);
        CHECK(cost.media_read_bytes == one.media_read);
        CHECK(cost.media_write_bytes == one.media_write);
        CHECK(cost.partial_words == one.partial);
        CHECK(cost.events == one.events);
    }
}

TEST_CASE("server model: any load on any platform runs to its end", "[unit]")
{
    rpmi_rng rng;
    int ran = 0;

    rpmi_rng_seed(&rng, 20);
    while (ran < static_cast<int>(rounds(300))) {
        rpm_load load = any_load(&rng);
        std::string spec = any_preset(&rng);
        rpmi_preset preset;
        rpmi_params params;
        rpm_load checked = load;

        if (rpmi_preset_read(spec.c_str(), &preset) != 0)
            continue;
        params = preset.cost;
        if (rpmi_load_check(&params, &checked) != 0)
            continue;
        CAPTURE(ran, spec, load.by, load.op, load.bytes, load.threads, load.depth, load.use_dimms);
        Bench bench(load, spec);
        rpm_cost cost = bench.run();
        REQUIRE(cost.ops == load.ops);
        REQUIRE(cost.max_ps >= cost.p50_ps);
        REQUIRE(cost.mean_ps <= cost.max_ps);
        for (uint32_t i = 0; i < 2 * RPMI_SERVER_MODULES; i++) {
            const rpmi_module *module = bench.module(i);

            if (module->share == 0) // not there
                continue;
            REQUIRE(module->dirty.useds + module->dirty.spares == params.buffer_lines + 1);
            REQUIRE(module->clean.useds + module->clean.spares == params.buffer_lines);
            REQUIRE((module->outsides == 0 || module->queued == module->queue_lines));
        }
        ran++;
    }
}

TEST_CASE("server model: the largest loads fit", "[unit]")
{
    struct Large {
        rpm_load_by by;
        rpm_load_op op;
        uint64_t bytes;
        uint32_t threads, depth, use_dimms;
    };
    const Large larges[] = {
        { RPM_BY_NIC, RPM_LOAD_WRITE, 1 << 20, 4, 16, 0 },
        { RPM_BY_NIC, RPM_LOAD_READ, 1 << 20, 64, 4, 0 },
        { RPM_BY_NIC, RPM_LOAD_READ, 4096, 128, 4, 1 },
        { RPM_BY_NIC, RPM_LOAD_MIX, 4095, 128, 2, 1 },
        { RPM_BY_NIC, RPM_LOAD_CAS, 8, 1024, 64, 0 },
        { RPM_BY_NIC, RPM_LOAD_WRITE, 16, 4096, 16, 0 },
        { RPM_BY_CALL, RPM_LOAD_WRITE, 1 << 20, 16, 2, 0 },
        { RPM_BY_CALL, RPM_LOAD_READ, 1 << 20, 16, 2, 0 },
        { RPM_BY_CALL, RPM_LOAD_MIX, 64, 4096, 16, 0 },
        { RPM_BY_CORE, RPM_LOAD_READ, 1 << 20, 64, 1, 0 },
        { RPM_BY_CORE, RPM_LOAD_WRITE, 4095, 64, 1, 1 },
    };

    for (const Large &one : larges) {
        rpm_load load = load_of(one.by, one.op);

        load.bytes = one.bytes;
        load.threads = one.threads;
        load.depth = one.depth;
        load.use_dimms = one.use_dimms;
        load.write_percent = 50;
        load.region_bytes = 64ull << 30;
        load.persist = RPM_PERSIST_CHAIN;
        load.fence_bytes = UINT64_MAX;
        load.ops = 1;
        CAPTURE(one.by, one.op, one.bytes, one.threads);
        Bench bench(load, "hints,nic_reads=128 requests,nic_atomics=64 units,fill_buffers=64 lines,"
                          "reads_in_flight=64 lines");
        rpmi_mem_freeze();
        rpmi_server_start(bench.server);
        for (int i = 0; i < 400000 && bench.server->finished < 3000; i++)
            REQUIRE(bench.step());
        rpmi_mem_thaw();
        CHECK(bench.server->queue.count <= bench.server->queue.room);
    }
}
