// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "pmem/boot.h"
}
#include "support/catch.h"
#include "support/dir.h"

#include <fstream>

TEST_CASE("boot: the machine's boot id is known, and stays", "[unit]")
{
    uint64_t id = rpmi_boot_id(RPMI_BOOT_ID_PATH);

    CHECK(id != 0);
    CHECK(rpmi_boot_id(RPMI_BOOT_ID_PATH) == id);
}

TEST_CASE("boot: only a whole UUID is an id", "[unit]")
{
    support::Dir dir;
    struct {
        const char *text;
        uint64_t id;
    } const CASES[] = { { "01234567-89ab-cdef-0011-223344556677\n", 0x0123456789abcdefull },
                        { "ffffffff-ffff-ffff-0000-000000000000", UINT64_MAX },
                        { "01234567-89ab-cdef-0011-22334455667\n", 0 },
                        { "01234567-89ab-cdef-0011-2233445566778\n", 0 },
                        { "0123456x-89ab-cdef-0011-223344556677\n", 0 },
                        { "", 0 } };

    for (const auto &test : CASES) {
        std::ofstream(dir / "id") << test.text;
        CAPTURE(test.text);
        CHECK(rpmi_boot_id((dir / "id").c_str()) == test.id);
    }
    CHECK(rpmi_boot_id((dir / "none").c_str()) == 0);
}
