/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * module.c: a memory module: accept lines, buffer them, read and write the media.
 *
 * A line joins the buffer entry of its media line, or takes a free entry; when the last free entry
 * is taken, one chosen at random is freed. If it holds a part of a media line, the media write it
 * first. Media lines that became full are written when the media are idle, oldest first, and stay
 * in the buffer; a full one that is chosen is replaced by one that is written already. The read
 * that completes a part of a media line costs no media time: random writes of 64, 128 and 256 bytes
 * have the same rate.
 *
 * Lines that wait for room in the queue wait in the slice of the cache that their address selects.
 * A slice keeps them in order, and the controller accepts from the slices in turn: so lines of one
 * media line do not arrive together when many wait. A requester that keeps its lines in order
 * offers only its oldest line.
 *
 * Tests: tests/unit/sim/perf/module_test.cpp
 */
#include "sim/perf/server_model.h"

void rpmi_module_open(struct rpmi_module *module, uint16_t number, bool dram,
                      const struct rpmi_params *params)
{
    uint64_t latency_ps;

    module->number = number;
    module->share = dram ? 1 : (uint32_t)(params->media_line / RPMI_LINE_BYTES);
    module->queue_lines = (uint32_t)params->wpq_lines;
    module->slices = (uint32_t)params->llc_slices;
    module->read_ps = dram ? params->dram_read : params->media_read;
    module->write_ps = dram ? params->dram_write : params->media_write;
    module->fill_ps = dram ? 0 : params->media_fill;
    module->hit_ps = dram ? params->dram_latency : params->buffer_latency;
    latency_ps = dram ? params->dram_latency : params->media_latency;
    module->read_tail_ps = latency_ps > module->read_ps ? latency_ps - module->read_ps : 0;
    module->line_ps = dram ? 0 : params->channel_line;
    module->remote_writes = dram ? 0 : params->directory;
    rpmi_buffer_open(&module->dirty, (uint32_t)params->buffer_lines + 1);
    rpmi_buffer_open(&module->clean, (uint32_t)params->buffer_lines);
}

static void work_add(struct rpmi_module *module, const struct rpmi_work *work)
{
    RPM_ASSERT(module->works < RPMI_MODULE_WORK);
    module->work[(module->work_head + module->works++) % RPMI_MODULE_WORK] = *work;
}

static uint8_t all_of(const struct rpmi_module *module)
{
    return (uint8_t)((1u << module->share) - 1);
}

static struct rpmi_buffer_entry *oldest_full(struct rpmi_module *module)
{
    while (module->fulls > 0 && !RPMI_CANARY(MODEL_FULL_WAITS)) {
        uint16_t at = module->full[module->full_head];
        struct rpmi_buffer_entry *entry = &module->dirty.entry[at];

        module->is_full[at] = false;
        module->full_head = (module->full_head + 1) % RPMI_BUFFER_MAX;
        module->fulls--;
        if (entry->held == all_of(module) && !entry->busy)
            return entry;
    }
    return NULL;
}

/* Choose the next work of the media. False: there is none. */
static bool choose(struct rpmi_module *module)
{
    struct rpmi_buffer_entry *entry;

    if (module->works > 0) {
        module->current = module->work[module->work_head];
        module->work_head = (module->work_head + 1) % RPMI_MODULE_WORK;
        module->works--;
        return true;
    }
    entry = oldest_full(module);
    if (entry == NULL)
        return false;
    module->current.kind = RPMI_WORK_FULL;
    module->current_entry = (uint16_t)(entry - module->dirty.entry);
    return true;
}

/* Write an entry's media line; returns how long it takes. */
static uint64_t write_back(struct rpmi_module *module, struct rpmi_buffer_entry *entry)
{
    uint64_t writes = entry->remote ? module->remote_writes : 0;
    uint64_t busy_ps = (1 + writes) * module->write_ps;
    uint32_t missing = module->share - (uint32_t)__builtin_popcount(entry->held);
    uint64_t spared_ps = missing * module->fill_ps;

    entry->busy = true;
    module->current_entry = (uint16_t)(entry - module->dirty.entry);
    module->count.media_writes += 1 + writes;
    RPM_ASSERT(spared_ps <= module->write_ps); /* of a preset */
    if (entry->whole && !RPMI_CANARY(MODEL_NO_FILL))
        return busy_ps - spared_ps;
    if (missing > 0)
        module->count.media_reads++;
    return busy_ps;
}

