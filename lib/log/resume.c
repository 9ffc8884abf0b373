/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resume.c: settle the appends that a lost connection left unknown. An epoch has one writer, which
 * uses each LSN once; so a record is in the log exactly if the walk from a known boundary to the
 * tail finds a frame at its LSN with our old epoch. The walk starts at the head: below RPM_DURABLE
 * even acknowledged records may be lost in a power loss.
 *
 * Invariants
 *   the epoch of the unknown records is kept across failed attempts to settle them
 *   an outcome is delivered once; a failed attempt delivers none
 *   while sole_writer is set, this client claimed every epoch that was sealed since it wrote those
 *   records
 *   a fenced writer claims again only in rpm_log_claim(), even if its successor has disconnected
 *   a resume fences the older connection of the same writer, never a successor
 *
 * Tests: tests/unit/log/resume_test.cpp, tests/crash/, tests/kill/
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"

#include <inttypes.h>

#define READER_TURNS_MAX 8u

struct settle {
    struct rpm_log *log;
    uint32_t next; /* first unknown record that the walk has not passed */
};

static void match_frame(void *context, const struct rpmi_frame *frame)
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

/* A record that was trimmed since was in the log, if no other writer wrote. */
static void settle_trimmed(struct rpm_log *log, bool sole)
{
    for (uint32_t i = 0; i < log->unknown_count; i++) {
        bool trimmed = log->unknown[i].lsn < log->head.trim_lsn;

        log->unknown[i].present = !trimmed ? 0 : sole ? 1 : -1;
    }
}

static void deliver(struct rpm_log *log, struct rpm_outcome *outcomes, uint32_t room,
                    uint32_t *count)
{
    RPM_ASSERT(log->unknown_count <= log->inflight_max);
    RPM_ASSERT(log->unknown_count <= room); /* outcomes are the caller's memory */
    memcpy(outcomes, log->unknown, log->unknown_count * sizeof(outcomes[0]));
    *count = log->unknown_count;
    log->unknown_count = 0;
    /* Reported as outcomes now, so not reported again as completions. */
    for (uint64_t seq = log->reaped; seq < log->completed; seq++) {
        struct rpmi_entry *entry = &log->entries[seq & log->entries_mask];

        if (entry->status != 0)
            entry->silent = true;
    }
    rpmi_log_reap_silent(log);
}

static void discard_staged(struct rpm_log *log)
{
    rpm_log_abandon(log);
    RPM_ASSERT(log->pending == 0);
    log->outbox.head = log->outbox.tail;
}

/* The handle only reads from now on, until rpm_log_claim(). */
static void end_writing(struct rpm_log *log)
{
    RPM_ASSERT(log->write_key == 0); /* a claim that ended has no key */
    discard_staged(log);
    log->dead = RPM_E_FENCED;
    log->reader_generation++;
}

static int fail_trimmed(const struct rpm_log *log)
{
    return rpmi_fail(
        RPM_E_TRIMMED,
        "other writers trimmed log '%s' past some of this writer's records: their outcomes cannot "
        "be known and are delivered with present -1",
        log->name);
}

static int fail_fenced(const struct rpm_log *log)
{
    return rpmi_fail(RPM_E_FENCED,
                     "another writer claimed log '%s'; rpm_log_claim() to write again", log->name);
}

/* One walk along the log as it is now. Records found stay present, even if later walks do not find
 * them. */
static int walk(struct rpm_log *log)
{
    struct settle settle = { .log = log };
    int err = rpmi_log_scan(log, log->head.trim_lsn, match_frame, &settle, &log->report);

    if (err != 0)
        return err;
    /* The other writer may not have made durable yet the records that we report as present. */
    return rpmi_log_make_durable(log, log->read_key, log->head.trim_lsn, log->report.end_lsn);
}

/* Other writers may append and trim meanwhile: scan again until the head did not change. The log is
 * read only from now on. RPM_E_TRIMMED: some outcomes are -1. */
