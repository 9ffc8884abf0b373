/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster_model.c: coroutines carry out scripts on several servers.
 *
 * Invariants
 *   a slot belongs to one operation at a time; all are free again when a coroutine's phase is over
 *   a thread's posts, polls and switches follow each other in its wire, thread->time
 *
 * Tests: tests/unit/sim/perf/cluster_model_test.cpp
 */
#include "sim/perf/cluster_model.h"

#include "base/err.h"
#include "base/mem.h"

#define SLOTS_MOST (1u << 18)
#define WARM_UP_ROUNDS 4u /* transactions of each coroutine */
#define WARM_UP_LEAST 2048u
#define IN_VAIN_MOST 500000u /* attempts that fail, one after another */

static uint32_t index_of(const struct rpmi_cluster_model *cluster,
                         const struct rpmi_server_model *server)
{
    uint32_t index = 0;

    while (cluster->server[index] != server)
        index++;
    return index;
}

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
    cluster->bell =
        rpmi_alloc(((uint64_t)load->machines * load->doorbells + 1) * sizeof(*cluster->bell), 64);
    cluster->word = rpmi_alloc(((uint64_t)load->words + 1) * sizeof(*cluster->word), 64);
    cluster->look = rpmi_alloc(
        ((uint64_t)cluster->coroutines * cluster->looks + 1) * sizeof(*cluster->look), 64);
    cluster->position =
        rpmi_alloc((uint64_t)load->threads * load->servers * sizeof(*cluster->position), 64);
    cluster->latency_ps = rpmi_alloc(load->transactions * sizeof(*cluster->latency_ps), 64);
    return cluster->script != NULL && cluster->op_class != NULL && cluster->step != NULL &&
           cluster->coroutine != NULL && cluster->thread != NULL && cluster->machine != NULL &&
           cluster->bell != NULL && cluster->word != NULL && cluster->look != NULL &&
           cluster->position != NULL && cluster->latency_ps != NULL;
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
    load.far = cluster->load.far;
    load.ddio = ddio ? RPM_YES : RPM_NO;
    load.writers_max = cluster->load.writers_max;
    load.ops = 1;
    load.seed = cluster->load.seed + index;
    return load;
}

static int open_server(struct rpmi_cluster_model *cluster, uint32_t index, uint32_t slots,
                       bool ddio)
{
    struct rpm_load load = server_load(cluster, index, ddio);
    struct rpmi_fifo *spare = &cluster->spare[index];
    int err =
        rpmi_server_open_server(cluster->params, &load, slots, cluster, &cluster->server[index]);

    if (err != 0)
        return err;
    spare->room = slots;
    spare->word = rpmi_alloc((uint64_t)slots * sizeof(*spare->word), 64);
    if (spare->word == NULL)
        return RPM_E_NOMEM;
    for (uint32_t i = 0; i < slots; i++)
        rpmi_fifo_push(spare, i);
    return 0;
}

static int open_servers(struct rpmi_cluster_model *cluster, bool ddio)
{
    uint64_t slots = (uint64_t)cluster->coroutines * rpmi_script_widest(cluster);
    int err = 0;

    if (slots > SLOTS_MOST)
        return rpmi_fail(RPM_E_INVAL,
                         "scripts: more than 262144 operations under way at a server (%llu)",
                         (unsigned long long)slots);
    for (uint32_t i = 0; err == 0 && i < cluster->load.servers; i++)
        err = open_server(cluster, i, (uint32_t)slots, ddio);
    return err;
}

static uint64_t warm_up(const struct rpmi_cluster_model *cluster)
{
    uint64_t least = WARM_UP_ROUNDS * (uint64_t)cluster->coroutines;

    least = least > WARM_UP_LEAST ? least : WARM_UP_LEAST;
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
        cluster->looks = rpmi_script_looks(&cluster->load);
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
    for (uint32_t i = 0; i < RPMI_CLUSTER_SERVERS; i++) {
        rpmi_server_close(&cluster->server[i]);
        rpmi_free(cluster->spare[i].word);
    }
    rpmi_free(cluster->script);
    rpmi_free(cluster->op_class);
    rpmi_free(cluster->step);
    rpmi_free(cluster->coroutine);
    rpmi_free(cluster->thread);
    rpmi_free(cluster->machine);
    rpmi_free(cluster->bell);
    rpmi_free(cluster->word);
    rpmi_free(cluster->look);
    rpmi_free(cluster->position);
    rpmi_free(cluster->latency_ps);
    rpmi_free(cluster);
    *out = NULL;
}

