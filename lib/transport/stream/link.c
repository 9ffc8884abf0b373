/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link.c: a link over a byte stream: connect, call, reconnect, close.
 *
 * Invariants
 *   a call without an answer in time ends the link: the next call would take the late answer for
 *     its own
 *   a reconnect fails if the server has other facts or grants another depth: the plans of open
 *     objects depend on both
 *
 * Tests: tests/unit/transport/stream/link_test.cpp, tests/conform/transport_test.cpp
 */
#include "transport/stream/stream.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "transport/remote.h"
#include "transport/stream/tls.h"

#include <string.h>
#include <unistd.h>

static int take_opts(const struct rpmi_link_opts *opts, struct rpmi_stream *stream)
{
    stream->gathers = opts->gathers;
    stream->auth.depth = opts->depth;
    stream->auth.staging_bytes = rpmi_align_up(opts->staging_bytes, RPMI_PAGE_BYTES);
    (void)memcpy(stream->auth.pool, stream->name.endpoint.pool, sizeof(stream->auth.pool));
    return rpmi_remote_take_opts(opts, stream->secret);
}

static int take_url(const struct rpmi_url *url, struct rpmi_stream *stream)
{
    const char *certificates = rpmi_url_get(url, "tls", NULL);
    int err = rpmi_stream_name_get(url, false, &stream->name);

    return err != 0 || certificates == NULL ? err
                                            : rpmi_tls_client_ctx(certificates, &stream->tls_ctx);
}

/* Allocate slots and pieces: the accept message says how many requests may be outstanding. */
static int take_memory(struct rpmi_stream *stream, uint32_t slots)
{
    RPM_ASSERT((slots & (slots - 1)) == 0); /* requests find their slot by a mask */
    stream->slots = slots;
    stream->piece_room = (slots + 2) * RPMI_STREAM_PIECE_MAX;
    stream->slot = rpmi_alloc(slots * sizeof(stream->slot[0]), RPMI_LINE_BYTES);
    stream->piece = rpmi_alloc(stream->piece_room, sizeof(uint64_t));
    stream->in = rpmi_alloc(RPMI_STREAM_IN_BYTES, sizeof(uint64_t));
    stream->link.depth = slots;
    if (stream->slot == NULL || stream->piece == NULL || stream->in == NULL)
        return RPM_E_NOMEM;
    return rpmi_stage_map(&stream->stage, stream->auth.staging_bytes);
}

static void stream_free(struct rpmi_stream *stream)
{
    rpmi_pipe_close(&stream->pipe);
    rpmi_tls_ctx_free(&stream->tls_ctx);
    memset(stream->secret, 0, sizeof(stream->secret));
    rpmi_stage_unmap(&stream->stage);
    rpmi_free(stream->in);
    rpmi_free(stream->piece);
    rpmi_free(stream->slot);
    rpmi_free(stream);
}

/* Reset all counts, for a new connection. */
static void attach(struct rpmi_stream *stream, const struct rpmi_pipe *pipe,
                   const struct rpmi_accept *accepted)
{
    RPM_ASSERT(stream->pipe.fd < 0); /* no answer of the connection before can arrive */
    stream->pipe = *pipe;
    stream->posted = stream->sent = stream->done = stream->reaped = 0;
    stream->sent_bytes = stream->held_bytes = 0;
    stream->failures = 0;
    stream->broken = false;
    stream->piece_at = 0;
    stream->in_from = stream->in_end = 0;
    stream->data_left = 0;
    stream->call.wanted = stream->call.here = false;
    stream->watches_room = false;
    stream->link.facts = accepted->facts;
    stream->link.flags = rpmi_remote_step_flags(accepted) | RPMI_LINK_COUNTS;
    stream->link.client = accepted->client;
    stream->link.server_epoch = accepted->server_epoch;
    stream->link.lost = 0;
}

