/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seal.c: seals and trims of a log: the calls that change its head.
 *
 * A SEAL says in the head that from the tail on only frames of the claim's epoch are valid. So a
 * frame that an older writer left behind the tail, whole or torn, can never become valid again.
 *
 * Invariants
 *   a claim is sealed once
 *   trim_lsn never decreases
 *   the commit word is at most the base of a sealed head, until the writer of that epoch raises it
 *
 * Format: FORMAT.md, section 4.   Tests: tests/unit/pool/seal_test.cpp
 */
#include "pool/state.h"

#include "base/bytes.h"
#include "base/err.h"
#include "wire/guard.h"

#include <inttypes.h>

/* The commit word of an earlier writer may be above the LSN where the new epoch begins, if records
 * were given up. Lower it before the head changes: else readers would take records of the new epoch
 * for committed ones. If persisting it failed, the medium may still have the higher word. */
static int lower_commit(struct rpmi_service *service, struct rpmi_object *log, uint64_t base_lsn)
{
    uint64_t at = log->entry.offset + RPMI_COMMIT_OFFSET;
    int err;

    RPM_ASSERT(log->entry.kind == RPM_KIND_LOG && rpmi_is_aligned(base_lsn, RPMI_LINE_BYTES));
    if (rpmi_word_load(service, at) > base_lsn)
        rpmi_word_store(service, at, base_lsn);
    else if (!log->commit_unpersisted)
        return 0;
    err = rpmi_mem_persist(service->opts.pool, at, sizeof(uint64_t));
    log->commit_unpersisted = err != 0;
    return err;
}

/* Persist the records that a repaired log keeps, because later records depend on them. */
static int persist_kept(struct rpmi_service *service, const struct rpmi_dirent *entry,
                        const struct rpmi_head *head)
{
    uint64_t ring = entry->offset + RPMI_LOG_HEADER_BYTES;
    uint64_t bytes = head->base_lsn - head->trim_lsn;
    uint64_t at = head->trim_lsn % head->capacity_bytes;
    uint64_t first = bytes < head->capacity_bytes - at ? bytes : head->capacity_bytes - at;
    int err;

    RPM_ASSERT(head->trim_lsn <= head->base_lsn && bytes <= head->capacity_bytes);
    RPM_ASSERT(rpmi_is_aligned(at, RPMI_LINE_BYTES));
    err = first == 0 ? 0 : rpmi_mem_persist(service->opts.pool, ring + at, first);
    if (err == 0 && bytes > first)
        err = rpmi_mem_persist(service->opts.pool, ring, bytes - first);
    return err;
}

/* Give the log the bounds that the claiming client found, in all four slots: two heads that differ
 * only in their turns, which are above that of any valid slot. The first is stored in the slots of
 * the older head, so that a log whose repair was interrupted can be opened, or repaired again. */
static int rebuild(struct rpmi_service *service, struct rpmi_object *log,
                   const struct rpmi_call *call, struct rpmi_reply *reply)
{
    struct rpmi_head head = {
        .log_id = log->entry.id,
        .capacity_bytes = log->entry.bytes - RPMI_LOG_HEADER_BYTES,
        .trim_lsn = call->bytes,
        .base_lsn = call->lsn,
        .epoch = log->epoch,
        .flags = RPMI_HEAD_DURABLE, /* by persist_kept() */
        .life = service->life,
    };
    struct rpmi_head_found found[RPMI_HEAD_SLOTS];
    uint32_t best = rpmi_head_check(service, log, found);
    int err;

    RPM_ASSERT(log->writer != 0 && !log->sealed);
    head.turn = best < RPMI_HEAD_SLOTS ? found[best].head.turn : 0;
    if (best < RPMI_HEAD_SLOTS)
        head.set = found[best].head.set;
    for (uint32_t i = 0; i < RPMI_HEAD_SLOTS; i++)
        if (found[i].wrong == NULL && found[i].head.trim_lsn > head.trim_lsn)
            return rpmi_fail(RPM_E_RANGE,
                             "log '%s' was trimmed to %" PRIu64 ": it cannot begin at %" PRIu64
                             "; name a later record",
                             log->entry.name, found[i].head.trim_lsn, head.trim_lsn);
    if (!rpmi_is_aligned(head.trim_lsn, RPMI_LINE_BYTES) ||
        !rpmi_is_aligned(head.base_lsn, RPMI_LINE_BYTES) || !rpmi_head_in_limits(&head) ||
        head.trim_lsn > head.base_lsn || head.base_lsn - head.trim_lsn > head.capacity_bytes)
        return rpmi_fail(RPM_E_RANGE,
                         "log '%s' cannot hold LSNs %" PRIu64 " to %" PRIu64 " in %" PRIu64
                         " bytes",
                         log->entry.name, head.trim_lsn, head.base_lsn, head.capacity_bytes);
    err = rpmi_head_settle(service, log);
    if (err == 0)
        err = persist_kept(service, &log->entry, &head);
    if (err == 0)
        err = lower_commit(service, log, head.base_lsn);
    for (uint32_t i = 0; i < RPMI_HEAD_SLOTS / RPMI_HEAD_COPIES && err == 0; i++)
        err = rpmi_head_replace(service, log, &head);
    log->trim_lsn = head.trim_lsn;
    log->sealed = err == 0;
    reply->value = head.trim_lsn;
    return err;
}

