/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watches.h: words that clients watch. A list of steps that begins with a WATCH is held: the engine
 * leaves it, serves other clients, and carries it out once the word has changed or the time of the
 * WATCH is over. A client watches one word at a time, because the requests of a connection are
 * carried out in order.
 *
 * The engine compares the words after each pass that changed memory, and at intervals while a
 * client stores without the engine: by its own CPU, or by the server's NIC. While no word is
 * watched it does neither.
 *
 * Invariants
 *   held[] has the slot of each list that is held, once; only the engine changes it
 *   a list that is held is checked again, as a new one is, before it is carried out
 *
 * Threads: the engine; rpmi_watches_forget() and rpmi_watches_nudge() the control thread.
 * Tests: tests/unit/serve/watches_test.cpp, tests/conform/watch_test.cpp
 */
#ifndef RPMI_SERVE_WATCHES_H
#define RPMI_SERVE_WATCHES_H

#include "pool/service.h"
#include "wire/steps.h"

#include <stdbool.h>
#include <stdint.h>

struct rpm_server;

/* Of one client. */
struct rpmi_watched {
    uint32_t client; /* 0: it has left; atomic */
    uint32_t at;     /* in held[] */
    bool held;
    bool due; /* the list is to be tried again */
    struct rpmi_span span;
    uint64_t expect;
    uint64_t until_ns;
};

struct rpmi_watches {
    uint32_t slots; /* as many as clients; a client's is that of its id, modulo this number */
    uint32_t n;     /* lists that are held; atomic: the control thread reads it */
    uint64_t fired; /* lists that became due so far */
    uint64_t looked_ns;
    uint64_t next_ns; /* the first time of a list that is held and not due; UINT64_MAX: none */
    uint32_t *held;   /* slots */
    struct rpmi_watched slot[];
};

/* Before the loops run. RPM_E_NOMEM. */
int rpmi_watches_open(struct rpm_server *server);

/* Safe on NULL; sets it to NULL. */
void rpmi_watches_close(struct rpmi_watches **watches);

/* In a pass: hold the list of @client that begins with this WATCH, whose word is at @span, or go on
 * holding it. RPMI_HELD; 0: the list is to be carried out, and the WATCH has found @word. */
int rpmi_watches_hold(struct rpm_server *server, uint32_t client, const struct rpmi_step *step,
                      const struct rpmi_span *span, uint64_t *word);

/* In a pass: the list of @client that is held, if there is one, is refused. */
void rpmi_watches_drop(struct rpm_server *server, uint32_t client);

/* Compare the words, and drop the lists of clients that have left. */
void rpmi_watches_look(struct rpm_server *server);

/* The same after a pass, but only if it @changed memory or the last look was a while ago. */
void rpmi_watches_look_after(struct rpm_server *server, bool changed);

/* How long the engine may sleep, in milliseconds, before it must look; -1: no limit. */
int rpmi_watches_nap_ms(const struct rpm_server *server);

/* Is a list held? */
static inline bool rpmi_watches_any(const struct rpmi_watches *watches)
{
    return __atomic_load_n(&watches->n, __ATOMIC_RELAXED) != 0;
}

/* Is the list that is held for @client to be tried again? */
static inline bool rpmi_watches_is_due(const struct rpmi_watches *watches, uint32_t client)
{
    const struct rpmi_watched *watched = &watches->slot[client % watches->slots];

    return watched->due && __atomic_load_n(&watched->client, __ATOMIC_RELAXED) == client;
}

/* The client has left. Under the lock. */
void rpmi_watches_forget(struct rpm_server *server, uint32_t client);

/* The control thread may have changed words: wake the engine if one is watched. */
void rpmi_watches_nudge(struct rpm_server *server);

#endif
