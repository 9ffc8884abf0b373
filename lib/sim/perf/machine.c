/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine.c: what the threads of a modelled client machine share: a port; doorbell registers, each
 * guarded by a lock of the driver; a NIC with a cache for a limited number of outstanding requests.
 *
 * A doorbell's lock takes longer to pass from one core to the next the more cores wait for it,
 * because each of them reads its cache line again.
 *
 * Invariants
 *   a thread that waits for a doorbell does nothing else meanwhile
 *   a request is outstanding from when it is posted until a thread has polled its completion
 *
 * Tests: tests/unit/sim/perf/machine_test.cpp
 */
#include "sim/perf/cluster_model.h"

static struct rpmi_client_machine *machine_of(const struct rpmi_cluster_model *cluster,
                                              uint32_t coroutine)
{
    if (cluster->load.machines == 0)
        return NULL;
    return &cluster->machine[rpmi_cluster_thread(cluster, coroutine) % cluster->load.machines];
}

bool rpmi_machine_has_port(const struct rpmi_cluster_model *cluster)
{
    return cluster->load.machines != 0;
}

/* The threads of a machine are assigned to its doorbells round-robin. */
static struct rpmi_doorbell *doorbell_of(const struct rpmi_cluster_model *cluster,
                                         uint32_t coroutine)
{
    uint32_t thread = rpmi_cluster_thread(cluster, coroutine);
    uint32_t machine = thread % cluster->load.machines;
    uint32_t nth = thread / cluster->load.machines % cluster->load.doorbells;

    return &cluster->doorbell[machine * cluster->load.doorbells + nth];
}

/* The time at which a post of @busy_ps ends, by a core that reaches the doorbell at @at_ps. */
static uint64_t ring(const struct rpmi_params *params, struct rpmi_doorbell *doorbell,
                     uint64_t at_ps, uint64_t busy_ps)
{
    uint64_t ahead_ps = doorbell->free_ps > at_ps ? doorbell->free_ps - at_ps : 0;
    uint64_t ahead = ahead_ps == 0 ? 0 : (ahead_ps + doorbell->held_ps - 1) / doorbell->held_ps;

    doorbell->held_ps = busy_ps;
    if (ahead > 0)
        doorbell->held_ps += params->doorbell_lock + ahead * params->doorbell_wait;
    doorbell->free_ps = at_ps + ahead_ps + doorbell->held_ps;
    return doorbell->free_ps;
}

/* A shared doorbell serves threads in the order in which they reach it: schedule an event for the
 * time at which this thread has prepared its post. */
bool rpmi_machine_may_send(struct rpmi_server_model *server, uint32_t slot, uint64_t busy_ps)
{
    struct rpmi_cluster_model *cluster = server->cluster;
    uint32_t thread = rpmi_cluster_thread(cluster, server->slot[slot].coroutine);

    if (cluster->load.doorbells == 0)
        return true;
    rpmi_server_at(server,
                   rpmi_wire_pass(&cluster->thread[thread].time, server->now_ps, busy_ps) - busy_ps,
                   RPMI_PERF_EV_DOORBELL, 0, 0, slot);
    return false;
}

bool rpmi_machine_may_ring(struct rpmi_server_model *server, uint32_t slot)
{
    const struct rpmi_cluster_model *cluster = server->cluster;
    uint32_t thread = rpmi_cluster_thread(cluster, server->slot[slot].coroutine);

    if (cluster->thread[thread].rings_ps <= server->now_ps)
        return true;
    rpmi_server_at(server, cluster->thread[thread].rings_ps, RPMI_PERF_EV_DOORBELL, 0, 0, slot);
    return false; /* the thread is at the doorbell for another of its coroutines */
}

uint64_t rpmi_machine_post(struct rpmi_server_model *server, uint32_t slot, uint64_t busy_ps)
{
    struct rpmi_cluster_model *cluster = server->cluster;
    uint32_t coroutine = server->slot[slot].coroutine;
    struct rpmi_thread *thread = &cluster->thread[rpmi_cluster_thread(cluster, coroutine)];
    uint64_t end_ps = server->now_ps + busy_ps;
    uint64_t rung_ps;

    if (cluster->load.doorbells == 0)
        return rpmi_wire_pass(&thread->time, server->now_ps, busy_ps);
    if (!server->slot[slot].rings)
        return end_ps;
    rung_ps = ring(cluster->params, doorbell_of(cluster, coroutine), server->now_ps, busy_ps);
    thread->time.free_ps += rung_ps - end_ps; /* the time spent waiting for the doorbell */
    thread->rings_ps = rung_ps;
    return rung_ps;
}

/* Time of a message. The NIC fetches the share of outstanding requests beyond its cache again. */
static uint64_t message_ps(const struct rpmi_params *params, uint64_t under_way)
{
    uint64_t beyond = under_way > params->request_cache ? under_way - params->request_cache : 0;

    return params->nic_message + (beyond == 0 ? 0 : params->request_miss * beyond / under_way);
}

uint64_t rpmi_machine_leave(struct rpmi_server_model *server, uint32_t slot, uint64_t bytes)
{
    struct rpmi_cluster_model *cluster = server->cluster;
    struct rpmi_client_machine *machine = machine_of(cluster, server->slot[slot].coroutine);
    uint64_t at_ps;

    machine->under_way++;
    at_ps = rpmi_wire_pass(&machine->nic_out, server->now_ps,
                           message_ps(cluster->params, machine->under_way));
    return rpmi_wire_pass(&machine->wire_out, at_ps,
                          rpmi_rate_ps(bytes, cluster->params->network_rate));
}

static uint64_t answered_bytes(const struct rpmi_slot_op *op)
{
    return op->op_class->by == RPM_BY_NIC && op->op_class->op == RPM_LOAD_READ ? op->op_class->bytes
                                                                               : 0;
}

/* Messages of the operation that has ended: the two of a chain end together. */
static uint32_t messages(const struct rpmi_slot_op *op)
{
    return op->write && op->op_class->by == RPM_BY_NIC && op->op_class->op == RPM_LOAD_WRITE &&
                   op->op_class->persist == RPM_PERSIST_CHAIN
               ? 2
               : 1;
}

void rpmi_machine_poll(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_cluster_model *cluster = server->cluster;
    const struct rpmi_slot_op *op = &server->slot[slot];
    struct rpmi_client_machine *machine = machine_of(cluster, op->coroutine);
    uint64_t at_ps = server->now_ps;

    if (machine != NULL) {
        RPM_ASSERT(machine->under_way >= messages(op));
        machine->under_way -= messages(op);
        at_ps = rpmi_wire_pass(&machine->wire_in, at_ps,
                               rpmi_rate_ps(answered_bytes(op), cluster->params->network_rate));
    }
    (void)rpmi_wire_pass(&cluster->thread[rpmi_cluster_thread(cluster, op->coroutine)].time, at_ps,
                         cluster->params->nic_poll);
}
