/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.cc: rpm-fs check.
 *
 * It ends as e2fsck does: 0 nothing is wrong, 1 all was repaired, 4 something is wrong, 8 it could
 * not look.
 *
 * Tests: tests/tools/fs_test, tests/fs/mount_test
 */
#include "program/command.h"

#include "core/check/check.h"
#include "core/check/repair.h"
#include <dtx/checks.h>

#include "cli.h"

namespace rfs
{

/* @repaired: how much was, before this was found. */
static int print_findings(const dtx::Findings &findings, uint64_t undecided, uint64_t repaired)
{
    uint64_t broken = 0;

    for (const dtx::Finding &each : findings.all())
        broken += each.broken;
    for (const std::string &text : findings.texts())
        cli::print(text + "\n");
    if (undecided != 0)
        cli::print("check could not decide " + std::to_string(undecided) +
                   " findings, because clients changed their rows before each reading: check "
                   "again, or unmount the volume everywhere and check with --offline\n");
    cli::print(broken == 0 ? "check clean\n"
                           : "check found " + std::to_string(broken) + " errors\n");
    if (broken != 0)
        return 4;
    return repaired != 0 ? 1 : 0;
}

void expect_unused(const OpenVolume &open)
{
    ClientSet clients = living_clients(open);

    for (uint32_t c = 0; c < kClientsMax; c++)
        if (clients.has(c))
            fail_in_use(c);
}

/* Returns the number of repairs. */
static uint64_t repair(const OpenVolume &open, bool data)
{
    Client alone(open);
    auto told = [](const std::string &text) { cli::print(text + "\n"); };

    alone.finish(alone.enter_alone());

    uint64_t repaired = repair_copies(open, alone, told) + repair_tables(open, alone, told);

    repaired += data ? repair_data(open, alone, told) : 0;
    alone.finish(alone.leave());
    cli::print("repaired " + std::to_string(repaired) + "\n");
    return repaired;
}

static dtx::Findings check_offline(const OpenVolume &open)
{
    dtx::Cluster::Reading reading(*open.cluster); /* connects once for all tables */
    dtx::Findings findings = check_tables(open);

    for (const dtx::Findings &of_copy : dtx::checks::check_copies(*open.cluster))
        findings.append(of_copy);
    findings.append(dtx::checks::check_indexes(*open.cluster, 0));
    return findings;
}

Body add_check(CLI::App &app)
{
    struct Options {
        PlaceOptions place;
        std::string name;
        bool data = false;
        bool offline = false;
        bool repairs = false;
    };
    auto options = std::make_shared<Options>();

    app.add_option("NAME", options->name, "of the volume")->required();
    add_place(app, options->place);
    app.add_flag("--data", options->data, "read all blocks, on each copy, too");
    CLI::Option *offline =
        app.add_flag("--offline", options->offline,
                     "also compare copies and indexes; fail if a client has the volume open");
    app.add_flag("--repair", options->repairs, "repair what can be decided, then check")
        ->needs(offline);
    app.footer("First finishes what dead clients have begun. Without --offline other clients may "
               "change\nthe volume meanwhile. Exit status: 0 nothing is wrong, 1 all was repaired, "
               "4 something is\nwrong, 8 it could not look.");
    return [options] {
        try {
            OpenVolume open = open_volume(options->name, servers_of(options->place, options->name));
            LiveFindings found{ {}, 0 };
            uint64_t repaired = 0;

            if (options->offline) {
                expect_unused(open);
                (void)open.cluster->recover();
                repaired = options->repairs ? repair(open, options->data) : 0;
                found.findings = check_offline(open);
            } else {
                found = check_live(open);
            }
            if (options->data)
                found.findings.append(check_data(open));
            return print_findings(found.findings, found.undecided, repaired);
        } catch (const std::exception &error) {
            fprintf(stderr, "rpm-fs: %s\n", error.what());
            return 8;
        }
    };
}

} // namespace rfs
