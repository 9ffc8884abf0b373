/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * batch.c: append several records with one flush. Room for the whole batch is checked before its
 * first byte is written.
 *
 * Tests: tests/unit/log/batch_test.cpp, tests/conform/resume_test.cpp, tests/crash/
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/err.h"

#include <inttypes.h>

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
            return rpmi_fail(RPM_E_FULL,
                             "a batch of %u records needs more than the %" PRIu64
                             " bytes of log '%s'; make it smaller",
                             n, log->capacity, log->name);
    }
    return rpmi_log_admit(log, tail);
}

/* Wait for any completion on the connection. @deadline: 0 before the first wait. */
static int wait_for_completion(struct rpm_log *log, uint64_t *deadline)
{
    int err;

    if (*deadline == 0)
        *deadline = rpmi_conn_deadline(log->conn);
    err = rpmi_conn_wait(log->conn, *deadline);
    return log->dead != 0 ? log->dead : err;
}

/* Post the pending part of the batch, waiting for credits; with a seal if it is the last part, or
 * if only completions can free staging memory. */
static int send(struct rpm_log *log, bool seal, uint64_t *deadline)
{
    int err;

    for (;;) {
        err = seal ? rpmi_group_seal(log) : rpmi_group_post(log);
        if (err != RPM_E_BUSY)
            return log->dead != 0 ? log->dead : err;
        err = wait_for_completion(log, deadline);
        if (err != 0)
            return err;
    }
}

static int stage_payload(struct rpm_log *log, const struct rpm_slice *record, uint64_t *deadline,
                         const void **payload)
{
    int err;

    for (;;) {
        log->undo_stage = log->outbox.tail;
        *payload = rpmi_group_payload(log, record->data, record->len);
        if (*payload != NULL)
            return 0;
        err = send(log, true, deadline);
        if (err == 0)
            err = wait_for_completion(log, deadline);
        if (err != 0)
            return err;
    }
}

static int add_one(struct rpm_log *log, const struct rpm_slice *record, uint64_t *deadline)
{
    struct rpmi_place place;
    const void *payload;
    int err = 0;

    /* The last record is always kept, to be posted with the seal. */
    if (rpmi_group_full(log))
        err = send(log, false, deadline);
    if (err == 0)
        err = stage_payload(log, record, deadline, &payload);
    if (err != 0)
        return err;
    rpmi_ring_place(log, log->tail_lsn, record->len, &place);
    RPM_ASSERT(place.lsn + place.stride - log->free_lsn <= log->capacity); /* it was admitted */
    rpmi_group_add(log, &place, payload, record->len, NULL, true);
    log->conn->payload_bytes += record->len;
    return 0;
}

/* The batch that began with entry @first has failed. Its records that completed before the failure
 * count as unknown too, because the caller gets one result for the whole batch. */
static int fail(struct rpm_log *log, uint64_t first, uint32_t n, int err)
{
    uint32_t sent = (uint32_t)(log->submitted - first);
    uint64_t succeeded = first;

    RPM_ASSERT(first <= log->submitted && sent <= n);
    if (log->dead == 0)
        return err;
    while (succeeded < log->submitted && log->entries[succeeded & log->entries_mask].status == 0)
        succeeded++;
    rpmi_log_mark_unknown(log, first, succeeded);
    return rpmi_log_explain(log, rpmi_log_unsent(log, n - sent, log->dead));
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
    rpmi_begin();

    uint64_t deadline = 0;
    uint64_t first;
    int err;

    RPM_ASSERT(log != NULL && records != NULL && log->reserved == 0);
    if (n == 0 || n > log->inflight_max)
        return rpmi_fail(RPM_E_INVAL, "a batch of %u records; it has 1 to %u (inflight_max)", n,
                         log->inflight_max);
    rpmi_log_reap_silent(log);
    if (log->fast_path != NULL && rpmi_log_fast_append(log, records, n, lsns))
        return 0;
    err = check_all(log, records, n);
    if (err != 0)
        return rpmi_log_unsent(log, n, err);
    if (rpmi_log_room(log) < n)
        return rpmi_fail(RPM_E_BUSY,
                         "log '%s' has room for %u records of a batch of %u until its completions "
                         "are polled; rpm_log_poll()",
                         log->name, (unsigned)rpmi_log_room(log), n);
    first = log->submitted + log->pending;
    for (uint32_t i = 0; i < n && err == 0; i++)
        err = add_one(log, &records[i], &deadline);
    if (err == 0)
        err = send(log, true, &deadline);
    /* Only the connection or the claim can fail, which ends all entries. */
    RPM_ASSERT(err == 0 || (log->dead != 0 && log->pending == 0));
    RPM_ASSERT(err != 0 || log->submitted == first + n); /* each record has an entry of its own */
    if (err == 0 && log->completed < log->submitted)
        err = rpmi_log_wait(log, log->submitted);
    if (err == 0)
        err = outcome(log, first, log->submitted);
    if (err != 0)
        err = fail(log, first, n, err);
    for (uint32_t i = 0; err == 0 && lsns != NULL && i < n; i++)
        lsns[i] = log->entries[(first + i) & log->entries_mask].lsn;
    rpmi_log_reap_silent(log);
    return err;
}
