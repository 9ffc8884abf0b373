// SPDX-License-Identifier: BSD-3-Clause
// hints_fuzz.cpp: hint switches from a command line. Accepted switches, printed as text, parse to
// the same switches.
#include "fuzz.h"

#include <librpm/plan.h>
#include <string>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string text(reinterpret_cast<const char *>(data), size);
    std::string again = "none";
    uint32_t hints = 0x80000000u;
    uint32_t same = 0;
    int err = rpm_hints_parse(text.c_str(), &hints);

    FUZZ_CHECK(err == 0 || err == RPM_E_INVAL);
    FUZZ_CHECK(err == 0 || hints == 0x80000000u);
    if (err != 0)
        return 0;
    FUZZ_CHECK((hints & ~RPM_HINTS_ALL) == 0);
    for (unsigned k = 1; k <= 9; k++)
        if ((hints & RPM_HINT(k)) != 0)
            again += ",+H" + std::to_string(k);
    FUZZ_CHECK(rpm_hints_parse(again.c_str(), &same) == 0);
    FUZZ_CHECK(same == hints);
    return 0;
}
