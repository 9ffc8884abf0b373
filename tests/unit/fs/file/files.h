// SPDX-License-Identifier: BSD-3-Clause
// files.h: contents of files in tests: written, read back, counted.
#ifndef TESTS_UNIT_FS_FILE_FILES_H
#define TESTS_UNIT_FS_FILE_FILES_H

#include "core/check/check.h"
#include "core/client/files.h"
#include "core/file/contents.h"
#include "core/file/resize.h"
#include "core/file/slabs.h"
#include "core/tree/remove.h"
#include "unit/fs/volume.h"

#include <cstring>
#include <string>

inline rfs::Node write_at(TestVolume &volume, uint32_t ino, uint64_t offset,
                          const std::string &bytes, bool append = false)
{
    return volume.client->finish(rfs::write_file(*volume.client, volume.root, ino,
                                                 { offset, bytes.data(), bytes.size(), append }));
}

inline std::string read_at(TestVolume &volume, uint32_t ino, uint64_t offset, size_t size)
{
    std::string bytes(size, '?');
    size_t got = volume.as_root(
        [&](rfs::Call &call) { return rfs::read(call, ino, offset, bytes.data(), size); });

    bytes.resize(got);
    return bytes;
}

inline rfs::Node resize_to(TestVolume &volume, uint32_t ino, uint64_t size)
{
    return volume.client->finish(rfs::resize_file(*volume.client, volume.root, ino, size));
}

// Text in which each block, and each place in it, differs from others.
inline std::string text_of(size_t bytes, uint32_t seed)
{
    std::string text;

    while (text.size() < bytes)
        text += std::to_string(seed) + ":" + std::to_string(text.size()) + " ";
    text.resize(bytes);
    return text;
}

// Blocks of the volume that are in use, by the bits of all slabs.
inline uint64_t used_blocks(const rfs::OpenVolume &open)
{
    uint64_t used = 0;

    open.cluster->each_row(open.volume.tables.slabs.number, 0,
                           [&](uint64_t, const void *row, size_t) {
                               rfs::SlabRow slab;

                               std::memcpy(&slab, row, sizeof(slab));
                               used += rfs::kSlabBlocks - rfs::free_in(slab);
                           });
    return used;
}

// What is wrong with a volume, with its blocks on all copies, and with the database below it; "":
// nothing. Ends the volume's client.
inline std::string faults_of_blocks(TestVolume &volume)
{
    std::string text = faults_below(volume);

    for (const dtx::Findings &found :
         { rfs::check_tables(*volume.open), rfs::check_data(*volume.open) })
        for (const std::string &what : found.texts())
            text += what + "\n";
    return text;
}

#endif
