/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * group.c: make ops of frames, post them, and end a group with one flush, the seal, whose
 * completion proves the level for the whole group (H9). A record certifies itself, so nothing else
 * has to be written.
 *
 * Asynchronous appends share seals. An append that finds no seal outstanding is posted with a seal
 * of its own: the first of a burst is sent at once, and a caller with one append at a time never
 * waits for a second one. An append that finds a seal outstanding is held back; so is an append
 * that finds none if the last seal covered several, because this caller then submits many appends
 * before it polls, and the first append can share the next seal with the others.
 *
 * Held appends are sealed by a pump that has no completion to hand out: the caller has then
 * submitted all that it has for now. While one seal is outstanding, the pump seals them only if
 * they are at least as many as that seal covers; while two are outstanding it never posts a third.
 * A wait seals them unless two are outstanding.
 *
 * The completion of a seal completes only the entries that were submitted before it was posted. An
 * error that ends writing ends the pending records too.
 *
 * Tests: tests/unit/log/group_test.cpp, tests/crash/
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/canary.h"
#include "log/encode.h"

/* Ops that one more record (a pad frame and its own) and a seal of two ranges may need. */
#define OPS_SPARE (2u + 2u)

/* Staged payload that is posted at once: the server works on it while the client stages the
 * following records. */
#define POST_BYTES (16u << 10)

/* No append is held back any more: all were sealed, or ended. */
static void clear_held(struct rpm_log *log)
{
    log->sharing = log->waiting > 1;
    log->waiting = 0;
    rpmi_conn_holds(log->conn, &log->owner, false);
}

static unsigned char *header_of(struct rpm_log *log, uint32_t op)
{
    return log->headers + (uint64_t)op * RPMI_LINE_BYTES;
}

/* The staged length of a frame: its stride, the most that is ever written of it. */
static uint64_t framed(const struct rpm_log *log, uint64_t len)
{
    return rpmi_frame_stride((uint32_t)len, rpmi_ring_large(log, len) ? RPMI_FRAME_XPLINE : 0);
}

uint64_t rpmi_group_stage_max(const struct rpm_log *log)
{
    uint64_t piece = rpmi_outbox_piece_max(&log->outbox);

    return rpmi_align_down(piece - RPMI_STAGED_ROOM, RPMI_XPLINE_BYTES) - RPMI_FRAME_HEADER_BYTES;
}

unsigned char *rpmi_group_stage(struct rpm_log *log, uint64_t len)
{
    unsigned char *piece;

    RPM_ASSERT(len > 0 && len <= rpmi_group_stage_max(log));
    piece = rpmi_outbox_take(&log->outbox,
                             RPMI_STAGED_ROOM - RPMI_FRAME_HEADER_BYTES + framed(log, len));
    return piece == NULL ? NULL : piece + RPMI_STAGED_ROOM;
}

const void *rpmi_group_payload(struct rpm_log *log, const void *data, uint64_t len)
{
    unsigned char *staged;

    if (log->outbox.borrows)
        return data;
    staged = rpmi_group_stage(log, len);
    return staged == NULL ? NULL : memcpy(staged, data, len);
}

/* A staged frame is one piece of memory, with its zeros where a NIC is to send them. */
static void gather_staged(struct rpmi_op *op, unsigned char *header, uint64_t len)
{
    op->head = NULL;
    op->head_bytes = 0;
    op->body = header;
    op->body_bytes = RPMI_FRAME_HEADER_BYTES + len;
    RPM_ASSERT(op->body_bytes <= op->len);
    if (op->kind == RPMI_OP_COPY)
        return;
    memset(header + op->body_bytes, 0, op->len - op->body_bytes);
    op->body_bytes = op->len;
}

/* One frame as one write. A pad frame has no payload, only the length that it covers. */
static void add_frame(struct rpm_log *log, const struct rpmi_frame *frame, uint64_t position,
                      const void *payload, uint64_t written)
{
    struct rpmi_op *op = &log->ops[log->ops_count];
    bool staged = !log->outbox.borrows && payload != NULL;
    unsigned char *header = header_of(log, log->ops_count);

    RPM_ASSERT(log->ops_count < RPMI_BATCH_OPS_MAX);
    log->ops_count++;
    if (staged) {
        uint64_t at = (uint64_t)((const unsigned char *)payload - log->outbox.base);

        RPM_ASSERT(at >= RPMI_STAGED_ROOM && at < log->outbox.bytes);
        header = log->outbox.base + at - RPMI_FRAME_HEADER_BYTES;
    }
    rpmi_frame_put(header, frame, log->log_id, payload);
    rpmi_plan_write(&log->plan, log->write_key, RPMI_LOG_HEADER_BYTES + position, written, op);
    if (staged) {
        gather_staged(op, header, frame->len);
        return;
    }
    op->head = header;
    op->head_bytes = RPMI_FRAME_HEADER_BYTES;
    op->body = payload;
    op->body_bytes = payload == NULL ? 0 : frame->len;
}

