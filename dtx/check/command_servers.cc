/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command_servers.cc: dtx-check promote and restore. promote makes other copies the primaries of
 * the shards of lost servers (Cluster::promote); restore copies the shards of a server back to it
 * and uses it again (Cluster::restore). find_database() does not connect to the servers that they
 * name.
 *
 * Tests: tests/tools/dtx_promote_test
 */
#include "check/command.h"

#include "check/database.h"
#include "cli.h"

#include <memory>
#include <set>

namespace dtx::checks
{

namespace
{

const char *const kPromoteExamples =
    "Stop the server first, and keep it stopped: clients that can still reach it would go on "
    "using\n"
    "it. A server that answers is refused. At a wrong URL no server answers, so check the URLs. "
    "Name\n"
    "all lost servers in one command. May be interrupted and repeated.\n"
    "Exit codes: 0 done, 2 wrong usage or impossible; then nothing has changed.\n"
    "Examples:\n"
    "  dtx-check promote --server 1 shm:/tmp/a shm:/tmp/b shm:/tmp/c   /tmp/b is lost\n";

const char *const kRestoreExamples =
    "Start the server first, with its pool or an empty one. May be interrupted and repeated.\n"
    "Exit codes: 0 done, 2 wrong usage or impossible.\n"
    "Examples:\n"
    "  dtx-check restore --server 1 shm:/tmp/a shm:/tmp/b shm:/tmp/c   /tmp/b is back\n";

struct ServerOptions {
    Wanted wanted;
    bool json = false;
    bool force = false; /* of promote */
};

std::shared_ptr<ServerOptions> add_options(CLI::App &app, const char *about, const char *examples)
{
    auto options = std::make_shared<ServerOptions>();

    app.footer(examples);
    add_wanted(app, options->wanted);
    app.add_option("--server", options->wanted.absent, about)
        ->required()
        ->check(CLI::Range(0u, kShardsMax - 1))
        ->allow_extra_args(false)
        ->type_name("N");
    app.add_flag("--json", options->json, "Report as JSON");
    return options;
}

int report(const ServerOptions &options, Found &database, const Recovery &recovery)
{
    DatabaseResult result;

    result.recovery = recovery;
    database.dead = database.cluster->dead();
    (options.json ? print_json : print_result)(database, result);
    return cli::kDone;
}

int promote(const ServerOptions &options)
{
    std::set<uint32_t> named(options.wanted.absent.begin(), options.wanted.absent.end());
    Found database = find_database(options.wanted);
    Recovery recovery = database.cluster->promote({ named.begin(), named.end() }, options.force);

    return report(options, database, recovery);
}

int restore(const ServerOptions &options)
{
    Found database = find_database(options.wanted);

    return report(options, database, database.cluster->restore(options.wanted.absent.front()));
}

} // namespace

Body add_promote(CLI::App &app)
{
    auto options =
        add_options(app, "Number of a lost server, from 0 on; may be repeated", kPromoteExamples);

    app.add_flag("--force", options->force,
                 "Do not ask whether the servers still answer: they cannot be stopped, and no "
                 "client can reach them");
    return [options] { return guarded(options->wanted, [&] { return promote(*options); }); };
}

Body add_restore(CLI::App &app)
{
    auto options = add_options(app, "Number of the server, from 0 on", kRestoreExamples);

    app.get_option("--server")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    return [options] { return guarded(options->wanted, [&] { return restore(*options); }); };
}

} // namespace dtx::checks
