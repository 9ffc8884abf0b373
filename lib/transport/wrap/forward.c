/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forward.c: operations that all wrappers share, which call the inner link.
 *
 * Invariant: after each of them the outer link has the inner link's counts and, if the inner link
 * is lost, its loss; after a reconnect also its facts.
 *
 * Tests: tests/unit/transport/wrap/forward_test.cpp
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "transport/wrap/wrap.h"

static struct rpmi_wrap *wrap_of(struct rpmi_link *link)
{
    struct rpmi_wrap *wrap = (struct rpmi_wrap *)(void *)link;

    RPM_ASSERT(wrap->inner != NULL && wrap->inner != link);
    return wrap;
}

void rpmi_wrap_init(struct rpmi_wrap *wrap, const struct rpmi_transport_ops *ops,
                    struct rpmi_link *inner)
{
    RPM_ASSERT(ops->post != NULL && ops->close != NULL);
    RPM_ASSERT(inner != NULL && inner != &wrap->link); /* its calls would never end */
    wrap->inner = inner;
    wrap->link.ops = ops;
    wrap->link.stats = inner->stats;
    rpmi_wrap_sync(wrap);
}

void rpmi_wrap_sync_stats(struct rpmi_wrap *wrap)
{
    const struct rpm_conn_stats *inner = &wrap->inner->stats;

    wrap->link.stats.sleeps = inner->sleeps;
    wrap->link.stats.order_fallbacks = inner->order_fallbacks;
    wrap->link.stats.order_server = inner->order_server;
    wrap->link.stats.order_probes = inner->order_probes;
    wrap->link.stats.agent_setup_ns = inner->agent_setup_ns;
    wrap->link.stats.order_submit_ns = inner->order_submit_ns;
    wrap->link.stats.order_execute_ns = inner->order_execute_ns;
    wrap->link.stats.order_complete_ns = inner->order_complete_ns;
    wrap->link.stats.carried = inner->carried;
    if ((wrap->link.flags & RPMI_LINK_COUNTS) == 0)
        return;
    wrap->link.stats.messages = inner->messages;
    wrap->link.stats.sent_bytes = inner->sent_bytes;
    wrap->link.stats.received_bytes = inner->received_bytes;
}

void rpmi_wrap_sync(struct rpmi_wrap *wrap)
{
    const struct rpmi_link *inner = wrap->inner;

    wrap->link.facts = inner->facts;
    wrap->link.flags = inner->flags;
    wrap->link.depth = inner->depth;
    wrap->link.client = inner->client;
    wrap->link.server_epoch = inner->server_epoch;
    wrap->link.lost = inner->lost;
    if (inner->agent != NULL) /* else it may be this wrapper's own */
        wrap->link.agent = inner->agent;
    rpmi_wrap_sync_stats(wrap);
}

/* Copy the inner link's loss and counts. If only the outer link is lost, because its user closed it
 * after a timeout, that loss stays until a reconnect. */
static void copy_loss(struct rpmi_wrap *wrap)
{
    rpmi_wrap_sync_stats(wrap);
    if (wrap->inner->lost != 0)
        wrap->link.lost = wrap->inner->lost;
}

int rpmi_wrap_number(const struct rpmi_url *url, const char *key, uint64_t fallback,
                     uint64_t *value)
{
    const char *text = rpmi_url_get(url, key, NULL);

    if (text == NULL) {
        *value = fallback;
        return 0;
    }
    if (rpmi_parse_bytes(text, value) != 0)
        return rpmi_fail(RPM_E_INVAL, "%s=%s; expected is a number", key, text);
    return 0;
}

