// SPDX-License-Identifier: BSD-3-Clause
#include "context.h"

TEST_CASE("server: the service's objects survive a cut after any event of creating one", "[unit]")
{
    uint64_t cuts = 0;
    uint64_t there = 0;

    for (const char *preset : { "adr", "msync" })
        for (uint64_t at = 1;; at++) {
            Context context(preset, at);
            rpmi_link *link = context.connect();
            rpmi_call call = Context::opening("old", RPM_KIND_REGION, 4096, RPMI_CALL_CREATE);
            rpmi_reply reply = {};

            Context::region(link, "old", 4096);
            rpm_sim_cut_at(context.sim, 0, at, static_cast<rpm_cut>(at % 4));
            call = Context::opening("new", RPM_KIND_REGION, 4096, RPMI_CALL_CREATE);
            int err = link->ops->call(link, &call, &reply, Context::deadline(link));
            bool acked = err == 0 && reply.status == 0;
            while (rpm_sim_cut_happened(context.sim, 0) == 0 && rpm_sim_step(context.sim) != 0)
                ;
            if (rpm_sim_cut_happened(context.sim, 0) == 0)
                break;
            cuts++;
            CAPTURE(preset, at);
            REQUIRE(rpm_sim_restart(context.sim, 0) == 0);
            REQUIRE(link->ops->reconnect(link, Context::deadline(link)) == 0);
            call.flags = 0;
            REQUIRE(link->ops->call(link, &call, &reply, Context::deadline(link)) == 0);
            REQUIRE((reply.status == 0 || reply.status == RPM_E_NOENT));
            REQUIRE((reply.status == 0 || !acked));
            there += reply.status == 0;
            call = Context::opening("old", RPM_KIND_REGION, 4096, 0);
            REQUIRE(link->ops->call(link, &call, &reply, Context::deadline(link)) == 0);
            REQUIRE(reply.status == 0);
        }
    REQUIRE(cuts > 100);
    REQUIRE(there > 0);
    REQUIRE(there < cuts);
}

TEST_CASE("server: an invalid control message is answered with an error", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();
    rpmi_sim_link *ours = rpmi_sim_link_of(link);
    rpmi_sim_request request = {};
    rpmi_reply reply;

    memset(ours->client->call, 0xff, RPMI_CALL_BYTES);
    request.kind = RPMI_SIM_CALL;
    request.flags = RPMI_SIM_SILENT;
    request.len = RPMI_CALL_BYTES;
    request.body = ours->client->call;
    request.body_bytes = RPMI_CALL_BYTES;
    request.into = ours->client->reply;
    rpmi_client_post(ours->client, &request);
    while (rpm_sim_step(context.sim) != 0)
        ;
    REQUIRE(rpmi_reply_get(ours->client->reply, &reply) == 0);
    REQUIRE(reply.status == RPM_E_PROTO);
    Context::region(link);
}

TEST_CASE("server: each run of a server has another epoch", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();
    uint32_t epoch = link->server_epoch;
    uint32_t starts = link->facts.pool_starts;

    rpm_sim_kill_server(context.sim, 0);
    REQUIRE(rpm_sim_restart(context.sim, 0) == 0);
    REQUIRE(link->ops->reconnect(link, Context::deadline(link)) == 0);
    REQUIRE(link->server_epoch != epoch);
    REQUIRE(starts != 0);
    REQUIRE(link->facts.pool_starts == starts + 1);
}

TEST_CASE("server: a pool without a superblock is refused with the reason", "[unit]")
{
    Context context;

    rpm_sim_kill_server(context.sim, 0);
    memset(context.sim->world->machine[0].media.pool, 0x55, 4096);
    REQUIRE(rpm_sim_restart(context.sim, 0) < 0);
    REQUIRE(context.sim->server[0].service == nullptr);
    rpmi_link_opts opts = Context::link_opts();
    rpmi_link *link = nullptr;
    REQUIRE(rpmi_sim_link_open(context.sim, 0, &opts, &link) == RPM_E_REFUSED);
}