/* Begin the chosen work; returns how long it takes. */
static uint64_t begin(struct rpmi_module *module)
{
    switch (module->current.kind) {
    case RPMI_WORK_READ:
        module->count.media_reads++;
        return module->read_ps;
    case RPMI_WORK_FULL:
        return write_back(module, &module->dirty.entry[module->current_entry]);
    default:
        RPM_ASSERT(module->current.kind == RPMI_WORK_EVICT);
        return write_back(module, &module->dirty.entry[module->victim]);
    }
}

static void go_on(struct rpmi_server_model *server, struct rpmi_module *module)
{
    if (module->busy || !choose(module))
        return;
    module->busy = true;
    rpmi_server_at(server, server->now_ps + begin(module), RPMI_PERF_EV_MEDIA_DONE, module->number,
                   0, 0);
}

/* An entry that need not be written before it is freed; NULL if there is none. */
static struct rpmi_buffer_entry *any_written(struct rpmi_module *module)
{
    for (uint32_t i = 0; i < module->dirty.useds; i++) {
        struct rpmi_buffer_entry *entry = &module->dirty.entry[module->dirty.used[i]];

        if (entry->held == 0 && !entry->busy)
            return entry;
    }
    return NULL;
}

/* Free an entry if none is free: at once, or by an eviction, of which one is queued at a time. */
static void make_room(struct rpmi_server_model *server, struct rpmi_module *module)
{
    struct rpmi_work work = { .kind = RPMI_WORK_EVICT };
    struct rpmi_buffer_entry *entry;
    struct rpmi_buffer_entry *instead = NULL;

    if (module->evicting || module->dirty.spares > 0)
        return;
    entry = rpmi_buffer_any(&module->dirty, &server->rng);
    RPM_ASSERT(entry != NULL); /* at most one entry is busy: the one that the media write */
    if (entry->held == all_of(module))
        instead = any_written(module);
    if (instead != NULL)
        entry = instead;
    if (entry->held == 0) {
        rpmi_buffer_give(&module->dirty, entry);
        return;
    }
    module->evicting = true;
    module->victim = (uint16_t)(entry - module->dirty.entry);
    work_add(module, &work);
}

/* The entry that a line joins; NULL if it needs one of its own. */
static struct rpmi_buffer_entry *entry_of(struct rpmi_module *module, uint64_t arg)
{
    if (RPMI_CANARY(MODEL_NO_COMBINING))
        return NULL;
    return rpmi_buffer_find(&module->dirty, RPMI_LINE_NUMBER(arg) / module->share);
}

/* Move the oldest line of the queue to the buffer, if there is room for it. */
static void drain(struct rpmi_server_model *server, struct rpmi_module *module)
{
    const struct rpmi_line *line = &module->queue[module->queue_head];
    struct rpmi_buffer_entry *entry;

    if (module->draining || module->queued == 0)
        return;
    entry = entry_of(module, line->arg);
    if (entry == NULL)
        make_room(server, module);
    if (entry == NULL ? module->dirty.spares > 0 : !entry->busy) {
        module->draining = true;
        rpmi_server_at(server, server->now_ps + module->line_ps, RPMI_PERF_EV_LINE_DRAINED,
                       module->number, 0, 0);
    }
    go_on(server, module);
}

static void accept(struct rpmi_server_model *server, struct rpmi_module *module,
                   const struct rpmi_line *line)
{
    module->queue[(module->queue_head + module->queued++) % RPMI_MODULE_QUEUE] = *line;
    module->count.writes++;
    drain(server, module);
    rpmi_server_dispatch(server, RPMI_PERF_EV_LINE_ACCEPTED, line->owner, 0);
}

/* Which slice of the cache a line belongs to: neighbours belong to different ones. */
static struct rpmi_slice *slice_of(struct rpmi_module *module, uint64_t arg)
{
    uint32_t slices = RPMI_CANARY(MODEL_ONE_SLICE) ? 1 : module->slices;

