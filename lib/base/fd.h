/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fd.h: descriptors: close one that may not be open, wait for an event on one until a deadline.
 */
#ifndef RPMI_FD_H
#define RPMI_FD_H

#include <stdbool.h>
#include <stdint.h>

/* Close @fd and set it to -1. Does nothing if it is negative. */
void rpmi_fd_close(int *fd);

/* Sleep until one of the poll(2) @events is pending on @fd. False: @deadline_ns on the real clock
 * is over, whether an event is pending or not. */
bool rpmi_fd_wait(int fd, short events, uint64_t deadline_ns);

/* How many milliseconds poll(2) has to sleep so that it ends after @deadline_ns, but a minute at
 * most. 0: the deadline is over. */
int rpmi_fd_wait_ms(uint64_t deadline_ns);

#endif
