// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include <librpm/chain.h>

#include <set>

namespace
{

struct Model {
    rpm_model *model = nullptr;

    explicit Model(const char *preset)
    {
        if (rpm_model_open(preset, &model) != 0)
            throw std::runtime_error(rpm_last_error());
    }
    ~Model()
    {
        rpm_model_close(&model);
    }
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;
    operator rpm_model *() const
    {
        return model;
    }
};

} // namespace

TEST_CASE("model: a preset is opened, asked, run and closed", "[unit]")
{
    rpm_model *model = nullptr;
    rpm_facts facts = rpm_facts_init();
    rpm_cost cost = rpm_cost_init();

    REQUIRE(rpm_model_open(nullptr, &model) == 0);
    rpm_model_facts(model, &facts);
    CHECK(facts.domain == RPM_DOMAIN_ADR);
    CHECK(facts.medium == RPM_MEDIUM_DEVDAX);
    REQUIRE(rpm_model_run(model, nullptr, &cost) == 0);
    CHECK(cost.ops == 20000);
    CHECK(cost.bytes == 20000 * 64);
    rpm_model_close(&model);
    CHECK(model == nullptr);
    rpm_model_close(&model);
}

TEST_CASE("model: an invalid preset is refused with the reason", "[unit]")
{
    rpm_model *model = nullptr;

    CHECK(rpm_model_open("hints,dimms=9 dimms", &model) == RPM_E_INVAL);
    CHECK(std::string(rpm_last_error()).find("dimms") != std::string::npos);
    CHECK(rpm_model_open("no-such-preset", &model) == RPM_E_INVAL);
    CHECK(rpm_model_open("./no/such.preset", &model) == RPM_E_NOENT);
    CHECK(model == nullptr);
}

TEST_CASE("model: every number of a preset is listed once, with its source", "[unit]")
{
    Model model("hints,media_write=200 ns");
    std::set<std::string> names;
    rpm_model_number param;
    uint32_t index = 0;

    for (; rpm_model_param(model, index, &param) == 0; index++) {
        names.insert(param.name);
        CHECK(strlen(param.value) > 0);
        CHECK(strlen(param.source) > 0);
        CHECK(strlen(param.what) > 0);
        if (strcmp(param.name, "media_write") == 0)
            CHECK(std::string(param.value) == "200 ns");
    }
    CHECK(rpm_model_param(model, UINT32_MAX, &param) == RPM_E_NOENT);
    CHECK(names.size() == index);
    CHECK(index == RPMI_PARAMS);
    CHECK(names.count("media_write") == 1);
}

TEST_CASE("model: DDIO is as the preset says, unless the load says otherwise", "[unit]")
{
    Model on("hints,ddio=on");
    Model off("hints,ddio=off");
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);
    auto run = [&](rpm_model *model, uint32_t ddio) {
        rpm_cost cost = rpm_cost_init();

        load.threads = 20;
        load.persist = RPM_PERSIST_CHAIN;
        load.ddio = ddio;
        REQUIRE(rpm_model_run(model, &load, &cost) == 0);
        return cost.mean_ps;
    };

    CHECK(run(on, 0) == run(off, RPM_YES));
    CHECK(run(off, 0) == run(on, RPM_NO));
    CHECK(run(on, 0) != run(off, 0));
}

