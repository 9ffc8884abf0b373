/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch.h: the epoll set that a link's news come by, for users with an event loop of their own. It
 * belongs to who asked for it, outlives the link's connections, and is watched, never read: each
 * descriptor in it stays readable until the link has taken in what made it so.
 */
#ifndef RPMI_WATCH_H
#define RPMI_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct rpmi_watch {
    bool on; /* asked for */
    int epoll_fd;
};

/* Put @fd in, for reading. Does nothing unless events were asked for. RPM_E_NOMEM. */
int rpmi_watch_add(const struct rpmi_watch *watch, int fd);

/* Watch a descriptor that is in for writing too, or no more. */
void rpmi_watch_writable(const struct rpmi_watch *watch, int fd, bool writable);

/* Take @fd out before it is closed. Safe if it is not in. */
void rpmi_watch_drop(const struct rpmi_watch *watch, int fd);

#endif
