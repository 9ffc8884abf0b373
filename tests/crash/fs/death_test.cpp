// SPDX-License-Identifier: BSD-3-Clause
// death_test.cpp: the machine of a client dies at any event of a script. A second client goes on:
// it takes over slabs, locks, orphans and the row in the table mounts.
//
//   fs_client_death_test [--seed N] [--points all|N] [--script NAME [--point N]]
//
// --points: at how many events of each script it dies. Exit code 0: no fault; 1: otherwise; 2:
// wrong usage.
#include "crash/fs/scene.h"
#include "crash/fs/tally.h"
#include <dtx/scheduler.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace crash;

namespace
{

struct Options {
    uint64_t seed = 1;
    uint64_t points = 8; // UINT64_MAX: all
    uint64_t point = 0;
    std::string script;
};

void run(const Options &options, const Script &script, Scene &scene, uint64_t event, Tally &tally)
{
    std::string faults = scene.run({ What::death, RPM_CUT_NONE, 0, event, 0 });

    tally.add(faults);
    if (!faults.empty())
        printf("%s  of: fs_client_death_test --seed %" PRIu64 " --script '%s' --point %" PRIu64
               "\n",
               faults.c_str(), options.seed, script.name, event);
}

bool run_script(const Options &options, const Script &script, Tally &tally)
{
    Scene scene(script, options.seed);
    std::string faults = scene.rehearse();
    uint64_t stride = std::max<uint64_t>(scene.events() / options.points, 1);
    dtx::SplitMix64 chance(options.seed);

    if (!faults.empty()) {
        printf("%s  of: '%s' without a death\n", faults.c_str(), script.name);
        return false;
    }
    if (options.point != 0)
        run(options, script, scene, options.point, tally);
    else
        for (uint64_t event = 1 + chance.below(stride); event <= scene.events(); event += stride)
            run(options, script, scene, event, tally);
    return true;
}

int usage()
{
    fprintf(stderr, "usage: fs_client_death_test [--seed N] [--points all|N] [--script NAME "
                    "[--point N]]\n");
    return 2;
}

} // namespace

int main(int argc, char **argv)
{
    Options options;
    Tally tally;
    bool whole = true;

    for (int i = 1; i < argc; i++) {
        std::string word = argv[i];

        if (i + 1 == argc)
            return usage();
        if (word == "--seed")
            options.seed = strtoull(argv[++i], nullptr, 10);
        else if (word == "--points")
            options.points =
                strcmp(argv[++i], "all") == 0 ? UINT64_MAX : strtoull(argv[i], nullptr, 10);
        else if (word == "--point")
            options.point = strtoull(argv[++i], nullptr, 10);
        else if (word == "--script")
            options.script = argv[++i];
        else
            return usage();
    }
    if (options.points == 0)
        return usage();
    for (const Script &script : scripts())
        if (options.script.empty() || options.script == script.name)
            whole = run_script(options, script, tally) && whole;
    if (tally.points == 0)
        return usage();
    printf("fs deaths: %" PRIu64 " points, %" PRIu64 " lost, %" PRIu64 " half, %" PRIu64
           " leaked, %" PRIu64 " stuck locks\n",
           tally.points, tally.lost, tally.half, tally.leaked, tally.stuck);
    return whole && tally.good == tally.points ? 0 : 1;
}
