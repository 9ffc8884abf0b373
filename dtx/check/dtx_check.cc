/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtx_check.cc: checks the history of a run, and the database after the run.
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
    { "history", "Check whether a history is serialisable", dtx::checks::add_history },
    { "check", "Check the rows, copies and indexes of a database", dtx::checks::add_check },
    { "tpcc", "Check a database and the consistency conditions of TPC-C", dtx::checks::add_tpcc },
    { "smallbank", "Check a database and the rules of SmallBank", dtx::checks::add_workload },
    { "tatp", "Check a database and the rules of TATP", dtx::checks::add_workload },
    { "ycsb", "Check a database and the rules of YCSB", dtx::checks::add_workload },
    { "recover", "Finish the transactions of dead sessions", dtx::checks::add_recover },
    { "promote", "Continue without servers that are permanently lost", dtx::checks::add_promote },
    { "restore", "Use a promoted-away server again", dtx::checks::add_restore },
    { "vacuum", "Return the free slots that dead sessions had reserved", dtx::checks::add_vacuum },
};

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Check a history of transactions, and the database that they wrote", "dtx-check");
    std::map<const CLI::App *, dtx::checks::Body> bodies;

    app.require_subcommand(1);
    for (const Command &command : kCommands) {
        CLI::App *sub = app.add_subcommand(command.name, command.about);
        bodies[sub] = command.add(*sub);
    }
    return cli::run(app, argc, argv, [&] { return bodies.at(app.get_subcommands().front())(); });
}
