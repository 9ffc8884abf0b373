/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * post.c: post ops to the client's modelled NIC, and send control messages.
 *
 * Invariants
 *   ops and flags have the same numbers in transport/op.h and in the model
 *   payload and results are in staging memory, which the NIC may access until the completion
 *
 * Tests: tests/unit/transport/sim/post_test.cpp
 */
#include "transport/sim/sim.h"

#include "base/err.h"

#include <string.h>

_Static_assert((int)RPMI_OP_WRITE == (int)RPMI_SIM_WRITE, "same numbers");
_Static_assert((int)RPMI_OP_READ == (int)RPMI_SIM_READ, "same numbers");
_Static_assert((int)RPMI_OP_PERSIST == (int)RPMI_SIM_PERSIST, "same numbers");
_Static_assert((int)RPMI_OP_FLUSH == (int)RPMI_SIM_FLUSH, "same numbers");
_Static_assert((int)RPMI_OP_WRITE_IMM == (int)RPMI_SIM_WRITE_IMM, "same numbers");
_Static_assert((int)RPMI_OP_COPY == (int)RPMI_SIM_COPY, "same numbers");
_Static_assert((int)RPMI_OP_CAS == (int)RPMI_SIM_CAS, "same numbers");
_Static_assert((int)RPMI_OP_FAA == (int)RPMI_SIM_FAA, "same numbers");
_Static_assert((int)RPMI_OP_STEPS == (int)RPMI_SIM_STEPS, "same numbers");
_Static_assert((int)RPMI_OP_SIGNALED == (int)RPMI_SIM_SIGNALED, "same numbers");
_Static_assert((int)RPMI_OP_FENCED == (int)RPMI_SIM_FENCED, "same numbers");
_Static_assert((int)RPMI_OP_DURABLE == (int)RPMI_SIM_DURABLE, "same numbers");
_Static_assert((int)RPMI_OP_OTHER_QP == (int)RPMI_SIM_OTHER_QP, "same numbers");
_Static_assert((int)RPMI_OP_CACHED == (int)RPMI_SIM_CACHED, "same numbers");

#define FLAGS_PASSED                                                                               \
    (RPMI_OP_SIGNALED | RPMI_OP_FENCED | RPMI_OP_DURABLE | RPMI_OP_OTHER_QP | RPMI_OP_CACHED)

static bool is_supported(const struct rpmi_sim_link *ours, const struct rpmi_op *op)
{
    if (op->kind == RPMI_OP_FLUSH)
        return ours->sim->world->opts.native_flush;
    return op->kind >= RPMI_OP_WRITE && op->kind < RPMI_OP_KINDS && op->kind != RPMI_OP_DRAIN;
}

/* Only these use @into; in other ops it may be left over from the last use of the array. */
static bool has_result(const struct rpmi_op *op)
{
    return op->kind == RPMI_OP_READ || op->kind == RPMI_OP_CAS || op->kind == RPMI_OP_FAA ||
           op->kind == RPMI_OP_STEPS;
}

static void request_fill(const struct rpmi_op *op, struct rpmi_sim_request *request)
{
    bool atomic = op->kind == RPMI_OP_CAS || op->kind == RPMI_OP_FAA;

    request->kind = op->kind;
    request->flags = op->flags & FLAGS_PASSED;
    request->key = op->key;
    request->head_bytes = op->head_bytes;
    request->offset = op->offset;
    request->len = atomic ? sizeof(uint64_t) : op->len;
    request->head = op->head;
    request->body = op->body;
    request->body_bytes = op->body_bytes;
    request->into = has_result(op) ? op->into : NULL;
    request->expect = op->expect;
    request->operand = op->operand;
    request->id = op->id;
    if (op->kind == RPMI_OP_STEPS) {
        request->len = op->body_bytes;
        request->operand = op->len;
    }
}

int rpmi_sim_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct rpmi_sim_link *ours = rpmi_sim_link_of(link);
    struct rpmi_sim_client *client = ours->client;
    uint32_t taken = 0;

    link->lost = client->lost;
    if (client->lost != 0)
        return RPM_E_LOST;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_supported(ours, &ops[i]))
            return rpmi_fail(
                RPM_E_NOCAP,
                "sim: this link cannot carry out op %u; rpm_conn_facts() says what it can",
                ops[i].kind);
        RPM_ASSERT(ops[i].head_bytes <= RPMI_LINE_BYTES);
        RPM_ASSERT_SLOW(ops[i].body_bytes == 0 ||
                        rpmi_sim_is_staged(ours, ops[i].body, ops[i].body_bytes));
        RPM_ASSERT_SLOW(!has_result(&ops[i]) || ops[i].into == NULL ||
                        rpmi_sim_is_staged(ours, ops[i].into, ops[i].len > 0 ? ops[i].len : 1));
    }
    rpmi_client_ready(client); /* skips ended ops that need no report, which makes room */
    for (; taken < n && rpmi_client_free(client) > 0; taken++) {
        struct rpmi_sim_request request;

        request_fill(&ops[taken], &request);
        rpmi_client_post(client, &request);
    }
    return (int)taken;
}

/* Run the world until the op with this number has ended. */
static int wait_for(struct rpmi_sim_link *ours, uint64_t number, uint64_t deadline_ns)
{
    struct rpmi_sim_client *client = ours->client;
    struct rpmi_world *world = ours->sim->world;
    const struct rpmi_sim_slot *slot = &client->slot[number % client->room];

    RPM_ASSERT(client->tail - number - 1 < client->room); /* the slot is that of this call */
    while (!slot->done && rpmi_world_step_until(world, deadline_ns))
        ;
    if (slot->done)
        return slot->status == 0 ? 0 : RPM_E_LOST;
    rpmi_world_run_until(world, deadline_ns);
    return RPM_E_TIMEDOUT;
}

int rpmi_sim_call(struct rpmi_link *link, const struct rpmi_call *call, struct rpmi_reply *reply,
                  uint64_t deadline_ns)
{
    struct rpmi_sim_link *ours = rpmi_sim_link_of(link);
    struct rpmi_sim_client *client = ours->client;
    struct rpmi_sim_request request = { .kind = RPMI_SIM_CALL,
                                        .flags = RPMI_SIM_SILENT,
                                        .len = RPMI_CALL_BYTES,
                                        .body = client->call,
                                        .body_bytes = RPMI_CALL_BYTES,
                                        .into = client->reply };
    uint64_t number = client->tail;
    int err;

    link->lost = client->lost;
    if (client->lost != 0)
        return RPM_E_LOST;
    rpmi_client_ready(client); /* skips earlier calls, which may not have been polled yet */
    rpmi_call_put(client->call, call);
    rpmi_client_post(client, &request);
    err = wait_for(ours, number, deadline_ns);
    if (err == RPM_E_TIMEDOUT)
        rpmi_client_lose(client, RPM_E_TIMEDOUT); /* a late answer could overwrite the next one */
    link->lost = client->lost;
    return err == 0 ? rpmi_reply_get(client->reply, reply) : err;
}
