/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * words.c: conflicts of modelled transactions. A word is the lock and the version of a row: a
 * transaction fails if another one holds the word, or has changed it since this one first read it.
 *
 * Invariants
 *   a word is read or changed when the server's NIC carries out the operation, not when the client
 *   gets its completion
 *   a transaction that failed releases the words it holds without changing their versions
 *
 * Tests: tests/unit/sim/perf/words_test.cpp
 */
#include "sim/perf/cluster_model.h"

/* The version of the word at the first access of the transaction, which this one may be. */
static struct rpmi_word_version *first_version(struct rpmi_cluster_model *cluster,
                                               struct rpmi_coroutine *its, uint32_t word)
{
    struct rpmi_word_version *version = its->version;

    for (; version < its->version + its->versions; version++)
        if (version->word == word)
            return version;
    RPM_ASSERT(its->versions < cluster->versions);
    *version = (struct rpmi_word_version){ .word = word, .changes = cluster->word[word].changes };
    its->versions++;
    return version;
}

static bool held_by_another(const struct rpmi_shared_word *word, uint32_t coroutine)
{
    return word->holder != 0 && word->holder != coroutine + 1;
}

void rpmi_cluster_touch(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_cluster_model *cluster = server->cluster;
    uint32_t coroutine = server->slot[slot].coroutine;
    struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    const struct rpmi_op_class *op_class = server->slot[slot].op_class;
    struct rpmi_shared_word *word = &cluster->word[op_class->word];
    uint32_t role = cluster->step[op_class - cluster->op_class].role;

    if (role == RPM_ROLE_UNLOCK) {
        RPM_ASSERT(word->holder == coroutine + 1);
        word->holder = 0;
        word->changes += its->failed ? 0 : 1;
        return;
    }
    if (held_by_another(word, coroutine) ||
        (role != RPM_ROLE_LOCK &&
         first_version(cluster, its, op_class->word)->changes != word->changes))
        its->failed = true;
    else if (role == RPM_ROLE_LOCK)
        word->holder = coroutine + 1;
    else if (role == RPM_ROLE_UPDATE)
        word->changes++;
}

bool rpmi_cluster_holds(const struct rpmi_cluster_model *cluster, uint32_t coroutine, uint32_t step)
{
    return cluster->step[step].role == RPM_ROLE_UNLOCK &&
           cluster->word[cluster->op_class[step].word].holder == coroutine + 1;
}

uint64_t rpmi_cluster_backoff_ps(struct rpmi_cluster_model *cluster, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &cluster->coroutine[coroutine];
    uint64_t least_ns = cluster->load.backoff_ns << (its->failures < 30 ? its->failures : 30);

    if (cluster->load.backoff_ns == 0) /* randomise, so that coroutines do not retry in lockstep */
        return rpmi_rng_below(&cluster->rng, cluster->params->client_switch);
    if (least_ns > cluster->load.backoff_max_ns)
        least_ns = cluster->load.backoff_max_ns;
    return (least_ns + rpmi_rng_below(&cluster->rng, cluster->load.backoff_ns)) * 1000;
}
