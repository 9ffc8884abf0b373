/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.c: read one segment, and check it before any of it is used.
 *
 * Tests: tests/unit/tier/load_test.cpp
 */
#include "tier/tier.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WHY_BYTES 320
#define ADVICE                                                                                     \
    "; copy it again from a backup, or move it to another place: then readers end in front of "    \
    "its "                                                                                         \
    "records"

/* @err and its text, behind the name of the segment. */
static int name_error(const struct rpm_tier *tier, const struct rpmi_segment_name *name, int err)
{
    char folder[RPMI_SEGMENT_FOLDER_CHARS + 1];
    char file[RPMI_SEGMENT_NAME_CHARS + 1];
    char why[WHY_BYTES];

    rpmi_segment_folder_put(folder, name->log_id);
    rpmi_segment_name_put(file, name);
    (void)snprintf(why, sizeof(why), "%s", rpm_last_error());
    return rpmi_fail(err, "%s/%s/%s: %s%s", tier->cold.where, folder, file, why,
                     err == RPM_E_CORRUPT || err == RPM_E_FOREIGN ? ADVICE : "");
}

static int check_place(const struct rpmi_segment *segment, const struct rpmi_segment_name *name,
                       uint64_t bytes)
{
    if (segment->log_id != name->log_id || segment->first_lsn != name->first_lsn ||
        segment->end_lsn != name->end_lsn)
        return rpmi_fail(RPM_E_CORRUPT,
                         "its header names log %016" PRIx64 " from LSN %" PRIu64 " to %" PRIu64
                         ", which is another segment",
                         segment->log_id, segment->first_lsn, segment->end_lsn);
    if (bytes != RPMI_SEGMENT_HEADER_BYTES + segment->stored_bytes)
        return rpmi_fail(RPM_E_CORRUPT, "it has %" PRIu64 " bytes, its header says %" PRIu64, bytes,
                         RPMI_SEGMENT_HEADER_BYTES + segment->stored_bytes);
    return 0;
}

int rpmi_segment_open(const struct rpm_tier *tier, const struct rpmi_segment_name *name,
                      struct rpmi_segment *segment)
{
    struct rpmi_store *store = tier->store;
    unsigned char header[RPMI_SEGMENT_HEADER_BYTES];
    uint64_t bytes;
    int err = store->ops->bytes(store, name, &bytes);

    if (err == 0)
        err = store->ops->get(store, name, 0, header, sizeof(header));
    if (err != 0) /* names the file */
        return err;
    err = rpmi_segment_get(header, segment);
    if (err == 0)
        err = check_place(segment, name, bytes);
    return err == 0 ? 0 : name_error(tier, name, err);
}

/* Uncompress @stored, which is freed; frames that are not compressed stay where they are. */
static int unpack(const struct rpmi_segment *segment, unsigned char *stored, unsigned char **raw)
{
    unsigned char *frames;
    int err;

    if (segment->codec == RPMI_SEGMENT_PLAIN) {
        *raw = stored;
        return 0;
    }
    frames = rpmi_alloc_unset(segment->raw_bytes, 8);
    err = frames == NULL ? RPM_E_NOMEM : rpmi_codec_unpack(segment, stored, frames);
    rpmi_free(stored);
    if (err != 0)
        rpmi_free(frames);
    else
        *raw = frames;
    return err;
}

int rpmi_segment_load(const struct rpm_tier *tier, const struct rpmi_segment_name *name,
                      struct rpmi_segment *segment, unsigned char **raw)
{
    struct rpmi_store *store = tier->store;
    unsigned char *stored;
    int err = rpmi_segment_open(tier, name, segment);

    if (err != 0)
        return err;
    stored = rpmi_alloc_unset(segment->stored_bytes, 8);
    if (stored == NULL)
        return RPM_E_NOMEM;
    err = store->ops->get(store, name, RPMI_SEGMENT_HEADER_BYTES, stored, segment->stored_bytes);
    if (err != 0) { /* names the file */
        rpmi_free(stored);
        return err;
    }
    if (rpmi_sum(stored, segment->stored_bytes) != segment->stored_sum) {
        rpmi_free(stored);
        err = rpmi_fail(RPM_E_CORRUPT, "the checksum of its frames is wrong");
    } else {
        err = unpack(segment, stored, raw);
    }
    return err == 0 ? 0 : name_error(tier, name, err);
}
