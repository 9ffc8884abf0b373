/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resume.c: settle what a lost connection left unknown. One epoch has one writer, and it gives each
 * LSN once; so a record is in the log exactly if the walk from a known boundary to the tail meets
 * a frame at its LSN with our old epoch. The walk starts at the head: below RPM_DURABLE even
 * records that were acknowledged may be gone after a power loss.
 *
 * Invariants
 *   the epoch of the unknown records outlives every failed attempt to settle them
 *   an outcome is delivered once; an attempt that fails delivers none
 *   alone: every epoch sealed since those records were written was claimed by us
 *
 * Tests: tests/unit/log/resume_test.cpp, tests/crash/, tests/kill/
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"

#define READER_TURNS_MAX 8u

struct settle {
    struct rpm_log *log;
    uint32_t next; /* first unknown record that the walk has not passed */
};

static void meet(void *context, const struct rpmi_frame *frame)
{
    struct settle *settle = context;
    struct rpm_log *log = settle->log;

    while (settle->next < log->unknown_count && log->unknown[settle->next].lsn < frame->lsn)
        settle->next++;
    if (settle->next < log->unknown_count && log->unknown[settle->next].lsn == frame->lsn &&
        frame->epoch == log->wrote_epoch && (frame->flags & RPMI_FRAME_PAD) == 0 &&
        !RPMI_CANARY(BLIND_RESUME))
        log->unknown[settle->next].present = 1;
}

/* Records that were trimmed meanwhile: they were there, if nobody else wrote. */
static bool settle_trimmed(struct rpm_log *log, bool alone)
{
    bool lost_track = false;

    for (uint32_t i = 0; i < log->unknown_count; i++) {
        log->unknown[i].present = 0;
        if (log->unknown[i].lsn >= log->head.trim_lsn)
            continue;
        log->unknown[i].present = alone ? 1 : -1;
        lost_track = lost_track || !alone;
    }
    return lost_track;
}

static void deliver(struct rpm_log *log, struct rpm_outcome *outcomes, uint32_t *count)
{
    memcpy(outcomes, log->unknown, log->unknown_count * sizeof(outcomes[0]));
    *count = log->unknown_count;
    log->unknown_count = 0;
    /* Told as outcomes now: not to be told again as completions. */
    for (uint64_t seq = log->reaped; seq < log->completed; seq++) {
        struct rpmi_entry *entry = &log->entries[seq & log->entries_mask];

        if (entry->status != 0)
            entry->silent = true;
    }
    rpmi_log_reap_silent(log);
}

static void forget_queues(struct rpm_log *log)
{
    rpm_log_abandon(log);
    rpmi_group_undo(log);
    log->outbox.head = log->outbox.tail;
}

/* One walk along what is there now. Records met stay present, whatever later walks find. */
static int walk(struct rpm_log *log)
{
    struct settle settle = { .log = log };
    int err = rpmi_log_scan(log, log->head.trim_lsn, meet, &settle, &log->report);

    if (err != 0)
        return err;
    /* The other one may not have made durable yet what we are about to call present. */
    return rpmi_log_make_durable(log, log->read_key, log->head.trim_lsn, log->report.end_lsn);
}

/* Somebody else writes now, and may trim under our feet: look until the head stood still. */
static int settle_as_reader(struct rpm_log *log, struct rpm_outcome *outcomes, uint32_t *count)
{
    bool still = false;

    (void)settle_trimmed(log, false);
    for (uint32_t turn = 0; turn < READER_TURNS_MAX && !still; turn++) {
        struct rpmi_head seen = log->head;
        int err = walk(log);

        if (err == 0)
            err = rpmi_log_head(log);
        if (err != 0)
            return err;
        still = log->head.trim_lsn == seen.trim_lsn && log->head.epoch == seen.epoch;
    }
    for (uint32_t i = 0; i < log->unknown_count; i++)
        if (log->unknown[i].present == 0 && (!still || log->unknown[i].lsn < log->head.trim_lsn))
            log->unknown[i].present = -1;
    forget_queues(log);
    log->dead = RPM_E_FENCED;
    log->settled++;
    deliver(log, outcomes, count);
    return rpmi_fail(RPM_E_FENCED, "another writer claimed log '%s'", log->name);
}

