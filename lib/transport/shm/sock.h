/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sock.h: whole messages over a Unix socket, with deadlines and descriptors.
 */
#ifndef RPMI_SHM_SOCK_H
#define RPMI_SHM_SOCK_H

#include <stddef.h>
#include <stdint.h>

#define RPMI_SOCK_FDS_MAX 4

/* Send one message, with @n descriptors. Waits for room until @deadline_ns on the real clock, 0:
 * not at all. RPM_E_LOST, RPM_E_TIMEDOUT. */
int rpmi_sock_send(int sock, const void *bytes, size_t len, const int *fds, int n,
                   uint64_t deadline_ns);

/*
 * Receive one message of at most @room bytes. Its length, or RPM_E_LOST (the other side closed the
 * socket), RPM_E_TIMEDOUT, RPM_E_PROTO (longer than @room). @fds, room for RPMI_SOCK_FDS_MAX, and
 * @n: the descriptors that came with it, which the caller must close; set only on success.
 */
int rpmi_sock_recv(int sock, void *bytes, size_t room, int *fds, int *n, uint64_t deadline_ns);

#endif
