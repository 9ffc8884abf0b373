/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * region.h: an open region.
 *
 * Invariants
 *   every request is checked against the region's bounds before anything is posted
 *   reaped <= completed <= submitted, submitted - reaped <= inflight_max
 *
 * Threads: one per connection. Tests: tests/unit/region/, tests/crash/
 */
#ifndef RPMI_REGION_H
#define RPMI_REGION_H

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "conn/outbox.h"
#include "log/claim.h"

#include <librpm/steps.h>

#define RPMI_REGION_STAGE_BYTES (1u << 20)
#define RPMI_GROUP_PATCHES 16u /* pieces that share one flush */

/* One outstanding asynchronous operation. */
struct rpmi_task {
    uint64_t offset;
    void *context;
    uint64_t stage_end;
    void *into;   /* READ, CAS, FAA: the user's memory for the fetched bytes */
    void *staged; /* staging memory of its bytes; NULL: the link uses the user's memory */
    uint64_t len;
    const struct rpm_step *steps; /* STEPS: the user's list; @into is unused then */
    uint32_t steps_n;
    uint8_t kind; /* enum rpmi_op_kind; WRITE for every kind of write op of the plan */
    bool reads;   /* only reads, which a fence does not refuse */
    int status;
};

struct rpm_region {
    struct rpmi_owner owner;
    struct rpm_conn *conn;
    struct rpmi_arena arena;
    uint64_t link_generation;
    uint32_t key;
    uint32_t kind; /* enum rpm_kind */
    uint64_t bytes;
    uint32_t slot_bytes;
    int dead; /* 0, or why the region must be reopened; RPM_E_FENCED: it can still be read */
    struct rpmi_claim claim;
    struct rpmi_plan plan;
    struct rpmi_plan persist_plan;
    struct rpmi_outbox outbox;
    struct rpmi_op *ops; /* RPMI_BATCH_OPS_MAX */
    uint32_t ops_count;
    struct rpmi_range ranges[RPMI_GROUP_PATCHES]; /* written since the last seal */
    uint32_t ranges_n;
    struct rpmi_task *tasks; /* ring of inflight_max */
    uint32_t inflight_max;
    uint64_t submitted;
    uint64_t completed;
    uint64_t reaped;
};

/* write.c: 0, or the error that forbids writing, or reading, with its text. */
int rpmi_region_writable(const struct rpm_region *region);
int rpmi_region_readable(const struct rpm_region *region);
/* RPM_E_INVAL for no bytes, RPM_E_RANGE. */
int rpmi_region_bounds(const struct rpm_region *region, uint64_t offset, uint64_t len);
/* rpmi_region_writable() and rpmi_region_bounds(). */
int rpmi_region_check(const struct rpm_region *region, uint64_t offset, uint64_t len);
/* Check all pieces of a vectored write. RPM_E_INVAL, RPM_E_RANGE, or why the region is not
 * writable. */
int rpmi_region_check_patches(const struct rpm_region *region, const struct rpm_patch *patches,
                              uint32_t n);
/* The error to report for an op of the region that ended with @status. If it means that the guard
 * log's claim has ended, the region is marked as fenced. */
int rpmi_region_result(struct rpm_region *region, int status);

/* ops.c: bytes to write for a piece of @len at @offset: whole lines where its writer owns them (H6,
 * H7). */
uint64_t rpmi_region_padded(const struct rpm_region *region, uint64_t offset, uint64_t len);
/* Add to the post that is being built: a write; and the seal of all writes since the last seal. */
void rpmi_region_add_write(struct rpm_region *region, uint64_t offset, const void *data,
                           uint64_t len);
void rpmi_region_add_seal(struct rpm_region *region);
/* Make the NIC execute the write at ops[@first] only after the seal before it was answered. */
void rpmi_region_order_after_seal(struct rpm_region *region, uint32_t first);

/* atomic.c: may this word be changed? RPM_E_NOCAP, RPM_E_INVAL, RPM_E_RANGE, or why the region is
 * not writable. */
int rpmi_region_check_word(const struct rpm_region *region, uint64_t offset);

/* async.c: take a task slot, and task->len bytes of staging memory at task->staged; on a link that
 * completes on post only STEPS has staging memory. @may_run: called once completions were
 * reaped, which may have fenced the region. RPM_E_BUSY, RPM_E_TOOBIG. */
int rpmi_region_reserve(struct rpm_region *region, struct rpmi_task *task,
                        int (*may_run)(const struct rpm_region *));
/* Post the ops that were built. RPM_E_BUSY: none was posted. On 0 a completion follows, or has
 * already come. */