    return &module->slice[(RPMI_LINE_NUMBER(arg) * 2654435761u >> 8) % slices];
}

static void wait_outside(struct rpmi_module *module, const struct rpmi_line *line)
{
    struct rpmi_slice *slice = slice_of(module, line->arg);
    uint16_t place = module->spare;

    if (place != 0)
        module->spare = module->outside[place - 1].next;
    else
        place = (uint16_t)++module->places;
    RPM_ASSERT(module->places <= RPMI_MODULE_OUTSIDE);
    module->outside[place - 1] = (struct rpmi_waiting){ *line, 0 };
    *(slice->last != 0 ? &module->outside[slice->last - 1].next : &slice->first) = place;
    slice->last = place;
    module->outsides++;
}

/* The first line of the slice whose turn it is, without those that are empty. */
static struct rpmi_line next_outside(struct rpmi_module *module)
{
    struct rpmi_slice *slice;
    uint16_t place;

    RPM_ASSERT(module->outsides > 0);
    do
        slice = &module->slice[module->turn++ % module->slices];
    while (slice->first == 0);
    place = slice->first;
    slice->first = module->outside[place - 1].next;
    if (slice->first == 0)
        slice->last = 0;
    module->outside[place - 1].next = module->spare;
    module->spare = place;
    module->outsides--;
    return module->outside[place - 1].line;
}

void rpmi_module_write(struct rpmi_server_model *server, struct rpmi_module *module, uint64_t arg,
                       uint32_t owner)
{
    struct rpmi_line line = { arg, owner };

    if (module->queued < module->queue_lines && module->outsides == 0)
        accept(server, module, &line);
    else
        wait_outside(module, &line);
}

/* Add the bytes that were read of a media line to the entry. */
static void merge(struct rpmi_module *module, struct rpmi_buffer_entry *entry)
{
    struct rpmi_buffer_entry *clean = rpmi_buffer_find(&module->clean, entry->line);

    if (clean == NULL || clean->busy)
        return;
    entry->whole = true;
    rpmi_buffer_give(&module->clean, clean);
}

static void note_full(struct rpmi_module *module, uint16_t at)
{
    if (module->is_full[at])
        return;
    module->is_full[at] = true;
    RPM_ASSERT(module->fulls < RPMI_BUFFER_MAX);
    module->full[(module->full_head + module->fulls++) % RPMI_BUFFER_MAX] = at;
}

/* A line has reached the module: it joins its entry or takes one. */
static void join(struct rpmi_server_model *server, struct rpmi_module *module,
                 struct rpmi_buffer_entry *entry, uint64_t arg)
{
    uint32_t number = RPMI_LINE_NUMBER(arg);

    if (entry == NULL)
        entry = rpmi_buffer_take(&module->dirty, number / module->share);
    entry->remote = entry->remote || (arg & RPMI_LINE_REMOTE) != 0;
    entry->held |= (uint8_t)(1u << number % module->share);
    if (!entry->whole)
        merge(module, entry);
    if (entry->held == all_of(module))
        note_full(module, (uint16_t)(entry - module->dirty.entry));
    make_room(server, module);
}

void rpmi_module_drained(struct rpmi_server_model *server, struct rpmi_module *module)
{
    uint64_t arg = module->queue[module->queue_head].arg;
    struct rpmi_buffer_entry *entry = entry_of(module, arg);
    struct rpmi_line line;

    RPM_ASSERT(module->draining && module->queued > 0);
    module->draining = false;
    if (entry != NULL && entry->busy)
        return; /* the media write that entry now: drained again when they have finished */
    module->queue_head = (module->queue_head + 1) % RPMI_MODULE_QUEUE;
    module->queued--;
    join(server, module, entry, arg);
    if (module->outsides > 0) {
        line = next_outside(module);
        accept(server, module, &line);
    } else {
        drain(server, module);
    }
    go_on(server, module);
}

static bool has(struct rpmi_buffer_entry *entry, uint32_t number, uint32_t share)
{
    return entry != NULL && (entry->held & 1u << number % share) != 0;
}

