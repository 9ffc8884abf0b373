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

#endif
