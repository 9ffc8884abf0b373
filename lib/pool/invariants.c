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

static uint64_t area_bytes(const struct rpmi_service *service, uint32_t index)
{
    return index < RPMI_POOL_ENTRIES ? service->opts.pool->bytes : service->opts.dram->bytes;
}

static bool same_area(uint32_t a, uint32_t b)
{
    return (a < RPMI_POOL_ENTRIES) == (b < RPMI_POOL_ENTRIES);
}

/* An object is inside its area and overlaps none of the @n @others, and only a log has a claim. */
static void check_object(const struct rpmi_service *service, uint32_t index, const uint32_t *others,
                         uint32_t n)
{
    const struct rpmi_object *object = &service->objects[index];
    const struct rpmi_dirent *entry = &object->entry;

    RPM_ASSERT(rpmi_object_volatile(object) == (index >= RPMI_POOL_ENTRIES));
    RPM_ASSERT(rpmi_in_bounds(entry->offset, entry->bytes, area_bytes(service, index)));
    RPM_ASSERT(object->writer == 0 || entry->kind == RPM_KIND_LOG);
    RPM_ASSERT(object->writer == 0 || object->epoch != 0);
    RPM_ASSERT(object->writer == 0 || rpmi_client_find(service, object->writer) != NULL);
    RPM_ASSERT(!object->sealed || object->epoch != 0);
    for (uint32_t i = 0; i < n; i++) {
        const struct rpmi_object *other = &service->objects[others[i]];

        if (same_area(index, others[i]))
            RPM_ASSERT(other->entry.offset >= entry->offset + entry->bytes ||
                       entry->offset >= other->entry.offset + other->entry.bytes);
    }
}

/* A live key opens an existing object; a key with the right to write to a log is the log's claim; a
 * key to a region that a claim guards can write while that claim lasts. */
static void check_key(const struct rpmi_service *service, const struct rpmi_client *client,
                      const struct rpmi_key *key)
{
    const struct rpmi_object *object = &service->objects[key->object];

    RPM_ASSERT(!key->fenced || key->guard != 0);
    RPM_ASSERT(key->guard <= RPMI_POOL_ENTRIES);
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
    uint32_t keys[RPMI_OBJECTS] = { 0 };
    uint32_t claims[RPMI_OBJECTS] = { 0 };
    uint32_t used[RPMI_OBJECTS];
    uint32_t used_n = 0;

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
            RPM_ASSERT(k != RPMI_KEY_SCRATCH && key->object < RPMI_OBJECTS);
            check_key(service, client, key);
            keys[key->object] += live;
            claims[key->object] += live && (key->rights & RPMI_RIGHT_WRITE) != 0;
        }
    }
    for (uint32_t i = 0; i < RPMI_OBJECTS; i++) {
        const struct rpmi_object *object = &service->objects[i];

        RPM_ASSERT(object->keys == keys[i]);
        if (object->used) {
            check_object(service, i, used, used_n);
            used[used_n++] = i;
            RPM_ASSERT(object->entry.kind != RPM_KIND_LOG || claims[i] == (object->writer != 0));
        } else {
            RPM_ASSERT(object->writer == 0);
        }
    }
    return true;
}