TEST_CASE("model: structs of other versions are taken by their size", "[unit]")
{
    Model model("hints");
    struct {
        rpm_load load;
        uint64_t more;
    } newer = { rpm_load_init(), 0 };
    struct {
        rpm_cost cost;
        uint64_t more;
    } wanted = { rpm_cost_init(), 7 };
    rpm_cost cost = rpm_cost_init();
    rpm_load load = rpm_load_init();

    newer.load.ops = 100;
    newer.load.size = sizeof(newer);
    wanted.cost.size = sizeof(wanted);
    CHECK(rpm_model_run(model, &newer.load, &wanted.cost) == 0);
    CHECK(wanted.more == 0);
    CHECK(wanted.cost.size == sizeof(wanted));
    newer.more = 1;
    CHECK(rpm_model_run(model, &newer.load, &cost) == RPM_E_OPTS);
    load.size = 3;
    CHECK(rpm_model_run(model, &load, &cost) == RPM_E_INVAL);

    load = rpm_load_init();
    load.ops = 100;
    load.seed = 99; // beyond what this caller has
    load.size = offsetof(rpm_load, seed);
    rpm_load short_load = load_of(RPM_BY_CORE, RPM_LOAD_READ);
    short_load.ops = 100;
    short_load.seed = 0;
    short_load.ddio = 0;
    rpm_cost whole = rpm_cost_init();
    REQUIRE(rpm_model_run(model, &short_load, &whole) == 0);
    REQUIRE(rpm_model_run(model, &load, &cost) == 0);
    CHECK(memcmp(&whole, &cost, sizeof(cost)) == 0);

    cost = rpm_cost_init();
    cost.p50_ps = 1234;
    cost.size = offsetof(rpm_cost, p50_ps);
    REQUIRE(rpm_model_run(model, &load, &cost) == 0);
    CHECK(cost.ops == 100);
    CHECK(cost.p50_ps == 1234);
    cost.size = 3;
    CHECK(rpm_model_run(model, &load, &cost) == RPM_E_INVAL);
}

TEST_CASE("model: a failed allocation anywhere is an error and leaks nothing", "[unit]")
{
    Model model("hints");
    rpm_model *other = nullptr;
    rpm_load load = load_of(RPM_BY_NIC, RPM_LOAD_WRITE);
    rpm_cost cost = rpm_cost_init();
    int failed = 0;
    int err;

    load.ops = 100;
    rpmi_mem_fail_at(1);
    CHECK(rpm_model_open("hints", &other) == RPM_E_NOMEM);
    CHECK(other == nullptr);
    do {
        rpmi_mem_fail_at(static_cast<uint64_t>(failed) + 1);
        err = rpm_model_run(model, &load, &cost);
        rpmi_mem_fail_at(0);
        if (err != 0) {
            REQUIRE(err == RPM_E_NOMEM);
            REQUIRE(cost.ops == 0);
            failed++;
        }
    } while (err != 0);
    CHECK(failed >= 10);
    CHECK(cost.ops == 100);
}

TEST_CASE("model: flows are run, and a load of another version is refused", "[unit]")
{
    Model model("bf2");
    rpm_path_flow flow = {};
    rpm_path_load load = rpm_path_load_init();
    rpm_path_cost cost;

    flow.path = RPM_PATH_SOC;
    load.flows = &flow;
    load.count = 1;
    REQUIRE(rpm_model_run_paths(model, &load, &cost) == 0);
    CHECK(cost.ops == 20000);
    flow.path = 6;
    CHECK(rpm_model_run_paths(model, &load, &cost) == RPM_E_INVAL);
    load.size = 1;
    CHECK(rpm_model_run_paths(model, &load, &cost) == RPM_E_INVAL);
}

TEST_CASE("model: chains are run, and a load of another version is refused", "[unit]")
{
    Model model("bf2");
    rpm_chain_step step = {};
    rpm_chain chain = { &step, 1, 1 };
    rpm_chain_group group = {};
    rpm_chain_load load = rpm_chain_load_init();
    rpm_chain_cost cost;

    step.path = RPM_PATH_SOC;
    group.chains = &chain;
    group.count = 1;
    load.groups = &group;
    load.count = 1;
    REQUIRE(rpm_model_run_chains(model, &load, &cost) == 0);
    CHECK(cost.all.ops == 20000);
    step.path = 6;
    CHECK(rpm_model_run_chains(model, &load, &cost) == RPM_E_INVAL);
    load.size = 1;
    CHECK(rpm_model_run_chains(model, &load, &cost) == RPM_E_INVAL);
}