static int stream_connect(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                          struct rpmi_link **link)
{
    uint64_t deadline = rpmi_clock_ns() + opts->timeout_us * 1000u;
    struct rpmi_stream *stream = rpmi_alloc(sizeof(*stream), RPMI_LINE_BYTES);
    struct rpmi_accept accepted;
    struct rpmi_pipe pipe;
    int err;

    if (stream == NULL)
        return RPM_E_NOMEM;
    stream->pipe.fd = -1;
    stream->spins = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    err = take_url(url, stream);
    if (err == 0)
        err = take_opts(opts, stream);
    if (err == 0)
        err = rpmi_stream_dial(stream, deadline, &pipe, &accepted);
    if (err == 0) {
        err = take_memory(stream, accepted.depth);
        attach(stream, &pipe, &accepted);
    }
    if (err == 0)
        *link = &stream->link;
    else
        stream_free(stream);
    return err;
}

/* After a reconnect: do the slots and buffers that were allocated for the first accept message fit
 * this one, and are the facts the same? */
static int check_fit(const struct rpmi_stream *stream, const struct rpmi_accept *now)
{
    if (stream->slots != now->depth)
        return rpmi_fail(RPM_E_NOCAP,
                         "the server now grants %u slots, before it were %u; open a new connection",
                         now->depth, stream->slots);
    return rpmi_remote_same_facts(&stream->link.facts, &now->facts);
}

static int redial(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_stream *stream = rpmi_stream_of(link);
    struct rpmi_accept accepted;
    struct rpmi_pipe pipe;
    int err;

    RPM_ASSERT(link->lost != 0); /* its user knows that ops and keys have ended */
    err = rpmi_stream_dial(stream, deadline_ns, &pipe, &accepted);
    if (err != 0)
        return err;
    err = check_fit(stream, &accepted);
    if (err != 0) {
        rpmi_pipe_close(&pipe);
        return err;
    }
    attach(stream, &pipe, &accepted);
    err = rpmi_watch_add(&stream->watch, stream->pipe.fd);
    if (err != 0) {
        rpmi_pipe_close(&stream->pipe);
        stream->link.lost = RPM_E_LOST;
    }
    return err;
}

static int stream_reconnect(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_stream *stream = rpmi_stream_of(link);

    rpmi_watch_drop(&stream->watch, stream->pipe.fd);
    rpmi_pipe_close(&stream->pipe);
    link->lost = RPM_E_LOST;
    return rpmi_remote_redial(link, redial, deadline_ns);
}

/* Receive answers and send requests until the reply has come. */
static int await_reply(struct rpmi_stream *stream, uint64_t deadline_ns)
{
    uint64_t spin_until = rpmi_clock_ns() + (stream->spins ? RPMI_SPIN_NS : 0);

    for (;;) {
        int err = rpmi_stream_receive(stream);
        uint64_t now;

        if (err != 0 || stream->call.here)
            return err;
        now = rpmi_clock_ns();
        if (now >= deadline_ns)
            return rpmi_remote_late();
        if (now >= spin_until)
            (void)rpmi_pipe_wait(&stream->pipe, false, deadline_ns);
    }
}

/* Send what was posted before the call. Receive answers meanwhile: the server receives no requests
 * while the client does not receive its answers. */
static int flush_all(struct rpmi_stream *stream, uint64_t deadline_ns)
{
    for (;;) {
        int err = rpmi_stream_flush(stream);

        if (err != 0 || stream->sent == stream->posted)
            return err;
        err = rpmi_stream_receive(stream);
        if (err == 0)
            err = rpmi_pipe_wait(&stream->pipe, true, deadline_ns);
        if (err != 0)
            return err;
    }
}

