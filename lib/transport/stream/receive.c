/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receive.c: receive answers, and make completions of them.
 *
 * Waiting: check the socket in a loop for about 50 us, then sleep in poll(2). Each check is a
 * system call, so pauses between them would not help.
 *
 * Invariant: no answer, valid or not, makes the client write outside the memory of an outstanding
 * request.
 *
 * Tests: tests/unit/transport/stream/link_test.cpp, tests/conform/transport_test.cpp
 */
#include "transport/stream/stream.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/err.h"
#include "transport/remote.h"

#include <string.h>

__attribute__((cold)) static int invalid_answer(const char *what)
{
    rpmi_diag(RPM_DIAG_WARNING, "the server sent an invalid answer: %s", what);
    return rpmi_fail(RPM_E_PROTO, "the server sent an invalid answer: %s", what);
}

/* Receives of answers that a server sent before it ended: bounded, because a server may send
 * without end. */
#define RECEIVES_AT_END 64

/* Receive the bytes of a result that have arrived. */
static void take_data(struct rpmi_stream *stream)
{
    struct rpmi_stream_sent *slot = rpmi_stream_slot(stream, stream->data_request);
    uint32_t n = stream->in_end - stream->in_from;

    if (n > stream->data_left)
        n = stream->data_left;
    /* The memory is that of an outstanding request. */
    RPM_ASSERT(stream->data_request - stream->reaped < stream->posted - stream->reaped);
    RPM_ASSERT(n <= slot->want - slot->got);
    memcpy(slot->into + slot->got, stream->in + stream->in_from, n);
    slot->got += n;
    stream->in_from += n;
    stream->data_left -= n;
}

static int begin_data(struct rpmi_stream *stream, const struct rpmi_answer *answer)
{
    struct rpmi_stream_sent *slot;

    if (answer->request < stream->done || answer->request >= stream->sent)
        return invalid_answer("a result of a request that is not outstanding");
    slot = rpmi_stream_slot(stream, answer->request);
    if (answer->value > slot->want - slot->got)
        return invalid_answer("a result longer than the request asks for");
    stream->data_request = answer->request;
    stream->data_left = answer->value;
    return 0;
}

static bool ends_post_only(int status)
{
    return status == RPM_E_FENCED || status == RPM_E_DENIED || status == RPM_E_RANGE;
}

static int take_failure(struct rpmi_stream *stream, const struct rpmi_answer *answer)
{
    struct rpmi_stream_sent *slot;

    if (answer->request < stream->done || answer->request >= stream->posted)
        return invalid_answer("a failure of a request that is not outstanding");
    slot = rpmi_stream_slot(stream, answer->request);
    if (slot->status == 0)
        stream->failures++;
    if (slot->status == 0 || ends_post_only(slot->status))
        slot->status = (int32_t)answer->value; /* a later FAIL that ends the link replaces it */
    return 0;
}

static int take_done(struct rpmi_stream *stream, const struct rpmi_answer *answer)
{
    if (answer->request < stream->done || answer->request > stream->sent)
        return invalid_answer("a count out of bounds");
    stream->done = answer->request;
    return 0;
}

static int take_reply(struct rpmi_stream *stream, const unsigned char *bytes)
{
    if (!stream->call.wanted)
        return invalid_answer("a reply without a call");
    memcpy(stream->call.reply, bytes, sizeof(stream->call.reply));
    stream->call.wanted = false;
    stream->call.here = true;
    return 0;
}

/* Take one answer. 1: taken, 0: it has not arrived whole, or RPM_E_PROTO. */
static int take_answer(struct rpmi_stream *stream)
{
    const unsigned char *from = stream->in + stream->in_from;
    uint32_t here = stream->in_end - stream->in_from;
    struct rpmi_answer answer;
    int err;

    if (here < RPMI_ANSWER_BYTES)
        return 0;
    err = rpmi_answer_get(from, &answer);
    if (err != 0)
        return err;
    if (answer.kind == RPMI_ANSWER_REPLY && here < RPMI_ANSWER_BYTES + RPMI_REPLY_BYTES)
        return 0;
    stream->in_from += RPMI_ANSWER_BYTES;
    switch (answer.kind) {
    case RPMI_ANSWER_DONE:
        err = take_done(stream, &answer);
        break;
    case RPMI_ANSWER_FAIL:
        err = take_failure(stream, &answer);
        break;
    case RPMI_ANSWER_DATA:
        err = begin_data(stream, &answer);
        break;
    default:
        err = take_reply(stream, from + RPMI_ANSWER_BYTES);
        stream->in_from += RPMI_REPLY_BYTES;
        break;
    }
    return err != 0 ? err : 1;
}

static int take_all(struct rpmi_stream *stream)
{
    int taken = 1;

    while (taken > 0 && stream->in_from != stream->in_end)
        if (stream->data_left > 0)
            take_data(stream);
        else
            taken = take_answer(stream);
    RPM_ASSERT(stream->in_from <= stream->in_end); /* no answer is taken before it is whole */
    if (stream->in_from == stream->in_end) {
        stream->in_from = stream->in_end = 0;
    } else if (stream->in_from > 0) {
        memmove(stream->in, stream->in + stream->in_from, stream->in_end - stream->in_from);
        stream->in_end -= stream->in_from;
        stream->in_from = 0;
    }
    return taken < 0 ? taken : 0;
}

