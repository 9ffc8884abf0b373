/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.h: the subcommands of rpm-fs, and the options by which each of them finds its volume.
 *
 * Exit codes: 0 done, 1 failed, 2 wrong usage. check has its own (check.cc).
 *
 * Tests: tests/tools/fs_test
 */
#ifndef FS_PROGRAM_COMMAND_H
#define FS_PROGRAM_COMMAND_H

#include "program/volume_file.h"
#include <dtx/cluster.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <librpmfs.h>
#include <memory>
#include <string>
#include <vector>

namespace rfs
{

/* Where the volume of a command is, as its options say. */
struct PlaceOptions {
    std::vector<std::string> urls;
    std::string conf; /* file; empty: that of the volume's name */
    double patience_s = 0;
};

void add_place(CLI::App &app, PlaceOptions &options);

/* The servers of a volume, for calls of core and of librpmfs. Throws std::runtime_error,
 * cli::Failure. @patience_s: if neither an option nor the file says it. */
dtx::Options servers_of(const PlaceOptions &options, const std::string &volume,
                        double patience_s = 30);

/* The same for a call of librpmfs. @urls, @servers, @volume: borrowed by what is returned. */
rfs_opts library_options(const dtx::Options &servers, const std::string &volume,
                         std::vector<const char *> &urls);

/* A client of the C library. */
struct Unmount {
    void operator()(rfs_client *client) const
    {
        rfs_unmount(&client);
    }
};
using ClientHandle = std::unique_ptr<rfs_client, Unmount>;
ClientHandle open_client(const PlaceOptions &options, const std::string &volume);

struct OpenVolume;
/* Throws dtx::Error, RPM_E_OWNED, if a client that lives has the volume open. */
void expect_unused(const OpenVolume &open);

/* Throws cli::Failure if @result is an error number of librpmfs. @advice: the end of its text. */
int64_t checked(const std::string &what, int64_t result, const std::string &advice = "");

/* Each adds its options and returns what runs it. */
using Body = std::function<int()>;
Body add_make(CLI::App &app);
Body add_mount(CLI::App &app);
Body add_check(CLI::App &app);
Body add_usage(CLI::App &app);
Body add_promote(CLI::App &app);
Body add_restore(CLI::App &app);
Body add_stat(CLI::App &app);
Body add_list(CLI::App &app);
Body add_print(CLI::App &app);
Body add_copy(CLI::App &app);
Body add_bench(CLI::App &app);

} // namespace rfs
#endif
