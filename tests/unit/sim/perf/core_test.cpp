// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

namespace
{

// No two operations on the same media line in a row.
rpm_load spread(rpm_load_op op)
{
    rpm_load load = load_of(RPM_BY_CORE, op);

    load.region_bytes = 64ull << 30;
    return load;
}

} // namespace

TEST_CASE("core: one random load takes the latency of the media", "[unit]")
{
    rpm_cost cost = cost_of(spread(RPM_LOAD_READ));
    rpmi_params params = params_of("hints");

    CHECK(cost.p50_ps == params.media_latency);
    CHECK(cost.max_ps == params.media_latency);
    CHECK(cost.duration_ps == cost.ops * params.media_latency);
    CHECK(cost.media_read_bytes == cost.ops * 256);
}

TEST_CASE("core: of sequential loads one in four waits for the media", "[unit]")
{
    rpm_load load = spread(RPM_LOAD_READ);
    rpmi_params params = params_of("hints");

    load.pattern = RPM_LOAD_SEQUENTIAL;
    rpm_cost cost = cost_of(load);
    CHECK(cost.p50_ps == params.buffer_latency);
    CHECK(cost.max_ps == params.media_latency);
    CHECK(cost.mean_ps == (params.media_latency + 3 * params.buffer_latency) / 4);
    CHECK(cost.media_read_bytes == cost.ops * 64);
    CHECK(cost.module_read_bytes == cost.ops * 64);
}

TEST_CASE("core: loads without a fence overlap up to the maximum in flight", "[unit]")
{
    rpm_load load = spread(RPM_LOAD_READ);

    load.fence_bytes = UINT64_MAX;
    load.memory = RPM_LOAD_DRAM;
    // Long loads are bound by the number in flight, short ones by the issue rate.
    rpm_cost few = cost_of(load, "hints,reads_in_flight=3 lines,dram_latency=300 ns");
    CHECK(few.duration_ps / few.ops >= 100000);
    CHECK(few.duration_ps / few.ops < 101000);
    rpm_cost many = cost_of(load, "hints,reads_in_flight=64 lines,dram_latency=300 ns");
    CHECK(many.duration_ps / many.ops >= params_of("hints").read_line);
    CHECK(many.duration_ps / many.ops < params_of("hints").read_line + 200);

    Bench bench(load);
    rpmi_server_start(bench.server);
    for (int i = 0; i < 10000; i++) {
        REQUIRE(bench.step());
        REQUIRE(bench.server->core[0].under_way <= bench.params.reads_in_flight);
    }
}

TEST_CASE("core: a fenced stream is never closer to the next than measured", "[unit]")
{
    rpm_load load = spread(RPM_LOAD_WRITE);
    rpmi_params params = params_of("hints");
    rpm_cost cost = cost_of(load);

    CHECK(cost.duration_ps == cost.ops * params.stream_fence);
    CHECK(cost.p50_ps == params.stream_latency);
    cost = cost_of(load, "hints,stream_fence=50 ns");
    CHECK(cost.duration_ps >= cost.ops * params.stream_latency);
    load.copy = RPM_COPY_CLWB;
    cost = cost_of(load);
    CHECK(cost.duration_ps == cost.ops * params.clwb_fence);
    CHECK(cost.p50_ps == params.clwb_latency);
}

TEST_CASE("core: without fences a core streams at its issue rate", "[unit]")
{
    rpm_load load = spread(RPM_LOAD_WRITE);
    rpmi_params params = params_of("hints");

    load.memory = RPM_LOAD_DRAM;
    load.fence_bytes = UINT64_MAX;
    rpm_cost cost = cost_of(load);
    CHECK(cost.duration_ps / cost.ops == params.stream_line);
    load.copy = RPM_COPY_CLWB;
    cost = cost_of(load);
    CHECK(cost.duration_ps / cost.ops == params.clwb_line);
}

TEST_CASE("core: a fence comes after so many bytes", "[unit]")
{
    rpm_load load = spread(RPM_LOAD_WRITE);

    load.fence_bytes = 256;
    rpm_cost cost = cost_of(load);
    // Four lines, then the least time between fences; not earlier than the fourth is accepted.
    rpmi_params params = params_of("hints");
    CHECK(cost.duration_ps / cost.ops == (params.stream_fence + 3 * params.stream_fence_line) / 4);
}

TEST_CASE("core: lines outstanding are no more than its fill buffers", "[unit]")
{
    for (uint32_t copy : { RPM_COPY_STREAM, RPM_COPY_CLWB, RPM_COPY_STORE }) {
        rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_WRITE);
        bool reached = false;

        load.copy = copy;
        load.threads = 8;
        load.bytes = 4096;
        load.fence_bytes = UINT64_MAX;
        load.use_dimms = 1;
        Bench bench(load);
        rpmi_server_start(bench.server);
        for (int i = 0; i < 30000; i++) {
            REQUIRE(bench.step());
            for (uint32_t core = 0; core < 8; core++) {
                REQUIRE(bench.server->core[core].under_way <= bench.params.fill_buffers);
                REQUIRE(bench.server->core[core].fills <= bench.params.fill_buffers);
                reached |= bench.server->core[core].under_way == bench.params.fill_buffers ||
                           bench.server->core[core].fills == bench.params.fill_buffers;
            }
        }
        CHECK(reached);
    }
}

