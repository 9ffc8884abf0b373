/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.cc: rpm-fs check.
 *
 * It ends as e2fsck does: 0 nothing is wrong, 4 something is, 8 it could not look.
 *
 * Tests: tests/tools/fs_test, tests/fs/mount_test
 */
#include "program/command.h"

#include "core/check/check.h"
#include <dtx/checks.h>

#include "cli.h"

namespace rfs
{

static int print_findings(const dtx::Findings &findings, uint64_t undecided)
{
    uint64_t broken = 0;

    for (const dtx::Finding &each : findings.all())
        broken += each.broken;
    for (const std::string &text : findings.texts())
        cli::print(text + "\n");
    if (undecided != 0)
        cli::print("check could not judge " + std::to_string(undecided) +
                   " that clients changed each time they were read: check again, or with "
                   "--offline\n");
    cli::print(broken == 0 ? "check clean\n" : "check found " + std::to_string(broken) + "\n");
    return broken == 0 ? 0 : 4;
}

/* Throws std::runtime_error if a client that lives has the volume open. */
static void expect_unused(const OpenVolume &open)
{
    ClientSet clients = living_clients(open);

    for (uint32_t c = 0; c < dtx::kCoordinatorsMax; c++)
        if (clients.has(c))
            throw std::runtime_error("client number " + std::to_string(client_number(c)) +
                                     " has the volume open: unmount it everywhere first");
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
    };
    auto options = std::make_shared<Options>();

    app.add_option("NAME", options->name, "of the volume")->required();
    add_place(app, options->place);
    app.add_flag("--data", options->data, "read all blocks, on each copy, too");
    app.add_flag("--offline", options->offline,
                 "also compare copies and indexes; fail if a client has the volume open");
    app.footer("First finishes what dead clients have begun. Without --offline other clients may "
               "change\nthe volume meanwhile. Exit status: 0 nothing is wrong, 4 something is, 8 "
               "it could not look.");
    return [options] {
        try {
            OpenVolume open = open_volume(options->name, servers_of(options->place, options->name));
            LiveFindings found{ {}, 0 };

            if (options->offline) {
                expect_unused(open);
                (void)open.cluster->recover();
                found.findings = check_offline(open);
            } else {
                found = check_live(open);
            }
            if (options->data)
                found.findings.append(check_data(open));
            return print_findings(found.findings, found.undecided);
        } catch (const std::exception &error) {
            fprintf(stderr, "rpm-fs: %s\n", error.what());
            return 8;
        }
    };
}

} // namespace rfs
