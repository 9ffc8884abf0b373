// SPDX-License-Identifier: BSD-3-Clause
// child.h: runs a function in a copy of this process. So many runs begin with the same world, which
// is made once.
#ifndef TESTS_CRASH_FS_CHILD_H
#define TESTS_CRASH_FS_CHILD_H

#include <functional>
#include <string>

namespace crash
{

// Returns what @act returned there; or that it has not ended, or how, as a fault.
std::string in_child(const std::function<std::string()> &act);

} // namespace crash
#endif
