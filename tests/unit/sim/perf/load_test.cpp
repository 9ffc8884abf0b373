// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include <functional>
#include <set>

namespace
{

struct Refused {
    const char *text;
    std::function<void(rpm_load &)> set;
};
const Refused REFUSED[] = {
    { "by is 0 to 2, see enum rpm_load_by (3)", [](rpm_load &l) { l.by = 3; } },
    { "op is 0 to 3, see enum rpm_load_op (4)", [](rpm_load &l) { l.op = 4; } },
    { "copy is 0 to 3, see enum rpm_copy (4)", [](rpm_load &l) { l.copy = 4; } },
    { "persist is 0 to 2, see enum rpm_load_persist (3)", [](rpm_load &l) { l.persist = 3; } },
    { "memory is 0 or 1, see enum rpm_load_memory (2)", [](rpm_load &l) { l.memory = 2; } },
    { "flush_memory is 0 or 1", [](rpm_load &l) { l.flush_memory = 2; } },
    { "pattern is 0 to 2, see enum rpm_load_pattern (3)", [](rpm_load &l) { l.pattern = 3; } },
    { "appends are reads or writes, of all threads on the same modules (2)",
      [](rpm_load &l) {
          l.pattern = RPM_LOAD_APPEND;
          l.by = RPM_BY_NIC;
          l.op = RPM_LOAD_CAS;
      } },
    { "several passes need pattern RPM_LOAD_SEQUENTIAL (2)", [](rpm_load &l) { l.passes = 2; } },
    { "align_bytes has room for an operation of each of passes (5)",
      [](rpm_load &l) {
          l.passes = 5;
          l.pattern = RPM_LOAD_SEQUENTIAL;
          l.align_bytes = 256;
      } },
    { "words are for RPM_LOAD_CAS (1)", [](rpm_load &l) { l.words = 1; } },
    { "a region has a line for each of words (20000000)",
      [](rpm_load &l) {
          l.by = RPM_BY_NIC;
          l.op = RPM_LOAD_CAS;
          l.words = 20000000;
      } },
    { "compare-and-swap is one-sided: by is RPM_BY_NIC (0)",
      [](rpm_load &l) { l.op = RPM_LOAD_CAS; } },
    { "compare-and-swap is one-sided: by is RPM_BY_NIC (2)",
      [](rpm_load &l) {
          l.op = RPM_LOAD_CAS;
          l.by = RPM_BY_CALL;
      } },
    { "ddio is 0 to 2", [](rpm_load &l) { l.ddio = 3; } },
    { "ddio is 0 to 2, remote_socket 0 or 1", [](rpm_load &l) { l.remote_socket = 2; } },
    { "own_dimms 0 or 1 (0)", [](rpm_load &l) { l.own_dimms = 2; } },
    { "use_dimms is at most the preset's dimms, and own_dimms needs it (7)",
      [](rpm_load &l) { l.use_dimms = 7; } },
    { "use_dimms is at most the preset's dimms, and own_dimms needs it (0)",
      [](rpm_load &l) { l.own_dimms = 1; } },
    { "write_percent is 0 to 100 (101)", [](rpm_load &l) { l.write_percent = 101; } },
    { "are at most 1 MiB (1048577)", [](rpm_load &l) { l.bytes = (1 << 20) + 1; } },
    { "are at most 1 MiB", [](rpm_load &l) { l.bytes = UINT64_MAX; } },
    { "are at most 1 MiB", [](rpm_load &l) { l.pad_bytes = UINT64_MAX; } },
    { "are at most 1 MiB", [](rpm_load &l) { l.align_bytes = UINT64_MAX; } },
    { "with its padding is at most 1 MiB (2097150)",
      [](rpm_load &l) {
          l.bytes = 1 << 20;
          l.pad_bytes = (1 << 20) - 1;
      } },
    { "are at most 1 MiB", [](rpm_load &l) { l.align_bytes = (1 << 20) + 1; } },
    { "skew_bytes is less than 4096 (4096)", [](rpm_load &l) { l.skew_bytes = 4096; } },
    { "skew_bytes is less than 4096", [](rpm_load &l) { l.skew_bytes = UINT64_MAX; } },
    { "a region is at most 64 GiB", [](rpm_load &l) { l.region_bytes = (64ull << 30) + 1; } },
    { "has room for some operations", [](rpm_load &l) { l.region_bytes = 49000; } },
    { "has room for some operations",
      [](rpm_load &l) {
          l.region_bytes = 1 << 20;
          l.threads = 64;
      } },
    { "no larger than its interleaving (4160)",
      [](rpm_load &l) {
          l.use_dimms = 1;
          l.bytes = 4160;
          l.align_bytes = 64;
      } },
    { "no larger than its interleaving",
      [](rpm_load &l) {
          l.use_dimms = l.own_dimms = 1;
          l.align_bytes = 8192;
      } },
    { "no larger than its interleaving",
      [](rpm_load &l) {
          l.use_dimms = 1;
          l.bytes = 4096;
          l.skew_bytes = 1;
      } },
    { "threads are at most 4096",
      [](rpm_load &l) {
          l.by = RPM_BY_NIC;
          l.threads = 4097;
      } },
    { "of depth at most 64",
      [](rpm_load &l) {
          l.by = RPM_BY_NIC;
          l.depth = 65;
      } },
    { "threads are at most 4096",
      [](rpm_load &l) {
          l.by = RPM_BY_NIC;
          l.threads = 2048;
          l.depth = 33;
      } },
    { "cores are at most 64, with one operation", [](rpm_load &l) { l.threads = 65; } },
    { "cores are at most 64, with one operation", [](rpm_load &l) { l.depth = 2; } },
    { "cores are at most 64 (65)",
      [](rpm_load &l) {
          l.by = RPM_BY_CALL;
          l.cores = 65;
      } },
    { "ops are at most 16 Mi", [](rpm_load &l) { l.ops = (1 << 24) + 1; } },
};

} // namespace

