/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.h: a command of dtx-check: its options, and the function that runs after they are parsed.
 */
#ifndef DTX_CHECK_COMMAND_H
#define DTX_CHECK_COMMAND_H

#include "check/find.h"

#include <CLI/CLI.hpp>
#include <functional>

namespace dtx::checks
{

/* Runs a command; returns the exit code: 0 no violation, 1 a violation, 2 wrong usage or nothing
 * that could be checked. */
using Body = std::function<int()>;

Body add_history(CLI::App &app);
Body add_check(CLI::App &app);
Body add_tpcc(CLI::App &app);
Body add_workload(CLI::App &app);
Body add_recover(CLI::App &app);
Body add_promote(CLI::App &app);
Body add_restore(CLI::App &app);
Body add_vacuum(CLI::App &app);

/* Options of all commands that open a database. */
void add_wanted(CLI::App &app, Wanted &wanted);

/* Reads the secret into @wanted, runs @body and returns its result. Prints an Error and returns 2.
 */
int guarded(Wanted &wanted, const Body &body);

} // namespace dtx::checks
#endif
