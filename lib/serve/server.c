/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server.c: open, run, stop and close a server.
 *
 * Invariants
 *   an open that fails changes nothing; a client that connects before run() waits in the queue
 *   both loops notice rpm_server_stop(): its eventfd stays readable, because no code reads it
 *
 * Tests: tests/unit/serve/server_test.cpp
 */
#include "serve/serve.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/rng.h"
#include "pmem/boot.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define DRAM_DEFAULT (1u << 20)
#define CLIENTS_DEFAULT 64u
#define FENCE_DEFAULT_US 1000000u
/* Without a sleep this thread would take the lock again before the engine woke up. */
#define YIELD_NS 20000u

static int check_opts(struct rpm_server_opts *opts)
{
    const uint32_t flags = RPM_SERVER_CREATE | RPM_SERVER_NO_DIRECT | RPM_SERVER_HUGE |
                           RPM_SERVER_FENCE_KILL | RPM_SERVER_NO_SPIN;

    if (opts->listen == NULL)
        return rpmi_fail(RPM_E_INVAL, "a server needs an address to listen at");
    if (opts->ddio > RPM_YES)
        return rpmi_fail(RPM_E_INVAL, "ddio is %u; it can be RPM_UNKNOWN, RPM_NO or RPM_YES",
                         opts->ddio);
    if ((opts->tls_cert == NULL) != (opts->tls_key == NULL))
        return rpmi_fail(RPM_E_INVAL, "tls_%s is given without tls_%s; TLS needs both",
                         opts->tls_cert != NULL ? "cert" : "key",
                         opts->tls_cert != NULL ? "key" : "cert");
    if ((opts->flags & ~flags) != 0)
        return rpmi_fail(RPM_E_INVAL, "unknown server flags 0x%x", opts->flags & ~flags);
    if (opts->pool != NULL && (opts->flags & RPM_SERVER_HUGE) != 0)
        return rpmi_fail(RPM_E_INVAL, "RPM_SERVER_HUGE is for anonymous pools, and a pool file "
                                      "is given: leave out one of the two");
    if (opts->clients_max > RPMI_CLIENTS_MAX)
        return rpmi_fail(RPM_E_INVAL, "clients_max is %u, above its maximum of %u",
                         opts->clients_max, RPMI_CLIENTS_MAX);
    if (opts->socket_mode > 0777)
        return rpmi_fail(RPM_E_INVAL, "socket_mode is %o; it has permission bits only, up to 777",
                         opts->socket_mode);
    if (opts->numa_node < 0)
        return rpmi_fail(RPM_E_INVAL, "numa_node is %d; it is the node + 1, or 0 for any node",
                         opts->numa_node);
    if (opts->secret != NULL && strlen(opts->secret) >= RPMI_SECRET_BYTES)
        return rpmi_fail(RPM_E_INVAL, "the secret has %zu bytes, above the maximum of %u",
                         strlen(opts->secret), RPMI_SECRET_BYTES - 1);
    if (opts->agents != NULL && strlen(opts->agents) >= RPMI_AGENTS_BYTES)
        return rpmi_fail(RPM_E_INVAL, "the names of the agents have %zu bytes, maximum %u",
                         strlen(opts->agents), RPMI_AGENTS_BYTES - 1);
    if (opts->dram_bytes == 0)
        opts->dram_bytes = DRAM_DEFAULT;
    if (opts->clients_max == 0)
        opts->clients_max = CLIENTS_DEFAULT;
    if (opts->socket_mode == 0)
        opts->socket_mode = 0600;
    if (opts->fence_us == 0)
        opts->fence_us = FENCE_DEFAULT_US;
    opts->dram_bytes = rpmi_align_up(opts->dram_bytes, RPMI_PAGE_BYTES);
    return 0;
}

static int open_media(struct rpm_server *server, const struct rpm_server_opts *opts)
{
    struct rpmi_media_opts pool = {
        .path = opts->pool,
        .bytes = opts->pool_bytes,
        .create = (opts->flags & RPM_SERVER_CREATE) != 0,
        .huge = (opts->flags & RPM_SERVER_HUGE) != 0,
        .domain = opts->domain,
        .numa_node = opts->numa_node,
    };
    struct rpmi_media_opts dram = { .bytes = opts->dram_bytes, .numa_node = opts->numa_node };
    int err;

    if (opts->pool == NULL && !rpmi_is_aligned(opts->pool_bytes, RPMI_PAGE_BYTES))
        return rpmi_fail(RPM_E_INVAL, "a pool's size is a multiple of %u bytes, not %" PRIu64,
                         RPMI_PAGE_BYTES, pool.bytes);
    err = rpmi_media_open(&pool, &server->pool);
    if (err != 0)
        return err;
    return rpmi_media_open(&dram, &server->dram);
}

