/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * batch.c: many records, one flush. Room for the whole batch is checked before its first byte is
 * written.
 *
 * Tests: tests/unit/log/batch_test.cpp, tests/conform/resume_test.cpp, tests/crash/
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/err.h"

/* Ops that one more record and the seal behind it may need. */
#define OPS_SPARE (2u + 2u)

/* Staged payload worth a post of its own: the far end works on it while we stage what follows. */
#define POST_BYTES (16u << 10)

static int check_all(struct rpm_log *log, const struct rpm_slice *records, uint32_t n)
{
    struct rpmi_place place;
    uint64_t tail = log->tail_lsn;

    for (uint32_t i = 0; i < n; i++) {
        int err = rpmi_log_check(log, records[i].len);

        if (err != 0)
            return err;
        rpmi_ring_place(log, tail, records[i].len, &place);
        tail = place.lsn + place.stride;
        if (tail - log->tail_lsn > log->capacity)
            return rpmi_fail(RPM_E_FULL, "the batch is larger than log '%s'", log->name);
    }
    return rpmi_log_admit(log, tail);
}

/* Wait for whatever is outstanding to move on. */
static int breathe(struct rpm_log *log, uint64_t deadline)
{
    int err = rpmi_conn_wait(log->conn, deadline);

    return log->dead != 0 ? log->dead : err;
}

/* The pending part of the batch onto the wire, waiting for credits; sealed if it is the last, or
 * if staging memory can only become free by completions. */
static int send(struct rpm_log *log, bool seal, uint64_t deadline)
{
    int err;

    for (;;) {
        err = seal ? rpmi_group_seal(log) : rpmi_group_post(log);
        if (err != RPM_E_BUSY)
            return log->dead != 0 ? log->dead : err;
        err = breathe(log, deadline);
        if (err != 0)
            return err;
    }
}

static int stage_payload(struct rpm_log *log, const struct rpm_slice *record, uint64_t deadline,
                         const void **payload)
{
    unsigned char *staged;
    int err;

    *payload = record->data;
    if (log->places)
        return 0;
    for (;;) {
        if (log->pending == 0)
            log->pending_stage = log->outbox.tail;
        staged = rpmi_group_stage(log, record->len);
        if (staged != NULL)
            break;
        err = send(log, true, deadline);
        if (err == 0)
            err = breathe(log, deadline);
        if (err != 0)
            return err;
    }
    memcpy(staged, record->data, record->len);
    *payload = staged;
    return 0;
}

/* The last record always stays for the seal to go out with. */
static bool must_post(const struct rpm_log *log)
{
    return log->ops_count + OPS_SPARE > RPMI_BATCH_OPS_MAX ||
           (!log->places && log->pending > 0 &&
            log->outbox.tail - log->pending_stage >= POST_BYTES);
}

static int add_one(struct rpm_log *log, const struct rpm_slice *record, uint64_t deadline)
{
    struct rpmi_place place;
    const void *payload;
    int err = 0;

    if (must_post(log))
        err = send(log, false, deadline);
    if (err == 0)
        err = stage_payload(log, record, deadline, &payload);
    if (err != 0)
        return err;
    rpmi_ring_place(log, log->tail_lsn, record->len, &place);
    rpmi_group_add(log, &place, payload, record->len, NULL, true);
    log->conn->payload_bytes += record->len;
    return 0;
}

/* The first failure among entries [from, to). */
static int outcome(const struct rpm_log *log, uint64_t from, uint64_t to)
{
    for (uint64_t seq = from; seq < to; seq++) {
        int status = log->entries[seq & log->entries_mask].status;

        if (status != 0)
            return status;
    }
    return 0;
}

int rpm_log_append_batch(struct rpm_log *log, const struct rpm_slice *records, uint32_t n,
                         uint64_t *lsns)
{
    uint64_t deadline;
    uint64_t first;
    int err;

    RPM_ASSERT(log != NULL && records != NULL && log->reserved == 0);
    if (n == 0 || n > log->inflight_max)
        return rpmi_fail(RPM_E_INVAL, "a batch has 1 to %u records", log->inflight_max);
    rpmi_log_reap_silent(log);
    if (log->lane != NULL && rpmi_log_lane(log, records, n, lsns))
        return 0;
    err = check_all(log, records, n);
    if (err != 0)
        return err;
    if (rpmi_log_room(log) < n)
        return rpmi_fail(RPM_E_BUSY, "completions wait to be polled");
    deadline = log->places ? 0 : rpmi_conn_deadline(log->conn);
    first = log->submitted;
    for (uint32_t i = 0; i < n && err == 0; i++)
        err = add_one(log, &records[i], deadline);
    if (err == 0)
        err = send(log, true, deadline);
    if (err != 0)
        rpmi_group_undo(log);
    else if (log->completed < log->submitted)
        err = rpmi_log_wait(log, log->submitted);
    if (err == 0)
        err = outcome(log, first, log->submitted);
    if (err != 0 && log->dead != 0)
        err = log->dead;
    for (uint32_t i = 0; err == 0 && lsns != NULL && i < n; i++)
        lsns[i] = log->entries[(first + i) & log->entries_mask].lsn;
    rpmi_log_reap_silent(log);
    return err;
}
