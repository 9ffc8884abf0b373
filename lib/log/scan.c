/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scan.c: read frames forward and check each; the tail is where the first frame is missing,
 * invalid, or of an epoch that does not belong there.
 *
 * Invariants
 *   no bytes behind an invalid frame are ever taken for a record
 *   a frame at or above head.base_lsn has the head's epoch, one below it an older one
 *   no log ends before a record that its head, or a frame behind that end, says was acknowledged
 *   a frame that only a newer head allows is no record; it is damage, unless a copy into a member
 *   of a set may have left it
 *
 * Format: FORMAT.md, section 5.   Tests: tests/unit/log/scan_test.cpp, tests/crash/
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"

#include <inttypes.h>

#define FIRST_READ_BYTES 4096u
#define SEARCH_BYTES (1u << 20) /* how far behind the tail frames are looked for, at least */
#define SURVEY_LAPS_MAX 16u     /* of the ring, read for frames that turn out to be broken */

/* A piece of the ring, mapped or read ahead. */
struct window {
    struct rpm_log *log;
    const unsigned char *mapped; /* the whole ring, or NULL */
    uint64_t at;                 /* position in the ring of the bytes read, */
    uint64_t have;
    uint64_t ahead; /* bytes to read next time; grows */
    uint64_t bytes; /* read so far */
    uint64_t claim; /* the claim word as last read, 0: not yet */
};

static void window_open(struct window *window, struct rpm_log *log)
{
    struct rpmi_link *link = log->conn->link;

    *window = (struct window){ .log = log, .ahead = FIRST_READ_BYTES };
    window->mapped = link->ops->peek(link, log->read_key, RPMI_LOG_HEADER_BYTES, log->capacity);
}

/* @need contiguous bytes at @lsn, at most RPMI_BOUNCE_BYTES unless mapped. */
static int window_get(struct window *window, uint64_t lsn, uint64_t need, const unsigned char **at)
{
    struct rpm_log *log = window->log;
    uint64_t position = lsn % log->capacity;
    uint64_t len = window->ahead;
    struct rpmi_op op;
    int err;

    RPM_ASSERT(need <= log->capacity - position);
    if (window->mapped != NULL) {
        *at = window->mapped + position;
        return 0;
    }
    if (position < window->at || position + need > window->at + window->have) {
        if (len < need)
            len = need;
        if (len > log->capacity - position)
            len = log->capacity - position;
        RPM_ASSERT(len <= RPMI_BOUNCE_BYTES);
        op = (struct rpmi_op){
            .kind = RPMI_OP_READ,
            .key = log->read_key,
            .offset = RPMI_LOG_HEADER_BYTES + position,
            .len = len,
            .into = log->conn->bounce,
        };
        err = rpmi_conn_exec(log->conn, &op, 1);
        if (err != 0)
            return err;
        window->at = position;
        window->have = len;
        window->bytes += len;
        if (window->ahead < RPMI_BOUNCE_BYTES)
            window->ahead *= 2;
    }
    *at = log->conn->bounce + (position - window->at);
    return 0;
}

/* Checksum of a frame too long for the window, piece by piece. */
static int check_long(struct window *window, const struct rpmi_frame *frame,
                      enum rpmi_verdict *verdict)
{
    uint64_t end = frame->lsn + RPMI_FRAME_HEADER_BYTES + frame->len;
    uint64_t at = frame->lsn + RPMI_FRAME_HEADER_BYTES;
    struct rpmi_sum_stream stream;
    const unsigned char *bytes;

    rpmi_sum_begin(&stream);
    while (at < end) {
        uint64_t piece = end - at < RPMI_BOUNCE_BYTES ? end - at : RPMI_BOUNCE_BYTES;
        int err = window_get(window, at, piece, &bytes);

        if (err != 0)
            return err;
        rpmi_sum_more(&stream, bytes, piece);
        at += piece;
    }
    *verdict = rpmi_frame_sum_with(frame, window->log->log_id, rpmi_sum_end(&stream)) == frame->sum
                   ? RPMI_FRAME_VALID
                   : RPMI_FRAME_BROKEN;
    return 0;
}

static int judge(struct window *window, uint64_t lsn, struct rpmi_frame *frame,
                 enum rpmi_verdict *verdict)
{
    uint64_t room = window->log->capacity - lsn % window->log->capacity;
    bool pad;
    const unsigned char *at;
    uint64_t total;
    int err = window_get(window, lsn, RPMI_LINE_BYTES, &at);

