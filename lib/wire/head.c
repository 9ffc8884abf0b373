/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * head.c: the head of a log, written in turn to two slots.
 *
 * Invariants: see head.h. Both slots of one log name the same log and capacity.
 *
 * Format: FORMAT.md, section 4.   Tests: tests/unit/wire/head_test.cpp
 */
#include "wire/head.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/sum.h"
#include "wire/field.h"

#include <stdbool.h>

#define MAGIC 0x0144414548474f4cull /* "LOGHEAD", version 1 */
#define AT_MAGIC 0
#define AT_TURN 8
#define AT_LOG_ID 16
#define AT_CAPACITY 24
#define AT_TRIM 32
#define AT_BASE 40
#define AT_EPOCH 48
#define AT_ZERO 52
#define AT_SUM 56

_Static_assert(AT_SUM + sizeof(uint64_t) == RPMI_HEAD_BYTES, "the sum ends the slot");
_Static_assert(RPMI_HEAD_BYTES == RPMI_LINE_BYTES, "a slot is one line");
_Static_assert(RPMI_HEAD_SLOT_STRIDE % RPMI_XPLINE_BYTES == 0, "slots on different media lines");
_Static_assert(RPMI_HEAD_SLOTS *RPMI_HEAD_SLOT_STRIDE <= RPMI_GUARD_OFFSET, "slots, then guard");

static bool is_sound(const struct rpmi_head *head);
static const char *judge(const unsigned char *slot, struct rpmi_head *head);

void rpmi_head_put(void *slot, const struct rpmi_head *head)
{
    unsigned char *to = slot;
    struct rpmi_head again;

    RPM_ASSERT(slot != NULL && head != NULL);
    RPM_ASSERT(is_sound(head));
    rpmi_store64(to + AT_MAGIC, MAGIC);
    rpmi_store64(to + AT_TURN, head->turn);
    rpmi_store64(to + AT_LOG_ID, head->log_id);
    rpmi_store64(to + AT_CAPACITY, head->capacity_bytes);
    rpmi_store64(to + AT_TRIM, head->trim_lsn);
    rpmi_store64(to + AT_BASE, head->base_lsn);
    rpmi_store32(to + AT_EPOCH, head->epoch);
    rpmi_store32(to + AT_ZERO, 0);
    rpmi_store64(to + AT_SUM, rpmi_sum(to, AT_SUM));
    /* What is written must be what a reader takes: the other half of the pair. */
    RPM_ASSERT_SLOW(judge(to, &again) == NULL && again.turn == head->turn);
}

int rpmi_head_get(const void *slot, struct rpmi_head *head)
{
    const char *wrong;

    RPM_ASSERT(slot != NULL && head != NULL);
    wrong = judge(slot, head);
    return wrong == NULL ? 0 : rpmi_fail(RPM_E_TORN, "head of the log: %s", wrong);
}

int rpmi_head_pick(const void *slots, struct rpmi_head *head, uint32_t *next)
{
    const unsigned char *from = slots;
    struct rpmi_head found[RPMI_HEAD_SLOTS];
    const char *wrong[RPMI_HEAD_SLOTS];
    uint32_t best;

    RPM_ASSERT(slots != NULL && head != NULL);
    for (uint32_t i = 0; i < RPMI_HEAD_SLOTS; i++)
        wrong[i] = judge(from + (size_t)i * RPMI_HEAD_SLOT_STRIDE, &found[i]);
    if (wrong[0] != NULL && wrong[1] != NULL)
        return rpmi_fail(RPM_E_CORRUPT, "no head of the log is valid: first %s, second %s",
                         wrong[0], wrong[1]);
    if (wrong[0] == NULL && wrong[1] == NULL &&
        (found[0].log_id != found[1].log_id || found[0].capacity_bytes != found[1].capacity_bytes))
        return rpmi_fail(RPM_E_CORRUPT, "the two heads of the log are of different logs");

    best = wrong[0] != NULL || (wrong[1] == NULL && found[1].turn > found[0].turn);
    *head = found[best];
    if (next != NULL)
        *next = 1 - best;
    return 0;
}

bool rpmi_head_in_limits(const struct rpmi_head *head)
{
    return head->turn < RPMI_HEAD_LIMIT && head->trim_lsn < RPMI_HEAD_LIMIT &&
           head->base_lsn < RPMI_HEAD_LIMIT;
}

/* What holds for every head, whoever made it. */
static bool is_sound(const struct rpmi_head *head)
{
    return head->capacity_bytes >= RPMI_LOG_CAPACITY_MIN &&
           rpmi_is_aligned(head->capacity_bytes, RPMI_PAGE_BYTES) &&
           rpmi_is_aligned(head->trim_lsn, RPMI_LINE_BYTES) &&
           rpmi_is_aligned(head->base_lsn, RPMI_LINE_BYTES);
}

/* NULL if the slot is valid, else what is wrong with it. */
static const char *judge(const unsigned char *slot, struct rpmi_head *head)
{
    struct rpmi_head found = {
        .turn = rpmi_load64(slot + AT_TURN),
        .log_id = rpmi_load64(slot + AT_LOG_ID),
        .capacity_bytes = rpmi_load64(slot + AT_CAPACITY),
        .trim_lsn = rpmi_load64(slot + AT_TRIM),
        .base_lsn = rpmi_load64(slot + AT_BASE),
        .epoch = rpmi_load32(slot + AT_EPOCH),
    };

    if (rpmi_all_zero(slot, RPMI_HEAD_BYTES))
        return "never written";
    if (rpmi_load64(slot + AT_MAGIC) != MAGIC)
        return "wrong magic";
    if (rpmi_load64(slot + AT_SUM) != rpmi_sum(slot, AT_SUM))
        return "wrong checksum";
    if (rpmi_load32(slot + AT_ZERO) != 0 || !is_sound(&found) || !rpmi_head_in_limits(&found))
        return "fields out of bounds";
    *head = found;
    return NULL;
}
