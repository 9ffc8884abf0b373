/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h: where segments are kept: the table of a backend. A backend moves whole files; what is in
 * them is segment.h's.
 *
 * Threads: one per store.   Tests: tests/unit/tier/folder_test.cpp
 */
#ifndef RPMI_STORE_H
#define RPMI_STORE_H

#include "wire/segment.h"

#include <stddef.h>
#include <stdint.h>

struct rpmi_store;

typedef int rpmi_log_visit(void *context, uint64_t log_id);
typedef int rpmi_segment_visit(void *context, const struct rpmi_segment_name *name);

struct rpmi_store_ops {
    /* Visit each log that has a folder, in any order, until a visitor returns an error, which is
     * returned. */
    int (*logs)(struct rpmi_store *store, rpmi_log_visit *visit, void *context);
    /* Visit each segment of a log that begins at @from_lsn or later, and perhaps earlier ones, in
     * the same way. A log without a folder has none. */
    int (*segments)(struct rpmi_store *store, uint64_t log_id, uint64_t from_lsn,
                    rpmi_segment_visit *visit, void *context);

    /* Bytes of a segment's file; RPM_E_NOENT. */
    int (*bytes)(struct rpmi_store *store, const struct rpmi_segment_name *name, uint64_t *bytes);
    /* Read exactly [@offset, @offset + @len). RPM_E_NOENT, RPM_E_CORRUPT (it is shorter), RPM_E_IO.
     */
    int (*get)(struct rpmi_store *store, const struct rpmi_segment_name *name, uint64_t offset,
               void *into, size_t len);
    /* Store a whole segment. On 0 it survives a loss of power, and was read back. RPM_E_EXISTS:
     * another archiver has stored one of that name, which survives a loss of power and was not
     * changed. RPM_E_NOSPACE, RPM_E_DENIED, RPM_E_IO: there may be one of that name, which then is
     * whole. */
    int (*put)(struct rpmi_store *store, const struct rpmi_segment_name *name, const void *bytes,
               size_t len);
    /* Make sure that the segments of a log which were visited survive a loss of power: another
     * process may have stored one just now, and its put() may not have returned. */
    int (*settle)(struct rpmi_store *store, uint64_t log_id);
    /* On 0 it stays removed after a loss of power. RPM_E_NOENT, unless the store does not tell. */
    int (*remove)(struct rpmi_store *store, const struct rpmi_segment_name *name);

    void (*close)(struct rpmi_store *store);
};

struct rpmi_store {
    const struct rpmi_store_ops *ops;
    /* A segment can be listed before put() has read it back: who is to rely on one reads it. */
    bool named_early;
};

/* folder.c: a folder of a file system. RPM_E_NOENT, RPM_E_DENIED, RPM_E_IO, RPM_E_NOMEM. */
int rpmi_folder_open(const char *path, struct rpmi_store **store);

#endif
