/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtx_check.cc: check the history of a run, and the database that it left.
 *
 * Exit codes: 0 nothing wrong, 1 a violation, 2 wrong usage or nothing that could be checked.
 * Tests: tests/tools/dtx_check_test
 */
#include "check/command.h"

#include "cli.h"

namespace
{

struct Command {
    const char *name;
    const char *about;
    dtx::checks::Body (*add)(CLI::App &app);
};

const Command kCommands[] = {
    { "history", "Is a history serialisable?", dtx::checks::add_history },
    { "check", "Are a database's rows, copies and indexes right?", dtx::checks::add_check },
    { "tpcc", "Is the database that a run of TPC-C left consistent?", dtx::checks::add_tpcc },
    { "smallbank", "The same, and the rules of SmallBank", dtx::checks::add_workload },
    { "tatp", "The same, and the rules of TATP", dtx::checks::add_workload },
    { "ycsb", "The same, and the rules of YCSB", dtx::checks::add_workload },
    { "recover", "Finish the transactions of dead sessions", dtx::checks::add_recover },
    { "promote", "Go on without servers that are lost for good", dtx::checks::add_promote },
    { "restore", "Use a promoted-away server again", dtx::checks::add_restore },
    { "vacuum", "Return the free slots that dead sessions had kept", dtx::checks::add_vacuum },
};

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Check the history of transactions, and the database that they left", "dtx-check");
    std::map<const CLI::App *, dtx::checks::Body> bodies;

    app.require_subcommand(1);
    for (const Command &command : kCommands) {
        CLI::App *sub = app.add_subcommand(command.name, command.about);
        bodies[sub] = command.add(*sub);
    }
    return cli::run(app, argc, argv, [&] { return bodies.at(app.get_subcommands().front())(); });
}
