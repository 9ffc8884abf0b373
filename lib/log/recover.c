/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover.c: become the writer of a log. Claim it (older writers can append nothing any more), find
 * the tail, make all records found durable, and only then seal the new epoch, after which appends
 * may begin.
 *
 * Why the records found are made durable first: a record may be visible and not durable yet. If a
 * new record were acknowledged behind it and the power failed, the gap would hide the acknowledged
 * one.
 *
 * Tests: tests/unit/log/recover_test.cpp, tests/crash/
 */
#include "log/member.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"

#include <inttypes.h>
#include <string.h>

void rpmi_log_drop_key(struct rpm_log *log, uint32_t *key)
{
    /* A key of an earlier link is void, and the server may have given its number to another
     * client. */
    if (*key != 0 && log->link_generation == log->conn->generation)
        rpmi_conn_drop_key(log->conn, *key);
    *key = 0;
}

void rpmi_log_drop_keys(struct rpm_log *log)
{
    rpmi_log_drop_key(log, &log->write_key);
    rpmi_log_drop_key(log, &log->read_key);
}

int rpmi_log_attach(struct rpm_log *log, uint32_t create_flags, uint64_t capacity,
                    const struct rpmi_member *member)
{
    struct rpmi_call call = {
        .kind = RPMI_CALL_OPEN,
        .object = RPM_KIND_LOG,
        .flags = create_flags,
        .bytes = capacity,
    };
    struct rpmi_reply reply;
    int err;

    /* No append is outstanding that a new key, or another log of that name, would overtake. */
    RPM_ASSERT(log->pending == 0 && log->completed == log->submitted);
    /* An op with an old key, such as the READ of a reader that reads ahead, must be carried out
     * before the server closes that key: else it is refused, which ends the link. */
    if (log->read_key != 0 && log->link_generation == log->conn->generation)
        rpmi_conn_drain_all(log->conn);
    rpmi_log_drop_keys(log);
    memcpy(call.name, log->name, sizeof(call.name));
    if (member != NULL) {
        call.id = member->log_id;
        call.lsn = member->first_lsn;
        call.epoch = member->epoch;
        call.set = member->set;
    }
    err = rpmi_conn_call(log->conn, &call, &reply);
    if (err != 0)
        return err;
    if (reply.bytes < RPMI_LOG_CAPACITY_MIN || !rpmi_is_aligned(reply.bytes, RPMI_PAGE_BYTES))
        return rpmi_fail(RPM_E_PROTO,
                         "the server offers log '%s' with a capacity of %zu bytes; it is at least "
                         "%u, a multiple of %u",
                         log->name, (size_t)reply.bytes, RPMI_LOG_CAPACITY_MIN, RPMI_PAGE_BYTES);
    log->link_generation = log->conn->generation;
    log->read_key = reply.key;
    log->log_id = reply.id;
    log->capacity = reply.bytes;
    log->lasts = reply.flags & (RPMI_REPLY_RUN_LASTS | RPMI_REPLY_BOOT_LASTS);
    if (reply.token != 0) {
        log->token = reply.token;
        log->epoch = call.epoch;
    }
    return 0;
}

int rpmi_log_take_claim(struct rpm_log *log, const struct rpmi_reply *reply)
{
    if (reply->key == RPMI_KEY_SCRATCH || reply->epoch == 0)
        return rpmi_fail(RPM_E_PROTO,
                         "the server grants log '%s' with key %" PRIu32 " and epoch %" PRIu32
                         "; neither is ever 0",
                         log->name, reply->key, reply->epoch);
    log->write_key = reply->key;
    log->epoch = reply->epoch;
    log->token = reply->token;
    return 0;
}

int rpmi_log_claim(struct rpm_log *log, uint32_t call_flags)
{
    return rpmi_log_claim_epoch(log, 0, call_flags);
}

int rpmi_log_claim_epoch(struct rpm_log *log, uint32_t epoch, uint32_t call_flags)
{
    struct rpmi_call call = {
        .kind = RPMI_CALL_CLAIM,
        .key = log->read_key,
        .flags = call_flags,
        .lsn = (call_flags & RPMI_CALL_RESUME) != 0 ? log->since : 0,
        .epoch = epoch,
        .token = epoch != 0 && epoch == log->epoch ? log->token : 0,
    };
    struct rpmi_reply reply;
    int err;

    RPM_ASSERT(log->write_key == 0);                           /* one claim at a time */
    RPM_ASSERT(log->link_generation == log->conn->generation); /* read_key is still this log's */
    RPM_ASSERT((call_flags & RPMI_CALL_RESUME) == 0 || log->since != 0);
    err = rpmi_conn_call(log->conn, &call, &reply);
    if (err == 0 && epoch != 0 && reply.epoch != epoch)
        err = rpmi_fail(RPM_E_PROTO,
                        "the server grants log '%s' with epoch %" PRIu32 ", asked for was %" PRIu32,
                        log->name, reply.epoch, epoch);
    if (err == 0)
        err = rpmi_log_take_claim(log, &reply);
    if (err == 0 && (call_flags & RPMI_CALL_RESUME) == 0)
        log->since = log->epoch;
    return err;
}