int rpmi_stream_receive(struct rpmi_stream *stream)
{
    uint32_t room = RPMI_STREAM_IN_BYTES - stream->in_end;
    int64_t got;

    RPM_ASSERT(room >= RPMI_ANSWER_BYTES); /* what is left over is less than one answer */
    got = rpmi_pipe_recv(&stream->pipe, stream->in + stream->in_end, room);
    if (got <= 0)
        return (int)got;
    stream->link.stats.received_bytes += (uint64_t)got;
    stream->in_end += (uint32_t)got;
    return take_all(stream);
}

/* Send and receive as much as possible without waiting. False: the connection is closed, or an
 * answer is invalid. */
static bool turn(struct rpmi_stream *stream)
{
    if (stream->sent != stream->posted && rpmi_stream_flush(stream) != 0) {
        /* Receive the answers that the server sent before it ended. */
        for (int i = 0; i < RECEIVES_AT_END && rpmi_stream_receive(stream) == 0; i++)
            ;
        return false;
    }
    return rpmi_stream_receive(stream) == 0;
}

/* The outcome of the oldest request that is done. */
static inline int outcome(struct rpmi_stream *stream, const struct rpmi_stream_sent *slot)
{
    if (RPMI_UNLIKELY(stream->broken))
        return RPM_E_LOST;
    if (RPMI_LIKELY(slot->status == 0)) {
        if (RPMI_LIKELY(slot->got == slot->want))
            return 0;
        rpmi_stream_end(stream);
        return invalid_answer("a result shorter than the request asks for");
    }
    RPM_ASSERT(stream->failures > 0);
    stream->failures--;
    if (!ends_post_only(slot->status))
        rpmi_stream_end(stream);
    return slot->status;
}

static int reap(struct rpmi_stream *stream, struct rpmi_done *done, uint32_t n)
{
    uint32_t count = 0;

    RPM_ASSERT(stream->done - stream->reaped <= stream->posted - stream->reaped);
    while (stream->reaped != stream->done && count < n) {
        const struct rpmi_stream_sent *slot = rpmi_stream_slot(stream, stream->reaped);
        int status = outcome(stream, slot);

        stream->reaped++;
        if (RPMI_UNLIKELY(status != 0))
            (void)rpmi_fail(status, "%s", rpmi_remote_reason(status));
        if (status != 0 || slot->signaled)
            done[count++] = (struct rpmi_done){ .id = slot->id, .status = status };
    }
    return (int)count;
}

static int lose(struct rpmi_stream *stream)
{
    if (stream->link.lost == 0)
        stream->link.lost = RPM_E_LOST;
    return rpmi_fail(RPM_E_LOST, "the connection to the server is lost; reconnect");
}

int rpmi_stream_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    struct rpmi_stream *stream = rpmi_stream_of(link);
    int count;

    if (link->lost != 0)
        return RPM_E_LOST;
    if (stream->reaped == stream->done && !stream->broken && !turn(stream))
        rpmi_stream_end(stream);
    count = reap(stream, done, n);
    if (count > 0 || stream->reaped != stream->done)
        return count;
    return RPMI_UNLIKELY(stream->broken && stream->done == stream->posted) ? lose(stream) : 0;
}

static bool ready(const struct rpmi_stream *stream)
{
    return stream->reaped != stream->done || stream->broken;
}

/* The epoll set stays readable while bytes are in the socket, so none can be missed there. But TLS
 * may have read more bytes from the socket than rpmi_pipe_recv() has returned. */
int rpmi_stream_arm(struct rpmi_link *link, uint64_t *by_ns)
{
    struct rpmi_stream *stream = rpmi_stream_of(link);
    bool waits_for_room;

    RPM_ASSERT(stream->watch.on); /* else no event would end the caller's sleep */
    (void)by_ns;
    if (link->lost != 0)
        return 1;
    do {
        if (!ready(stream) && !turn(stream))
            rpmi_stream_end(stream);
        if (ready(stream))
            return 1;
    } while (rpmi_pipe_pending(&stream->pipe));
    waits_for_room = stream->sent != stream->posted;
    if (waits_for_room != stream->watches_room)
        rpmi_watch_writable(&stream->watch, stream->pipe.fd, waits_for_room);
    stream->watches_room = waits_for_room;
    return 0;
}

int rpmi_stream_wait(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_stream *stream = rpmi_stream_of(link);
    uint64_t spin_until = 0;

    if (link->lost != 0)
        return 0;
    for (;;) {
        uint64_t now;

        if (!ready(stream) && !turn(stream))
            rpmi_stream_end(stream);
        if (ready(stream))
            return 0;
        now = rpmi_clock_ns();
        if (now >= deadline_ns)
            return RPM_E_TIMEDOUT;
        if (spin_until == 0)
            spin_until = stream->spins ? now + RPMI_SPIN_NS : now;
        if (now < spin_until)
            continue;
        link->stats.sleeps++;
        (void)rpmi_pipe_wait(&stream->pipe, stream->sent != stream->posted, deadline_ns);
    }
}