    if (err != 0)
        return err;
    *verdict = rpmi_frame_get(at, lsn, room, frame);
    if (*verdict != RPMI_FRAME_VALID || RPMI_CANARY(NO_SUM))
        return 0;
    pad = (frame->flags & RPMI_FRAME_PAD) != 0;
    total = RPMI_FRAME_HEADER_BYTES + (pad ? 0 : frame->len);
    if (window->mapped == NULL && total > RPMI_BOUNCE_BYTES)
        return check_long(window, frame, verdict);
    err = window_get(window, lsn, total, &at);
    if (err == 0)
        *verdict =
            rpmi_frame_check(frame, window->log->log_id, pad ? NULL : at + RPMI_FRAME_HEADER_BYTES);
    return err;
}

bool rpmi_epoch_belongs(const struct rpmi_head *head, const struct rpmi_frame *frame,
                        uint32_t prior_epoch)
{
    if (RPMI_CANARY(NO_EPOCH))
        return true;
    if (frame->lsn >= head->base_lsn)
        return frame->epoch == head->epoch;
    return frame->epoch < head->epoch && frame->epoch >= prior_epoch;
}

static bool is_in_ring(const struct rpm_log *log, const struct rpmi_head *head,
                       const struct rpmi_frame *frame)
{
    return frame->lsn < head->trim_lsn + log->capacity;
}

/* Can the whole frame have been written under this head? */
static bool is_under(const struct rpm_log *log, const struct rpmi_head *head,
                     const struct rpmi_frame *frame)
{
    return is_in_ring(log, head, frame) && frame->epoch <= head->epoch;
}

/* Has a copy that was never sealed left the frame? @claim: the claim word; 0: it was not read. */
static bool is_unsealed(const struct rpm_log *log, const struct rpmi_head *head,
                        const struct rpmi_frame *frame, uint64_t claim)
{
    return is_in_ring(log, head, frame) && rpmi_is_unsealed(head, claim, frame->epoch);
}

/* The whole @frame needs a newer head than @head. @claim: out, the claim word, of a set's log. */
static int check_newer(struct rpm_log *log, const struct rpmi_head *head,
                       const struct rpmi_frame *frame, uint64_t *claim)
{
    struct rpmi_head now;
    int err;

    /* A writer may have sealed or trimmed after @head was read, and then written this frame. */
    err = rpmi_log_head_now(log, &now);
    if (err != 0 || now.turn != head->turn)
        return err;
    if (head->set.copies != 0)
        err = rpmi_log_header_word(log, RPMI_GUARD_OFFSET, claim);
    if (err != 0 || is_unsealed(log, head, frame, *claim))
        return err;
    return rpmi_fail(
        RPM_E_CORRUPT,
        "log '%s' needs 'rpm-log repair': its head is damaged or an old one: it has first "
        "LSN %" PRIu64 " and epoch %" PRIu32 ", but the ring has a whole record of LSN "
        "%" PRIu64 " and epoch %" PRIu32,
        log->name, head->trim_lsn, head->epoch, frame->lsn, frame->epoch);
}

int rpmi_log_check_head(struct rpm_log *log, const struct rpmi_head *head,
                        const struct rpmi_frame *frame)
{
    uint64_t claim = 0;

    return is_under(log, head, frame) ? 0 : check_newer(log, head, frame, &claim);
}

/* rpmi_log_check_head() for a frame in the window, whose bytes reading the head overwrites. A copy
 * leaves many frames: the claim word, which never decreases, is read for the first of them. */
static int check_head(struct window *window, const struct rpmi_frame *frame)
{
    const struct rpmi_head *head = &window->log->head;
    int err;

    if (is_under(window->log, head, frame) || is_unsealed(window->log, head, frame, window->claim))
        return 0;
    err = check_newer(window->log, head, frame, &window->claim);
    window->have = window->mapped != NULL ? window->have : 0;
    return err;
}

/* The frame of a later lap that begins at @lsn's place in the ring, if there is a whole one. */
static int judge_later(struct window *window, uint64_t lsn, struct rpmi_frame *frame,
                       enum rpmi_verdict *verdict)
{
    const unsigned char *at;
    uint64_t stored;
    int err = window_get(window, lsn, RPMI_LINE_BYTES, &at);

    *verdict = RPMI_FRAME_BLANK;
    if (err != 0)
        return err;
    stored = rpmi_load64(at);
    if (stored <= lsn || stored >= RPMI_HEAD_LIMIT || (stored - lsn) % window->log->capacity != 0)
        return 0;
    return judge(window, stored, frame, verdict);
}

/* Everything before @proven was acknowledged, or made durable before the head was written, but no
 * valid frame was found at @lsn, where a frame of epoch @prior_epoch ends. RPM_E_CORRUPT if a
 * second look finds the same. */
