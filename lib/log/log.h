/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.h: an open log.
 *
 * Invariants
 *   acked_lsn <= sealed_lsn <= tail_lsn, free_lsn <= tail_lsn <= free_lsn + capacity
 *   reaped <= completed <= submitted, submitted - reaped <= inflight_max
 *   entries [reaped, completed) have ended, [completed, submitted) are outstanding
 *   position == tail_lsn % capacity
 *   once dead != 0 nothing is pending, and nothing is posted until the log is resumed
 *   waiting > 0 == owner.holds: appends were accepted that no seal covers yet, and a pump or a wait
 *     will post a seal
 *
 * rpmi_log_check_invariants() asserts these and more.
 *
 * Threads: one per connection. Tests: tests/unit/log/, tests/crash/
 */
#ifndef RPMI_LOG_H
#define RPMI_LOG_H

#include "base/canary.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "conn/outbox.h"
#include "log/chain.h"
#include "log/decision.h"
#include "wire/frame.h"
#include "wire/head.h"

#include <librpm/append.h>
#include <librpm/log.h>
#include <stdbool.h>

/* One append that was accepted and whose completion has not been polled. */
struct rpmi_entry {
    uint64_t lsn;
    uint64_t end_lsn; /* first byte behind its frame */
    void *context;
    uint64_t stage_end; /* staging before this is free once the entry ends */
    int status;
    bool silent; /* a blocking caller waits for it: poll does not report it */
};

/* What a scan from the head towards the tail found. */
struct rpmi_scan_report {
    uint64_t end_lsn;
    uint64_t records;
    uint64_t torn;
    uint64_t stranded; /* of those, how many are intact */
    uint64_t bytes;
    uint64_t ns;
};

/* Where a walk along the log ended. */
struct rpmi_end {
    uint64_t lsn;         /* no frame there continues the log */
    uint64_t longest;     /* longest stride of a frame on the way */
    uint32_t prior_epoch; /* epoch of the frame in front; 0: none was passed */
};

static inline void rpmi_end_advance(struct rpmi_end *end, const struct rpmi_frame *frame)
{
    uint64_t stride = rpmi_frame_stride(frame->len, frame->flags);

    end->lsn = frame->lsn + stride;
    end->longest = stride > end->longest ? stride : end->longest;
    end->prior_epoch = frame->epoch;
}

struct rpm_log {
    struct rpmi_owner owner;
    struct rpm_conn *conn;
    struct rpmi_arena arena;
    char name[RPM_NAME_MAX + 1];
    uint32_t flags;          /* enum rpm_log_flag */
    uint32_t method;         /* enum rpm_method that is insisted on; 0: the connection's */
    struct rpm_tier *tier;   /* NULL: a log that is full is not trimmed */
    struct rpmi_trims trims; /* by decisions of the connection's agent */
    uint32_t read_key;
    uint32_t write_key;       /* 0: not claimed */
    uint64_t link_generation; /* of the connection when the keys were granted */
    uint32_t epoch;           /* ours, once claimed */
    uint32_t since;           /* epoch of our first claim, which resumed no other; RPMI_CALL_RESUME
                                 names it */
    uint32_t ended_epoch;     /* epoch of a claim that a guarded region found ended */
    uint32_t guarded;         /* regions that are open and guarded by our claim */
    uint64_t token;           /* of the claim with epoch, or of a creation with it; 0: none */
    uint32_t lasts;           /* enum rpmi_reply_flag: of the life in the head, when opened last */
    uint32_t wrote_epoch;     /* of the records in unknown[]; see resume.c */
    uint32_t own_sealed;      /* our last epoch seen in the head while sole_writer */
    uint32_t own_claimed;     /* our last epoch claimed while sole_writer: the head may have it */
    bool sole_writer;         /* no other writer sealed an epoch since wrote_epoch */
    uint64_t reader_generation; /* counts recoveries and ends of writing: readers restart then */
    uint64_t log_id;
    uint64_t capacity;
    uint64_t record_max;
    struct rpmi_head head; /* as last read or written: visible, perhaps not durable yet */
    uint32_t head_lacking; /* bit i: slot i should hold the head and did not, when last read */
    uint64_t free_lsn;     /* by the server: the durable head is here, the space before it can be
                              reused */
    struct rpmi_scan_report report;
    struct rpmi_plan plan;
    struct rpmi_plan persist_plan;
    const struct rpmi_fast_path *fast_path; /* for blocking appends; NULL: the link has none */
    int dead;                               /* 0, or the error that ended writing, until a resume */
    uint32_t lag_mask; /* of frames' lags. 0 below RPM_DURABLE: there an acknowledgement proves
                          nothing about the state after a power cut */

