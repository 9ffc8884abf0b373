/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * play.c: coroutines carry out scripts on several servers.
 *
 * Invariants
 *   a slot belongs to one operation at a time; all come back when a coroutine's phase is over
 *   the thread's own time passes in its wire: posts, polls and switches follow each other there
 *
 * Tests: tests/unit/sim/cost/play_test.cpp
 */
#include "sim/cost/play.h"

#include "base/err.h"
#include "base/mem.h"

#define SLOTS_MOST (1u << 18)
#define WARM_UP_ROUNDS 4u /* transactions of each coroutine */
#define WARM_UP_LEAST 2048u
#define IN_VAIN_MOST 500000u /* attempts that fail, one after another */

static uint32_t index_of(const struct rpmi_play *play, const struct rpmi_server_model *server)
{
    uint32_t index = 0;

    while (play->server[index] != server)
        index++;
    return index;
}

static bool reserve(struct rpmi_play *play)
{
    const struct rpm_script_load *load = &play->load;
    uint64_t works = rpmi_script_works(load);

    play->script = rpmi_alloc(load->count * sizeof(*play->script), 64);
    play->work = rpmi_alloc(works * sizeof(*play->work), 64);
    play->cue = rpmi_alloc(works * sizeof(*play->cue), 64);
    play->coroutine = rpmi_alloc(play->coroutines * sizeof(*play->coroutine), 64);
    play->thread = rpmi_alloc(load->threads * sizeof(*play->thread), 64);
    play->machine = rpmi_alloc((load->machines + 1) * sizeof(*play->machine), 64);
    play->bell =
        rpmi_alloc(((uint64_t)load->machines * load->doorbells + 1) * sizeof(*play->bell), 64);
    play->word = rpmi_alloc(((uint64_t)load->words + 1) * sizeof(*play->word), 64);
    play->look =
        rpmi_alloc(((uint64_t)play->coroutines * play->looks + 1) * sizeof(*play->look), 64);
    play->position =
        rpmi_alloc((uint64_t)load->threads * load->servers * sizeof(*play->position), 64);
    play->latency_ps = rpmi_alloc(load->transactions * sizeof(*play->latency_ps), 64);
    return play->script != NULL && play->work != NULL && play->cue != NULL &&
           play->coroutine != NULL && play->thread != NULL && play->machine != NULL &&
           play->bell != NULL && play->word != NULL && play->look != NULL &&
           play->position != NULL && play->latency_ps != NULL;
}

/* What a server model needs to know of the load. */
static struct rpm_load server_load(const struct rpmi_play *play, uint32_t index, bool ddio)
{
    struct rpm_load load = rpm_load_init();

    load.by = RPM_BY_CALL;
    load.op = RPM_LOAD_MIX;
    load.copy = RPM_COPY_STREAM;
    load.bytes = RPMI_LINE_BYTES;
    load.fence_bytes = 1;
    for (uint32_t i = 0; i < play->works; i++)
        load.bytes = play->work[i].written > load.bytes ? play->work[i].written : load.bytes;
    load.pad_bytes = 1;
    load.threads = 1;
    load.depth = 1;
    load.cores = play->load.cores;
    load.far = play->load.far;
    load.ddio = ddio ? RPM_YES : RPM_NO;
    load.writers_max = play->load.writers_max;
    load.ops = 1;
    load.seed = play->load.seed + index;
    return load;
}

