/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state.h: the volatile state of the service. The directory in the pool is authoritative for
 * persistent objects; objects[] mirrors it. The rest is lost when the server ends.
 *
 * Invariants
 *   objects[i], i < super.entries: the object of the pool in directory slot i
 *   objects[i] from super.entries on: an object of the DRAM area, which has no directory
 *   an object is in its sorted lists as long as it is used
 *   extents of one area never overlap
 */
#ifndef RPMI_POOL_STATE_H
#define RPMI_POOL_STATE_H

#include "base/canary.h"
#include "base/limits.h"
#include "pool/service.h"
#include "wire/head.h"
#include "wire/super.h"

#include <stdbool.h>
#include <stdint.h>

#define RPMI_SCRATCH_BYTES RPMI_LINE_BYTES

struct rpmi_object {
    bool used;
    struct rpmi_dirent entry;
    uint32_t keys;           /* live keys of all clients */
    uint32_t writer;         /* log: client that holds the claim, 0: none */
    uint32_t epoch;          /* log: of that claim */
    bool sealed;             /* log: that epoch is durable in the head */
    bool ungranted;          /* log: that epoch is the claim word of a claim that was refused */
    bool head_unpersisted;   /* log: a persist of its visible head, or of a copy of it, failed */
    bool commit_unpersisted; /* log: a persist of its commit word, which a seal lowered, failed */
    uint64_t certificate_key[RPMI_CERTIFICATE_KEY_WORDS]; /* log: of that claim */
    uint32_t agent;    /* log: declared agent that may carry by that claim, 0: none */
    uint64_t trim_lsn; /* log: in force, or about to be; known while sealed */
};

/* Live keys of an object, and those that carry a claim, as invariants.c counts them. */
struct rpmi_tally {
    uint32_t keys;
    uint32_t claims;
};

enum rpmi_sorted_by { RPMI_BY_NAME, RPMI_BY_PLACE, RPMI_BY_ID };

/* Objects sorted by their entries' name, offset or id, so that a search takes log2(n) steps. */
struct rpmi_sorted {
    enum rpmi_sorted_by by;
    uint32_t n;
    struct rpmi_object **at;
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
    uint32_t id;    /* 0: unused slot */
    uint32_t agent; /* which declared agent it is, 0: none */
    struct rpmi_key key[RPMI_KEYS_MAX];
};

struct rpmi_service {
    struct rpmi_service_opts opts;
    struct rpmi_super super;
    struct rpmi_object *objects; /* objects_n */
    uint32_t objects_n;
    struct rpmi_sorted by_name;     /* objects of both areas */
    struct rpmi_sorted by_place[2]; /* by enum rpmi_area: its objects, from low to high offsets */
    struct rpmi_sorted by_id;       /* logs */
    struct rpmi_object **listed;    /* memory of the sorted lists */
    struct rpmi_tally *tally;       /* objects_n; of invariants.c */
    uint32_t clients_max;
    uint32_t last_id;      /* given to a client */
    uint32_t starts;       /* how often a server has opened this pool, this run included */
    struct rpmi_life life; /* this run, this boot */
    uint64_t claims;
    uint64_t fenced;
    struct rpmi_client clients[]; /* clients_max */
};

static inline bool rpmi_is_pool_index(const struct rpmi_service *service, uint32_t index)
{
    return index < service->super.entries;
}

static inline enum rpmi_area rpmi_area_of(bool dram)
{
    return dram ? RPMI_AREA_DRAM : RPMI_AREA_POOL;
}

/* The places in objects[] of one area: from first to the one before past. */
static inline uint32_t rpmi_area_first(const struct rpmi_service *service, bool dram)
{
    return dram ? service->super.entries : 0;
}

static inline uint32_t rpmi_area_past(const struct rpmi_service *service, bool dram)
{
    return dram ? service->objects_n : service->super.entries;
}

static inline bool rpmi_object_volatile(const struct rpmi_object *object)
{
    return rpmi_kind_is_volatile(object->entry.kind);
}

/* invariants.c: true, or an assertion fails. Takes time in proportion to all objects and keys:
 * meant for RPM_ASSERT_SLOW. */
bool rpmi_service_check_invariants(const struct rpmi_service *service);

/* sorted.c */
/* The first place in @sorted whose object is not before @key, or sorted->n. */
uint32_t rpmi_sorted_find(const struct rpmi_sorted *sorted, const struct rpmi_dirent *key);
/* @sorted has room for all objects of the service. */
void rpmi_sorted_add(struct rpmi_sorted *sorted, struct rpmi_object *object);
void rpmi_sorted_remove(struct rpmi_sorted *sorted, const struct rpmi_object *object);

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
/* The object that follows @name in the order of names, or NULL. */
const struct rpmi_object *rpmi_dir_next(const struct rpmi_service *service, const char *name);
/* New object, durable and zero-filled where its kind asks for it. Its index, or
 * RPM_E_NOSPACE, RPM_E_LIMIT, RPM_E_INVAL, RPM_E_IO. */
