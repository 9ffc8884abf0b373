// SPDX-License-Identifier: BSD-3-Clause
// crash_test.cpp: servers of a volume lose power, or their processes die, at any event of a script:
// one of them; one and then the other; all of them, and the clients with them. Nothing is lost that
// had returned, nothing is done by half, and the volume is whole on both copies.
//
//   fs_crash_test [--seed N] [--cuts all|N] [--script NAME [--point POINT]] [--verbose]
//
// --cuts: at how many events of each script. all: one server, and then all, at every event, one and
// then the other from every fourth on. What survives takes turns: nothing, words, lines, or all,
// where the processes die. Exit code 0: no fault; 1: otherwise; 2: wrong usage.
#include "crash/fs/scene.h"
#include "crash/fs/tally.h"
#include <dtx/scheduler.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

using namespace crash;

namespace
{

struct Options {
    uint64_t seed = 1;
    uint64_t cuts = 4; // of each kind; UINT64_MAX: all
    std::string script;
    std::string point;
    bool verbose = false;
};

void run(const Options &options, const Script &script, Scene &scene, const Point &point,
         Tally &tally)
{
    std::string faults = scene.run(point);

    tally.add(faults);
    if (!faults.empty())
        printf("%s  of: fs_crash_test --seed %" PRIu64 " --script '%s' --point %s\n",
               faults.c_str(), options.seed, script.name, to_text(point).c_str());
}

// The points of one script: each kind of failure at other events.
void run_all(const Options &options, const Script &script, Scene &scene, Tally &tally)
{
    static constexpr rpm_cut kCuts[] = { RPM_CUT_DROP, RPM_CUT_TEAR, RPM_CUT_REORDER,
                                         RPM_CUT_KILL };
    uint64_t events = scene.events();
    uint64_t stride = std::max<uint64_t>(events / options.cuts, 1);
    dtx::SplitMix64 chance(options.seed);

    for (What what : { What::one, What::pair, What::all }) {
        uint64_t step = what == What::pair ? std::max<uint64_t>(stride, 4) : stride;
        uint64_t number = chance.below(std::size(kCuts));

        for (uint64_t event = 1 + chance.below(step); event <= events; event += step) {
            uint32_t server = static_cast<uint32_t>(chance.below(kServers));
            rpm_cut cut = kCuts[number++ % std::size(kCuts)];

            run(options, script, scene, { what, cut, server, event, 1 + chance.below(events) },
                tally);
        }
    }
}

bool run_script(const Options &options, const Script &script, Tally &tally)
{
    Scene scene(script, options.seed);
    std::string faults = scene.rehearse();
    Point point;

    if (options.verbose)
        printf("%-35s %5" PRIu64 " events\n", script.name, scene.events());
    if (!faults.empty()) {
        printf("%s  of: '%s' without a cut\n", faults.c_str(), script.name);
        return false;
    }
    if (options.point.empty())
        run_all(options, script, scene, tally);
    else if (from_text(options.point, point))
        run(options, script, scene, point, tally);
    else
        return false;
    return true;
}

// A point that was printed must fail again.
bool is_reproducible(uint64_t seed)
{
    std::string seen[2];

    for (std::string &each : seen) {
        Scene scene(scripts()[0], seed);

        (void)scene.rehearse();
        each = scene.signature();
    }
    if (seen[0] != seen[1])
        printf("two worlds of one seed differ: %s, %s\n", seen[0].c_str(), seen[1].c_str());
    return seen[0] == seen[1];
}

int usage()
{
    fprintf(stderr,
            "usage: fs_crash_test [--seed N] [--cuts all|N] [--script NAME [--point POINT]] "
            "[--verbose]\n"
            "scripts:\n");
    for (const Script &script : scripts())
        fprintf(stderr, "  %s\n", script.name);
    return 2;
}

} // namespace

int main(int argc, char **argv)
{
    Options options;
    Tally tally;
    size_t count = 0;
    bool whole = true;

    for (int i = 1; i < argc; i++) {
        std::string word = argv[i];

        if (word == "--verbose")
            options.verbose = true;
        else if (i + 1 == argc)
            return usage();
        else if (word == "--seed")
            options.seed = strtoull(argv[++i], nullptr, 10);
        else if (word == "--cuts")
            options.cuts =
                strcmp(argv[++i], "all") == 0 ? UINT64_MAX : strtoull(argv[i], nullptr, 10);
        else if (word == "--script")
            options.script = argv[++i];
        else if (word == "--point")
            options.point = argv[++i];
        else
            return usage();
    }
    for (const Script &script : scripts())
        if (options.script.empty() || options.script == script.name) {
            whole = run_script(options, script, tally) && whole;
            count++;
        }
    if (options.cuts == 0 || count == 0)
        return usage();
    whole = is_reproducible(options.seed) && whole;
    printf("fs crash: %zu scripts, %" PRIu64 " cuts, %" PRIu64 " recovered, %" PRIu64
           " lost, %" PRIu64 " half, %" PRIu64 " leaked blocks\n",
           count, tally.points, tally.good, tally.lost, tally.half, tally.leaked);
    return whole && tally.good == tally.points ? 0 : 1;
}