static int settle_as_reader(struct rpm_log *log, struct rpm_outcome *outcomes, uint32_t room,
                            uint32_t *count)
{
    bool unchanged = false;
    bool any_undecided = false;

    RPM_ASSERT(log->dead == RPM_E_FENCED);
    rpmi_log_drop_key(log, &log->write_key);
    settle_trimmed(log, false);
    for (uint32_t turn = 0; turn < READER_TURNS_MAX && !unchanged; turn++) {
        struct rpmi_head seen = log->head;
        int err = walk(log);

        if (err == 0)
            err = rpmi_log_head(log);
        if (err != 0)
            return err;
        unchanged = log->head.trim_lsn == seen.trim_lsn && log->head.epoch == seen.epoch;
    }
    for (uint32_t i = 0; i < log->unknown_count; i++) {
        struct rpm_outcome *outcome = &log->unknown[i];

        if (outcome->present == 0 && outcome->lsn != RPM_LSN_NONE &&
            (!unchanged || outcome->lsn < log->head.trim_lsn))
            outcome->present = -1;
        any_undecided = any_undecided || outcome->present < 0;
    }
    end_writing(log);
    deliver(log, outcomes, room, count);
    return any_undecided ? fail_trimmed(log) : 0;
}

/* After a reconnect our keys are void and the server may have restarted. */
int rpmi_log_reopen(struct rpm_log *log)
{
    uint64_t log_id = log->log_id;
    uint64_t capacity = log->capacity;
    int err;

    RPM_ASSERT(log->dead != 0);
    if (log->conn->link->lost != 0)
        return rpmi_fail(log->conn->link->lost,
                         "log '%s': its connection is lost: rpm_conn_reconnect() first", log->name);
    err = rpmi_log_replan(log);
    if (err == 0)
        err = rpmi_log_attach(log, 0, capacity, NULL);
    if (err != 0)
        return err;
    if (log->log_id != log_id || log->capacity != capacity) {
        rpmi_log_drop_keys(log);
        log->log_id = log_id;
        log->capacity = capacity;
        return rpmi_fail(RPM_E_NOENT,
                         "log '%s' was removed, and another log has its name; close this handle "
                         "and open the log again",
                         log->name);
    }
    err = rpmi_log_head(log);
    if (err == 0 && log->head.epoch < log->wrote_epoch)
        err = rpmi_fail(RPM_E_CORRUPT,
                        "the head of log '%s' has epoch %" PRIu32
                        ", but this writer has written with epoch %" PRIu32
                        ": the server has an older copy of its pool; start it with the newer one",
                        log->name, log->head.epoch, log->wrote_epoch);
    return err;
}

/* Is this client still the only writer that sealed an epoch since wrote_epoch? The head may have
 * our last claimed epoch, because the reply to our own SEAL was lost. */
static bool check_sole_writer(struct rpm_log *log)
{
    log->sole_writer = log->sole_writer &&
                       (log->head.epoch == log->own_sealed || log->head.epoch == log->own_claimed);
    if (log->sole_writer)
        log->own_sealed = log->head.epoch;
    return log->sole_writer;
}

/* Is it known that another writer claimed the log since? */
static bool has_successor(struct rpm_log *log)
{
    return !check_sole_writer(log) || log->dead == RPM_E_FENCED ||
           log->ended_epoch >= log->wrote_epoch;
}

/* We have seen no other writer, but one may have claimed the log and not sealed its epoch yet. Then
 * the server refuses this claim, so that it never fences a successor. */
static int claim_again(struct rpm_log *log)
{
    int err;

    RPM_ASSERT(log->sole_writer && log->ended_epoch < log->wrote_epoch);
    err = rpmi_log_claim(log, RPMI_CALL_RESUME);
    if (err == 0)
        err = rpmi_log_head(log);
    if (err != 0)
        return err;
    if (check_sole_writer(log))
        log->own_claimed = log->epoch;
    return 0;
}

/* Checks before anything is settled: if one fails, nothing has changed. */
static int may_settle(const struct rpm_log *log, uint32_t room)
{
    if ((log->flags & RPM_LOG_WRITE) == 0)
        return rpmi_fail(RPM_E_DENIED,
                         "log '%s' is open for reading only; open it with RPM_LOG_WRITE",
                         log->name);
    if (log->dead == 0)
        return rpmi_fail(RPM_E_INVAL, "log '%s' has nothing to settle: it is open for writing",
                         log->name);
    if (room < log->unknown_count)
        return rpmi_fail(RPM_E_INVAL,
                         "room for %u outcomes, but log '%s' has %u; pass a larger array", room,
                         log->name, log->unknown_count);
    return 0;
}