static int send_call(struct rpmi_stream *stream, unsigned char *bytes, size_t len,
                     uint64_t deadline_ns)
{
    struct iovec iov = { .iov_base = bytes, .iov_len = len };

    /* The call does not go into the middle of a request. */
    RPM_ASSERT(stream->sent == stream->posted && stream->sent_bytes == 0);
    while (iov.iov_len > 0) {
        int64_t sent = rpmi_pipe_send(&stream->pipe, &iov, 1);
        int err = sent < 0 ? (int)sent : 0;

        if (sent > 0) {
            rpmi_stream_count_sent(stream, (uint64_t)sent);
            iov.iov_base = (unsigned char *)iov.iov_base + sent;
            iov.iov_len -= (size_t)sent;
            continue;
        }
        if (err == 0)
            err = rpmi_stream_receive(stream);
        if (err == 0)
            err = rpmi_pipe_wait(&stream->pipe, true, deadline_ns);
        if (err != 0)
            return err;
    }
    return 0;
}

static int exchange(struct rpmi_stream *stream, const struct rpmi_call *call,
                    struct rpmi_reply *reply, uint64_t deadline_ns)
{
    const struct rpmi_request request = { .kind = RPMI_REQUEST_CALL,
                                          .body_bytes = RPMI_CALL_BYTES };
    unsigned char bytes[RPMI_REQUEST_BYTES + RPMI_CALL_BYTES];
    int err;

    RPM_ASSERT(!stream->call.wanted); /* no late reply is taken for that of this call */
    err = flush_all(stream, deadline_ns);
    if (err != 0)
        return err;
    rpmi_request_put(bytes, &request);
    rpmi_call_put(bytes + RPMI_REQUEST_BYTES, call);
    stream->call.here = false;
    stream->call.wanted = true;
    err = send_call(stream, bytes, sizeof(bytes), deadline_ns);
    if (err == 0)
        err = await_reply(stream, deadline_ns);
    return err == 0 ? rpmi_reply_get(stream->call.reply, reply) : err;
}

static int stream_call(struct rpmi_link *link, const struct rpmi_call *call,
                       struct rpmi_reply *reply, uint64_t deadline_ns)
{
    struct rpmi_stream *stream = rpmi_stream_of(link);
    int err;

    if (link->lost != 0 || stream->broken)
        return rpmi_fail(RPM_E_LOST, "the link is lost: reconnect first");
    err = exchange(stream, call, reply, deadline_ns);
    if (err != 0)
        link->lost = err;
    return err;
}

static int stream_watch(struct rpmi_link *link, int epoll_fd)
{
    struct rpmi_stream *stream = rpmi_stream_of(link);
    int err = 0;

    RPM_ASSERT(!stream->watch.on); /* the set before would keep the descriptor */
    stream->watch = (struct rpmi_watch){ .on = true, .epoll_fd = epoll_fd };
    if (stream->pipe.fd >= 0) /* none: the next reconnect adds it */
        err = rpmi_watch_add(&stream->watch, stream->pipe.fd);
    stream->watch.on = err == 0;
    return err;
}

static void *stream_stage(struct rpmi_link *link, uint64_t bytes)
{
    return rpmi_stage_take(&rpmi_stream_of(link)->stage, bytes);
}

static void stream_unstage(struct rpmi_link *link, void *ptr)
{
    rpmi_stage_give(&rpmi_stream_of(link)->stage, ptr);
}

static void stream_close(struct rpmi_link *link)
{
    stream_free(rpmi_stream_of(link));
}

#define STREAM_TRANSPORT(name)                                                                     \
    {                                                                                              \
        .size = sizeof(struct rpmi_transport_ops), .scheme = (name), .connect = stream_connect,    \
        .reconnect = stream_reconnect, .post = rpmi_stream_post, .poll = rpmi_stream_poll,         \
        .wait = rpmi_stream_wait, .watch = stream_watch, .arm = rpmi_stream_arm,                   \
        .call = stream_call, .stage = stream_stage, .unstage = stream_unstage,                     \
        .close = stream_close                                                                      \
    }

const struct rpmi_transport_ops rpmi_tcp_transport = STREAM_TRANSPORT("tcp");
const struct rpmi_transport_ops rpmi_unix_transport = STREAM_TRANSPORT("unix");