TEST_CASE("core: at most writers_max cores stream to one module at a time", "[unit]")
{
    for (uint32_t most : { 0u, 1u, 2u, 5u }) {
        rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_WRITE);
        uint32_t seen = 0;

        load.threads = 24;
        load.bytes = 256;
        load.writers_max = most;
        Bench bench(load);
        rpmi_server_start(bench.server);
        for (int i = 0; i < 20000; i++) {
            uint32_t writers[RPMI_SERVER_MODULES] = {};

            REQUIRE(bench.step());
            for (uint32_t core = 0; core < 24; core++) {
                const rpmi_core *at = &bench.server->core[core];

                if (at->under_way > 0)
                    writers[rpmi_server_memory_module(bench.server, false, at->begin / 64)
                                ->number]++;
            }
            for (uint32_t module = 0; module < 6; module++) {
                REQUIRE((most == 0 || writers[module] <= most));
                seen = writers[module] > seen ? writers[module] : seen;
            }
        }
        CHECK((most == 0 ? seen > 5 : seen == most));
    }
}

TEST_CASE("core: one module is as fast as its media, by one writer or by many", "[unit]")
{
    rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_WRITE);
    rpmi_params params = params_of("hints");

    load.use_dimms = 1;
    load.ops = 10000;
    for (uint32_t threads : { 4u, 24u }) {
        load.threads = threads;
        rpm_cost cost = cost_of(load);

        CHECK(cost.duration_ps / cost.ops >= params.media_write);
        CHECK(cost.duration_ps / cost.ops < params.media_write * 104 / 100);
    }
}

TEST_CASE("core: a streamed line waits for the other socket's directory, and then for the link",
          "[unit]")
{
    rpm_load load = spread(RPM_LOAD_WRITE);
    rpmi_params params = params_of("hints");
    uint64_t link_ps = rpmi_rate_ps(64, params.upi_rate);
    uint64_t local_ps = cost_of(load).p50_ps;

    load.remote_socket = 1;
    CHECK(cost_of(load).p50_ps ==
          local_ps + 3 * (params.upi_latency / 2) + 2 * link_ps + params.media_latency);
    // A directory that is kept elsewhere, and one of DRAM, are not waited for.
    CHECK(cost_of(load, "hints,directory=0 writes").p50_ps ==
          local_ps + params.upi_latency / 2 + link_ps);
    load.memory = RPM_LOAD_DRAM;
    CHECK(cost_of(load).p50_ps == local_ps + params.upi_latency / 2 + link_ps);
}

TEST_CASE("core: cached stores write nothing before the cache is full", "[unit]")
{
    rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_WRITE);

    load.copy = RPM_COPY_STORE;
    load.region_bytes = 1 << 20;
    CHECK(cost_of(load).module_write_bytes == 0);
    load.region_bytes = 1 << 30;
    rpm_cost cost = cost_of(load);
    // For each line that enters the cache, one is evicted.
    CHECK(cost.module_write_bytes > cost.ops * 64 * 95 / 100);
    CHECK(cost.module_write_bytes < cost.ops * 64 * 105 / 100);
    CHECK(cost.module_read_bytes > cost.ops * 64 * 95 / 100);
}

TEST_CASE("core: stores that miss the same line bring it in once", "[unit]")
{
    rpm_load load = load_of(RPM_BY_CORE, RPM_LOAD_WRITE);

    load.copy = RPM_COPY_STORE;
    load.pattern = RPM_LOAD_SEQUENTIAL;
    load.bytes = 16;
    load.align_bytes = 16;
    load.ops = 4000;
    rpm_cost cost = cost_of(load);
    CHECK(cost.module_write_bytes >= cost.ops * 16 * 95 / 100);
    CHECK(cost.module_write_bytes <= cost.ops * 16 * 105 / 100);
}

TEST_CASE("core: a partly streamed line is read first, which does not delay the operation",
          "[unit]")
{
    rpm_load load = spread(RPM_LOAD_WRITE);

    rpm_cost whole = cost_of(load);
    load.bytes = 16;
    rpm_cost part = cost_of(load);
    CHECK(whole.module_read_bytes == 0);
    CHECK(part.module_read_bytes == part.ops * 64);
    CHECK(part.p50_ps == whole.p50_ps);
}

TEST_CASE("core: all calls are served, one at a time by each core", "[unit]")
{
    for (uint32_t most : { 0u, 1u }) {
        rpm_load load = load_of(RPM_BY_CALL, RPM_LOAD_MIX);
        std::vector<int> done(16);
        rpmi_event what;

        load.threads = 16;
        load.write_percent = 50;
        load.cores = 3;
        load.use_dimms = 1;
        load.writers_max = most;
        Bench bench(load);
        rpmi_server_start(bench.server);
        for (int i = 0; i < 30000; i++) {
            REQUIRE(bench.step(&what));
            if (what.kind == RPMI_PERF_EV_COMPLETION)
                done[what.arg]++;
            for (uint32_t a = 0; a < 3; a++)
                for (uint32_t b = 0; b < a; b++)
                    REQUIRE((bench.server->core[a].slot == UINT32_MAX ||
                             bench.server->core[a].slot != bench.server->core[b].slot));
            if (bench.server->calls.count > 0) // none waits while a core has nothing to do
                for (uint32_t core = 0; core < 3; core++)
                    REQUIRE(bench.server->core[core].slot != UINT32_MAX);
        }
        for (int count : done)
            CHECK(count > 100);
    }
}

TEST_CASE("core: more cores serve more calls, until another resource is saturated", "[unit]")
{
    rpm_load load = load_of(RPM_BY_CALL, RPM_LOAD_WRITE);

    load.threads = 30;
    load.depth = 8;
    load.cores = 1;
    rpm_cost one = cost_of(load);
    load.cores = 4;
    rpm_cost four = cost_of(load);
    CHECK(rate_of(four) > 3.9 * rate_of(one));
    CHECK(rate_of(four) < 4.1 * rate_of(one));
}