int rpmi_region_submit(struct rpm_region *region, const struct rpmi_task *task);

/* The same checks as rpmi_region_readable() and rpmi_region_writable(), without an error text. */
static inline bool rpmi_region_may_read(const struct rpm_region *region)
{
    return (region->dead == 0 || region->dead == RPM_E_FENCED) &&
           region->link_generation == region->conn->generation && region->conn->link->lost == 0;
}

static inline bool rpmi_region_may_write(const struct rpm_region *region)
{
    /* By now a key of an earlier link may open another object. */
    RPM_ASSERT_SLOW(region->dead != 0 || region->link_generation == region->conn->generation);
    return region->dead == 0 && !rpmi_claim_has_ended(&region->claim);
}

/* Over the link's fast path. True: done. False: the link has none, or it does not take this
 * request: nothing was read or changed, and the caller takes the general path, which reports what
 * is wrong. */
static inline bool rpmi_region_fast_read(struct rpm_region *region, uint64_t offset, void *data,
                                         uint64_t len)
{
    struct rpmi_link *link = region->conn->link;

    if (link->fast_path == NULL || !rpmi_region_may_read(region) || len == 0 ||
        !rpmi_in_bounds(offset, len, region->bytes) ||
        link->fast_path->read(link, region->key, offset, data, len) != 0)
        return false;
    link->stats.reads++;
    link->stats.read_bytes += len;
    return true;
}

static inline bool rpmi_region_fast_cas(struct rpm_region *region, uint64_t offset, uint64_t expect,
                                        uint64_t desired, uint64_t *found)
{
    struct rpmi_link *link = region->conn->link;

    if (link->fast_path == NULL || region->kind != RPM_KIND_DRAM ||
        !rpmi_region_may_write(region) || !rpmi_is_aligned(offset, sizeof(uint64_t)) ||
        !rpmi_in_bounds(offset, sizeof(uint64_t), region->bytes) ||
        link->fast_path->swap(link, region->key, offset, expect, desired, found) != 0)
        return false;
    link->stats.atomics++;
    return true;
}

/* fast_path.c: the same for a vectored write. */
bool rpmi_region_fast_writev(struct rpm_region *region, const struct rpm_patch *patches,
                             uint32_t n);

static inline bool rpmi_step_is_atomic(const struct rpm_step *step)
{
    return step->kind == RPM_STEP_CAS || step->kind == RPM_STEP_FAA;
}

/* Is its result one word, of 8 bytes, whatever its @len? */
static inline bool rpmi_step_is_word(const struct rpm_step *step)
{
    return rpmi_step_is_atomic(step) || step->kind == RPM_STEP_WATCH ||
           step->kind == RPM_STEP_SUM || step->kind == RPM_STEP_COMPARE;
}

/* watch.c: does the list begin with a WATCH that its link does not carry? */
bool rpmi_watch_needs_polls(const struct rpm_step *steps);
/* How long the WATCH waits, so that the connection is not taken for lost meanwhile. */
uint64_t rpmi_watch_us(const struct rpm_step *step);
/* Read the word until it differs from @expect or the time is over. 0 and the word; the errors of
 * rpm_region_read(). */
int rpmi_watch_poll(const struct rpm_step *step, uint64_t *word);

/* sums.c: is it a SUM or a COMPARE that the link of @region does not carry? Has the list one? */
bool rpmi_step_needs_reads(const struct rpm_region *region, const struct rpm_step *step);
bool rpmi_steps_need_reads(const struct rpm_region *region, const struct rpm_step *steps,
                           uint32_t n);
/* Read the range of a SUM that was checked, and store its checksum. The errors of
 * rpm_region_read(). */
int rpmi_sum_read(const struct rpm_step *step);
/* compare.c: the same for both ranges of a COMPARE. */
int rpmi_compare_read(const struct rpm_step *step);

/* results.c: decode the @answer to a list and copy the results to the user's memory: of the @done
 * steps that were carried out, and of the step that ended the list. 0, or RPM_E_PROTO. */
int rpmi_steps_copy(const struct rpm_step *steps, uint32_t n, const unsigned char *answer,
                    uint32_t *done);
/* The same for an asynchronous list, whose answer is at task->staged. */
int rpmi_steps_copy_results(struct rpmi_task *task);

void rpmi_region_complete(struct rpmi_owner *owner, uint64_t seq, int status);
void rpmi_region_lost(struct rpmi_owner *owner, int status);
bool rpmi_region_has_completion(struct rpmi_owner *owner);

#endif
