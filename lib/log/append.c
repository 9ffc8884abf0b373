/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * append.c: append one record: check it, frame it at the tail, post it and seal it.
 *
 * Invariant: a record is refused before any state changes, or it is submitted and completes exactly
 * once.
 *
 * Tests: tests/unit/log/append_test.cpp, tests/conform/resume_test.cpp, tests/crash/
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"

struct append {
    const void *data;               /* in one piece; NULL: in slices */
    const struct rpm_slice *slices; /* to be gathered in staging memory */
    uint32_t slices_n;
    uint64_t len;
    uint32_t flags; /* enum rpm_append_flag */
    void *context;
    bool silent;
    bool staged; /* data is in staging memory already */
};

/* Is a queue so full that even an append with RPM_MORE must be sealed? */
static bool must_seal(const struct rpm_log *log)
{
    const struct rpmi_credit *credit = &log->conn->credit;

    if (rpmi_log_room(log) == 0)
        return true;
    return credit->limit - credit->used < log->ops_count + 4 * RPMI_PLAN_OPS_MAX;
}

/* Post the record added last, now or with a later seal. RPM_E_BUSY: nothing was posted. */
static int dispatch(struct rpm_log *log, const struct append *append)
{
    if (append->silent || must_seal(log))
        return rpmi_group_seal(log);
    if ((append->flags & RPM_MORE) != 0)
        return rpmi_group_post(log);
    return rpmi_group_may_wait(log) ? rpmi_group_hold(log) : rpmi_group_seal(log);
}

/* Make room in the group for one more record. RPM_E_BUSY, or log->dead. */
static int make_room_in_group(struct rpm_log *log)
{
    int err;

    if (RPMI_LIKELY(log->pending == 0) || !rpmi_group_full(log))
        return 0;
    err = rpmi_group_post(log);
    return err != 0 ? err : log->dead;
}

/* Bytes of all slices; if the sum overflows, more than any log accepts. */
static uint64_t total(const struct rpm_slice *slices, uint32_t n)
{
    uint64_t len = 0;

    for (uint32_t i = 0; i < n; i++)
        len = slices[i].len > UINT64_MAX - len ? UINT64_MAX : len + slices[i].len;
    return len;
}

static void gather(unsigned char *into, const struct rpm_slice *slices, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (slices[i].len == 0)
            continue;
        memcpy(into, slices[i].data, slices[i].len);
        into += slices[i].len;
    }
}

/* The address that the payload is posted from. NULL: no staging memory now. */
static const void *stage(struct rpm_log *log, const struct append *append)
{
    unsigned char *staged;

    if (append->staged)
        return append->data;
    if (append->data != NULL)
        return rpmi_group_payload(log, append->data, append->len);
    staged = rpmi_group_stage(log, append->len);
    if (staged != NULL)
        gather(staged, append->slices, append->slices_n);
    return staged;
}

/* RPM_E_BUSY: nothing changed. */
static int submit(struct rpm_log *log, const struct append *append, uint64_t *lsn)
{
    struct rpmi_place place;
    const void *payload;
    int err;

    if (rpmi_log_room(log) == 0)
        return RPM_E_BUSY;
    err = make_room_in_group(log);
    if (err != 0)
        return err;
    rpmi_ring_place(log, log->tail_lsn, append->len, &place);
    err = rpmi_log_admit(log, place.lsn + place.stride);
    if (err != 0)
        return err;
    log->undo_stage = append->staged ? log->reserved_at : log->outbox.tail;
    payload = stage(log, append);
    if (RPMI_UNLIKELY(payload == NULL)) {
        /* Seal the staged records, so that their completion frees staging memory. */
        err = rpmi_group_seal(log);
        return err != 0 ? err : RPM_E_BUSY;
    }
    rpmi_group_add(log, &place, payload, append->len, append->context, append->silent);
    err = dispatch(log, append);
    if (RPMI_UNLIKELY(err != 0)) {
        rpmi_group_undo(log);
        return err;
    }
    *lsn = place.lsn;
    log->conn->payload_bytes += append->len;
    return 0;
}

/* Make the call that a canary postponed until after an append. Empty in the shipped library. */
static void run_late_canaries(struct rpm_log *log)
{
    struct rpmi_call call = { .key = log->write_key };
    struct rpmi_reply reply;

    if (RPMI_CANARY(LATE_EPOCH) && log->late_seal) {
        call.kind = RPMI_CALL_SEAL;
        call.lsn = log->head.base_lsn;
        log->late_seal = false;
        (void)rpmi_conn_call(log->conn, &call, &reply);
    }
    if (RPMI_CANARY(LATE_TRIM) && log->late_trim != 0) {
        call.kind = RPMI_CALL_TRIM;
        call.lsn = log->late_trim;
        log->late_trim = 0;
        (void)rpmi_conn_call(log->conn, &call, &reply);
    }
}

