/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clients.c: clients come and go. A client that leaves gives up its claims, its keys and its locks.
 *
 * Tests: tests/unit/pool/clients_test.cpp
 */
#include "pool/state.h"

#include "base/bytes.h"
#include "base/err.h"

/* Ids count up and are never reused, so that a lock word or claim of an earlier client never looks
 * like one of this client. An id whose slot is in use is skipped. */
int rpmi_service_attach(struct rpmi_service *service, uint32_t *client)
{
    for (uint32_t i = 1; i <= service->clients_max; i++) {
        struct rpmi_client *slot;

        if (service->last_id > UINT32_MAX - i)
            return rpmi_fail(RPM_E_REFUSED, "the server has used up its client ids: restart it");
        slot = &service->clients[(service->last_id + i - 1) % service->clients_max];
        if (slot->id != 0)
            continue;
        service->last_id += i;
        slot->id = service->last_id;
        slot->agent = 0;
        memset(slot->key, 0, sizeof(slot->key));
        *client = slot->id;
        RPM_ASSERT(rpmi_client_find(service, *client) == slot);
        RPM_ASSERT_SLOW(rpmi_service_check_invariants(service));
        return 0;
    }
    return rpmi_fail(
        RPM_E_LIMIT,
        "the server has %u clients, its maximum; close one, or start it with a larger --clients",
        service->clients_max);
}

static uint32_t free_locks(struct rpmi_service *service, const struct rpmi_object *table,
                           uint32_t client)
{
    struct rpmi_mem *dram = service->opts.dram;
    uint32_t freed = 0;

    RPM_ASSERT(client != 0); /* 0 in a lock word means free */
    RPM_ASSERT(rpmi_is_aligned(table->entry.offset, sizeof(uint64_t)));
    RPM_ASSERT(rpmi_in_bounds(table->entry.offset, table->entry.bytes, dram->bytes));
    for (uint64_t at = 0; at < table->entry.bytes; at += sizeof(uint64_t)) {
        uint64_t word;

        rpmi_mem_load(dram, table->entry.offset + at, &word, sizeof(word));
        if ((uint32_t)(word >> 32) != client)
            continue;
        if (dram->ops->cas(dram, table->entry.offset + at, word, 0) == word)
            freed++;
    }
    return freed;
}

uint32_t rpmi_service_detach(struct rpmi_service *service, uint32_t client)
{
    struct rpmi_client *slot = rpmi_client_find(service, client);
    uint32_t freed = 0;

    if (slot == NULL)
        return 0;
    for (uint32_t i = 1; i < RPMI_KEYS_MAX; i++)
        if (slot->key[i].state != RPMI_KEY_FREE)
            rpmi_key_drop(service, slot, i);
    for (uint32_t i = service->super.entries; i < service->objects_n; i++)
        if (service->objects[i].used && service->objects[i].entry.kind == RPM_KIND_LOCKS)
            freed += free_locks(service, &service->objects[i], client);
    slot->id = 0;
    RPM_ASSERT_SLOW(rpmi_service_check_invariants(service));
    return freed;
}
