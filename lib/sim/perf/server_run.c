/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server_run.c: sets up a server model, runs a load on it event by event until enough
 * operations have ended, and sums up the cost.
 *
 * Invariant: only dispatch() calls upwards. A part calls parts below it; from the bottom: clock,
 * totals and loads, modules, memory, root complex (inbound.c), NIC, cores, client machines,
 * clients, transactions. A part reaches a part above it by an event.
 *
 * Tests: tests/unit/sim/perf/server_run_test.cpp
 */
#include "sim/perf/server_model.h"

#include "base/err.h"
#include "base/mem.h"
#include "sim/perf/cluster_model.h"

#define WARM_UP_BYTES (512u << 10) /* more than the modules' buffers hold */
#define WARM_UP_BUFFERS 4u         /* fillings of a NIC's buffer */

static void dispatch(struct rpmi_server_model *server, const struct rpmi_event *event);

static bool reserve_rings(struct rpmi_server_model *server, uint64_t clients, uint64_t tlps)
{
    const struct rpm_load *load = &server->load;

    server->inbound_room = (uint32_t)tlps;
    server->position = rpmi_alloc(rpmi_load_areas(load) * sizeof(*server->position), 64);
    server->thread = rpmi_alloc(load->threads * sizeof(*server->thread), 64);
    server->next_start_ps = rpmi_alloc(load->threads * sizeof(*server->next_start_ps), 64);
    server->inbound = rpmi_alloc(tlps * sizeof(*server->inbound), 64);
    server->tlp = rpmi_alloc(tlps * sizeof(*server->tlp), 64);
    server->latency_ps = rpmi_alloc(load->ops * sizeof(*server->latency_ps), 64);
    return rpmi_slots_grow(server, (uint32_t)clients) == 0 && server->position != NULL &&
           server->thread != NULL && server->next_start_ps != NULL && server->inbound != NULL &&
           server->tlp != NULL && server->latency_ps != NULL;
}

/* Allocate room for all operations and lines that can be outstanding. */
static int reserve(struct rpmi_server_model *server, uint64_t clients)
{
    const struct rpm_load *load = &server->load;
    const struct rpmi_params *params = server->params;
    uint64_t one = rpmi_load_written(load) + params->pcie_payload;
    uint64_t tlps =
        (params->nic_buffer + one) / RPMI_LINE_BYTES + params->nic_reads + params->nic_atomics + 64;
    uint64_t core = 4 * params->fill_buffers + params->reads_in_flight + 2;
    uint64_t events = tlps + rpmi_slots_events(params, clients) + RPMI_SERVER_CORES * core +
                      8 * RPMI_SERVER_MODULES + 4 * (params->inbound_lines + 8);

    if (!reserve_rings(server, clients, tlps))
        return RPM_E_NOMEM;
    return rpmi_queue_reserve(&server->queue, (uint32_t)events);
}

/* Writes of a NIC allocate in ddio_ways only, stores of a core in all ways. */
static int open_cache(struct rpmi_server_model *server)
{
    const struct rpmi_params *params = server->params;
    bool nic = server->load.by == RPM_BY_NIC || server->cluster != NULL;

    return rpmi_llc_open(&server->llc, params->llc_bytes / RPMI_LINE_BYTES / params->llc_ways,
                         nic ? params->ddio_ways : params->llc_ways, params->llc_victims);
}

/* The number of operations that fill every queue on the path; the NIC's buffer is the largest. */
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

/* Large and mostly unused: not aligned by the allocator, so that the system provides zeroed
 * pages. */
static struct rpmi_server_model *new_server(const struct rpmi_params *params,
                                            const struct rpm_load *load)
{
    struct rpmi_server_model *server = rpmi_alloc(sizeof(*server), 16);

    if (server == NULL)
        return NULL;
    server->params = params;
    server->dispatch = dispatch;
    server->load = *load;
    server->ddio = load->ddio == RPM_YES;
    server->modules = (uint32_t)params->dimms;
    rpmi_rng_seed(&server->rng, load->seed);
    return server;
}

static int open_parts(struct rpmi_server_model *server, uint64_t clients)
{
    int err = reserve(server, clients);

    if (err == 0)
        err = open_cache(server);
    for (uint16_t i = 0; err == 0 && i < server->modules; i++) {
        uint16_t dram = (uint16_t)(RPMI_SERVER_MODULES + i);

        rpmi_module_open(&server->module[i], i, false, server->params);
        rpmi_module_open(&server->module[dram], dram, true, server->params);
    }
    return err;
}

static void op_class_of(const struct rpm_load *load, struct rpmi_op_class *op_class)
{
    bool waits = load->persist == RPM_PERSIST_CHAIN && RPMI_CANARY(MODEL_NO_CHAIN);

    *op_class = (struct rpmi_op_class){ .by = load->by,
                                        .op = load->op,
                                        .copy = load->copy,
                                        .persist = waits ? RPM_PERSIST_WAIT : load->persist,
                                        .memory = load->memory,
                                        .flush_memory = load->flush_memory,
                                        .pattern = load->pattern,
                                        .bytes = load->bytes,
                                        .written = rpmi_load_written(load),
                                        .align = load->align_bytes };
}

