// SPDX-License-Identifier: BSD-3-Clause
// aftermath.h: a client goes on after others have died: it takes over what they had, uses all of
// the volume, and closes it. Then nothing is left of any client, and the volume is whole.
#ifndef TESTS_CRASH_FS_AFTERMATH_H
#define TESTS_CRASH_FS_AFTERMATH_H

#include "crash/fs/world.h"

#include <cstdint>
#include <string>

namespace crash
{

// What a client does once in a while: until all who died are taken off.
void take_turns(rfs::Client &client);

// It closes the file that it may have open, and the volume.
void leave(rfs::Client &client, uint32_t kept);

// Returns a line for each fault, as Scene::run().
std::string aftermath(Machine &machine, uint32_t kept);

} // namespace crash
#endif