static int check_missing(struct rpm_log *log, uint64_t lsn, uint32_t prior_epoch, uint64_t proven)
{
    enum rpmi_verdict verdict;
    struct rpmi_frame frame;
    struct rpmi_head now;
    int err;

    /* A writer may have appended the frame since: @proven was read before the frame. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    err = rpmi_log_judge(log, lsn, &frame, &verdict);
    if (err != 0 ||
        (verdict == RPMI_FRAME_VALID && rpmi_epoch_belongs(&log->head, &frame, prior_epoch)))
        return err;
    /* Or a writer has trimmed and reused that part of the ring, or sealed a new epoch. */
    err = rpmi_log_head_now(log, &now);
    if (err != 0 || now.trim_lsn > lsn || now.epoch != log->head.epoch)
        return err;
    return rpmi_fail(RPM_E_CORRUPT,
                     "log '%s' needs 'rpm-log repair': its record at %" PRIu64
                     " is damaged: everything before %" PRIu64 " was durable",
                     log->name, lsn, proven);
}

/* May the log end at @end although the whole @frame is behind it? RPM_E_CORRUPT. */
static int check_behind(struct window *window, const struct rpmi_end *end,
                        const struct rpmi_frame *frame)
{
    uint64_t acked = rpmi_frame_acked(frame);
    int err = check_head(window, frame);

    if (err != 0 || acked <= end->lsn ||
        !rpmi_epoch_belongs(&window->log->head, frame, end->prior_epoch))
        return err;
    window->have = 0; /* as in check_head() */
    return check_missing(window->log, end->lsn, end->prior_epoch, acked);
}

/* The LSN up to which frames are searched for, if the last one found ends at @lsn. */
static uint64_t search_limit(const struct rpm_log *log, const struct rpmi_end *end, uint64_t lsn)
{
    uint64_t limit = log->head.trim_lsn + log->capacity;
    uint64_t bytes = SEARCH_BYTES + 2 * end->longest;

    return lsn >= limit || limit - lsn < bytes ? limit : lsn + bytes;
}

/* Count the frames behind the tail, whole or torn, that the last writer left and that are
 * discarded. None of them may require a newer head, or say that a missing record was acknowledged:
 * that is RPM_E_CORRUPT. If damage is already known (@damage is RPM_E_CORRUPT), they are only
 * counted. */
static int count_torn(struct window *window, const struct rpmi_end *end, int damage,
                      struct rpmi_scan_report *report)
{
    struct rpm_log *log = window->log;
    uint64_t limit = search_limit(log, end, end->lsn);
    uint64_t lsn = end->lsn;

    while (lsn < limit) {
        enum rpmi_verdict verdict;
        struct rpmi_frame frame;
        int err = judge(window, lsn, &frame, &verdict);

        if (err == 0 && verdict == RPMI_FRAME_BLANK)
            err = judge_later(window, lsn, &frame, &verdict);
        if (err == 0 && verdict == RPMI_FRAME_VALID && damage == 0)
            damage = check_behind(window, end, &frame);
        if (err != 0 || (damage != 0 && damage != RPM_E_CORRUPT))
            return err != 0 ? err : damage;
        if (verdict != RPMI_FRAME_BLANK && frame.lsn == lsn) {
            /* A damaged long record is in front of the frame that proves the damage. */
            limit = search_limit(log, end, lsn + rpmi_frame_stride(frame.len, frame.flags));
            if ((frame.flags & RPMI_FRAME_PAD) == 0 && frame.epoch == log->head.epoch) {
                report->torn++;
                report->stranded += verdict == RPMI_FRAME_VALID;
            }
        }
        lsn += verdict == RPMI_FRAME_VALID ? rpmi_frame_stride(frame.len, frame.flags)
                                           : RPMI_LINE_BYTES;
    }
    return damage;
}

/* May the log end there, according to its head and the frames behind? */
static int check_end(struct window *window, const struct rpmi_end *end,
                     struct rpmi_scan_report *report)
{
    struct rpm_log *log = window->log;
    int err = 0;

    if (end->lsn < log->head.base_lsn && (log->head.flags & RPMI_HEAD_DURABLE) != 0) {
        err = check_missing(log, end->lsn, end->prior_epoch, log->head.base_lsn);
        window->have = 0; /* as in check_head() */
    }
    return err != 0 && err != RPM_E_CORRUPT ? err : count_torn(window, end, err, report);
}

int rpmi_log_check_end(struct rpm_log *log, const struct rpmi_end *end)
{
    struct rpmi_scan_report report = { 0 };
    struct window window;

    window_open(&window, log);
    return check_end(&window, end, &report);
}

