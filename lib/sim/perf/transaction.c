/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transaction.c: coroutines run scripts. A coroutine posts all operations of a phase, waits until
 * they have ended, and posts the next phase; after the last one it draws another script.
 *
 * Invariants
 *   a slot belongs to one operation at a time; all are free again when a coroutine's phase is over
 *   a thread does one thing at a time: each post, poll and switch begins when the one before it
 *     ends, at thread->time.free_ps
 *
 * Tests: tests/unit/sim/perf/transaction_test.cpp
 */
#include "sim/perf/cluster_model.h"

static bool same_call(const struct rpmi_cluster_model *cluster, uint32_t a, uint32_t b)
{
    return cluster->op_class[a].by == RPM_BY_CALL && cluster->op_class[b].by == RPM_BY_CALL &&
           cluster->step[a].server == cluster->step[b].server;
}

/* Post one message: a one-sided operation, or adjacent calls to the same server. Returns the number
 * of operations in it. Only the first message of a phase to a server pays for the doorbell. */
static uint32_t post(struct rpmi_cluster_model *cluster, uint32_t coroutine, uint32_t first,
                     uint32_t end)
{
    uint32_t index = cluster->step[first].server;
    struct rpmi_server_model *server = cluster->server[index];
    uint32_t slot = rpmi_slots_take(cluster, index);
    struct rpmi_slot_op *op;

    if (slot == UINT32_MAX)
        return 1; /* the run ends with cluster->err */
    op = &server->slot[slot];
    op->op_class = &cluster->op_class[first];
    op->op_classes = 1;
    op->coroutine = coroutine;
    op->rings = cluster->rung[index] != cluster->phases;
    cluster->rung[index] = cluster->phases;
    cluster->coroutine[coroutine].pending++;
    cluster->thread[rpmi_cluster_thread(cluster, coroutine)].under_way++;
    op->flushing = false;
    op->write = op->op_class->op != RPM_LOAD_READ;
    while (first + op->op_classes < end && same_call(cluster, first, first + op->op_classes)) {
        op->write = op->write || op->op_class[op->op_classes].op != RPM_LOAD_READ;
        op->op_classes++;
    }
    op->address =
        rpmi_script_address(cluster, rpmi_cluster_thread(cluster, coroutine), index, op->op_class);
    server->now_ps = cluster->now_ps; /* no event of this server is due earlier */
    op->start_ps = cluster->now_ps;
    rpmi_server_client_send(server, slot);
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

    cluster->phases++;
    RPM_ASSERT(its->pending == 0 && its->next < end);
    while (its->next < end)
        its->next += post(cluster, coroutine, its->next, end);
}

/* Do the messages of the coroutine's next phase fit into its thread's outstanding_max? */
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

/* Some of the thread's messages have ended: post for its waiting coroutines, in their order. */
static void post_waiting(struct rpmi_cluster_model *cluster, struct rpmi_thread *thread)
{
    while (thread->first != 0 && has_room(cluster, thread->first - 1)) {
        uint32_t coroutine = thread->first - 1;

        thread->first = cluster->coroutine[coroutine].waiting;
        post_phase(cluster, coroutine);
    }
}

/* Post the unlocking writes of all words that the coroutine has locked, as one phase. False: it has
 * locked none. */
static bool release_words(struct rpmi_cluster_model *cluster, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &cluster->coroutine[coroutine];

    cluster->phases++;
    its->releasing = true;
    for (uint32_t i = cluster->script[its->script].first; i < script_end(cluster, its); i++)
        if (rpmi_cluster_holds(cluster, coroutine, i))
            (void)post(cluster, coroutine, i, i + 1);
    return its->pending > 0;
}

void rpmi_cluster_begin(struct rpmi_cluster_model *cluster, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    uint64_t free_ps = cluster->thread[rpmi_cluster_thread(cluster, coroutine)].time.free_ps;

    if (its->retries) {
        its->retries = false;
        post_or_wait(cluster, coroutine);
        return;
    }
    its->start_ps = free_ps > cluster->now_ps ? free_ps : cluster->now_ps;
    its->script = rpmi_script_draw(cluster, cluster->choice, cluster->load.count);
    its->next = cluster->script[its->script].first;
    its->failures = 0;
    its->versions = 0;
    post_or_wait(cluster, coroutine);
}

/* Run the coroutine's script again from its first phase, after a backoff. */
static void run_again(struct rpmi_cluster_model *cluster, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    struct rpmi_server_model *server = cluster->server[0];
    uint64_t free_ps = cluster->thread[rpmi_cluster_thread(cluster, coroutine)].time.free_ps;
    uint64_t backoff_ps = rpmi_cluster_backoff_ps(cluster, coroutine);

    cluster->failures++;
    cluster->failures_in_row++;
    its->failures++;
    its->failed = false;
    its->releasing = false;
    its->retries = true;
    its->versions = 0;
    its->next = cluster->script[its->script].first;
    server->now_ps = cluster->now_ps; /* as in post() */
    rpmi_server_at(server, free_ps + backoff_ps, RPMI_PERF_EV_POST, 0, 0, coroutine);
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
    cluster->failures_in_row = 0;
    cluster->bytes += cluster->script[its->script].bytes;
    if (cluster->load.pause_ns == 0)
        rpmi_cluster_begin(cluster, coroutine);
    else
        rpmi_server_at(cluster->server[0], end_ps + cluster->load.pause_ns * 1000,
                       RPMI_PERF_EV_POST, 0, 0, coroutine);
    if (cluster->finished == cluster->warm_up)
        begin_counting(cluster);
}

void rpmi_cluster_done(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_cluster_model *cluster = server->cluster;
    uint32_t coroutine = server->slot[slot].coroutine;
    struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    struct rpmi_thread *thread = &cluster->thread[rpmi_cluster_thread(cluster, coroutine)];

    rpmi_fifo_push(&cluster->spare[server->index], slot);
    RPM_ASSERT(its->pending > 0 && thread->under_way > 0);
    its->pending--;
    thread->under_way--;
    post_waiting(cluster, thread);
    if (its->pending > 0)
        return;
    (void)rpmi_wire_pass(&thread->time, cluster->now_ps, cluster->params->client_switch);
    if (its->failed) {
        if (its->releasing || !release_words(cluster, coroutine))
            run_again(cluster, coroutine);
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
