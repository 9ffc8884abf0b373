/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtx_check.cc: is what a run of dtx did, and what it left behind, right?
 *
 * Exit codes: 0 nothing wrong, 1 something is, 2 wrong usage or nothing that could be looked at.
 * Tests: tests/tools/dtx_check_test
 */
#include "check/command.h"

#include "cli.h"

namespace
{

struct Command {
    const char *name;
    const char *about;
    dtx::check::Body (*add)(CLI::App &app);
};

const Command kCommands[] = {
    { "history", "Is a history serialisable?", dtx::check::add_history },
};

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Check what transactions did, and what they left behind", "dtx-check");
    std::map<const CLI::App *, dtx::check::Body> bodies;

    app.require_subcommand(1);
    for (const Command &command : kCommands) {
        CLI::App *sub = app.add_subcommand(command.name, command.about);
        bodies[sub] = command.add(*sub);
    }
    return cli::run(app, argc, argv, [&] { return bodies.at(app.get_subcommands().front())(); });
}
