/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state.h: the volatile state of the service. The directory in the pool is authoritative for
 * persistent objects; objects[] mirrors it. The rest is lost when the server ends.
 *
 * Invariants
 *   objects[i], i < RPMI_POOL_ENTRIES: the object of the pool in directory slot i
 *   objects[i] from RPMI_POOL_ENTRIES on: an object of the DRAM area, which has no directory
 *   extents of one area never overlap
 */
#ifndef RPMI_POOL_STATE_H
#define RPMI_POOL_STATE_H

#include "base/limits.h"
#include "pool/service.h"
#include "wire/super.h"

#include <stdbool.h>
#include <stdint.h>

#define RPMI_OBJECTS (RPMI_POOL_ENTRIES + RPMI_DRAM_ENTRIES)
#define RPMI_SCRATCH_BYTES RPMI_LINE_BYTES

struct rpmi_object {
    bool used;
    struct rpmi_dirent entry;
    uint32_t keys;         /* live keys of all clients */
    uint32_t writer;       /* log: client that holds the claim, 0: none */
    uint32_t epoch;        /* log: of that claim */
    bool sealed;           /* log: that epoch is durable in the head */
    bool head_unpersisted; /* log: a persist of its visible head failed */
    uint64_t certificate_key[RPMI_CERTIFICATE_KEY_WORDS]; /* log: of that claim */
};

enum rpmi_key_state { RPMI_KEY_FREE = 0, RPMI_KEY_LIVE = 1, RPMI_KEY_REVOKED = 2 };

struct rpmi_key {
    uint16_t object;
    uint16_t guard; /* of a region: the log whose claim guards it, plus 1; 0: none */
    uint8_t state;  /* enum rpmi_key_state */
    uint8_t rights; /* enum rpmi_right */
    bool fenced;    /* the guarding claim has ended: the key can only read */
};

struct rpmi_client {
    uint32_t id; /* 0: unused slot */
    struct rpmi_key key[RPMI_KEYS_MAX];
};

struct rpmi_service {
    struct rpmi_service_opts opts;
    struct rpmi_super super;
    struct rpmi_object objects[RPMI_OBJECTS];
    uint32_t clients_max;
    uint32_t last_id; /* given to a client */
    uint64_t claims;
    uint64_t fenced;
    struct rpmi_client clients[]; /* clients_max */
};

static inline bool rpmi_object_volatile(const struct rpmi_object *object)
{
    return rpmi_kind_is_volatile(object->entry.kind);
}

/* invariants.c: true, or an assertion fails. Takes time in proportion to all objects and keys:
 * meant for RPM_ASSERT_SLOW. */
bool rpmi_service_check_invariants(const struct rpmi_service *service);

/* keys.c */
struct rpmi_client *rpmi_client_find(const struct rpmi_service *service, uint32_t client);
/* A key for an object. RPM_E_LIMIT: the client has too many. */
int rpmi_key_grant(struct rpmi_service *service, struct rpmi_client *client, uint32_t object,
                   uint32_t rights, uint32_t *key);
/* Can a key be granted? Called before an object is created or a writer fenced. RPM_E_LIMIT. */
int rpmi_key_room(const struct rpmi_client *client);
/* The live key's object. RPM_E_DENIED, RPM_E_FENCED. */
int rpmi_key_object(struct rpmi_service *service, struct rpmi_client *client, uint32_t key,
                    uint32_t rights, struct rpmi_object **object);
void rpmi_key_drop(struct rpmi_service *service, struct rpmi_client *client, uint32_t key);
/* A claim revokes the write keys that @client has on @object, and fences its keys to regions that
 * the object's claim guards. */
void rpmi_key_revoke(struct rpmi_service *service, uint32_t client, uint32_t object);

/* dir.c */
/* Read the directory into objects[] and make it durable. RPM_E_CORRUPT, RPM_E_IO. */
int rpmi_dir_load(struct rpmi_service *service);
/* Index by name, or RPM_E_NOENT. */
int rpmi_dir_find(const struct rpmi_service *service, const char *name);
/* New object, durable and zero-filled where its kind asks for it. Its index, or
 * RPM_E_NOSPACE, RPM_E_LIMIT, RPM_E_INVAL, RPM_E_IO. */
int rpmi_dir_create(struct rpmi_service *service, const struct rpmi_call *call);
/* RPM_E_IO. */
int rpmi_dir_remove(struct rpmi_service *service, uint32_t index);
/* An area: bytes for objects, free ones, how many of these are in one piece, and its objects. */
struct rpmi_dir_room {
    uint64_t bytes;
    uint64_t free;
    uint64_t largest;
    uint32_t objects;
    uint32_t objects_max;
};
void rpmi_dir_room(const struct rpmi_service *service, bool dram, struct rpmi_dir_room *room);
/* First free gap of @bytes among the objects of one area. RPM_E_NOSPACE. */
int rpmi_dir_place(const struct rpmi_service *service, bool dram, uint64_t bytes, uint64_t *offset);

/* claim.c */
void rpmi_claim(struct rpmi_service *service, struct rpmi_client *client,
                const struct rpmi_call *call, struct rpmi_reply *reply);
void rpmi_seal(struct rpmi_service *service, struct rpmi_client *client,
               const struct rpmi_call *call, struct rpmi_reply *reply);
void rpmi_trim(struct rpmi_service *service, struct rpmi_client *client,
               const struct rpmi_call *call, struct rpmi_reply *reply);
/* Write the head of a new log, durably. RPM_E_IO. */
int rpmi_head_create(struct rpmi_service *service, const struct rpmi_dirent *entry);

#endif