int rpmi_log_scan(struct rpm_log *log, uint64_t from_lsn, rpmi_scan_fn *visit, void *context,
                  struct rpmi_scan_report *report)
{
    uint64_t start_ns = log->conn->link->ops->now_ns(log->conn->link);
    uint64_t limit = log->head.trim_lsn + log->capacity;
    struct rpmi_end end = { .lsn = from_lsn };
    struct window window;
    int err;

    *report = (struct rpmi_scan_report){ 0 };
    window_open(&window, log);
    while (end.lsn < limit) {
        enum rpmi_verdict verdict;
        struct rpmi_frame frame;
        uint64_t stride;

        err = judge(&window, end.lsn, &frame, &verdict);
        if (err != 0)
            return err;
        if (verdict != RPMI_FRAME_VALID || !rpmi_epoch_belongs(&log->head, &frame, end.prior_epoch))
            break;
        stride = rpmi_frame_stride(frame.len, frame.flags);
        if (stride > limit - end.lsn)
            break;
        rpmi_end_advance(&end, &frame);
        report->records += (frame.flags & RPMI_FRAME_PAD) == 0;
        if (visit != NULL)
            visit(context, &frame);
    }
    report->end_lsn = end.lsn;
    err = check_end(&window, &end, report);
    report->bytes = window.mapped != NULL ? end.lsn - from_lsn : window.bytes;
    report->ns = log->conn->link->ops->now_ns(log->conn->link) - start_ns;
    return err;
}

int rpmi_log_judge(struct rpm_log *log, uint64_t lsn, struct rpmi_frame *frame,
                   enum rpmi_verdict *verdict)
{
    struct window window;

    window_open(&window, log);
    return judge(&window, lsn, frame, verdict);
}

int rpmi_log_walk(struct rpm_log *log, uint64_t lsn, rpmi_walk_fn *go_on, void *context)
{
    struct window window;

    RPM_ASSERT(rpmi_is_aligned(lsn, RPMI_LINE_BYTES));
    window_open(&window, log);
    for (;;) {
        enum rpmi_verdict verdict;
        struct rpmi_frame frame;
        int err = judge(&window, lsn, &frame, &verdict);

        if (err != 0 || verdict != RPMI_FRAME_VALID || !go_on(context, &frame))
            return err;
        lsn += rpmi_frame_stride(frame.len, frame.flags);
    }
}

/* Is the frame that seems to begin at @stored worth computing its checksum? Any line may look like
 * the header of a long frame: after many broken frames only those are checked that continue a
 * chain, or are short. */
static bool is_worth_checking(struct window *window, const struct rpmi_chains *chains,
                              uint64_t stored, uint64_t wasted)
{
    uint64_t room = window->log->capacity - stored % window->log->capacity;
    const unsigned char *at;
    struct rpmi_frame frame;

    if (wasted / SURVEY_LAPS_MAX < window->log->capacity || rpmi_chains_expect(chains, stored))
        return true;
    return window_get(window, stored, RPMI_LINE_BYTES, &at) == 0 &&
           rpmi_frame_get(at, stored, room, &frame) == RPMI_FRAME_VALID &&
           frame.len <= RPMI_PAGE_BYTES;
}

int rpmi_log_survey(struct rpm_log *log, const struct rpmi_known *known, struct rpmi_chains *chains)
{
    uint64_t wasted = 0; /* bytes of frames that turned out to be broken */
    uint64_t position = 0;
    struct window window;

    rpmi_chains_begin(chains, log->capacity, known);
    window_open(&window, log);
    while (position < log->capacity) {
        enum rpmi_verdict verdict = RPMI_FRAME_BLANK;
        struct rpmi_frame frame = { 0 };
        const unsigned char *at;
        uint64_t stored;
        int err = window_get(&window, position, RPMI_LINE_BYTES, &at);

        if (err != 0)
            return err;
        stored = rpmi_load64(at);
        if (stored < RPMI_HEAD_LIMIT && stored % log->capacity == position &&
            is_worth_checking(&window, chains, stored, wasted))
            err = judge(&window, stored, &frame, &verdict);
        if (err != 0)
            return err;
        position += RPMI_LINE_BYTES;
        if (verdict == RPMI_FRAME_BROKEN)
            wasted += frame.len;
        if (verdict != RPMI_FRAME_VALID)
            continue;
        rpmi_chains_add(chains, &frame);
        /* The bytes that a frame covers are as written: no later frame begins inside. The bytes
         * that a pad frame skips may hold frames.
         */
        if ((frame.flags & RPMI_FRAME_PAD) == 0)
            position = rpmi_align_up(
                frame.lsn % log->capacity + RPMI_FRAME_HEADER_BYTES + frame.len, RPMI_LINE_BYTES);
    }
    rpmi_chains_end(chains);
    return 0;
}
