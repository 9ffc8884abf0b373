/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster_run.c: sets up several server models with one clock, runs scripts on them, and sums up.
 *
 * Invariant: the event that happens next is the earliest one of all servers.
 *
 * Tests: tests/unit/sim/perf/cluster_run_test.cpp
 */
#include "sim/perf/cluster_model.h"

#include "base/err.h"
#include "base/mem.h"

#define SLOTS_MAX (1u << 18)
#define SLOTS_FIRST 64u   /* of each server; it grows when more operations are outstanding */
#define WARM_UP_ROUNDS 4u /* transactions of each coroutine */
#define WARM_UP_MIN 2048u
#define FAILURES_IN_ROW_MAX 500000u /* attempts that fail, one after another */

static bool reserve(struct rpmi_cluster_model *cluster)
{
    const struct rpm_script_load *load = &cluster->load;
    uint64_t op_classes = rpmi_script_op_classes(load);

    cluster->script = rpmi_alloc(load->count * sizeof(*cluster->script), 64);
    cluster->op_class = rpmi_alloc(op_classes * sizeof(*cluster->op_class), 64);
    cluster->step = rpmi_alloc(op_classes * sizeof(*cluster->step), 64);
    cluster->coroutine = rpmi_alloc(cluster->coroutines * sizeof(*cluster->coroutine), 64);
    cluster->thread = rpmi_alloc(load->threads * sizeof(*cluster->thread), 64);
    cluster->machine = rpmi_alloc((load->machines + 1) * sizeof(*cluster->machine), 64);
    cluster->doorbell = rpmi_alloc(
        ((uint64_t)load->machines * load->doorbells + 1) * sizeof(*cluster->doorbell), 64);
    cluster->word = rpmi_alloc(((uint64_t)load->words + 1) * sizeof(*cluster->word), 64);
    cluster->version = rpmi_alloc(
        ((uint64_t)cluster->coroutines * cluster->versions + 1) * sizeof(*cluster->version), 64);
    cluster->choice = rpmi_alloc(load->count * sizeof(*cluster->choice), 64);
    cluster->filler = rpmi_alloc(op_classes * sizeof(*cluster->filler), 64);
    cluster->first_filler = rpmi_alloc((load->servers + 1) * sizeof(*cluster->first_filler), 64);
    cluster->server = rpmi_alloc(load->servers * sizeof(*cluster->server), 64);
    cluster->spare = rpmi_alloc(load->servers * sizeof(*cluster->spare), 64);
    cluster->rung = rpmi_alloc(load->servers * sizeof(*cluster->rung), 64);
    cluster->before = rpmi_alloc(load->servers * sizeof(*cluster->before), 64);
    cluster->position =
        rpmi_alloc((uint64_t)load->threads * load->servers * sizeof(*cluster->position), 16);
    cluster->latency_ps = rpmi_alloc(load->transactions * sizeof(*cluster->latency_ps), 64);
    return cluster->script != NULL && cluster->op_class != NULL && cluster->step != NULL &&
           cluster->coroutine != NULL && cluster->thread != NULL && cluster->machine != NULL &&
           cluster->doorbell != NULL && cluster->word != NULL && cluster->version != NULL &&
           cluster->choice != NULL && cluster->filler != NULL && cluster->first_filler != NULL &&
           cluster->server != NULL && cluster->spare != NULL && cluster->rung != NULL &&
           cluster->before != NULL && cluster->position != NULL && cluster->latency_ps != NULL;
}

/* The load of one server, for its server model. */
static struct rpm_load server_load(const struct rpmi_cluster_model *cluster, uint32_t index,
                                   bool ddio)
{
    struct rpm_load load = rpm_load_init();

    load.by = RPM_BY_CALL;
    load.op = RPM_LOAD_MIX;
    load.copy = RPM_COPY_STREAM;
    load.bytes = RPMI_LINE_BYTES;
    load.fence_bytes = 1;
    for (uint32_t i = 0; i < cluster->op_classes; i++)
        load.bytes =
            cluster->op_class[i].written > load.bytes ? cluster->op_class[i].written : load.bytes;
    load.pad_bytes = 1;
    load.threads = 1;
    load.depth = 1;
    load.cores = cluster->load.cores;
    load.remote_socket = cluster->load.remote_socket;
    load.ddio = ddio ? RPM_YES : RPM_NO;
    load.writers_max = cluster->load.writers_max;
    load.ops = 1;
    load.seed = cluster->load.seed + index;
    return load;
}

static int open_server(struct rpmi_cluster_model *cluster, uint32_t index, bool ddio)
{
    struct rpm_load load = server_load(cluster, index, ddio);
    uint32_t slots = cluster->slots_max < SLOTS_FIRST ? cluster->slots_max : SLOTS_FIRST;
    int err = rpmi_server_open_server(cluster->params, &load, slots, cluster, index,
                                      &cluster->server[index]);

    if (err != 0)
        return err;
    return rpmi_slots_spare(cluster, index, 0);
}

