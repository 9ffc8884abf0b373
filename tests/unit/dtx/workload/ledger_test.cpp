// SPDX-License-Identifier: BSD-3-Clause
// ledger_test.cpp: totals change by all committed changes and by some of the unknown ones.
#include "support/catch.h"
#include "workload/ledger.h"

using namespace dtx;

TEST_CASE("ledger: only committed changes count")
{
    Ledger ledger;

    CHECK(ledger.explains({}) == Verdict::right);
    ledger.add(Status::committed, { 5, 1 });
    ledger.add(Status::committed, { static_cast<uint64_t>(-2), 1 });
    ledger.add(Status::aborted, { 100, 100 });
    CHECK(ledger.explains({ 3, 2 }) == Verdict::right);
    CHECK(ledger.explains({ 3, 1 }) == Verdict::wrong);
    CHECK(ledger.explains({ 103, 102 }) == Verdict::wrong);
    CHECK(ledger.explains({}) == Verdict::wrong);
}

TEST_CASE("ledger: each unknown change counts as a whole or not at all")
{
    Ledger ledger;

    ledger.add(Status::committed, { 10 });
    ledger.add(Status::unknown, { 3, 1 });
    ledger.add(Status::unknown, { 4, 1 });
    ledger.add(Status::unknown, {});
    CHECK(ledger.unknown().size() == 2);
    CHECK(ledger.explains({ 10, 0 }) == Verdict::right);
    CHECK(ledger.explains({ 13, 1 }) == Verdict::right);
    CHECK(ledger.explains({ 14, 1 }) == Verdict::right);
    CHECK(ledger.explains({ 17, 2 }) == Verdict::right);
    CHECK(ledger.explains({ 13, 0 }) == Verdict::wrong);
    CHECK(ledger.explains({ 17, 1 }) == Verdict::wrong);
    CHECK(ledger.explains({ 20, 2 }) == Verdict::wrong);
    CHECK(ledger.explains({ 3, 1 }) == Verdict::wrong);
}

TEST_CASE("ledger: ledgers of several threads are merged")
{
    Ledger ledger;
    Ledger other;

    ledger.add(Status::committed, { 1 });
    other.add(Status::committed, { 2 });
    other.add(Status::unknown, { 7 });
    ledger.merge(other);
    CHECK(ledger.explains({ 3 }) == Verdict::right);
    CHECK(ledger.explains({ 10 }) == Verdict::right);
    CHECK(ledger.explains({ 1 }) == Verdict::wrong);
}

TEST_CASE("ledger: too many unknown changes are reported")
{
    Ledger ledger;

    for (uint64_t i = 0; i < 40; i++)
        ledger.add(Status::unknown, { uint64_t{ 1 } << i });
    CHECK(ledger.explains({ 1ull << 60 }) == Verdict::too_many_unknown);
    CHECK(ledger.explains({ 3 }) == Verdict::right);
}
