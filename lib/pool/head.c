/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * head.c: the heads of logs in the pool: read, store and replace them.
 *
 * Invariant: a head is stored in two slots, while both slots of the head before it are whole.
 *
 * Format: FORMAT.md, section 4.   Tests: tests/unit/pool/head_test.cpp, tests/crash/
 */
#include "pool/state.h"

#include "base/bytes.h"
#include "base/canary.h"
#include "base/diag.h"
#include "base/err.h"

#include <inttypes.h>

static uint64_t slot_offset(const struct rpmi_dirent *entry, uint32_t slot)
{
    RPM_ASSERT(slot < RPMI_HEAD_SLOTS);
    return entry->offset + (uint64_t)slot * RPMI_HEAD_SLOT_STRIDE;
}

/* Store both copies of a head, then persist them together: a power cut may tear both, but then the
 * head before this one is whole. */
static int head_store(struct rpmi_service *service, const struct rpmi_dirent *entry,
                      const struct rpmi_head *head)
{
    uint64_t first = slot_offset(entry, rpmi_head_slot(head->turn, 0));
    uint64_t last = slot_offset(entry, rpmi_head_slot(head->turn, RPMI_HEAD_COPIES - 1));
    unsigned char bytes[RPMI_HEAD_BYTES];

    RPM_ASSERT(first < last); /* one persist covers both copies */
    RPM_ASSERT(head->log_id == entry->id);
    RPM_ASSERT(head->capacity_bytes == entry->bytes - RPMI_LOG_HEADER_BYTES);
    rpmi_head_put(bytes, head);
    rpmi_mem_store(service->opts.pool, first, bytes, sizeof(bytes));
    if (!RPMI_CANARY(ONE_HEAD))
        rpmi_mem_store(service->opts.pool, last, bytes, sizeof(bytes));
    return rpmi_mem_persist(service->opts.pool, first, last + sizeof(bytes) - first);
}

/* One copy of the newest head is damaged, or was torn by a power cut. Store it again before the
 * next head is written to the other slots. */
static int head_restore_copy(struct rpmi_service *service, struct rpmi_object *log,
                             const struct rpmi_head *head, uint32_t lacking)
{
    int err = 0;

    RPM_ASSERT(!log->head_unpersisted); /* the head that is copied is durable */
    RPM_ASSERT(lacking != 0 && lacking < 1u << RPMI_HEAD_SLOTS);
    for (uint32_t slot = 0; slot < RPMI_HEAD_SLOTS && err == 0; slot++) {
        uint64_t at = slot_offset(&log->entry, slot);
        unsigned char bytes[RPMI_HEAD_BYTES];

        if ((lacking & 1u << slot) == 0)
            continue;
        rpmi_head_put(bytes, head);
        rpmi_mem_store(service->opts.pool, at, bytes, sizeof(bytes));
        err = rpmi_mem_persist(service->opts.pool, at, sizeof(bytes));
        rpmi_diag(RPM_DIAG_WARNING,
                  "log %s: head slot %u was damaged or torn; stored again from its copy",
                  log->entry.name, slot);
    }
    log->head_unpersisted = err != 0;
    return err;
}

int rpmi_head_settle(struct rpmi_service *service, struct rpmi_object *log)
{
    int err;

    RPM_ASSERT(log->used && log->entry.kind == RPM_KIND_LOG);
    if (!log->head_unpersisted)
        return 0;
    err = rpmi_mem_persist(service->opts.pool, log->entry.offset,
                           (uint64_t)RPMI_HEAD_SLOTS * RPMI_HEAD_SLOT_STRIDE);
    log->head_unpersisted = err != 0;
    return err;
}

int rpmi_head_load(struct rpmi_service *service, struct rpmi_object *log, struct rpmi_head *head)
{
    const struct rpmi_dirent *entry = &log->entry;
    unsigned char slots[RPMI_HEAD_SLOTS * RPMI_HEAD_SLOT_STRIDE];
    uint32_t lacking;
    int err = rpmi_head_settle(service, log);

    if (err != 0)
        return err;
    rpmi_mem_load(service->opts.pool, entry->offset, slots, sizeof(slots));
    if (rpmi_head_pick(slots, head, &lacking) != 0)
        return rpmi_fail(RPM_E_CORRUPT, "log '%s' needs 'rpm-log repair': %s", entry->name,
                         rpm_last_error());
    if (head->log_id != entry->id || head->capacity_bytes != entry->bytes - RPMI_LOG_HEADER_BYTES)
        return rpmi_fail(RPM_E_CORRUPT,
                         "log '%s' needs 'rpm-log repair': its head belongs to another log",
                         entry->name);
    return lacking == 0 ? 0 : head_restore_copy(service, log, head, lacking);
}

