/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * head.c: the head of a log, written in turn to two pairs of slots.
 *
 * Invariants: see head.h. All slots of one log name the same log and capacity.
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
#include "wire/layout.h"

#include <inttypes.h>
#include <stdbool.h>

#define MAGIC 0x0344414548474f4cull /* "LOGHEAD", version 3 */
#define AT_MAGIC 0
#define AT_SUM 120

_Static_assert(AT_SUM + sizeof(uint64_t) == RPMI_HEAD_BYTES, "the sum ends the slot");
_Static_assert(RPMI_HEAD_BYTES <= RPMI_XPLINE_BYTES, "a slot is on one media line");
_Static_assert(RPMI_HEAD_SLOT_STRIDE % RPMI_XPLINE_BYTES == 0, "slots on different media lines");
_Static_assert(RPMI_HEAD_SLOTS *RPMI_HEAD_SLOT_STRIDE <= RPMI_GUARD_OFFSET, "slots, then guard");

static const struct rpmi_field FIELDS[] = {
    RPMI_OWN(AT_MAGIC, 8, "magic"),
    RPMI_NUMBER(8, struct rpmi_head, turn),
    RPMI_NUMBER(16, struct rpmi_head, log_id),
    RPMI_NUMBER(24, struct rpmi_head, capacity_bytes),
    RPMI_NUMBER(32, struct rpmi_head, trim_lsn),
    RPMI_NUMBER(40, struct rpmi_head, base_lsn),
    RPMI_NUMBER(48, struct rpmi_head, epoch),
    RPMI_NUMBER(52, struct rpmi_head, flags),
    RPMI_NUMBER(56, struct rpmi_head, life.run),
    RPMI_NUMBER(64, struct rpmi_head, life.boot),
    RPMI_NUMBER(72, struct rpmi_head, set.copies),
    RPMI_NUMBER(73, struct rpmi_head, set.acks),
    RPMI_NUMBER(74, struct rpmi_head, set.member),
    RPMI_NUMBER(80, struct rpmi_head, set.members),
    RPMI_OWN(AT_SUM, 8, "checksum"),
};

const struct rpmi_layout rpmi_head_layout = RPMI_LAYOUT("head slot", FIELDS, RPMI_HEAD_BYTES);

static bool is_sound(const struct rpmi_head *head);
static const char *judge(const unsigned char *slot, struct rpmi_head *head);

void rpmi_head_put(void *slot, const struct rpmi_head *head)
{
    unsigned char *to = slot;
    struct rpmi_head again;

    RPM_ASSERT(slot != NULL && head != NULL);
    RPM_ASSERT(is_sound(head));
    rpmi_layout_put(&rpmi_head_layout, to, head);
    rpmi_store64(to + AT_MAGIC, MAGIC);
    rpmi_store64(to + AT_SUM, rpmi_sum(to, AT_SUM));
    /* A reader must accept what is written here. */
    RPM_ASSERT_SLOW(judge(to, &again) == NULL && again.turn == head->turn);
}

int rpmi_head_get(const void *slot, struct rpmi_head *head)
{
    const char *wrong;

    RPM_ASSERT(slot != NULL && head != NULL);
    wrong = judge(slot, head);
    return wrong == NULL ? 0 : rpmi_fail(RPM_E_TORN, "head of the log: %s", wrong);
}

/* Do two valid slots belong to the same log and, if their turns are equal, hold the same head? */
static bool agree(const struct rpmi_head_found *a, const struct rpmi_head_found *b)
{
    if (a->head.log_id != b->head.log_id || a->head.capacity_bytes != b->head.capacity_bytes ||
        !rpmi_membership_is_same(&a->head.set, &b->head.set))
        return false;
    return a->head.turn != b->head.turn ||
           (a->head.trim_lsn == b->head.trim_lsn && a->head.base_lsn == b->head.base_lsn &&
            a->head.epoch == b->head.epoch && a->head.flags == b->head.flags &&
            a->head.life.run == b->head.life.run && a->head.life.boot == b->head.life.boot);
}

/* Check every slot, of any log. */
static void judge_all(const unsigned char *from, struct rpmi_head_found found[RPMI_HEAD_SLOTS])
{
    for (uint32_t i = 0; i < RPMI_HEAD_SLOTS; i++) {
        found[i].head = (struct rpmi_head){ 0 };
        found[i].wrong = judge(from + (size_t)i * RPMI_HEAD_SLOT_STRIDE, &found[i].head);
        if (found[i].wrong == NULL && found[i].head.turn % 2 != i % 2)
            found[i].wrong = "a turn that belongs in another slot";
    }
}

