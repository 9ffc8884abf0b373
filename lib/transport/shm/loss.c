/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loss.c: a link whose server has ended: the socket is closed, or the liveness page says that the
 * server died.
 *
 * Tests: tests/conform/loss_test.cpp
 */
#include "transport/shm/shm.h"

#include "base/err.h"

#include <errno.h>
#include <sys/socket.h>

#define EVENTS_AT_ONCE 64

int rpmi_shm_lose(struct rpmi_shm *shm)
{
    if (shm->link.lost == 0)
        shm->link.lost = RPM_E_LOST;
    return rpmi_fail(RPM_E_LOST, (rpmi_liveness_word(shm->liveness) & FUTEX_OWNER_DIED) != 0
                                     ? "the server's process died; start it again, then reconnect"
                                     : "the server has ended; start it again, then reconnect");
}

/* A server sends only events, one for each arm, and answers, for which call() waits. A faulty
 * server that sends more messages than EVENTS_AT_ONCE wakes this client again, but cannot keep it
 * in this loop. */
bool rpmi_shm_take_events(struct rpmi_shm *shm)
{
    unsigned char byte;
    ssize_t got = 1;

    for (int i = 0; i < EVENTS_AT_ONCE && (got > 0 || (got < 0 && errno == EINTR)); i++)
        got = recv(shm->sock, &byte, sizeof(byte), MSG_DONTWAIT);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}
