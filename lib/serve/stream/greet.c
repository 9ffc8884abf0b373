/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * greet.c: let a client in that came over a stream, step by step, never waiting for it.
 *
 * Whoever comes in the clear where TLS is spoken, or the other way round, is told so in the words
 * that it understands.
 *
 * Tests: tests/unit/serve/stream/greet_test.cpp
 */
#include "serve/stream/stream.h"

#include "base/assert.h"
#include "base/err.h"
#include "transport/shm/ring.h"
#include "transport/stream/tls.h"

#include <string.h>

#define TLS_HANDSHAKE 0x16u

/* The rest of a message. 1: it is here, 0: not yet, or RPM_E_LOST. */
static int fill(struct rpmi_place *place, unsigned char *to, uint32_t bytes)
{
    while (place->got < bytes) {
        int64_t got = rpmi_pipe_recv(&place->pipe, to + place->got, bytes - place->got);

        if (got <= 0)
            return (int)got;
        place->got += (uint32_t)got;
    }
    place->got = 0;
    return 1;
}

/* A fresh socket takes this much, or its owner is up to something. */
static bool say(struct rpmi_place *place, const void *bytes, size_t len)
{
    const struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };

    return rpmi_pipe_send(&place->pipe, &iov, 1) == (int64_t)len;
}

/* To close a socket with bytes unread would take our last words back. */
static void hear_out(struct rpmi_place *place)
{
    unsigned char bytes[1024];

    for (int i = 0; i < 16; i++)
        if (recv(place->pipe.fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
            return;
}

/* 1: TLS is agreed upon, 0: not yet, or an error. */
static int step_tls(struct rpmi_place *place)
{
    static const unsigned char alert[] = { 0x15, 3, 3, 0, 2, 2, 70 }; /* fatal, protocol version */
    unsigned char first = 0;
    int done;

    if (place->got == 0 && recv(place->pipe.fd, &first, 1, MSG_DONTWAIT | MSG_PEEK) == 1) {
        place->got = 1;
        if (first != TLS_HANDSHAKE) {
            (void)!send(place->pipe.fd, alert, sizeof(alert), MSG_DONTWAIT | MSG_NOSIGNAL);
            hear_out(place);
            return rpmi_fail(RPM_E_PROTO, "a client in the clear where TLS is spoken");
        }
    }
    done = rpmi_tls_shake(place->pipe.tls);
    if (done == 1)
        place->got = 0;
    return done;
}

static int step_opening(struct rpmi_place *place)
{
    int status = fill(place, place->talk.opening, RPMI_OPENING_BYTES);
    int err;

    if (status <= 0)
        return status;
    status = rpmi_opening_get(place->talk.opening, RPMI_OPENING_BYTES);
    err = rpmi_challenge_make(&place->talk, status);
    if (err == 0 && !say(place, place->talk.challenge, RPMI_CHALLENGE_BYTES))
        err = RPM_E_LOST;
    if (status != 0)
        hear_out(place);
    return status != 0 ? status : err != 0 ? err : 1;
}

static int let_in(struct rpmi_stream_listener *listener, struct rpmi_place *place,
                  struct rpmi_welcome *welcome)
{
    struct rpmi_entry entry;
    int err = rpmi_entry_get(&place->talk, listener->base.server->secret, &entry);

    if (err != 0) {
        rpmi_guest_refuse(&listener->base, err, welcome);
        return err;
    }
    err = rpmi_guest_enter(&listener->base, &place->guest, &entry, welcome);
    if (err == 0) {
        welcome->depth = rpmi_ring_slots(entry.depth);
        welcome->staging_bytes = entry.staging_bytes;
    }
    return err;
}

static int step_entry(struct rpmi_stream_listener *listener, struct rpmi_place *place)
{
    unsigned char sealed[RPMI_SEALED_BYTES];
    struct rpmi_welcome welcome;
    int done = fill(place, place->talk.entry, RPMI_ENTRY_BYTES);
    int err;

    if (done <= 0)
        return done;
    done = let_in(listener, place, &welcome);
    err = rpmi_sealed_make(&place->talk, listener->base.server->secret, &welcome, sealed);
    if (err == 0 && !say(place, sealed, sizeof(sealed)))
        err = RPM_E_LOST;
    return done != 0 ? done : err != 0 ? err : 1;
}

int rpmi_stream_greet(struct rpmi_stream_listener *listener, struct rpmi_place *place)
{
    int done = 1;

    RPM_ASSERT(rpmi_place_state(place) == RPMI_PLACE_GREETING);
    while (done > 0)
        switch (place->step) {
        case RPMI_GREET_TLS:
            done = step_tls(place);
            place->step = done > 0 ? RPMI_GREET_OPENING : place->step;
            break;
        case RPMI_GREET_OPENING:
            done = step_opening(place);
            place->step = done > 0 ? RPMI_GREET_ENTRY : place->step;
            break;
        default:
            return step_entry(listener, place);
        }
    return done;
}
