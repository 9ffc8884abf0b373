/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.c: "wrap=trace": one debug line for each op posted, each completion and each call;
 * LIBRPM_DIAG=debug prints them, so that they show which ops a request becomes.
 *
 * Invariant: an op is traced only once it was taken, so the lines are the order on the wire.
 *
 * Tests: tests/unit/transport/wrap/trace_test.cpp
 */
#include "base/diag.h"
#include "base/mem.h"
#include "transport/wrap/wrap.h"

static void trace_op(const struct rpmi_op *op)
{
    rpmi_diag(RPM_DIAG_DEBUG, "post %s key %u offset %llu len %llu id %llu%s%s%s%s%s%s%s",
              rpmi_op_name(op->kind), op->key, (unsigned long long)op->offset,
              (unsigned long long)op->len, (unsigned long long)op->id,
              (op->flags & RPMI_OP_SIGNALED) != 0 ? " signaled" : "",
              (op->flags & RPMI_OP_FENCED) != 0 ? " fenced" : "",
              (op->flags & RPMI_OP_WORD) == 0 ? ""
              : op->kind == RPMI_OP_ORDER     ? " always"
                                              : " word",
              (op->flags & RPMI_OP_DURABLE) != 0 ? " durable" : "",
              (op->flags & RPMI_OP_OTHER_QP) != 0 ? " other-qp" : "",
              (op->flags & RPMI_OP_WAIT) != 0 ? " wait" : "",
              (op->flags & RPMI_OP_CACHED) != 0 ? " cached" : "");
}

static int trace_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    int taken = rpmi_wrap_post(link, ops, n);

    for (int i = 0; i < taken; i++)
        trace_op(&ops[i]);
    if (taken < 0)
        rpmi_diag(RPM_DIAG_DEBUG, "post of %u ops, first %s: %s", n,
                  n > 0 ? rpmi_op_name(ops[0].kind) : "none", rpm_error_name(taken));
    return taken;
}

static int trace_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    int count = rpmi_wrap_poll(link, done, n);

    for (int i = 0; i < count; i++)
        rpmi_diag(RPM_DIAG_DEBUG, "done id %llu status %s", (unsigned long long)done[i].id,
                  done[i].status == 0 ? "0" : rpm_error_name(done[i].status));
    if (count < 0)
        rpmi_diag(RPM_DIAG_DEBUG, "poll %s", rpm_error_name(count));
    return count;
}

static int trace_call(struct rpmi_link *link, const struct rpmi_call *call,
                      struct rpmi_reply *reply, uint64_t deadline_ns)
{
    int err = rpmi_wrap_call(link, call, reply, deadline_ns);

    rpmi_diag(RPM_DIAG_DEBUG, "call kind %u key %u name %s: %s", call->kind, call->key, call->name,
              err != 0             ? rpm_error_name(err)
              : reply->status != 0 ? rpm_error_name(reply->status)
                                   : "0");
    return err;
}

static int trace_reconnect(struct rpmi_link *link, uint64_t deadline_ns)
{
    int err = rpmi_wrap_reconnect(link, deadline_ns);

    rpmi_diag(RPM_DIAG_DEBUG, "reconnect %s", err == 0 ? "0" : rpm_error_name(err));
    return err;
}

static const struct rpmi_transport_ops trace_ops = {
    .size = sizeof(struct rpmi_transport_ops),
    .scheme = "trace",
    .connect = rpmi_wrap_connect,
    .reconnect = trace_reconnect,
    .post = trace_post,
    .poll = trace_poll,
    .wait = rpmi_wrap_wait,
    .watch = rpmi_wrap_watch,
    .arm = rpmi_wrap_arm,
    .call = trace_call,
    .stage = rpmi_wrap_stage,
    .unstage = rpmi_wrap_unstage,
    .peek = rpmi_wrap_peek,
    .now_ns = rpmi_wrap_now_ns,
    .pause = rpmi_wrap_pause,
    .close = rpmi_wrap_close,
};

static int trace_open(const struct rpmi_url *url, struct rpmi_link *inner, struct rpmi_link **outer)
{
    struct rpmi_wrap *wrap = rpmi_alloc(sizeof(*wrap), RPMI_LINE_BYTES);

    (void)url;
    if (wrap == NULL)
        return RPM_E_NOMEM;
    rpmi_wrap_init(wrap, &trace_ops, inner);
    *outer = &wrap->link;
    return 0;
}

static const char *const trace_keys[] = { NULL };

const struct rpmi_wrapper rpmi_wrap_trace = { "trace", trace_keys, trace_open };
