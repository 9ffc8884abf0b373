/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_rows.h: the rows of rpm-fs bench: files of a volume, by librpmfs.
 *
 * Tests: tests/tools/fs_test
 */
#ifndef FS_PROGRAM_BENCH_ROWS_H
#define FS_PROGRAM_BENCH_ROWS_H

#include "bench/load.h"

#include <librpmfs.h>

namespace rfs::bench
{

inline constexpr uint64_t kFileLeast = 1 << 20;

struct VolumeOptions {
    LoadOptions load;
    bool contents = true;           /* the rows of reading and writing */
    bool names = true;              /* the rows of create, stat, rename and unlink */
    bool one_directory = false;     /* all threads make names in the same one */
    uint64_t file_bytes = 64 << 20; /* of the file that each thread writes and reads; at
                                       least kFileLeast */
};

/* Opens a client. Throws cli::Failure. */
using OpenClient = std::function<rfs_client *()>;

/* Measures all rows in a new directory of the volume's root, which it removes again. Throws
 * cli::Failure. */
void measure_volume(const VolumeOptions &options, const OpenClient &open);

} // namespace rfs::bench
#endif
