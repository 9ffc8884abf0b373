/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answer.c: the engine's dealings with sockets: bytes in, answers out.
 *
 * To look at the sockets is a system call, so it is done every so many turns of the engine: often
 * enough to be hidden by the time a packet takes, seldom enough not to slow down the rings.
 *
 * Tests: tests/unit/serve/stream/guests_test.cpp, tests/conform/transport_test.cpp
 */
#include "serve/stream/stream.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 32
#define LOOK_EVERY 16u /* turns */

void rpmi_place_say(struct rpmi_place *place, uint8_t kind, uint32_t value, uint64_t request)
{
    const struct rpmi_answer answer = { .kind = kind, .value = value, .request = request };

    RPM_ASSERT(RPMI_STREAM_OUT_BYTES - place->out_end >= RPMI_ANSWER_BYTES);
    rpmi_answer_put(place->out + place->out_end, &answer);
    place->out_end += RPMI_ANSWER_BYTES;
}

static void ring_bell(struct rpmi_stream_listener *listener)
{
    uint64_t one = 1;

    if (write(listener->bell, &one, sizeof(one)) < 0)
        RPM_ASSERT(errno == EAGAIN);
}

static void set_held(struct rpmi_stream_listener *listener, struct rpmi_place *place, bool held)
{
    listener->held += (uint32_t)held;
    listener->held -= (uint32_t)place->held;
    place->held = held;
}

void rpmi_place_end(struct rpmi_stream_listener *listener, struct rpmi_place *place)
{
    RPM_ASSERT(place->state == RPMI_PLACE_LIVE);
    rpmi_stream_set_todo(listener, place, false);
    set_held(listener, place, false);
    place->taken = false;
    (void)epoll_ctl(listener->base.engine_fd, EPOLL_CTL_DEL, place->pipe.fd, NULL);
    __atomic_fetch_sub(&listener->live, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&place->state, RPMI_PLACE_DEAD, __ATOMIC_RELEASE);
    ring_bell(listener);
}

/* A guest whose way out is full is not read from either. */
static void watch(struct rpmi_stream_listener *listener, struct rpmi_place *place, uint32_t events)
{
    struct epoll_event event = { .events = events,
                                 .data.u64 = (uint64_t)(place - listener->place) };

    if (place->watched == events)
        return;
    place->watched = events;
    if (epoll_ctl(listener->base.engine_fd, EPOLL_CTL_MOD, place->pipe.fd, &event) != 0)
        rpmi_place_end(listener, place);
}

static void stall(struct rpmi_stream_listener *listener, struct rpmi_place *place, bool moved)
{
    bool first = __atomic_load_n(&place->stalled_ns, __ATOMIC_RELAXED) == 0;

    if (first || moved)
        __atomic_store_n(&place->stalled_ns, rpmi_clock_ns(), __ATOMIC_RELAXED);
    if (first)
        ring_bell(listener); /* it keeps the time */
}

/* Send what is there to be sent. */
static void flush(struct rpmi_stream_listener *listener, struct rpmi_place *place)
{
    bool moved = false;

    while (place->out_from != place->out_end) {
        const struct iovec iov = { .iov_base = place->out + place->out_from,
                                   .iov_len = place->out_end - place->out_from };
        int64_t sent = rpmi_pipe_send(&place->pipe, &iov, 1);

        if (sent < 0) {
            rpmi_place_end(listener, place);
            return;
        }
        if (sent == 0)
            break;
        place->out_from += (uint32_t)sent;
        moved = true;
    }
    if (place->out_from == place->out_end) {
        place->out_from = place->out_end = 0;
        if (place->choked) /* a READ may be half answered, with nothing more to come in */
            rpmi_stream_set_todo(listener, place, true);
        place->choked = false;
        __atomic_store_n(&place->stalled_ns, 0, __ATOMIC_RELAXED);
        watch(listener, place, EPOLLIN);
        return;
    }
    stall(listener, place, moved);
    memmove(place->out, place->out + place->out_from, place->out_end - place->out_from);
    place->out_end -= place->out_from;
    place->out_from = 0;
    place->choked = true;
    rpmi_stream_set_todo(listener, place, false);
    watch(listener, place, EPOLLOUT);
}