/* A thread has its own log on each server, behind the rows, and writes it as a ring. */
static uint64_t in_log(struct rpmi_cluster_model *cluster, uint32_t thread, uint32_t index,
                       const struct rpmi_op_class *op_class)
{
    uint64_t *position = &cluster->position[thread * cluster->load.servers + index];
    uint64_t at = (*position + op_class->align - 1) / op_class->align * op_class->align;

    if (at + op_class->written > RPMI_CLUSTER_LOG)
        at = 0;
    *position = at + op_class->written;
    return cluster->load.region_bytes + thread * RPMI_CLUSTER_LOG + at;
}

static uint64_t address_of(struct rpmi_cluster_model *cluster, uint32_t thread, uint32_t index,
                           const struct rpmi_op_class *op_class)
{
    uint64_t bytes =
        op_class->memory == RPM_LOAD_DRAM ? cluster->load.dram_bytes : cluster->load.region_bytes;

    if (op_class->pattern == RPM_LOAD_SEQUENTIAL)
        return in_log(cluster, thread, index, op_class);
    return rpmi_rng_below(&cluster->rng, (bytes - op_class->written) / op_class->align + 1) *
           op_class->align;
}

uint64_t rpmi_cluster_address(struct rpmi_server_model *server, uint32_t slot,
                              const struct rpmi_op_class *op_class)
{
    struct rpmi_cluster_model *cluster = server->cluster;

    return address_of(cluster, rpmi_cluster_thread(cluster, server->slot[slot].coroutine),
                      index_of(cluster, server), op_class);
}

static bool same_call(const struct rpmi_cluster_model *cluster, uint32_t a, uint32_t b)
{
    return cluster->op_class[a].by == RPM_BY_CALL && cluster->op_class[b].by == RPM_BY_CALL &&
           cluster->step[a].server == cluster->step[b].server;
}

/* Posts one message: an operation, or all those of a call. Returns how many. The first message of a
 * phase to a server rings the doorbell for all. */
static uint32_t post(struct rpmi_cluster_model *cluster, uint32_t coroutine, uint32_t first,
                     uint32_t end, uint64_t *rung)
{
    uint32_t index = cluster->step[first].server;
    struct rpmi_server_model *server = cluster->server[index];
    uint32_t slot = rpmi_fifo_pop(&cluster->spare[index]);
    struct rpmi_slot_op *op = &server->slot[slot];

    op->op_class = &cluster->op_class[first];
    op->op_classes = 1;
    op->coroutine = coroutine;
    op->rings = (*rung >> index & 1) == 0;
    *rung |= 1ull << index;
    cluster->coroutine[coroutine].pending++;
    cluster->thread[rpmi_cluster_thread(cluster, coroutine)].under_way++;
    op->flushing = false;
    op->write = op->op_class->op != RPM_LOAD_READ;
    while (first + op->op_classes < end && same_call(cluster, first, first + op->op_classes)) {
        op->write = op->write || op->op_class[op->op_classes].op != RPM_LOAD_READ;
        op->op_classes++;
    }
    op->address = address_of(cluster, rpmi_cluster_thread(cluster, coroutine), index, op->op_class);
    server->now_ps = cluster->now_ps; /* no event of this server is due before */
    op->start_ps = cluster->now_ps;
    rpmi_machine_send(server, slot);
    cluster->requests += op->write && op->op_class->by == RPM_BY_NIC &&
                                 op->op_class->op == RPM_LOAD_WRITE &&
                                 op->op_class->persist != RPM_PERSIST_NONE
                             ? 2
                             : 1;
    return op->op_classes;
}

static uint32_t script_end(const struct rpmi_cluster_model *cluster,
                           const struct rpmi_coroutine *its)
{
    return cluster->script[its->script].first + cluster->script[its->script].count;
}

static uint32_t phase_end(const struct rpmi_cluster_model *cluster,
                          const struct rpmi_coroutine *its)
{
    uint32_t end = its->next;

    while (end < script_end(cluster, its) &&
           cluster->step[end].phase == cluster->step[its->next].phase)
        end++;
    return end;
}

static void post_phase(struct rpmi_cluster_model *cluster, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    uint32_t end = phase_end(cluster, its);
    uint64_t rung = 0;

    RPM_ASSERT(its->pending == 0 && its->next < end);
    while (its->next < end)
        its->next += post(cluster, coroutine, its->next, end, &rung);
}

