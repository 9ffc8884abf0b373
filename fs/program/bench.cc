/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.cc: rpm-fs bench.
 *
 * Tests: tests/tools/fs_test
 */
#include "bench/options.h"
#include "program/bench_rows.h"
#include "program/command.h"

#include "cli.h"

#include <mutex>

namespace rfs
{

Body add_bench(CLI::App &app)
{
    struct Options {
        PlaceOptions place;
        std::string name;
        std::string only;
        bench::VolumeOptions volume;
    };
    auto options = std::make_shared<Options>();

    app.add_option("NAME", options->name, "of the volume")->required();
    app.add_option("--only", options->only,
                   "measure contents: reading and writing; or names: create, stat, rename, unlink")
        ->check(CLI::IsMember({ "contents", "names" }));
    app.add_flag("--one-directory", options->volume.one_directory,
                 "all threads make their names in the same directory");
    cli::size_option(&app, "--file-bytes", options->volume.file_bytes,
                     "size of the file that each thread writes and reads (64M)");
    bench::add_load(app, options->volume.load);
    add_place(app, options->place);
    return [options] {
        if (options->volume.file_bytes < bench::kFileLeast)
            throw cli::Failure("--file-bytes: at least 1M");
        options->volume.contents = options->only != "names";
        options->volume.names = options->only != "contents";
        bench::measure_volume(options->volume, [&] {
            /* Several threads open clients. */
            static std::mutex mutex;
            std::lock_guard<std::mutex> lock(mutex);

            return open_client(options->place, options->name).release();
        });
        return static_cast<int>(cli::kDone);
    };
}

} // namespace rfs
