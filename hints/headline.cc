/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * headline.cc: the most important results, as one number each. They take so little time that a
 * sensitivity analysis measures them again for each changed number of a preset.
 */
#include "headline.h"

#include "harness/experiment.h"

#include <functional>

namespace hints
{

namespace
{

constexpr uint64_t kOps = 6000;

Row run(Platform *platform, Point point, uint32_t hints,
        const std::function<void(rpm_load *)> &edit)
{
    point.label = "headline";
    point.hints = hints;
    point.load.ops = kOps;
    plan_load(platform->facts(point), &point);
    point.load.writers_max = 0;
    edit(&point.load);
    return platform->measure(point);
}

Row small_write(Platform *platform, uint32_t hints)
{
    return run(platform, clients(RPM_LOAD_WRITE, 16), hints, [](rpm_load *) {});
}

double latency_ns(Platform *platform, uint32_t hints)
{
    Row row = run(platform, clients(RPM_LOAD_WRITE, 64), hints, [](rpm_load *load) {
        load->threads = 1;
        load->depth = 1;
        load->ops = 500;
    });

    return static_cast<double>(row.cost.p50_ps) * 1e-3;
}

double sequential_gbs(Platform *platform, uint32_t copy, uint32_t remote_socket)
{
    return run(platform, cores(RPM_LOAD_WRITE, 256, 4), RPM_HINTS_ALL,
               [=](rpm_load *load) {
                   load->copy = copy;
                   load->remote_socket = remote_socket;
                   load->pattern = RPM_LOAD_SEQUENTIAL;
                   load->fence_bytes = UINT64_MAX;
                   load->ops = 3 * kOps;
               })
        .gbs();
}

double random_gbs(Platform *platform, uint32_t copy, uint64_t bytes)
{
    return run(platform, cores(RPM_LOAD_WRITE, bytes, 6), RPM_HINTS_ALL,
               [copy](rpm_load *load) { load->copy = copy; })
        .gbs();
}

Row one_module(Platform *platform)
{
    return run(platform, cores(RPM_LOAD_WRITE, 64, 2), RPM_HINTS_ALL, [](rpm_load *load) {
        load->copy = RPM_COPY_STREAM;
        load->use_dimms = 1;
    });
}

double media_limit(Platform *platform)
{
    return run(platform, cores(RPM_LOAD_WRITE, 64, 16), RPM_HINTS_ALL,
               [](rpm_load *load) {
                   load->copy = RPM_COPY_STREAM;
                   load->fence_bytes = UINT64_MAX;
               })
        .mops();
}

double locks_mops(Platform *platform, uint32_t hints)
{
    return run(platform, clients(RPM_LOAD_CAS, 8), hints, [](rpm_load *) {}).mops();
}

double calls_mops(Platform *platform, uint32_t ddio)
{
    return run(platform, callers(RPM_LOAD_WRITE, 64), RPM_HINTS_ALL,
               [ddio](rpm_load *load) { load->ddio = ddio; })
        .mops();
}

} // namespace

std::vector<std::pair<std::string, double>> headline(Platform *platform)
{
    double streamed = sequential_gbs(platform, RPM_COPY_STREAM, 0);
    uint32_t without = with(RPM_HINTS_ALL, 9, false);
    std::vector<std::pair<std::string, double>> out;

    out.emplace_back("no hints, M/s", small_write(platform, RPM_HINTS_NONE).mops());
    out.emplace_back("all hints, M/s", small_write(platform, RPM_HINTS_ALL).mops());
    out.emplace_back("media limit, M/s", media_limit(platform));
    out.emplace_back("one module, M/s", one_module(platform).mops());
    out.emplace_back("two round trips, ns", latency_ns(platform, without));
    out.emplace_back("chained, ns", latency_ns(platform, RPM_HINTS_ALL));
    out.emplace_back("local over remote writes",
                     streamed / sequential_gbs(platform, RPM_COPY_STREAM, 1));
    out.emplace_back("streamed over evicted",
                     streamed / sequential_gbs(platform, RPM_COPY_STORE, 0));
    out.emplace_back("stream over clwb, 128 B", random_gbs(platform, RPM_COPY_STREAM, 128) /
                                                    random_gbs(platform, RPM_COPY_CLWB, 128));
    out.emplace_back("stream over clwb, 256 B", random_gbs(platform, RPM_COPY_STREAM, 256) /
                                                    random_gbs(platform, RPM_COPY_CLWB, 256));
    out.emplace_back("locks: DRAM over NVM",
                     locks_mops(platform, RPM_HINTS_ALL) /
                         locks_mops(platform, with(RPM_HINTS_ALL, 8, false)));
    out.emplace_back("calls: DDIO on over off",
                     calls_mops(platform, RPM_YES) / calls_mops(platform, RPM_NO));
    return out;
}

} // namespace hints
