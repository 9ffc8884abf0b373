// SPDX-License-Identifier: BSD-3-Clause
// damages.h: each kind of damage that the check finds, done to a volume with a file of each kind.
#ifndef TESTS_UNIT_FS_CHECK_DAMAGES_H
#define TESTS_UNIT_FS_CHECK_DAMAGES_H

#include "unit/fs/check/filled.h"

#include <functional>
#include <string>
#include <vector>

struct Damage {
    std::string rule; // that finds it
    std::string what;
    std::function<dtx::Task<>(Filled &, rfs::Call &)> make;
};

std::vector<Damage> all_damage();

#endif
