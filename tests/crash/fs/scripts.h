// SPDX-License-Identifier: BSD-3-Clause
// scripts.h: short programs of calls, whose every event a power cut or a death hits once.
#ifndef TESTS_CRASH_FS_SCRIPTS_H
#define TESTS_CRASH_FS_SCRIPTS_H

#include "core/client/client.h"

#include <cstdint>
#include <string>
#include <vector>

namespace crash
{

// The clients of a script. The first one makes the calls, and is the one that dies.
struct Cast {
    rfs::Client &first;
    rfs::Client *second; // has the volume open too, in scripts that are not `alone`
    uint32_t kept = 0;   // the number of a file that a client has open
};

using Act = void (*)(Cast &cast);

struct Step {
    Act act;
    // A call of several transactions may also leave what one of these does instead.
    std::vector<Act> between = {};
};

struct Script {
    const char *name;
    Act prepare;
    std::vector<Step> steps;
    bool alone = false; // the first client alone has the volume open
};

// All of them: of contents, of names, and of what clients keep in a volume.
const std::vector<Script> &scripts();

std::vector<Script> contents_scripts();
std::vector<Script> names_scripts();
std::vector<Script> clients_scripts();

} // namespace crash
#endif