/* Do the messages of the coroutine's next phase fit its thread's outstanding_max? */
static bool has_room(const struct rpmi_cluster_model *cluster, uint32_t coroutine)
{
    const struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    uint32_t under_way = cluster->thread[rpmi_cluster_thread(cluster, coroutine)].under_way;

    return cluster->load.outstanding_max == 0 || under_way == 0 ||
           under_way + phase_end(cluster, its) - its->next <= cluster->load.outstanding_max;
}

static void post_or_wait(struct rpmi_cluster_model *cluster, uint32_t coroutine)
{
    struct rpmi_thread *thread = &cluster->thread[rpmi_cluster_thread(cluster, coroutine)];

    if (thread->first == 0 && has_room(cluster, coroutine)) {
        post_phase(cluster, coroutine);
        return;
    }
    cluster->coroutine[coroutine].waiting = 0;
    if (thread->first == 0)
        thread->first = coroutine + 1;
    else
        cluster->coroutine[thread->last - 1].waiting = coroutine + 1;
    thread->last = coroutine + 1;
}

/* Some of the thread's messages have ended: posts for its waiting coroutines, in their order. */
static void let_in(struct rpmi_cluster_model *cluster, struct rpmi_thread *thread)
{
    while (thread->first != 0 && has_room(cluster, thread->first - 1)) {
        uint32_t coroutine = thread->first - 1;

        thread->first = cluster->coroutine[coroutine].waiting;
        post_phase(cluster, coroutine);
    }
}

/* Releases all words that the coroutine holds, in one phase. False: it holds none. */
static bool give_back(struct rpmi_cluster_model *cluster, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    uint64_t rung = 0;

    its->giving = true;
    for (uint32_t i = cluster->script[its->script].first; i < script_end(cluster, its); i++)
        if (rpmi_cluster_holds(cluster, coroutine, i))
            (void)post(cluster, coroutine, i, i + 1, &rung);
    return its->pending > 0;
}