static int open_service(struct rpm_server *server, const struct rpm_server_opts *opts)
{
    const struct rpmi_service_opts wanted = {
        .pool = &server->pool.mem,
        .dram = &server->dram.mem,
        .clients_max = server->clients_max,
        .server_epoch = server->server_epoch,
        .boot = rpmi_boot_id(RPMI_BOOT_ID_PATH),
        .agents = server->agents,
        .quiesce = rpmi_serve_quiesce,
        .vacate = rpmi_serve_vacate,
        .yield = rpmi_serve_yield,
        .context = server,
    };
    bool may_format = opts->pool == NULL || (opts->flags & RPM_SERVER_CREATE) != 0;
    bool blank = opts->pool == NULL || server->pool.created || server->pool.sized;
    int err = blank ? RPM_E_NOENT : rpmi_service_open(&wanted, &server->service);

    if (err != RPM_E_NOENT || !may_format)
        return err;
    RPM_ASSERT(server->service == NULL); /* formatting under a service would erase its objects */
    err = rpmi_pool_format(&server->pool.mem, rpmi_rng_entropy());
    return err != 0 ? err : rpmi_service_open(&wanted, &server->service);
}

static int watch(int epoll_fd, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return rpmi_fail(RPM_E_IO, "cannot watch a descriptor: %s", strerror(errno));
    return 0;
}

static int open_events(struct rpm_server *server)
{
    char self[48];
    int err;

    server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    server->engine_notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->engine_epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", server->pool.fd);
    server->guard_fd = open(self, O_RDWR | O_CLOEXEC);
    if (server->stop_fd < 0 || server->engine_notify_fd < 0 || server->epoll_fd < 0 ||
        server->engine_epoll_fd < 0 || server->guard_fd < 0)
        return rpmi_fail(RPM_E_IO, "cannot open the server's descriptors: %s", strerror(errno));
    err = watch(server->epoll_fd, server->stop_fd);
    if (err == 0)
        err = watch(server->engine_epoll_fd, server->stop_fd);
    if (err == 0)
        err = watch(server->engine_epoll_fd, server->engine_notify_fd);
    return err;
}

static void set_facts(struct rpm_server *server)
{
    server->facts = server->pool.facts;
    server->facts.ddio = RPM_NO; /* no device writes here: the CPUs do */
    server->facts.native_flush = RPM_NO;
    server->facts.atomic_write = RPM_NO;
    server->facts.memory_window = RPM_NO;
    server->facts.methods = 1u << RPM_METHOD_COPY | 1u << RPM_METHOD_MESSAGE;
    if ((server->flags & RPM_SERVER_NO_DIRECT) == 0)
        server->facts.methods |= 1u << RPM_METHOD_STORE;
}

static struct rpm_server *server_alloc(const struct rpm_server_opts *opts)
{
    struct rpm_server *server = rpmi_alloc(sizeof(*server), RPMI_LINE_BYTES);

    if (server == NULL)
        return NULL;
    server->guard_fd = server->stop_fd = server->engine_notify_fd = server->epoll_fd = -1;
    server->engine_epoll_fd = -1;
    server->flags = opts->flags;
    server->clients_max = opts->clients_max;
    server->socket_mode = opts->socket_mode;
    server->fence_ns = opts->fence_us * 1000u;
    server->ddio = opts->ddio;
    server->tls_cert = opts->tls_cert;
    server->tls_key = opts->tls_key;
    server->server_epoch = (uint32_t)rpmi_rng_entropy() | 1u;
    if (opts->secret != NULL)
        memcpy(server->secret, opts->secret, strlen(opts->secret) + 1);
    if (opts->agents != NULL)
        memcpy(server->agents, opts->agents, strlen(opts->agents) + 1);
    return server;
}

int rpm_server_open(const struct rpm_server_opts *opts, struct rpm_server **server)
{
    rpmi_begin();

    struct rpm_server_opts wanted = rpm_server_opts_init();
    struct rpm_server *fresh;
    int err =
        opts == NULL
            ? rpmi_fail(
                  RPM_E_INVAL,
                  "options are missing: a server needs at least an address to listen at and a pool")
            : rpmi_opts_in(&wanted, sizeof(wanted), opts);

    if (err == 0)
        err = check_opts(&wanted);
    if (err != 0)
        return err;
    fresh = server_alloc(&wanted);
    if (fresh == NULL)
        return RPM_E_NOMEM;
    if (pthread_mutex_init(&fresh->lock, NULL) != 0)
        err = rpmi_fail(RPM_E_NOMEM, "cannot initialise a mutex");
    if (err == 0)
        err = open_media(fresh, &wanted);
    if (err == 0)
        err = open_events(fresh);
    if (err == 0)
        err = rpmi_watches_open(fresh);
    if (err == 0)
        set_facts(fresh);
    if (err == 0)
        err = rpmi_listeners_open(fresh, wanted.listen);
    if (err == 0 && fresh->tls_cert != NULL && !fresh->tls_used)
        err = rpmi_fail(
            RPM_E_INVAL,
            "a certificate was given, but no address uses it: add ,tls=on to a tcp:// address");
    if (err == 0)
        err = open_service(fresh, &wanted); /* may format the pool: after all else that can fail */
    if (err == 0)
        fresh->facts.pool_starts = rpmi_service_starts(fresh->service);
    if (err != 0) {
        if (fresh->pool.mem.ops != NULL)
            rpmi_media_undo(&fresh->pool);
        rpm_server_close(&fresh);
        return err;
    }
    fresh->tls_cert = fresh->tls_key = NULL;
    *server = fresh;
    return 0;
}

