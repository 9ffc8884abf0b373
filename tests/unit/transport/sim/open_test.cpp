// SPDX-License-Identifier: BSD-3-Clause
#include "context.h"
#include "support/death.h"

TEST_CASE("sim open: invalid options are refused", "[unit]")
{
    for (int field = 0; field < 6; field++) {
        rpm_sim_opts opts = rpm_sim_opts_init();
        rpm_sim *sim = nullptr;
        int want = RPM_E_INVAL;

        if (field == 0)
            opts.preset = "optane";
        if (field == 1)
            opts.servers = 1000;
        if (field == 2)
            opts.pool_bytes = 100000;
        if (field == 3)
            opts.dram_bytes = 10;
        if (field == 4)
            opts.size = 4;
        if (field == 5)
            opts.pool_bytes = 4096;
        CAPTURE(field);
        REQUIRE(rpm_sim_open(&opts, &sim) == want);
        REQUIRE(sim == nullptr);
        REQUIRE(std::string(rpm_last_error()) != "");
    }
}

TEST_CASE("sim open: a preset may be a path, with values replaced", "[unit]")
{
    rpm_sim_opts opts = rpm_sim_opts_init();
    rpm_sim *sim = nullptr;

    opts.preset = "adr,order_network=1 us,domain=eadr";
    REQUIRE(rpm_sim_open(&opts, &sim) == 0);
    REQUIRE(sim->world->preset.ns.network == 1000);
    REQUIRE(sim->world->preset.domain == RPM_DOMAIN_EADR);
    rpm_sim_close(&sim);
    opts.preset = "./none.preset";
    REQUIRE(rpm_sim_open(&opts, &sim) == RPM_E_NOENT);
    opts.preset = "adr,order_network=1";
    REQUIRE(rpm_sim_open(&opts, &sim) == RPM_E_INVAL);
    opts.preset = "optane";
    REQUIRE(rpm_sim_open(&opts, &sim) == RPM_E_INVAL);
    REQUIRE(std::string(rpm_last_error()).find("adr, adr-noddio, bf2, bf3,") != std::string::npos);
    REQUIRE(std::string(rpm_last_error()).find("dram, eadr, hints,") != std::string::npos);
    opts.preset = "dram";
    REQUIRE(rpm_sim_open(&opts, &sim) == RPM_E_INVAL);
    REQUIRE(std::string(rpm_last_error()).find("has domain none") != std::string::npos);
}

TEST_CASE("sim open: every failed allocation is an error", "[unit]")
{
    rpm_sim_opts opts = rpm_sim_opts_init();
    rpm_sim *sim = nullptr;
    uint64_t nth = 1;

    opts.servers = 2;
    for (;; nth++) {
        rpmi_mem_fail_at(nth);
        int err = rpm_sim_open(&opts, &sim);
        rpmi_mem_fail_at(0);
        if (err == 0)
            break;
        REQUIRE(err == RPM_E_NOMEM);
        REQUIRE(sim == nullptr);
    }
    REQUIRE(nth > 5);
    rpm_sim_close(&sim);
    REQUIRE(sim == nullptr);
    rpm_sim_close(&sim);
}

TEST_CASE("sim open: a world with open links is not closed", "[unit]")
{
    REQUIRE(death_of([] {
                Context context;

                context.connect();
                rpm_sim_close(&context.sim);
            }).find("sim->links == 0") != std::string::npos);
}

TEST_CASE("sim open: time and events only grow, one step at a time", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();

    Context::region(link);
    for (int i = 0; i < 100; i++) {
        uint64_t events = rpm_sim_events(context.sim);
        uint64_t now = rpm_sim_now_ns(context.sim);
        int more = rpm_sim_step(context.sim);

        REQUIRE(rpm_sim_now_ns(context.sim) >= now);
        if (more == 0)
            break;
        REQUIRE(rpm_sim_events(context.sim) > events);
    }
    REQUIRE(rpm_sim_step(context.sim) == 0);
}

TEST_CASE("sim open: an armed cut is reported until the restart, even if it is not due", "[unit]")
{
    Context context("adr", 1, 2);
    rpmi_link *link = context.connect(1);

    rpm_sim_cut_at(context.sim, 1, 50, RPM_CUT_DROP);
    REQUIRE(rpm_sim_cut_happened(context.sim, 1) == 0);
    rpmi_call call = Context::opening("r", RPM_KIND_REGION, 8192, RPMI_CALL_CREATE);
    rpmi_reply reply = {};
    REQUIRE(link->ops->call(link, &call, &reply, Context::deadline(link)) == RPM_E_LOST);
    REQUIRE(rpm_sim_cut_happened(context.sim, 1) == 1);
    REQUIRE(rpm_sim_cut_happened(context.sim, 0) == 0);
    REQUIRE(rpm_sim_restart(context.sim, 1) == 0);
    REQUIRE(rpm_sim_restart(context.sim, 1) == 0); // serves already
    REQUIRE(rpm_sim_cut_happened(context.sim, 1) == 0);
    REQUIRE(link->ops->reconnect(link, Context::deadline(link)) == 0);
    Context::region(link);
}

TEST_CASE("sim open: the same seed gives the same world through the whole library", "[unit]")
{
    uint64_t prints[3];

    for (int i = 0; i < 3; i++) {
        Context context("adr", i == 2 ? 8 : 7);
        rpmi_link *link = context.connect();

        Context::region(link);
        rpm_sim_power_cut(context.sim, 0, RPM_CUT_TEAR);
        REQUIRE(rpm_sim_restart(context.sim, 0) == 0);
        REQUIRE(link->ops->reconnect(link, Context::deadline(link)) == 0);
        Context::region(link);
        prints[i] = context.sim->world->history.print;
    }
    REQUIRE(prints[0] == prints[1]);
    REQUIRE(prints[0] != prints[2]);
}
