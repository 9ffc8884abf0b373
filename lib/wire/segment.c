/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segment.c: header, name and frames of a segment.
 *
 * Invariants: see segment.h.
 *
 * Format: FORMAT.md, section 13.   Tests: tests/unit/wire/segment_test.cpp
 */
#include "wire/segment.h"

#include "base/err.h"
#include "base/sum.h"
#include "wire/head.h"
#include "wire/layout.h"
#include "wire/super.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC 0x014d4745534d5052ull /* "RPMSEGM", version 1 */
#define MAGIC_TEXT_BYTES 7
#define AT_SUM 248
#define HEX_DIGITS 16

_Static_assert(AT_SUM + sizeof(uint64_t) == RPMI_SEGMENT_HEADER_BYTES, "the sum ends the header");
_Static_assert(RPMI_RECORD_MAX + RPMI_FRAME_HEADER_BYTES < RPMI_SEGMENT_RAW_MAX, "a record fits");

static const struct rpmi_field FIELDS[] = {
    RPMI_OWN(0, 8, "magic"),
    RPMI_NUMBER(8, struct rpmi_segment, log_id),
    RPMI_NUMBER(16, struct rpmi_segment, first_lsn),
    RPMI_NUMBER(24, struct rpmi_segment, end_lsn),
    RPMI_NUMBER(32, struct rpmi_segment, last_lsn),
    RPMI_NUMBER(40, struct rpmi_segment, last_sum),
    RPMI_NUMBER(48, struct rpmi_segment, first_epoch),
    RPMI_NUMBER(52, struct rpmi_segment, last_epoch),
    RPMI_NUMBER(56, struct rpmi_segment, records),
    RPMI_NUMBER(60, struct rpmi_segment, codec),
    RPMI_NUMBER(64, struct rpmi_segment, raw_bytes),
    RPMI_NUMBER(72, struct rpmi_segment, stored_bytes),
    RPMI_NUMBER(80, struct rpmi_segment, stored_sum),
    RPMI_TEXT(88, struct rpmi_segment, log),
    RPMI_OWN(AT_SUM, 8, "checksum"),
};

const struct rpmi_layout rpmi_segment_layout =
    RPMI_LAYOUT("segment header", FIELDS, RPMI_SEGMENT_HEADER_BYTES);

/* Do the LSNs follow each other as those of whole frames do? */
static bool lsns_are_sound(const struct rpmi_segment *segment)
{
    return rpmi_is_aligned(segment->first_lsn | segment->last_lsn | segment->end_lsn,
                           RPMI_LINE_BYTES) &&
           segment->first_lsn <= segment->last_lsn && segment->last_lsn < segment->end_lsn &&
           segment->end_lsn < RPMI_HEAD_LIMIT &&
           segment->end_lsn - segment->first_lsn <= RPMI_SEGMENT_LSNS_MAX;
}

static bool is_sound(const struct rpmi_segment *segment)
{
    return lsns_are_sound(segment) && segment->first_epoch <= segment->last_epoch &&
           segment->records >= 1 && segment->codec <= RPMI_SEGMENT_ZSTD &&
           segment->raw_bytes <= RPMI_SEGMENT_RAW_MAX &&
           rpmi_is_aligned(segment->raw_bytes, RPMI_SEGMENT_ALIGN) &&
           segment->raw_bytes / (RPMI_FRAME_HEADER_BYTES + RPMI_SEGMENT_ALIGN) >=
               segment->records &&
           (segment->codec == RPMI_SEGMENT_PLAIN ? segment->stored_bytes == segment->raw_bytes
                                                 : segment->stored_bytes < segment->raw_bytes) &&
           segment->stored_bytes > 0;
}

void rpmi_segment_put(void *bytes, const struct rpmi_segment *segment)
{
    unsigned char *to = bytes;

    RPM_ASSERT(bytes != NULL && segment != NULL);
    RPM_ASSERT(is_sound(segment));
    rpmi_layout_put(&rpmi_segment_layout, to, segment);
    rpmi_store64(to, MAGIC);
    rpmi_store64(to + AT_SUM, rpmi_sum(to, AT_SUM));
}

int rpmi_segment_get(const void *bytes, struct rpmi_segment *segment)
{
    const unsigned char *from = bytes;
    uint64_t magic = MAGIC;
    const char *wrong;

    RPM_ASSERT(bytes != NULL && segment != NULL);
    if (rpmi_load64(from) != magic && memcmp(from, &magic, MAGIC_TEXT_BYTES) == 0)
        return rpmi_fail(RPM_E_VERSION,
                         "a segment of version %u, this library reads version 1: read it with "
                         "the librpm that wrote it",
                         from[MAGIC_TEXT_BYTES]);
    if (rpmi_load64(from) != magic)
        return rpmi_fail(RPM_E_FOREIGN,
                         "not a segment of a log: the magic is %016" PRIx64
                         ", expected is %016" PRIx64,
                         rpmi_load64(from), magic);
    if (rpmi_load64(from + AT_SUM) != rpmi_sum(from, AT_SUM))
        return rpmi_fail(RPM_E_CORRUPT, "header of a segment: a wrong checksum");
    wrong = rpmi_layout_get(&rpmi_segment_layout, from, segment);
    if (wrong == NULL && segment->codec > RPMI_SEGMENT_ZSTD)
        return rpmi_fail(RPM_E_VERSION,
                         "a segment by codec %u, this library knows 0 to %u: read it with the "
                         "librpm that wrote it",
                         segment->codec, RPMI_SEGMENT_ZSTD);
    if (wrong == NULL && !is_sound(segment))
        wrong = "fields out of their bounds";
    if (wrong == NULL && rpmi_name_check(segment->log) != 0)
        wrong = "a name that no log has";
    return wrong == NULL ? 0 : rpmi_fail(RPM_E_CORRUPT, "header of a segment: %s", wrong);
}

