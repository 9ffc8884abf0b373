/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * member.c: see member.h.
 *
 * Tests: tests/unit/log/member_test.cpp, tests/conform/member_test.cpp, tests/crash/
 */
#include "log/member.h"

#include "base/assert.h"
#include "base/err.h"
#include "wire/guard.h"

#include <inttypes.h>

int rpmi_member_open(struct rpm_conn *conn, const char *name, const struct rpm_log_opts *opts,
                     const struct rpmi_member *member, struct rpm_log **log)
{
    rpmi_begin();

    RPM_ASSERT(opts != NULL && member != NULL && member->log_id != 0);
    RPM_ASSERT((opts->flags & RPM_LOG_WRITE) != 0 && rpmi_membership_is_sound(&member->set));
    return rpmi_log_open_as(conn, name, opts, member, log);
}

/* The set keeps the payloads of its appends and their outcomes: here nothing stays of appends that
 * ended. */
static void forget_appends(struct rpm_log *log)
{
    RPM_ASSERT(log->dead != 0 && log->completed == log->submitted && log->pending == 0);
    rpm_log_abandon(log);
    log->outbox.head = log->outbox.tail;
    log->unknown_count = 0;
}

int rpmi_member_attach(struct rpm_log *log)
{
    rpmi_begin();

    int err = rpmi_log_reopen(log);

    if (err == 0)
        log->dead = RPM_E_FENCED; /* until the seal the handle only reads */
    return err;
}

/* End the claim that this handle holds, on a link that lives. */
static void end_claim(struct rpm_log *log)
{
    if (log->dead == 0) {
        rpmi_conn_drain(log->conn, &log->owner); /* the link reads staged frames until then */
        if (log->dead == 0)
            rpmi_log_end(log, RPM_E_FENCED);
    }
    rpmi_log_drop_key(log, &log->write_key);
}

/* The server gives out no epoch twice, but to the client that names its token. */
int rpmi_member_claim(struct rpm_log *log, uint32_t epoch, uint32_t flags)
{
    rpmi_begin();

    int err;

    RPM_ASSERT(epoch != 0 && (flags & ~(uint32_t)RPMI_CALL_TAKEOVER) == 0);
    err = rpmi_log_readable(log);
    if (err != 0)
        return err;
    end_claim(log);
    forget_appends(log);
    err = rpmi_log_claim_epoch(log, epoch, flags);
    return err != 0 ? err : rpmi_log_head(log);
}

int rpmi_member_trim(struct rpm_log *log, uint64_t lsn)
{
    rpmi_begin();

    RPM_ASSERT(log->write_key != 0 && log->dead != 0); /* claimed, and not sealed */
    if (!rpmi_is_aligned(lsn, RPMI_LINE_BYTES) || lsn >= RPMI_HEAD_LIMIT)
        return rpmi_fail(RPM_E_RANGE,
                         "log '%s' cannot be trimmed to LSN %" PRIu64
                         "; expected is a multiple of %u below %" PRIu64,
                         log->name, lsn, RPMI_LINE_BYTES, (uint64_t)RPMI_HEAD_LIMIT);
    return rpmi_log_trim_call(log, lsn);
}

/* Has the claim sealed its epoch before, on an earlier connection? */
static bool was_sealed(const struct rpm_log *log)
{
    return log->head.epoch == log->epoch;
}

/* What is in front of @base may only be visible: the writer before, or the connection, may have
 * ended before its flush. From the seal on the head, or the next frames, say that it is durable. */
int rpmi_member_harden(struct rpm_log *log, uint64_t base)
{
    rpmi_begin();
    RPM_ASSERT(log->write_key != 0 && log->dead != 0);
    if (!rpmi_is_aligned(base, RPMI_LINE_BYTES) || base < log->head.trim_lsn ||
        base - log->head.trim_lsn > log->capacity || (was_sealed(log) && base < log->head.base_lsn))
        return rpmi_fail(RPM_E_RANGE,
                         "log '%s' cannot be sealed at LSN %" PRIu64
                         "; expected is a multiple of %u from %" PRIu64 " to %" PRIu64,
                         log->name, base, RPMI_LINE_BYTES,
                         was_sealed(log) ? log->head.base_lsn : log->head.trim_lsn,
                         log->head.trim_lsn + log->capacity);
    return rpmi_log_make_durable(log, log->write_key, log->head.trim_lsn, base);
}

