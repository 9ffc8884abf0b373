/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open.c: client machines: open, dial, post ops, kill, close.
 *
 * A client's memory is reused for a later client, never freed before the world ends: packets and
 * events of the earlier client may still be in transit. The dialling number, which only grows,
 * distinguishes them.
 *
 * Invariants: client.h.
 *
 * Tests: tests/unit/sim/device/open_test.cpp
 */
#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"
#include "sim/device/world.h"

/* A server notices the death of a client within the first of these times, or, in half of the cases,
 * within the second, because the client's kernel reports it. Coarse choices. */
#define DEATH_SEEN_NS 200000u
#define DEATH_SEEN_SOON_NS 2000u

static void packets_prepare(struct rpmi_sim_client *client)
{
    for (uint32_t i = 0; i < RPMI_SIM_PACKETS_ALL; i++) {
        client->packet[i].client = client;
        if (i < RPMI_SIM_PACKETS) {
            client->packet[i].next = client->spare;
            client->spare = &client->packet[i];
        }
    }
}

void rpmi_client_destroy(struct rpmi_sim_client *client)
{
    if (client == NULL)
        return;
    rpmi_free(client->packet);
    rpmi_free(client->slot);
    rpmi_free(client);
}

static struct rpmi_sim_client *client_make(void)
{
    struct rpmi_sim_client *client = rpmi_alloc(sizeof(*client), 64);

    if (client == NULL)
        return NULL;
    client->packet = rpmi_alloc(RPMI_SIM_PACKETS_ALL * sizeof(*client->packet), 64);
    if (client->packet == NULL) {
        rpmi_client_destroy(client);
        return NULL;
    }
    packets_prepare(client);
    return client;
}

/* A closed client without packets or events in transit. */
static struct rpmi_sim_client *client_reuse(struct rpmi_world *world)
{
    for (uint32_t i = 0; i < world->clients; i++) {
        struct rpmi_sim_client *client = world->client[i];

        if (client->state == RPMI_CLIENT_CLOSED && !client->attached && client->packets == 0 &&
            !client->packet[RPMI_SIM_PACKETS].listed &&
            !client->packet[RPMI_SIM_PACKETS + 1].listed)
            client->state = RPMI_CLIENT_FREE;
        if (client->state == RPMI_CLIENT_FREE)
            return client;
    }
    return NULL;
}

static int slots_reserve(struct rpmi_sim_client *client, uint32_t depth)
{
    struct rpmi_sim_slot *slot;
    uint32_t room = depth + 1; /* one slot more for a control message */

    if (room <= client->room)
        return 0;
    slot = rpmi_alloc(room * sizeof(*slot), 64);
    if (slot == NULL)
        return RPM_E_NOMEM;
    rpmi_free(client->slot);
    client->slot = slot;
    client->room = room;
    return 0;
}

int rpmi_client_open(struct rpmi_world *world, uint32_t server, uint32_t depth,
                     struct rpmi_sim_client **out)
{
    struct rpmi_sim_client *client = client_reuse(world);
    bool fresh = client == NULL;

    RPM_ASSERT(server < world->servers && depth > 0 && depth <= RPMI_DEPTH_MAX);
    if (fresh) {
        if (world->clients == RPMI_SIM_CLIENTS_MAX)
            return rpmi_fail(RPM_E_LIMIT, "sim: the world has %u clients, the maximum: close one",
                             RPMI_SIM_CLIENTS_MAX);
        client = client_make();
        if (client == NULL)
            return RPM_E_NOMEM;
    }
    if (slots_reserve(client, depth) != 0) {
        if (fresh)
            rpmi_client_destroy(client);
        return RPM_E_NOMEM;
    }
    if (fresh) {
        client->index = (uint16_t)world->clients;
        world->client[world->clients++] = client;
    }
    client->world = world;
    client->machine = &world->machine[server];
    client->state = RPMI_CLIENT_OPEN;
    client->dead = false;
    client->on_soc = false;
    client->kill_at = 0;
    client->connected = false;
    client->lost = RPM_E_LOST; /* until dialled */
    client->depth = depth;
    client->head = client->tail;
    *out = client;
    return 0;
}