static int open_servers(struct rpmi_cluster_model *cluster, bool ddio)
{
    uint64_t slots = (uint64_t)cluster->coroutines * rpmi_script_widest(cluster);
    int err;

    if (slots > SLOTS_MAX)
        return rpmi_fail(
            RPM_E_INVAL,
            "scripts: up to %llu operations are outstanding at a server, the maximum is "
            "%u: use fewer threads, coroutines, or operations in a phase",
            (unsigned long long)slots, SLOTS_MAX);
    cluster->slots_max = (uint32_t)slots;
    err = rpmi_earliest_open(&cluster->earliest, cluster->load.servers);
    for (uint32_t i = 0; err == 0 && i < cluster->load.servers; i++)
        err = open_server(cluster, i, ddio);
    if (err == 0) /* the first one has an event of each coroutine that begins or waits */
        err = rpmi_queue_reserve(&cluster->server[0]->queue,
                                 cluster->server[0]->queue.room + cluster->coroutines);
    return err;
}

static uint64_t warm_up(const struct rpmi_cluster_model *cluster)
{
    uint64_t least = WARM_UP_ROUNDS * (uint64_t)cluster->coroutines;

    least = least > WARM_UP_MIN ? least : WARM_UP_MIN;
    return least > cluster->load.transactions / 4 ? least : cluster->load.transactions / 4;
}

int rpmi_cluster_open(const struct rpmi_params *params, bool ddio,
                      const struct rpm_script_load *load, struct rpmi_cluster_model **out)
{
    struct rpmi_cluster_model *cluster = rpmi_alloc(sizeof(*cluster), 64);
    int err;

    if (cluster == NULL)
        return RPM_E_NOMEM;
    cluster->params = params;
    cluster->load = *load;
    err = rpmi_script_check(&cluster->load);
    if (err == 0) {
        cluster->coroutines = cluster->load.threads * cluster->load.coroutines;
        cluster->versions = rpmi_script_versions(&cluster->load);
        err = reserve(cluster) ? 0 : RPM_E_NOMEM;
    }
    if (err == 0) {
        rpmi_script_take(cluster);
        rpmi_rng_seed(&cluster->rng, load->seed);
        err = open_servers(cluster, load->ddio == 0 ? ddio : load->ddio == RPM_YES);
    }
    if (err != 0) {
        rpmi_cluster_close(&cluster);
        return err;
    }
    cluster->warm_up = warm_up(cluster);
    *out = cluster;
    return 0;
}

void rpmi_cluster_close(struct rpmi_cluster_model **out)
{
    struct rpmi_cluster_model *cluster = *out;

    if (cluster == NULL)
        return;
    for (uint32_t i = 0; cluster->server != NULL && i < cluster->load.servers; i++)
        rpmi_server_close(&cluster->server[i]);
    for (uint32_t i = 0; cluster->spare != NULL && i < cluster->load.servers; i++)
        rpmi_free(cluster->spare[i].word);
    rpmi_earliest_close(&cluster->earliest);
    rpmi_free(cluster->choice);
    rpmi_free(cluster->filler);
    rpmi_free(cluster->first_filler);
    rpmi_free(cluster->server);
    rpmi_free(cluster->spare);
    rpmi_free(cluster->rung);
    rpmi_free(cluster->before);
    rpmi_free(cluster->script);
    rpmi_free(cluster->op_class);
    rpmi_free(cluster->step);
    rpmi_free(cluster->coroutine);
    rpmi_free(cluster->thread);
    rpmi_free(cluster->machine);
    rpmi_free(cluster->doorbell);
    rpmi_free(cluster->word);
    rpmi_free(cluster->version);
    rpmi_free(cluster->position);
    rpmi_free(cluster->latency_ps);
    rpmi_free(cluster);
    *out = NULL;
}

/* Does this operation leave lines in the cache of its server? */
static bool fills_cache(const struct rpmi_op_class *op_class)
{
    return op_class->op == RPM_LOAD_WRITE && op_class->by == RPM_BY_NIC &&
           op_class->memory == RPM_LOAD_NVM;
}

/* List the operations that leave lines in a cache by their servers: those of server i are
 * cluster->filler[first_filler[i]] to [first_filler[i + 1] - 1]. Each has the sum of the weights up
 * to its own, which is its script's divided by the operations that the script has. */
static void list_fillers(struct rpmi_cluster_model *cluster)
{
    uint32_t *end = cluster->first_filler; /* of the server before, while the list is made */
    uint32_t all;

    for (uint32_t i = 0; i < cluster->op_classes; i++)
        if (fills_cache(&cluster->op_class[i]))
            end[cluster->step[i].server + 1]++;
    for (uint32_t i = 0; i < cluster->load.servers; i++)
        end[i + 1] += end[i];
    all = end[cluster->load.servers];
    for (uint32_t i = cluster->load.count; i-- > 0;) {
        const struct rpmi_script *script = &cluster->script[i];
        uint64_t weight = (script->weight << 16) / script->count;

        for (uint32_t k = script->first + script->count; k-- > script->first;)
            if (fills_cache(&cluster->op_class[k]))
                cluster->filler[--end[cluster->step[k].server + 1]] =
                    (struct rpmi_choice){ .until = weight, .which = k };
    }
    for (uint32_t i = 0; i < cluster->load.servers; i++) /* each end is the first one by now */
        end[i] = end[i + 1];
    end[cluster->load.servers] = all;
    for (uint32_t i = 0; i < cluster->load.servers; i++)
        for (uint32_t k = end[i] + 1; k < end[i + 1]; k++)
            cluster->filler[k].until += cluster->filler[k - 1].until;
}

