/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * default_ops.c: default operations, which fill the entries of a provider's table that the provider
 * leaves NULL, so that callers never test for NULL.
 *
 * A missing operation returns RPM_E_NOCAP or NULL, or does nothing. Time is the exception: a
 * provider without its own clock uses real time.
 *
 * Tests: tests/unit/transport/default_ops_test.cpp
 */
#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "transport/transport.h"

static int no(const char *op)
{
    return rpmi_fail(
        RPM_E_NOCAP,
        "this transport has no operation \"%s\"; rpm_conn_facts() says what the link can do", op);
}

static int no_connect(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                      struct rpmi_link **link)
{
    (void)url, (void)opts, (void)link;
    return no("connect");
}

static int no_reconnect(struct rpmi_link *link, uint64_t deadline_ns)
{
    (void)link, (void)deadline_ns;
    return no("reconnect");
}

static int no_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    (void)link, (void)ops, (void)n;
    return no("post");
}

static int no_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    (void)link, (void)done, (void)n;
    return no("poll");
}

static int no_wait(struct rpmi_link *link, uint64_t deadline_ns)
{
    (void)link, (void)deadline_ns;
    return no("wait");
}

static int no_watch(struct rpmi_link *link, int epoll_fd)
{
    (void)link, (void)epoll_fd;
    return no("watch");
}

static int no_arm(struct rpmi_link *link, uint64_t *by_ns)
{
    (void)link, (void)by_ns;
    return no("arm");
}

static int no_call(struct rpmi_link *link, const struct rpmi_call *call, struct rpmi_reply *reply,
                   uint64_t deadline_ns)
{
    (void)link, (void)call, (void)reply, (void)deadline_ns;
    return no("call");
}

static void *no_stage(struct rpmi_link *link, uint64_t bytes)
{
    (void)link, (void)bytes;
    return NULL;
}

static void no_unstage(struct rpmi_link *link, void *ptr)
{
    (void)link, (void)ptr;
}

static const void *no_peek(struct rpmi_link *link, uint32_t key, uint64_t offset, uint64_t len)
{
    (void)link, (void)key, (void)offset, (void)len;
    return NULL;
}

static uint64_t real_now_ns(struct rpmi_link *link)
{
    (void)link;
    return rpmi_clock_ns();
}

static void real_pause(struct rpmi_link *link, uint64_t ns)
{
    (void)link;
    rpmi_clock_sleep_ns(ns);
}

static void no_close(struct rpmi_link *link)
{
    (void)link;
}

#define FILL(op, default_op)                                                                       \
    do {                                                                                           \
        if (ops->op == NULL)                                                                       \
            ops->op = (default_op);                                                                \
    } while (0)

void rpmi_transport_complete(struct rpmi_transport_ops *ops)
{
    RPM_ASSERT(ops->size == sizeof(*ops));
    RPM_ASSERT(ops->scheme != NULL);
    FILL(connect, no_connect);
    FILL(reconnect, no_reconnect);
    FILL(post, no_post);
    FILL(poll, no_poll);
    FILL(wait, no_wait);
    FILL(watch, no_watch);
    FILL(arm, no_arm);
    FILL(call, no_call);
    FILL(stage, no_stage);
    FILL(unstage, no_unstage);
    FILL(peek, no_peek);
    FILL(now_ns, real_now_ns);
    FILL(pause, real_pause);
    FILL(close, no_close);
}
