/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dial.c: establish a queue pair with a server by host and port, each step with a deadline. A name
 * with several addresses is tried address by address.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "transport/verbs/verbs.h"

#include "base/assert.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define REJECT_BY_CONSUMER 28 /* InfiniBand's reason: the listening program rejected it */

static int set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return rpmi_fail(RPM_E_IO, "cannot change a descriptor: %s", strerror(errno));
    return 0;
}

static int next_event(struct rpmi_verbs *verbs, uint64_t deadline_ns, struct rdma_cm_event **event)
{
    while (rdma_get_cm_event(verbs->events, event) != 0) {
        if (errno != EAGAIN && errno != EINTR)
            return rpmi_fail(RPM_E_IO, "cannot read events of the connection manager: %s",
                             strerror(errno));
        if (!rpmi_fd_wait(verbs->events->fd, POLLIN, deadline_ns))
            return rpmi_fail(RPM_E_TIMEDOUT,
                             "%s:%s did not answer in time; check the address, or allow more time "
                             "(of the library: rpm_conn_opts.timeout_us)",
                             verbs->opts.to.host, verbs->opts.to.port);
    }
    return 0;
}

/* Is the private data of a refusal empty? Then the kernel refused, not a server: a server listens
 * at that port, but not at this address. */
static bool says_no_reason(const struct rdma_conn_param *conn)
{
    const unsigned char *bytes = conn->private_data;

    for (uint32_t i = 0; i < RPMI_CHALLENGE_BYTES; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static int refused(const struct rpmi_verbs *verbs, const struct rdma_cm_event *event)
{
    const char *host = verbs->opts.to.host;
    const char *port = verbs->opts.to.port;
    int err;

    switch (event->event) {
    case RDMA_CM_EVENT_REJECTED:
        if (event->status == REJECT_BY_CONSUMER &&
            event->param.conn.private_data_len >= RPMI_CHALLENGE_BYTES &&
            !says_no_reason(&event->param.conn)) {
            err = rpmi_challenge_get(event->param.conn.private_data, RPMI_CHALLENGE_BYTES);
            if (err != 0)
                return err;
        }
        return rpmi_fail(RPM_E_REFUSED,
                         "no server listens at %s:%s (reason %d); start one, or check the address",
                         host, port, event->status);
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
        return rpmi_fail(RPM_E_REFUSED,
                         "no RDMA device has a route to %s (%s); rpm-probe --devices says why",
                         host, strerror(event->status < 0 ? -event->status : event->status));
    case RDMA_CM_EVENT_UNREACHABLE:
        return rpmi_fail(RPM_E_REFUSED, "%s:%s does not answer; check the address and the network",
                         host, port);
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        return rpmi_fail(RPM_E_LOST, "the device was removed");
    default:
        return rpmi_fail(RPM_E_REFUSED, "cannot connect to %s:%s: %s (%d)", host, port,
                         rdma_event_str(event->event), event->status);
    }
}

/* Wait for one event. Its private data goes to @transcript's challenge. */
static int await_event(struct rpmi_verbs *verbs, enum rdma_cm_event_type wanted,
                       uint64_t deadline_ns)
{
    struct rdma_cm_event *event;
    int err = next_event(verbs, deadline_ns, &event);

    if (err != 0)
        return err;
    if (event->event != wanted) {
        err = refused(verbs, event);
    } else if (wanted == RDMA_CM_EVENT_ESTABLISHED) {
        if (event->param.conn.private_data_len < RPMI_CHALLENGE_BYTES)
            err = rpmi_fail(RPM_E_PROTO,
                            "the program that listens at %s:%s is not a librpm server; check the "
                            "port",
                            verbs->opts.to.host, verbs->opts.to.port);
        else
            memcpy(verbs->transcript.challenge, event->param.conn.private_data,
                   RPMI_CHALLENGE_BYTES);
    }
    (void)rdma_ack_cm_event(event);
    return err;
}

static int resolve_name(const char *host, const char *port, int family, struct addrinfo **found)
{
    struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
    int err = getaddrinfo(host, port, &hints, found);

    if (err != 0)
        return rpmi_fail(RPM_E_REFUSED, "the address of host %s was not found: %s", host,
                         gai_strerror(err));
    return 0;
}

/* Resolve the address, by which the kernel picks device, port and GID. */
static int resolve(struct rpmi_verbs *verbs, struct sockaddr *to, uint64_t deadline_ns)
{
    struct addrinfo *from = NULL;
    int err = 0;

    if (verbs->opts.from[0] != '\0')
        err = resolve_name(verbs->opts.from, NULL, to->sa_family, &from);
    if (err == 0 && rdma_resolve_addr(verbs->id, from != NULL ? from->ai_addr : NULL, to,
                                      rpmi_fd_wait_ms(deadline_ns)) != 0)
        err = rpmi_fail(errno == EACCES ? RPM_E_DENIED : RPM_E_REFUSED,
                        "no RDMA device reaches %s%s%s: %s", verbs->opts.to.host,
                        from != NULL ? " from " : "", verbs->opts.from, strerror(errno));
    if (from != NULL)
        freeaddrinfo(from);
    if (err == 0)
        err = await_event(verbs, RDMA_CM_EVENT_ADDR_RESOLVED, deadline_ns);
    if (err == 0 && rdma_resolve_route(verbs->id, rpmi_fd_wait_ms(deadline_ns)) != 0)
        err = rpmi_fail(RPM_E_REFUSED, "no route to %s: %s", verbs->opts.to.host, strerror(errno));
    if (err == 0)
        err = await_event(verbs, RDMA_CM_EVENT_ROUTE_RESOLVED, deadline_ns);
    if (err == 0 && verbs->id->verbs == NULL)
        err = rpmi_fail(RPM_E_NOCAP, "no RDMA device reaches %s", verbs->opts.to.host);
    return err;
}

/* A doorbell that no other thread rings, where the provider can give one. */
static void take_thread_domain(struct rpmi_verbs *verbs)
{
    struct ibv_td_init_attr td = { 0 };
    struct ibv_parent_domain_init_attr parent = { .pd = verbs->pd };

    if (!verbs->opts.thread_domain)
        return;
    verbs->td = ibv_alloc_td(verbs->nic.verbs, &td);
    if (verbs->td == NULL)
        return;
    parent.td = verbs->td;
    verbs->parent = ibv_alloc_parent_domain(verbs->nic.verbs, &parent);
}

static int make_queues(struct rpmi_verbs *verbs)
{
    struct rpmi_qp_attr wanted = {
        .send_wrs = verbs->send_wrs,
        .recv_wrs = verbs->receives_n,
        .flush = verbs->nic.flush,
        .words = verbs->nic.atomic_write,
    };
    int cqes = (int)(verbs->send_wrs + verbs->receives_n);
    int err;

    RPM_ASSERT(verbs->channel == NULL && verbs->cq == NULL);
    if (wanted.send_wrs > verbs->nic.wr_max || (uint32_t)cqes > verbs->nic.cqe_max)
        return rpmi_fail(RPM_E_NOCAP,
                         "device %s takes %u requests and %u completions at once, needed are %u "
                         "and %d; connect with a smaller depth",
                         ibv_get_device_name(verbs->nic.verbs->device), verbs->nic.wr_max,
                         verbs->nic.cqe_max, wanted.send_wrs, cqes);
    verbs->channel = ibv_create_comp_channel(verbs->nic.verbs);
    if (verbs->channel == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no completion channel: %s", strerror(errno));
    err = set_nonblocking(verbs->channel->fd);
    if (err != 0)
        return err;
    verbs->cq = ibv_create_cq(verbs->nic.verbs, cqes, NULL, verbs->channel, 0);
    if (verbs->cq == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no completion queue of %d: %s", cqes, strerror(errno));
    take_thread_domain(verbs);
    wanted.cq = verbs->cq;
    wanted.pd = verbs->parent != NULL ? verbs->parent : verbs->pd;
    err = rpmi_qp_create(verbs->id, &wanted, &verbs->qp);
    for (uint32_t i = 0; i < verbs->receives_n && err == 0; i++)
        err = rpmi_verbs_receive(verbs, i);
    return err;
}

static int use_device(struct rpmi_verbs *verbs)
{
    int err = rpmi_nic_probe(verbs->id->verbs, &verbs->nic);

    if (err != 0)
        return err;
    RPM_ASSERT(verbs->pd == NULL && verbs->own_mr == NULL && verbs->stage_mr == NULL);
    verbs->pd = ibv_alloc_pd(verbs->nic.verbs);
    if (verbs->pd == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no protection domain: %s", strerror(errno));
    err = rpmi_verbs_memory_register(verbs);
    return err != 0 ? err : make_queues(verbs);
}

static int establish(struct rpmi_verbs *verbs, uint64_t deadline_ns)
{
    struct rdma_conn_param param = {
        .private_data = verbs->transcript.hello,
        .private_data_len = RPMI_NET_HELLO_BYTES,
        .responder_resources = 1, /* the server never READs from a client */
        .initiator_depth = verbs->nic.reads_out,
        .retry_count = (uint8_t)verbs->opts.retries,
        .rnr_retry_count = (uint8_t)verbs->opts.rnr_retries,
    };
    uint8_t timeout = (uint8_t)verbs->opts.ack_timeout;

    /* Older kernels do not have the option, and use a longer timeout. */
    if (timeout != 0)
        (void)rdma_set_option(verbs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
                              sizeof(timeout));
    if (rdma_connect(verbs->id, &param) != 0)
        return rpmi_fail(RPM_E_REFUSED, "cannot connect to %s:%s: %s", verbs->opts.to.host,
                         verbs->opts.to.port, strerror(errno));
    return await_event(verbs, RDMA_CM_EVENT_ESTABLISHED, deadline_ns);
}

static void reset(struct rpmi_verbs *verbs)
{
    RPM_ASSERT(verbs->qp.qp == NULL && verbs->cq == NULL); /* no completion is counted again */
    memset(verbs->key, 0, sizeof(verbs->key));
    memset(verbs->fenced, 0, sizeof(verbs->fenced));
    verbs->credits = 2; /* until the accept message says how many */
    verbs->messages_out = 0;
    verbs->posted = verbs->finished = verbs->unsignaled = 0;
    verbs->rpcs = verbs->rpcs_done = verbs->fence_rpc = 0;
    verbs->lists_out = 0;
    verbs->sent_tail = verbs->sent_head = 0;
    verbs->rpc_status = verbs->broken_status = 0;
    verbs->broken = verbs->failure_reported = verbs->refusing = false;
    verbs->asking = verbs->accepted = verbs->replied = false;
    verbs->unsent.all_sent = true;
    verbs->op_waits = false;
}

static int try_address(struct rpmi_verbs *verbs, struct sockaddr *to, uint64_t deadline_ns)
{
    int err = rpmi_net_hello_make(&verbs->transcript);

    if (err != 0)
        return err;
    verbs->events = rdma_create_event_channel();
    if (verbs->events == NULL)
        return rpmi_fail(RPM_E_NOCAP, "this kernel has no RDMA connection manager: %s",
                         strerror(errno));
    err = set_nonblocking(verbs->events->fd);
    if (err == 0 && rdma_create_id(verbs->events, &verbs->id, verbs, RDMA_PS_TCP) != 0)
        err = rpmi_fail(RPM_E_NOMEM, "no connection identifier: %s", strerror(errno));
    if (err == 0)
        err = resolve(verbs, to, deadline_ns);
    if (err == 0)
        err = use_device(verbs);
    if (err == 0)
        err = establish(verbs, deadline_ns);
    return err;
}

int rpmi_verbs_dial(struct rpmi_verbs *verbs, uint64_t deadline_ns, struct rpmi_accept *accepted)
{
    struct addrinfo *found;
    int err = resolve_name(verbs->opts.to.host, verbs->opts.to.port, AF_UNSPEC, &found);

    if (err != 0)
        return err;
    err = RPM_E_REFUSED;
    for (struct addrinfo *at = found; at != NULL && err == RPM_E_REFUSED; at = at->ai_next) {
        reset(verbs);
        err = try_address(verbs, at->ai_addr, deadline_ns);
        if (err == 0)
            err = rpmi_verbs_handshake(verbs, deadline_ns, accepted);
        if (err != 0)
            rpmi_verbs_disconnect(verbs);
    }
    freeaddrinfo(found);
    return err;
}

static void drop_region(struct ibv_mr **mr)
{
    if (*mr != NULL && ibv_dereg_mr(*mr) != 0)
        rpmi_diag(RPM_DIAG_WARNING, "the NIC cannot deregister a memory region: %s",
                  strerror(errno));
    *mr = NULL;
}

void rpmi_verbs_disconnect(struct rpmi_verbs *verbs)
{
    if (verbs->qp.qp != NULL) {
        (void)rdma_disconnect(verbs->id); /* notifies the server */
        rdma_destroy_qp(verbs->id);
    }
    verbs->qp = (struct rpmi_qp){ 0 };
    if (verbs->cq != NULL)
        (void)ibv_destroy_cq(verbs->cq);
    verbs->cq = NULL;
    if (verbs->channel != NULL) {
        rpmi_watch_drop(&verbs->watch, verbs->channel->fd);
        (void)ibv_destroy_comp_channel(verbs->channel);
    }
    verbs->channel = NULL;
    drop_region(&verbs->own_mr);
    drop_region(&verbs->stage_mr);
    if (verbs->parent != NULL)
        (void)ibv_dealloc_pd(verbs->parent);
    verbs->parent = NULL;
    if (verbs->td != NULL)
        (void)ibv_dealloc_td(verbs->td);
    verbs->td = NULL;
    if (verbs->pd != NULL)
        (void)ibv_dealloc_pd(verbs->pd);
    verbs->pd = NULL;
    if (verbs->id != NULL)
        (void)rdma_destroy_id(verbs->id);
    verbs->id = NULL;
    if (verbs->events != NULL) {
        rpmi_watch_drop(&verbs->watch, verbs->events->fd);
        rdma_destroy_event_channel(verbs->events);
    }
    verbs->events = NULL;
}
