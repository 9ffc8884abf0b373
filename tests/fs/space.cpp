// SPDX-License-Identifier: BSD-3-Clause
// space.cpp: what files take in a volume. Makes small files, 1000 in each directory, and counts the
// slots that each table and its index has written, after a quarter, a half and all of them.
//
//   fs_space [--files N] [--bytes N]
//
// Prints a line for each table: slots and bytes for each file, and the bytes that the volume
// reserves for it. Exit code 0: a file takes one inode and one name, a small one no more than
// fs/README.md says, and rows grow no faster than files; 1: otherwise; 2: wrong usage.
#include "engine/format/roots.h"
#include "lone_volume.h"

#include <dtx/object.h>

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace
{

constexpr uint64_t kInDirectory = 1000;
constexpr double kRowsMax = 460; // bytes for each file, of a volume that is full

struct Options {
    uint64_t files = 100000;
    uint64_t bytes = 1024;
};

// Slots that were written, for each file.
struct Taken {
    std::map<std::string, double> slots;
    std::map<std::string, double> bytes;
    double all = 0;
};

rfs::Sizes sizes_for(const Options &options)
{
    uint64_t blocks = (options.bytes + rfs::kBlockBytes - 1) / rfs::kBlockBytes;

    return { options.files + options.files / kInDirectory + 64,
             options.files * blocks / rfs::kSlabBlocks + 4 };
}

class Space
{
  public:
    explicit Space(const Options &options)
        : options_(options), contents_(options.bytes, 'x'), volume_(sizes_for(options))
    {
    }

    void make_files(uint64_t from, uint64_t to)
    {
        for (uint64_t i = from; i < to; i++) {
            if (i % kInDirectory == 0)
                directory_ = volume_.make(rfs::kRootIno, S_IFDIR | 0755, "d" + std::to_string(i));

            uint32_t ino = volume_.make(directory_, S_IFREG | 0644, "file-" + std::to_string(i));

            if (options_.bytes > 0)
                (void)volume_.client->finish(rfs::write_file(
                    *volume_.client, rfs::kSelf, ino, { 0, contents_.data(), contents_.size() }));
        }
    }

    Taken taken(uint64_t files) const
    {
        Taken taken;
        auto of_all = static_cast<double>(files);

        for (const dtx::TableSpec &spec : volume_.tables.schema.tables()) {
            uint64_t slots = 0;
            uint32_t number = number_of(spec.name);
            uint32_t slot_bytes = volume_.layout.table(number).slot_bytes;

            volume_.open->cluster->each_object(
                number, 0, [&](dtx::Address at, const unsigned char *image, uint32_t) {
                    slots += is_unused(volume_.tables.schema, at, dtx::header_of(image)) ? 0 : 1;
                });
            taken.slots[spec.name] = static_cast<double>(slots) / of_all;
            taken.bytes[spec.name] = static_cast<double>(slots * slot_bytes) / of_all;
            taken.all += taken.bytes[spec.name];
        }
        return taken;
    }

    // For each inode that the volume has room for: bytes of a table.
    double reserved(const std::string &table) const
    {
        const dtx::TableLayout &found = volume_.layout.table(number_of(table));

        return static_cast<double>(found.slots * found.slot_bytes) /
               static_cast<double>(volume_.tables.sizes.inodes);
    }
    double all_reserved() const
    {
        return static_cast<double>(volume_.layout.tables_end()) /
               static_cast<double>(volume_.tables.sizes.inodes);
    }
    double locks() const
    {
        return static_cast<double>(volume_.layout.lock_bytes()) /
               static_cast<double>(volume_.tables.sizes.inodes);
    }

  private:
    uint32_t number_of(const std::string &name) const
    {
        const std::vector<dtx::TableSpec> &all = volume_.tables.schema.tables();
        uint32_t number = 0;

        while (all.at(number).name != name)
            number++;
        return number;
    }

    Options options_;
    std::string contents_;
    LoneVolume volume_;
    uint32_t directory_ = 0;
};

bool parse(int argc, char **argv, Options &options)
{
    bool good = argc % 2 == 1;

    for (int i = 1; good && i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--files") == 0)
            good = number_option(argv[i + 1], 1000, options.files);
        else if (strcmp(argv[i], "--bytes") == 0)
            good =
                number_option(argv[i + 1], 0, options.bytes) && options.bytes <= rfs::kCallBytesMax;
        else
            good = false;
    }
    return good;
}

void print(const Space &space, const Taken &taken)
{
    for (const auto &[table, slots] : taken.slots)
        printf("  %-18s %8.4f slots %8.1f bytes, reserved %8.1f\n", table.c_str(), slots,
               taken.bytes.at(table), space.reserved(table));
}

bool expect(bool holds, const char *what)
{
    if (!holds)
        printf("wrong: %s\n", what);
    return holds;
}

} // namespace

int main(int argc, char **argv)
{
    Options options;

    if (!parse(argc, argv, options)) {
        fprintf(stderr, "usage: fs_space [--files N] [--bytes N]\n");
        return 2;
    }

    Space space(options);
    Taken before;
    Taken taken;
    uint64_t made = 0;
    bool good = true;

    for (uint64_t part : { 4, 2, 1 }) {
        uint64_t files = options.files / part;

        space.make_files(made, files);
        made = files;
        before = taken;
        taken = space.taken(files);
        printf("%" PRIu64 " files: %.1f bytes of rows and indexes a file\n", files, taken.all);
    }
    print(space, taken);
    good = expect(std::abs(taken.slots["inodes"] - 1) < 0.02, "a file has one inode") && good;
    good = expect(std::abs(taken.slots["names"] - 1) < 0.02, "a file has one name") && good;
    if (options.bytes <= rfs::kInodePointers * rfs::kBlockBytes)
        good = expect(taken.all < kRowsMax, "small files take what fs/README.md says") && good;
    good = expect(taken.all < before.all * 1.05, "rows grow no faster than files") && good;
    printf("fs space: %" PRIu64 " files of %" PRIu64 " bytes, %.0f bytes of rows each, %.0f "
           "reserved and %.0f of DRAM for locks\n",
           options.files, options.bytes, taken.all, space.all_reserved(), space.locks());
    return good ? 0 : 1;
}
