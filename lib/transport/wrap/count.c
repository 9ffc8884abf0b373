/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count.c: "wrap=count": count ops of each kind, their bytes and their time, and report them as
 * notices when the link is closed.
 *
 * The time of an op runs from its post to its completion. Only signalled ops have a completion, so
 * only they are timed; on a link that completes on post the time of the whole post counts for its
 * last op.
 *
 * Invariant: at most @depth signalled ops are waiting; one beyond that goes untimed.
 *
 * Tests: tests/unit/transport/wrap/count_test.cpp
 */
#include "base/assert.h"
#include "base/diag.h"
#include "base/mem.h"
#include "transport/wrap/wrap.h"

#include <inttypes.h>

struct waiting {
    uint64_t id;
    uint64_t since_ns;
    uint8_t kind;
};

struct kind_count {
    uint64_t ops;
    uint64_t bytes;
    uint64_t failed;
    struct rpm_hist took_ns;
};

struct count {
    struct rpmi_wrap wrap;
    struct kind_count kind[RPMI_OP_KINDS];
    uint64_t calls;
    uint64_t posts;
    uint32_t first; /* oldest waiting */
    uint32_t used;
    uint32_t room;
    struct waiting *waiting;
};

static struct count *count_of(struct rpmi_link *link)
{
    struct count *count = (struct count *)(void *)link;

    RPM_ASSERT(count->used <= count->room);
    return count;
}

static struct kind_count *kind_of(struct count *count, uint8_t kind)
{
    return &count->kind[kind < RPMI_OP_KINDS ? kind : 0];
}

static void count_taken(struct count *count, const struct rpmi_op *op, uint64_t now_ns)
{
    struct kind_count *kind = kind_of(count, op->kind);
    struct waiting *waiting;

    kind->ops++;
    kind->bytes += op->len;
    if ((count->wrap.link.flags & RPMI_LINK_COMPLETES_ON_POST) != 0)
        return;
    if ((op->flags & RPMI_OP_SIGNALED) == 0 || count->used == count->room)
        return;
    waiting = &count->waiting[(count->first + count->used) % count->room];
    *waiting = (struct waiting){ .id = op->id, .since_ns = now_ns, .kind = op->kind };
    count->used++;
}

static int count_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct count *count = count_of(link);
    uint64_t since_ns = rpmi_wrap_now_ns(link);
    int taken = rpmi_wrap_post(link, ops, n);

    count->posts++;
    for (int i = 0; i < taken; i++)
        count_taken(count, &ops[i], since_ns);
    if ((link->flags & RPMI_LINK_COMPLETES_ON_POST) == 0 || n == 0)
        return taken;
    if (taken < 0)
        kind_of(count, ops[0].kind)->failed++;
    if (taken > 0)
        rpm_hist_add(&kind_of(count, ops[taken - 1].kind)->took_ns,
                     rpmi_wrap_now_ns(link) - since_ns);
    return taken;
}

/* A failed op that was not signalled is reported too: it is not in the queue. */
static void count_done(struct count *count, const struct rpmi_done *done, uint64_t now_ns)
{
    const struct waiting *waiting = &count->waiting[count->first];
    struct kind_count *kind;

    if (count->used == 0 || waiting->id != done->id) {
        count->kind[0].failed += done->status != 0;
        return;
    }
    kind = kind_of(count, waiting->kind);
    if (done->status == 0)
        rpm_hist_add(&kind->took_ns, now_ns - waiting->since_ns);
    else
        kind->failed++;
    count->first = (count->first + 1) % count->room;
    count->used--;
}

static int count_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    struct count *count = count_of(link);
    int reaped = rpmi_wrap_poll(link, done, n);
    uint64_t now_ns = reaped > 0 ? rpmi_wrap_now_ns(link) : 0;

    for (int i = 0; i < reaped; i++)
        count_done(count, &done[i], now_ns);
    return reaped;
}

static int count_call(struct rpmi_link *link, const struct rpmi_call *call,
                      struct rpmi_reply *reply, uint64_t deadline_ns)
{
    count_of(link)->calls++;
    return rpmi_wrap_call(link, call, reply, deadline_ns);
}

static int count_reconnect(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct count *count = count_of(link);

    count->first = 0;
    count->used = 0;
    return rpmi_wrap_reconnect(link, deadline_ns);
}

static void count_report(const struct count *count)
{
    rpmi_diag(RPM_DIAG_NOTICE, "count posts %" PRIu64 " calls %" PRIu64, count->posts,
              count->calls);
    for (uint8_t k = 0; k < RPMI_OP_KINDS; k++) {
        const struct kind_count *kind = &count->kind[k];

        if (kind->ops == 0 && kind->failed == 0)
            continue;
        rpmi_diag(RPM_DIAG_NOTICE,
                  "count %s ops %" PRIu64 " bytes %" PRIu64 " failed %" PRIu64 " timed %" PRIu64
                  " p50 %" PRIu64 " p99 %" PRIu64 " max %" PRIu64 " ns",
                  k == 0 ? "unsignalled" : rpmi_op_name(k), kind->ops, kind->bytes, kind->failed,
                  kind->took_ns.count, rpm_hist_percentile(&kind->took_ns, 500),
                  rpm_hist_percentile(&kind->took_ns, 990), kind->took_ns.max);
    }
}

static void count_close(struct rpmi_link *link)
{
    struct count *count = count_of(link);

    count_report(count);
    rpmi_free(count->waiting);
    rpmi_wrap_close(link);
}

static const struct rpmi_transport_ops count_ops = {
    .size = sizeof(struct rpmi_transport_ops),
    .scheme = "count",
    .connect = rpmi_wrap_connect,
    .reconnect = count_reconnect,
    .post = count_post,
    .poll = count_poll,
    .wait = rpmi_wrap_wait,
    .watch = rpmi_wrap_watch,
    .arm = rpmi_wrap_arm,
    .call = count_call,
    .stage = rpmi_wrap_stage,
    .unstage = rpmi_wrap_unstage,
    .peek = rpmi_wrap_peek,
    .now_ns = rpmi_wrap_now_ns,
    .pause = rpmi_wrap_pause,
    .close = count_close,
};

static int count_open(const struct rpmi_url *url, struct rpmi_link *inner, struct rpmi_link **outer)
{
    struct count *count = rpmi_alloc(sizeof(*count), RPMI_LINE_BYTES);

    (void)url;
    if (count == NULL)
        return RPM_E_NOMEM;
    count->room = inner->depth > 0 ? inner->depth : RPMI_DEPTH_DEFAULT;
    count->waiting = rpmi_alloc(count->room * sizeof(*count->waiting), RPMI_LINE_BYTES);
    if (count->waiting == NULL) {
        rpmi_free(count);
        return RPM_E_NOMEM;
    }
    for (int k = 0; k < RPMI_OP_KINDS; k++)
        rpm_hist_init(&count->kind[k].took_ns);
    rpmi_wrap_init(&count->wrap, &count_ops, inner);
    *outer = &count->wrap.link;
    return 0;
}

static const char *const count_keys[] = { NULL };

const struct rpmi_wrapper rpmi_wrap_count = { "count", count_keys, count_open };
