/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command_database.cc: dtx-check check, tpcc, smallbank, tatp, ycsb, recover and vacuum: finish
 * what sessions left unfinished in a database, if asked to, and check it.
 *
 * Tests: tests/tools/dtx_check_test
 */
#include "check/command.h"
#include "check/database.h"

#include "cli.h"
#include "history/writer.h"
#include "workload/final.h"
#include <dtx/error.h>

#include <memory>

namespace dtx::checks
{

namespace
{

const char *const kExamples =
    "Exit codes: 0 all rules hold, 1 one is broken, 2 wrong usage, or a database that cannot be\n"
    "read or that has unfinished transactions.\n"
    "Examples:\n"
    "  dtx-check check shm:/tmp/a shm:/tmp/b            the URLs in the order of the program\n"
    "  dtx-check tpcc shm:/tmp/a shm:/tmp/b             all rules, and those of TPC-C\n"
    "  dtx-check tpcc --recover shm:/tmp/a shm:/tmp/b   after a run that was killed\n"
    "  dtx-check recover shm:/tmp/a shm:/tmp/b          finish transactions, check nothing\n"
    "  dtx-check vacuum shm:/tmp/a shm:/tmp/b           recover, and return lost slots\n";

struct Options {
    Wanted wanted;
    std::string final_state;
    std::string receipts;
    bool recover = false;
    bool vacuum = false; /* after the recovery, return lost slots */
    bool check = true;
    bool json = false;
};

/* Writes the versions and writers of all objects as a history without transactions, which dtx-check
 * history checks together with the history of the run. */
void write_final(const Found &database, const std::string &path)
{
    auto recorder = history::Recorder::open(
        path, history::Header{ database.cluster->schema().name(), 0, false }, {});

    record_final<history::Access>(*recorder, *database.cluster, [](Address) { return true; });
    recorder->close();
}

void recover(Found &database, DatabaseResult &result, bool vacuum)
{
    try {
        result.leftovers = look_for_leftovers(*database.cluster);
    } catch (const Fenced &failure) {
        /* A promotion or restoration was interrupted: the recovery below finishes or drops it, and
         * leftovers cannot be counted before. */
        if (failure.code() != RPM_E_FENCED)
            throw;
        fprintf(stderr, "dtx-check: %s\n", failure.what());
    }
    result.recovery = vacuum ? database.cluster->vacuum() : database.cluster->recover();
    database.dead = database.cluster->dead();
}

int recover_and_check(Options &options)
{
    options.wanted.settled = !options.recover;

    Found database = find_database(options.wanted);
    DatabaseResult result;

    if (options.recover)
        recover(database, result, options.vacuum);
    else
        result.leftovers = look_for_leftovers(*database.cluster);
    bool at_rest = !result.unfinished();

    if (options.check && at_rest)
        result.copies = check_database(database, options.receipts);
    if (!options.final_state.empty() && at_rest)
        write_final(database, options.final_state);
    (options.json ? print_json : print_result)(database, result);
    if (!at_rest) {
        fprintf(stderr,
                "dtx-check: the database has unfinished transactions of a running or killed "
                "program: wait for a running one; --recover finishes those of a killed one\n");
        return cli::kUsage;
    }
    return result.broken() == 0 ? cli::kDone : cli::kFailed;
}

int run(Options &options)
{
    return guarded(options.wanted, [&options] { return recover_and_check(options); });
}

std::shared_ptr<Options> add_options(CLI::App &app)
{
    auto options = std::make_shared<Options>();

    app.footer(kExamples);
    add_wanted(app, options->wanted);
    app.add_option("--final", options->final_state,
                   "Write versions and writers of all objects, for dtx-check history")
        ->type_name("FILE");
    app.add_flag("--json", options->json, "Report as JSON");
    return options;
}

/* A command that checks. */
std::shared_ptr<Options> add_checking(CLI::App &app)
{
    std::shared_ptr<Options> options = add_options(app);

    app.add_option("--replicas", options->wanted.replicas,
                   "Copies that each row must have (as many as the database was created with)")
        ->check(CLI::Range(1, 64));
    app.add_flag("--recover", options->recover, "First finish the transactions of dead sessions");
    return options;
}

/* The name of the command is the name of its workload and database. */
std::shared_ptr<Options> add_workload_options(CLI::App &app)
{
    std::shared_ptr<Options> options = add_checking(app);

    options->wanted.name = app.get_name();
    options->wanted.workload = true;
    app.remove_option(app.get_option("--name"));
    return options;
}

} // namespace

Body add_check(CLI::App &app)
{
    std::shared_ptr<Options> options = add_checking(app);

    return [options] { return run(*options); };
}

Body add_tpcc(CLI::App &app)
{
    std::shared_ptr<Options> options = add_workload_options(app);

    app.add_option("--receipts", options->receipts,
                   "Outcomes of all runs since the load, a file written by dtx-bench --receipts")
        ->type_name("FILE");
    return [options] { return run(*options); };
}

Body add_workload(CLI::App &app)
{
    std::shared_ptr<Options> options = add_workload_options(app);

    return [options] { return run(*options); };
}

static Body add_mending(CLI::App &app, bool vacuum)
{
    std::shared_ptr<Options> options = add_options(app);

    options->recover = true;
    options->vacuum = vacuum;
    options->check = false;
    return [options] { return run(*options); };
}

Body add_recover(CLI::App &app)
{
    return add_mending(app, false);
}

Body add_vacuum(CLI::App &app)
{
    return add_mending(app, true);
}

} // namespace dtx::checks
