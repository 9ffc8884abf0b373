/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ask.c: send a call to the server over the link's socket, and receive the answer.
 *
 * Tests: tests/unit/transport/shm/ask_test.cpp
 */
#include "transport/shm/shm.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"

#include <unistd.h>

/* Receive the answer, skipping events that arrive before it. */
static int receive_answer(struct rpmi_shm *shm, unsigned char bytes[RPMI_REPLY_BYTES],
                          uint64_t deadline_ns)
{
    int fds[RPMI_SOCK_FDS_MAX];
    int n = 0;
    int got;

    do {
        got = rpmi_sock_recv(shm->sock, bytes, RPMI_REPLY_BYTES, fds, &n, deadline_ns);
        while (n > 0)
            (void)close(fds[--n]);
    } while (got == RPMI_EVENT_BYTES && rpmi_clock_ns() < deadline_ns);
    return got;
}

int rpmi_shm_ask(struct rpmi_shm *shm, const struct rpmi_call *call, struct rpmi_reply *reply,
                 uint64_t deadline_ns)
{
    unsigned char bytes[RPMI_REPLY_BYTES];
    int got;
    int err;

    RPM_ASSERT(shm->sock >= 0); /* the connection is attached */
    rpmi_call_put(bytes, call);
    err = rpmi_sock_send(shm->sock, bytes, RPMI_CALL_BYTES, NULL, 0, deadline_ns);
    if (err != 0)
        return err;
    got = receive_answer(shm, bytes, deadline_ns);
    if (got < 0)
        return got;
    return got == RPMI_REPLY_BYTES
               ? rpmi_reply_get(bytes, reply)
               : rpmi_fail(RPM_E_PROTO, "an answer of %d bytes, expected are %u", got,
                           RPMI_REPLY_BYTES);
}