/* Fill a server's cache with the lines that one-sided writes of a long run would have left. */
static void fill_cache(struct rpmi_cluster_model *cluster, uint32_t index)
{
    struct rpmi_server_model *server = cluster->server[index];
    uint64_t lines = 4ull * server->llc.sets * server->llc.ways;
    const struct rpmi_choice *filler = &cluster->filler[cluster->first_filler[index]];
    uint32_t fillers = cluster->first_filler[index + 1] - cluster->first_filler[index];

    if (fillers == 0 || filler[fillers - 1].until == 0)
        return;
    while (lines > 0) {
        const struct rpmi_op_class *op_class =
            &cluster->op_class[rpmi_script_draw(cluster, filler, fillers)];
        uint32_t thread = (uint32_t)rpmi_rng_below(&cluster->rng, cluster->load.threads);
        uint64_t at = rpmi_script_address(cluster, thread, index, op_class);
        uint64_t end = at + op_class->written;

        for (at /= RPMI_LINE_BYTES; at * RPMI_LINE_BYTES < end; at++) {
            if (!rpmi_llc_has(&server->llc, at))
                (void)rpmi_llc_fill(&server->llc, at, &server->rng);
            lines -= lines > 0;
        }
    }
}

void rpmi_cluster_start(struct rpmi_cluster_model *cluster)
{
    list_fillers(cluster);
    for (uint32_t i = 0; i < cluster->load.servers; i++) {
        rpmi_server_core_start(cluster->server[i]);
        if (cluster->server[i]->ddio)
            fill_cache(cluster, i);
    }
    for (uint32_t i = 0; i < cluster->coroutines; i++)
        cluster->coroutine[i].version = &cluster->version[(uint64_t)i * cluster->versions];
    for (uint32_t i = 0; i < cluster->coroutines; i++) /* not all at once */
        rpmi_server_at(cluster->server[0], rpmi_rng_below(&cluster->rng, 1000000),
                       RPMI_PERF_EV_POST, 0, 0, i);
}

/* Process the earliest event of all servers; of two at the same time, that of the first server. */
void rpmi_cluster_step(struct rpmi_cluster_model *cluster)
{
    uint32_t index = rpmi_earliest_server(&cluster->earliest);
    uint64_t next_ps = rpmi_queue_next(&cluster->server[index]->queue);
    bool more;

    RPM_ASSERT(next_ps >= cluster->now_ps && next_ps < UINT64_MAX);
    cluster->now_ps = next_ps;
    more = rpmi_server_step(cluster->server[index]);
    RPM_ASSERT(more);
}

static void sum_up(struct rpmi_cluster_model *cluster, struct rpm_cost *cost)
{
    memset(cost, 0, sizeof(*cost));
    cost->size = sizeof(*cost);
    cost->ops = cluster->load.transactions;
    cost->duration_ps = cluster->now_ps - cluster->begin_ps;
    cost->bytes = cluster->bytes - cluster->before_bytes;
    cost->requests = cluster->requests - cluster->before_requests;
    cost->failures = cluster->failures - cluster->before_failures;
    for (uint32_t i = 0; i < cluster->load.servers; i++) {
        const struct rpm_cost *before = &cluster->before[i];
        struct rpm_cost after;

        rpmi_server_counters(cluster->server[i], &after);
        cost->media_read_bytes += after.media_read_bytes - before->media_read_bytes;
        cost->media_write_bytes += after.media_write_bytes - before->media_write_bytes;
        cost->module_read_bytes += after.module_read_bytes - before->module_read_bytes;
        cost->module_write_bytes += after.module_write_bytes - before->module_write_bytes;
        cost->partial_words += after.partial_words - before->partial_words;
        cost->events += cluster->server[i]->events;
    }
    rpmi_server_latencies(cluster->latency_ps, cost);
}

int rpmi_cluster_run(struct rpmi_cluster_model *cluster, struct rpm_cost *cost)
{
    rpmi_cluster_start(cluster);
    while (cluster->finished < cluster->warm_up + cluster->load.transactions &&
           cluster->failures_in_row < FAILURES_IN_ROW_MAX && cluster->err == 0)
        rpmi_cluster_step(cluster);
    if (cluster->err != 0)
        return cluster->err;
    if (cluster->failures_in_row == FAILURES_IN_ROW_MAX)
        return rpmi_fail(
            RPM_E_INVAL,
            "scripts: no transaction has ended in %u attempts, all of which met conflicts: "
            "set backoff_ns, or name more words",
            FAILURES_IN_ROW_MAX);
    sum_up(cluster, cost);
    return 0;
}
