/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader.h: an open reader of a log, in the log or, of records that were trimmed or are damaged
 * there, in the segments of a tier.
 *
 * Invariants
 *   next_lsn is the start of a frame, or the tail
 *   while cursor is not NULL, the record at next_lsn comes from a segment
 *
 * Tests: tests/unit/log/read_test.cpp, tests/unit/log/read_cold_test.cpp
 */
#ifndef RPMI_READER_H
#define RPMI_READER_H

#include "copy/copier.h"
#include "log/cold.h"
#include "log/log.h"

#include "base/assert.h"

#define RPMI_IDLE_READS_MAX 64u      /* reads of an unchanged tail between two reads of the head */
#define RPMI_AHEAD_FRONT (64u << 10) /* in front of a copy, for the first part of a frame */

/* read_ahead.c: the copy by which a reader has its next bytes while it returns records of the last
 * ones. */
struct rpmi_read_ahead {
    struct rpmi_copier *copier; /* NULL: the reader reads over the link */
    unsigned char *buffer;      /* as large as the reader's, which it is exchanged with; the copy is
                                   from RPMI_AHEAD_FRONT on */
    struct rpmi_copier_caps caps;
    bool wanted;         /* begin to copy what follows once a record was returned */
    uint64_t lsn;        /* of the first byte of the copy */
    uint64_t len;        /* 0: there is none, or it is not wanted any more */
    uint64_t generation; /* of the connection when it was begun */
};

struct rpm_reader {
    struct rpm_log *log;
    struct rpmi_plan persist_plan;
    struct rpmi_head head;
    unsigned char *buffer; /* holds the largest record that this log can have */
    uint64_t front;        /* bytes in front of the first one that was read */
    uint64_t buffer_room;
    uint64_t buffer_bytes;  /* read at once, unless one record is larger */
    uint64_t lsn;           /* of buffer[front] */
    uint64_t have;          /* bytes in it */
    uint64_t persisted_lsn; /* everything before is at the reader's level */
    uint64_t persist_from;  /* where the first persist begins: see read_open.c */
    uint64_t next_lsn;
    uint64_t ahead;       /* bytes to read next time */
    bool grows;           /* it doubles before: records were returned since it was used */
    uint32_t prior_epoch; /* epoch of the record returned last */
    uint64_t longest;     /* longest stride of a record returned */
    uint64_t generation;  /* log->reader_generation when head and plan were made */
    bool has_last;
    struct rpmi_frame last; /* of the record returned last */
    uint32_t tail_reads;    /* reads at the tail that found no record */
    uint64_t waiting_at;    /* next_lsn of the last such read; RPM_LSN_NONE: search at once */
    uint64_t waiting_since_ns;
    uint64_t recheck_ns; /* before it checks behind the tail again */
    uint32_t idle_reads; /* reads that found idle_line at the tail */
    unsigned char idle_line[RPMI_LINE_BYTES];
    bool misses_record;              /* RPM_E_CORRUPT: a record is damaged, and not the head */
    struct rpm_tier *tier;           /* NULL: records that were trimmed are not read */
    struct rpmi_cold_cursor *cursor; /* in its segments; NULL: in the log */
    struct rpmi_read_ahead read_ahead;
};

/* The bytes at next_lsn, if at least @need of them were read; else NULL. */
static inline const unsigned char *rpmi_reader_buffered(const struct rpm_reader *reader,
                                                        uint64_t need)
{
    if (reader->next_lsn < reader->lsn || reader->next_lsn + need > reader->lsn + reader->have)
        return NULL;
    return reader->buffer + reader->front + (reader->next_lsn - reader->lsn);
}

/* @len bytes were read from next_lsn on, to the front of the buffer. */
static inline void rpmi_reader_filled(struct rpm_reader *reader, uint64_t len)
{
    RPM_ASSERT(len > 0 && len <= reader->log->capacity);
    reader->front = 0;
    reader->lsn = reader->next_lsn;
    reader->have = len;
    reader->persisted_lsn = reader->next_lsn;
}

/* read_open.c: read the head again. RPM_E_TRIMMED: next_lsn is before it. */
int rpmi_reader_refresh(struct rpm_reader *reader);
/* Plan how records reach the reader's level. */
int rpmi_reader_plan(struct rpm_reader *reader, uint32_t level);
/* Does a record begin at next_lsn, or does the log end there? RPM_E_RANGE, RPM_E_TRIMMED. */
int rpmi_reader_check_start(struct rpm_reader *reader);

/* read_ahead.c: have the copy engine of this name read the log. */
int rpmi_read_ahead_open(struct rpm_reader *reader, const char *engine);
/* The same, by a copier that the reader owns from now on, also after an error. */
int rpmi_read_ahead_use(struct rpm_reader *reader, struct rpmi_copier *copier);
/* If the bytes at next_lsn were copied ahead, move them to the buffer. They may be older than this
 * call. */
bool rpmi_read_ahead_take(struct rpm_reader *reader);
/* Read @len bytes from next_lsn on, which do not pass the end of the ring, to the front of the
 * buffer: by the copier, or if it cannot, over the link. */
int rpmi_read_ahead_fetch(struct rpm_reader *reader, uint64_t len);
/* Begin to copy what follows the bytes in the buffer. */
void rpmi_read_ahead_begin(struct rpm_reader *reader);
/* Forget what was copied ahead. */
void rpmi_read_ahead_drop(struct rpm_reader *reader);
void rpmi_read_ahead_close(struct rpm_reader *reader);

/* read_cold.c: the log gave @err for the record at next_lsn. If it was trimmed or is damaged, go on
 * in the segments; else, or if they do not have it, return an error. */
int rpmi_reader_fall(struct rpm_reader *reader, int err);
/* The next record of the segments: 1; 0: they end, and next_lsn is in the log. */
int rpmi_reader_cold_next(struct rpm_reader *reader, struct rpm_record *record);
void rpmi_reader_cold_drop(struct rpm_reader *reader);

#endif
