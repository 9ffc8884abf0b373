// SPDX-License-Identifier: BSD-3-Clause
// hints_canary.cpp: linked into rpm-hints, lets it run the performance model without one of its
// rules: LIBRPM_CANARY names it (lib/base/canary.h). LIBRPM_CANARY=list prints all rules and ends.
extern "C" {
#include "base/canary.h"
}

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{

struct Canary {
    rpmi_canary which;
    const char *name;
    const char *without;
};

#define CANARY(name, without) { RPMI_CANARY_MODEL_##name, #name, without },
constexpr Canary kCanaries[] = { RPMI_MODEL_CANARIES(CANARY) };

rpmi_canary chosen()
{
    const char *name = std::getenv("LIBRPM_CANARY");

    if (name == nullptr)
        return RPMI_CANARY_NONE;
    for (const Canary &canary : kCanaries) {
        if (std::strcmp(name, canary.name) == 0)
            return canary.which;
        if (std::strcmp(name, "list") == 0)
            std::printf("%s\t%s\n", canary.name, canary.without);
    }
    if (std::strcmp(name, "list") == 0)
        std::exit(0);
    std::fprintf(stderr, "LIBRPM_CANARY=%s: no rule has this name; see LIBRPM_CANARY=list\n", name);
    std::exit(2);
}

const rpmi_canary kChosen = rpmi_canary_now = chosen(); // before main()

} // namespace
