// SPDX-License-Identifier: BSD-3-Clause
#include "core/check/seen.h"

#include "support/catch.h"

TEST_CASE("fs: the check finds each file again, whatever numbers files have", "[unit]")
{
    for (uint32_t step : { 1u, 3u, 65536u, 4294967u }) {
        rfs::SeenFiles files;
        uint32_t many = 900;

        for (uint32_t i = many; i > 0; i--) {
            rfs::Seen file;

            file.ino = i * step;
            file.links = i;
            files.add(file);
        }
        files.sort();
        CAPTURE(step);
        for (uint32_t i = 1; i <= many; i++) {
            REQUIRE(files.find(i * step) != nullptr);
            CHECK(files.find(i * step)->links == i);
            CHECK((step == 1 || files.find(i * step + 1) == nullptr));
        }
        CHECK(files.find(0) == nullptr);
        CHECK(files.find(UINT32_MAX) == nullptr);
    }
}

TEST_CASE("fs: the check of a volume without files finds none", "[unit]")
{
    rfs::SeenFiles files;

    files.sort();
    CHECK(files.find(1) == nullptr);
}