void rpmi_group_add(struct rpm_log *log, const struct rpmi_place *place, const void *data,
                    uint64_t len, void *context, bool silent)
{
    struct rpmi_cursor at = { log->tail_lsn, log->position };
    uint64_t seq = log->submitted + log->pending;

    RPM_ASSERT(log->undo_stage <= log->outbox.tail);
    if (log->pending == 0)
        log->pending_stage = log->undo_stage;
    log->undo_tail = log->tail_lsn;
    log->undo_ops = log->ops_count;
    (void)rpmi_encode(log, &at, place, data, len, add_frame);
    log->tail_lsn = at.lsn;
    log->position = at.position;
    log->entries[seq & log->entries_mask] = (struct rpmi_entry){
        .lsn = place->lsn,
        .end_lsn = log->tail_lsn,
        .context = context,
        .stage_end = log->outbox.tail,
        .silent = silent,
    };
    log->pending++;
    RPM_ASSERT_SLOW(rpmi_log_check_invariants(log));
}

void rpmi_group_undo(struct rpm_log *log)
{
    RPM_ASSERT(log->pending > 0 && log->undo_ops < log->ops_count);
    log->tail_lsn = log->undo_tail;
    log->position = log->tail_lsn % log->capacity;
    log->outbox.tail = log->undo_stage;
    log->ops_count = log->undo_ops;
    log->pending--;
    RPM_ASSERT_SLOW(rpmi_log_check_invariants(log));
}

bool rpmi_group_full(const struct rpm_log *log)
{
    return log->ops_count + OPS_SPARE > RPMI_BATCH_OPS_MAX ||
           (log->pending > 0 && log->outbox.tail - log->pending_stage >= POST_BYTES);
}

/* Count the pending records as submitted; if the post failed, they end with that error. */
static int submitted(struct rpm_log *log, int err)
{
    if (err == RPM_E_BUSY)
        return err;
    RPM_ASSERT(log->submitted + log->pending - log->reaped <= log->inflight_max);
    log->submitted += log->pending;
    log->pending = 0;
    log->ops_count = 0;
    if (err < 0)
        rpmi_log_finish(log, log->submitted, err);
    return 0;
}

int rpmi_group_post(struct rpm_log *log)
{
    uint64_t seq = log->submitted + log->pending;

    RPM_ASSERT(log->dead == 0); /* an ended claim writes nothing */
    if (log->ops_count == 0)
        return 0;
    return submitted(log, rpmi_conn_post(log->conn, &log->owner, log->ops, log->ops_count, seq));
}

/* Self-certifying writes need no seal. But a run of them that was posted without a signaled op
 * (RPM_MORE, then persist) still needs an op to wait for. */
static uint32_t add_marker(struct rpm_log *log, const struct rpmi_range *ranges, uint32_t ranges_n)
{
    struct rpmi_plan marker = { .seal_kind = RPMI_OP_READ, .seal_bytes = 1 };

    if ((log->conn->link->facts.methods & 1u << RPM_METHOD_MESSAGE) != 0)
        marker.seal_kind = RPMI_OP_PERSIST;
    return rpmi_plan_seal(&marker, log->write_key, ranges, ranges_n, log->conn->word, log->ops);
}

/* Which records the ORDERs or CARRYs are for, of which each covers a range of the ring. */
static void set_lsns(const struct rpm_log *log, struct rpmi_op *ops, uint32_t n)
{
    uint64_t lsn = log->sealed_lsn;

    for (uint32_t i = 0; i < n; i++) {
        RPM_ASSERT(ops[i].kind == RPMI_OP_ORDER || ops[i].kind == RPMI_OP_CARRY);
        ops[i].expect = lsn;
        lsn += ops[i].len;
        ops[i].operand = lsn;
    }
    RPM_ASSERT(lsn == log->tail_lsn);
}

