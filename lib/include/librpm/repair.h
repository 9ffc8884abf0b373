/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair.h: the way back to a log that RPM_E_CORRUPT keeps from being opened, because its head is
 * damaged or older than its records.
 *
 * The records certify themselves, so a log can be found in its ring without its head: whole
 * records, each at the end of the one before it, make a chain. What a repair takes as true, and
 * what it leaves out, it says before it does anything: see struct rpm_repair_report.
 */
#ifndef LIBRPM_REPAIR_H
#define LIBRPM_REPAIR_H

#include <librpm/log.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rpm_repair_flag {
    RPM_REPAIR_WRITE = 1,    /* carry it out; without: only say what would be done */
    RPM_REPAIR_DISCARD = 2,  /* with WRITE: also where whole records get out of reach */
    RPM_REPAIR_TAKEOVER = 4, /* with WRITE: fence a living writer instead of RPM_E_OWNED */
    RPM_REPAIR_FROM = 8      /* begin the log at from_lsn */
};

struct rpm_repair_opts {
    size_t size;       /* sizeof this struct as the caller compiled it */
    uint32_t flags;    /* enum rpm_repair_flag */
    uint64_t from_lsn; /* with FROM: start of a record, of any chain that is not trimmed */
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

/* One of the places where the head of a log is stored; each head is in two of them. */
struct rpm_repair_slot {
    const char *wrong; /* what is wrong with it; NULL: valid, and what follows is set. Static */
    uint64_t turn;     /* counts the writes of the head: the highest is in force */
    uint64_t head_lsn; /* oldest record kept */
    uint64_t base_lsn; /* from here on only records of this epoch count */
    uint32_t epoch;
};

enum rpm_repair_fate {
    RPM_REPAIR_KEPT = 1,     /* is the log, or has it in it */
    RPM_REPAIR_TRIMMED = 2,  /* was trimmed */
    RPM_REPAIR_GIVEN_UP = 3, /* was left behind by a writer that was cut off, and never counted */
    RPM_REPAIR_LOST = 4      /* may have been a part of the log, and would be out of reach */
};

/* Whole records, each at the end of the one before it. */
struct rpm_repair_chain {
    uint64_t first_lsn;
    uint64_t end_lsn;
    uint64_t records;
    uint64_t bytes;       /* of payload */
    uint32_t epoch_first; /* of the first record */
    uint32_t epoch_last;
    uint32_t fate; /* enum rpm_repair_fate */
};

enum rpm_repair_state {
    RPM_REPAIR_SOUND = 0,    /* the log opens, and no copy of its head is damaged */
    RPM_REPAIR_SURVIVED = 1, /* it opens by the other copy of its head; the next writer mends it */
    RPM_REPAIR_NEEDED = 2    /* RPM_E_CORRUPT, or the caller wants another beginning */
};

struct rpm_repair_report {
    size_t size;    /* sizeof this struct as the caller compiled it */
    uint32_t state; /* enum rpm_repair_state, before anything was done */
    uint32_t done;  /* 1: the repair was carried out */
    char why[256];  /* of a state that is not SOUND */
    struct rpm_repair_slot slots[RPM_REPAIR_SLOTS];
    uint64_t claim;  /* highest epoch handed out, as it is stored, without a checksum */
    uint32_t chains; /* how many were found, at most 64 */
    uint32_t
        chains_reported; /* of these, in the order of their LSNs, the last ones first left out */
    struct rpm_repair_chain chain[RPM_REPAIR_CHAINS];
    uint64_t head_lsn; /* what the log is taken to be: its bounds, */
    uint64_t tail_lsn;
    uint64_t records; /* its records, */
    uint64_t bytes;   /* and their payload */
    uint32_t epoch;   /* above all that were met; once done, the one in force */
    uint64_t lost;    /* whole records that would be out of reach: DISCARD is needed */
};

static inline struct rpm_repair_report rpm_repair_report_init(void)
{
    struct rpm_repair_report report;

    memset(&report, 0, sizeof(report));
    report.size = sizeof(report);
    return report;
}

/**
 * rpm_log_repair: find a log in its ring, say what was found, and if asked write its head anew.
 *
 * The log begins where the valid slots of its head say, if a record is there; else at the beginning
 * of the chain with the newest writer's records, of several the one with the most; or where the
 * caller says. It ends where the chain does. Where the head in force is lost and an older one is
 * taken, or none, records that were trimmed since may be in the log again. A log that needs no
 * repair is left alone, so a repair may be repeated; one that was cut off leaves a log that opens,
 * or can be repaired.
 *
 * @conn    Borrowed.
 * @name    of the log, 1..RPM_NAME_MAX bytes. Borrowed.
 * @opts    NULL: say what would be done. Borrowed until return.
 * @report  out, set on 0 and on RPM_E_CORRUPT; in: its size field. Borrowed.
 *
 * Durable:  if the report says done, the records kept and the new head, under a new epoch: an older
 *           writer can add nothing any more. After an error the log is as it was, or merely
 *           claimed, or repaired in part: repeat the call.
 * Errors:   RPM_E_CORRUPT (with WRITE: whole records would be out of reach, and DISCARD was not
 *           given; epochs or turns are used up), RPM_E_OWNED (a writer lives, or a fenced one would
 *           not stop), RPM_E_RANGE (no record that is kept starts at from_lsn; or the log was
 *           trimmed meanwhile: repeat the call), RPM_E_FENCED, RPM_E_NOENT, RPM_E_EXISTS (it is no
 *           log), RPM_E_NAME, RPM_E_INVAL, RPM_E_OPTS, RPM_E_LIMIT, RPM_E_NOMEM, RPM_E_IO,
 *           RPM_E_PROTO, RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     reads the whole ring, with WRITE twice; while a writer appends, what it says without
 *           WRITE is of no one moment.
 */
RPM_MUST_CHECK int rpm_log_repair(struct rpm_conn *conn, const char *name,
                                  const struct rpm_repair_opts *opts,
                                  struct rpm_repair_report *report);

#ifdef __cplusplus
}
#endif
#endif