/* Claim the log if this client is still its writer, and settle each unknown record. RPM_E_FENCED:
 * another client is the writer, and nothing is settled yet. RPM_E_TRIMMED is impossible: no other
 * writer wrote. */
static int settle_as_writer(struct rpm_log *log)
{
    struct settle settle = { .log = log };
    uint64_t least;
    int err = has_successor(log) ? RPM_E_FENCED : claim_again(log);

    if (err == 0 && !log->sole_writer)
        err = RPM_E_FENCED;
    if (err != 0)
        return err; /* RPM_E_FENCED: only for our caller, which then settles as a reader */
    RPM_ASSERT(log->write_key != 0); /* no other writer appends while this decides */
    discard_staged(log);
    settle_trimmed(log, true);
    least = log->plan.level == RPM_DURABLE ? log->acked_lsn : 0;
    return rpmi_log_recover(log, least, match_frame, &settle);
}

/* Settle, and keep the claim. RPM_E_FENCED: another client has the claim; everything is settled all
 * the same.
 */
static int settle_and_keep(struct rpm_log *log, struct rpm_outcome *outcomes, uint32_t room,
                           uint32_t *count)
{
    int err;

    RPM_ASSERT(log != NULL && outcomes != NULL && count != NULL);
    err = may_settle(log, room);
    if (err == 0)
        err = rpmi_log_reopen(log);
    if (err != 0)
        return err;
    err = settle_as_writer(log);
    if (err == 0) {
        deliver(log, outcomes, room, count);
        return 0;
    }
    if (err != RPM_E_FENCED)
        return err;
    /* If reading below fails, the next call must not claim the log again. */
    log->dead = RPM_E_FENCED;
    err = rpmi_log_head(log);
    if (err == 0)
        err = settle_as_reader(log, outcomes, room, count);
    return err == 0 ? RPM_E_FENCED : err;
}

int rpm_log_resume(struct rpm_log *log, struct rpm_outcome *outcomes, uint32_t room,
                   uint32_t *count)
{
    rpmi_begin();

    int err = settle_and_keep(log, outcomes, room, count);

    if (err == RPM_E_FENCED || err == RPM_E_TRIMMED)
        return fail_fenced(log);
    if (err != 0)
        return err;
    RPM_ASSERT(log->write_key != 0 && log->unknown_count == 0);
    log->dead = 0;
    RPM_ASSERT_SLOW(rpmi_log_check_invariants(log));
    return 0;
}

int rpm_log_settle(struct rpm_log *log, struct rpm_outcome *outcomes, uint32_t room,
                   uint32_t *count)
{
    rpmi_begin();

    int err = settle_and_keep(log, outcomes, room, count);

    if (err == RPM_E_FENCED)
        return 0;
    if (err != 0)
        return err;
    RPM_ASSERT(log->unknown_count == 0); /* every outcome was delivered before the claim ends */
    rpmi_log_drop_key(log, &log->write_key);
    end_writing(log);
    return 0;
}

int rpm_log_claim(struct rpm_log *log, uint32_t flags)
{
    rpmi_begin();

    int err;

    RPM_ASSERT(log != NULL);
    if ((flags & ~(uint32_t)RPM_LOG_TAKEOVER) != 0)
        return rpmi_fail(RPM_E_INVAL, "claim flags %#x: RPM_LOG_TAKEOVER or 0", flags);
    err = may_settle(log, UINT32_MAX);
    if (err != 0)
        return err;
    if (log->unknown_count != 0)
        return rpmi_fail(RPM_E_INVAL,
                         "log '%s': %u outcomes are not delivered yet: rpm_log_settle() first",
                         log->name, log->unknown_count);
    err = rpmi_log_reopen(log);
    if (err == 0)
        err = rpmi_log_claim(log, (flags & RPM_LOG_TAKEOVER) != 0 ? RPMI_CALL_TAKEOVER : 0);
    if (err == 0)
        err = rpmi_log_head(log);
    if (err == 0) {
        discard_staged(log);
        err = rpmi_log_recover(log, 0, NULL, NULL);
    }
    if (err != 0) {
        rpmi_log_drop_key(log, &log->write_key);
        return err;
    }
    log->dead = 0;
    RPM_ASSERT_SLOW(rpmi_log_check_invariants(log));
    return 0;
}
