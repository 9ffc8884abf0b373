// SPDX-License-Identifier: BSD-3-Clause
// age.cpp: tables do not fill up with what is removed. Makes directories with 20 files each and
// removes all but one of them, in tables for twice the files and directories that stay.
//
//   fs_age [--files N] [--seed N]
//
// N files are made. The last line is "age: no table full". Exit code 0: so, and the volume is
// whole; 1: otherwise; 2: wrong usage.
#include "lone_volume.h"

#include "core/check/check.h"
#include "core/client/mount.h"
#include "core/tree/remove.h"
#include <dtx/scheduler.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace
{

constexpr uint64_t kInDirectory = 20;

struct Options {
    uint64_t files = 1000000;
    uint64_t seed = 1;
};

bool parse(int argc, char **argv, Options &options)
{
    bool good = argc % 2 == 1;

    for (int i = 1; good && i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--files") == 0)
            good = number_option(argv[i + 1], kInDirectory, options.files);
        else if (strcmp(argv[i], "--seed") == 0)
            good = number_option(argv[i + 1], 0, options.seed);
        else
            good = false;
    }
    return good;
}

void remove_file(LoneVolume &volume, uint32_t directory, const std::string &name)
{
    rfs::Node node = volume.client->call_now(
        rfs::kSelf, [&](rfs::Call &call) { return rfs::remove_file(call, directory, name); });

    volume.client->finish(rfs::free_file(*volume.client, node.ino));
}

// Makes the files of a directory, and removes all but one of them in another order.
void use_directory(LoneVolume &volume, uint64_t number, dtx::SplitMix64 &chance)
{
    uint32_t directory = volume.make(rfs::kRootIno, S_IFDIR | 0755, "d" + std::to_string(number));
    std::vector<std::string> names;

    for (uint64_t i = 0; i < kInDirectory; i++) {
        names.push_back("file-" + std::to_string(chance.next()));
        (void)volume.make(directory, S_IFREG | 0644, names.back());
    }
    for (uint64_t i = kInDirectory; i > 1; i--)
        std::swap(names[i - 1], names[chance.below(i)]);
    for (uint64_t i = 1; i < kInDirectory; i++)
        remove_file(volume, directory, names[i]);
}

} // namespace

int main(int argc, char **argv)
{
    Options options;

    if (!parse(argc, argv, options)) {
        fprintf(stderr, "usage: fs_age [--files N] [--seed N]\n");
        return 2;
    }

    uint64_t directories = options.files / kInDirectory;
    dtx::SplitMix64 chance(options.seed);
    LoneVolume volume({ 4 * directories + 64, 2 });
    uint64_t made = 0;

    volume.client->finish(rfs::mount(*volume.client));
    try {
        for (; made < directories; made++)
            use_directory(volume, made, chance);
    } catch (const rfs::Failure &failure) {
        printf("wrong: error %d after %" PRIu64 " directories of %" PRIu64 "\n", failure.error,
               made, directories);
        return 1;
    }
    volume.client->finish(rfs::unmount(*volume.client));
    volume.client.reset();

    std::string faults;

    for (const std::string &text : rfs::check_tables(*volume.open).texts())
        faults += text + "\n";
    printf("%s%" PRIu64 " files made, %" PRIu64 " left, in tables for %" PRIu64 "\nage: %s\n",
           faults.c_str(), options.files, 2 * directories, 4 * directories + 64,
           faults.empty() ? "no table full" : "the volume is damaged");
    return faults.empty() ? 0 : 1;
}
