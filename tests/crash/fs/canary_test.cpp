// SPDX-License-Identifier: BSD-3-Clause
// canary_test.cpp: removes one rule of the file system, or of the engine below it, at a time. The
// scripts with power cuts and deaths, or a race, must then show a fault; with all rules in force
// the same races show none. Those of the mount are in tests/fs/canary_test.
//
//   fs_canary_test [--seed N] [CANARY ...]
//
// Exit code 0: each was caught; 1: otherwise; 2: wrong usage.
#include "core/base/canary.h"

#include "crash/fs/child.h"
#include "crash/fs/races.h"
#include "crash/fs/scene.h"
#include <dtx/scheduler.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

using namespace crash;
using rfs::Canary;

namespace
{

constexpr uint64_t kPoints = 60; // of a script, at most

struct Known {
    const char *name;
    Canary canary;
    uint32_t below; // enum dtx::Canary
    // A script, and what fails in it; or a race.
    const char *script;
    What what;
    Race race = nullptr;
};

const std::vector<Known> &canaries()
{
    static const std::vector<Known> list = {
        { "commit-before-data", Canary::commit_before_data, 0, "write", What::all },
        { "one-copy", Canary::none, dtx::kCanarySpanPrimary, "write", What::one },
        { "no-validate-read", Canary::none, dtx::kCanaryValidate, "", What::one,
          read_against_write },
        { "reuse-early", Canary::reuse_early, 0, "overwrite", What::all },
        { "slab-shared", Canary::slab_shared, 0, "", What::one, write_against_write },
        { "no-fence", Canary::no_fence, 0, "", What::one, write_against_write },
        { "cut-forgets", Canary::cut_forgets, 0, "truncate in steps", What::all },
        { "orphan-early", Canary::orphan_early, 0, "unlink while open there", What::death },
        { "lock-survives", Canary::lock_survives, 0, "lock", What::death },
        { "lock-early", Canary::lock_early, 0, "", What::one, lock_against_lock },
        { "solo-no-wait", Canary::solo_no_wait, 0, "", What::one, open_against_solo },
        { "mtime-still", Canary::mtime_still, 0, "", What::one, write_in_one_tick },
        { "sum-unseeded", Canary::sum_unseeded, 0, "", What::one, pointer_astray },
        { "loop-unchecked", Canary::loop_unchecked, 0, "", What::one, move_below_itself },
        { "fsync-lies", Canary::none, dtx::kCanaryVisible, "write", What::all },
    };

    return list;
}

const Script &script_of(const char *name)
{
    for (const Script &script : scripts())
        if (strcmp(script.name, name) == 0)
            return script;
    throw std::invalid_argument(name);
}

// The first fault of a script without the rule.
std::string found_by_script(const Known &known, uint64_t seed)
{
    Scene scene(script_of(known.script), seed, known.below);
    std::string faults = scene.rehearse(known.canary);
    uint64_t stride = std::max<uint64_t>(scene.events() / kPoints, 1);
    dtx::SplitMix64 chance(seed);

    rfs::canary_now = known.canary;
    for (uint64_t event = 1 + chance.below(stride); faults.empty() && event <= scene.events();
         event += stride)
        faults = scene.run(
            { known.what, RPM_CUT_DROP, static_cast<uint32_t>(event % kServers), event, 0 });
    rfs::canary_now = Canary::none;
    return faults;
}

std::string found_by_race(const Known &known, uint64_t seed, bool removed)
{
    return in_child([&] {
        rfs::canary_now = removed ? known.canary : Canary::none;
        return known.race(seed, removed ? known.below : 0);
    });
}

bool catches(const Known &known, uint64_t seed)
{
    std::string without =
        known.race != nullptr ? found_by_race(known, seed, true) : found_by_script(known, seed);
    std::string with = known.race != nullptr ? found_by_race(known, seed, false) : "";

    printf("%-20s %s\n", known.name,
           without.empty() ? "NOT CAUGHT" : without.substr(0, without.find('\n')).c_str());
    if (!with.empty())
        printf("%-20s found though the rule is in force: %s\n", known.name, with.c_str());
    return !without.empty() && with.empty();
}

} // namespace

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    size_t caught = 0, count = 0;
    std::vector<std::string> wanted;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], nullptr, 10);
        else
            wanted.emplace_back(argv[i]);
    for (const Known &known : canaries()) {
        if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), known.name) == wanted.end())
            continue;
        count++;
        caught += catches(known, seed);
    }
    if (count == 0)
        return fprintf(stderr, "usage: fs_canary_test [--seed N] [CANARY ...]\n"), 2;
    printf("canaries: %zu of %zu caught\n", caught, count);
    return caught == count ? 0 : 1;
}