static void send_to_manager(struct rpmi_sim_client *client, uint32_t kind, uint64_t in_ns)
{
    rpmi_world_push(client->world, RPMI_EV_DIAL, client->index, client->gen, in_ns, kind);
}

int rpmi_client_dial(struct rpmi_sim_client *client)
{
    struct rpmi_world *world = client->world;

    RPM_ASSERT(client->state == RPMI_CLIENT_OPEN && !client->dead);
    if (rpmi_world_reserve(world) != 0)
        return RPM_E_NOMEM;
    client->gen++;
    client->head = client->tail;
    client->connected = false;
    client->lost = RPM_E_LOST;
    client->sending = false;
    client->acks = 0;
    memset(client->requester, 0, sizeof(client->requester));
    for (uint32_t qp = 0; qp < RPMI_SIM_QPS; qp++)
        client->requester[qp].send_op = client->tail;
    client->dialling = true;
    client->refused = 0;
    send_to_manager(client, RPMI_SIM_DIAL, world->preset.ns.post + world->preset.ns.network);
    return 0;
}

bool rpmi_client_answered(struct rpmi_sim_client *client, uint32_t gen, uint64_t err)
{
    if (gen != client->gen || !client->dialling)
        return false;
    client->dialling = false;
    client->refused = -(int)err;
    client->connected = err == 0;
    client->lost = err == 0 ? 0 : RPM_E_LOST;
    return true;
}

static uint64_t packets_for(const struct rpmi_sim_request *request)
{
    bool carries = request->kind == RPMI_SIM_WRITE || request->kind == RPMI_SIM_WRITE_IMM ||
                   request->kind == RPMI_SIM_COPY || request->kind == RPMI_SIM_STEPS;

    if (!carries || request->len == 0)
        return 1;
    return (request->len + RPMI_SIM_MTU_BYTES - 1) / RPMI_SIM_MTU_BYTES;
}

void rpmi_client_post(struct rpmi_sim_client *client, const struct rpmi_sim_request *request)
{
    struct rpmi_sim_slot *slot = &client->slot[client->tail % client->room];
    uint8_t qp = (request->flags & RPMI_SIM_OTHER_QP) != 0 ? 1 : 0;
    struct rpmi_requester *requester = &client->requester[qp];

    RPM_ASSERT(client->lost == 0 && client->tail - client->head < client->room);
    RPM_ASSERT(request->head_bytes <= sizeof(slot->head));
    RPM_ASSERT(request->head_bytes + request->body_bytes <= request->len ||
               request->kind == RPMI_SIM_CALL);
    slot->request = *request;
    if (request->head_bytes > 0)
        memcpy(slot->head, request->head, request->head_bytes);
    slot->request.head = NULL;
    slot->qp = qp;
    slot->psn = requester->next;
    slot->packets = packets_for(request);
    slot->done = false;
    slot->status = 0;
    slot->answer = 0;
    requester->next += slot->packets;
    client->tail++;
    rpmi_client_kick(client);
}

static void disconnect(struct rpmi_sim_client *client, uint64_t in_ns)
{
    rpmi_client_lose(client, RPM_E_LOST);
    client->connected = false;
    client->dialling = false;
    if (client->attached && client->boot == client->machine->boot && client->machine->serving)
        send_to_manager(client, RPMI_SIM_DISCONNECT, in_ns);
    else
        client->attached = false;
}

/* The time until the server notices a death. Until then packets of the dead client still arrive. */
static uint64_t notice_ns(struct rpmi_world *world)
{
    bool soon = rpmi_rng_below(&world->rng, 2) == 0;

    return rpmi_rng_below(&world->rng, soon ? DEATH_SEEN_SOON_NS : DEATH_SEEN_NS);
}

void rpmi_client_kill(struct rpmi_sim_client *client)
{
    client->kill_at = 0;
    if (client->dead)
        return;
    client->dead = true;
    disconnect(client, notice_ns(client->world));
}

void rpmi_client_close(struct rpmi_sim_client *client)
{
    const struct rpmi_delays *ns = &client->world->preset.ns;

    RPM_ASSERT(client->state == RPMI_CLIENT_OPEN);
    client->kill_at = 0;
    if (!client->dead)
        disconnect(client, ns->post + ns->network);
    client->state = RPMI_CLIENT_CLOSED;
}
