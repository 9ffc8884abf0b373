/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch.h: the epoll set in which a user with an event loop waits for events of a link. The user
 * owns it; it stays the same across reconnects. The user watches it and never reads from it: each
 * descriptor in it stays readable until the link has consumed the event.
 */
#ifndef RPMI_WATCH_H
#define RPMI_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct rpmi_watch {
    bool on; /* the user asked for events */
    int epoll_fd;
};

/* Add @fd, for reading. Does nothing unless events were asked for. RPM_E_NOMEM. */
int rpmi_watch_add(const struct rpmi_watch *watch, int fd);

/* Watch a descriptor of the set for writing too, or for reading only again. */
void rpmi_watch_writable(const struct rpmi_watch *watch, int fd, bool writable);

/* Take @fd out before it is closed. Safe if it is not in. */
void rpmi_watch_drop(const struct rpmi_watch *watch, int fd);

#endif