/* 16 hexadecimal digits in lower case, as only they are written. */
static bool hex_get(const char *text, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < HEX_DIGITS; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';

        if (!digit && (text[i] < 'a' || text[i] > 'f'))
            return false;
        *value = *value << 4 | (uint64_t)(digit ? text[i] - '0' : text[i] - 'a' + 10);
    }
    return true;
}

void rpmi_segment_folder_put(char folder[RPMI_SEGMENT_FOLDER_CHARS + 1], uint64_t log_id)
{
    (void)snprintf(folder, RPMI_SEGMENT_FOLDER_CHARS + 1, "%016" PRIx64, log_id);
}

void rpmi_segment_name_put(char file[RPMI_SEGMENT_NAME_CHARS + 1],
                           const struct rpmi_segment_name *name)
{
    (void)snprintf(file, RPMI_SEGMENT_NAME_CHARS + 1, "%016" PRIx64 "-%016" PRIx64 ".seg",
                   name->first_lsn, name->end_lsn);
}

bool rpmi_segment_folder_get(const char *folder, uint64_t *log_id)
{
    return strlen(folder) == RPMI_SEGMENT_FOLDER_CHARS && hex_get(folder, log_id);
}

bool rpmi_segment_name_get(const char *file, struct rpmi_segment_name *name)
{
    return strlen(file) == RPMI_SEGMENT_NAME_CHARS && hex_get(file, &name->first_lsn) &&
           file[HEX_DIGITS] == '-' && hex_get(file + HEX_DIGITS + 1, &name->end_lsn) &&
           strcmp(file + 2 * HEX_DIGITS + 1, ".seg") == 0 && name->first_lsn < name->end_lsn;
}

void rpmi_segment_frame_put(unsigned char *to, const struct rpmi_frame *frame, const void *payload)
{
    size_t used = RPMI_FRAME_HEADER_BYTES + (size_t)frame->len;

    RPM_ASSERT((frame->flags & RPMI_FRAME_PAD) == 0);
    rpmi_store64(to, frame->lsn);
    rpmi_store64(to + 8, rpmi_frame_word(frame));
    rpmi_store64(to + 16, frame->sum);
    memcpy(to + RPMI_FRAME_HEADER_BYTES, payload, frame->len);
    memset(to + used, 0, rpmi_segment_frame_bytes(frame) - used);
}

void rpmi_segment_walk_begin(struct rpmi_segment_walk *walk, const struct rpmi_segment *segment,
                             const void *raw)
{
    *walk = (struct rpmi_segment_walk){ .segment = segment, .raw = raw, .lsn = segment->first_lsn };
}

static int damaged(const struct rpmi_segment_walk *walk, const char *what)
{
    return rpmi_fail(RPM_E_CORRUPT,
                     "segment of log '%s' from LSN %" PRIu64 " to %" PRIu64 ": at byte %" PRIu64
                     " of its frames %s",
                     walk->segment->log, walk->segment->first_lsn, walk->segment->end_lsn, walk->at,
                     what);
}

/* All frames were walked: are they those of the header? */
static int check_end(const struct rpmi_segment_walk *walk)
{
    const struct rpmi_segment *segment = walk->segment;

    if (walk->lsn != segment->end_lsn || walk->records != segment->records ||
        walk->last_lsn != segment->last_lsn || walk->last_sum != segment->last_sum)
        return damaged(walk, "the frames end, and the header names another last record");
    return 0;
}

int rpmi_segment_walk_next(struct rpmi_segment_walk *walk, struct rpmi_frame *frame,
                           const void **payload)
{
    const struct rpmi_segment *segment = walk->segment;
    const unsigned char *at = walk->raw + walk->at;
    uint64_t left = segment->raw_bytes - walk->at;
    uint64_t lsn;

    if (left == 0)
        return check_end(walk);
    if (left < RPMI_FRAME_HEADER_BYTES)
        return damaged(walk, "a frame is cut off");
    lsn = rpmi_load64(at);
    if (!rpmi_is_aligned(lsn, RPMI_LINE_BYTES) || lsn < walk->lsn || lsn >= segment->end_lsn)
        return damaged(walk, "a frame has an LSN that does not follow");
    /* In the ring, a frame ends within the segment's LSNs. */
    if (rpmi_frame_get(at, lsn, segment->end_lsn - lsn, frame) != RPMI_FRAME_VALID ||
        (frame->flags & RPMI_FRAME_PAD) != 0 || rpmi_segment_frame_bytes(frame) > left ||
        frame->epoch < segment->first_epoch || frame->epoch > segment->last_epoch)
        return damaged(walk, "the header of a frame is invalid");
    if (rpmi_frame_check(frame, segment->log_id, at + RPMI_FRAME_HEADER_BYTES) != RPMI_FRAME_VALID)
        return damaged(walk, "a frame has a wrong checksum");
    walk->at += rpmi_segment_frame_bytes(frame);
    walk->lsn = lsn + rpmi_frame_stride(frame->len, frame->flags);
    walk->records++;
    walk->last_lsn = lsn;
    walk->last_sum = frame->sum;
    *payload = at + RPMI_FRAME_HEADER_BYTES;
    return 1;
}
