// SPDX-License-Identifier: BSD-3-Clause
// contents_scripts.cpp: calls on the contents of files.
#include "crash/fs/acts.h"
#include "crash/fs/scripts.h"

#include <fcntl.h>

namespace crash
{

static constexpr uint64_t kMiB = 1 << 20;
static constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

// A file /f of 20 blocks: 8 of them in the inode, the others in a row of the table maps.
static void twenty_blocks(Cast &cast)
{
    make_file(cast.first, "/f");
    write_to(cast.first, "/f", 0, 20 * 4096);
}

// A file whose blocks are in 70 rows of maps, more than one step frees.
static void many_rows(Cast &cast)
{
    make_file(cast.first, "/f");
    for (uint64_t row = 1; row <= 70; row++)
        write_to(cast.first, "/f", row * 32 * 4096, 100);
}

std::vector<Script> contents_scripts()
{
    return {
        { "write",
          [](Cast &c) { make_file(c.first, "/f"); },
          { { [](Cast &c) { write_to(c.first, "/f", 0, 5000); } },
            { [](Cast &c) { write_to(c.first, "/f", 8192, 4096); } } } },
        { "write over a hole",
          [](Cast &c) {
              make_file(c.first, "/f");
              write_to(c.first, "/f", 60000, 10);
          },
          { { [](Cast &c) { write_to(c.first, "/f", 20000, 30000); } },
            { [](Cast &c) { write_to(c.first, "/f", 100, 50); } } } },
        { "overwrite",
          twenty_blocks,
          { { [](Cast &c) { write_to(c.first, "/f", 2 * 4096, 2 * 4096); } },
            { [](Cast &c) { write_to(c.first, "/f", 6 * 4096, 4 * 4096); } } } },
        { "overwrite parts of blocks",
          twenty_blocks,
          { { [](Cast &c) { write_to(c.first, "/f", 100, 50); } },
            { [](Cast &c) { write_to(c.first, "/f", 9 * 4096 + 100, 4096); } } } },
        { "append",
          [](Cast &c) {
              make_file(c.first, "/f");
              write_to(c.first, "/f", 0, 7 * 4096 + 100);
          },
          { { [](Cast &c) { write_to(c.first, "/f", kAppend, 3000); } },
            { [](Cast &c) { write_to(c.first, "/f", kAppend, 6000); } } } },
        { "truncate in the middle of a block",
          twenty_blocks,
          { { [](Cast &c) { cut_to(c.first, "/f", 10 * 4096 + 1000); } },
            { [](Cast &c) { cut_to(c.first, "/f", 100); } } } },
        { "truncate and grow",
          twenty_blocks,
          { { [](Cast &c) { cut_to(c.first, "/f", 0); } },
            { [](Cast &c) { cut_to(c.first, "/f", 50000); } },
            { [](Cast &c) { write_to(c.first, "/f", 40000, 100); } } } },
        { "punch a hole",
          twenty_blocks,
          { { [](Cast &c) { allocate(c.first, "/f", kPunch, 5000, 40000); } },
            { [](Cast &c) { allocate(c.first, "/f", kPunch, 0, 4096); } } } },
        { "zero a range", twenty_blocks, { { [](Cast &c) {
              allocate(c.first, "/f", FALLOC_FL_ZERO_RANGE, 5000, 40000);
          } } } },
        { "allocate",
          [](Cast &c) {
              make_file(c.first, "/f");
              write_to(c.first, "/f", 4096, 4096);
          },
          { { [](Cast &c) { allocate(c.first, "/f", 0, 0, 50000); } },
            { [](Cast &c) { write_to(c.first, "/f", 20000, 5000); } },
            { [](Cast &c) { allocate(c.first, "/f", FALLOC_FL_KEEP_SIZE, 60000, 100); } } } },
        { "allocate in steps",
          [](Cast &c) { make_file(c.first, "/f"); },
          { { [](Cast &c) { allocate(c.first, "/f", 0, 0, 2 * kMiB + 4096); },
              { [](Cast &c) { allocate(c.first, "/f", 0, 0, kMiB); },
                [](Cast &c) { allocate(c.first, "/f", 0, 0, 2 * kMiB); } } } } },
        { "truncate in steps",
          many_rows,
          { { [](Cast &c) { cut_to(c.first, "/f", 0); } },
            { [](Cast &c) { write_to(c.first, "/f", 5 * 32 * 4096, 100); } } } },
        { "remove in steps", many_rows, { { [](Cast &c) { remove(c.first, "/f"); } } }, true },
    };
}

} // namespace crash