int rpmi_head_replace(struct rpmi_service *service, struct rpmi_object *log, struct rpmi_head *head)
{
    int err;

    RPM_ASSERT(!log->head_unpersisted); /* the head before is durable: this one may be torn */
    RPM_ASSERT(head->log_id == log->entry.id && rpmi_membership_is_sound(&head->set));
    head->turn += RPMI_CANARY(HEAD_IN_PLACE) ? 2 : 1;
    if (!rpmi_head_in_limits(head))
        return rpmi_fail(RPM_E_CORRUPT,
                         "log '%s': its head's turn or LSNs have reached their limit; create a new "
                         "log and copy the records",
                         log->entry.name);
    err = head_store(service, &log->entry, head);
    log->head_unpersisted = err != 0;
    return err;
}

int rpmi_head_create(struct rpmi_service *service, const struct rpmi_dirent *entry,
                     const struct rpmi_call *call)
{
    struct rpmi_head head = {
        .turn = 0,
        .log_id = entry->id,
        .capacity_bytes = entry->bytes - RPMI_LOG_HEADER_BYTES,
        .trim_lsn = call->lsn,
        .base_lsn = call->lsn,
        .life = service->life,
        .set = call->set,
    };
    int err = RPMI_CANARY(OLD_HEADER) ? 0 : head_store(service, entry, &head);

    RPM_ASSERT(rpmi_is_aligned(head.trim_lsn, RPMI_LINE_BYTES));
    RPM_ASSERT(rpmi_head_in_limits(&head)); /* the call was checked before anything was stored */
    head.turn = 1;
    return err != 0 ? err : head_store(service, entry, &head);
}

int rpmi_head_match(struct rpmi_service *service, struct rpmi_object *log,
                    const struct rpmi_membership *set)
{
    struct rpmi_head head;
    int err = rpmi_head_load(service, log, &head);

    RPM_ASSERT(set->copies != 0); /* a client that expects no set asks for no match */
    if (err != 0 || rpmi_membership_is_same(&head.set, set))
        return err;
    if (head.set.copies == 0)
        return rpmi_fail(RPM_E_EXISTS,
                         "log '%s' is a single log, not a member of a set; choose "
                         "another name",
                         log->entry.name);
    return rpmi_fail(RPM_E_EXISTS,
                     "log '%s' is member %u of %u with acks %u and member list %#" PRIx64
                     ", not member %u of %u with acks %u and member list %#" PRIx64
                     "; give the members and acks that it was created with",
                     log->entry.name, head.set.member, head.set.copies, head.set.acks,
                     head.set.members, set->member, set->copies, set->acks, set->members);
}

uint32_t rpmi_head_life(struct rpmi_service *service, const struct rpmi_object *log)
{
    unsigned char slots[RPMI_HEAD_SLOTS * RPMI_HEAD_SLOT_STRIDE];
    struct rpmi_head head;
    uint32_t lasts = 0;

    RPM_ASSERT(service->life.run != 0);
    RPM_ASSERT(log->used && log->entry.kind == RPM_KIND_LOG);
    rpmi_mem_load(service->opts.pool, log->entry.offset, slots, sizeof(slots));
    if (rpmi_head_pick(slots, &head, NULL) != 0 || head.log_id != log->entry.id)
        return 0;
    if (head.life.run != 0 && head.life.run == service->life.run)
        lasts |= RPMI_REPLY_RUN_LASTS;
    if (head.life.boot != 0 && head.life.boot == service->life.boot)
        lasts |= RPMI_REPLY_BOOT_LASTS;
    return lasts;
}

uint32_t rpmi_head_check(struct rpmi_service *service, const struct rpmi_object *log,
                         struct rpmi_head_found found[RPMI_HEAD_SLOTS])
{
    const struct rpmi_dirent *entry = &log->entry;
    unsigned char slots[RPMI_HEAD_SLOTS * RPMI_HEAD_SLOT_STRIDE];

    RPM_ASSERT(entry->kind == RPM_KIND_LOG && entry->bytes > RPMI_LOG_HEADER_BYTES);
    rpmi_mem_load(service->opts.pool, entry->offset, slots, sizeof(slots));
    return rpmi_head_judge(slots, entry->id, entry->bytes - RPMI_LOG_HEADER_BYTES, found);
}