TEST_CASE("load: fields that are zero have defaults", "[unit]")
{
    rpm_load load = rpm_load_init();
    rpmi_params params = params_of("hints");

    REQUIRE(rpmi_load_check(&params, &load) == 0);
    CHECK(load.copy == RPM_COPY_STREAM);
    CHECK(load.bytes == 64);
    CHECK(load.fence_bytes == 1);
    CHECK(load.align_bytes == 64);
    CHECK(load.region_bytes == 1ull << 30);
    CHECK(load.threads == 1);
    CHECK(load.depth == 1);
    CHECK(load.cores == 10);
    CHECK(load.ops == 20000);

    load = rpm_load_init();
    load.bytes = 100;
    load.pad_bytes = 96;
    REQUIRE(rpmi_load_check(&params, &load) == 0);
    CHECK(rpmi_load_written(&load) == 192);
    CHECK(load.align_bytes == 192);
    load = rpm_load_init();
    load.by = RPM_BY_NIC;
    load.op = RPM_LOAD_CAS;
    load.bytes = 4096;
    REQUIRE(rpmi_load_check(&params, &load) == 0);
    CHECK(load.bytes == 8);
}

TEST_CASE("load: values out of range are refused, with the reason", "[unit]")
{
    rpm_model *model = nullptr;

    REQUIRE(rpm_model_open("hints", &model) == 0);
    for (const Refused &one : REFUSED) {
        rpm_load load = rpm_load_init();
        rpm_cost cost = rpm_cost_init();

        one.set(load);
        CAPTURE(one.text);
        REQUIRE(rpm_model_run(model, &load, &cost) == RPM_E_INVAL);
        CHECK(std::string(rpm_last_error()).find(one.text) != std::string::npos);
        CHECK(cost.ops == 0);
    }
    rpm_model_close(&model);
}

TEST_CASE("load: every operation lies in the region, on its module, at its alignment", "[unit]")
{
    rpmi_rng rng;
    int on_used = 0;

    rpmi_rng_seed(&rng, 11);
    for (int round = 0; round < 150; round++) {
        const uint64_t sizes[] = { 1, 16, 64, 100, 256, 1000, 4000 };
        rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);
        rpmi_params params = params_of("hints");

        load.pattern = rpmi_rng_below(&rng, 2) != 0 ? RPM_LOAD_SEQUENTIAL : RPM_LOAD_RANDOM;
        load.bytes = sizes[rpmi_rng_below(&rng, 7)];
        load.pad_bytes = rpmi_rng_below(&rng, 2) != 0 ? 64 : 0;
        load.align_bytes = rpmi_rng_below(&rng, 2) != 0 ? 1 + rpmi_rng_below(&rng, 4096) : 0;
        load.skew_bytes = rpmi_rng_below(&rng, 2) != 0 ? rpmi_rng_below(&rng, 64) : 0;
        load.use_dimms = static_cast<uint32_t>(rpmi_rng_below(&rng, 7));
        load.own_dimms = load.use_dimms != 0 ? static_cast<uint32_t>(rpmi_rng_below(&rng, 2)) : 0;
        load.threads = static_cast<uint32_t>(1 + rpmi_rng_below(&rng, 12));
        load.region_bytes = load.threads * (70000 + rpmi_rng_below(&rng, 200000));
        if (rpmi_load_check(&params, &load) != 0) {
            REQUIRE(load.use_dimms != 0);
            continue;
        }
        Bench bench(load);
        std::vector<std::set<uint64_t>> seen(load.threads);
        rpmi_load_start(bench.server);
        for (int i = 0; i < 3000; i++) {
            uint32_t thread = static_cast<uint32_t>(i) % load.threads;
            uint64_t address = rpmi_load_address(bench.server, thread, true);
            uint64_t last = address + rpmi_load_written(&load) - 1;

            REQUIRE(address >= load.skew_bytes);
            REQUIRE(last < load.region_bytes);
            if (load.pattern == RPM_LOAD_SEQUENTIAL)
                REQUIRE(address / (load.region_bytes / load.threads) <= thread);
            if (load.use_dimms == 0)
                continue;
            uint64_t first = load.own_dimms != 0 ? thread * load.use_dimms : 0;
            uint64_t module = address / params.interleave % 6;
            REQUIRE((module + 600 - first) % 6 < load.use_dimms);
            REQUIRE(last / params.interleave == address / params.interleave);
            REQUIRE((address % params.interleave - load.skew_bytes) % load.align_bytes == 0);
            on_used++;
        }
    }
    CHECK(on_used > 10000);
}

