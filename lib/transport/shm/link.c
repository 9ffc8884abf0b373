/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link.c: a link to a server on this machine: connect, call, reconnect, close. Operations are
 * carried out by direct.c or ring.c, by the mode that the server granted.
 *
 * Invariants
 *   a call without an answer in time ends the link: the next call would take the late answer for
 *     its own
 *   a reconnect fails if the server grants another mode or has other facts: the plans of open
 *     objects depend on both
 *
 * Tests: tests/conform/transport_test.cpp, tests/unit/transport/shm/dial_test.cpp
 */
#include "transport/shm/shm.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "transport/membarrier.h"
#include "transport/remote.h"

#include <string.h>
#include <sys/mman.h>

static int parse_url(const struct rpmi_url *url, struct rpmi_shm *shm)
{
    static const char *const known[] = { "mode", RPMI_URL_TAKEN };
    const char *mode = rpmi_url_get(url, "mode", "auto");
    int err = rpmi_url_known(url, known, sizeof(known) / sizeof(known[0]));

    if (err != 0)
        return err;
    if (strcmp(mode, "auto") == 0)
        shm->hello.mode = RPMI_MODE_AUTO;
    else if (strcmp(mode, "direct") == 0)
        shm->hello.mode = RPMI_MODE_DIRECT;
    else if (strcmp(mode, "ring") == 0)
        shm->hello.mode = RPMI_MODE_RING;
    else
        return rpmi_fail(RPM_E_INVAL, "mode=%s; expected is auto, direct or ring", mode);
    return rpmi_sock_path(url->address, false, shm->path, &shm->same_user);
}

static int take_opts(const struct rpmi_link_opts *opts, struct rpmi_shm *shm)
{
    shm->hello.version = RPMI_PROTOCOL_VERSION;
    shm->hello.depth = opts->depth;
    shm->hello.staging_bytes = rpmi_align_up(opts->staging_bytes, RPMI_PAGE_BYTES);
    return rpmi_remote_take_opts(opts, shm->hello.secret);
}

/* Take over what the server granted. On failure the socket stays the grant's. */
static int attach(struct rpmi_shm *shm, struct rpmi_grant *grant)
{
    const struct rpmi_accept *accepted = &grant->accepted;
    int err;

    RPM_ASSERT(shm->liveness == NULL && shm->sock < 0); /* the connection before was detached */
    err = rpmi_liveness_map(grant->fds[RPMI_FD_LIVENESS], &shm->liveness);
    if (err != 0)
        return err;
    shm->membarrier = rpmi_membarrier_register() && shm->liveness->membarrier != 0;
    shm->mode = accepted->mode;
    err = accepted->mode == RPMI_MODE_DIRECT ? rpmi_direct_attach(shm, grant)
                                             : rpmi_ring_attach(shm, grant);
    if (err != 0) {
        rpmi_liveness_unmap(shm->liveness);
        shm->liveness = NULL;
        return err;
    }
    shm->sock = grant->sock;
    grant->sock = -1;
    shm->link.facts = accepted->facts;
    shm->link.client = accepted->client;
    shm->link.server_epoch = accepted->server_epoch;
    shm->link.lost = 0;
    return 0;
}

static void detach(struct rpmi_shm *shm)
{
    if (shm->mode == RPMI_MODE_DIRECT)
        rpmi_direct_detach(shm);
    else
        rpmi_ring_detach(shm);
    rpmi_watch_drop(&shm->watch, shm->sock);
    /* Only now: when the socket ends, the server takes the client for gone. */
    rpmi_fd_close(&shm->sock);
    rpmi_liveness_unmap(shm->liveness);
    shm->liveness = NULL;
}

static int shm_connect(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                       struct rpmi_link **link)
{
    struct rpmi_shm *shm = rpmi_alloc(sizeof(*shm), RPMI_LINE_BYTES);
    uint64_t deadline = rpmi_clock_ns() + opts->timeout_us * 1000u;
    struct rpmi_grant grant;
    int err;

    if (shm == NULL)
        return RPM_E_NOMEM;
    shm->sock = -1;
    shm->direct.lock_fd = -1;
    shm->ring.notify_fd = -1;
    err = parse_url(url, shm);
    if (err == 0)
        err = take_opts(opts, shm);
    if (err == 0)
        err = rpmi_shm_dial(shm, deadline, &grant);
    if (err != 0)
        goto free_shm;
    err = attach(shm, &grant);
    rpmi_grant_drop(&grant);
    if (err != 0)
        goto free_shm;
    *link = &shm->link;
    return 0;

free_shm:
    memset(shm->hello.secret, 0, sizeof(shm->hello.secret));
    rpmi_free(shm);
    return err;
}

static int watch_socket(const struct rpmi_shm *shm)
{
    if (shm->watch.on && shm->mode == RPMI_MODE_RING && shm->liveness->events == 0)
        return rpmi_fail(RPM_E_NOCAP,
                         "the server is too old to signal events; poll instead, or update it");
    return rpmi_watch_add(&shm->watch, shm->sock);
}

