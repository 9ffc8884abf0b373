// SPDX-License-Identifier: BSD-3-Clause
// Heartbeats of other clients that stand still.
#include "core/client/seen_beats.h"

#include "support/catch.h"

using rfs::SeenBeats;

static constexpr uint64_t kStart = 123456789;
static constexpr uint64_t kSecond = 1000000000;

TEST_CASE("fs: a heartbeat that stands still for ten seconds is seen", "[unit]")
{
    SeenBeats beats;

    for (uint64_t s = 0; s < 10; s++) {
        CHECK_FALSE(beats.has_stood_still(3, 7, kStart + s * kSecond));
        CHECK_FALSE(beats.has_stood_still(4, 1 + s, kStart + s * kSecond)); // beats
        CHECK_FALSE(beats.has_stood_still(5, 0, kStart + s * kSecond));     // has none
    }
    CHECK(beats.has_stood_still(3, 7, kStart + 10 * kSecond));
    CHECK_FALSE(beats.has_stood_still(4, 10, kStart + 10 * kSecond));
    CHECK_FALSE(beats.has_stood_still(5, 0, kStart + 100 * kSecond));
    CHECK_FALSE(beats.has_stood_still(3, 8, kStart + 11 * kSecond)); // it goes on
    CHECK_FALSE(beats.has_stood_still(3, 8, kStart + 12 * kSecond));
}

TEST_CASE("fs: a client that was stopped itself does not count that time", "[unit]")
{
    SeenBeats beats;

    CHECK_FALSE(beats.has_stood_still(3, 7, kStart));
    CHECK_FALSE(beats.has_stood_still(3, 7, kStart + 3600 * kSecond));
    CHECK_FALSE(beats.has_stood_still(3, 7, kStart + 3601 * kSecond));
    CHECK(beats.has_stood_still(3, 7, kStart + 3605 * kSecond));
}
