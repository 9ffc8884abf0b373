/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * invariants.c: the invariants of service.h and state.h, as code. Each call on a service that
 * changes objects, keys or claims asserts them in the testing library, so every test of a server
 * checks them.
 *
 * Tests: tests/unit/pool/invariants_test.cpp
 */
#include "pool/state.h"

#include "base/assert.h"

#include <string.h>

static uint64_t area_bytes(const struct rpmi_service *service, uint32_t index)
{
    return rpmi_is_pool_index(service, index) ? service->opts.pool->bytes
                                              : service->opts.dram->bytes;
}

/* An object is inside its area, and only a log has a claim. */
static void check_object(const struct rpmi_service *service, uint32_t index)
{
    const struct rpmi_object *object = &service->objects[index];
    const struct rpmi_dirent *entry = &object->entry;

    RPM_ASSERT(rpmi_object_volatile(object) != rpmi_is_pool_index(service, index));
    RPM_ASSERT(rpmi_in_bounds(entry->offset, entry->bytes, area_bytes(service, index)));
    RPM_ASSERT(object->writer == 0 || entry->kind == RPM_KIND_LOG);
    RPM_ASSERT(object->writer == 0 || object->epoch != 0);
    RPM_ASSERT(object->writer == 0 || rpmi_client_find(service, object->writer) != NULL);
    RPM_ASSERT(!object->sealed || object->epoch != 0);
    RPM_ASSERT(!object->ungranted || (object->epoch != 0 && object->writer == 0));
    RPM_ASSERT(object->agent == 0 || object->writer != 0 || RPMI_CANARY(DELEGATION_OUTLIVES));
}

/* The objects of an area do not overlap. Returns how many there are. */
static uint32_t check_places(const struct rpmi_sorted *list)
{
    for (uint32_t i = 1; i < list->n; i++) {
        const struct rpmi_dirent *lower = &list->at[i - 1]->entry;

        RPM_ASSERT(list->at[i]->entry.offset >= lower->offset + lower->bytes);
    }
    return list->n;
}

/* A live key opens an existing object; a key with the right to write to a log is the log's claim; a
 * key to a region that a claim guards can write while that claim lasts. */
static void check_key(const struct rpmi_service *service, const struct rpmi_client *client,
                      const struct rpmi_key *key)
{
    const struct rpmi_object *object = &service->objects[key->object];

    RPM_ASSERT(!key->fenced || key->guard != 0);
    RPM_ASSERT(key->guard <= service->super.entries);
    if (key->state != RPMI_KEY_LIVE)
        return;
    RPM_ASSERT(object->used && (key->rights & RPMI_RIGHT_READ) != 0);
    RPM_ASSERT(object->entry.kind != RPM_KIND_LOG || (key->rights & RPMI_RIGHT_WRITE) == 0 ||
               object->writer == client->id);
    RPM_ASSERT(key->guard == 0 || key->fenced ||
               service->objects[key->guard - 1].writer == client->id);
}

bool rpmi_service_check_invariants(const struct rpmi_service *service)
{
    struct rpmi_tally *tally = service->tally;
    uint32_t used = 0;

    memset(tally, 0, service->objects_n * sizeof(*tally));
    for (uint32_t i = 0; i < service->clients_max; i++) {
        const struct rpmi_client *client = &service->clients[i];

        if (client->id == 0)
            continue;
        RPM_ASSERT(client->id <= service->last_id && (client->id - 1) % service->clients_max == i);
        for (uint32_t k = 0; k < RPMI_KEYS_MAX; k++) {
            const struct rpmi_key *key = &client->key[k];
            bool live = key->state == RPMI_KEY_LIVE;

            if (key->state == RPMI_KEY_FREE)
                continue;
            RPM_ASSERT(k != RPMI_KEY_SCRATCH && key->object < service->objects_n);
            check_key(service, client, key);
            tally[key->object].keys += live;
            tally[key->object].claims += live && (key->rights & RPMI_RIGHT_WRITE) != 0;
        }
    }
    for (uint32_t i = 0; i < service->objects_n; i++) {
        const struct rpmi_object *object = &service->objects[i];

        RPM_ASSERT(object->keys == tally[i].keys);
        used += object->used;
        if (object->used) {
            check_object(service, i);
            RPM_ASSERT(object->entry.kind != RPM_KIND_LOG ||
                       tally[i].claims == (object->writer != 0));
        } else {
            RPM_ASSERT(object->writer == 0);
        }
    }
    RPM_ASSERT(service->by_name.n == used);
    RPM_ASSERT(check_places(&service->by_place[RPMI_AREA_POOL]) +
                   check_places(&service->by_place[RPMI_AREA_DRAM]) ==
               used);
    return true;
}
