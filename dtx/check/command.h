/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.h: what a command of dtx-check is: its options, and what runs once they are read.
 */
#ifndef DTX_CHECK_COMMAND_H
#define DTX_CHECK_COMMAND_H

#include <CLI/CLI.hpp>
#include <functional>

namespace dtx::checks
{

/* What main() returns: 0 nothing wrong, 1 a violation, 2 wrong usage or nothing to look at. */
using Body = std::function<int()>;

Body add_history(CLI::App &app);
Body add_tpcc(CLI::App &app);
Body add_smallbank(CLI::App &app);
Body add_tatp(CLI::App &app);
Body add_recover(CLI::App &app);

} // namespace dtx::checks
#endif
