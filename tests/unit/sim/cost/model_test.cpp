// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("model: a preset is opened, asked, run and closed", "[unit]")
{
    rpm_model *model = nullptr;
    rpm_facts facts = rpm_facts_init();
    rpm_cost cost = rpm_cost_init();

    REQUIRE(rpm_model_open(nullptr, &model) == 0);
    rpm_model_facts(model, &facts);
    CHECK(facts.domain == RPM_DOMAIN_ADR);
    REQUIRE(rpm_model_run(model, nullptr, &cost) == 0);
    CHECK(cost.ops == 20000);
    CHECK(cost.bytes == 20000 * 64);
    rpm_model_close(&model);
    CHECK(model == nullptr);
    rpm_model_close(&model);
}
