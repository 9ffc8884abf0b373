/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * service.h: what the server CPU does for clients: objects, keys, claims, epochs, trims. The
 * same code behind every transport; it sees memory only through rpmi_mem.
 *
 * Invariants
 *   a log has at most one claim; a new claim's reply is sent only when no older writer can add
 *   a reply is sent only when what it says is durable
 *   a key is good for one client, one object and the rights it was granted with, until revoked
 *
 * Threads: none of its own; the caller serialises all calls on one service.
 * Tests: tests/unit/pool/service_test.cpp
 */
#ifndef RPMI_SERVICE_H
#define RPMI_SERVICE_H

#include "pool/mem.h"
#include "wire/call.h"

#include <stdbool.h>
#include <stdint.h>

struct rpmi_service;

enum rpmi_area { RPMI_AREA_POOL = 0, RPMI_AREA_DRAM = 1 };

/* Where an access of a client lands. */
struct rpmi_span {
    enum rpmi_area area;
    uint64_t offset; /* bytes from the start of that area */
};

struct rpmi_service_opts {
    struct rpmi_mem *pool; /* Borrowed until close */
    struct rpmi_mem *dram; /* Borrowed until close; contents are ours to zero */
    uint32_t clients_max;
    uint32_t server_epoch; /* differs between runs of a server, never 0 */

    /*
     * Make sure that no older direct writer of the log whose header is at @header_offset adds
     * anything any more; the guard's claim word (wire/guard.h) was raised before. May block, for a
     * bounded time. 0, or RPM_E_OWNED if it will not stop. NULL: keys are enough.
     */
    int (*quiesce)(void *context, uint64_t header_offset);

    /*
     * Is it certain that nobody maps [@offset, @offset + @bytes) of the pool any more, not even a
     * client of an earlier server? May block, for a short time. 0 or RPM_E_OWNED. NULL: nobody
     * ever does.
     */
    int (*vacate)(void *context, uint64_t offset, uint64_t bytes);

    /*
     * Between two parts of something long: let the accesses of others through. The object that is
     * being made is not there yet for anybody. NULL: there are no others.
     */
    void (*breathe)(void *context);

    /* 64 random bits for ids that must never repeat. NULL: the operating system's. */
    uint64_t (*entropy)(void *context);
    void *context;
};

/* Format @pool: zero directory, then the superblock. Changes nothing unless it can do all.
 * RPM_E_INVAL (size), RPM_E_NOMEM, RPM_E_IO. */
int rpmi_pool_format(struct rpmi_mem *pool, uint64_t pool_id);

/* RPM_E_NOENT (all zeros), RPM_E_FOREIGN, RPM_E_VERSION, RPM_E_CORRUPT, RPM_E_NOMEM. */
int rpmi_service_open(const struct rpmi_service_opts *opts, struct rpmi_service **service);

/* A new client. RPM_E_LIMIT: too many. @client is never 0 and never reused in one run. */
int rpmi_service_attach(struct rpmi_service *service, uint32_t *client);

/* The client is gone: end its claims, revoke its keys, free its locks. Returns locks freed. */
uint32_t rpmi_service_detach(struct rpmi_service *service, uint32_t client);

/* Serve one control message. The outcome is in @reply->status. */
void rpmi_service_call(struct rpmi_service *service, uint32_t client, const struct rpmi_call *call,
                       struct rpmi_reply *reply);

/*
 * May @client touch [@offset, @offset + @len) of @key with @rights (all of them)? 0 and @span, or
 * RPM_E_FENCED (key revoked by a claim), RPM_E_DENIED (no such key or right), RPM_E_RANGE.
 */
int rpmi_service_access(const struct rpmi_service *service, uint32_t client, uint32_t key,
                        uint64_t offset, uint64_t len, uint32_t rights, struct rpmi_span *span);

/* What a key of a client opens, for whoever has to tell a device. */
struct rpmi_extent {
    enum rpmi_area area;
    uint64_t offset; /* bytes from the start of that area */
    uint64_t bytes;
    uint64_t guarded_bytes; /* of those, at the front: never written to by a client */
    uint32_t rights;        /* enum rpmi_right */
    uint64_t claim_header;  /* of the log by whose claim it may be written to; 0: of none */
};

/* 0, RPM_E_DENIED, RPM_E_FENCED. */
int rpmi_service_extent(const struct rpmi_service *service, uint32_t client, uint32_t key,
                        struct rpmi_extent *extent);

/* Bytes of the pool that no object uses. */
uint64_t rpmi_service_free_bytes(const struct rpmi_service *service);

/* Claims granted and writers fenced so far. */
void rpmi_service_counters(const struct rpmi_service *service, uint64_t *claims, uint64_t *fenced);

/* Safe on NULL; sets it to NULL. */
void rpmi_service_close(struct rpmi_service **service);

#endif