    uint64_t tail_lsn;        /* where the next frame goes */
    uint64_t position;        /* of tail_lsn in the ring */
    uint64_t sealed_lsn;      /* a seal that covers everything before was posted */
    uint64_t acked_lsn;       /* everything before is at the log's level */
    const uint64_t *lag_from; /* frames state how far they are ahead of this LSN: acked_lsn, or, if
                                 frames must be the same on the members of a set, what all have */

    struct rpmi_entry *entries; /* ring, at least inflight_max */
    uint32_t inflight_max;
    uint64_t entries_mask; /* their number is a power of two */
    uint64_t submitted;
    uint64_t completed;
    uint64_t reaped;
    uint64_t sealed_seq;       /* the last seal posted completes the entries before this */
    uint64_t sealed_seq_prior; /* the seal posted before that one completes the entries before
                                  this */
    uint32_t waiting;          /* appends that were held back for the next seal */
    bool sharing;              /* the last seal covered more than one held append */
    uint32_t pending;          /* entries behind submitted, built and not posted */
    uint64_t pending_stage;    /* outbox.tail before the first of them */
    uint64_t undo_stage;       /* before the last of them: outbox.tail, */
    uint64_t undo_tail;        /* tail_lsn */
    uint32_t undo_ops;         /* and ops_count */

    struct rpm_outcome *unknown; /* inflight_max appends, to be settled by resume */
    uint32_t unknown_count;

    struct rpmi_outbox outbox; /* staged frames of outstanding appends */
    uint64_t reserved;         /* bytes; 0: nothing reserved */
    uint64_t reserved_at;      /* counts as outbox.tail does */
    unsigned char *reserved_data;

    struct rpmi_op *ops;    /* RPMI_BATCH_OPS_MAX: the group being built */
    unsigned char *headers; /* a line for each op */
    uint32_t ops_count;
    uint64_t late_trim; /* canary LATE_TRIM only */
    bool late_seal;     /* canary LATE_EPOCH only */
};

static inline struct rpm_log *rpmi_log_of(struct rpmi_owner *owner)
{
    return (struct rpm_log *)((unsigned char *)owner - offsetof(struct rpm_log, owner));
}

/* The place of a frame in the log and its ring. */
struct rpmi_place {
    uint64_t lsn;
    uint64_t stride;
    uint64_t pad;   /* bytes of pad frame in front of it, from the tail on */
    uint32_t flags; /* enum rpmi_frame_flag */
};

/* Does a record of @len bytes fill whole XPLines (H5)? */
static inline bool rpmi_ring_large(const struct rpm_log *log, uint64_t len)
{
    return len + RPMI_FRAME_HEADER_BYTES > RPMI_XPLINE_BYTES &&
           log->plan.large_unit == RPMI_XPLINE_BYTES;
}

/* The place of a record of @len bytes if the tail were at @tail_lsn, at @position in the ring. */
static inline void rpmi_ring_place_at(const struct rpm_log *log, uint64_t tail_lsn,
                                      uint64_t position, uint64_t len, struct rpmi_place *place)
{
    bool large = rpmi_ring_large(log, len);

    place->flags = large ? RPMI_FRAME_XPLINE : 0;
    place->stride = rpmi_frame_stride((uint32_t)len, place->flags);
    place->pad = large ? rpmi_align_up(position, RPMI_XPLINE_BYTES) - position : 0;
    if (position + place->pad + place->stride > log->capacity)
        place->pad = log->capacity - position;
    place->lsn = tail_lsn + place->pad;
    RPM_ASSERT_SLOW(rpmi_is_aligned(place->lsn, RPMI_LINE_BYTES));
}

