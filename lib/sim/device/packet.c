/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet.c: the packets of a client, taken from its free list and given back when the last
 * reference is dropped. A client that waits for a free packet then continues to send.
 *
 * Invariant: packets in use and in the free list add up to RPMI_SIM_PACKETS.
 *
 * Tests: tests/unit/sim/device/packet_test.cpp
 */
#include "sim/device/packet.h"

#include "sim/device/world.h"

void rpmi_client_kick(struct rpmi_sim_client *client)
{
    struct rpmi_world *world = client->world;
    uint64_t in_ns = world->preset.ns.post;

    if (client->sending || client->dead || !client->connected || client->lost != 0)
        return;
    if (client->wire_ns > world->now_ns + in_ns)
        in_ns = client->wire_ns - world->now_ns;
    client->sending = true;
    rpmi_world_push(world, RPMI_EV_SEND, client->index, client->gen, in_ns, 0);
}

struct rpmi_packet *rpmi_packet_take(struct rpmi_sim_client *client)
{
    struct rpmi_packet *packet = client->spare;

    if (packet == NULL)
        return NULL;
    client->spare = packet->next;
    client->packets++;
    packet->next = NULL;
    packet->refs = 1;
    return packet;
}

void rpmi_packet_drop(struct rpmi_packet *packet)
{
    struct rpmi_sim_client *client = packet->client;

    RPM_ASSERT(packet->refs > 0);
    if (--packet->refs > 0)
        return;
    RPM_ASSERT(packet->next == NULL && client->packets > 0);
    packet->next = client->spare;
    client->spare = packet;
    client->packets--;
    rpmi_client_kick(client);
}