/* Somebody claimed the log while we were settling. */
static int give_way(struct rpm_log *log, struct rpm_outcome *outcomes, uint32_t *count)
{
    int err = rpmi_log_head(log);

    if (err != 0)
        return err;
    rpmi_conn_drop_key(log->conn, log->write_key);
    log->write_key = 0;
    return settle_as_reader(log, outcomes, count);
}

/* After a reconnect our keys are void and the server may have forgotten us: start over. */
static int start_over(struct rpm_log *log)
{
    uint64_t log_id = log->log_id;
    uint64_t capacity = log->capacity;
    int err;

    if (log->conn->link->lost != 0)
        return rpmi_fail(log->conn->link->lost, "reconnect before resuming");
    err = rpmi_log_replan(log);
    if (err == 0)
        err = rpmi_log_attach(log, 0, capacity);
    if (err != 0)
        return err;
    if (log->log_id != log_id || log->capacity != capacity) {
        rpmi_log_drop_keys(log);
        log->log_id = log_id;
        log->capacity = capacity;
        return rpmi_fail(RPM_E_NOENT, "log '%s' was removed; another has its name", log->name);
    }
    err = rpmi_log_head(log);
    if (err == 0 && log->head.epoch < log->wrote_epoch)
        err = rpmi_fail(RPM_E_CORRUPT, "the head of log '%s' went back in time", log->name);
    return err;
}

/* Has nobody else sealed an epoch since? The answer to our own last SEAL may have been lost. */
static bool look_around(struct rpm_log *log)
{
    log->alone =
        log->alone && (log->head.epoch == log->own_sealed || log->head.epoch == log->own_claimed);
    if (log->alone)
        log->own_sealed = log->head.epoch;
    return log->alone;
}

/* RPM_E_OWNED: somebody else's claim is in the way, and stays. */
static int claim_again(struct rpm_log *log)
{
    uint32_t wish = log->flags & RPM_LOG_TAKEOVER;
    int err;

    /* If nobody sealed an epoch after ours and nobody fenced us, what is in our way is our own old
     * claim. */
    if (look_around(log) && log->dead != RPM_E_FENCED)
        log->flags |= RPM_LOG_TAKEOVER;
    err = rpmi_log_claim(log);
    log->flags = (log->flags & ~(uint32_t)RPM_LOG_TAKEOVER) | wish;
    if (err == 0)
        err = rpmi_log_head(log);
    if (err != 0)
        return err;
    /* Others may have come and gone between our first look and the claim; from now on none can. */
    if (look_around(log))
        log->own_claimed = log->epoch;
    return 0;
}

int rpm_log_resume(struct rpm_log *log, struct rpm_outcome *outcomes, uint32_t room,
                   uint32_t *count)
{
    struct settle settle = { .log = log };
    uint64_t least;
    bool lost_track;
    int err;

    RPM_ASSERT(log != NULL && outcomes != NULL && count != NULL);
    if ((log->flags & RPM_LOG_WRITE) == 0)
        return rpmi_fail(RPM_E_DENIED, "log '%s' is open for reading only", log->name);
    if (log->dead == 0)
        return rpmi_fail(RPM_E_INVAL, "log '%s' has nothing to resume from", log->name);
    if (room < log->unknown_count)
        return rpmi_fail(RPM_E_INVAL, "room for %u of %u outcomes of '%s'", room,
                         log->unknown_count, log->name);
    err = start_over(log);
    if (err == 0)
        err = claim_again(log);
    if (err == RPM_E_OWNED && (!log->alone || log->dead == RPM_E_FENCED))
        return settle_as_reader(log, outcomes, count);
    if (err != 0)
        return err;
    forget_queues(log);
    lost_track = settle_trimmed(log, log->alone);
    least = log->alone && log->plan.level == RPM_DURABLE ? log->acked_lsn : 0;
    err = rpmi_log_settle(log, least, meet, &settle);
    if (err == RPM_E_FENCED)
        return give_way(log, outcomes, count);
    if (err != 0)
        return err;
    log->dead = 0;
    deliver(log, outcomes, count);
    RPM_ASSERT_SLOW(rpmi_log_sound(log));
    return lost_track
               ? rpmi_fail(RPM_E_TRIMMED, "others wrote to log '%s' and trimmed it", log->name)
               : 0;
}
