/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * invariants.c: the invariants of log.h, as code. Each function that changes the state of a log
 * asserts them in the testing library, so every test, power cut and random world checks them.
 *
 * Tests: tests/unit/log/invariants_test.cpp
 */
#include "log/log.h"

#include "base/assert.h"

static void check_order(const struct rpm_log *log)
{
    RPM_ASSERT(log->free_lsn <= log->tail_lsn);
    RPM_ASSERT(log->acked_lsn <= log->sealed_lsn);
    RPM_ASSERT(log->sealed_lsn <= log->tail_lsn);
    RPM_ASSERT(log->tail_lsn - log->free_lsn <= log->capacity);
    RPM_ASSERT(rpmi_is_aligned(log->free_lsn, RPMI_LINE_BYTES));
    RPM_ASSERT(rpmi_is_aligned(log->tail_lsn, RPMI_LINE_BYTES));
    RPM_ASSERT(log->position == log->tail_lsn % log->capacity);
}

static void check_entries(const struct rpm_log *log)
{
    uint64_t before = log->acked_lsn;

    RPM_ASSERT(log->reaped <= log->completed);
    RPM_ASSERT(log->completed <= log->submitted);
    RPM_ASSERT(log->submitted + log->pending - log->reaped <= log->inflight_max);
    RPM_ASSERT(log->unknown_count <= log->inflight_max);
    RPM_ASSERT(log->dead == 0 || (log->completed == log->submitted && log->pending == 0));
    RPM_ASSERT(log->sealed_seq_prior <= log->sealed_seq);
    RPM_ASSERT(log->sealed_seq <= log->submitted);
    if (log->dead != 0)
        return;
    for (uint64_t seq = log->completed; seq < log->submitted + log->pending; seq++) {
        const struct rpmi_entry *entry = &log->entries[seq & log->entries_mask];

        RPM_ASSERT(entry->lsn >= before);
        RPM_ASSERT(entry->end_lsn > entry->lsn);
        RPM_ASSERT(entry->stage_end >= log->outbox.head);
        before = entry->end_lsn;
    }
    RPM_ASSERT(before == log->tail_lsn);
}

static void check_group(const struct rpm_log *log)
{
    RPM_ASSERT(log->outbox.head <= log->outbox.tail);
    RPM_ASSERT(log->outbox.tail - log->outbox.head <= log->outbox.bytes);
    RPM_ASSERT(log->ops_count <= RPMI_BATCH_OPS_MAX);
    RPM_ASSERT(log->pending <= log->ops_count);
    RPM_ASSERT(log->pending == 0 || log->sealed_lsn < log->tail_lsn);
    RPM_ASSERT(log->pending == 0 || log->pending_stage <= log->outbox.tail);
    RPM_ASSERT(log->owner.holds == (log->waiting > 0));
    RPM_ASSERT(log->waiting == 0 || (log->dead == 0 && log->sealed_lsn < log->tail_lsn));
    RPM_ASSERT(log->reserved == 0 || log->reserved_data != NULL);
}

bool rpmi_log_check_invariants(const struct rpm_log *log)
{
    RPM_ASSERT(log->capacity > 0 && rpmi_is_aligned(log->capacity, RPMI_LINE_BYTES));
    RPM_ASSERT(log->record_max <= rpmi_ring_record_max(log->capacity));
    if (log->write_key == 0)
        return true; /* a reader keeps no queue */
    RPM_ASSERT(log->epoch > 0);
    RPM_ASSERT(log->entries != NULL && log->ops != NULL && log->headers != NULL);
    check_order(log);
    check_entries(log);
    check_group(log);
    return true;
}