/* Take in what is there, as far as there is room. */
static void receive(struct rpmi_stream_listener *listener, struct rpmi_place *place)
{
    int64_t got;

    if (place->in_from == place->in_end) {
        place->in_from = place->in_end = 0;
    } else if (place->in_from != 0) {
        memmove(place->in, place->in + place->in_from, place->in_end - place->in_from);
        place->in_end -= place->in_from;
        place->in_from = 0;
    }
    if (place->in_end == RPMI_STREAM_TAKE_BYTES)
        return;
    got = rpmi_pipe_recv(&place->pipe, place->in + place->in_end,
                         RPMI_STREAM_TAKE_BYTES - place->in_end);
    if (got < 0) {
        rpmi_place_end(listener, place);
        return;
    }
    place->in_end += (uint32_t)got;
    set_held(listener, place, rpmi_pipe_holds(&place->pipe));
    if (got == 0)
        return;
    listener->last = (uint32_t)(place - listener->place);
    rpmi_stream_set_todo(listener, place, true);
}

/* The control thread has something for us: guests, replies. */
static void hear_nudge(struct rpmi_stream_listener *listener)
{
    uint32_t high = __atomic_load_n(&listener->high, __ATOMIC_ACQUIRE);

    listener->nudges_seen = __atomic_load_n(&listener->nudges, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < high; i++) {
        struct rpmi_place *place = &listener->place[i];
        struct rpmi_guest *guest = &place->guest;

        if (rpmi_place_state(place) != RPMI_PLACE_LIVE)
            continue;
        set_held(listener, place, rpmi_pipe_holds(&place->pipe));
        if (__atomic_load_n(&guest->call_state, __ATOMIC_ACQUIRE) != RPMI_GUEST_ANSWERED)
            continue;
        rpmi_place_say(place, RPMI_ANSWER_REPLY, RPMI_REPLY_BYTES, 0);
        memcpy(place->out + place->out_end, guest->reply, RPMI_REPLY_BYTES);
        place->out_end += RPMI_REPLY_BYTES;
        __atomic_store_n(&guest->call_state, RPMI_GUEST_IDLE, __ATOMIC_RELAXED);
        if (!place->choked)
            flush(listener, place);
    }
}

static void hear_guest(struct rpmi_stream_listener *listener, struct rpmi_place *place,
                       uint32_t events)
{
    if (rpmi_place_state(place) != RPMI_PLACE_LIVE)
        return;
    if (place->choked && (events & (EPOLLHUP | EPOLLERR)) != 0)
        rpmi_place_end(listener, place);
    else if (place->choked)
        flush(listener, place);
    else
        receive(listener, place);
}

/* What TLS took off a socket in one go and nobody has asked for. */
static void hear_held(struct rpmi_stream_listener *listener)
{
    uint32_t high = __atomic_load_n(&listener->high, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < high; i++) {
        struct rpmi_place *place = &listener->place[i];

        if (rpmi_place_state(place) == RPMI_PLACE_LIVE && place->held && !place->choked)
            receive(listener, place);
    }
}

/* A single guest is asked without asking for whom there is something first. */
static bool hear_only_guest(struct rpmi_stream_listener *listener)
{
    struct rpmi_place *place = &listener->place[listener->last];

    if (__atomic_load_n(&listener->live, __ATOMIC_ACQUIRE) != 1 ||
        rpmi_place_state(place) != RPMI_PLACE_LIVE || place->choked)
        return false;
    receive(listener, place);
    return true;
}

void rpmi_stream_look(struct rpmi_stream_listener *listener)
{
    struct epoll_event events[EVENTS_MAX];
    int n;

    if (__atomic_load_n(&listener->nudges, __ATOMIC_ACQUIRE) != listener->nudges_seen)
        hear_nudge(listener);
    if (listener->turns++ % LOOK_EVERY != 0 ||
        __atomic_load_n(&listener->live, __ATOMIC_ACQUIRE) == 0)
        return;
    if (listener->held != 0)
        hear_held(listener);
    if (hear_only_guest(listener))
        return;
    n = epoll_wait(listener->base.engine_fd, events, EVENTS_MAX, 0);
    for (int i = 0; i < n; i++)
        if (events[i].data.u64 < listener->places)
            hear_guest(listener, &listener->place[events[i].data.u64], events[i].events);
}

void rpmi_stream_answer(struct rpmi_listener *base, const struct rpmi_batch *batch)
{
    struct rpmi_stream_listener *listener = rpmi_stream_listener_of(base);
    uint32_t high = __atomic_load_n(&listener->high, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < high; i++) {
        struct rpmi_place *place = &listener->place[i];

        if (rpmi_place_state(place) != RPMI_PLACE_LIVE || !place->taken)
            continue;
        place->taken = false;
        if (RPMI_UNLIKELY(batch->msync_status != 0) && place->promised != 0)
            rpmi_place_say(place, RPMI_ANSWER_FAIL, (uint32_t)batch->msync_status,
                           place->promised - 1);
        if (place->told != place->next)
            rpmi_place_say(place, RPMI_ANSWER_DONE, 0, place->next);
        place->told = place->next;
        flush(listener, place);
    }
}
