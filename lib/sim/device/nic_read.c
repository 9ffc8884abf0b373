/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_read.c: READ, native FLUSH and atomics of a server's NIC.
 *
 * Invariants
 *   a READ returns visible bytes, a few lines at a time: other writes may arrive in between
 *   a FLUSH pushes the writes before it, and is answered when the bytes of its range that were
 *     visible then are in the persistence domain; over a page cache it is refused
 *   a READ of no bytes makes no PCIe read, and so pushes no writes
 *   an atomic is one event: no other access comes between its load and its store
 *
 * Tests: tests/unit/sim/device/nic_test.cpp, order_test.cpp, legal_test.cpp
 */
#include "base/bytes.h"
#include "sim/device/world.h"

#define CHUNK_LINES 8u /* lines that a READ reads in one event, at most */

static struct rpmi_read *oldest_read(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen)
{
    struct rpmi_responder *responder = &client->responder[qp];

    if (!client->machine->serving || !responder->alive || responder->gen != gen ||
        responder->reads == 0)
        return NULL;
    return &responder->read[responder->read_first];
}

static void schedule(struct rpmi_sim_client *client, uint32_t qp, uint64_t in_ns)
{
    rpmi_world_push(client->world, RPMI_EV_READ, client->index, client->responder[qp].gen, in_ns,
                    qp);
}

/* Answer the oldest request; the next one may start. */
static void finish(struct rpmi_sim_client *client, uint32_t qp, int status)
{
    struct rpmi_responder *responder = &client->responder[qp];
    uint64_t op = responder->read[responder->read_first].op;

    rpmi_send_answer(client, responder->gen, op, status);
    if (status != 0) {
        responder->broken = true;
        responder->reads = 0;
        return;
    }
    responder->read_first = (responder->read_first + 1) % RPMI_SIM_READS;
    responder->reads--;
    if (responder->reads > 0)
        schedule(client, qp, rpmi_rng_below(&client->world->rng, client->world->preset.ns.nic));
}

static void start(struct rpmi_sim_client *client, uint32_t qp, struct rpmi_read *read)
{
    struct rpmi_tlp tlp = { .kind = RPMI_TLP_READ, .qp = (uint8_t)qp };

    if (read->kind == RPMI_SIM_READ && read->len == 0) {
        finish(client, qp, 0);
        return;
    }
    if (rpmi_pcie_full(client->machine)) {
        schedule(client, qp, client->world->preset.ns.nic);
        return;
    }
    tlp.gen = client->responder[qp].gen;
    tlp.client = client;
    read->state = RPMI_READ_PUSHING;
    rpmi_pcie_push(client->machine, &tlp);
}

void rpmi_nic_pushed(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen)
{
    struct rpmi_read *read = oldest_read(client, qp, gen);
    struct rpmi_sim_access wanted;
    struct rpmi_sim_address address;
    int err;

    if (read == NULL)
        return;
    RPM_ASSERT(read->state == RPMI_READ_PUSHING);
    wanted = (struct rpmi_sim_access){ read->key, rpmi_kind_rights(read->kind), read->offset,
                                       read->len };
    err = rpmi_machine_access(client, &wanted, &address);
    if (err == 0 && (wanted.rights & 4u) != 0 &&
        (read->len != sizeof(uint64_t) || address.offset % sizeof(uint64_t) != 0))
        err = RPM_E_INVAL;
    if (err != 0) {
        finish(client, qp, err);
        return;
    }
    read->offset = address.offset;
    read->place = (uint8_t)address.place;
    read->state = RPMI_READ_GOING;
    read->stamp = client->machine->media.cache.stamp;
    schedule(client, qp, client->world->preset.ns.read);
}

static unsigned char *result_of(struct rpmi_sim_client *client, uint32_t qp, uint64_t op)
{
    struct rpmi_sim_slot *slot = rpmi_client_waits(client, client->responder[qp].gen, op);

    return slot == NULL ? NULL : slot->request.into;
}

static void read_some(struct rpmi_sim_client *client, uint32_t qp, struct rpmi_read *read)
{
    struct rpmi_world *world = client->world;
    uint64_t lines = 1 + rpmi_rng_below(&world->rng, CHUNK_LINES);
    uint64_t from = read->offset + read->done;
    uint64_t n = lines * RPMI_LINE_BYTES - from % RPMI_LINE_BYTES;
    unsigned char *into = result_of(client, qp, read->op);

    if (n > read->len - read->done)
        n = read->len - read->done;
    if (into != NULL)
        memcpy(into + read->done, rpmi_sim_media_at(&client->machine->media, read->place, from, n),
               n);
    read->done += n;
    if (read->done == read->len)
        finish(client, qp, 0);
    else
        schedule(client, qp, lines * world->preset.ns.line);
}

static void flush_some(struct rpmi_sim_client *client, uint32_t qp, struct rpmi_read *read)
{
    struct rpmi_world *world = client->world;
    struct rpmi_cache *cache = &client->machine->media.cache;
    bool reaches = world->preset.domain == RPM_DOMAIN_ADR && read->place == RPMI_PLACE_POOL;
    uint32_t line = (uint32_t)((read->offset + read->done) / RPMI_LINE_BYTES);
    uint32_t end =
        (uint32_t)rpmi_align_up(read->offset + read->len, RPMI_LINE_BYTES) / RPMI_LINE_BYTES;

    if (reaches && read->len > 0)
        line = rpmi_cache_next_dirty(cache, line, end);
    if (!reaches || line >= end) {
        finish(client, qp, 0);
        return;
    }
    rpmi_cache_write_back(cache, line, read->stamp);
    read->done = (uint64_t)(line + 1) * RPMI_LINE_BYTES - read->offset;
    schedule(client, qp, world->preset.ns.line);
}

static void atomic(struct rpmi_sim_client *client, uint32_t qp, const struct rpmi_read *read)
{
    struct rpmi_machine *machine = client->machine;
    unsigned char *into = result_of(client, qp, read->op);
    unsigned char bytes[sizeof(uint64_t)];
    struct rpmi_piece piece = { read->offset, bytes, sizeof(bytes) };
    uint64_t old = rpmi_load64(
        rpmi_sim_media_at(&machine->media, read->place, read->offset, sizeof(uint64_t)));
    bool write = read->kind == RPMI_SIM_FAA || old == read->expect;

    if (into != NULL)
        memcpy(into, &old, sizeof(old));
    if (write) {
        rpmi_store64(bytes, read->kind == RPMI_SIM_FAA ? old + read->operand : read->operand);
        rpmi_machine_land(machine, read->place, &piece, RPMI_BY_ATOMIC);
    }
    finish(client, qp, 0);
}

bool rpmi_nic_read(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen)
{
    struct rpmi_read *read = oldest_read(client, qp, gen);

    if (read == NULL || read->state == RPMI_READ_PUSHING)
        return false;
    if (read->state == RPMI_READ_ASIDE)
        start(client, qp, read);
    else if (read->kind == RPMI_SIM_READ)
        read_some(client, qp, read);
    else if (read->kind == RPMI_SIM_FLUSH)
        flush_some(client, qp, read);
    else
        atomic(client, qp, read);
    return true;
}
