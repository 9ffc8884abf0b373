/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * words.c: conflicts of modelled transactions. A word is the lock and the version of a row: a
 * transaction fails if it finds a word held by another one, or changed since it first looked at it.
 *
 * Invariants
 *   a word is read or changed when the server's NIC carries out the operation, not when the client
 *   gets its completion
 *   a transaction that failed releases the words it holds without changing their versions
 *
 * Tests: tests/unit/sim/cost/words_test.cpp
 */
#include "sim/cost/play.h"

/* The version that the transaction saw when it first looked at the word; this may be now. */
static struct rpmi_look *look_at(struct rpmi_play *play, struct rpmi_coroutine *its, uint32_t word)
{
    struct rpmi_look *look = its->look;

    for (; look < its->look + its->looks; look++)
        if (look->word == word)
            return look;
    RPM_ASSERT(its->looks < play->looks);
    *look = (struct rpmi_look){ .word = word, .changes = play->word[word].changes };
    its->looks++;
    return look;
}

static bool is_anothers(const struct rpmi_play_word *word, uint32_t coroutine)
{
    return word->holder != 0 && word->holder != coroutine + 1;
}

void rpmi_play_touch(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_play *play = server->play;
    uint32_t coroutine = server->slot[slot].coroutine;
    struct rpmi_coroutine *its = &play->coroutine[coroutine];
    const struct rpmi_act *work = server->slot[slot].work;
    struct rpmi_play_word *word = &play->word[work->word];
    uint32_t role = play->cue[work - play->work].role;

    if (role == RPM_ROLE_GIVE) {
        RPM_ASSERT(word->holder == coroutine + 1);
        word->holder = 0;
        word->changes += its->failed ? 0 : 1;
        return;
    }
    if (is_anothers(word, coroutine) ||
        (role != RPM_ROLE_TAKE && look_at(play, its, work->word)->changes != word->changes))
        its->failed = true;
    else if (role == RPM_ROLE_TAKE)
        word->holder = coroutine + 1;
    else if (role == RPM_ROLE_SWAP)
        word->changes++;
}

bool rpmi_play_holds(const struct rpmi_play *play, uint32_t coroutine, uint32_t work)
{
    return play->cue[work].role == RPM_ROLE_GIVE &&
           play->word[play->work[work].word].holder == coroutine + 1;
}

uint64_t rpmi_play_rest(struct rpmi_play *play, uint32_t coroutine)
{
    struct rpmi_coroutine *its = &play->coroutine[coroutine];
    uint64_t least_ns = play->load.backoff_ns << (its->failures < 30 ? its->failures : 30);

    if (play->load.backoff_ns == 0) /* no two cores stay in step */
        return rpmi_rng_below(&play->rng, play->params->client_switch);
    if (least_ns > play->load.backoff_max_ns)
        least_ns = play->load.backoff_max_ns;
    return (least_ns + rpmi_rng_below(&play->rng, play->load.backoff_ns)) * 1000;
}
