/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine.c: accesses of a server machine's NIC and CPU to its memory: a write arrives, a line is
 * evicted, a client's access is checked.
 *
 * Tests: tests/unit/sim/device/machine_test.cpp
 */
#include "base/bytes.h"
#include "sim/device/world.h"

#define EVICT_ONE_IN 8u /* one of so many dirty lines is evicted soon; a coarse choice */

void rpmi_machine_land(struct rpmi_machine *machine, enum rpmi_sim_place place,
                       const struct rpmi_piece *piece, enum rpmi_writer writer)
{
    struct rpmi_world *world = machine->world;

    if (!rpmi_sim_media_land(&machine->media, place, piece, writer, &world->rng))
        return;
    if (machine->evictions == RPMI_SIM_EVICTIONS || rpmi_rng_below(&world->rng, EVICT_ONE_IN) != 0)
        return;
    machine->evictions++;
    rpmi_world_push(world, RPMI_EV_EVICT, machine->index, 0,
                    rpmi_rng_below(&world->rng, world->preset.ns.evict), 0);
}

bool rpmi_machine_evict(struct rpmi_machine *machine)
{
    RPM_ASSERT(machine->evictions > 0);
    machine->evictions--;
    return machine->powered && rpmi_cache_evict(&machine->media.cache, &machine->world->rng);
}

int rpmi_machine_access(struct rpmi_sim_client *client, const struct rpmi_sim_access *wanted,
                        struct rpmi_sim_address *address)
{
    const struct rpmi_machine *machine = client->machine;
    const struct rpmi_host *host = &machine->world->opts.host;
    uint64_t bytes;
    int err;

    address->place = RPMI_PLACE_POOL;
    address->offset = 0;
    if (!client->attached)
        return RPM_E_DENIED;
    if (wanted->len == 0)
        return 0;
    err = host->access(host->context, machine->index, client->id, wanted, address);
    bytes =
        address->place == RPMI_PLACE_POOL ? machine->media.pool_bytes : machine->media.dram_bytes;
    RPM_ASSERT(err != 0 || rpmi_in_bounds(address->offset, wanted->len, bytes));
    return err;
}

int rpmi_packet_access(const struct rpmi_packet *packet, struct rpmi_sim_address *address)
{
    struct rpmi_sim_access wanted = { packet->key, rpmi_kind_rights(packet->kind),
                                      packet->op_offset, packet->op_len };
    int err = rpmi_machine_access(packet->client, &wanted, address);

    address->offset += packet->offset - packet->op_offset;
    return err;
}

uint32_t rpmi_kind_rights(uint32_t kind)
{
    switch (kind) {
    case RPMI_SIM_WRITE:
    case RPMI_SIM_WRITE_IMM:
    case RPMI_SIM_COPY:
        return 2;
    case RPMI_SIM_CAS:
    case RPMI_SIM_FAA:
        return 4;
    default:
        return 1;
    }
}
