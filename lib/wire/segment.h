/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segment.h: a segment: records of a log that were copied out of the pool, as one compressed,
 * checksummed file or object. A reader needs nothing else to check it and to read it.
 *
 * Invariants
 *   a segment has every record of its log from first_lsn up to end_lsn, in order
 *   its records are frames as in the ring, whose checksums were made by their writer
 *   its name says which log and which LSNs it has, and its header says so again
 *
 * Format: FORMAT.md, section 13.   Tests: tests/unit/wire/segment_test.cpp
 */
#ifndef RPMI_SEGMENT_H
#define RPMI_SEGMENT_H

#include "base/limits.h"
#include "wire/frame.h"

#include <librpm/conn.h>
#include <stddef.h>
#include <stdint.h>

#define RPMI_SEGMENT_HEADER_BYTES 256u
/* Uncompressed frames of one segment at most: what a damaged header can make a reader allocate. */
#define RPMI_SEGMENT_RAW_MAX (128u << 20)
/* From first_lsn to end_lsn at most: a list of the segments that may have an LSN begins so far
 * before it. */
#define RPMI_SEGMENT_LSNS_MAX (128u << 20)
#define RPMI_SEGMENT_ALIGN 8u /* of frames in a segment */

enum rpmi_segment_codec { RPMI_SEGMENT_PLAIN = 0, RPMI_SEGMENT_LZ4 = 1, RPMI_SEGMENT_ZSTD = 2 };

struct rpmi_layout; /* wire/layout.h */
extern const struct rpmi_layout rpmi_segment_layout;

/* What a segment has; its name is made of these. */
struct rpmi_segment_name {
    uint64_t log_id;
    uint64_t first_lsn; /* where the segment before this one ends, or the log's head was */
    uint64_t end_lsn;   /* where the frame behind its last record begins */
};

#define RPMI_SEGMENT_FOLDER_CHARS 16u /* of the log's id in hexadecimal */
#define RPMI_SEGMENT_NAME_CHARS 37u   /* FIRST-END.seg, each of 16 hexadecimal digits */

struct rpmi_segment {
    uint64_t log_id;
    uint64_t first_lsn;
    uint64_t end_lsn;
    uint64_t last_lsn; /* of the last record, and the checksum in its frame: the log has the same */
    uint64_t last_sum; /* record there, unless it is another history of that log */
    uint32_t first_epoch;
    uint32_t last_epoch;
    uint32_t records;
    uint32_t codec; /* enum rpmi_segment_codec */
    uint64_t raw_bytes;
    uint64_t stored_bytes; /* behind the header */
    uint64_t stored_sum;   /* checksum of these */
    char log[RPM_NAME_MAX + 1];
};

void rpmi_segment_put(void *bytes, const struct rpmi_segment *segment);
/* RPM_E_FOREIGN: no segment; RPM_E_VERSION: of another version, or compressed by a codec that this
 * library does not know; RPM_E_CORRUPT: a wrong checksum, or fields out of their bounds. */
int rpmi_segment_get(const void *bytes, struct rpmi_segment *segment);

/* Folder and file of a segment; each ends with a NUL. */
void rpmi_segment_folder_put(char folder[RPMI_SEGMENT_FOLDER_CHARS + 1], uint64_t log_id);
void rpmi_segment_name_put(char file[RPMI_SEGMENT_NAME_CHARS + 1],
                           const struct rpmi_segment_name *name);
/* False: no such name, as a temporary file has. */
bool rpmi_segment_folder_get(const char *folder, uint64_t *log_id);
bool rpmi_segment_name_get(const char *file, struct rpmi_segment_name *name);

/* Bytes that a frame takes in a segment, header and payload, rounded up. */
static inline size_t rpmi_segment_frame_bytes(const struct rpmi_frame *frame)
{
    return rpmi_align_up(RPMI_FRAME_HEADER_BYTES + (uint64_t)frame->len, RPMI_SEGMENT_ALIGN);
}

/* Append a record to the @raw bytes of a segment, at @to, which has room. */
void rpmi_segment_frame_put(unsigned char *to, const struct rpmi_frame *frame, const void *payload);

/* Where a walk through the uncompressed frames of a segment is. */
struct rpmi_segment_walk {
    const struct rpmi_segment *segment;
    const unsigned char *raw; /* raw_bytes */
    uint64_t at;
    uint64_t lsn; /* the next frame begins there, or behind a pad frame that lies there */
    uint32_t records;
    uint64_t last_lsn; /* of the record returned last, and its checksum */
    uint64_t last_sum;
};

void rpmi_segment_walk_begin(struct rpmi_segment_walk *walk, const struct rpmi_segment *segment,
                             const void *raw);
/* The next record: 1, 0 at the end; RPM_E_CORRUPT: a frame is damaged or does not belong there, or
 * the segment has others than its header says. @payload lies in the raw bytes. */
int rpmi_segment_walk_next(struct rpmi_segment_walk *walk, struct rpmi_frame *frame,
                           const void **payload);

#endif
