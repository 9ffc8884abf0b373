/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liveness.h: make and map the liveness page (wire/liveness.h). The memory file is sealed, so that
 * only the server can write to it.
 */
#ifndef RPMI_SHM_LIVENESS_H
#define RPMI_SHM_LIVENESS_H

#include "wire/liveness.h"

/* Server: the page, and a descriptor of it to hand out. RPM_E_NOMEM. */
int rpmi_liveness_open(struct rpmi_liveness **liveness, int *fd);

/* Server: unmap and close. Safe on NULL and -1. */
void rpmi_liveness_close(struct rpmi_liveness *liveness, int fd);

/* Server: from now on rpmi_liveness_alive() is true for clients, until this thread calls
 * rpmi_liveness_end() or dies. */
void rpmi_liveness_begin(struct rpmi_liveness *liveness);
void rpmi_liveness_end(struct rpmi_liveness *liveness);

/* Client: map what the server handed out. RPM_E_PROTO: it is not such a page. RPM_E_NOMEM. */
int rpmi_liveness_map(int fd, const struct rpmi_liveness **liveness);

void rpmi_liveness_unmap(const struct rpmi_liveness *liveness);

#endif