int rpmi_member_seal_hardened(struct rpm_log *log, uint64_t base)
{
    rpmi_begin();

    bool sealed = was_sealed(log);
    int err = sealed ? 0 : rpmi_log_seal(log, base);

    RPM_ASSERT(log->write_key != 0 && log->dead != 0);
    if (err != 0)
        return err;
    rpmi_log_begin(log, base);
    log->dead = 0;
    /* Of a head that is sealed already, the server says what is durable. */
    err = sealed ? rpmi_log_trim_call(log, 0) : 0;
    if (err != 0 && log->dead == 0)
        log->dead = RPM_E_FENCED;
    RPM_ASSERT_SLOW(rpmi_log_check_invariants(log));
    return err;
}

int rpmi_member_seal(struct rpm_log *log, uint64_t base)
{
    int err = rpmi_member_harden(log, base);

    return err != 0 ? err : rpmi_member_seal_hardened(log, base);
}

/* Write @op's bytes to @range of the log and wait until they are visible. */
static int write_visibly(struct rpm_log *log, const struct rpmi_range *range,
                         const struct rpmi_op *op)
{
    struct rpm_request request =
        rpmi_conn_request(log->conn, RPM_REQUEST_WRITE, RPM_VISIBLE, RPM_METHOD_DEFAULT);
    struct rpmi_op ops[RPMI_PLAN_OPS_MAX] = { *op };
    struct rpmi_plan plan;
    int err;

    RPM_ASSERT(log->write_key != 0);
    request.method = RPM_METHOD_DEFAULT; /* the cheapest, whatever the connection's is */
    err = rpmi_plan_make(&log->conn->link->facts, &request, &plan);
    if (err != 0)
        return err;
    rpmi_plan_write(&plan, log->write_key, range->offset, range->len, &ops[0]);
    return rpmi_conn_exec(
        log->conn, ops,
        1 + rpmi_plan_seal(&plan, log->write_key, range, 1, log->conn->word, &ops[1]));
}

int rpmi_member_store(struct rpm_log *log, uint64_t lsn, uint64_t len)
{
    rpmi_begin();

    const struct rpmi_range range = { RPMI_LOG_HEADER_BYTES + lsn % log->capacity, len };
    struct rpmi_op op = { .body = log->conn->bounce, .body_bytes = len };

    RPM_ASSERT(rpmi_is_aligned(lsn, RPMI_LINE_BYTES) && lsn % log->capacity + len <= log->capacity);
    RPM_ASSERT(len >= 1 && len <= RPMI_BOUNCE_BYTES);
    RPM_ASSERT(log->dead != 0); /* else appends write there */
    return write_visibly(log, &range, &op);
}

int rpmi_member_claimed(struct rpm_log *log, uint32_t *epoch)
{
    rpmi_begin();

    uint64_t word = 0;
    int err = rpmi_log_readable(log);

    if (err == 0)
        err = rpmi_log_header_word(log, RPMI_GUARD_OFFSET, &word);
    if (err != 0)
        return err;
    if (word >= UINT32_MAX)
        return rpmi_fail(RPM_E_CORRUPT,
                         "log '%s' needs 'rpm-log repair': its claim word is damaged, %" PRIu64
                         " is no epoch",
                         log->name, word);
    *epoch = (uint32_t)word;
    return 0;
}

int rpmi_member_commit(struct rpm_log *log, uint64_t lsn)
{
    rpmi_begin();

    const struct rpmi_range range = { RPMI_COMMIT_OFFSET, sizeof(uint64_t) };
    unsigned char word[sizeof(uint64_t)];
    struct rpmi_op op = { .head = word, .head_bytes = sizeof(word) };

    RPM_ASSERT(rpmi_is_aligned(lsn, RPMI_LINE_BYTES));
    if (log->dead != 0)
        return rpmi_log_refuse(log);
    rpmi_store64(word, lsn);
    return write_visibly(log, &range, &op);
}

int rpmi_member_committed(struct rpm_log *log, uint64_t *lsn)
{
    rpmi_begin();

    int err = rpmi_log_readable(log);

    return err != 0 ? err : rpmi_log_header_word(log, RPMI_COMMIT_OFFSET, lsn);
}
