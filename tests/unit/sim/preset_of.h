// SPDX-License-Identifier: BSD-3-Clause
// preset_of.h: a preset by its name, or an exception with its error.
#ifndef TESTS_UNIT_SIM_PRESET_OF_H
#define TESTS_UNIT_SIM_PRESET_OF_H

extern "C" {
#include "base/err.h"
#include "sim/preset/preset.h"
}

#include <stdexcept>

inline rpmi_preset preset_of(const char *spec)
{
    rpmi_preset preset;

    if (rpmi_preset_read(spec, &preset) != 0)
        throw std::runtime_error(rpm_last_error());
    return preset;
}

#endif
