/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair.h: repair a log that cannot be opened or read (RPM_E_CORRUPT) because its head is damaged
 * or older than its records, or because a record that was durable is damaged.
 *
 * Each record carries its LSN, its length and a checksum, so the records of a log can be found in
 * its ring without the head. A record whose checksum is right is whole; whole records, each of
 * which begins where the one before it ends, form a chain. A repair chooses the chain that is the
 * log, reports its choice and what it would lose (struct rpm_repair_report), and writes a new head
 * only if asked to.
 */
#ifndef LIBRPM_REPAIR_H
#define LIBRPM_REPAIR_H

#include <librpm/log.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rpm_repair_flag {
    RPM_REPAIR_WRITE = 1,    /* write the new head; without: only report what would be written */
    RPM_REPAIR_DISCARD = 2,  /* with WRITE: write it even if whole records are lost by that */
    RPM_REPAIR_TAKEOVER = 4, /* with WRITE: fence a connected writer instead of RPM_E_OWNED */
    RPM_REPAIR_FROM = 8      /* begin the log at from_lsn */
};

struct rpm_repair_opts {
    size_t size;       /* sizeof this struct as the caller compiled it */
    uint32_t flags;    /* enum rpm_repair_flag */
    uint64_t from_lsn; /* with FROM: start of a whole record of any chain that was not trimmed */
};

static inline struct rpm_repair_opts rpm_repair_opts_init(void)
{
    struct rpm_repair_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    return opts;
}

#define RPM_REPAIR_SLOTS 4
#define RPM_REPAIR_CHAINS 16

/* One of the four slots that hold the head of a log. Each head is stored in two of them, and the
 * next head goes to the other two. */
struct rpm_repair_slot {
    const char *wrong; /* why the slot is not valid; NULL: it is, and the other fields are set.
                          Static text: never freed */
    uint64_t turn;     /* number of the head, 1 more for each that is written; highest in force */
    uint64_t head_lsn; /* oldest record kept */
    uint64_t base_lsn; /* from here on only records of this epoch belong to the log */
    uint32_t epoch;    /* of the writer that wrote this head */
};

enum rpm_repair_fate {
    RPM_REPAIR_KEPT = 1,     /* the log is this chain or a part of it */
    RPM_REPAIR_TRIMMED = 2,  /* the log's writer trimmed it */
    RPM_REPAIR_GIVEN_UP = 3, /* left by an older writer behind the LSN from which the next writer
                                continued the log: not a part of it, and never acknowledged */
    RPM_REPAIR_LOST = 4      /* may have been a part of the log; lost if the repair is written */
};

/* Whole records, each of which begins where the one before it ends. */
struct rpm_repair_chain {
    uint64_t first_lsn;
    uint64_t end_lsn;
    uint64_t records;
    uint64_t bytes;       /* of payload */
    uint32_t epoch_first; /* of its first record */
    uint32_t epoch_last;  /* of its last record */
    uint32_t fate;        /* enum rpm_repair_fate */
};

enum rpm_repair_state {
    RPM_REPAIR_SOUND = 0,    /* the log opens, and both copies of its head are valid */
    RPM_REPAIR_SURVIVED = 1, /* the log opens from one copy of its head, the other copy is damaged;
                                the next rpm_log_open() for writing stores it again */
    RPM_REPAIR_NEEDED = 2    /* opening the log fails with RPM_E_CORRUPT, or FROM was given */
};

struct rpm_repair_report {
    size_t size;    /* sizeof this struct as the caller compiled it */
    uint32_t state; /* enum rpm_repair_state, before the repair */
    uint32_t done;  /* 1: the new head was written */
    char why[256];  /* why the state is not SOUND; else "" */
    struct rpm_repair_slot slots[RPM_REPAIR_SLOTS];
    uint64_t claim;           /* the log's claim word: highest epoch given to a writer. It is stored
                                 without a checksum */
    uint32_t chains;          /* number of chains found, at most 64 */
    uint32_t chains_reported; /* entries of chain[], in the order of their LSNs. If more were found,
                                 those that end last are reported */
    struct rpm_repair_chain chain[RPM_REPAIR_CHAINS];
    uint64_t head_lsn; /* the log as repaired: LSN of its first record, */
    uint64_t tail_lsn; /* LSN behind its last record, */
    uint64_t records;  /* number of records, */
    uint64_t bytes;    /* bytes of their payload */
    uint32_t epoch;    /* of the new head, once done; before: higher than all epochs found */
    uint64_t lost;     /* whole records that the new head would leave out; not 0: DISCARD needed */
};

static inline struct rpm_repair_report rpm_repair_report_init(void)
{
    struct rpm_repair_report report;

    memset(&report, 0, sizeof(report));
    report.size = sizeof(report);
    return report;
}

/**
 * rpm_log_repair: find the records of a log without relying on its head, report them, and if asked
 * write a new head.
 *
 * The repaired log begins at from_lsn if the caller gives one; else where the valid slots of the
 * head say, if a whole record is there; else at the first record of the chain whose last record has
 * the highest epoch, and of several such chains the one with the most records. It ends where the
 * chain ends: in front of a damaged record, whose bytes are given up; the records behind it are
 * kept only by a from_lsn among them. If the newest head is lost, records that were trimmed under
 * it may be in the log again. A log that needs no repair is not changed, so the call may be
 * repeated; a repair that was interrupted leaves a log that opens or can be repaired.
 *
 * @conn    Borrowed.
 * @name    of the log, 1..RPM_NAME_MAX bytes. Borrowed.
 * @opts    NULL: only report what would be written. Borrowed until return.
 * @report  out, set on 0 and on RPM_E_CORRUPT; in: its size field. Borrowed.
 *
 * Durable:  if the report says done, the records kept and the new head are durable, under a new
 *           epoch: older writers can add no record any more. After an error the log is unchanged,
 *           or claimed with its old head, or repaired: repeat the call.
 * Errors:   RPM_E_CORRUPT (with WRITE: whole records would be lost and DISCARD was not given; or no
 *           higher epoch or turn exists), RPM_E_OWNED (a writer is connected, or the server could
 *           not stop a fenced one), RPM_E_RANGE (no whole record that was not trimmed starts at
 *           from_lsn; or a writer trimmed the log during the call: repeat it), RPM_E_FENCED
 *           (another writer claimed the log during the call), RPM_E_NOENT, RPM_E_EXISTS (the name
 *           is of another kind of object), RPM_E_NAME, RPM_E_INVAL, RPM_E_OPTS, RPM_E_LIMIT,
 *           RPM_E_NOMEM, RPM_E_IO, RPM_E_PROTO, RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     reads the whole ring, with WRITE twice. Without WRITE the log is not claimed: if a
 *           writer appends meanwhile, parts of the report describe different moments.
 */
RPM_MUST_CHECK int rpm_log_repair(struct rpm_conn *conn, const char *name,
                                  const struct rpm_repair_opts *opts,
                                  struct rpm_repair_report *report);

#ifdef __cplusplus
}
#endif
#endif
