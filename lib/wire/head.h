/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * head.h: the head of a log: bounds and epoch. Each head is written to two slots, and the next head
 * to the other two slots, so that neither a torn write nor one damaged slot destroys the valid
 * head.
 *
 * Invariants
 *   the head of turn t is in the two slots whose index has the parity of t
 *   both slots of the valid head are durable before a slot of the head before it is overwritten
 *   of the valid slots the one with the highest turn is the head
 *   trim_lsn and base_lsn are multiples of 64; epoch and turn never decrease
 *   records at or above base_lsn carry exactly this epoch, records below it a lower one
 *   log_id, capacity and set never change
 *
 * Format: FORMAT.md, section 4.   Tests: tests/unit/wire/head_test.cpp
 */
#ifndef RPMI_HEAD_H
#define RPMI_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#define RPMI_HEAD_BYTES 128u       /* one slot */
#define RPMI_HEAD_SLOT_STRIDE 256u /* slots are on different media lines */
#define RPMI_HEAD_COPIES 2u
#define RPMI_HEAD_SLOTS 4u
#define RPMI_GUARD_OFFSET 1024u /* writer's guard line, see wire/guard.h */

/* Turn and LSNs are below this: counting up from a valid head never wraps to 0. */
#define RPMI_HEAD_LIMIT (1ull << 63)

struct rpmi_layout; /* wire/layout.h */
extern const struct rpmi_layout rpmi_head_layout;

/* In which run of its server, and in which boot of that machine, something was stored. */
struct rpmi_life {
    uint64_t run;  /* random, of this run of the server; 0: unknown */
    uint64_t boot; /* of its machine; 0: unknown */
};

/* The set of copies that a log belongs to; all zeros: it is a single log. */
struct rpmi_membership {
    uint8_t copies;   /* members of the set */
    uint8_t acks;     /* how many of them hold an acknowledged record */
    uint8_t member;   /* which of them this log is */
    uint64_t members; /* hash of the list of members */
};

struct rpmi_head {
    uint64_t turn;           /* of this write of the head */
    uint64_t log_id;         /* never reused within a pool */
    uint64_t capacity_bytes; /* of the ring behind the header */
    uint64_t trim_lsn;       /* oldest record kept */
    uint64_t base_lsn;       /* where the current epoch begins */
    uint32_t epoch;
    uint32_t flags;        /* enum rpmi_head_flag */
    struct rpmi_life life; /* in which the epoch was sealed, or the log was created */
    struct rpmi_membership set;
};

enum rpmi_head_flag {
    RPMI_HEAD_DURABLE = 1 /* everything before base_lsn was durable before this was written */
};

/* The slot of copy 0 or 1 of the head with this turn. Copies of one head are 512 bytes apart, so
 * that a bad sector of that size holds only one of them. */
static inline uint32_t rpmi_head_slot(uint64_t turn, uint32_t copy)
{
    return (uint32_t)(turn % 2) + 2 * copy;
}

/* A slot and whether it is valid. */
struct rpmi_head_found {
    struct rpmi_head head; /* set if the slot is valid */
    const char *wrong;     /* the reason why the slot is invalid; NULL: it is valid */
};

/* Are turn and LSNs below RPMI_HEAD_LIMIT, so that rpmi_head_get() accepts the head? */
bool rpmi_head_in_limits(const struct rpmi_head *head);

/* Is @set all zeros, a single log's, or are its numbers within the bounds of FORMAT.md? */
bool rpmi_membership_is_sound(const struct rpmi_membership *set);
bool rpmi_membership_is_same(const struct rpmi_membership *a, const struct rpmi_membership *b);

/* Write one slot of RPMI_HEAD_BYTES. */
void rpmi_head_put(void *slot, const struct rpmi_head *head);

/* Read one slot. 0, or RPM_E_TORN: checksum, magic or invariants fail. */
int rpmi_head_get(const void *slot, struct rpmi_head *head);

/* Judge the slots, RPMI_HEAD_SLOT_STRIDE apart at @slots, of the log @log_id with a ring of
 * @capacity bytes. The index of a valid one with the highest turn, or RPMI_HEAD_SLOTS. */
uint32_t rpmi_head_judge(const void *slots, uint64_t log_id, uint64_t capacity_bytes,
                         struct rpmi_head_found found[RPMI_HEAD_SLOTS]);

/*
 * Choose among the slots, RPMI_HEAD_SLOT_STRIDE apart at @slots. @lacking, may be NULL: bit i is
 * set if slot i should hold this head and does not. RPM_E_CORRUPT: no slot is valid, slots
 * contradict each other, or so many are damaged that a newer head may have been in them.
 */
int rpmi_head_pick(const void *slots, struct rpmi_head *head, uint32_t *lacking);

#endif