static int open_server(struct rpmi_play *play, uint32_t index, uint32_t slots, bool ddio)
{
    struct rpm_load load = server_load(play, index, ddio);
    struct rpmi_fifo *spare = &play->spare[index];
    int err = rpmi_server_open_server(play->params, &load, slots, play, &play->server[index]);

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

static int open_servers(struct rpmi_play *play, bool ddio)
{
    uint64_t slots = (uint64_t)play->coroutines * rpmi_script_widest(play);
    int err = 0;

    if (slots > SLOTS_MOST)
        return rpmi_fail(RPM_E_INVAL,
                         "scripts: more than 262144 operations under way at a server (%llu)",
                         (unsigned long long)slots);
    for (uint32_t i = 0; err == 0 && i < play->load.servers; i++)
        err = open_server(play, i, (uint32_t)slots, ddio);
    return err;
}

static uint64_t warm_up(const struct rpmi_play *play)
{
    uint64_t least = WARM_UP_ROUNDS * (uint64_t)play->coroutines;

    least = least > WARM_UP_LEAST ? least : WARM_UP_LEAST;
    return least > play->load.transactions / 4 ? least : play->load.transactions / 4;
}

int rpmi_play_open(const struct rpmi_params *params, bool ddio, const struct rpm_script_load *load,
                   struct rpmi_play **out)
{
    struct rpmi_play *play = rpmi_alloc(sizeof(*play), 64);
    int err;

    if (play == NULL)
        return RPM_E_NOMEM;
    play->params = params;
    play->load = *load;
    err = rpmi_script_check(&play->load);
    if (err == 0) {
        play->coroutines = play->load.threads * play->load.coroutines;
        play->looks = rpmi_script_looks(&play->load);
        err = reserve(play) ? 0 : RPM_E_NOMEM;
    }
    if (err == 0) {
        rpmi_script_take(play);
        rpmi_rng_seed(&play->rng, load->seed);
        err = open_servers(play, load->ddio == 0 ? ddio : load->ddio == RPM_YES);
    }
    if (err != 0) {
        rpmi_play_close(&play);
        return err;
    }
    play->warm_up = warm_up(play);
    *out = play;
    return 0;
}

void rpmi_play_close(struct rpmi_play **out)
{
    struct rpmi_play *play = *out;

    if (play == NULL)
        return;
    for (uint32_t i = 0; i < RPMI_PLAY_SERVERS; i++) {
        rpmi_server_close(&play->server[i]);
        rpmi_free(play->spare[i].word);
    }
    rpmi_free(play->script);
    rpmi_free(play->work);
    rpmi_free(play->cue);
    rpmi_free(play->coroutine);
    rpmi_free(play->thread);
    rpmi_free(play->machine);
    rpmi_free(play->bell);
    rpmi_free(play->word);
    rpmi_free(play->look);
    rpmi_free(play->position);
    rpmi_free(play->latency_ps);
    rpmi_free(play);
    *out = NULL;
}

/* A thread has a log of its own on each server, behind the rows, and goes round in it. */
static uint64_t in_log(struct rpmi_play *play, uint32_t thread, uint32_t index,
                       const struct rpmi_act *work)
{
    uint64_t *position = &play->position[thread * play->load.servers + index];
    uint64_t at = (*position + work->align - 1) / work->align * work->align;

    if (at + work->written > RPMI_PLAY_LOG)
        at = 0;
    *position = at + work->written;
    return play->load.region_bytes + thread * RPMI_PLAY_LOG + at;
}

static uint64_t address_of(struct rpmi_play *play, uint32_t thread, uint32_t index,
                           const struct rpmi_act *work)
{
    uint64_t bytes =
        work->memory == RPM_LOAD_DRAM ? play->load.dram_bytes : play->load.region_bytes;

    if (work->pattern == RPM_LOAD_SEQUENTIAL)
        return in_log(play, thread, index, work);
    return rpmi_rng_below(&play->rng, (bytes - work->written) / work->align + 1) * work->align;
}

uint64_t rpmi_play_address(struct rpmi_server_model *server, uint32_t slot,
                           const struct rpmi_act *work)
{
    struct rpmi_play *play = server->play;

    return address_of(play, rpmi_play_thread(play, server->slot[slot].coroutine),
                      index_of(play, server), work);
}

static bool same_call(const struct rpmi_play *play, uint32_t a, uint32_t b)
{
    return play->work[a].by == RPM_BY_CALL && play->work[b].by == RPM_BY_CALL &&
           play->cue[a].server == play->cue[b].server;
}

/* One message: a work, or those of a call. Returns how many. The first of a phase to a server rings
 * the doorbell for all. */
static uint32_t post(struct rpmi_play *play, uint32_t coroutine, uint32_t first, uint32_t end,
                     uint64_t *rung)
{
    uint32_t index = play->cue[first].server;
    struct rpmi_server_model *server = play->server[index];
    uint32_t slot = rpmi_fifo_pop(&play->spare[index]);
    struct rpmi_slot_op *op = &server->slot[slot];

    op->work = &play->work[first];
    op->works = 1;
    op->coroutine = coroutine;
    op->rings = (*rung >> index & 1) == 0;
    *rung |= 1ull << index;
    play->coroutine[coroutine].pending++;
    play->thread[rpmi_play_thread(play, coroutine)].under_way++;
    op->flushing = false;
    op->write = op->work->op != RPM_LOAD_READ;
    while (first + op->works < end && same_call(play, first, first + op->works)) {
        op->write = op->write || op->work[op->works].op != RPM_LOAD_READ;
        op->works++;
    }
    op->address = address_of(play, rpmi_play_thread(play, coroutine), index, op->work);
    server->now_ps = play->now_ps; /* no event of it is due before that */
    op->start_ps = play->now_ps;
    rpmi_machine_send(server, slot);
    play->requests += op->write && op->work->by == RPM_BY_NIC && op->work->op == RPM_LOAD_WRITE &&
                              op->work->persist != RPM_PERSIST_NONE
                          ? 2
                          : 1;
    return op->works;
}

static uint32_t script_end(const struct rpmi_play *play, const struct rpmi_coroutine *its)
{
    return play->script[its->script].first + play->script[its->script].count;
}

static uint32_t phase_end(const struct rpmi_play *play, const struct rpmi_coroutine *its)
{
    uint32_t end = its->next;

    while (end < script_end(play, its) && play->cue[end].phase == play->cue[its->next].phase)
        end++;
    return end;
}

static void post_phase(struct rpmi_play *play, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &play->coroutine[coroutine];
    uint32_t end = phase_end(play, its);
    uint64_t rung = 0;

    RPM_ASSERT(its->pending == 0 && its->next < end);
    while (its->next < end)
        its->next += post(play, coroutine, its->next, end, &rung);
}

/* May the coroutine's next phase be under way beside what its thread has? */
static bool has_room(const struct rpmi_play *play, uint32_t coroutine)
{
    const struct rpmi_coroutine *its = &play->coroutine[coroutine];
    uint32_t under_way = play->thread[rpmi_play_thread(play, coroutine)].under_way;

    return play->load.outstanding_max == 0 || under_way == 0 ||
           under_way + phase_end(play, its) - its->next <= play->load.outstanding_max;
}

static void post_or_wait(struct rpmi_play *play, uint32_t coroutine)
{
    struct rpmi_thread *thread = &play->thread[rpmi_play_thread(play, coroutine)];

    if (thread->first == 0 && has_room(play, coroutine)) {
        post_phase(play, coroutine);
        return;
    }
    play->coroutine[coroutine].waiting = 0;
    if (thread->first == 0)
        thread->first = coroutine + 1;
    else
        play->coroutine[thread->last - 1].waiting = coroutine + 1;
    thread->last = coroutine + 1;
}

/* Some of its thread's messages have ended: those that wait go on, in their order. */
static void let_in(struct rpmi_play *play, struct rpmi_thread *thread)
{
    while (thread->first != 0 && has_room(play, thread->first - 1)) {
        uint32_t coroutine = thread->first - 1;

        thread->first = play->coroutine[coroutine].waiting;
        post_phase(play, coroutine);
    }
}

/* All that it holds, in one phase. False: it holds nothing. */
static bool give_back(struct rpmi_play *play, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &play->coroutine[coroutine];
    uint64_t rung = 0;

    its->giving = true;
    for (uint32_t i = play->script[its->script].first; i < script_end(play, its); i++)
        if (rpmi_play_holds(play, coroutine, i))
            (void)post(play, coroutine, i, i + 1, &rung);
    return its->pending > 0;
}

static uint32_t draw(struct rpmi_play *play)
{
    uint64_t ticket = rpmi_rng_below(&play->rng, play->weights);
    uint32_t low = 0;
    uint32_t high = play->load.count - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (play->script[middle].until > ticket)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void rpmi_play_begin(struct rpmi_play *play, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &play->coroutine[coroutine];
    uint64_t free_ps = play->thread[rpmi_play_thread(play, coroutine)].time.free_ps;

    if (its->again) {
        its->again = false;
        post_or_wait(play, coroutine);
        return;
    }
    its->start_ps = free_ps > play->now_ps ? free_ps : play->now_ps;
    its->script = draw(play);
    its->next = play->script[its->script].first;
    its->failures = 0;
    its->looks = 0;
    post_or_wait(play, coroutine);
}

/* From where it began, after a rest. */
static void begin_anew(struct rpmi_play *play, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &play->coroutine[coroutine];
    struct rpmi_server_model *server = play->server[0];
    uint64_t free_ps = play->thread[rpmi_play_thread(play, coroutine)].time.free_ps;
    uint64_t rest_ps = rpmi_play_rest(play, coroutine);

    play->failures++;
    play->in_vain++;
    its->failures++;
    its->failed = false;
    its->giving = false;
    its->again = true;
    its->looks = 0;
    its->next = play->script[its->script].first;
    server->now_ps = play->now_ps; /* as in post() */
    rpmi_server_at(server, free_ps + rest_ps, RPMI_COST_EV_POST, 0, 0, coroutine);
}

static void begin_counting(struct rpmi_play *play)
{
    play->begin_ps = play->now_ps;
    play->before_requests = play->requests;
    play->before_failures = play->failures;
    play->before_bytes = play->bytes;
    for (uint32_t i = 0; i < play->load.servers; i++)
        rpmi_server_counters(play->server[i], &play->before[i]);
}

static void finish(struct rpmi_play *play, uint32_t coroutine)
{
    const struct rpmi_coroutine *its = &play->coroutine[coroutine];
    uint64_t nth = play->finished - play->warm_up;
    uint64_t end_ps = play->thread[rpmi_play_thread(play, coroutine)].time.free_ps;

    if (play->finished >= play->warm_up && nth < play->load.transactions)
        play->latency_ps[nth] = end_ps - its->start_ps;
    play->finished++;
    play->in_vain = 0;
    play->bytes += play->script[its->script].bytes;
    if (play->load.pause_ns == 0)
        rpmi_play_begin(play, coroutine);
    else
        rpmi_server_at(play->server[0], end_ps + play->load.pause_ns * 1000, RPMI_COST_EV_POST, 0,
                       0, coroutine);
    if (play->finished == play->warm_up)
        begin_counting(play);
}

void rpmi_play_done(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_play *play = server->play;
    uint32_t coroutine = server->slot[slot].coroutine;
    struct rpmi_coroutine *its = &play->coroutine[coroutine];
    struct rpmi_thread *thread = &play->thread[rpmi_play_thread(play, coroutine)];

    rpmi_fifo_push(&play->spare[index_of(play, server)], slot);
    RPM_ASSERT(its->pending > 0 && thread->under_way > 0);
    its->pending--;
    thread->under_way--;
    let_in(play, thread);
    if (its->pending > 0)
        return;
    (void)rpmi_wire_pass(&thread->time, play->now_ps, play->params->client_switch);
    if (its->failed) {
        if (its->giving || !give_back(play, coroutine))
            begin_anew(play, coroutine);
        return;
    }
    if (its->next < script_end(play, its)) {
        post_or_wait(play, coroutine);
        return;
    }
    server = play->server[0];
    server->now_ps = play->now_ps; /* as in post() */
    finish(play, coroutine);
}

/* Lines that one-sided writes of a long run would have left in a server's cache. */
static void fill_cache(struct rpmi_play *play, uint32_t index)
{
    struct rpmi_server_model *server = play->server[index];
    uint64_t lines = 4ull * server->llc.sets * server->llc.ways;
    uint64_t tries = lines;

    for (; lines > 0 && tries > 0; tries--) {
        const struct rpmi_script *script = &play->script[draw(play)];
        uint64_t which = script->first + rpmi_rng_below(&play->rng, script->count);
        const struct rpmi_act *work = &play->work[which];
        uint32_t thread = (uint32_t)rpmi_rng_below(&play->rng, play->load.threads);
        uint64_t at, end;

        if (work->op != RPM_LOAD_WRITE || work->by != RPM_BY_NIC || work->memory != RPM_LOAD_NVM ||
            play->cue[which].server != index)
            continue;
        at = address_of(play, thread, index, work);
        end = at + work->written;
        for (at /= RPMI_LINE_BYTES; at * RPMI_LINE_BYTES < end; at++) {
            if (!rpmi_llc_has(&server->llc, at))
                (void)rpmi_llc_fill(&server->llc, at, &server->rng);
            lines -= lines > 0;
        }
    }
}

void rpmi_play_start(struct rpmi_play *play)
{
    for (uint32_t i = 0; i < play->load.threads * play->load.servers; i++)
        play->position[i] = rpmi_rng_below(&play->rng, RPMI_PLAY_LOG);
    for (uint32_t i = 0; i < play->load.servers; i++) {
        rpmi_server_core_start(play->server[i]);
        if (play->server[i]->ddio)
            fill_cache(play, i);
    }
    for (uint32_t i = 0; i < play->coroutines; i++)
        play->coroutine[i].look = &play->look[(uint64_t)i * play->looks];
    for (uint32_t i = 0; i < play->coroutines; i++) /* not all in the same picosecond */
        rpmi_server_at(play->server[0], rpmi_rng_below(&play->rng, 1000000), RPMI_COST_EV_POST, 0,
                       0, i);
}

/* The earliest event of all servers; of two at a time, that of the first. */
void rpmi_play_step(struct rpmi_play *play)
{
    uint64_t next_ps = UINT64_MAX;
    uint32_t index = 0;
    bool more;

    for (uint32_t i = 0; i < play->load.servers; i++) {
        uint64_t at_ps = rpmi_queue_next(&play->server[i]->queue);

        if (at_ps < next_ps) {
            next_ps = at_ps;
            index = i;
        }
    }
    RPM_ASSERT(next_ps >= play->now_ps && next_ps < UINT64_MAX);
    play->now_ps = next_ps;
    more = rpmi_server_step(play->server[index]);
    RPM_ASSERT(more);
}

static void sum_up(struct rpmi_play *play, struct rpm_cost *cost)
{
    memset(cost, 0, sizeof(*cost));
    cost->size = sizeof(*cost);
    cost->ops = play->load.transactions;
    cost->duration_ps = play->now_ps - play->begin_ps;
    cost->bytes = play->bytes - play->before_bytes;
    cost->requests = play->requests - play->before_requests;
    cost->failures = play->failures - play->before_failures;
    for (uint32_t i = 0; i < play->load.servers; i++) {
        const struct rpm_cost *before = &play->before[i];
        struct rpm_cost after;

        rpmi_server_counters(play->server[i], &after);
        cost->media_read_bytes += after.media_read_bytes - before->media_read_bytes;
        cost->media_write_bytes += after.media_write_bytes - before->media_write_bytes;
        cost->module_read_bytes += after.module_read_bytes - before->module_read_bytes;
        cost->module_write_bytes += after.module_write_bytes - before->module_write_bytes;
        cost->partial_words += after.partial_words - before->partial_words;
        cost->events += play->server[i]->events;
    }
    rpmi_server_latencies(play->latency_ps, cost);
}

int rpmi_play_run(struct rpmi_play *play, struct rpm_cost *cost)
{
    rpmi_play_start(play);
    while (play->finished < play->warm_up + play->load.transactions && play->in_vain < IN_VAIN_MOST)
        rpmi_play_step(play);
    if (play->in_vain == IN_VAIN_MOST)
        return rpmi_fail(RPM_E_INVAL,
                         "scripts: no transaction has ended in %u attempts, all met conflicts: "
                         "set backoff_ns, or name more words",
                         IN_VAIN_MOST);
    sum_up(play, cost);
    return 0;
}
