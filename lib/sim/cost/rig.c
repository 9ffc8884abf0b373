/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rig.c: a load is run: set up, one event after another until enough operations have ended, and
 * what it took.
 *
 * Tests: tests/unit/sim/cost/rig_test.cpp
 */
#include "sim/cost/rig.h"

#include "base/err.h"
#include "base/mem.h"
#include "sim/cost/play.h"

#include <stdlib.h>

#define WARM_UP_BYTES (512u << 10) /* more than the modules' buffers hold */
#define WARM_UP_BUFFERS 4u         /* of a NIC, filled */

static uint64_t min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool fifo_open(struct rpmi_fifo *fifo, uint64_t room)
{
    fifo->room = (uint32_t)room;
    fifo->word = rpmi_alloc(room * sizeof(*fifo->word), 64);
    return fifo->word != NULL;
}

static bool reserve_rings(struct rpmi_rig *rig, uint64_t clients, uint64_t tlps)
{
    const struct rpm_load *load = &rig->load;

    rig->slots = (uint32_t)clients;
    rig->inbound_room = (uint32_t)tlps;
    rig->slot = rpmi_alloc((clients + 1) * sizeof(*rig->slot), 64);
    rig->position = rpmi_alloc(load->threads * sizeof(*rig->position), 64);
    rig->thread = rpmi_alloc(load->threads * sizeof(*rig->thread), 64);
    rig->inbound = rpmi_alloc(tlps * sizeof(*rig->inbound), 64);
    rig->tlp = rpmi_alloc(tlps * sizeof(*rig->tlp), 64);
    rig->latency_ps = rpmi_alloc(load->ops * sizeof(*rig->latency_ps), 64);
    return fifo_open(&rig->reads.waiting, clients + 1) &&
           fifo_open(&rig->atomics.waiting, clients + 1) && fifo_open(&rig->calls, clients + 1) &&
           fifo_open(&rig->backlog, 2 * clients + 2) && rig->slot != NULL &&
           rig->position != NULL && rig->thread != NULL && rig->inbound != NULL &&
           rig->tlp != NULL && rig->latency_ps != NULL;
}

/* Room for all that can be under way at a time, everywhere. */
static int reserve(struct rpmi_rig *rig, uint64_t clients)
{
    const struct rpm_load *load = &rig->load;
    const struct rpmi_params *params = rig->params;
    uint64_t one = rpmi_load_written(load) + params->pcie_payload;
    uint64_t tlps = (params->nic_buffer + one) / RPMI_LINE_BYTES + 2 * clients + 64;
    uint64_t lines = RPMI_FETCH_LINES * min(clients, params->nic_reads + params->nic_atomics);
    uint64_t core = 4 * params->fill_buffers + params->reads_in_flight + 2;
    uint64_t events = tlps + 8 * clients + 2 * lines + RPMI_RIG_CORES * core +
                      8 * RPMI_RIG_MODULES + 4 * (params->inbound_lines + 8);

    if (!reserve_rings(rig, clients, tlps))
        return RPM_E_NOMEM;
    return rpmi_queue_reserve(&rig->queue, (uint32_t)events);
}

/* A NIC allocates in some of the ways only. */
static int open_cache(struct rpmi_rig *rig)
{
    const struct rpmi_params *params = rig->params;
    bool nic = rig->load.by == RPM_BY_NIC || rig->play != NULL;

    return rpmi_llc_open(&rig->llc, params->llc_bytes / RPMI_LINE_BYTES / params->llc_ways,
                         nic ? params->ddio_ways : params->llc_ways, params->llc_victims);
}

/* Until every queue on the way is as full as it will be: the NIC's buffer is the largest. */
static uint64_t warm_up(const struct rpmi_params *params, const struct rpm_load *load)
{
    uint64_t written = rpmi_load_written(load);
    uint64_t each = written < RPMI_LINE_BYTES ? RPMI_LINE_BYTES : written;
    uint64_t fill = load->by == RPM_BY_NIC ? WARM_UP_BUFFERS * params->nic_buffer : 0;
    uint64_t ops = (fill > WARM_UP_BYTES ? fill : WARM_UP_BYTES) / each;
    uint64_t rounds = 2 * (uint64_t)load->threads * load->depth;

    ops = ops > rounds ? ops : rounds;
    return ops > load->ops / 4 ? ops : load->ops / 4;
}