int rpmi_dir_create(struct rpmi_service *service, const struct rpmi_call *call);
/* RPM_E_IO. */
int rpmi_dir_remove(struct rpmi_service *service, uint32_t index);

/* start.c: add 1 to the pool's start counter, durably. RPM_E_CORRUPT, RPM_E_LIMIT, RPM_E_IO. */
int rpmi_count_start(struct rpmi_service *service);

/* place.c */
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
/* The claim word of a new log, and its token, durably. RPM_E_IO. */
int rpmi_claim_create(struct rpmi_service *service, const struct rpmi_dirent *entry,
                      uint32_t epoch);
uint64_t rpmi_claim_token(const struct rpmi_service *service, const struct rpmi_object *log);
void rpmi_claim(struct rpmi_service *service, struct rpmi_client *client,
                const struct rpmi_call *call, struct rpmi_reply *reply);
/* seal.c */
void rpmi_seal(struct rpmi_service *service, struct rpmi_client *client,
               const struct rpmi_call *call, struct rpmi_reply *reply);
void rpmi_trim(struct rpmi_service *service, struct rpmi_client *client,
               const struct rpmi_call *call, struct rpmi_reply *reply);
/* delegate.c */
int rpmi_enrol_agent(struct rpmi_service *service, struct rpmi_client *client,
                     const struct rpmi_call *call);
int rpmi_delegate(struct rpmi_service *service, struct rpmi_client *client,
                  const struct rpmi_call *call);
/* The claim of @log has ended: no bytes of a CARRY that rests on it are stored any more. */
static inline void rpmi_delegation_end(struct rpmi_object *log)
{
    RPM_ASSERT(log->writer == 0);
    if (!RPMI_CANARY(DELEGATION_OUTLIVES))
        log->agent = 0;
}

static inline uint64_t rpmi_ring_bytes(const struct rpmi_object *log)
{
    return log->entry.bytes - RPMI_LOG_HEADER_BYTES;
}

static inline uint64_t rpmi_word_load(const struct rpmi_service *service, uint64_t offset)
{
    unsigned char word[sizeof(uint64_t)];

    rpmi_mem_load(service->opts.pool, offset, word, sizeof(word));
    return rpmi_load64(word);
}

static inline void rpmi_word_store(struct rpmi_service *service, uint64_t offset, uint64_t value)
{
    unsigned char word[sizeof(uint64_t)];

    rpmi_store64(word, value);
    rpmi_mem_store(service->opts.pool, offset, word, sizeof(word));
}

/* Where in the pool the byte at @lsn of a log is. */
static inline uint64_t rpmi_ring_place(const struct rpmi_object *log, uint64_t lsn)
{
    return log->entry.offset + RPMI_LOG_HEADER_BYTES + lsn % rpmi_ring_bytes(log);
}

/* prove.c: the log with this id, or NULL. */
struct rpmi_object *rpmi_log_of_id(const struct rpmi_service *service, uint64_t log_id);

/* head.c */
/* Write the head of a new log, durably. RPM_E_IO. */
int rpmi_head_create(struct rpmi_service *service, const struct rpmi_dirent *entry,
                     const struct rpmi_call *call);
/* Is @set that of the log? RPM_E_EXISTS, RPM_E_CORRUPT, RPM_E_IO. */
int rpmi_head_match(struct rpmi_service *service, struct rpmi_object *log,
                    const struct rpmi_membership *set);
/* If storing a head failed half-way, persist the slots: otherwise a reply could report a head that
 * a power cut undoes, or the next head be stored over the last durable one. RPM_E_IO. */
int rpmi_head_settle(struct rpmi_service *service, struct rpmi_object *log);
/* The newest head, with both copies valid and durable. RPM_E_CORRUPT, RPM_E_IO. */
int rpmi_head_load(struct rpmi_service *service, struct rpmi_object *log, struct rpmi_head *head);
/* Store @head, with the next turn, in the slots of the head before the valid one, durably.
 * RPM_E_CORRUPT (a number of it has reached its limit), RPM_E_IO. */
int rpmi_head_replace(struct rpmi_service *service, struct rpmi_object *log,
                      struct rpmi_head *head);
/* Which parts of the life in the head of @log last: enum rpmi_reply_flag. Changes nothing. */
uint32_t rpmi_head_life(struct rpmi_service *service, const struct rpmi_object *log);
/* Judge the slots of @log, in whatever state. The index of the newest head, or RPMI_HEAD_SLOTS. */
uint32_t rpmi_head_check(struct rpmi_service *service, const struct rpmi_object *log,
                         struct rpmi_head_found found[RPMI_HEAD_SLOTS]);

#endif