TEST_CASE("load: operations lie side by side, at multiples of their alignment", "[unit]")
{
    rpmi_params params = params_of("hints");

    struct Aligned {
        uint64_t bytes, pad, align, result;
    };
    for (Aligned want : { Aligned{ 16, 0, 0, 64 },
                          Aligned{ 65, 0, 0, 128 },
                          { 65, 0, 1, 65 },
                          { 65, 64, 1, 128 },
                          { 100, 0, 48, 144 },
                          { 1, 0, 4096, 4096 } }) {
        rpm_load load = rpm_load_init();

        load.bytes = want.bytes;
        load.pad_bytes = want.pad;
        load.align_bytes = want.align;
        REQUIRE(rpmi_load_check(&params, &load) == 0);
        CHECK(load.align_bytes == want.result);
    }
}

TEST_CASE("load: sequential operations follow each other and wrap in their area", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.pattern = RPM_LOAD_SEQUENTIAL;
    load.threads = 2;
    load.bytes = 256;
    load.region_bytes = 120000; // an area of 49152 B, 192 operations, for each thread
    Bench bench(load);
    rpmi_load_start(bench.server);
    for (uint32_t thread = 0; thread < 2; thread++) {
        uint64_t before = rpmi_load_address(bench.server, thread, true);
        std::set<uint64_t> all = { before };

        for (int i = 0; i < 191; i++) {
            uint64_t address = rpmi_load_address(bench.server, thread, true);

            REQUIRE((address == before + 256 || address == thread * 49152u));
            before = address;
            all.insert(address);
        }
        CHECK(all.size() == 192);
        CHECK(*all.begin() == thread * 49152u);
        CHECK(*all.rbegin() == thread * 49152u + 49152u - 256);
    }
}

TEST_CASE("load: a sequential mix reads one area and writes another, each in order", "[unit]")
{
    rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_MIX);

    load.pattern = RPM_LOAD_SEQUENTIAL;
    load.threads = 2;
    load.region_bytes = 4 * 60000; // areas of 49152 B
    Bench bench(load);
    rpmi_load_start(bench.server);
    for (uint32_t thread = 0; thread < 2; thread++)
        for (bool writes : { false, true }) {
            uint64_t begin = (thread + (writes ? 2 : 0)) * 49152ull;
            uint64_t before = rpmi_load_address(bench.server, thread, writes);

            for (int i = 0; i < 1000; i++) {
                uint64_t address = rpmi_load_address(bench.server, thread, writes);

                rpmi_load_address(bench.server, thread, !writes); // the other area's next one
                REQUIRE(address == (before + 64 < begin + 49152 ? before + 64 : begin));
                before = address;
            }
        }
}

TEST_CASE("load: random operations begin everywhere in the region", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.region_bytes = 64 * 1000;
    Bench bench(load);
    std::set<uint64_t> all;
    for (int i = 0; i < 20000; i++)
        all.insert(rpmi_load_address(bench.server, 0, true));
    CHECK(all.size() == 1000);
    CHECK(*all.rbegin() == 999 * 64);
}