/* Bytes to write of a frame with this payload. */
static inline uint64_t rpmi_ring_written(const struct rpm_log *log, const struct rpmi_place *place,
                                         uint64_t len)
{
    return log->plan.pad_unit > 1 || place->flags != 0 ? place->stride
                                                       : RPMI_FRAME_HEADER_BYTES + len;
}

/* The lag that a frame at @lsn states: how far acknowledgements are behind it. */
static inline uint32_t rpmi_log_lag(const struct rpm_log *log, uint64_t lsn)
{
    uint64_t acked = RPMI_CANARY(EARLY_LAG) ? log->sealed_lsn : *log->lag_from;

    return rpmi_frame_lag(lsn - acked) & log->lag_mask;
}

/* ring.c: the place of a record of @len bytes if the tail were at @tail_lsn. */
void rpmi_ring_place(const struct rpm_log *log, uint64_t tail_lsn, uint64_t len,
                     struct rpmi_place *place);
/* The one or two contiguous pieces of the write key's object that hold [from, to). Their number. */
uint32_t rpmi_ring_ranges(const struct rpm_log *log, uint64_t from, uint64_t to,
                          struct rpmi_range ranges[2]);
/* Largest payload for which a place can be found in an empty ring of this capacity. */
uint64_t rpmi_ring_record_max(uint64_t capacity);

/* invariants.c: true, or an assertion fails. Takes time in proportion to the outstanding appends:
 * meant for RPM_ASSERT_SLOW. */
bool rpmi_log_check_invariants(const struct rpm_log *log);

/* Room in front of a staged payload for its frame's header, of a size that keeps the payload
 * aligned for any use by a caller that reserved it. */
#define RPMI_STAGED_ROOM 32u

/*
 * group.c: a group is the set of records that share one flush. Records are added to it (pending),
 * posted (submitted), and sealed: the completion of the seal completes all of them.
 *
 * A group may be held back: it stays pending, more records are added to it, and a later pump or
 * wait seals it.
 */
/* The largest payload that rpmi_group_stage() has room for while nothing is staged. */
uint64_t rpmi_group_stage_max(const struct rpm_log *log);
/* Staging memory for the payload of a record of @len bytes, at most stage_max(), aligned to 32.
 * There is room around it for the rest of the frame, so that a NIC can send the frame as one piece.
 * NULL: no room now.
 */
unsigned char *rpmi_group_stage(struct rpm_log *log, uint64_t len);
/* The address to post @data from: a copy in staging memory, or @data itself if the link completes
 * on post. NULL: no room now. */
const void *rpmi_group_payload(struct rpm_log *log, const void *data, uint64_t len);
/* Must the pending records be posted before another record is added? */
bool rpmi_group_full(const struct rpm_log *log);
/* Add one record whose room in ring, entries, staging and group was checked. @data: returned by
 * rpmi_group_payload() or rpmi_group_stage(). undo_stage was set before that call. */
void rpmi_group_add(struct rpm_log *log, const struct rpmi_place *place, const void *data,
                    uint64_t len, void *context, bool silent);
/* Post the pending records, without a seal. RPM_E_BUSY: nothing was posted. On any other failure
 * the pending records count as submitted and have ended with that error, and 0 is returned. */
int rpmi_group_post(struct rpm_log *log);
/* Post the pending records, and a seal that completes everything submitted. */
int rpmi_group_seal(struct rpm_log *log);
/* May the record added last wait for a later seal? */
bool rpmi_group_may_wait(const struct rpm_log *log);
/* Let the record added last wait for a later seal. Returns as rpmi_group_post(). */
int rpmi_group_hold(struct rpm_log *log);
/* Remove the record added last, of which nothing was posted. */
void rpmi_group_undo(struct rpm_log *log);
bool rpmi_log_release(struct rpmi_owner *owner, bool blocked);
/* Everything accepted so far ended with the error @status, pending records too. */
void rpmi_log_end(struct rpm_log *log, int status);
void rpmi_log_lost(struct rpmi_owner *owner, int status);