/* Wait until a submit that was refused as busy may succeed. */
static int make_room(struct rpm_log *log, uint64_t deadline)
{
    int err;

    if (log->completed == log->submitted && log->pending == 0 && rpmi_log_room(log) == 0)
        return rpmi_fail(RPM_E_BUSY,
                         "log '%s': %u appends have completions to be polled, the maximum "
                         "(inflight_max); rpm_log_poll()",
                         log->name, log->inflight_max);
    err = rpmi_conn_wait(log->conn, deadline);
    rpmi_log_reap_silent(log);
    return log->dead != 0 ? log->dead : err;
}

static int append_and_wait(struct rpm_log *log, const struct append *append, uint64_t *lsn)
{
    uint64_t deadline = 0;
    uint64_t seq;
    int status;
    int err;

    rpmi_log_reap_silent(log);
    err = rpmi_log_check(log, append->len);
    while (err == 0 && RPMI_UNLIKELY((err = submit(log, append, lsn)) == RPM_E_BUSY)) {
        if (deadline == 0)
            deadline = rpmi_conn_deadline(log->conn);
        err = make_room(log, deadline);
    }
    if (RPMI_UNLIKELY(err != 0))
        return rpmi_log_unsent(log, 1, err);
    seq = log->submitted;
    if (RPMI_UNLIKELY(log->completed < seq))
        (void)rpmi_log_wait(log, seq);
    RPM_ASSERT(log->completed >= seq); /* status is its outcome, not that of an older entry */
    status = log->entries[(seq - 1) & log->entries_mask].status;
    rpmi_log_reap_silent(log);
    return status;
}

/* Not inlined, so that the fast path does not pay for its locals. */
__attribute__((noinline)) static int append_generally(struct rpm_log *log,
                                                      const struct append *append, uint64_t *lsn)
{
    uint64_t at = 0;
    int err = append_and_wait(log, append, &at);

    if (RPMI_UNLIKELY(err != 0))
        return rpmi_log_explain(log, err);
    if (lsn != NULL)
        *lsn = at;
    if (RPMI_CANARY(LATE_EPOCH) || RPMI_CANARY(LATE_TRIM))
        run_late_canaries(log);
    return 0;
}

static inline bool append_fast(struct rpm_log *log, const void *data, uint64_t len, uint64_t *lsn)
{
    if (log->fast_path == NULL ||
        !rpmi_log_fast_append(log, &(struct rpm_slice){ data, len }, 1, lsn))
        return false;
    RPM_ASSERT_SLOW(rpmi_log_check_invariants(log));
    return true;
}

int rpm_log_append(struct rpm_log *log, const void *data, size_t len, uint64_t *lsn)
{
    rpmi_begin();
    RPM_ASSERT(log != NULL && data != NULL && log->reserved == 0);
    if (append_fast(log, data, len, lsn))
        return 0;
    return append_generally(log, &(struct append){ .data = data, .len = len, .silent = true }, lsn);
}

static int append_async(struct rpm_log *log, const struct append *append, uint64_t *lsn)
{
    uint64_t at = 0;
    int err;

    if ((append->flags & ~(uint32_t)RPM_MORE) != 0)
        return rpmi_fail(RPM_E_INVAL, "append flags %#x, known are %#x", append->flags,
                         (unsigned)RPM_MORE);
    err = rpmi_log_check(log, append->len);
    if (RPMI_UNLIKELY(err != 0))
        return err;
    rpmi_log_reap_silent(log);
    err = submit(log, append, &at);
    if (err == RPM_E_BUSY) {
        (void)rpmi_conn_pump(log->conn);
        if (log->dead != 0)
            return rpmi_log_refuse(log);
        err = submit(log, append, &at);
    }
    if (err == 0 && lsn != NULL)
        *lsn = at;
    return err;
}

int rpm_log_append_async(struct rpm_log *log, const void *data, size_t len, uint32_t flags,
                         void *context, uint64_t *lsn)
{
    rpmi_begin();

    struct append append = { .data = data, .len = len, .flags = flags, .context = context };

    RPM_ASSERT(log != NULL && data != NULL && log->reserved == 0);
    return append_async(log, &append, lsn);
}

/* A link that completes on post needs no staging memory for a record in one piece. A record in
 * several pieces is gathered in it. */