const char *rpmi_op_name(uint8_t kind)
{
    static const char *const names[RPMI_OP_KINDS] = {
        [RPMI_OP_WRITE] = "write",
        [RPMI_OP_READ] = "read",
        [RPMI_OP_PERSIST] = "persist",
        [RPMI_OP_FLUSH] = "flush",
        [RPMI_OP_WRITE_IMM] = "write-imm",
        [RPMI_OP_COPY] = "copy",
        [RPMI_OP_DRAIN] = "drain",
        [RPMI_OP_CAS] = "cas",
        [RPMI_OP_FAA] = "faa",
        [RPMI_OP_STEPS] = "steps",
        [RPMI_OP_ORDER] = "order",
        [RPMI_OP_CARRY] = "carry",
    };

    return kind < RPMI_OP_KINDS && names[kind] != NULL ? names[kind] : "unknown";
}

int rpmi_wrap_connect(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                      struct rpmi_link **link)
{
    (void)url, (void)opts, (void)link;
    return rpmi_fail(RPM_E_NOCAP, "a wrapper cannot connect; name it in the wrap= option of a URL");
}

int rpmi_wrap_reconnect(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_wrap *wrap = wrap_of(link);
    int err = wrap->inner->ops->reconnect(wrap->inner, deadline_ns);

    rpmi_wrap_sync(wrap);
    return err;
}

int rpmi_wrap_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct rpmi_wrap *wrap = wrap_of(link);
    int taken = wrap->inner->ops->post(wrap->inner, ops, n);

    copy_loss(wrap);
    return taken;
}

int rpmi_wrap_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    struct rpmi_wrap *wrap = wrap_of(link);
    int count = wrap->inner->ops->poll(wrap->inner, done, n);

    copy_loss(wrap);
    return count;
}

int rpmi_wrap_wait(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_wrap *wrap = wrap_of(link);
    int err = wrap->inner->ops->wait(wrap->inner, deadline_ns);

    copy_loss(wrap);
    return err;
}

int rpmi_wrap_watch(struct rpmi_link *link, int epoll_fd)
{
    struct rpmi_wrap *wrap = wrap_of(link);

    return wrap->inner->ops->watch(wrap->inner, epoll_fd);
}

int rpmi_wrap_arm(struct rpmi_link *link, uint64_t *by_ns)
{
    struct rpmi_wrap *wrap = wrap_of(link);
    int there = wrap->inner->ops->arm(wrap->inner, by_ns);

    copy_loss(wrap);
    return there;
}

int rpmi_wrap_call(struct rpmi_link *link, const struct rpmi_call *call, struct rpmi_reply *reply,
                   uint64_t deadline_ns)
{
    struct rpmi_wrap *wrap = wrap_of(link);
    int err = wrap->inner->ops->call(wrap->inner, call, reply, deadline_ns);

    copy_loss(wrap);
    return err;
}

void *rpmi_wrap_stage(struct rpmi_link *link, uint64_t bytes)
{
    struct rpmi_wrap *wrap = wrap_of(link);

    return wrap->inner->ops->stage(wrap->inner, bytes);
}

void rpmi_wrap_unstage(struct rpmi_link *link, void *ptr)
{
    struct rpmi_wrap *wrap = wrap_of(link);

    wrap->inner->ops->unstage(wrap->inner, ptr);
}

const void *rpmi_wrap_peek(struct rpmi_link *link, uint32_t key, uint64_t offset, uint64_t len)
{
    struct rpmi_wrap *wrap = wrap_of(link);

    return wrap->inner->ops->peek(wrap->inner, key, offset, len);
}

uint64_t rpmi_wrap_now_ns(struct rpmi_link *link)
{
    struct rpmi_wrap *wrap = wrap_of(link);

    return wrap->inner->ops->now_ns(wrap->inner);
}

void rpmi_wrap_pause(struct rpmi_link *link, uint64_t ns)
{
    struct rpmi_wrap *wrap = wrap_of(link);

    wrap->inner->ops->pause(wrap->inner, ns);
}

void rpmi_wrap_close(struct rpmi_link *link)
{
    struct rpmi_wrap *wrap = wrap_of(link);

    wrap->inner->ops->close(wrap->inner);
    rpmi_free(wrap);
}