/* fast_path.c: append and bring to the log's level over the link's fast path. True: done. False:
 * nothing was stored, and the caller takes the general path, which reports what is wrong. @lsns may
 * be NULL. */
bool rpmi_log_fast_append(struct rpm_log *log, const struct rpm_slice *records, uint32_t n,
                          uint64_t *lsns);

/* complete.c */
void rpmi_log_complete(struct rpmi_owner *owner, uint64_t seq, int status);
bool rpmi_log_has_completion(struct rpmi_owner *owner);
/* Entries before @seq ended with @status. */
void rpmi_log_finish(struct rpm_log *log, uint64_t seq, int status);
/* @n records of a blocking call that ended with @err were not sent. If @err leaves appends unknown,
 * these records get outcomes too. Returns @err, or RPM_E_BUSY if outcomes have no room. */
int rpmi_log_unsent(struct rpm_log *log, uint32_t n, int err);
/* Entries [@from, @to) succeeded, but their call failed: they become unknown, in front of all
 * appends that are unknown so far. */
void rpmi_log_mark_unknown(struct rpm_log *log, uint64_t from, uint64_t to);
/* Wait until all entries before @seq have ended. 0, or the error of one of them, or log->dead. */
int rpmi_log_wait(struct rpm_log *log, uint64_t seq);
/* Drop ended silent entries at the front, which frees their entries. */
void rpmi_log_reap_silent(struct rpm_log *log);
/* Hand out at most @n ready completions, oldest first. Returns their number. */
uint32_t rpmi_log_take(struct rpm_log *log, struct rpm_completion *done, uint32_t n);
/* Number of entries that are free now. */
uint32_t rpmi_log_room(const struct rpm_log *log);

/* wait.c: wait until everything submitted is at the log's level. */
int rpmi_log_flush(struct rpm_log *log);

/* trim.c: ask the server to trim to @lsn, and learn where the log durably begins. */
int rpmi_log_trim_call(struct rpm_log *log, uint64_t lsn);

/* admit.c: does a frame ending at @end_lsn fit the ring? RPM_E_FULL after asking the server. */
int rpmi_log_admit(struct rpm_log *log, uint64_t end_lsn);
/* May a record of @len bytes be appended to this log? RPM_E_INVAL, RPM_E_TOOBIG, RPM_E_DENIED, or
 * log->dead. */
int rpmi_log_check(const struct rpm_log *log, uint64_t len);

/* cold.c: trim what the segments of log->tier have. */
int rpmi_log_let_go(struct rpm_log *log);

/* usable.c: report why the log cannot be written: returns log->dead, with its error text. */
int rpmi_log_refuse(const struct rpm_log *log);
/* Returns @err. If @err ended writing, its error text says how a program continues. */
int rpmi_log_explain(const struct rpm_log *log, int err);
/* 0 if the log may be read, as a fenced writer may; else the error that forbids it. */
int rpmi_log_readable(const struct rpm_log *log);

/* head.c: read the head into log->head, or into another struct. RPM_E_CORRUPT. */
int rpmi_log_head(struct rpm_log *log);
int rpmi_log_head_now(struct rpm_log *log, struct rpmi_head *head);
/* Read the word at @offset of the log's header: the claim word or the commit word. */
int rpmi_log_header_word(struct rpm_log *log, uint64_t offset, uint64_t *word);

/* scan.c: called for each valid frame in order, pad frames too. */
typedef void rpmi_scan_fn(void *context, const struct rpmi_frame *frame);
/* From @from_lsn, the start of a frame, to the tail by log->head. RPM_E_CORRUPT: the log cannot end
 * there; @report is set in that case too. */
int rpmi_log_scan(struct rpm_log *log, uint64_t from_lsn, rpmi_scan_fn *visit, void *context,
                  struct rpmi_scan_report *report);
