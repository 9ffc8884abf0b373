/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu.c: memory as the server CPU sees it: cached stores, write-backs, non-temporal stores, fences.
 *
 * Invariants
 *   a store is visible at once; media.c decides when it is durable
 *   persist covers the bytes that were visible when it was called; a line that changes meanwhile
 *     stays dirty
 *   nothing that this core does has an effect after a power cut
 *   this core sees its own stores in order, in whichever buffer they wait
 *
 * Tests: tests/unit/sim/device/cpu_test.cpp
 */
#include "sim/device/cpu.h"

#include "base/bytes.h"
#include "sim/device/world.h"

#include <librpm/error.h>

/* This core is busy for @ns; the world runs meanwhile. False if the power was cut. */
static bool spend(struct rpmi_machine *machine, uint64_t ns)
{
    RPM_ASSERT(machine->cpu.busy);
    if (!machine->running)
        return false;
    rpmi_world_run_until(machine->world, machine->world->now_ns + ns);
    if (machine->stopped_ns > machine->world->now_ns)
        rpmi_world_run_until(machine->world, machine->stopped_ns);
    if (RPMI_UNLIKELY(machine->cpu.meanwhile != NULL))
        machine->cpu.meanwhile(machine->cpu.context);
    return machine->running;
}

static void tick(struct rpmi_machine *machine, uint64_t arg)
{
    rpmi_world_tick(machine->world, RPMI_EV_CPU_ACCESS, machine->index, arg);
}

/* Write a buffer's bytes to memory. */
static void stream_land(struct rpmi_machine *machine, uint32_t i)
{
    struct rpmi_sim_cpu *cpu = &machine->cpu;
    struct rpmi_sim_stream stream = cpu->stream[i];
    struct rpmi_piece piece = { stream.offset, stream.data, stream.bytes };

    cpu->stream[i] = cpu->stream[--cpu->streams];
    rpmi_machine_land(machine, RPMI_PLACE_POOL, &piece, RPMI_BY_STREAM);
}

/* Empty the buffers that hold bytes of these lines first. There is at most one for each line, so
 * their order makes no difference. */
static void settle_lines(struct rpmi_machine *machine, enum rpmi_sim_place place, uint64_t offset,
                         uint64_t len)
{
    uint64_t first = rpmi_align_down(offset, RPMI_LINE_BYTES);
    uint64_t end = rpmi_align_up(offset + len, RPMI_LINE_BYTES);
    struct rpmi_sim_cpu *cpu = &machine->cpu;

    for (uint32_t i = cpu->streams; place == RPMI_PLACE_POOL && i-- > 0;)
        if (cpu->stream[i].offset >= first && cpu->stream[i].offset < end)
            stream_land(machine, i);
}

void rpmi_sim_cpu_load(struct rpmi_machine *machine, enum rpmi_sim_place place, uint64_t offset,
                       void *to, uint64_t len)
{
    memcpy(to, rpmi_sim_cpu_view(machine, place, offset, len), len);
}

const void *rpmi_sim_cpu_view(struct rpmi_machine *machine, enum rpmi_sim_place place,
                              uint64_t offset, uint64_t len)
{
    settle_lines(machine, place, offset, len);
    return rpmi_sim_media_at(&machine->media, place, offset, len);
}

static void store_dram(struct rpmi_machine *machine, uint64_t offset, const void *from,
                       uint64_t len)
{
    if (!spend(machine, machine->world->preset.ns.store))
        return;
    RPM_ASSERT(rpmi_in_bounds(offset, len, machine->media.dram_bytes));
    memcpy(machine->media.dram + offset, from, len);
    tick(machine, offset);
}

void rpmi_sim_cpu_store(struct rpmi_machine *machine, enum rpmi_sim_place place, uint64_t offset,
                        const void *from, uint64_t len)
{
    const unsigned char *bytes = from;

    if (place == RPMI_PLACE_DRAM) {
        store_dram(machine, offset, from, len);
        return;
    }
    for (uint64_t at = 0; at < len;) {
        uint32_t part = rpmi_line_part(offset + at, len - at);
        struct rpmi_piece piece = { offset + at, bytes + at, part };

        if (!spend(machine, machine->world->preset.ns.store))
            return;
        settle_lines(machine, place, offset + at, part);
        rpmi_machine_land(machine, place, &piece, RPMI_BY_CPU);
        tick(machine, offset + at);
        at += part;
    }
}

uint64_t rpmi_sim_cpu_cas(struct rpmi_machine *machine, enum rpmi_sim_place place, uint64_t offset,
                          uint64_t expect, uint64_t desired)
{
    unsigned char bytes[sizeof(uint64_t)];
    struct rpmi_piece piece = { offset, bytes, sizeof(bytes) };
    bool running = spend(machine, machine->world->preset.ns.store);
    uint64_t old = rpmi_load64(rpmi_sim_media_at(&machine->media, place, offset, sizeof(bytes)));

    RPM_ASSERT(offset % sizeof(bytes) == 0);
    if (!running || old != expect)
        return old;
    rpmi_store64(bytes, desired);
    rpmi_machine_land(machine, place, &piece, RPMI_BY_CPU);
    tick(machine, offset);
    return old;
}

