// SPDX-License-Identifier: BSD-3-Clause
// races.h: two clients in one world, of which one acts at a chosen moment of the other's call; and
// rules that no power cut and no death would show.
#ifndef TESTS_CRASH_FS_RACES_H
#define TESTS_CRASH_FS_RACES_H

#include <cstdint>
#include <string>

namespace crash
{

// Each returns what is wrong; "": nothing. @canary: enum dtx::Canary.
using Race = std::string (*)(uint64_t seed, uint32_t canary);

// A file is written as a whole between the reads of its inode and of its map.
std::string read_against_write(uint64_t seed, uint32_t canary);
// A client writes after another one, which needs blocks of its slab, has written.
std::string write_against_write(uint64_t seed, uint32_t canary);
// A lock is wanted that a living client has.
std::string lock_against_lock(uint64_t seed, uint32_t canary);
// A client opens the volume beside the solo client.
std::string open_against_solo(uint64_t seed, uint32_t canary);
// A file is written twice while the clock stands.
std::string write_in_one_tick(uint64_t seed, uint32_t canary);
// A pointer leads to a whole block of another file.
std::string pointer_astray(uint64_t seed, uint32_t canary);
// A directory is to move below itself.
std::string move_below_itself(uint64_t seed, uint32_t canary);

} // namespace crash
#endif
