/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.cc: the options of all commands that open a database: servers, secret, errors.
 *
 * Tests: tests/tools/dtx_database_test
 */
#include "check/command.h"

#include "cli.h"
#include "engine/base/canaries.h"
#include <dtx/error.h>

#include <cmath>

namespace dtx::checks
{

void add_wanted(CLI::App &app, Wanted &wanted)
{
    app.add_option("url", wanted.urls,
                   "URLs of the servers, in the order of the run that created the database")
        ->required()
        ->type_name("URL");
    app.add_option_function<double>(
           "--retry",
           [&wanted](const double &seconds) {
               wanted.retry_us = static_cast<uint64_t>(std::llround(seconds * 1e6));
           },
           "Seconds to retry while other sessions change the database (30)")
        ->check(CLI::Range(0.001, 86400.0))
        ->type_name("SECONDS");
    app.add_option("--name", wanted.name, "Name of the database, if the servers hold several")
        ->type_name("NAME");
    cli::secret_option(&app);
    app.add_option("--canary", wanted.canary)
        ->transform(CLI::CheckedTransformer(kCanaryNames))
        ->group("");
}

int guarded(Wanted &wanted, const Body &body)
{
    try {
        if (!cli::secret_file().empty())
            wanted.secret = cli::read_secret(cli::secret_file());
        return body();
    } catch (const Error &error) {
        std::string name =
            error.code() == 0 ? "" : std::string(rpm_error_name(error.code())) + ": ";

        fflush(stdout);
        fprintf(stderr, "dtx-check: %s%s\n", name.c_str(), error.what());
    } catch (const std::runtime_error &failure) {
        fprintf(stderr, "dtx-check: %s\n", failure.what());
    }
    return cli::kUsage;
}

} // namespace dtx::checks
