/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * head.c: read a log's head, which the server writes, and check that it is this log's; and words in
 * the log's header.
 *
 * Invariant: a head that was read torn is never used.
 *
 * Format: FORMAT.md, section 4.   Tests: tests/unit/log/head_test.cpp
 */
#include "log/log.h"

#include "base/assert.h"
#include "base/err.h"

#define HEAD_READS_MAX 4u

/* The server writes the slots in turn while the client reads them, so a slot may be read torn. The
 * head is damaged only if repeated reads find no valid slot. */
static int read_head(struct rpm_log *log, struct rpmi_head *head)
{
    unsigned char slots[RPMI_HEAD_SLOTS * RPMI_HEAD_SLOT_STRIDE];
    int err = 0;

    for (uint32_t i = 0; i < HEAD_READS_MAX; i++) {
        err = rpmi_conn_read(log->conn, log->read_key, 0, slots, sizeof(slots));
        if (err != 0)
            return err;
        err = rpmi_head_pick(slots, head, &log->head_lacking);
        if (err == 0)
            return 0;
    }
    return rpmi_fail(err, "log '%s' needs 'rpm-log repair': %s", log->name, rpm_last_error());
}

int rpmi_log_head_now(struct rpm_log *log, struct rpmi_head *head)
{
    struct rpmi_head found;
    int err = read_head(log, &found);

    if (err != 0)
        return err;
    RPM_ASSERT(log->capacity != 0); /* the log is open before its head is read */
    if (found.log_id != log->log_id || found.capacity_bytes != log->capacity)
        return rpmi_fail(RPM_E_CORRUPT,
                         "log '%s' needs 'rpm-log repair': its head belongs to another log",
                         log->name);
    *head = found;
    return 0;
}

int rpmi_log_head(struct rpm_log *log)
{
    return rpmi_log_head_now(log, &log->head);
}

int rpmi_log_header_word(struct rpm_log *log, uint64_t offset, uint64_t *word)
{
    unsigned char bytes[sizeof(*word)];
    int err = rpmi_conn_read(log->conn, log->read_key, offset, bytes, sizeof(bytes));

    RPM_ASSERT(rpmi_is_aligned(offset, sizeof(*word)) && offset < RPMI_LOG_HEADER_BYTES);
    if (err == 0)
        *word = rpmi_load64(bytes);
    return err;
}