/* Empty one buffer, chosen at random. */
static void stream_out(struct rpmi_machine *machine)
{
    stream_land(machine, (uint32_t)rpmi_rng_below(&machine->world->rng, machine->cpu.streams));
}

void rpmi_sim_cpu_stream(struct rpmi_machine *machine, uint64_t offset, const void *from,
                         uint64_t len)
{
    struct rpmi_sim_cpu *cpu = &machine->cpu;
    const unsigned char *bytes = from;

    for (uint64_t at = 0; at < len;) {
        uint32_t part = rpmi_line_part(offset + at, len - at);
        struct rpmi_sim_stream *stream;

        if (!spend(machine, machine->world->preset.ns.store))
            return;
        settle_lines(machine, RPMI_PLACE_POOL, offset + at, part);
        if (cpu->streams == RPMI_SIM_STREAM_LINES)
            stream_out(machine);
        stream = &cpu->stream[cpu->streams++];
        stream->offset = offset + at;
        stream->bytes = part;
        memcpy(stream->data, bytes + at, part);
        tick(machine, offset + at);
        at += part;
    }
}

bool rpmi_sim_cpu_fence(struct rpmi_machine *machine)
{
    const struct rpmi_delays *ns = &machine->world->preset.ns;

    while (machine->running && machine->cpu.streams > 0) {
        if (!spend(machine, ns->stream))
            return false;
        stream_out(machine);
        tick(machine, machine->cpu.streams);
    }
    if (!spend(machine, ns->fence))
        return false;
    tick(machine, 0);
    return machine->running;
}

/* clwb of every dirty line: first all are issued, then they arrive, upwards or downwards. */
static bool write_back(struct rpmi_machine *machine, uint32_t first, uint32_t end)
{
    struct rpmi_cache *cache = &machine->media.cache;
    const struct rpmi_delays *ns = &machine->world->preset.ns;
    uint64_t stamp = cache->stamp;
    bool down = rpmi_rng_below(&machine->world->rng, 2) != 0;

    for (uint32_t line = rpmi_cache_next_dirty(cache, first, end); line < end;
         line = rpmi_cache_next_dirty(cache, line + 1, end)) {
        if (!spend(machine, ns->store))
            return false;
        tick(machine, line);
    }
    for (uint32_t i = first; i < end; i++) {
        uint32_t line = down ? end - 1 - (i - first) : i;

        if (cache->oldest[line] == 0)
            continue;
        if (!spend(machine, ns->writeback))
            return false;
        rpmi_cache_write_back(cache, line, stamp);
        tick(machine, line);
    }
    return rpmi_sim_cpu_fence(machine);
}

static uint32_t dirty_sectors(const struct rpmi_cache *cache, uint32_t page_line, uint32_t sectors)
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < sectors; i++) {
        uint32_t line = page_line + i * cache->unit_lines;

        if (rpmi_cache_next_dirty(cache, line, line + cache->unit_lines) < line + cache->unit_lines)
            mask |= 1u << i;
    }
    return mask;
}

/* msync of the pages: sectors of a page reach the device in any order, then it is flushed. */
static bool sync_pages(struct rpmi_machine *machine, uint32_t first, uint32_t end)
{
    struct rpmi_cache *cache = &machine->media.cache;
    const uint32_t page_lines = RPMI_PAGE_BYTES / RPMI_LINE_BYTES;
    const uint32_t sectors = page_lines / cache->unit_lines;
    uint64_t stamp = cache->stamp;

    for (uint32_t page = first - first % page_lines; page < end; page += page_lines) {
        uint32_t mask = dirty_sectors(cache, page, sectors);

        while (mask != 0) {
            uint32_t skip =
                (uint32_t)rpmi_rng_below(&machine->world->rng, (uint64_t)__builtin_popcount(mask));
            uint32_t rest = mask;

            while (skip-- > 0)
                rest &= rest - 1;
            rest = (uint32_t)__builtin_ctz(rest);
            mask &= ~(1u << rest);
            if (!spend(machine, machine->world->preset.ns.sector))
                return false;
            rpmi_cache_write_back_unit(cache, page + rest * cache->unit_lines, stamp);
            tick(machine, page + rest);
        }
    }
    return rpmi_sim_cpu_fence(machine);
}

int rpmi_sim_cpu_persist(struct rpmi_machine *machine, enum rpmi_sim_place place, uint64_t offset,
                         uint64_t len)
{
    uint32_t first = (uint32_t)(offset / RPMI_LINE_BYTES);
    uint32_t end = (uint32_t)((offset + len + RPMI_LINE_BYTES - 1) / RPMI_LINE_BYTES);
    bool done;

    if (place == RPMI_PLACE_DRAM)
        return 0;
    RPM_ASSERT(rpmi_in_bounds(offset, len, machine->media.pool_bytes));
    if (len == 0 || machine->world->preset.domain == RPM_DOMAIN_EADR)
        done = rpmi_sim_cpu_fence(machine);
    else if (machine->world->preset.domain == RPM_DOMAIN_MSYNC)
        done = sync_pages(machine, first, end);
    else
        done = write_back(machine, first, end);
    return done ? 0 : RPM_E_IO;
}