/* May the log end where @end says, according to log->head and the frames behind? RPM_E_CORRUPT. */
int rpmi_log_check_end(struct rpm_log *log, const struct rpmi_end *end);
/* Is there a valid frame at @lsn? 1 and @frame, 0 and @verdict, or an error. */
int rpmi_log_judge(struct rpm_log *log, uint64_t lsn, struct rpmi_frame *frame,
                   enum rpmi_verdict *verdict);
/* Can the whole @frame be in the ring under @head? A writer appends a record of a higher epoch only
 * after it has sealed that epoch in the head, and a record that ends behind trim_lsn + capacity
 * only after a trim of the head. So if the log still has @head, it is damaged or old:
 * RPM_E_CORRUPT; unless a copy into this member of a set may have left the frame (chain.h). */
int rpmi_log_check_head(struct rpm_log *log, const struct rpmi_head *head,
                        const struct rpmi_frame *frame);
/* Visit the whole frames from @lsn on, each of which begins at the end of the one before it, of any
 * epoch, while the visitor returns true. */
typedef bool rpmi_walk_fn(void *context, const struct rpmi_frame *frame);
int rpmi_log_walk(struct rpm_log *log, uint64_t lsn, rpmi_walk_fn *go_on, void *context);
/* Add every whole frame of the ring to @chains, without regard to the head. */
int rpmi_log_survey(struct rpm_log *log, const struct rpmi_known *known,
                    struct rpmi_chains *chains);
/* May a frame of this epoch be at its LSN? @prior_epoch: that of the frame in front, 0: none. */
bool rpmi_epoch_belongs(const struct rpmi_head *head, const struct rpmi_frame *frame,
                        uint32_t prior_epoch);

/* open.c: a log of a set without a claim (member.h); or, with @member NULL, as rpm_log_open(). */
struct rpmi_member;
int rpmi_log_open_as(struct rpm_conn *conn, const char *name, const struct rpm_log_opts *opts,
                     const struct rpmi_member *member, struct rpm_log **log);
/* A handle for reading, whose head was not read yet. As rpm_log_open(). */
int rpmi_log_open_without_head(struct rpm_conn *conn, const char *name, struct rpm_log **log);
/* Make the plans again, for the facts of a new link. RPM_E_NOCAP. */
int rpmi_log_replan(struct rpm_log *log);

/* recover.c: close a key of the log at the server, or both; that of a claim ends the claim. */
void rpmi_log_drop_key(struct rpm_log *log, uint32_t *key);
void rpmi_log_drop_keys(struct rpm_log *log);
/* Open the log at the server, or create it, and keep its read key, id and capacity. @member: the
 * id and set that it must have, or is created with, also with first LSN and epoch; NULL: any, or a
 * single log. */
int rpmi_log_attach(struct rpm_log *log, uint32_t create_flags, uint64_t capacity,
                    const struct rpmi_member *member);
int rpmi_log_claim(struct rpm_log *log, uint32_t call_flags); /* enum rpmi_call_flag */
/* With @epoch instead of the next one; by the token if log->epoch has that epoch. */
int rpmi_log_claim_epoch(struct rpm_log *log, uint32_t epoch, uint32_t call_flags);
/* Take over the claim that @reply grants. RPM_E_PROTO. */
int rpmi_log_take_claim(struct rpm_log *log, const struct rpmi_reply *reply);
/* Bring [@from, @to), written by any client, to the log's level. */
int rpmi_log_make_durable(struct rpm_log *log, uint32_t key, uint64_t from, uint64_t to);
/* Claim, scan, make durable, seal. @visit sees every record found. RPM_E_CORRUPT if the tail found
 * is before @least_lsn, up to which records were acknowledged as durable. */
int rpmi_log_recover(struct rpm_log *log, uint64_t least_lsn, rpmi_scan_fn *visit, void *context);
/* Ask the server to make our epoch valid from @base on. */
int rpmi_log_seal(struct rpm_log *log, uint64_t base);
/* Append at @tail, from where on our epoch is valid. */
void rpmi_log_begin(struct rpm_log *log, uint64_t tail);

/* resume.c: after a reconnect: make the plans again, open the log and read its head. */
int rpmi_log_reopen(struct rpm_log *log);

#endif
