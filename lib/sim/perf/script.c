/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * script.c: check a load of scripts, and convert it to the operation classes and steps of a
 * cluster.
 *
 * Tests: tests/unit/sim/perf/script_test.cpp
 */
#include "base/err.h"
#include "sim/perf/cluster_model.h"

#define SCRIPTS_MAX 65536u
#define OP_CLASSES_MAX ((uint64_t)1 << 22)
#define BYTES_MAX ((uint32_t)1 << 16)
#define REGION_MAX ((uint64_t)64 << 30)
#define REGION_MIN ((uint64_t)1 << 20)
#define REGION_DEFAULT ((uint64_t)1 << 30)
#define DRAM_DEFAULT ((uint64_t)64 << 20)
#define TRANSACTIONS_MAX ((uint64_t)1 << 24)
#define TRANSACTIONS_DEFAULT 20000u
#define PAUSE_MAX 1000000000u
#define WORDS_MAX ((uint32_t)1 << 24)

static int refuse(const char *what, uint64_t value)
{
    return rpmi_fail(RPM_E_INVAL, "scripts: %s (%llu)", what, (unsigned long long)value);
}

static uint64_t or_else(uint64_t value, uint64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

static void defaults(struct rpm_script_load *load)
{
    load->servers = (uint32_t)or_else(load->servers, 1);
    load->threads = (uint32_t)or_else(load->threads, 1);
    load->coroutines = (uint32_t)or_else(load->coroutines, 1);
    load->cores = (uint32_t)or_else(load->cores, 10);
    load->region_bytes = or_else(load->region_bytes, REGION_DEFAULT);
    load->dram_bytes = or_else(load->dram_bytes, DRAM_DEFAULT);
    load->transactions = or_else(load->transactions, TRANSACTIONS_DEFAULT);
    load->backoff_max_ns = or_else(load->backoff_max_ns, load->backoff_ns);
}

static int check_load(const struct rpm_script_load *load)
{
    if (load->servers > RPMI_CLUSTER_SERVERS)
        return refuse("a load has at most 1024 servers", load->servers);
    if (load->threads > 4096 || load->coroutines > 64)
        return refuse("threads are at most 4096, each with at most 64 coroutines", load->threads);
    if (load->machines > load->threads)
        return refuse("machines are at most as many as threads", load->machines);
    if (load->cores > RPMI_SERVER_CORES)
        return refuse("cores are at most 64", load->cores);
    if (load->ddio > RPM_YES || load->remote_socket > 1)
        return refuse("ddio is 0 to 2, remote_socket 0 or 1", load->ddio);
    if (load->region_bytes < REGION_MIN || load->region_bytes > REGION_MAX ||
        load->dram_bytes < REGION_MIN || load->dram_bytes > REGION_MAX)
        return refuse("region_bytes and dram_bytes, the memory of a server, are 1 MiB to 64 GiB",
                      load->region_bytes);
    if (load->transactions > TRANSACTIONS_MAX)
        return refuse("transactions are at most 16 Mi", load->transactions);
    if (load->pause_ns > PAUSE_MAX)
        return refuse("pause_ns, a pause, is at most 1000000000 (a second)", load->pause_ns);
    if (load->words > WORDS_MAX)
        return refuse("words are at most 16 Mi", load->words);
    if (load->backoff_max_ns > PAUSE_MAX || load->backoff_max_ns < load->backoff_ns)
        return refuse("backoff_ns is at most backoff_max_ns, and that at most one second",
                      load->backoff_max_ns);
    if (load->doorbells > 4096 || (load->doorbells != 0 && load->machines == 0))
        return refuse("doorbells are at most 4096, and need machines", load->doorbells);
    if (load->scripts == NULL || load->count == 0 || load->count > SCRIPTS_MAX)
        return refuse("a load has 1 to 65536 scripts", load->count);
    return 0;
}

static int check_role(const struct rpm_script_op *op, uint32_t words)
{
    bool fits =
        op->role == RPM_ROLE_NONE || (op->role == RPM_ROLE_READ && op->op == RPM_LOAD_READ) ||
        (op->role == RPM_ROLE_UNLOCK && op->op != RPM_LOAD_READ) ||
        ((op->role == RPM_ROLE_LOCK || op->role == RPM_ROLE_UPDATE) && op->op == RPM_LOAD_CAS);

    if (!fits || op->role > RPM_ROLE_UPDATE)
        return refuse(
            "the role is READ for a READ, UNLOCK for a WRITE, and LOCK, UNLOCK or UPDATE for a CAS",
            op->role);
    if ((op->role == RPM_ROLE_NONE) != (op->word == 0) || op->word > words)
        return refuse("an operation with a role names a word, 1 to words", op->word);
    if (op->role != RPM_ROLE_NONE && op->by != RPM_BY_NIC)
        return refuse("only one-sided operations (RPM_BY_NIC) name a word", op->by);
    return 0;
}

static int check_op(const struct rpm_script_op *op, uint32_t servers)
{
    if (op->by != RPM_BY_NIC && op->by != RPM_BY_CALL)
        return refuse("an operation is carried out by NIC (RPM_BY_NIC) or by call (RPM_BY_CALL)",
                      op->by);
    if (op->op > RPM_LOAD_CAS)
        return refuse("op is 0 to 2, see enum rpm_load_op", op->op);
    if (op->copy > RPM_COPY_CLWB)
        return refuse("copy is 0 to 2, see enum rpm_copy", op->copy);
    if (op->persist > RPM_PERSIST_CHAIN)
        return refuse("persist is 0 to 2, see enum rpm_load_persist", op->persist);
    if (op->memory > RPM_LOAD_DRAM)
        return refuse("memory is 0 or 1, see enum rpm_load_memory", op->memory);
    if (op->flush_memory > RPM_LOAD_DRAM)
        return refuse("flush_memory is 0 or 1, see enum rpm_load_memory", op->flush_memory);
    if (op->pattern > RPM_LOAD_SEQUENTIAL)
        return refuse("pattern is 0 or 1, see enum rpm_load_pattern", op->pattern);
    if (op->pattern == RPM_LOAD_SEQUENTIAL &&
        (op->op != RPM_LOAD_WRITE || op->memory != RPM_LOAD_NVM))
        return refuse("only writes to persistent memory are sequential, as appends to a log",
                      op->op);
    if (op->server >= servers)
        return refuse("server is 0 to servers - 1", op->server);
    if (op->bytes == 0 || op->bytes > BYTES_MAX || op->pad_bytes > BYTES_MAX ||
        op->align_bytes > BYTES_MAX)
        return refuse("an operation is 1 B to 64 KiB, so are padding and alignment", op->bytes);
    if (op->op == RPM_LOAD_CAS && op->bytes != 8)
        return refuse("a compare-and-swap has 8 bytes", op->bytes);
    return 0;
}

/* A word is unlocked once, in a later phase than it is locked in: within one phase the transaction
 * could not know whether it got the lock. A script unlocks at most as many words as a phase has
 * operations, since a transaction that fails unlocks all of them in one phase. */
static int check_locked(const struct rpm_script *script, uint32_t nth)
{
    const struct rpm_script_op *op = &script->ops[nth];
    uint32_t locked = 0, unlocked = 0, unlocks = 0;

    for (uint32_t i = 0; i < script->count; i++) {
        const struct rpm_script_op *other = &script->ops[i];

        unlocks += other->role == RPM_ROLE_UNLOCK;
        if (other->word != op->word)
            continue;
        locked += other->role == RPM_ROLE_LOCK && (other == op || other->phase < op->phase);
        unlocked += other->role == RPM_ROLE_UNLOCK && (other == op || other->phase > op->phase);
    }
    if (unlocks > RPMI_CLUSTER_PHASE)
        return refuse("a script has at most 64 operations with the role UNLOCK", unlocks);
    if (locked != 1 || unlocked != 1)
        return refuse("a word is locked once and unlocked once, in a later phase", op->word);
    return 0;
}

static int check_script(const struct rpm_script *script, const struct rpm_script_load *load)
{
    uint32_t in_phase = 0;

    if (script->ops == NULL || script->count == 0)
        return refuse("a script has at least one operation", script->count);
    for (uint32_t i = 0; i < script->count; i++) {
        const struct rpm_script_op *op = &script->ops[i];
        uint32_t before = i == 0 ? 0 : script->ops[i - 1].phase;
        int err = check_op(op, load->servers);

        if (err == 0)
            err = check_role(op, load->words);
        if (err == 0 && (op->role == RPM_ROLE_LOCK || op->role == RPM_ROLE_UNLOCK))
            err = check_locked(script, i);
        if (err != 0)
            return err;
        if (op->phase != before && (i == 0 || op->phase != before + 1))
            return refuse("phases begin with 0 and grow by 1", op->phase);
        in_phase = op->phase == before ? in_phase + 1 : 1;
        if (in_phase > RPMI_CLUSTER_PHASE)
            return refuse("a phase has at most 64 operations", op->phase);
    }
    return 0;
}

uint64_t rpmi_script_op_classes(const struct rpm_script_load *load)
{
    uint64_t op_classes = 0;

    for (uint32_t i = 0; i < load->count; i++)
        op_classes += load->scripts[i].count;
    return op_classes;
}

int rpmi_script_check(struct rpm_script_load *load)
{
    uint64_t weights = 0;
    int err;

    defaults(load);
    err = check_load(load);
    for (uint32_t i = 0; err == 0 && i < load->count; i++) {
        err = check_script(&load->scripts[i], load);
        weights += load->scripts[i].weight;
    }
    if (err == 0 && weights == 0)
        return refuse("at least one script has a weight above 0", weights);
    if (err == 0 && rpmi_script_op_classes(load) > OP_CLASSES_MAX)
        return refuse("all scripts together have at most 4194304 operations",
                      rpmi_script_op_classes(load));
    return err;
}

static void take_op(const struct rpm_script_op *op, struct rpmi_op_class *op_class)
{
    uint64_t pad = or_else(op->pad_bytes, 1);

    *op_class = (struct rpmi_op_class){ .by = op->by,
                                        .op = op->op,
                                        .copy = (uint32_t)or_else(op->copy, RPM_COPY_STREAM),
                                        .persist = op->persist,
                                        .memory = op->memory,
                                        .flush_memory = op->flush_memory,
                                        .pattern = op->pattern,
                                        .word = op->word,
                                        .bytes = op->bytes,
                                        .written = (op->bytes + pad - 1) / pad * pad,
                                        .align = or_else(op->align_bytes, RPMI_LINE_BYTES) };
}

void rpmi_script_take(struct rpmi_cluster_model *cluster)
{
    uint64_t weights = 0;

    for (uint32_t i = 0; i < cluster->load.count; i++) {
        const struct rpm_script *theirs = &cluster->load.scripts[i];
        struct rpmi_script *script = &cluster->script[i];

        weights += theirs->weight;
        cluster->choice[i] = (struct rpmi_choice){ .until = weights, .which = i };
        *script = (struct rpmi_script){ .first = cluster->op_classes,
                                        .count = theirs->count,
                                        .weight = theirs->weight };
        for (uint32_t k = 0; k < theirs->count; k++) {
            take_op(&theirs->ops[k], &cluster->op_class[cluster->op_classes]);
            cluster->step[cluster->op_classes].phase = theirs->ops[k].phase;
            cluster->step[cluster->op_classes].server = theirs->ops[k].server;
            cluster->step[cluster->op_classes].role = theirs->ops[k].role;
            script->bytes += theirs->ops[k].bytes;
            cluster->op_classes++;
        }
    }
    cluster->load.scripts = NULL;
}

uint32_t rpmi_script_versions(const struct rpm_script_load *load)
{
    uint32_t max = 0;

    for (uint32_t i = 0; i < load->count; i++) {
        uint32_t versions = 0;

        for (uint32_t k = 0; k < load->scripts[i].count; k++)
            versions += load->scripts[i].ops[k].role != RPM_ROLE_NONE;
        max = versions > max ? versions : max;
    }
    return max;
}

static uint32_t widest_of(const struct rpmi_cluster_model *cluster,
                          const struct rpmi_script *script)
{
    const struct rpmi_script_step *step = &cluster->step[script->first];
    uint32_t widest = 0;
    uint32_t unlocks = 0;

    for (uint32_t i = 0; i < script->count; i++) {
        uint32_t at_server = 0; /* operations of the phase up to this one */

        for (uint32_t k = i + 1; k-- > 0 && step[k].phase == step[i].phase;)
            at_server += step[k].server == step[i].server;
        widest = at_server > widest ? at_server : widest;
        unlocks += step[i].role == RPM_ROLE_UNLOCK;
    }
    return unlocks > widest ? unlocks : widest;
}

uint32_t rpmi_script_widest(const struct rpmi_cluster_model *cluster)
{
    uint32_t widest = 0;

    for (uint32_t i = 0; i < cluster->load.count; i++) {
        uint32_t one = widest_of(cluster, &cluster->script[i]);

        widest = one > widest ? one : widest;
    }
    RPM_ASSERT(widest > 0 && widest <= RPMI_CLUSTER_PHASE);
    return widest;
}

uint32_t rpmi_script_draw(struct rpmi_cluster_model *cluster, const struct rpmi_choice *choice,
                          uint32_t count)
{
    uint64_t ticket = rpmi_rng_below(&cluster->rng, choice[count - 1].until);
    uint32_t low = 0;
    uint32_t high = count - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (choice[middle].until > ticket)
            high = middle;
        else
            low = middle + 1;
    }
    return choice[low].which;
}

