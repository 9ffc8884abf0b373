// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

extern "C" {
#include "set/choose.h"
}
#include <librpm/error.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace
{

// A sound member.
rpmi_found member(const char *name, uint32_t sealed, uint64_t base, uint64_t end,
                  uint64_t commit = 0)
{
    return { name, nullptr, sealed, base, end, commit };
}

rpmi_found absent(const char *name)
{
    return { name, "its server does not answer", 0, 0, 0, 0 };
}

struct Chosen {
    int err;
    uint32_t best;
    uint64_t tail;
};

Chosen choose(const std::vector<rpmi_found> &found, uint32_t acks, uint32_t installed = 0)
{
    rpmi_chosen chosen = {};
    int err =
        rpmi_choose(found.data(), static_cast<uint32_t>(found.size()), acks, installed, &chosen);

    return { err, chosen.best, chosen.tail_lsn };
}

bool error_says(const char *part)
{
    return std::string(rpm_last_error()).find(part) != std::string::npos;
}

} // namespace

TEST_CASE("choose: the highest epoch is best, and of it the longest log", "[unit]")
{
    std::vector<rpmi_found> found = { member("a", 3, 640, 6400), member("b", 4, 640, 704),
                                      member("c", 4, 640, 768) };

    std::sort(found.begin(), found.end(), [](const rpmi_found &one, const rpmi_found &other) {
        return *one.name < *other.name;
    });
    do {
        Chosen chosen = choose(found, 2);

        REQUIRE(chosen.err == 0);
        CHECK(found[chosen.best].name == std::string("c"));
        CHECK(chosen.tail == 768);
    } while (std::next_permutation(
        found.begin(), found.end(),
        [](const rpmi_found &one, const rpmi_found &other) { return *one.name < *other.name; }));
}

TEST_CASE("choose: n - acks + 1 members are needed, and the others are named", "[unit]")
{
    rpmi_found here = member("a", 1, 0, 64);

    for (uint32_t n = 1; n <= 5; n++)
        for (uint32_t acks = 1; acks <= n; acks++)
            for (uint32_t away = 0; away <= n; away++) {
                std::vector<rpmi_found> found(n, here);

                for (uint32_t i = 0; i < away; i++)
                    found[i] = absent("tcp://b:1");
                CAPTURE(n, acks, away);
                CHECK(choose(found, acks).err == (n - away >= n - acks + 1 ? 0 : RPM_E_QUORUM));
            }
    CHECK(choose({ here, absent("tcp://b:1"), absent("tcp://c:1") }, 2).err == RPM_E_QUORUM);
    CHECK(error_says("1 of 3 members can be used, 2 are needed"));
    CHECK(error_says("tcp://b:1: its server does not answer; tcp://c:1: its server"));
}

TEST_CASE("choose: a log is never shorter than a commit word or the installed epoch says", "[unit]")
{
    rpmi_found lost = absent("c");

    CHECK(choose({ member("a", 2, 0, 640), member("b", 2, 0, 576) }, 2, 2).err == 0);
    CHECK(choose({ member("a", 2, 0, 640), member("b", 2, 0, 576) }, 2, 3).err == RPM_E_CORRUPT);
    CHECK(error_says("the latest epoch on the members is 2, on a, but epoch 3 was installed"));
    // a is longer than b's commit word, but has an earlier epoch.
    CHECK(choose({ member("a", 2, 0, 6400, 704), member("b", 3, 0, 640, 640) }, 2).err ==
          RPM_E_CORRUPT);
    CHECK(
        error_says("on b, ends at LSN 640, but records up to 704 were acknowledged, by the commit "
                   "word on a"));
    // A member that does not count may still know what was acknowledged.
    lost.commit_lsn = 704;
    CHECK(choose({ member("a", 3, 0, 704), member("b", 3, 0, 640), lost }, 2).err == 0);
    CHECK(choose({ member("a", 3, 0, 640), member("b", 3, 0, 640), lost }, 2).err == RPM_E_CORRUPT);
}

TEST_CASE("choose: a member that ends before its base or commit word lacks records", "[unit]")
{
    rpmi_found whole = member("a", 3, 640, 640, 640);
    rpmi_found torn = member("a", 3, 640, 576);
    rpmi_found shorter = member("a", 3, 640, 704, 768);

    CHECK(rpmi_choose_lacks(&whole) == nullptr);
    CHECK(rpmi_choose_lacks(&torn) != nullptr);
    CHECK(rpmi_choose_lacks(&shorter) != nullptr);
}