static int gather_borrowed(struct rpm_log *log, struct append *append)
{
    if (!log->outbox.borrows)
        return 0;
    RPM_ASSERT(log->pending == 0); /* a record held back would be posted from the same bytes */
    if (append->len > log->outbox.bytes)
        return rpmi_fail(RPM_E_TOOBIG,
                         "slices of %zu bytes in all; log '%s' has %zu bytes of staging memory: "
                         "raise its staging_bytes",
                         (size_t)append->len, log->name, (size_t)log->outbox.bytes);
    gather(log->outbox.base, append->slices, append->slices_n);
    append->data = log->outbox.base;
    return 0;
}

/* Check a record in pieces as rpmi_log_check() checks one in one piece. */
static int take_slices(struct rpm_log *log, struct append *append)
{
    int err;

    RPM_ASSERT(log != NULL && (append->slices != NULL || append->slices_n == 0));
    RPM_ASSERT(log->reserved == 0);
    append->len = total(append->slices, append->slices_n);
    err = rpmi_log_check(log, append->len);
    return err != 0 ? err : gather_borrowed(log, append);
}

int rpm_log_appendv(struct rpm_log *log, const struct rpm_slice *slices, uint32_t n, uint64_t *lsn)
{
    rpmi_begin();

    struct append append = { .slices = slices, .slices_n = n, .silent = true };
    int err = take_slices(log, &append);

    if (err != 0)
        return rpmi_log_unsent(log, 1, err);
    if (append.data != NULL && append_fast(log, append.data, append.len, lsn))
        return 0;
    return append_generally(log, &append, lsn);
}

int rpm_log_appendv_async(struct rpm_log *log, const struct rpm_slice *slices, uint32_t n,
                          uint32_t flags, void *context, uint64_t *lsn)
{
    rpmi_begin();

    struct append append = { .slices = slices, .slices_n = n, .flags = flags, .context = context };
    int err = take_slices(log, &append);

    return err != 0 ? err : append_async(log, &append, lsn);
}

int rpm_log_reserve(struct rpm_log *log, size_t len, void **data)
{
    rpmi_begin();

    unsigned char *staged;
    int err;

    RPM_ASSERT(log != NULL && data != NULL);
    if (log->reserved != 0)
        return rpmi_fail(
            RPM_E_INVAL,
            "a record of %zu bytes is reserved already; rpm_log_commit() or rpm_log_abandon() it",
            (size_t)log->reserved);
    err = rpmi_log_check(log, len);
    if (err != 0)
        return err;
    if (len > rpmi_group_stage_max(log))
        return rpmi_fail(RPM_E_TOOBIG,
                         "a record of %zu bytes to reserve, maximum %zu in the staging memory of "
                         "log '%s': raise its staging_bytes",
                         len, (size_t)rpmi_group_stage_max(log), log->name);
    (void)rpmi_conn_pump(log->conn);
    rpmi_log_reap_silent(log);
    if (log->dead != 0)
        return rpmi_log_refuse(log);
    if (rpmi_log_room(log) == 0)
        return RPM_E_BUSY;
    log->reserved_at = log->outbox.tail;
    staged = rpmi_group_stage(log, len);
    if (staged == NULL) {
        err = rpmi_group_seal(log);
        return err != 0 ? err : RPM_E_BUSY;
    }
    log->reserved = len;
    log->reserved_data = staged;
    *data = staged;
    return 0;
}

int rpm_log_commit(struct rpm_log *log, size_t len, uint32_t flags, void *context, uint64_t *lsn)
{
    rpmi_begin();

    struct append append = {
        .len = len,
        .flags = flags,
        .context = context,
        .staged = true,
    };
    uint64_t at = 0;
    int err;

    RPM_ASSERT(log != NULL);
    if (log->reserved == 0)
        return rpmi_fail(
            RPM_E_INVAL,
            "nothing is reserved (a resume ends a reservation); rpm_log_reserve() first");
    append.data = log->reserved_data;
    err = len == 0 || len > log->reserved || (flags & ~(uint32_t)RPM_MORE) != 0
              ? rpmi_fail(
                    RPM_E_INVAL,
                    "commit of %zu bytes with flags %#x; reserved are %zu bytes, known flags %#x",
                    len, flags, (size_t)log->reserved, (unsigned)RPM_MORE)
              : rpmi_log_check(log, len);
    if (err == 0)
        err = submit(log, &append, &at);
    if (err != 0) {
        rpm_log_abandon(log);
        return err;
    }
    log->reserved = 0;
    if (lsn != NULL)
        *lsn = at;
    return 0;
}

void rpm_log_abandon(struct rpm_log *log)
{
    RPM_ASSERT(log != NULL);
    /* What is given back is only what was reserved, and no record that is outstanding. */
    RPM_ASSERT(log->reserved == 0 ||
               (log->reserved_at >= log->outbox.head && log->reserved_at <= log->outbox.tail));
    if (log->reserved != 0)
        log->outbox.tail = log->reserved_at;
    log->reserved = 0;
}