int rpmi_server_open(const struct rpmi_params *params, bool ddio, const struct rpm_load *load,
                     struct rpmi_server_model **out)
{
    struct rpmi_server_model *server = new_server(params, load);
    uint64_t clients;
    int err;

    if (server == NULL)
        return RPM_E_NOMEM;
    if (load->ddio == 0)
        server->ddio = ddio;
    err = rpmi_load_check(params, &server->load);
    if (err == 0) {
        clients = load->by == RPM_BY_CORE ? 0 : (uint64_t)server->load.threads * server->load.depth;
        err = open_parts(server, clients);
    }
    if (err != 0) {
        rpmi_server_close(&server);
        return err;
    }
    op_class_of(&server->load, &server->op_class);
    for (uint32_t i = 0; i < server->slots; i++) {
        server->slot[i].op_class = &server->op_class;
        server->slot[i].op_classes = 1;
    }
    rpmi_load_count_starts(server);
    server->warm_up = warm_up(params, &server->load);
    *out = server;
    return 0;
}

int rpmi_server_open_server(const struct rpmi_params *params, const struct rpm_load *load,
                            uint32_t slots, struct rpmi_cluster_model *cluster, uint32_t index,
                            struct rpmi_server_model **out)
{
    struct rpmi_server_model *server = new_server(params, load);
    int err;

    RPM_ASSERT(cluster != NULL && load->by == RPM_BY_CALL);
    if (server == NULL)
        return RPM_E_NOMEM;
    server->cluster = cluster;
    server->earliest = &cluster->earliest;
    server->index = index;
    err = open_parts(server, slots);
    if (err != 0) {
        rpmi_server_close(&server);
        return err;
    }
    *out = server;
    return 0;
}

void rpmi_server_close(struct rpmi_server_model **out)
{
    struct rpmi_server_model *server = *out;

    if (server == NULL)
        return;
    rpmi_llc_close(&server->llc);
    rpmi_queue_close(&server->queue);
    rpmi_free(server->slot);
    rpmi_free(server->reads.waiting.word);
    rpmi_free(server->atomics.waiting.word);
    rpmi_free(server->calls.word);
    rpmi_free(server->backlog.word);
    rpmi_free(server->position);
    rpmi_free(server->thread);
    rpmi_free(server->next_start_ps);
    rpmi_free(server->inbound);
    rpmi_free(server->tlp);
    rpmi_free(server->latency_ps);
    rpmi_free(server);
    *out = NULL;
}

/* A line was read: hand it to the part that requested it. */
static void data(struct rpmi_server_model *server, const struct rpmi_event *event)
{
    uint32_t index = RPMI_OWNER_INDEX(event->gen);

    switch (RPMI_OWNER_KIND(event->gen)) {
    case RPMI_OWNER_CORE:
        rpmi_server_core_line(server, index);
        return;
    case RPMI_OWNER_FILL:
        rpmi_server_core_filled(server, index, event->arg);
        return;
    case RPMI_OWNER_GRANT:
        rpmi_server_core_granted(server, index, event->arg);
        return;
    case RPMI_OWNER_INBOUND:
        rpmi_server_inbound_read_back(server, index);
        return;
    case RPMI_OWNER_FETCH:
        rpmi_server_nic_data(server, index);
        return;
    default:
        RPM_ASSERT(RPMI_OWNER_KIND(event->gen) == RPMI_OWNER_NONE);
    }
}

static void dispatch_memory(struct rpmi_server_model *server, const struct rpmi_event *event)
{
    struct rpmi_module *module = &server->module[event->who];

    switch (event->kind) {
    case RPMI_PERF_EV_WRITE:
        rpmi_module_write(server, module, event->arg, event->gen);
        return;
    case RPMI_PERF_EV_READ:
        rpmi_module_read(server, module, event->arg, event->gen);
        return;
    case RPMI_PERF_EV_LINE_DRAINED:
        rpmi_module_drained(server, module);
        return;
    case RPMI_PERF_EV_MEDIA_DONE:
        rpmi_module_media(server, module);
        return;
    default:
        RPM_ASSERT(event->kind == RPMI_PERF_EV_LINE_READ);
        data(server, event);
    }
}

/* A memory controller accepted a line: notify the part that sent it. */
static void accepted(struct rpmi_server_model *server, uint32_t owner)
{
    uint32_t index = RPMI_OWNER_INDEX(owner);

    switch (RPMI_OWNER_KIND(owner)) {
    case RPMI_OWNER_CORE:
        rpmi_server_core_line(server, index);
        return;
    case RPMI_OWNER_INBOUND:
        rpmi_server_inbound_placed(server);
        return;
    case RPMI_OWNER_VICTIM:
        rpmi_server_core_evicted(server, index);
        return;
    default:
        RPM_ASSERT(RPMI_OWNER_KIND(owner) == RPMI_OWNER_NONE);
    }
}

