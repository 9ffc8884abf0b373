/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kv.cc: a Get of a key-value store by the alternatives that the off-path study compares.
 *
 *   A1        a client reads index and value in the host's memory, path 1 twice
 *   A2, A3    a core of the SoC looks the key up in its memory, and fetches the value from the host
 *             by the NIC (A2, path 3R) or by the copy engine (A3, path 3D); the client sends one
 *             message
 *   A4        the index is in SoC memory and the value in the host's: paths 2 and 1
 *   A5        both are in SoC memory: read by the client (path 2 twice), or by a core that answers
 *             one message
 *
 * The study's slides show the alternatives as pictures; which of A2 and A3 fetches by which engine
 * is a reading of them.
 */
#include "cases.h"
#include "chains.h"

#include <algorithm>

namespace paths
{

namespace
{

const char kPreset[] = "bf2";

/* Bucket: eight slots of 16 B, as in DrTM's hash table (Wei et al., SOSP 2015), which the study's
 * store is; a lookup reads one. Value and request: as the default payload of smartnic-bench, and a
 * key of 16 B. */
constexpr uint64_t kBucket = 128;
constexpr uint64_t kValue = 64;
constexpr uint64_t kKey = 16;

constexpr uint32_t kClients = 32;
constexpr uint32_t kDepth = 16;

Steps by_client(uint32_t index, uint32_t value)
{
    return { step_of(RPM_CHAIN_READ, index, kBucket), step_of(RPM_CHAIN_READ, value, kValue) };
}

Steps by_core(uint32_t value)
{
    return { step_of(RPM_CHAIN_CALL, RPM_PATH_SOC, kKey),
             step_of(RPM_CHAIN_READ, RPM_PATH_SOC_ONLY, kBucket),
             step_of(RPM_CHAIN_READ, value, kValue),
             step_of(RPM_CHAIN_REPLY, RPM_PATH_SOC, kValue) };
}

struct Way {
    const char *name;
    Steps steps;
};

const std::vector<Way> &ways()
{
    static const std::vector<Way> all = {
        { "A1", by_client(RPM_PATH_HOST, RPM_PATH_HOST) },
        { "A2", by_core(RPM_PATH_COPY_NIC) },
        { "A3", by_core(RPM_PATH_COPY_ENGINE) },
        { "A4", by_client(RPM_PATH_SOC, RPM_PATH_HOST) },
        { "A5-read", by_client(RPM_PATH_SOC, RPM_PATH_SOC) },
        { "A5-call", by_core(RPM_PATH_SOC_ONLY) },
    };

    return all;
}

std::vector<Steps> all_steps()
{
    std::vector<Steps> steps;

    for (const Way &way : ways())
        steps.push_back(way.steps);
    return steps;
}

Group saturated(const std::vector<Steps> &steps)
{
    Group group;

    group.ways = steps;
    group.threads = kClients;
    group.depth = kDepth;
    return group;
}

/* Gets/s of clients that divide them by shares. */
double rate_of(const std::vector<uint32_t> &shares, uint64_t seed)
{
    Group group = saturated(all_steps());

    group.shares = shares;
    group.ops = 10000;
    return chain_metric(run_groups(kPreset, { group }, seed), "mops");
}

struct Mix {
    std::vector<uint32_t> shares;
    double mops;
};

/* Move shares from the alternative that has most to another, as long as that is better. */
Mix climb(Mix mix, uint32_t step, uint64_t seed)
{
    bool better = true;

    while (better) {
        Mix from = mix;

        better = false;
        for (size_t to = 0; to < from.shares.size(); to++) {
            Mix next = from;
            auto most = std::max_element(next.shares.begin(), next.shares.end());

            if (most - next.shares.begin() == static_cast<std::ptrdiff_t>(to) || *most <= step)
                continue;
            *most -= step;
            next.shares[to] += step;
            next.mops = rate_of(next.shares, seed);
            if (next.mops > mix.mops) {
                mix = next;
                better = true;
            }
        }
    }
    return mix;
}

Mix best_single(uint64_t seed)
{
    Mix best = { {}, 0 };

    for (size_t i = 0; i < ways().size(); i++) {
        Mix one = { std::vector<uint32_t>(ways().size(), 0), 0 };

        one.shares[i] = 100;
        one.mops = rate_of(one.shares, seed);
        if (one.mops > best.mops)
            best = one;
    }
    return best;
}

const char *fastest_way(uint64_t seed)
{
    const char *best = nullptr;
    double best_ns = 0;

    for (const Way &way : ways()) {
        double took_ns = measure(std::string("kv/idle/") + way.name, "p50_ns", seed);

        if (best == nullptr || took_ns < best_ns) {
            best = way.name;
            best_ns = took_ns;
        }
    }
    return best;
}

/* The selector over the alternative that is best with so many Gets outstanding. */
double against_best(uint32_t outstanding, uint64_t seed)
{
    Group group;
    double best = 0;

    group.threads = outstanding;
    group.ops = 10000;
    for (const Way &way : ways()) {
        group.ways = { way.steps };
        best = std::max(best, chain_metric(run_groups(kPreset, { group }, seed), "mops"));
    }
    group.ways = all_steps();
    group.select = true;
    return chain_metric(run_groups(kPreset, { group }, seed), "mops") / best;
}

} // namespace

double kv_first(uint64_t seed)
{
    return rate_of({ 1, 0, 0, 0, 0, 0 }, seed);
}

double kv_single(uint64_t seed)
{
    return best_single(seed).mops;
}

double kv_ranked(uint64_t seed)
{
    return measure(std::string("kv/full/") + fastest_way(seed), "mops", seed);
}

double kv_combined(uint64_t seed)
{
    return measure("kv/full/selected", "mops", seed);
}

double kv_loads(uint64_t seed)
{
    double worst = against_best(1, seed);

    for (uint32_t outstanding : { 8, 24, 32, 64, 128, 256 })
        worst = std::min(worst, against_best(outstanding, seed));
    return worst;
}

/* An alternative serves its rate times its idle time without a queue (Little's law). */
double kv_gain(uint64_t seed)
{
    std::string fastest = std::string("/") + fastest_way(seed);
    double knee = measure("kv/full" + fastest, "mops", seed) *
                  measure("kv/idle" + fastest, "p50_ns", seed) * 1e-3;

    return against_best(static_cast<uint32_t>(1.5 * knee), seed);
}

double kv_hindsight(uint64_t seed)
{
    return climb(climb(best_single(seed), 20, seed), 5, seed).mops;
}

void add_kv(std::vector<ChainCase> *all)
{
    for (const Way &way : ways()) {
        Group alone;

        alone.ways = { way.steps };
        alone.ops = 2000;
        all->push_back({ std::string("kv/idle/") + way.name, kPreset, { alone } });
        all->push_back(
            { std::string("kv/full/") + way.name, kPreset, { saturated({ way.steps }) } });
    }
    for (bool full : { false, true }) {
        Group chosen = full ? saturated(all_steps()) : Group{ all_steps() };

        for (const Way &way : ways())
            chosen.names.push_back(way.name);
        chosen.select = true;
        chosen.ops = full ? 60000 : 20000;
        all->push_back({ full ? "kv/full/selected" : "kv/idle/selected", kPreset, { chosen } });
    }
}

} // namespace paths