/* Large, and hardly touched: an alignment that leaves the zeros to the system. */
static struct rpmi_rig *new_rig(const struct rpmi_params *params, const struct rpm_load *load)
{
    struct rpmi_rig *rig = rpmi_alloc(sizeof(*rig), 16);

    if (rig == NULL)
        return NULL;
    rig->params = params;
    rig->load = *load;
    rig->ddio = load->ddio == RPM_YES;
    rig->modules = (uint32_t)params->dimms;
    rpmi_rng_seed(&rig->rng, load->seed);
    return rig;
}

static int furnish(struct rpmi_rig *rig, uint64_t clients)
{
    int err = reserve(rig, clients);

    if (err == 0)
        err = open_cache(rig);
    for (uint16_t i = 0; err == 0 && i < rig->modules; i++) {
        uint16_t dram = (uint16_t)(RPMI_RIG_MODULES + i);

        rpmi_module_open(&rig->module[i], i, false, rig->params);
        rpmi_module_open(&rig->module[dram], dram, true, rig->params);
    }
    return err;
}

static void work_of(const struct rpm_load *load, struct rpmi_act *work)
{
    *work = (struct rpmi_act){ .by = load->by,
                               .op = load->op,
                               .copy = load->copy,
                               .persist = load->persist,
                               .memory = load->memory,
                               .flush_memory = load->flush_memory,
                               .pattern = load->pattern,
                               .bytes = load->bytes,
                               .written = rpmi_load_written(load),
                               .align = load->align_bytes };
}

int rpmi_rig_open(const struct rpmi_params *params, bool ddio, const struct rpm_load *load,
                  struct rpmi_rig **out)
{
    struct rpmi_rig *rig = new_rig(params, load);
    uint64_t clients;
    int err;

    if (rig == NULL)
        return RPM_E_NOMEM;
    if (load->ddio == 0)
        rig->ddio = ddio;
    err = rpmi_load_check(params, &rig->load);
    if (err == 0) {
        clients = load->by == RPM_BY_CORE ? 0 : (uint64_t)rig->load.threads * rig->load.depth;
        err = furnish(rig, clients);
    }
    if (err != 0) {
        rpmi_rig_close(&rig);
        return err;
    }
    work_of(&rig->load, &rig->work);
    for (uint32_t i = 0; i < rig->slots; i++) {
        rig->slot[i].work = &rig->work;
        rig->slot[i].works = 1;
    }
    rpmi_load_places(rig);
    rig->warm_up = warm_up(params, &rig->load);
    *out = rig;
    return 0;
}

int rpmi_rig_open_server(const struct rpmi_params *params, const struct rpm_load *load,
                         uint32_t slots, struct rpmi_play *play, struct rpmi_rig **out)
{
    struct rpmi_rig *rig = new_rig(params, load);
    int err;

    RPM_ASSERT(play != NULL && load->by == RPM_BY_CALL);
    if (rig == NULL)
        return RPM_E_NOMEM;
    rig->play = play;
    err = furnish(rig, slots);
    if (err != 0) {
        rpmi_rig_close(&rig);
        return err;
    }
    *out = rig;
    return 0;
}

void rpmi_rig_close(struct rpmi_rig **out)
{
    struct rpmi_rig *rig = *out;

    if (rig == NULL)
        return;
    rpmi_llc_close(&rig->llc);
    rpmi_queue_close(&rig->queue);
    rpmi_free(rig->slot);
    rpmi_free(rig->reads.waiting.word);
    rpmi_free(rig->atomics.waiting.word);
    rpmi_free(rig->calls.word);
    rpmi_free(rig->backlog.word);
    rpmi_free(rig->position);
    rpmi_free(rig->thread);
    rpmi_free(rig->inbound);
    rpmi_free(rig->tlp);
    rpmi_free(rig->latency_ps);
    rpmi_free(rig);
    *out = NULL;
}

