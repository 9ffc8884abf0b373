// SPDX-License-Identifier: BSD-3-Clause
#include "context.h"

static int open_url(const char *text, rpmi_link **link)
{
    rpmi_link_opts opts = Context::link_opts();

    return rpmi_link_open(text, &opts, link);
}

TEST_CASE("sim conn: a URL opens a world of its own", "[unit]")
{
    for (const char *text : { "sim:", "sim:seed=3", "sim:seed=3,preset=eadr,pool=64K",
                              "sim:preset=msync,loss=1000,dup=1000,delay=500,native_flush=1",
                              "sim:preset=hints-1dimm", "sim:preset=hints;ddio=off,seed=3",
                              "sim:seed=3,preset=adr;order_network=1 us;order_pcie=0.2us" }) {
        rpmi_link *link = nullptr;

        CAPTURE(text);
        REQUIRE(open_url(text, &link) == 0);
        REQUIRE(link->facts.modelled == 1);
        REQUIRE(link->client != 0);
        REQUIRE(link->server_epoch != 0);
        REQUIRE(link->depth == 16);
        Context::region(link);
        link->ops->close(link);
    }
}

TEST_CASE("sim conn: an invalid URL is refused", "[unit]")
{
    for (const char *text :
         { "sim:nowhere", "sim:seed=x", "sim:preset=", "sim:preset=pmem", "sim:loss=2000000",
           "sim:colour=red", "sim:pool=1", "sim:pool=4097K1", "sim:native_flush=2", "sim:seed",
           "sim:preset=adr;", "sim:preset=adr;order_network=1", "sim:preset=adr;network=1 us",
           "sim:preset=dram", "sim:preset=/dev/null" }) {
        rpmi_link *link = nullptr;

        CAPTURE(text);
        REQUIRE(open_url(text, &link) == RPM_E_INVAL);
        REQUIRE(link == nullptr);
    }
}

TEST_CASE("sim conn: values of the preset stand between semicolons, options between commas",
          "[unit]")
{
    rpmi_link *link = nullptr;

    REQUIRE(open_url("sim:preset=adr;ddio=off;media_line=128 B,native_flush=1", &link) == 0);
    REQUIRE(link->facts.ddio == RPM_NO);
    REQUIRE(link->facts.line_bytes == 128);
    REQUIRE(link->facts.native_flush == RPM_YES);
    link->ops->close(link);
    REQUIRE(open_url("sim:preset=./none.preset", &link) == RPM_E_NOENT);
    REQUIRE(open_url("sim:preset=adr,ddio=off", &link) == RPM_E_INVAL);
    REQUIRE(
        std::string(rpm_last_error()) ==
        "URL: sim: has no option 'ddio'; its options: seed, preset, pool, dram, loss, dup, delay, "
        "native_flush, agent, carry");
}

TEST_CASE("sim conn: every failed allocation of connecting is an error", "[unit]")
{
    rpmi_link *link = nullptr;
    uint64_t nth = 1;

    for (;; nth++) {
        rpmi_mem_fail_at(nth);
        int err = open_url("sim:pool=64K", &link);
        rpmi_mem_fail_at(0);
        if (err == 0)
            break;
        REQUIRE(err == RPM_E_NOMEM);
        REQUIRE(link == nullptr);
    }
    REQUIRE(nth > 8);
    link->ops->close(link);
}

TEST_CASE("sim conn: no server listens: refused, and time has passed", "[unit]")
{
    Context context;
    rpmi_link_opts opts = Context::link_opts();
    rpmi_link *link = nullptr;
    uint64_t now = rpm_sim_now_ns(context.sim);

    rpm_sim_kill_server(context.sim, 0);
    REQUIRE(rpmi_sim_link_open(context.sim, 0, &opts, &link) == RPM_E_REFUSED);
    REQUIRE(link == nullptr);
    REQUIRE(rpm_sim_now_ns(context.sim) > now);
    REQUIRE(context.sim->links == 0);
}

TEST_CASE("sim conn: a dial during a power cut ends at its deadline", "[unit]")
{
    for (uint64_t events = 1; events <= 3; events++) {
        Context context;
        rpmi_link_opts opts = Context::link_opts();
        rpmi_link *link = nullptr;

        rpm_sim_cut_at(context.sim, 0, events, RPM_CUT_DROP);
        int err = rpmi_sim_link_open(context.sim, 0, &opts, &link);
        if (err == 0) {
            link->ops->close(link);
            continue;
        }
        REQUIRE((err == RPM_E_TIMEDOUT || err == RPM_E_REFUSED));
        REQUIRE(rpm_sim_now_ns(context.sim) <= 2 * SECOND);
    }
}

TEST_CASE("sim conn: a reconnect detaches the previous client and keeps the world", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();
    uint32_t client = link->client;

    REQUIRE(link->ops->reconnect(link, Context::deadline(link)) == 0);
    REQUIRE(link->client != client);
    REQUIRE(link->lost == 0);
    Context::region(link);
}

TEST_CASE("sim conn: a dead client machine never comes back", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();
    rpmi_call call = Context::opening("r", RPM_KIND_REGION, 8192, RPMI_CALL_CREATE);
    rpmi_reply reply = {};
    rpmi_done done;

    rpmi_sim_link_kill(link);
    REQUIRE(link->ops->call(link, &call, &reply, Context::deadline(link)) == RPM_E_LOST);
    REQUIRE(link->ops->poll(link, &done, 1) == RPM_E_LOST);
    REQUIRE(link->ops->reconnect(link, Context::deadline(link)) == RPM_E_LOST);
}

TEST_CASE("sim conn: more clients than a world has room for are refused", "[unit]")
{
    Context context;
    rpmi_link_opts opts = Context::link_opts();
    rpmi_link *link = nullptr;

    opts.staging_bytes = 0;
    for (uint32_t i = 0; i < RPMI_SIM_CLIENTS_MAX; i++)
        context.connect();
    REQUIRE(rpmi_sim_link_open(context.sim, 0, &opts, &link) == RPM_E_LIMIT);
    context.links.back()->ops->close(context.links.back());
    context.links.pop_back();
    while (rpm_sim_step(context.sim) != 0)
        ;
    context.connect(); // the slot of a client that left is used again
}