/* Add the ops that end a group. Returns their number. */
static uint32_t add_seal(struct rpm_log *log)
{
    bool ordered = log->plan.seal_kind == RPMI_OP_ORDER || log->plan.seal_kind == RPMI_OP_CARRY;
    bool ranged = ordered || log->plan.seal_kind == RPMI_OP_PERSIST ||
                  log->plan.seal_kind == RPMI_OP_FLUSH || log->ops_count == 0;
    struct rpmi_range ranges[2];
    uint32_t ranges_n = ranged ? rpmi_ring_ranges(log, log->sealed_lsn, log->tail_lsn, ranges) : 0;
    uint32_t n;

    RPM_ASSERT(log->ops_count + 2 <= RPMI_BATCH_OPS_MAX); /* room for a seal of two ranges */
    if (log->ops_count > 0)
        rpmi_plan_last_write(&log->plan, &log->ops[log->ops_count - 1]);
    n = rpmi_plan_seal(&log->plan, log->write_key, ranges, ranges_n, log->conn->word,
                       &log->ops[log->ops_count]);
    if (n == 0 && log->ops_count == 0)
        n = add_marker(log, ranges, ranges_n);
    if (ordered)
        set_lsns(log, &log->ops[log->ops_count], n);
    return n;
}

int rpmi_group_seal(struct rpm_log *log)
{
    uint64_t seq = log->submitted + log->pending;
    uint32_t writes = log->ops_count;
    uint32_t total;
    int err;

    if (log->sealed_lsn == log->tail_lsn)
        return 0;
    RPM_ASSERT(log->dead == 0 && log->write_key != 0); /* an ended claim acknowledges nothing */
    total = writes + add_seal(log);
    RPM_ASSERT(total > 0 && total <= RPMI_BATCH_OPS_MAX);
    if (RPMI_CANARY(EARLY_ACK) && writes > 0)
        log->ops[writes - 1].flags |= RPMI_OP_SIGNALED;
    else
        log->ops[total - 1].flags |= RPMI_OP_SIGNALED;
    err = rpmi_conn_post(log->conn, &log->owner, log->ops, total, seq);
    if (err == RPM_E_BUSY) {
        if (writes > 0)
            log->ops[writes - 1].flags &= (uint8_t)~RPMI_OP_SIGNALED;
        return err;
    }
    log->sealed_lsn = log->tail_lsn;
    log->sealed_seq_prior = log->sealed_seq;
    log->sealed_seq = seq;
    clear_held(log);
    (void)submitted(log, err);
    if (err == RPMI_POST_DONE)
        rpmi_log_finish(log, log->submitted, 0);
    RPM_ASSERT_SLOW(rpmi_log_check_invariants(log));
    return 0;
}

/* The throttle counts only posted ops, so hold back no more than it lets pass at once. */
static bool throttle_allows(const struct rpm_log *log)
{
    return !log->conn->throttled || log->ops_count + OPS_SPARE <= log->conn->throttle.limit;
}

/* Without H9 a post waits for its writes, so no seal is outstanding that an append could wait for;
 * nor is one on a link that completes on post. */
bool rpmi_group_may_wait(const struct rpm_log *log)
{
    if ((log->plan.write_flags & RPMI_OP_WAIT) != 0)
        return false;
    return (log->completed < log->sealed_seq || log->sharing) && throttle_allows(log);
}

int rpmi_group_hold(struct rpm_log *log)
{
    if (RPMI_CANARY(OLD_FLUSH) && log->completed < log->sealed_seq) {
        int err = rpmi_group_post(log);

        if (err == 0)
            log->sealed_lsn = log->tail_lsn;
        return err;
    }
    RPM_ASSERT(log->pending > 0 && log->dead == 0); /* there is a record to hold back */
    log->waiting++;
    rpmi_conn_holds(log->conn, &log->owner, true);
    return 0;
}

/* Should the pump seal the held appends now? The rules are at the top of this file. */
static bool should_seal(struct rpm_log *log)
{
    uint64_t outstanding = log->sealed_seq - log->completed;
    uint64_t behind = log->submitted + log->pending - log->sealed_seq;

    RPM_ASSERT(log->sealed_seq <= log->submitted);
    return !rpmi_log_has_completion(&log->owner) &&
           (log->completed >= log->sealed_seq || behind >= outstanding);
}

bool rpmi_log_release(struct rpmi_owner *owner, bool blocked)
{
    struct rpm_log *log = rpmi_log_of(owner);
    bool two_outstanding = log->completed < log->sealed_seq_prior;

    RPM_ASSERT(log->waiting > 0 && log->write_key != 0);
    if (two_outstanding || !(blocked || should_seal(log)))
        return false;
    return rpmi_group_seal(log) == 0;
}

void rpmi_log_end(struct rpm_log *log, int status)
{
    RPM_ASSERT(status != 0);
    log->submitted += log->pending;
    log->pending = 0;
    log->ops_count = 0;
    clear_held(log);
    rpmi_log_finish(log, log->submitted, status);
    if (log->dead == 0)
        log->dead = status;
    RPM_ASSERT(log->completed == log->submitted && log->waiting == 0);
}

void rpmi_log_lost(struct rpmi_owner *owner, int status)
{
    rpmi_log_end(rpmi_log_of(owner), status);
}