void rpmi_rig_at(struct rpmi_rig *rig, uint64_t at_ps, enum rpmi_rig_event kind, uint32_t who,
                 uint32_t owner, uint64_t arg)
{
    struct rpmi_event event = {
        .at = at_ps, .kind = (uint16_t)kind, .who = (uint16_t)who, .gen = owner, .arg = arg
    };

    RPM_ASSERT(at_ps >= rig->now_ps);
    rpmi_queue_push(&rig->queue, &event);
}

/* Who asked for a line has it. */
static void data(struct rpmi_rig *rig, const struct rpmi_event *event)
{
    uint32_t index = RPMI_OWNER_INDEX(event->gen);

    switch (RPMI_OWNER_KIND(event->gen)) {
    case RPMI_OWNER_CORE:
        rpmi_rig_core_line(rig, index);
        return;
    case RPMI_OWNER_FILL:
        rpmi_rig_core_filled(rig, index, event->arg);
        return;
    case RPMI_OWNER_INBOUND:
        rpmi_rig_inbound_read_back(rig, index);
        return;
    case RPMI_OWNER_FETCH:
        rpmi_rig_nic_data(rig, index);
        return;
    default:
        RPM_ASSERT(RPMI_OWNER_KIND(event->gen) == RPMI_OWNER_NONE);
    }
}

static void happen_memory(struct rpmi_rig *rig, const struct rpmi_event *event)
{
    struct rpmi_module *module = &rig->module[event->who];

    switch (event->kind) {
    case RPMI_RIG_WRITE:
        rpmi_module_write(rig, module, event->arg, event->gen);
        return;
    case RPMI_RIG_READ:
        rpmi_module_read(rig, module, event->arg, event->gen);
        return;
    case RPMI_RIG_DRAIN:
        rpmi_module_drained(rig, module);
        return;
    case RPMI_RIG_MEDIA:
        rpmi_module_media(rig, module);
        return;
    default:
        RPM_ASSERT(event->kind == RPMI_RIG_DATA);
        data(rig, event);
    }
}

static void happen(struct rpmi_rig *rig, const struct rpmi_event *event)
{
    uint32_t slot = (uint32_t)event->arg;

    switch (event->kind) {
    case RPMI_RIG_CORE:
        rpmi_rig_core_event(rig, event->who);
        return;
    case RPMI_RIG_POST:
        if (rig->play != NULL)
            rpmi_play_begin(rig->play, slot);
        else
            rpmi_rig_client_post(rig, slot);
        return;
    case RPMI_RIG_SEND:
        rpmi_machine_come(rig, slot);
        return;
    case RPMI_RIG_LEAVE:
        rpmi_rig_client_leave(rig, slot, (enum rpmi_message)event->who);
        return;
    case RPMI_RIG_ARRIVE:
        rpmi_rig_client_arrive(rig, slot, (enum rpmi_message)event->who);
        return;
    case RPMI_RIG_MESSAGE:
        rpmi_rig_nic_message(rig, slot, (enum rpmi_message)event->who);
        return;
    case RPMI_RIG_INBOUND:
        rpmi_rig_nic_inbound(rig, event->arg);
        return;
    case RPMI_RIG_FETCHED:
        rpmi_rig_nic_fetched(rig, slot);
        return;
    case RPMI_RIG_UNIT:
        rpmi_rig_nic_changed(rig, slot);
        return;
    case RPMI_RIG_DONE:
        rpmi_rig_client_done(rig, slot);
        return;
    default:
        happen_memory(rig, event);
    }
}