static uint32_t draw(struct rpmi_cluster_model *cluster)
{
    uint64_t ticket = rpmi_rng_below(&cluster->rng, cluster->weights);
    uint32_t low = 0;
    uint32_t high = cluster->load.count - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (cluster->script[middle].until > ticket)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void rpmi_cluster_begin(struct rpmi_cluster_model *cluster, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    uint64_t free_ps = cluster->thread[rpmi_cluster_thread(cluster, coroutine)].time.free_ps;

    if (its->again) {
        its->again = false;
        post_or_wait(cluster, coroutine);
        return;
    }
    its->start_ps = free_ps > cluster->now_ps ? free_ps : cluster->now_ps;
    its->script = draw(cluster);
    its->next = cluster->script[its->script].first;
    its->failures = 0;
    its->looks = 0;
    post_or_wait(cluster, coroutine);
}

/* Runs the coroutine's script again from its first phase, after a backoff. */
static void begin_anew(struct rpmi_cluster_model *cluster, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    struct rpmi_server_model *server = cluster->server[0];
    uint64_t free_ps = cluster->thread[rpmi_cluster_thread(cluster, coroutine)].time.free_ps;
    uint64_t rest_ps = rpmi_cluster_rest(cluster, coroutine);

    cluster->failures++;
    cluster->in_vain++;
    its->failures++;
    its->failed = false;
    its->giving = false;
    its->again = true;
    its->looks = 0;
    its->next = cluster->script[its->script].first;
    server->now_ps = cluster->now_ps; /* as in post() */
    rpmi_server_at(server, free_ps + rest_ps, RPMI_COST_EV_POST, 0, 0, coroutine);
}

static void begin_counting(struct rpmi_cluster_model *cluster)
{
    cluster->begin_ps = cluster->now_ps;
    cluster->before_requests = cluster->requests;
    cluster->before_failures = cluster->failures;
    cluster->before_bytes = cluster->bytes;
    for (uint32_t i = 0; i < cluster->load.servers; i++)
        rpmi_server_counters(cluster->server[i], &cluster->before[i]);
}

static void finish(struct rpmi_cluster_model *cluster, uint32_t coroutine)
{
    const struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    uint64_t nth = cluster->finished - cluster->warm_up;
    uint64_t end_ps = cluster->thread[rpmi_cluster_thread(cluster, coroutine)].time.free_ps;

    if (cluster->finished >= cluster->warm_up && nth < cluster->load.transactions)
        cluster->latency_ps[nth] = end_ps - its->start_ps;
    cluster->finished++;
    cluster->in_vain = 0;
    cluster->bytes += cluster->script[its->script].bytes;
    if (cluster->load.pause_ns == 0)
        rpmi_cluster_begin(cluster, coroutine);
    else
        rpmi_server_at(cluster->server[0], end_ps + cluster->load.pause_ns * 1000,
                       RPMI_COST_EV_POST, 0, 0, coroutine);
    if (cluster->finished == cluster->warm_up)
        begin_counting(cluster);
}

void rpmi_cluster_done(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_cluster_model *cluster = server->cluster;
    uint32_t coroutine = server->slot[slot].coroutine;
    struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    struct rpmi_thread *thread = &cluster->thread[rpmi_cluster_thread(cluster, coroutine)];

    rpmi_fifo_push(&cluster->spare[index_of(cluster, server)], slot);
    RPM_ASSERT(its->pending > 0 && thread->under_way > 0);
    its->pending--;
    thread->under_way--;
    let_in(cluster, thread);
    if (its->pending > 0)
        return;
    (void)rpmi_wire_pass(&thread->time, cluster->now_ps, cluster->params->client_switch);
    if (its->failed) {
        if (its->giving || !give_back(cluster, coroutine))
            begin_anew(cluster, coroutine);
        return;
    }
    if (its->next < script_end(cluster, its)) {
        post_or_wait(cluster, coroutine);
        return;
    }
    server = cluster->server[0];
    server->now_ps = cluster->now_ps; /* as in post() */
    finish(cluster, coroutine);
}

/* Fill a server's cache with the lines that one-sided writes of a long run would have left. */
static void fill_cache(struct rpmi_cluster_model *cluster, uint32_t index)
{
    struct rpmi_server_model *server = cluster->server[index];
    uint64_t lines = 4ull * server->llc.sets * server->llc.ways;
    uint64_t tries = lines;

    for (; lines > 0 && tries > 0; tries--) {
        const struct rpmi_script *script = &cluster->script[draw(cluster)];
        uint64_t which = script->first + rpmi_rng_below(&cluster->rng, script->count);
        const struct rpmi_op_class *op_class = &cluster->op_class[which];
        uint32_t thread = (uint32_t)rpmi_rng_below(&cluster->rng, cluster->load.threads);
        uint64_t at, end;

        if (op_class->op != RPM_LOAD_WRITE || op_class->by != RPM_BY_NIC ||
            op_class->memory != RPM_LOAD_NVM || cluster->step[which].server != index)
            continue;
        at = address_of(cluster, thread, index, op_class);
        end = at + op_class->written;
        for (at /= RPMI_LINE_BYTES; at * RPMI_LINE_BYTES < end; at++) {
            if (!rpmi_llc_has(&server->llc, at))
                (void)rpmi_llc_fill(&server->llc, at, &server->rng);
            lines -= lines > 0;
        }
    }
}

void rpmi_cluster_start(struct rpmi_cluster_model *cluster)
{
    for (uint32_t i = 0; i < cluster->load.threads * cluster->load.servers; i++)
        cluster->position[i] = rpmi_rng_below(&cluster->rng, RPMI_CLUSTER_LOG);
    for (uint32_t i = 0; i < cluster->load.servers; i++) {
        rpmi_server_core_start(cluster->server[i]);
        if (cluster->server[i]->ddio)
            fill_cache(cluster, i);
    }
    for (uint32_t i = 0; i < cluster->coroutines; i++)
        cluster->coroutine[i].look = &cluster->look[(uint64_t)i * cluster->looks];
    for (uint32_t i = 0; i < cluster->coroutines; i++) /* coroutines begin at different
                                                          picoseconds */
        rpmi_server_at(cluster->server[0], rpmi_rng_below(&cluster->rng, 1000000),
                       RPMI_COST_EV_POST, 0, 0, i);
}

/* Process the earliest event of all servers; of two at the same time, that of the first server. */
void rpmi_cluster_step(struct rpmi_cluster_model *cluster)
{
    uint64_t next_ps = UINT64_MAX;
    uint32_t index = 0;
    bool more;

    for (uint32_t i = 0; i < cluster->load.servers; i++) {
        uint64_t at_ps = rpmi_queue_next(&cluster->server[i]->queue);

        if (at_ps < next_ps) {
            next_ps = at_ps;
            index = i;
        }
    }
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
           cluster->in_vain < IN_VAIN_MOST)
        rpmi_cluster_step(cluster);
    if (cluster->in_vain == IN_VAIN_MOST)
        return rpmi_fail(RPM_E_INVAL,
                         "scripts: no transaction has ended in %u attempts, all met conflicts: "
                         "set backoff_ns, or name more words",
                         IN_VAIN_MOST);
    sum_up(cluster, cost);
    return 0;
}
