/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * member.h: a log as a member of a set of copies: what rpm_log_open() does at once, step by step,
 * with the id, first LSN and epoch that all members have; and the commit word.
 *
 * To write: open, claim, then rpmi_log_scan() and whatever makes the copies equal, such as a trim,
 * seal, append.
 * After a loss of the connection: attach, claim the same epoch, seal (which only continues if the
 * epoch was sealed before).
 *
 * Invariants
 *   until its seal the handle only reads: log->dead is RPM_E_FENCED
 *   a writer gives each LSN of an epoch to the same bytes on all members
 *
 * Format: FORMAT.md, sections 4 and 7.
 * Tests: tests/unit/log/member_test.cpp, tests/conform/member_test.cpp, tests/crash/
 */
#ifndef RPMI_LOG_MEMBER_H
#define RPMI_LOG_MEMBER_H

#include "log/log.h"

struct rpmi_member {
    uint64_t log_id;    /* the same for all members, not 0 */
    uint64_t first_lsn; /* where the log begins if it is created */
    uint32_t epoch;     /* its claim word if it is created; 0: none */
    struct rpmi_membership set;
};

/*
 * Open a member for writing, without a claim; with RPM_LOG_CREATE it may be created. log->lasts
 * says which parts of the life in its head last. Errors as rpm_log_open(); RPM_E_EXISTS: the log
 * has another id or set, or another log of that pool has this id; RPM_E_RANGE: no LSN or set.
 */
int rpmi_member_open(struct rpm_conn *conn, const char *name, const struct rpm_log_opts *opts,
                     const struct rpmi_member *member, struct rpm_log **log);

/* After rpm_conn_reconnect(): open it again. RPM_E_LOST, RPM_E_NOENT, RPM_E_CORRUPT (the head is an
 * older one than this writer's), RPM_E_NOCAP. */
int rpmi_member_attach(struct rpm_log *log);

/*
 * Claim it with @epoch: by the token of that epoch's creation or claim if this handle has it, else
 * the epoch must be above that of each claim before. @flags: RPMI_CALL_TAKEOVER or 0. A claim that
 * this handle holds ends first. RPM_E_FENCED; RPM_E_RANGE; RPM_E_OWNED: claim it again, with this
 * epoch; if an older direct writer did not stop in time, its claim has ended all the same, and this
 * epoch is refused with RPM_E_FENCED once the server was restarted (FORMAT.md, section 7).
 */
int rpmi_member_claim(struct rpm_log *log, uint32_t epoch, uint32_t flags);

/*
 * Before the seal: let the log begin at @lsn, durably, however far that is from its records, which
 * need not reach up to there: a copy that fell behind continues where the others begin. A lower
 * @lsn than the log's changes nothing. If the head has the claim's epoch already, at most a ring
 * further. RPM_E_RANGE, RPM_E_FENCED, RPM_E_CORRUPT, RPM_E_LOST.
 */
int rpmi_member_trim(struct rpm_log *log, uint64_t lsn);

/* Bring everything in front of @base to the log's level, make the claim's epoch valid from @base
 * on, durably, and append there from now on; if the head has that epoch already, do not seal it
 * again: then @base is where the last frame of this writer ends. RPM_E_RANGE (@base), RPM_E_FENCED,
 * RPM_E_DENIED, RPM_E_CORRUPT, RPM_E_LOST. */
int rpmi_member_seal(struct rpm_log *log, uint64_t base);

/* Its two steps, for a writer that seals no member before all are at the level: bring everything in
 * front of @base to the log's level, RPM_E_RANGE; then the rest. */
int rpmi_member_harden(struct rpm_log *log, uint64_t base);
int rpmi_member_seal_hardened(struct rpm_log *log, uint64_t base);

/*
 * Before the seal: store at @lsn the first @len bytes of log->conn->bounce, which are of frames of
 * another member. They do not wrap around the end of the ring. When it returns they are visible,
 * not durable. RPM_E_FENCED, RPM_E_LOST.
 */
int rpmi_member_store(struct rpm_log *log, uint64_t lsn, uint64_t len);

/* The highest epoch of a claim of the log, by any writer. RPM_E_CORRUPT: the word is none. */
int rpmi_member_claimed(struct rpm_log *log, uint32_t *epoch);

/* Say that all records below @lsn are committed: visible to readers when it returns, not durable.
 * RPM_E_FENCED, RPM_E_LOST. */
int rpmi_member_commit(struct rpm_log *log, uint64_t lsn);

/* The commit word, as it is visible now. */
int rpmi_member_committed(struct rpm_log *log, uint64_t *lsn);

#endif