/* Where a thread begins in its log on a server: computed, so that a log that is not used needs no
 * memory. */
static uint32_t first_in_log(const struct rpmi_cluster_model *cluster, uint32_t thread,
                             uint32_t index)
{
    struct rpmi_rng rng;

    rpmi_rng_seed(&rng, cluster->load.seed ^ ((uint64_t)thread << 32 | index));
    return (uint32_t)rpmi_rng_below(&rng, RPMI_CLUSTER_LOG);
}

/* A thread has its own log on each server, behind the rows, and writes it as a ring. */
static uint64_t in_log(struct rpmi_cluster_model *cluster, uint32_t thread, uint32_t index,
                       const struct rpmi_op_class *op_class)
{
    uint32_t *position = &cluster->position[(uint64_t)thread * cluster->load.servers + index];
    uint64_t at;

    if (*position == 0)
        *position = 1 + first_in_log(cluster, thread, index);
    at = (*position - 1 + op_class->align - 1) / op_class->align * op_class->align;
    if (at + op_class->written > RPMI_CLUSTER_LOG)
        at = 0;
    *position = (uint32_t)(at + op_class->written + 1);
    return cluster->load.region_bytes + thread * RPMI_CLUSTER_LOG + at;
}

uint64_t rpmi_script_address(struct rpmi_cluster_model *cluster, uint32_t thread, uint32_t index,
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

    return rpmi_script_address(cluster, rpmi_cluster_thread(cluster, server->slot[slot].coroutine),
                               server->index, op_class);
}