static uint32_t newest(const struct rpmi_head_found found[RPMI_HEAD_SLOTS])
{
    uint32_t best = RPMI_HEAD_SLOTS;

    for (uint32_t i = 0; i < RPMI_HEAD_SLOTS; i++)
        if (found[i].wrong == NULL &&
            (best == RPMI_HEAD_SLOTS || found[i].head.turn > found[best].head.turn))
            best = i;
    return best;
}

uint32_t rpmi_head_judge(const void *slots, uint64_t log_id, uint64_t capacity_bytes,
                         struct rpmi_head_found found[RPMI_HEAD_SLOTS])
{
    RPM_ASSERT(slots != NULL && found != NULL);
    judge_all(slots, found);
    for (uint32_t i = 0; i < RPMI_HEAD_SLOTS; i++)
        if (found[i].wrong == NULL &&
            (found[i].head.log_id != log_id || found[i].head.capacity_bytes != capacity_bytes))
            found[i].wrong = "the head of another log";
    return newest(found);
}

int rpmi_head_pick(const void *slots, struct rpmi_head *head, uint32_t *lacking)
{
    struct rpmi_head_found found[RPMI_HEAD_SLOTS];
    uint32_t missing = 0;
    uint32_t best;

    RPM_ASSERT(slots != NULL && head != NULL);
    judge_all(slots, found);
    best = newest(found);
    if (best == RPMI_HEAD_SLOTS)
        return rpmi_fail(RPM_E_CORRUPT,
                         "no head of the log is valid: slot 0 has %s, 1 %s, 2 %s, 3 %s",
                         found[0].wrong, found[1].wrong, found[2].wrong, found[3].wrong);
    for (uint32_t i = 0; i < RPMI_HEAD_SLOTS; i++)
        if (found[i].wrong == NULL && !agree(&found[i], &found[best]))
            return rpmi_fail(RPM_E_CORRUPT, "head slots %u and %u of the log contradict each other",
                             i, best);
    for (uint32_t copy = 0; copy < RPMI_HEAD_COPIES; copy++) {
        uint32_t i = rpmi_head_slot(found[best].head.turn, copy);

        if (found[i].wrong != NULL || found[i].head.turn != found[best].head.turn)
            missing |= 1u << i;
    }
    /* A power cut tears the slots of the next head only while both of this one are whole. */
    if (missing != 0 && found[1 - best % 2].wrong != NULL && found[3 - best % 2].wrong != NULL)
        return rpmi_fail(RPM_E_CORRUPT,
                         "head slot %u of the log is valid (turn %" PRIu64
                         "), but %u and %u are not: a newer head may have been there",
                         best, found[best].head.turn, 1 - best % 2, 3 - best % 2);
    *head = found[best].head;
    if (lacking != NULL)
        *lacking = missing;
    return 0;
}

bool rpmi_membership_is_sound(const struct rpmi_membership *set)
{
    if (set->copies == 0)
        return set->acks == 0 && set->member == 0 && set->members == 0;
    return set->copies <= RPMI_COPIES_MAX && set->acks >= 1 && set->acks <= set->copies &&
           set->member < set->copies;
}

bool rpmi_membership_is_same(const struct rpmi_membership *a, const struct rpmi_membership *b)
{
    return a->copies == b->copies && a->acks == b->acks && a->member == b->member &&
           a->members == b->members;
}

bool rpmi_head_in_limits(const struct rpmi_head *head)
{
    return head->turn < RPMI_HEAD_LIMIT && head->trim_lsn < RPMI_HEAD_LIMIT &&
           head->base_lsn < RPMI_HEAD_LIMIT;
}

/* The rules that every head obeys. */
static bool is_sound(const struct rpmi_head *head)
{
    return head->capacity_bytes >= RPMI_LOG_CAPACITY_MIN &&
           rpmi_is_aligned(head->capacity_bytes, RPMI_PAGE_BYTES) &&
           rpmi_is_aligned(head->trim_lsn, RPMI_LINE_BYTES) &&
           rpmi_is_aligned(head->base_lsn, RPMI_LINE_BYTES) &&
           (head->flags & ~(uint32_t)RPMI_HEAD_DURABLE) == 0 &&
           rpmi_membership_is_sound(&head->set);
}

/* NULL if the slot is valid, else what is wrong with it. */
static const char *judge(const unsigned char *slot, struct rpmi_head *head)
{
    struct rpmi_head found;

    if (rpmi_all_zero(slot, RPMI_HEAD_BYTES))
        return "zeros";
    if (rpmi_load64(slot + AT_MAGIC) != MAGIC)
        return "another magic";
    if (rpmi_load64(slot + AT_SUM) != rpmi_sum(slot, AT_SUM))
        return "a wrong checksum";
    if (rpmi_layout_get(&rpmi_head_layout, slot, &found) != NULL)
        return "reserved bytes in use";
    if (!is_sound(&found) || !rpmi_head_in_limits(&found))
        return "fields out of bounds";
    *head = found;
    return NULL;
}