static int seal(struct rpmi_service *service, struct rpmi_client *client,
                const struct rpmi_call *call, struct rpmi_reply *reply)
{
    struct rpmi_object *log;
    struct rpmi_head head;
    int err = rpmi_key_object(service, client, call->key, RPMI_RIGHT_READ | RPMI_RIGHT_WRITE, &log);

    if (err != 0)
        return err;
    if (log->entry.kind != RPM_KIND_LOG || log->writer != client->id || log->sealed)
        return rpmi_fail(
            RPM_E_DENIED,
            "'%s' is not a log that client %u has claimed and not sealed; claim it first",
            log->entry.name, client->id);
    RPM_ASSERT(log->epoch != 0);
    if ((call->flags & RPMI_CALL_REPAIR) != 0)
        return rebuild(service, log, call, reply);
    err = rpmi_head_load(service, log, &head);
    if (err != 0)
        return err;
    if (!rpmi_is_aligned(call->lsn, RPMI_LINE_BYTES) || call->lsn < head.trim_lsn ||
        call->lsn - head.trim_lsn > head.capacity_bytes)
        return rpmi_fail(RPM_E_RANGE,
                         "%" PRIu64
                         " is no tail of log '%s'; a tail is a multiple of %u, from %" PRIu64
                         " to %" PRIu64,
                         call->lsn, log->entry.name, RPMI_LINE_BYTES, head.trim_lsn,
                         head.trim_lsn + head.capacity_bytes);
    head.base_lsn = call->lsn;
    head.epoch = log->epoch;
    head.flags = (call->flags & RPMI_CALL_DURABLE) != 0 ? RPMI_HEAD_DURABLE : 0;
    head.life = service->life;
    err = lower_commit(service, log, head.base_lsn);
    if (err == 0)
        err = rpmi_head_replace(service, log, &head);
    log->trim_lsn = head.trim_lsn;
    log->sealed = err == 0;
    reply->value = head.trim_lsn;
    return err;
}

static int trim(struct rpmi_service *service, struct rpmi_client *client,
                const struct rpmi_call *call, struct rpmi_reply *reply)
{
    struct rpmi_object *log;
    struct rpmi_head head = { 0 };
    uint64_t most;
    int err = rpmi_key_object(service, client, call->key, RPMI_RIGHT_READ, &log);

    if (err != 0)
        return err;
    if (log->entry.kind != RPM_KIND_LOG)
        return rpmi_fail(RPM_E_DENIED, "'%s' is not a log; only a log can be trimmed",
                         log->entry.name);
    err = rpmi_head_load(service, log, &head);
    reply->value = head.trim_lsn;
    if (err != 0 || call->lsn <= head.trim_lsn)
        return err;
    /* What follows is the holder's to copy: no record of its epoch is valid before its seal. */
    most = log->writer == client->id && !log->sealed ? RPMI_HEAD_LIMIT - RPMI_LINE_BYTES
                                                     : head.trim_lsn + head.capacity_bytes;
    if (!rpmi_is_aligned(call->lsn, RPMI_LINE_BYTES) || call->lsn > most)
        return rpmi_fail(RPM_E_RANGE,
                         "log '%s' cannot be trimmed to %" PRIu64
                         "; trim to a multiple of %u, at most %" PRIu64,
                         log->entry.name, call->lsn, RPMI_LINE_BYTES, most);
    RPM_ASSERT(call->lsn > head.trim_lsn && call->lsn < RPMI_HEAD_LIMIT + head.capacity_bytes);
    head.trim_lsn = call->lsn;
    log->trim_lsn = call->lsn; /* an agent carries nothing there any more, whatever comes of it */
    reply->value = head.trim_lsn;
    return rpmi_head_replace(service, log, &head);
}

void rpmi_seal(struct rpmi_service *service, struct rpmi_client *client,
               const struct rpmi_call *call, struct rpmi_reply *reply)
{
    reply->status = seal(service, client, call, reply);
}

void rpmi_trim(struct rpmi_service *service, struct rpmi_client *client,
               const struct rpmi_call *call, struct rpmi_reply *reply)
{
    reply->status = trim(service, client, call, reply);
}