TEST_CASE("load: the cache begins full of what is written, and only where it is used", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);
    auto filled = [](const rpm_load &load) {
        Bench bench(load);
        uint64_t lines = 0;

        rpmi_load_start(bench.server);
        for (uint64_t i = 0; i < uint64_t{ bench.server->llc.sets } * bench.server->llc.ways; i++)
            lines += bench.server->llc.tag[i] != 0;
        return 1000 * lines / (uint64_t{ bench.server->llc.sets } * bench.server->llc.ways);
    };

    CHECK(filled(load) == 0);
    load.ddio = RPM_YES;
    CHECK(filled(load) > 990);
    load.op = RPM_LOAD_READ;
    CHECK(filled(load) == 0);
    load.op = RPM_LOAD_WRITE;
    load.memory = RPM_LOAD_DRAM;
    CHECK(filled(load) == 0);
    load.memory = RPM_LOAD_NVM;
    load.by = RPM_BY_CORE;
    CHECK(filled(load) == 0);
    load.copy = RPM_COPY_STORE;
    CHECK(filled(load) > 990);
    load.region_bytes = 1 << 20; // less than the cache
    CHECK(filled(load) < 100);
}

TEST_CASE("load: each pass accesses the next bytes of every slot", "[unit]")
{
    rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_WRITE);

    load.pattern = RPM_LOAD_SEQUENTIAL;
    load.bytes = 100;
    load.align_bytes = 256;
    load.passes = 2;
    load.region_bytes = 60000; // an area of 49152 B, 192 slots
    Bench bench(load);
    rpmi_load_start(bench.server);
    bench.server->position[0] = 0;
    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t pass = 0; pass < 2; pass++)
            for (uint64_t slot = 0; slot < 192; slot++)
                REQUIRE(rpmi_load_address(bench.server, 0, true) == slot * 256 + pass * 100);
}

TEST_CASE("load: appends of all threads follow each other", "[unit]")
{
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);

    load.pattern = RPM_LOAD_APPEND;
    load.threads = 7;
    load.region_bytes = 60000;
    Bench bench(load);
    rpmi_load_start(bench.server);
    uint64_t before = rpmi_load_address(bench.server, 3, true);
    for (uint32_t i = 0; i < 5000; i++) {
        uint64_t address = rpmi_load_address(bench.server, i % 7, true);

        REQUIRE(address == (before + 64) % 49152);
        before = address;
    }
}

TEST_CASE("load: appends of many clients fill media lines, random writes do not", "[unit]")
{
    for (rpm_load_by by : { RPM_BY_NIC, RPM_BY_CALL }) {
        rpm_load load = load_of(by, RPM_LOAD_WRITE);

        load.threads = 64;
        load.ops = 20000;
        rpm_cost random = cost_of(load);
        load.pattern = RPM_LOAD_APPEND;
        rpm_cost append = cost_of(load);

        CHECK(random.media_write_bytes > 39 * random.ops * 64 / 10);
        CHECK(append.media_write_bytes < 14 * append.ops * 64 / 10);
    }
}

TEST_CASE("load: atomics on few words wait for each other", "[unit]")
{
    rpmi_params params = params_of("hints");
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_CAS);

    load.threads = 48;
    load.memory = RPM_LOAD_DRAM;
    load.ddio = RPM_YES; // without it the line of a changed word would be read again
    rpm_cost many = cost_of(load);
    load.words = 1;
    rpm_cost one = cost_of(load);
    load.words = 2;
    rpm_cost two = cost_of(load);
    uint64_t each_ps = params.pcie_read + params.dram_latency + params.nic_atomic;

    CHECK(one.duration_ps / one.ops >= each_ps);
    CHECK(one.duration_ps / one.ops < each_ps * 11 / 10);
    CHECK(two.duration_ps < one.duration_ps * 6 / 10);
    CHECK(many.duration_ps < two.duration_ps * 6 / 10);
}

TEST_CASE("load: a thread starts its operations at intervals", "[unit]")
{
    for (rpm_load_by by : { RPM_BY_CORE, RPM_BY_NIC, RPM_BY_CALL }) {
        rpm_load load = load_of(by, RPM_LOAD_WRITE);

        load.threads = 4;
        load.depth = by == RPM_BY_CORE ? 1 : 8;
        load.interval_ps = 10000000; // 10 us: 4 threads start 0.4 M operations a second
        rpm_cost paced = cost_of(load);
        double each_ps = static_cast<double>(paced.duration_ps) / static_cast<double>(paced.ops);
        CHECK(each_ps == Approx(2500000).epsilon(0.02));
        load.interval_ps = 1; // faster than any thread
        rpm_cost rushed = cost_of(load);
        load.interval_ps = 0;
        CHECK(static_cast<double>(rushed.duration_ps) ==
              Approx(static_cast<double>(cost_of(load).duration_ps)).epsilon(0.05));
        CHECK(paced.p50_ps <= rushed.p50_ps);
    }
}
