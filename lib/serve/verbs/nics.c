/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nics.c: the devices through which clients connect, and how each can access the pool: the server
 * registers the pool with it for each kind of access. It refuses a device that cannot read the
 * pool. If a device cannot write to it (a page cache whose file system tracks dirty pages), clients
 * send the bytes and the engine writes them.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "serve/verbs/verbs.h"

#include "base/assert.h"
#include "base/diag.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

/* Register the whole pool with the device for this access, and deregister it. */
static int try_pool(struct rpmi_verbs_listener *listener, const struct rpmi_serve_nic *nic,
                    struct ibv_pd *pd, uint32_t access)
{
    struct rpmi_media *pool = &listener->base.server->pool;
    struct ibv_mr *mr = NULL;
    int err = rpmi_nic_register(&nic->nic, pd, pool->base, pool->mem.bytes, access, &mr);

    if (err == 0 && ibv_dereg_mr(mr) != 0)
        return rpmi_fail(RPM_E_IO, "the NIC cannot deregister a memory region: %s",
                         strerror(errno));
    return err;
}

static int try_accesses(struct rpmi_verbs_listener *listener, struct rpmi_serve_nic *nic)
{
    const struct rpm_server *server = listener->base.server;
    struct ibv_pd *pd = ibv_alloc_pd(nic->nic.verbs);
    int err;

    if (pd == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no protection domain: %s", strerror(errno));
    err = try_pool(listener, nic, pd, RPMI_NIC_READ);
    if (err == 0) {
        nic->writes = try_pool(listener, nic, pd, RPMI_NIC_WRITE) == 0;
        /* FLUSH to persistence is used only on memory that a probe found to be persistent, even if
         * the device would accept it elsewhere. */
        nic->flushes = nic->writes && nic->nic.flush &&
                       (server->pool.facts.medium == RPM_MEDIUM_DEVDAX ||
                        server->pool.facts.medium == RPM_MEDIUM_FSDAX) &&
                       try_pool(listener, nic, pd, RPMI_NIC_READ | RPMI_NIC_FLUSH) == 0;
        if (!nic->writes)
            rpmi_diag(RPM_DIAG_NOTICE, "%s; clients send their bytes to the server's CPU instead",
                      rpm_last_error());
    }
    (void)ibv_dealloc_pd(pd);
    return err;
}

static void set_facts(const struct rpm_server *server, struct rpmi_serve_nic *nic)
{
    struct rpm_facts *facts = &nic->facts;

    /* A client that was promised FLUSH writes nothing that its device cannot flush. */
    RPM_ASSERT(!nic->flushes || (nic->writes && nic->nic.flush));
    *facts = server->pool.facts;
    facts->ddio = server->ddio != RPM_UNKNOWN ? server->ddio
                  : nic->nic.software         ? RPM_YES
                                              : RPM_UNKNOWN;
    facts->native_flush = nic->flushes ? RPM_YES : RPM_NO;
    facts->atomic_write = nic->nic.atomic_write ? RPM_YES : RPM_NO;
    facts->memory_window = nic->nic.window ? RPM_YES : RPM_NO;
    facts->methods = 1u << RPM_METHOD_COPY;
    if (nic->writes)
        facts->methods |= 1u << RPM_METHOD_WRITE | 1u << RPM_METHOD_READ |
                          1u << RPM_METHOD_MESSAGE | 1u << RPM_METHOD_IMMEDIATE;
    if (nic->flushes)
        facts->methods |= 1u << RPM_METHOD_FLUSH;
}

static int open_channel(struct rpmi_verbs_listener *listener, struct rpmi_serve_nic *nic)
{
    struct epoll_event event = { .events = EPOLLIN };
    int flags;

    RPM_ASSERT(nic->channel == NULL);
    nic->channel = ibv_create_comp_channel(nic->nic.verbs);
    if (nic->channel == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no completion channel: %s", strerror(errno));
    flags = fcntl(nic->channel->fd, F_GETFL);
    if (flags >= 0 && fcntl(nic->channel->fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
        epoll_ctl(listener->base.engine_fd, EPOLL_CTL_ADD, nic->channel->fd, &event) == 0)
        return 0;
    (void)ibv_destroy_comp_channel(nic->channel);
    return rpmi_fail(RPM_E_IO, "cannot watch a completion channel: %s", strerror(errno));
}

int rpmi_serve_nic_of(struct rpmi_verbs_listener *listener, struct ibv_context *verbs,
                      struct rpmi_serve_nic **nic)
{
    struct rpmi_serve_nic *fresh = &listener->nics[listener->nics_n % RPMI_NICS_MAX];
    int err;

    RPM_ASSERT(rpmi_serve_is_control(listener->base.server));
    for (uint32_t i = 0; i < listener->nics_n; i++)
        if (listener->nics[i].nic.verbs == verbs) {
            *nic = &listener->nics[i];
            return 0;
        }
    if (listener->nics_n == RPMI_NICS_MAX)
        return rpmi_fail(RPM_E_LIMIT, "one listener serves through at most %u RDMA devices",
                         RPMI_NICS_MAX);
    RPM_ASSERT(fresh == &listener->nics[listener->nics_n]); /* no session has this entry */
    memset(fresh, 0, sizeof(*fresh));
    err = rpmi_nic_probe(verbs, &fresh->nic);
    if (err == 0)
        err = try_accesses(listener, fresh);
    if (err == 0)
        err = open_channel(listener, fresh);
    if (err != 0)
        return err;
    set_facts(listener->base.server, fresh);
    __atomic_store_n(&listener->nics_n, listener->nics_n + 1, __ATOMIC_RELEASE);
    *nic = fresh;
    return 0;
}
