/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watches.c: hold lists of steps that begin with a WATCH until a word has changed.
 *
 * When a client leaves, rpmi_watches_forget() only sets its slot's client to 0: the engine reads
 * held[] without the lock, so only the engine removes the slot from it, when it next compares the
 * words. A new client that gets the slot before uses its entry in held[].
 *
 * Tests: tests/unit/serve/watches_test.cpp, tests/conform/watch_test.cpp
 */
#include "serve/watches.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "serve/serve.h"

#include <unistd.h>

#define LOOK_MS 1        /* between two looks while a client can store without the engine */
#define LOOK_NS 1000000u /* the same */
#define NS_IN_MS 1000000u
#define NS_IN_US 1000u

int rpmi_watches_open(struct rpm_server *server)
{
    uint32_t slots = server->clients_max;
    struct rpmi_watches *watches =
        rpmi_alloc(sizeof(*watches) + slots * (sizeof(watches->slot[0]) + sizeof(watches->held[0])),
                   RPMI_LINE_BYTES);

    RPM_ASSERT(server->watches == NULL && slots > 0);
    if (watches == NULL)
        return RPM_E_NOMEM;
    watches->slots = slots;
    watches->next_ns = UINT64_MAX;
    watches->held = (uint32_t *)(void *)&watches->slot[slots];
    server->watches = watches;
    return 0;
}

void rpmi_watches_close(struct rpmi_watches **watches)
{
    rpmi_free(*watches);
    *watches = NULL;
}

static void set_count(struct rpmi_watches *watches, uint32_t n)
{
    RPM_ASSERT(n <= watches->slots);
    __atomic_store_n(&watches->n, n, __ATOMIC_RELAXED);
}

static void add(struct rpmi_watches *watches, uint32_t slot)
{
    struct rpmi_watched *watched = &watches->slot[slot];

    if (watched->held)
        return; /* the slot of a client that has left */
    watched->held = true;
    watched->at = watches->n;
    watches->held[watches->n] = slot;
    set_count(watches, watches->n + 1);
}

static void remove_slot(struct rpmi_watches *watches, uint32_t slot)
{
    struct rpmi_watched *watched = &watches->slot[slot];
    uint32_t last = watches->held[watches->n - 1];

    RPM_ASSERT(watched->held && watches->held[watched->at] == slot);
    watches->held[watched->at] = last;
    watches->slot[last].at = watched->at;
    watched->held = watched->due = false;
    set_count(watches, watches->n - 1);
}

static uint32_t client_of(const struct rpmi_watched *watched)
{
    return __atomic_load_n(&watched->client, __ATOMIC_RELAXED);
}

/* The slot of a list that is held for @client, or NULL. */
static struct rpmi_watched *find(struct rpmi_watches *watches, uint32_t client)
{
    struct rpmi_watched *watched = &watches->slot[client % watches->slots];

    return watched->held && client_of(watched) == client ? watched : NULL;
}

int rpmi_watches_hold(struct rpm_server *server, uint32_t client, const struct rpmi_step *step,
                      const struct rpmi_span *span, uint64_t *word)
{
    struct rpmi_watches *watches = server->watches;
    struct rpmi_watched *watched = find(watches, client);
    uint64_t now_ns = rpmi_clock_ns();
    uint32_t slot = client % watches->slots;

    RPM_ASSERT(client != 0 && rpmi_serve_is_engine(server) && rpmi_serve_has_lock(server));
    RPM_ASSERT(step->kind == RPMI_STEP_WATCH && rpmi_is_aligned(step->offset, sizeof(*word)));
    rpmi_request_load(server, span, word, sizeof(*word));
    if (*word != step->expect || (watched != NULL && now_ns >= watched->until_ns)) {
        rpmi_watches_drop(server, client);
        return 0;
    }
    if (watched == NULL) {
        add(watches, slot);
        watched = &watches->slot[slot];
        __atomic_store_n(&watched->client, client, __ATOMIC_RELAXED);
        watched->until_ns = now_ns + step->operand * NS_IN_US;
    }
    watched->due = false;
    watched->span = *span;
    watched->expect = step->expect;
    if (watched->until_ns < watches->next_ns)
        watches->next_ns = watched->until_ns;
    return RPMI_HELD;
}

void rpmi_watches_drop(struct rpm_server *server, uint32_t client)
{
    struct rpmi_watched *watched = find(server->watches, client);

    RPM_ASSERT(rpmi_serve_is_engine(server));
    if (watched != NULL)
        remove_slot(server->watches, (uint32_t)(watched - server->watches->slot));
}

static bool is_over(struct rpm_server *server, const struct rpmi_watched *watched, uint64_t now_ns)
{
    uint64_t word;

    rpmi_request_load(server, &watched->span, &word, sizeof(word));
    return word != watched->expect || now_ns >= watched->until_ns;
}

void rpmi_watches_look(struct rpm_server *server)
{
    struct rpmi_watches *watches = server->watches;
    uint64_t now_ns;

    RPM_ASSERT(rpmi_serve_is_engine(server));
    if (!rpmi_watches_any(watches))
        return;
    now_ns = rpmi_clock_ns();
    watches->looked_ns = now_ns;
    watches->next_ns = UINT64_MAX;
    for (uint32_t i = watches->n; i-- > 0;) {
        struct rpmi_watched *watched = &watches->slot[watches->held[i]];

        if (client_of(watched) == 0) {
            remove_slot(watches, watches->held[i]);
        } else if (!watched->due && is_over(server, watched, now_ns)) {
            watched->due = true;
            watches->fired++;
        } else if (!watched->due && watched->until_ns < watches->next_ns) {
            watches->next_ns = watched->until_ns;
        }
    }
}

void rpmi_watches_look_after(struct rpm_server *server, bool changed)
{
    const struct rpmi_watches *watches = server->watches;

    if (rpmi_watches_any(watches) && (changed || rpmi_clock_ns() - watches->looked_ns >= LOOK_NS))
        rpmi_watches_look(server);
}

int rpmi_watches_nap_ms(const struct rpm_server *server)
{
    const struct rpmi_watches *watches = server->watches;
    uint64_t now_ns;

    if (!rpmi_watches_any(watches))
        return -1;
    if (__atomic_load_n(&server->storing, __ATOMIC_RELAXED) != 0)
        return LOOK_MS;
    if (watches->next_ns == UINT64_MAX)
        return -1;
    now_ns = rpmi_clock_ns();
    return watches->next_ns <= now_ns ? 0 : (int)((watches->next_ns - now_ns) / NS_IN_MS) + 1;
}

void rpmi_watches_forget(struct rpm_server *server, uint32_t client)
{
    struct rpmi_watched *watched = &server->watches->slot[client % server->watches->slots];

    RPM_ASSERT(client != 0 && rpmi_serve_has_lock(server));
    if (client_of(watched) == client)
        __atomic_store_n(&watched->client, 0, __ATOMIC_RELAXED);
}

void rpmi_watches_nudge(struct rpm_server *server)
{
    uint64_t one = 1;

    if (!rpmi_watches_any(server->watches))
        return;
    if (write(server->engine_notify_fd, &one, sizeof(one)) < 0)
        RPM_ASSERT(errno == EAGAIN); /* it is readable already */
}