int rpmi_log_seal(struct rpm_log *log, uint64_t base)
{
    struct rpmi_call call = {
        .kind = RPMI_CALL_SEAL,
        .flags = log->plan.level == RPM_DURABLE ? RPMI_CALL_DURABLE : 0,
        .key = log->write_key,
        .lsn = base,
    };
    struct rpmi_reply reply;
    int err;

    RPM_ASSERT(log->write_key != 0 && rpmi_is_aligned(base, RPMI_LINE_BYTES));
    RPM_ASSERT(base >= log->head.trim_lsn && base - log->head.trim_lsn <= log->capacity);
    if (RPMI_CANARY(LATE_EPOCH) && log->head.epoch > 0) {
        log->late_seal = true;
        log->free_lsn = log->head.trim_lsn;
        log->head.base_lsn = base;
        log->epoch = log->head.epoch;
        return 0;
    }
    err = rpmi_conn_call(log->conn, &call, &reply);
    if (err != 0)
        return err;
    if (reply.value > base || base - reply.value > log->capacity ||
        !rpmi_is_aligned(reply.value, RPMI_LINE_BYTES))
        return rpmi_fail(RPM_E_PROTO,
                         "the server says that log '%s' begins at %" PRIu64
                         "; expected is a multiple of %u, at most %" PRIu64
                         " bytes before its tail %" PRIu64,
                         log->name, reply.value, RPMI_LINE_BYTES, log->capacity, base);
    log->free_lsn = reply.value;
    log->head.turn++;
    log->head.base_lsn = base;
    log->head.epoch = log->epoch;
    log->head.flags = log->plan.level == RPM_DURABLE ? RPMI_HEAD_DURABLE : 0;
    return 0;
}

int rpmi_log_make_durable(struct rpm_log *log, uint32_t key, uint64_t from, uint64_t to)
{
    struct rpmi_range ranges[2];
    uint32_t n = rpmi_ring_ranges(log, from, to, ranges);

    if (n == 0 || RPMI_CANARY(NO_RECOVERY_FLUSH))
        return 0;
    return rpmi_conn_persist(log->conn, &log->persist_plan, key, ranges, n);
}

/* The log seems to end before a record that was acknowledged. A newer writer may have fenced us
 * during the walk, trimmed and written there: the call to the server reports RPM_E_FENCED then.
 * Else the log is damaged. */
static int ends_early(struct rpm_log *log, uint64_t least_lsn)
{
    uint64_t end = log->report.end_lsn;
    int err = rpmi_log_trim_call(log, 0);

    if (err != 0)
        return err;
    return rpmi_fail(RPM_E_CORRUPT,
                     "log '%s' needs 'rpm-log repair': it ends at %" PRIu64
                     ", but was acknowledged up to %" PRIu64,
                     log->name, end, least_lsn);
}

int rpmi_log_recover(struct rpm_log *log, uint64_t least_lsn, rpmi_scan_fn *visit, void *context)
{
    int err;

    RPM_ASSERT(log->write_key != 0);
    RPM_ASSERT(log->pending == 0 && log->completed == log->submitted); /* the tail may move */
    RPM_ASSERT(log->waiting == 0 && log->reserved == 0);
    err = rpmi_log_scan(log, log->head.trim_lsn, visit, context, &log->report);
    if (err == 0 && log->report.end_lsn < least_lsn)
        err = ends_early(log, least_lsn);
    if (err == 0)
        err = rpmi_log_make_durable(log, log->write_key, log->head.trim_lsn, log->report.end_lsn);
    if (err == 0)
        err = rpmi_log_seal(log, log->report.end_lsn);
    if (err != 0)
        return err;
    rpmi_log_begin(log, log->report.end_lsn);
    RPM_ASSERT_SLOW(rpmi_log_check_invariants(log));
    return 0;
}

void rpmi_log_begin(struct rpm_log *log, uint64_t tail)
{
    RPM_ASSERT(log->write_key != 0 && log->completed == log->submitted);
    RPM_ASSERT(tail >= log->head.base_lsn && rpmi_is_aligned(tail, RPMI_LINE_BYTES));
    log->tail_lsn = tail;
    log->position = log->tail_lsn % log->capacity;
    log->sealed_lsn = log->tail_lsn;
    log->acked_lsn = log->tail_lsn;
    log->wrote_epoch = log->epoch;
    log->own_sealed = log->epoch;
    log->own_claimed = log->epoch;
    log->sole_writer = true;
    log->reader_generation++;
}
