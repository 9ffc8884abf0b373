// SPDX-License-Identifier: BSD-3-Clause
#include "engine/txn/lease.h"

#include "support/catch.h"

using dtx::Lease;
using Verdict = dtx::Lease::Verdict;

namespace
{

constexpr uint64_t kMs = 1000000;

// Has a conflict with a lock every @step. Returns the time until @verdict; 0: not before @end.
uint64_t until(Lease &lease, Verdict verdict, uint64_t begin, uint64_t step, uint64_t end)
{
    for (uint64_t now = begin; now < end; now += step)
        if (lease.met(1, now) == verdict)
            return now - begin;
    return 0;
}

} // namespace

TEST_CASE("dtx: a lease asks for the owner's connection soon, then less and less often", "[unit]")
{
    Lease lease(1000 * kMs);
    int asked = 0;

    CHECK(lease.met(1, kMs) == Verdict::fresh);
    for (uint64_t now = 2 * kMs; now <= 1000 * kMs; now += kMs) {
        Verdict verdict = lease.met(1, now);

        REQUIRE(verdict != Verdict::over);
        CHECK((verdict != Verdict::ask || now - kMs == Lease::kAskFirstNs << asked));
        asked += verdict == Verdict::ask ? 1 : 0;
    }
    CHECK(asked == 7);
    CHECK(lease.met(1, 1001 * kMs) == Verdict::over);
    CHECK(lease.met(1, 1002 * kMs) == Verdict::held);
}

TEST_CASE("dtx: a lease hardly counts time in which the session does not look", "[unit]")
{
    Lease quick(160 * kMs);
    Lease slow(160 * kMs);

    CHECK(until(quick, Verdict::over, kMs, kMs, 1000 * kMs) == 160 * kMs);
    CHECK(until(slow, Verdict::over, kMs, 100 * kMs, 10000 * kMs) == 1600 * kMs);
}

TEST_CASE("dtx: a lease counts two alternating locks separately", "[unit]")
{
    Lease lease(100 * kMs);
    bool over[2] = { false, false };

    for (uint64_t now = kMs; now < 103 * kMs; now += kMs)
        for (uint64_t word : { 0, 1 })
            over[word] = over[word] || lease.met(7 + word, now) == Verdict::over;
    CHECK(over[0]);
    CHECK(over[1]);
}

TEST_CASE("dtx: a lease forgets locks that were met once", "[unit]")
{
    Lease lease(100 * kMs);

    for (uint64_t word = 1; word < 100000; word++)
        REQUIRE(lease.met(word, word * 1000) == Verdict::fresh);
    CHECK(lease.met(99999, 100000 * 1000) == Verdict::held);
    CHECK(lease.met(1, 100000 * 1000) == Verdict::fresh);
}

TEST_CASE("dtx: a lock is held for long from the first question for its owner on", "[unit]")
{
    Lease lease(100 * kMs);
    bool asked = false;

    CHECK_FALSE(lease.is_long(1));
    for (uint64_t now = kMs; now <= 200 * kMs; now += kMs) {
        asked = lease.met(1, now) == Verdict::ask || asked;
        CHECK(lease.is_long(1) == asked); // after the lease, too
    }
    CHECK(asked);
    CHECK_FALSE(lease.is_long(2));
}

TEST_CASE("dtx: a lock whose lease is shorter than the time to ask is held for long after it",
          "[unit]")
{
    Lease lease(Lease::kAskFirstNs / 2);

    for (uint64_t now = kMs; !lease.is_long(1); now += kMs / 10) {
        REQUIRE(now < 100 * kMs);

        bool is_over = lease.met(1, now) == Verdict::over;

        CHECK(is_over == lease.is_long(1));
    }
}
