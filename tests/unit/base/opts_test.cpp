// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/err.h"
#include "base/opts.h"
}
#include "support/catch.h"

#include <cstdint>
#include <cstring>
#include <memory>

struct Old {
    size_t size;
    uint64_t a;
};

struct Ours {
    size_t size;
    uint64_t a;
    uint64_t b;
};

struct Newer {
    size_t size;
    uint64_t a;
    uint64_t b;
    uint64_t c;
};

TEST_CASE("opts: a caller of the same age is copied whole", "[unit]")
{
    Ours theirs = { sizeof(Ours), 1, 2 };
    Ours ours = { 0, 9, 9 };

    REQUIRE(rpmi_opts_in(&ours, sizeof(ours), &theirs) == 0);
    REQUIRE(ours.size == sizeof(Ours));
    REQUIRE(ours.a == 1);
    REQUIRE(ours.b == 2);
}

TEST_CASE("opts: without a struct the defaults stay", "[unit]")
{
    Ours ours = { sizeof(Ours), 9, 9 };

    REQUIRE(rpmi_opts_in(&ours, sizeof(ours), nullptr) == 0);
    REQUIRE(ours.size == sizeof(Ours));
    REQUIRE(ours.a == 9);
    REQUIRE(ours.b == 9);
}

TEST_CASE("opts: fields that an older caller lacks become zero", "[unit]")
{
    Old theirs = { sizeof(Old), 7 };
    Ours ours = { 0, 9, 9 };

    REQUIRE(rpmi_opts_in(&ours, sizeof(ours), &theirs) == 0);
    REQUIRE(ours.size == sizeof(Ours));
    REQUIRE(ours.a == 7);
    REQUIRE(ours.b == 0);
}

TEST_CASE("opts: a newer caller is served unless it sets what we do not know", "[unit]")
{
    Newer theirs = { sizeof(Newer), 1, 2, 0 };
    Ours ours = { 0, 9, 9 };

    REQUIRE(rpmi_opts_in(&ours, sizeof(ours), &theirs) == 0);
    REQUIRE(ours.b == 2);
    ours.a = 5;
    for (unsigned bit = 0; bit < 64; bit += 8) { // every byte counts, the first and the last too
        theirs.c = 1ull << bit;
        CAPTURE(bit);
        REQUIRE(rpmi_opts_in(&ours, sizeof(ours), &theirs) == RPM_E_OPTS);
        REQUIRE(ours.a == 5);
    }
}

TEST_CASE("opts: an impossible size is refused", "[unit]")
{
    size_t size = GENERATE(size_t(0), size_t(7), size_t(4097), SIZE_MAX);
    Ours theirs = { size, 1, 2 };
    Ours ours = { 0, 9, 9 };

    REQUIRE(rpmi_opts_in(&ours, sizeof(ours), &theirs) == RPM_E_INVAL);
    REQUIRE(rpmi_opts_out(&theirs, &ours, sizeof(ours)) == RPM_E_INVAL);
    REQUIRE(ours.a == 9);
    REQUIRE(theirs.a == 1);
}

TEST_CASE("opts: no byte beyond the caller's size is read", "[unit]")
{
    // A heap block of exactly this size: a sanitizer detects a read beyond it.
    std::unique_ptr<unsigned char[]> theirs(new unsigned char[sizeof(size_t)]);
    size_t size = sizeof(size_t);
    Ours ours = { 0, 9, 9 };

    memcpy(theirs.get(), &size, sizeof(size));
    REQUIRE(rpmi_opts_in(&ours, sizeof(ours), theirs.get()) == 0);
    REQUIRE(ours.a == 0);
    REQUIRE(rpmi_opts_out(theirs.get(), &ours, sizeof(ours)) == 0);
}

TEST_CASE("opts: filling an older caller's struct stops at its end", "[unit]")
{
    struct {
        Old old;
        uint64_t beyond;
    } theirs = { { sizeof(Old), 0 }, 42 };
    Ours ours = { sizeof(Ours), 1, 2 };

    REQUIRE(rpmi_opts_out(&theirs, &ours, sizeof(ours)) == 0);
    REQUIRE(theirs.old.size == sizeof(Old));
    REQUIRE(theirs.old.a == 1);
    REQUIRE(theirs.beyond == 42);
}

TEST_CASE("opts: filling a newer caller's struct zeroes what we do not know", "[unit]")
{
    Newer theirs = { sizeof(Newer), 9, 9, 9 };
    Ours ours = { sizeof(Ours), 1, 2 };

    REQUIRE(rpmi_opts_out(&theirs, &ours, sizeof(ours)) == 0);
    REQUIRE(theirs.size == sizeof(Newer));
    REQUIRE(theirs.a == 1);
    REQUIRE(theirs.b == 2);
    REQUIRE(theirs.c == 0);
}
