/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * power.c: choose the bytes that survive a power cut.
 *
 * Two kinds of bytes are outside the persistence domain: dirty cache lines, which the cache may
 * have written back at any time since they became dirty; and bytes in transit from the NIC or in
 * the core's buffers. rpmi_power_cut() first stores the bytes in transit, as the newest contents of
 * their lines. Then each unit of the medium (a line or a sector) keeps the content that it had
 * after one of the writes to it, chosen at random.
 *
 * Invariants
 *   a cut never changes bytes in the persistence domain
 *   DROP keeps only those bytes; NONE keeps all bytes that had reached the machine
 *   TEAR mixes aligned 8-byte words of two moments; REORDER keeps units whole
 *
 * Tests: tests/unit/sim/device/power_test.cpp, legal_test.cpp
 */
#include "sim/device/power.h"

#include "base/bytes.h"
#include "sim/device/world.h"

#define WORD_BYTES 8u  /* a power cut tears anything larger */
#define DRAM_JUNK 0xdb /* content of memory when the power is restored */

/* DRAM loses its content, so bytes on their way to it are dropped. */
static void store_piece(struct rpmi_machine *machine, uint32_t place,
                        const struct rpmi_piece *piece)
{
    if (place == RPMI_PLACE_POOL)
        rpmi_cache_write(&machine->media.cache, piece->offset, piece->from, piece->bytes,
                         &machine->world->rng);
}

static void store_pcie(struct rpmi_machine *machine)
{
    struct rpmi_pcie *pcie = &machine->pcie;

    for (uint64_t i = pcie->head; i < pcie->tail; i++) {
        const struct rpmi_tlp *tlp = &pcie->slot[i % RPMI_SIM_PCIE_SLOTS];

        for (uint32_t line = 0; line < RPMI_SIM_TLP_LINES; line++) {
            struct rpmi_piece piece;

            if (tlp->kind != RPMI_TLP_WRITE || (tlp->left & 1u << line) == 0)
                continue;
            piece = rpmi_tlp_piece(tlp, line);
            store_piece(machine, tlp->place, &piece);
        }
    }
}

static void store_engine(struct rpmi_machine *machine)
{
    for (uint32_t i = 0; i < machine->engine.posted; i++) {
        const struct rpmi_posted_line *line = &machine->engine.line[i];
        struct rpmi_piece piece = { line->offset, line->data, line->bytes };

        store_piece(machine, RPMI_PLACE_POOL, &piece);
    }
}

static void store_packet(struct rpmi_machine *machine, const struct rpmi_packet *packet,
                         uint32_t from)
{
    struct rpmi_sim_address address;

    if (rpmi_packet_access(packet, &address) != 0)
        return;
    while (from < packet->bytes) {
        struct rpmi_piece piece = { .offset = address.offset + from, .from = packet->data + from };

        piece.bytes = rpmi_line_part(piece.offset, packet->bytes - from);
        store_piece(machine, address.place, &piece);
        from += piece.bytes;
    }
}

static void store_received(struct rpmi_machine *machine)
{
    struct rpmi_world *world = machine->world;

    for (uint32_t i = 0; i < world->clients * RPMI_SIM_QPS; i++) {
        struct rpmi_sim_client *client = world->client[i / RPMI_SIM_QPS];
        const struct rpmi_responder *responder = &client->responder[i % RPMI_SIM_QPS];
        uint32_t from = responder->cut;

        if (client->machine != machine || !responder->alive)
            continue;
        for (struct rpmi_packet *packet = responder->received.head; packet != NULL;
             packet = packet->next) {
            if (packet->kind == RPMI_SIM_WRITE || packet->kind == RPMI_SIM_WRITE_IMM)
                store_packet(machine, packet, from);
            from = 0;
        }
    }
}

static void store_streams(struct rpmi_machine *machine)
{
    for (uint32_t i = 0; i < machine->cpu.streams; i++) {
        const struct rpmi_sim_stream *stream = &machine->cpu.stream[i];
        struct rpmi_piece piece = { stream->offset, stream->data, stream->bytes };

        store_piece(machine, RPMI_PLACE_POOL, &piece);
    }
}

/* The odds of one cut, in eighths, that a unit keeps its newest content: some cuts lose nearly all
 * of it, some nearly none. */
struct odds {
    struct rpmi_rng *rng;
    uint64_t newest_eighths;
};

/* Choose the stamp as of which the content of @line survives: mostly the newest or the oldest,
 * sometimes one between two of its writes. */
static uint64_t choose_stamp(const struct rpmi_cache *cache, uint32_t line, const struct odds *odds)
{
    uint32_t choices = rpmi_cache_choices(cache, line);
    bool newest = rpmi_rng_below(odds->rng, 8) < odds->newest_eighths;
    uint64_t until;

    if (choices > 2 && rpmi_rng_below(odds->rng, 3) == 0) {
        rpmi_cache_choice(cache, line, (uint32_t)rpmi_rng_below(odds->rng, choices), &until);
        return until - 1;
    }
    return newest ? UINT64_MAX - 1 : 0;
}

