/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * service.h: the control messages that the server CPU serves: objects, keys, claims, epochs, trims.
 * The same code serves every transport; it accesses memory only through rpmi_mem.
 *
 * Invariants
 *   a log has at most one claim; a new claim's reply is sent only when no older writer can append
 *   a reply is sent only when the changes that it reports are durable
 *   a key is valid for one client, one object and the rights it was granted with, until revoked
 *
 * Threads: none of its own; the caller serialises all calls on one service.
 * Tests: tests/unit/pool/service_test.cpp
 */
#ifndef RPMI_SERVICE_H
#define RPMI_SERVICE_H

#include "pool/mem.h"
#include "wire/call.h"
#include "wire/steps.h"

#include <stdbool.h>
#include <stdint.h>

struct rpmi_service;

enum rpmi_area { RPMI_AREA_POOL = 0, RPMI_AREA_DRAM = 1 };

/* The memory that an access of a client refers to. */
struct rpmi_span {
    enum rpmi_area area;
    uint64_t offset; /* bytes from the start of that area */
};

struct rpmi_service_opts {
    struct rpmi_mem *pool; /* Borrowed until close */
    struct rpmi_mem *dram; /* Borrowed until close; the service may zero it */
    uint32_t clients_max;
    uint32_t server_epoch; /* differs between runs of a server, never 0 */
    uint64_t boot;         /* of the machine, differs between boots; 0: unknown */
    const char *agents;    /* names of declared agents, separated by blanks; NULL: none. Borrowed
                              until close */

    /*
     * Wait until no older direct writer of the log whose header is at @header_offset can append any
     * more; the guard's claim word (wire/guard.h) was raised before. May block, for a bounded time.
     * 0, or RPM_E_OWNED if a writer does not stop. NULL: revoking keys is enough.
     */
    int (*quiesce)(void *context, uint64_t header_offset);

    /*
     * Make sure that no process maps [@offset, @offset + @bytes) of the pool any more, not even a
     * client of an earlier server. May block, for a short time. 0 or RPM_E_OWNED. NULL: clients
     * never map the pool.
     */
    int (*vacate)(void *context, uint64_t offset, uint64_t bytes);

    /*
     * Called between two parts of a long operation: let accesses of other clients run. No client
     * sees the object that is being created. NULL: there are no other accesses.
     */
    void (*yield)(void *context);

    /* 64 random bits for ids that must never repeat. NULL: from the operating system. */
    uint64_t (*entropy)(void *context);
    void *context;
};

/* Format @pool: zero directory, then the superblock. Changes nothing if it cannot complete.
 * RPM_E_INVAL (size), RPM_E_NOMEM, RPM_E_IO. */
int rpmi_pool_format(struct rpmi_mem *pool, uint64_t pool_id);

/* Adds 1 to the pool's start counter. RPM_E_NOENT (all zeros), RPM_E_FOREIGN, RPM_E_VERSION,
 * RPM_E_CORRUPT, RPM_E_LIMIT (too many starts), RPM_E_NOMEM, RPM_E_IO. */
int rpmi_service_open(const struct rpmi_service_opts *opts, struct rpmi_service **service);

/* A new client. RPM_E_LIMIT: too many. @client is never 0 and never reused in one run. */
int rpmi_service_attach(struct rpmi_service *service, uint32_t *client);

/* The client disconnected or died: end its claims, revoke its keys, free its locks. Returns locks
 * freed. */
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

/* The memory that a key of a client opens, for a listener that registers it with a device. */
struct rpmi_extent {
    enum rpmi_area area;
    uint64_t offset; /* bytes from the start of that area */
    uint64_t bytes;
    uint64_t guarded_bytes; /* at the front of it, which no client ever writes */
    uint32_t rights;        /* enum rpmi_right */
    uint64_t claim_header;  /* header of the log whose claim guards it; 0: no guard */
};

/* 0, RPM_E_DENIED, RPM_E_FENCED. */
int rpmi_service_extent(const struct rpmi_service *service, uint32_t client, uint32_t key,
                        struct rpmi_extent *extent);

/* How much of a log one PROVE looks at, unless its first record is longer: other clients wait. */
#define RPMI_PROVE_BYTES (256u << 10)

/* What the server CPU must make durable for a certificate, and the key of its proof. */
struct rpmi_proof {
    struct rpmi_certificate certificate;
    uint64_t key[RPMI_CERTIFICATE_KEY_WORDS];
    uint32_t ranges; /* 0: nothing to certify */
    struct {
        uint64_t offset; /* in the pool */
        uint64_t len;
    } range[2]; /* of a ring, whose end may be within */
};

/*
 * prove.c: look at the records that a PROVE names, as they are visible now: which of them are whole
 * frames of the claim in force? The certificate is to be made, and sent, only when the ranges
 * are at @level. The status in it is 0, RPM_E_NOENT (no such log), RPM_E_FENCED (the claim has
 * ended, or is not sealed yet), RPM_E_RANGE (no LSNs of a record).
 */
void rpmi_service_prove(struct rpmi_service *service, const struct rpmi_step *step,
                        enum rpm_level level, struct rpmi_proof *proof);

/* Write the certificate, or the refusal, at @bytes. */
void rpmi_proof_write(const struct rpmi_proof *proof, void *bytes);

/*
 * delegate.c: where in the pool are the bytes of a CARRY to be stored? 0 and @span; RPM_E_DENIED
 * (the client is no agent, or not the one that the claim's holder has delegated the log to, or the
 * writer did not make this step), RPM_E_FENCED (the claim has ended, or is not sealed),
 * RPM_E_RANGE (no place of a record that the log may have now). @step: rpmi_carry_check() says
 * where it must be.
 */
int rpmi_service_carry(const struct rpmi_service *service, uint32_t client,
                       const struct rpmi_step *step, struct rpmi_span *span);

/* How many clients are declared agents. */
uint32_t rpmi_service_agents(const struct rpmi_service *service);

/* How often a server has opened this pool, this run included. */
uint32_t rpmi_service_starts(const struct rpmi_service *service);

/* Bytes of the pool that no object uses. */
uint64_t rpmi_service_free_bytes(const struct rpmi_service *service);

/* Claims granted and writers fenced so far. */
void rpmi_service_counters(const struct rpmi_service *service, uint64_t *claims, uint64_t *fenced);

/* Safe on NULL; sets it to NULL. */
void rpmi_service_close(struct rpmi_service **service);

#endif