void rpmi_rig_counters(const struct rpmi_rig *rig, struct rpm_cost *cost)
{
    uint64_t line = rig->load.memory == RPM_LOAD_DRAM ? RPMI_LINE_BYTES : rig->params->media_line;
    uint32_t first = rig->load.memory == RPM_LOAD_DRAM ? RPMI_RIG_MODULES : 0;

    memset(cost, 0, sizeof(*cost));
    for (uint32_t i = first; i < first + rig->modules; i++) {
        const struct rpmi_module_counts *count = &rig->module[i].count;

        cost->media_read_bytes += count->media_reads * line;
        cost->media_write_bytes += count->media_writes * line;
        cost->module_read_bytes += count->reads * RPMI_LINE_BYTES;
        cost->module_write_bytes += count->writes * RPMI_LINE_BYTES;
    }
    cost->partial_words = rig->partial_words;
}

void rpmi_rig_finish(struct rpmi_rig *rig, uint64_t start_ps, uint64_t end_ps)
{
    if (rig->finished >= rig->warm_up && rig->finished < rig->warm_up + rig->load.ops)
        rig->latency_ps[rig->finished - rig->warm_up] = end_ps - start_ps;
    rig->finished++;
    if (rig->finished == rig->warm_up) {
        rig->begin_ps = rig->now_ps;
        rpmi_rig_counters(rig, &rig->before);
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Nearest rank. */
static uint64_t rank(const uint64_t *latency_ps, uint64_t count, uint64_t per_mille)
{
    uint64_t nth = (count * per_mille + 999) / 1000;

    return latency_ps[nth == 0 ? 0 : nth - 1];
}

void rpmi_rig_latencies(uint64_t *latency_ps, struct rpm_cost *cost)
{
    uint64_t sum_ps = 0;

    RPM_ASSERT(cost->ops > 0);
    qsort(latency_ps, cost->ops, sizeof(*latency_ps), by_value);
    for (uint64_t i = 0; i < cost->ops; i++)
        sum_ps += latency_ps[i];
    cost->mean_ps = sum_ps / cost->ops;
    cost->p50_ps = rank(latency_ps, cost->ops, 500);
    cost->p90_ps = rank(latency_ps, cost->ops, 900);
    cost->p99_ps = rank(latency_ps, cost->ops, 990);
    cost->p999_ps = rank(latency_ps, cost->ops, 999);
    cost->max_ps = rank(latency_ps, cost->ops, 1000);
}

static void sum_up(struct rpmi_rig *rig, struct rpm_cost *cost)
{
    rpmi_rig_counters(rig, cost);
    cost->size = sizeof(*cost);
    cost->ops = rig->load.ops;
    cost->duration_ps = rig->now_ps - rig->begin_ps;
    cost->bytes = rig->load.ops * rig->load.bytes;
    cost->media_read_bytes -= rig->before.media_read_bytes;
    cost->media_write_bytes -= rig->before.media_write_bytes;
    cost->module_read_bytes -= rig->before.module_read_bytes;
    cost->module_write_bytes -= rig->before.module_write_bytes;
    cost->partial_words -= rig->before.partial_words;
    cost->events = rig->events;
    rpmi_rig_latencies(rig->latency_ps, cost);
}

void rpmi_rig_start(struct rpmi_rig *rig)
{
    rpmi_load_start(rig);
    rpmi_rig_core_start(rig);
    if (rig->load.by != RPM_BY_CORE)
        rpmi_rig_client_start(rig);
}

bool rpmi_rig_step(struct rpmi_rig *rig)
{
    struct rpmi_event event;

    if (!rpmi_queue_pop(&rig->queue, &event))
        return false;
    RPM_ASSERT(event.at >= rig->now_ps);
    rig->now_ps = event.at;
    rig->events++;
    happen(rig, &event);
    return true;
}

void rpmi_rig_run(struct rpmi_rig *rig, struct rpm_cost *cost)
{
    uint64_t enough = rig->warm_up + rig->load.ops;

    rpmi_rig_start(rig);
    while (rig->finished < enough) {
        bool more = rpmi_rig_step(rig);

        RPM_ASSERT(more); /* every operation that ends begins another */
    }
    sum_up(rig, cost);
}