static void settle_torn(struct rpmi_cache *cache, uint32_t line, const struct odds *odds)
{
    const unsigned char *one = rpmi_cache_as_of(cache, line, choose_stamp(cache, line, odds));
    const unsigned char *two = rpmi_cache_as_of(cache, line, choose_stamp(cache, line, odds));
    unsigned char torn[RPMI_LINE_BYTES];
    uint64_t words = rpmi_rng_next(odds->rng);

    for (uint32_t at = 0; at < RPMI_LINE_BYTES; at += WORD_BYTES, words >>= 1)
        memcpy(torn + at, ((words & 1) != 0 ? one : two) + at, WORD_BYTES);
    rpmi_cache_settle(cache, line, torn);
}

static void settle_unit(struct rpmi_cache *cache, uint32_t line, const struct odds *odds)
{
    uint32_t first = line & ~(cache->unit_lines - 1);
    uint64_t stamp = choose_stamp(cache, line, odds);

    for (uint32_t i = first; i < first + cache->unit_lines && i < cache->lines; i++)
        if (cache->oldest[i] != 0)
            rpmi_cache_settle(cache, i, rpmi_cache_as_of(cache, i, stamp));
}

static void settle(struct rpmi_machine *machine, enum rpmi_cut cut)
{
    struct rpmi_cache *cache = &machine->media.cache;
    struct odds odds = { &machine->world->rng, 0 };

    odds.newest_eighths = 1 + rpmi_rng_below(odds.rng, 7);
    while (cache->dirty_count > 0) {
        uint32_t line = cache->dirty[0];

        if (cut == RPMI_CUT_NONE)
            rpmi_cache_write_back(cache, line, UINT64_MAX);
        else if (cut == RPMI_CUT_DROP)
            rpmi_cache_settle(cache, line, rpmi_cache_as_of(cache, line, 0));
        else if (cut == RPMI_CUT_TEAR)
            settle_torn(cache, line, &odds);
        else
            settle_unit(cache, line, &odds);
    }
}

/* The connections of agents on the SoC end: the power of their machine is the server's. */
static void kill_agents(struct rpmi_machine *machine)
{
    struct rpmi_world *world = machine->world;

    for (uint32_t i = 0; i < world->clients; i++) {
        struct rpmi_sim_client *client = world->client[i];

        if (client->machine == machine && client->on_soc && client->state == RPMI_CLIENT_OPEN)
            rpmi_client_kill(client);
    }
}

void rpmi_power_kill_agent(struct rpmi_machine *machine)
{
    kill_agents(machine);
    rpmi_engine_orphan(machine);
}

/* The server process has ended: drop its queue pairs, messages and transactions. */
static void stop_serving(struct rpmi_machine *machine)
{
    struct rpmi_world *world = machine->world;

    machine->serving = false;
    for (uint32_t i = 0; i < world->clients; i++) {
        struct rpmi_sim_client *client = world->client[i];

        if (client->machine != machine)
            continue;
        client->attached = false;
        for (uint32_t qp = 0; qp < RPMI_SIM_QPS; qp++)
            rpmi_nic_reset(client, qp);
    }
}

void rpmi_power_cut(struct rpmi_machine *machine, enum rpmi_cut cut)
{
    RPM_ASSERT(cut <= RPMI_CUT_KILL);
    machine->cut_at = 0;
    if (cut == RPMI_CUT_KILL) {
        rpmi_power_kill(machine);
        return;
    }
    if (!machine->powered)
        return;
    if (cut != RPMI_CUT_DROP) {
        store_pcie(machine);
        store_engine(machine);
        store_received(machine);
        store_streams(machine);
    }
    settle(machine, cut);
    stop_serving(machine);
    kill_agents(machine);
    rpmi_engine_drop(machine);
    rpmi_pcie_drop(machine);
    rpmi_sim_cpu_drop(machine, false);
    machine->powered = false;
    machine->running = false;
}

void rpmi_power_kill(struct rpmi_machine *machine)
{
    if (!machine->running)
        return;
    stop_serving(machine);
    rpmi_sim_cpu_drop(machine, true);
    machine->running = false;
}

void rpmi_power_on(struct rpmi_machine *machine)
{
    RPM_ASSERT(!machine->serving);
    machine->power_ons += !machine->powered;
    machine->powered = true;
    machine->running = true;
    machine->boot++;
    machine->stopped_ns = 0;
    if (machine->media.dram_bytes > 0)
        memset(machine->media.dram, DRAM_JUNK, machine->media.dram_bytes);
}

void rpmi_power_serve(struct rpmi_machine *machine)
{
    RPM_ASSERT(machine->running && !machine->serving);
    machine->serving = true;
}
