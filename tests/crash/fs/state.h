// SPDX-License-Identifier: BSD-3-Clause
// state.h: what a client sees of a volume, and what is wrong with it, as text.
#ifndef TESTS_CRASH_FS_STATE_H
#define TESTS_CRASH_FS_STATE_H

#include "core/client/client.h"

#include <cstdint>
#include <string>
#include <vector>

namespace crash
{

// All names with their types, links, sizes, blocks, contents and attributes; no times and numbers.
std::string tree(rfs::Client &client);

// The paths of all regular files.
std::vector<std::string> files(rfs::Client &client);

// All locks of the files.
std::string locks(rfs::Client &client);

// What is wrong with a volume that no client uses, on both copies and with the database below it; a
// line for each fault.
std::string faults_of(const rfs::OpenVolume &open);

// What clients have left in a volume that none has open: orphans, locks, themselves. "": nothing.
std::string remains_in(const rfs::OpenVolume &open);

// Blocks in use, by the bits of all slabs.
uint64_t used_blocks(const rfs::OpenVolume &open);

} // namespace crash
#endif
