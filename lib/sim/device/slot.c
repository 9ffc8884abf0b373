/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slot.c: the state of a client's ops from post to report: waiting, ended, or lost.
 *
 * Invariant: ops are reported in the order in which they were posted, each at most once.
 *
 * Tests: tests/unit/sim/device/slot_test.cpp
 */
#include "sim/device/world.h"

bool rpmi_kind_answers(uint32_t kind)
{
    return kind != RPMI_SIM_WRITE && kind != RPMI_SIM_PROBE;
}

static bool needs_no_report(const struct rpmi_sim_slot *slot)
{
    if (!slot->done || (slot->request.flags & RPMI_SIM_SILENT) != 0)
        return slot->done;
    return slot->status == 0 && (slot->request.flags & RPMI_SIM_SIGNALED) == 0;
}

static void skip_unreported(struct rpmi_sim_client *client)
{
    while (client->head < client->tail &&
           needs_no_report(&client->slot[client->head % client->room]))
        client->head++;
}

bool rpmi_client_reap(struct rpmi_sim_client *client, uint64_t *id, int *status)
{
    const struct rpmi_sim_slot *slot;

    skip_unreported(client);
    if (client->head == client->tail)
        return false;
    slot = &client->slot[client->head % client->room];
    if (!slot->done)
        return false;
    *id = slot->request.id;
    *status = slot->status;
    client->head++;
    skip_unreported(client);
    return true;
}

bool rpmi_client_ready(struct rpmi_sim_client *client)
{
    skip_unreported(client);
    if (client->head == client->tail)
        return client->lost != 0;
    return client->slot[client->head % client->room].done;
}

struct rpmi_sim_slot *rpmi_client_waits(struct rpmi_sim_client *client, uint32_t gen, uint64_t op)
{
    struct rpmi_sim_slot *slot;

    if (gen != client->gen || client->state != RPMI_CLIENT_OPEN || op < client->head ||
        op >= client->tail)
        return NULL;
    slot = &client->slot[op % client->room];
    return slot->done ? NULL : slot;
}

void rpmi_client_lose(struct rpmi_sim_client *client, int why)
{
    RPM_ASSERT(why < 0);
    if (client->lost == 0)
        client->lost = why;
    for (uint64_t op = client->head; op < client->tail; op++) {
        struct rpmi_sim_slot *slot = &client->slot[op % client->room];

        if (!slot->done) {
            slot->done = true;
            slot->status = RPM_E_LOST;
        }
    }
}