/* A media line will be read: reserve an entry for it, if one is free. */
static void reserve_clean(struct rpmi_server_model *server, struct rpmi_module *module,
                          uint32_t line)
{
    if (module->clean.spares == 0) {
        struct rpmi_buffer_entry *old = rpmi_buffer_any(&module->clean, &server->rng);

        if (old == NULL)
            return;
        rpmi_buffer_give(&module->clean, old);
    }
    rpmi_buffer_take(&module->clean, line)->busy = true;
}

/* Reads that complete a part of a line have no owner: no part of the server waits for them. */
static void answer(struct rpmi_server_model *server, const struct rpmi_module *module,
                   uint32_t owner, uint32_t number, uint64_t in_ps)
{
    if (owner != RPMI_OWNER_NONE)
        rpmi_server_at(server, server->now_ps + in_ps, RPMI_PERF_EV_LINE_READ, module->number,
                       owner, number);
}

static void wait_for(struct rpmi_module *module, uint32_t owner, uint32_t number)
{
    struct rpmi_line line = { number, owner };

    if (owner == RPMI_OWNER_NONE)
        return;
    RPM_ASSERT(module->joins < RPMI_MODULE_JOINED);
    module->joined[module->joins++] = line;
}

void rpmi_module_read(struct rpmi_server_model *server, struct rpmi_module *module, uint64_t arg,
                      uint32_t owner)
{
    uint32_t number = RPMI_LINE_NUMBER(arg);
    uint32_t line = number / module->share;
    struct rpmi_buffer_entry *dirty = rpmi_buffer_find(&module->dirty, line);
    struct rpmi_buffer_entry *clean = rpmi_buffer_find(&module->clean, line);
    struct rpmi_work work = { .kind = RPMI_WORK_READ, .number = number, .owner = owner };

    module->count.reads++;
    if (has(dirty, number, module->share) || (dirty != NULL && dirty->whole) ||
        has(clean, number, module->share)) {
        answer(server, module, owner, number, module->hit_ps);
        return;
    }
    if (clean != NULL) {
        RPM_ASSERT(clean->busy);
        wait_for(module, owner, number);
        return;
    }
    reserve_clean(server, module, line);
    work_add(module, &work);
    go_on(server, module);
}

/* The media have read a line: answer its owner, and the reads that joined it. */
static void media_read_done(struct rpmi_server_model *server, struct rpmi_module *module)
{
    uint32_t line = module->current.number / module->share;
    struct rpmi_buffer_entry *entry = rpmi_buffer_find(&module->clean, line);
    struct rpmi_buffer_entry *dirty = rpmi_buffer_find(&module->dirty, line);

    answer(server, module, module->current.owner, module->current.number, module->read_tail_ps);
    if (entry == NULL)
        return;
    entry->held = all_of(module);
    entry->busy = false;
    if (dirty != NULL)
        merge(module, dirty);
    for (uint32_t i = 0; i < module->joins;) {
        if (module->joined[i].arg / module->share != line) {
            i++;
            continue;
        }
        answer(server, module, module->joined[i].owner, RPMI_LINE_NUMBER(module->joined[i].arg),
               module->read_tail_ps);
        module->joined[i] = module->joined[--module->joins];
    }
}

/* The media have written an entry: it stays, complete, unless it was evicted. */
static void written(struct rpmi_module *module, struct rpmi_buffer_entry *entry)
{
    entry->busy = false;
    entry->held = 0;
    entry->whole = true;
    entry->remote = false;
    if (module->current.kind == RPMI_WORK_EVICT)
        module->evicting = false;
    else if (!RPMI_CANARY(MODEL_FULL_LEAVES))
        return;
    rpmi_buffer_give(&module->dirty, entry);
}

void rpmi_module_media(struct rpmi_server_model *server, struct rpmi_module *module)
{
    uint8_t kind = module->current.kind;

    RPM_ASSERT(module->busy);
    module->busy = false;
    if (kind == RPMI_WORK_READ) {
        media_read_done(server, module);
    } else {
        written(module, &module->dirty.entry[module->current_entry]);
    }
    drain(server, module);
    go_on(server, module);
}
