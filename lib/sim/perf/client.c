/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.c: threads of client machines, each with a fixed number of operations outstanding: it
 * posts a new one when one ends. The number of client machines is not limited, so that only the
 * server's NIC is a bottleneck.
 *
 * One small request is sent with its doorbell. The client's NIC fetches a chain of two, or a larger
 * payload, from the client's cache: a PCIe round trip at the client.
 *
 * Tests: tests/unit/sim/perf/client_test.cpp
 */
#include "sim/perf/cluster_model.h"
#include "sim/perf/server_model.h"

static uint64_t message_bytes(const struct rpmi_server_model *server, uint32_t slot,
                              enum rpmi_message message)
{
    if (message == RPMI_MESSAGE_WRITE)
        return server->slot[slot].op_class->written;
    return message == RPMI_MESSAGE_CALL ? rpmi_load_call_bytes(&server->slot[slot]) : 0;
}

/* A message leaves the client; the server's port takes messages in order of arrival. */
static void send(struct rpmi_server_model *server, uint32_t slot, uint64_t at_ps,
                 enum rpmi_message message)
{
    const struct rpmi_params *params = server->params;

    if (server->cluster != NULL && rpmi_machine_has_port(server->cluster))
        rpmi_server_at(server, at_ps, RPMI_PERF_EV_AT_CLIENT_PORT, message, 0, slot);
    else
        rpmi_server_at(server, at_ps + params->nic_latency + params->network_latency,
                       RPMI_PERF_EV_AT_SERVER_PORT, message, 0, slot);
}

/* For machines that have a port of their own, which takes messages in order of arrival. */
void rpmi_server_client_leave(struct rpmi_server_model *server, uint32_t slot,
                              enum rpmi_message message)
{
    const struct rpmi_params *params = server->params;
    uint64_t at_ps = rpmi_machine_leave(server, slot, message_bytes(server, slot, message));

    rpmi_server_at(server, at_ps + params->nic_latency + params->network_latency,
                   RPMI_PERF_EV_AT_SERVER_PORT, message, 0, slot);
}

static void post_call(struct rpmi_server_model *server, uint32_t slot, uint64_t at_ps)
{
    uint64_t bytes = rpmi_load_call_bytes(&server->slot[slot]);

    send(server, slot, at_ps + rpmi_payload_ps(server->params, false, bytes), RPMI_MESSAGE_CALL);
}

/* The thread posts for @busy_ps; returns the time at which the post ends. */
static uint64_t pass(struct rpmi_server_model *server, uint32_t slot, uint64_t busy_ps)
{
    return server->cluster != NULL ? rpmi_machine_post(server, slot, busy_ps)
                                   : rpmi_wire_pass(&server->thread[server->slot[slot].thread],
                                                    server->now_ps, busy_ps);
}

/* Is it a one-sided write? */
static bool writes(const struct rpmi_slot_op *op)
{
    return op->write && op->op_class->by == RPM_BY_NIC && op->op_class->op != RPM_LOAD_CAS;
}

/* How long the thread takes to post the messages. */
static uint64_t post_ps(const struct rpmi_server_model *server, uint32_t slot)
{
    const struct rpmi_slot_op *op = &server->slot[slot];
    bool chain = writes(op) && op->op_class->persist == RPM_PERSIST_CHAIN;

    return (chain ? 2 : 1) * server->params->nic_post;
}

static void send_now(struct rpmi_server_model *server, uint32_t slot)
{
    const struct rpmi_slot_op *op = &server->slot[slot];
    bool chain = writes(op) && op->op_class->persist == RPM_PERSIST_CHAIN;
    uint64_t at_ps = pass(server, slot, post_ps(server, slot));

    if (op->op_class->by == RPM_BY_CALL) {
        post_call(server, slot, at_ps);
    } else if (writes(op) && !op->flushing) {
        at_ps += rpmi_payload_ps(server->params, chain && !RPMI_CANARY(MODEL_NO_CHAIN_FETCH),
                                 op->op_class->written);
        send(server, slot, at_ps, RPMI_MESSAGE_WRITE);
        if (chain)
            send(server, slot, at_ps, RPMI_MESSAGE_READ);
    } else {
        send(server, slot, at_ps, RPMI_MESSAGE_READ);
    }
}

void rpmi_server_client_send(struct rpmi_server_model *server, uint32_t slot)
{
    if (server->cluster == NULL || rpmi_machine_may_send(server, slot, post_ps(server, slot)))
        send_now(server, slot);
}

void rpmi_server_client_ring(struct rpmi_server_model *server, uint32_t slot)
{
    if (rpmi_machine_may_ring(server, slot))
        send_now(server, slot);
}

void rpmi_server_client_post(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_slot_op *op = &server->slot[slot];

    op->start_ps = server->now_ps;
    op->write = rpmi_load_writes(server);
    if (!rpmi_load_appends(server))
        op->address = rpmi_load_address(server, op->thread, op->write);
    op->flushing = false;
    rpmi_server_client_send(server, slot);
}

void rpmi_server_client_next(struct rpmi_server_model *server, uint32_t slot)
{
    uint64_t *next_ps = &server->next_start_ps[server->slot[slot].thread];
    uint64_t at_ps = *next_ps > server->now_ps ? *next_ps : server->now_ps;

    *next_ps = at_ps + server->load.interval_ps;
    if (at_ps > server->now_ps)
        rpmi_server_at(server, at_ps, RPMI_PERF_EV_POST, 0, 0, slot);
    else
        rpmi_server_client_post(server, slot);
}

void rpmi_server_client_arrive(struct rpmi_server_model *server, uint32_t slot,
                               enum rpmi_message message)
{
    const struct rpmi_params *params = server->params;
    uint64_t bytes = message_bytes(server, slot, message);
    uint64_t at_ps = rpmi_wire_pass(&server->wire_in, server->now_ps, rpmi_port_ps(params, bytes));

    at_ps = rpmi_wire_pass(&server->nic_in, at_ps,
                           RPMI_CANARY(MODEL_NO_MESSAGE_RATE) ? 0 : params->nic_message);
    rpmi_server_at(server, at_ps + params->nic_latency, RPMI_PERF_EV_NIC_MESSAGE, message, 0, slot);
}

bool rpmi_server_client_done(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_slot_op *op = &server->slot[slot];

    if (server->cluster != NULL)
        rpmi_machine_poll(server, slot);
    if (writes(op) && op->op_class->persist == RPM_PERSIST_WAIT &&
        !op->flushing) { /* the second round trip */
        op->flushing = true;
        op->rings = true;
        rpmi_server_client_send(server, slot);
        return false;
    }
    return true;
}

void rpmi_server_client_start(struct rpmi_server_model *server)
{
    for (uint32_t i = 0; i < server->slots; i++) {
        uint32_t thread = i / server->load.depth;
        uint64_t at_ps = server->next_start_ps[thread];

        server->slot[i].thread = thread;
        if (at_ps == 0 || server->load.interval_ps == 0)
            at_ps = rpmi_rng_below(&server->rng, rpmi_load_stagger_ps(server));
        server->next_start_ps[thread] = at_ps + server->load.interval_ps;
        rpmi_server_at(server, at_ps, RPMI_PERF_EV_POST, 0, 0, i);
    }
}