static int attach_again(struct rpmi_shm *shm, struct rpmi_grant *grant)
{
    int err = attach(shm, grant);

    if (err != 0)
        return err;
    err = watch_socket(shm);
    if (err != 0) {
        detach(shm);
        shm->link.lost = RPM_E_LOST;
    }
    return err;
}

static int redial(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);
    struct rpmi_grant grant;
    int err;

    RPM_ASSERT(link->lost != 0); /* its user knows that ops and keys have ended */
    err = rpmi_shm_dial(shm, deadline_ns, &grant);
    if (err != 0)
        return err;
    err = rpmi_remote_same_facts(&link->facts, &grant.accepted.facts);
    if (err == 0)
        err = attach_again(shm, &grant);
    rpmi_grant_drop(&grant);
    return err;
}

static int shm_reconnect(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);

    if (shm->liveness != NULL)
        detach(shm);
    link->lost = RPM_E_LOST;
    shm->hello.mode = shm->mode;
    return rpmi_remote_redial(link, redial, deadline_ns);
}

static int shm_call(struct rpmi_link *link, const struct rpmi_call *call, struct rpmi_reply *reply,
                    uint64_t deadline_ns)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);
    int err;

    if (link->lost != 0 || shm->liveness == NULL)
        return rpmi_fail(RPM_E_LOST, "the link is lost: reconnect first");
    err = rpmi_shm_ask(shm, call, reply, deadline_ns);
    if (err == 0 && shm->mode == RPMI_MODE_DIRECT)
        err = rpmi_direct_learn(shm, call, reply, deadline_ns);
    if (err != 0)
        link->lost = err;
    return err;
}

static void *shm_stage(struct rpmi_link *link, uint64_t bytes)
{
    return rpmi_stage_take(&rpmi_shm_of(link)->stage, bytes);
}

static void shm_unstage(struct rpmi_link *link, void *ptr)
{
    rpmi_stage_give(&rpmi_shm_of(link)->stage, ptr);
}

static uint64_t shm_now_ns(struct rpmi_link *link)
{
    (void)link;
    return rpmi_clock_ns();
}

static void shm_pause(struct rpmi_link *link, uint64_t ns)
{
    (void)link;
    rpmi_clock_sleep_ns(ns);
}

static void shm_close(struct rpmi_link *link)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);

    if (shm->liveness != NULL)
        detach(shm);
    if (shm->mode == RPMI_MODE_DIRECT) {
        rpmi_stage_unmap(&shm->stage);
    } else {
        (void)munmap(shm->ring.ring.head, shm->ring.ring.bytes);
        rpmi_free(shm->ring.sent);
    }
    memset(shm->hello.secret, 0, sizeof(shm->hello.secret));
    rpmi_free(shm);
}

static inline bool is_direct(struct rpmi_link *link)
{
    return rpmi_shm_of(link)->mode == RPMI_MODE_DIRECT;
}

static int shm_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    return is_direct(link) ? rpmi_direct_post(link, ops, n) : rpmi_ring_post(link, ops, n);
}

/* Direct: post() carries out every op, so none is ever outstanding. */
static int shm_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    if (!is_direct(link))
        return rpmi_ring_poll(link, done, n);
    return link->lost != 0 ? RPM_E_LOST : 0;
}

static int shm_wait(struct rpmi_link *link, uint64_t deadline_ns)
{
    if (!is_direct(link))
        return rpmi_ring_wait(link, deadline_ns);
    return link->lost != 0 ? 0 : RPM_E_TIMEDOUT;
}

static int shm_watch(struct rpmi_link *link, int epoll_fd)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);
    int err = 0;

    RPM_ASSERT(!shm->watch.on); /* the set before would keep the descriptors */
    shm->watch = (struct rpmi_watch){ .on = true, .epoll_fd = epoll_fd };
    if (shm->sock >= 0) /* none: the next reconnect adds it */
        err = watch_socket(shm);
    shm->watch.on = err == 0;
    return err;
}

/* Direct: the socket becomes readable only when the server ends. */
static int shm_arm(struct rpmi_link *link, uint64_t *by_ns)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);

    RPM_ASSERT(shm->watch.on); /* else no event would end the caller's sleep */
    if (!is_direct(link))
        return rpmi_ring_arm(link, by_ns);
    if (link->lost != 0)
        return 1;
    if (rpmi_liveness_alive(shm->liveness) && rpmi_shm_take_events(shm))
        return 0;
    (void)rpmi_shm_lose(shm);
    return 1;
}

static const void *shm_peek(struct rpmi_link *link, uint32_t key, uint64_t offset, uint64_t len)
{
    return is_direct(link) ? rpmi_direct_peek(link, key, offset, len) : NULL;
}

const struct rpmi_transport_ops rpmi_shm_transport = {
    .size = sizeof(struct rpmi_transport_ops),
    .scheme = "shm",
    .connect = shm_connect,
    .reconnect = shm_reconnect,
    .post = shm_post,
    .poll = shm_poll,
    .wait = shm_wait,
    .watch = shm_watch,
    .arm = shm_arm,
    .call = shm_call,
    .stage = shm_stage,
    .unstage = shm_unstage,
    .peek = shm_peek,
    .now_ns = shm_now_ns,
    .pause = shm_pause,
    .close = shm_close,
};