/* Handles the events of the memory, and the kinds that rpmi_server_dispatch() never queues. */
static void dispatch_at_once(struct rpmi_server_model *server, const struct rpmi_event *event)
{
    switch (event->kind) {
    case RPMI_PERF_EV_LINE_ACCEPTED:
        accepted(server, event->gen);
        return;
    case RPMI_PERF_EV_READ_REQUEST:
        rpmi_server_nic_fetch(server, (uint32_t)event->arg);
        return;
    case RPMI_PERF_EV_TLP_LEFT:
        rpmi_server_nic_left(server, event->arg);
        return;
    case RPMI_PERF_EV_CALL_MESSAGE:
        rpmi_server_core_call(server, (uint32_t)event->arg);
        return;
    default:
        dispatch_memory(server, event);
    }
}

/* A client's thread polls a completion: the operation ends, or its second round trip begins. */
static void done(struct rpmi_server_model *server, uint32_t slot)
{
    if (!rpmi_server_client_done(server, slot))
        return;
    if (server->cluster != NULL) {
        rpmi_cluster_done(server, slot);
        return;
    }
    rpmi_server_finish(server, server->slot[slot].start_ps, server->now_ps);
    rpmi_server_client_next(server, slot);
}

static void dispatch(struct rpmi_server_model *server, const struct rpmi_event *event)
{
    uint32_t slot = (uint32_t)event->arg;

    switch (event->kind) {
    case RPMI_PERF_EV_CORE_ACCESS:
        rpmi_server_core_event(server, event->who);
        return;
    case RPMI_PERF_EV_POST:
        if (server->cluster != NULL)
            rpmi_cluster_begin(server->cluster, slot);
        else
            rpmi_server_client_post(server, slot);
        return;
    case RPMI_PERF_EV_DOORBELL:
        rpmi_server_client_ring(server, slot);
        return;
    case RPMI_PERF_EV_AT_CLIENT_PORT:
        rpmi_server_client_leave(server, slot, (enum rpmi_message)event->who);
        return;
    case RPMI_PERF_EV_AT_SERVER_PORT:
        rpmi_server_client_arrive(server, slot, (enum rpmi_message)event->who);
        return;
    case RPMI_PERF_EV_NIC_MESSAGE:
        rpmi_server_nic_message(server, slot, (enum rpmi_message)event->who);
        return;
    case RPMI_PERF_EV_TLP_ARRIVED:
        rpmi_server_nic_inbound(server, event->arg);
        return;
    case RPMI_PERF_EV_NIC_FETCHED:
        rpmi_server_nic_fetched(server, slot);
        return;
    case RPMI_PERF_EV_ATOMIC_DONE:
        rpmi_server_nic_changed(server, slot);
        return;
    case RPMI_PERF_EV_COMPLETION:
        done(server, slot);
        return;
    default:
        dispatch_at_once(server, event);
    }
}

static void sum_up(struct rpmi_server_model *server, struct rpm_cost *cost)
{
    rpmi_server_counters(server, cost);
    cost->size = sizeof(*cost);
    cost->ops = server->load.ops;
    cost->duration_ps = server->now_ps - server->begin_ps;
    cost->bytes = server->load.ops * server->load.bytes;
    cost->media_read_bytes -= server->before.media_read_bytes;
    cost->media_write_bytes -= server->before.media_write_bytes;
    cost->module_read_bytes -= server->before.module_read_bytes;
    cost->module_write_bytes -= server->before.module_write_bytes;
    cost->partial_words -= server->before.partial_words;
    cost->events = server->events;
    rpmi_server_latencies(server->latency_ps, cost);
}

void rpmi_server_start(struct rpmi_server_model *server)
{
    rpmi_load_start(server);
    rpmi_server_core_start(server);
    if (server->load.by != RPM_BY_CORE)
        rpmi_server_client_start(server);
}

bool rpmi_server_step(struct rpmi_server_model *server)
{
    struct rpmi_event event;

    if (!rpmi_server_take(server, &event))
        return false;
    RPM_ASSERT(event.at >= server->now_ps);
    server->now_ps = event.at;
    server->events++;
    dispatch(server, &event);
    return true;
}

void rpmi_server_run(struct rpmi_server_model *server, struct rpm_cost *cost)
{
    uint64_t enough = server->warm_up + server->load.ops;

    rpmi_server_start(server);
    while (server->finished < enough) {
        bool more = rpmi_server_step(server);

        RPM_ASSERT(more); /* every operation that ends begins another */
    }
    sum_up(server, cost);
}
