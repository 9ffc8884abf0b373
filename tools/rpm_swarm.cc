/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpm_swarm.cc: run or replay seeded worlds of the device model: several clients and servers, loss,
 * delay, duplicates, power cuts, deaths and restarts; and check that no acknowledged record is lost
 * and no record is invented.
 */
#include "cli.h"
#include "swarm/world.h"

namespace
{

constexpr const char *kExamples =
    "Examples:\n"
    "  rpm-swarm --worlds 100                 a hundred worlds from seed 1 on\n"
    "  rpm-swarm --seed 4711 --verbose        replay one world and print what happens\n"
    "  rpm-swarm --agent --worlds 1000        the clients' records are certified for agents\n"
    "  rpm-swarm --random --seconds 600       new worlds for ten minutes\n";

struct Options {
    uint64_t seed = 1;
    uint64_t worlds = 1;
    uint64_t steps = 400;
    double seconds = 0;
    bool random = false;
    bool agent = false;
    bool verbose = false;
};

void print(const swarm::Tally &tally)
{
    printf("worlds %llu steps %llu events %llu acknowledged %llu absent %llu cuts %llu "
           "server-kills %llu client-kills %llu resumes %llu takeovers %llu walks %llu slots %llu "
           "locks %llu orders %llu fallbacks %llu\n",
           (unsigned long long)tally.worlds, (unsigned long long)tally.steps,
           (unsigned long long)tally.events, (unsigned long long)tally.acknowledged,
           (unsigned long long)tally.settled_absent, (unsigned long long)tally.cuts,
           (unsigned long long)tally.server_kills, (unsigned long long)tally.client_kills,
           (unsigned long long)tally.resumes, (unsigned long long)tally.takeovers,
           (unsigned long long)tally.walks, (unsigned long long)tally.slots,
           (unsigned long long)tally.locks, (unsigned long long)tally.orders,
           (unsigned long long)tally.fallbacks);
}

/* Returns 0; or 1 after a violation, and prints the command that repeats it. */
int run_world(const Options &options, uint64_t seed, swarm::Tally &tally)
{
    try {
        swarm::World world(seed, options.verbose, options.agent);

        world.run(options.steps, tally);
        return 0;
    } catch (const std::exception &failure) {
        printf("seed %llu: %s\nreplay: rpm-swarm --seed %llu --steps %llu%s --verbose\n",
               (unsigned long long)seed, failure.what(), (unsigned long long)seed,
               (unsigned long long)options.steps, options.agent ? " --agent" : "");
        return 1;
    }
}

uint64_t now_ns()
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

int run(const Options &options)
{
    uint64_t end =
        options.seconds > 0 ? now_ns() + static_cast<uint64_t>(options.seconds * 1e9) : 0;
    uint64_t seed = options.random ? now_ns() : options.seed;
    swarm::Tally tally;
    uint64_t violations = 0;

    for (uint64_t i = 0; (end == 0 && i < options.worlds) || (end != 0 && now_ns() < end); i++)
        violations += static_cast<uint64_t>(run_world(options, seed + i, tally));
    print(tally);
    printf("worlds %llu violations %llu\n", (unsigned long long)(tally.worlds + violations),
           (unsigned long long)violations);
    return violations == 0 ? cli::kDone : cli::kFailed;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Run or replay seeded worlds of the device model", "rpm-swarm");
    Options options;

    app.footer(kExamples);
    app.add_option("--seed", options.seed, "Seed of the first world (1)")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--worlds", options.worlds, "Number of worlds, with consecutive seeds (1)");
    app.add_option("--steps", options.steps, "Steps in each world (400)");
    app.add_option("--seconds", options.seconds, "Run worlds for this long instead of a number");
    app.add_flag("--random", options.random, "Start from a seed taken from the clock");
    app.add_flag("--agent", options.agent,
                 "Most clients have an agent, which has the server certify their records");
    app.add_flag("--verbose", options.verbose, "Print each operation and fault");
    return cli::run(app, argc, argv, [&] { return run(options); });
}
