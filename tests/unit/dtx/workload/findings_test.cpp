// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include <dtx/findings.h>

TEST_CASE("findings: all checked things are counted, and the first violations have texts")
{
    dtx::Findings found;

    found.rule("sums", "sums are right");
    found.checked("sums", 10);
    for (int i = 0; i < 5; i++)
        found.add_if(i != 2, "rows", "row " + std::to_string(i));
    REQUIRE(found.all().size() == 2);
    CHECK(found.all()[0].rule == "sums");
    CHECK(found.all()[0].about == "sums are right");
    CHECK(found.all()[0].checked == 10);
    CHECK(found.all()[0].broken == 0);
    CHECK(found.all()[1].checked == 5);
    CHECK(found.all()[1].broken == 4);
    CHECK(found.texts() ==
          std::vector<std::string>{ "rows: row 0", "rows: row 1", "rows: row 3", "rows: 1 more" });
}

TEST_CASE("findings: only the first violations of a rule have their texts made")
{
    dtx::Findings found;
    int made = 0;

    for (int i = 0; i < 20; i++)
        found.add_if(i >= 10, "rows", [&] { return "row " + std::to_string(made++); });
    CHECK(made == 3);
    CHECK(found.all()[0].checked == 20);
    CHECK(found.texts() ==
          std::vector<std::string>{ "rows: row 0", "rows: row 1", "rows: row 2", "rows: 7 more" });
}

TEST_CASE("findings: the results of two checks are merged")
{
    dtx::Findings found;
    dtx::Findings more;

    found.add("rows", "one");
    more.add("rows", "two");
    found.append(more);
    CHECK(found.texts() == std::vector<std::string>{ "rows: one", "rows: two" });
}
