// SPDX-License-Identifier: BSD-3-Clause
#include "context.h"
#include "support/death.h"

TEST_CASE("sim post: operations that the NIC lacks are refused before anything is sent", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();
    rpmi_op op = {};

    for (uint8_t kind :
         { uint8_t(RPMI_OP_DRAIN), uint8_t(RPMI_OP_FLUSH), uint8_t(0), uint8_t(RPMI_OP_KINDS) }) {
        op.kind = kind;
        REQUIRE(link->ops->post(link, &op, 1) == RPM_E_NOCAP);
    }
    rpmi_sim_link *ours = rpmi_sim_link_of(link);
    REQUIRE(ours->client->head == ours->client->tail);
}

TEST_CASE("sim post: a full queue takes what it has room for", "[unit]")
{
    Context context;
    rpmi_link *link = context.connect();
    uint32_t key = Context::region(link);
    std::vector<rpmi_op> ops(20);
    void *into = link->ops->stage(link, 64);

    for (rpmi_op &op : ops) {
        op.kind = RPMI_OP_READ;
        op.key = key;
        op.len = 8;
        op.into = into;
    }
    REQUIRE(link->ops->post(link, ops.data(), 20) == 16);
    REQUIRE(link->ops->post(link, ops.data(), 4) == 0);
    while (rpm_sim_step(context.sim) != 0)
        ;
    REQUIRE(link->ops->post(link, ops.data(), 4) ==
            4); // unsignaled ones completed without a report
}

TEST_CASE("sim post: memory that was not staged is an assertion", "[unit]")
{
    REQUIRE(death_of([] {
                Context context;
                rpmi_link *link = context.connect();
                char mine[8];
                rpmi_op op = {};

                op.kind = RPMI_OP_READ;
                op.len = 8;
                op.into = mine;
                (void)!link->ops->post(link, &op, 1);
            }).find("is_staged") != std::string::npos);
}

TEST_CASE("sim call: a deadline ends a call whose answer does not come", "[unit]")
{
    Context context("msync");
    rpmi_link *link = context.connect();
    rpmi_call call = Context::opening("r", RPM_KIND_REGION, 32768, RPMI_CALL_CREATE);
    rpmi_reply reply = {};
    rpmi_done done;

    REQUIRE(link->ops->call(link, &call, &reply, link->ops->now_ns(link) + 5000) == RPM_E_TIMEDOUT);
    REQUIRE(link->lost == RPM_E_TIMEDOUT);
    REQUIRE(link->ops->call(link, &call, &reply, Context::deadline(link)) == RPM_E_LOST);
    REQUIRE(link->ops->poll(link, &done, 1) == RPM_E_LOST);
    REQUIRE(link->ops->reconnect(link, Context::deadline(link)) == 0);
    call.flags = 0;
    REQUIRE(link->ops->call(link, &call, &reply, Context::deadline(link)) == 0);
    REQUIRE(reply.status == 0); // it had been carried out all the same
}

TEST_CASE("sim post: a COPY that is to be cached goes by way of the server cache", "[unit]")
{
    for (uint32_t cached : { 0u, uint32_t(RPMI_OP_CACHED) }) {
        Context context;
        rpmi_link *link = context.connect();
        rpmi_machine *machine = &context.sim->world->machine[0];
        rpmi_op op = {};
        rpmi_done done;
        struct Watch {
            rpmi_machine *machine;
            bool dirty;
        } watch = { machine, false };

        op.kind = RPMI_OP_COPY;
        op.flags = static_cast<uint8_t>(RPMI_OP_SIGNALED | RPMI_OP_DURABLE | cached);
        op.key = Context::region(link);
        op.body = link->ops->stage(link, 256);
        op.body_bytes = 256;
        op.len = 256;
        machine->cpu.context = &watch;
        machine->cpu.meanwhile = [](void *context) {
            Watch *it = static_cast<Watch *>(context);

            it->dirty = it->dirty || it->machine->media.cache.dirty_count != 0;
        };
        REQUIRE(link->ops->post(link, &op, 1) == 1);
        while (link->ops->poll(link, &done, 1) == 0)
            REQUIRE(rpm_sim_step(context.sim) != 0);
        REQUIRE(done.status == 0);
        REQUIRE(watch.dirty == (cached != 0));
    }
}