void rpm_server_stop(struct rpm_server *server)
{
    uint64_t one = 1;
    int saved = errno;

    __atomic_store_n(&server->stopping, 1, __ATOMIC_RELEASE);
    if (write(server->stop_fd, &one, sizeof(one)) < 0)
        errno = saved; /* full: an earlier write wakes the reader */
    errno = saved;
}

int rpm_server_stats(struct rpm_server *server, struct rpm_server_stats *stats)
{
    rpmi_begin();

    const struct rpmi_serve_stats *from = &server->stats;
    struct rpm_server_stats found = {
        .clients = __atomic_load_n(&from->clients, __ATOMIC_RELAXED),
        .accepted = __atomic_load_n(&from->accepted, __ATOMIC_RELAXED),
        .refused = __atomic_load_n(&from->refused, __ATOMIC_RELAXED),
        .died = __atomic_load_n(&from->died, __ATOMIC_RELAXED),
        .calls = __atomic_load_n(&from->calls, __ATOMIC_RELAXED),
        .ops = __atomic_load_n(&from->ops, __ATOMIC_RELAXED),
        .bytes = __atomic_load_n(&from->bytes, __ATOMIC_RELAXED),
        .rejected = __atomic_load_n(&from->rejected, __ATOMIC_RELAXED),
        .locks_freed = __atomic_load_n(&from->locks_freed, __ATOMIC_RELAXED),
        .pool_bytes = server->pool.mem.bytes,
        .carried = __atomic_load_n(&from->carried, __ATOMIC_RELAXED),
        .pool_starts = server->facts.pool_starts,
    };

    rpmi_serve_lock(server);
    rpmi_service_counters(server->service, &found.claims, &found.fenced);
    found.agents = rpmi_service_agents(server->service);
    found.pool_free_bytes = rpmi_service_free_bytes(server->service);
    rpmi_serve_unlock(server);
    return rpmi_opts_out(stats, &found, sizeof(found));
}

int rpm_server_facts(const struct rpm_server *server, struct rpm_facts *facts)
{
    rpmi_begin();
    return rpmi_opts_out(facts, &server->facts, sizeof(server->facts));
}

void rpmi_serve_lock(struct rpm_server *server)
{
    int err;

    RPM_ASSERT(!rpmi_serve_has_lock(server)); /* else it would wait for itself for ever */
    __atomic_fetch_add(&server->wanted, 1, __ATOMIC_ACQUIRE);
    err = pthread_mutex_lock(&server->lock);
    RPM_ASSERT(err == 0);
    __atomic_store_n(&server->lock_holder, (uintptr_t)pthread_self(), __ATOMIC_RELAXED);
    __atomic_fetch_sub(&server->wanted, 1, __ATOMIC_RELEASE);
}

void rpmi_serve_unlock(struct rpm_server *server)
{
    int err;

    RPM_ASSERT(rpmi_serve_has_lock(server)); /* never release the lock of another thread */
    __atomic_store_n(&server->lock_holder, 0, __ATOMIC_RELAXED);
    err = pthread_mutex_unlock(&server->lock);
    RPM_ASSERT(err == 0);
}

void rpmi_serve_yield(void *context)
{
    rpmi_serve_unlock(context);
    rpmi_clock_sleep_ns(YIELD_NS);
    rpmi_serve_lock(context);
}

void rpm_server_close(struct rpm_server **server)
{
    struct rpm_server *old = *server;

    if (old == NULL)
        return;
    RPM_ASSERT(rpmi_serve_is_idle(old)); /* a loop that runs still uses everything freed here */
    rpmi_listeners_close(old);
    if (old->service != NULL && rpmi_mem_persist(&old->pool.mem, 0, old->pool.mem.bytes) != 0)
        rpmi_diag(RPM_DIAG_ERROR, "the pool could not be made durable at the end: %s",
                  rpm_last_error());
    rpmi_service_close(&old->service);
    rpmi_orders_close(&old->orders);
    rpmi_watches_close(&old->watches);
    rpmi_fd_close(&old->guard_fd);
    rpmi_fd_close(&old->stop_fd);
    rpmi_fd_close(&old->engine_notify_fd);
    rpmi_fd_close(&old->epoll_fd);
    rpmi_fd_close(&old->engine_epoll_fd);
    rpmi_media_close(&old->dram);
    rpmi_media_close(&old->pool);
    (void)pthread_mutex_destroy(&old->lock);
    memset(old->secret, 0, sizeof(old->secret));
    rpmi_free(old);
    *server = NULL;
}
