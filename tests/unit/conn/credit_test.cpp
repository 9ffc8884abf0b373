// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "conn/credit.h"
}
#include "support/catch.h"

TEST_CASE("credit: a take is whole or nothing", "[unit]")
{
    rpmi_credit credit;

    rpmi_credit_open(&credit, 4);
    CHECK(rpmi_credit_take(&credit, 3));
    CHECK_FALSE(rpmi_credit_take(&credit, 2));
    CHECK(credit.used == 3);
    CHECK(rpmi_credit_take(&credit, 1));
    CHECK_FALSE(rpmi_credit_take(&credit, 1));
    CHECK(rpmi_credit_take(&credit, 0));
}

TEST_CASE("credit: returned credits can be taken again", "[unit]")
{
    rpmi_credit credit;

    rpmi_credit_open(&credit, 4);
    CHECK(rpmi_credit_take(&credit, 4));
    rpmi_credit_give(&credit, 2);
    CHECK(credit.used == 2);
    CHECK(rpmi_credit_take(&credit, 2));
    CHECK_FALSE(rpmi_credit_take(&credit, 1));
}

TEST_CASE("credit: huge demands do not overflow", "[unit]")
{
    rpmi_credit credit;

    rpmi_credit_open(&credit, UINT32_MAX);
    CHECK(rpmi_credit_take(&credit, 10));
    CHECK_FALSE(rpmi_credit_take(&credit, UINT32_MAX));
    CHECK(rpmi_credit_take(&credit, UINT32_MAX - 10));
    CHECK_FALSE(rpmi_credit_take(&credit, 1));
}
