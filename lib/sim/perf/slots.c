/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slots.c: room for a server's outstanding operations: their slots, and the rings and the queue of
 * events in which they wait. In a cluster a server begins with few slots and doubles them when all
 * are taken.
 *
 * Tests: tests/unit/sim/perf/slots_test.cpp
 */
#include "base/mem.h"
#include "sim/perf/cluster_model.h"

#include <string.h>

static bool grow_ring(struct rpmi_fifo *fifo, uint64_t room)
{
    uint32_t *word = rpmi_alloc(room * sizeof(*word), 64);

    if (word == NULL)
        return false;
    for (uint32_t i = 0; i < fifo->count; i++)
        word[i] = fifo->word[(fifo->head + i) % fifo->room];
    rpmi_free(fifo->word);
    fifo->word = word;
    fifo->room = (uint32_t)room;
    fifo->head = 0;
    return true;
}

static bool grow_slots(struct rpmi_server_model *server, uint32_t slots)
{
    struct rpmi_slot_op *slot = rpmi_alloc(((uint64_t)slots + 1) * sizeof(*slot), 64);

    if (slot == NULL)
        return false;
    if (server->slots > 0)
        memcpy(slot, server->slot, server->slots * sizeof(*slot));
    rpmi_free(server->slot);
    server->slot = slot;
    return true;
}

uint64_t rpmi_slots_events(const struct rpmi_params *params, uint64_t slots)
{
    uint64_t fetches = params->nic_reads + params->nic_atomics;

    return 8 * slots + 2 * RPMI_FETCH_LINES * (slots < fetches ? slots : fetches);
}

int rpmi_slots_grow(struct rpmi_server_model *server, uint32_t slots)
{
    uint64_t rings = (uint64_t)slots + 1;

    if (!grow_slots(server, slots) || !grow_ring(&server->reads.waiting, rings) ||
        !grow_ring(&server->atomics.waiting, rings) || !grow_ring(&server->calls, rings) ||
        !grow_ring(&server->backlog, 2 * rings)) /* a chain has two messages */
        return RPM_E_NOMEM;
    server->slots = slots;
    return 0;
}

int rpmi_slots_spare(struct rpmi_cluster_model *cluster, uint32_t index, uint32_t first)
{
    struct rpmi_fifo *spare = &cluster->spare[index];

    if (!grow_ring(spare, cluster->server[index]->slots))
        return RPM_E_NOMEM;
    for (uint32_t i = first; i < cluster->server[index]->slots; i++)
        rpmi_fifo_push(spare, i);
    return 0;
}

/* Twice as many slots, and the events that they may have pending. */
static int more_slots(struct rpmi_cluster_model *cluster, uint32_t index)
{
    struct rpmi_server_model *server = cluster->server[index];
    const struct rpmi_params *params = server->params;
    uint32_t before = server->slots;
    uint32_t slots = 2 * before < cluster->slots_max ? 2 * before : cluster->slots_max;
    uint64_t events =
        server->queue.room + rpmi_slots_events(params, slots) - rpmi_slots_events(params, before);

    RPM_ASSERT(slots > before); /* slots_max are enough for all coroutines */
    if (rpmi_queue_reserve(&server->queue, (uint32_t)events - server->queue.count) != 0 ||
        rpmi_slots_grow(server, slots) != 0)
        return RPM_E_NOMEM;
    return rpmi_slots_spare(cluster, index, before);
}

uint32_t rpmi_slots_take(struct rpmi_cluster_model *cluster, uint32_t index)
{
    if (cluster->spare[index].count == 0 && more_slots(cluster, index) != 0) {
        cluster->err = RPM_E_NOMEM;
        return UINT32_MAX;
    }
    return rpmi_fifo_pop(&cluster->spare[index]);
}
