/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * admission.h: the admission queue: connections that were accepted and whose clients have not
 * authenticated yet, each with the origin it comes from. When the queue is full, a new connection
 * evicts one of the origin that holds most entries, so that a flood from one origin evicts its own
 * connections and not those of other clients.
 *
 * It does not distinguish a client from a flood with the same origin, and does not stop a flood
 * from as many origins as there are entries.
 *
 * Tests: tests/unit/serve/admission_test.cpp
 */
#ifndef RPMI_ADMISSION_H
#define RPMI_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Where a connection comes from. IPv4: net and host are both the address. IPv6: the /64 network and
 * the lower half of the address. Unix socket: the peer's user and its process. */
struct rpmi_origin {
    uint64_t net;
    uint64_t host;
};

struct rpmi_admission_entry {
    struct rpmi_origin origin;
    uint64_t order;     /* of arrival */
    uint32_t same_net;  /* entries of this net, this one included */
    uint32_t same_host; /* of those, entries of this host, this one included */
    bool taken;
};

struct rpmi_admission {
    struct rpmi_admission_entry *entry;
    uint32_t entries;
    uint32_t high;  /* entries from this index on are free */
    uint64_t order; /* of the next arrival */
};

/* RPM_E_NOMEM. */
int rpmi_admission_open(struct rpmi_admission *admission, uint32_t entries);
/* Safe on a queue that is all zeros. */
void rpmi_admission_close(struct rpmi_admission *admission);

/* A connection from @origin takes entry @at, which is free. */
void rpmi_admission_enter(struct rpmi_admission *admission, uint32_t at,
                          const struct rpmi_origin *origin);

/* Entry @at is free again, if it was taken: its client authenticated, or the connection ended. */
void rpmi_admission_leave(struct rpmi_admission *admission, uint32_t at);

/* The entry to evict for a connection from @origin: the oldest one of the busiest host in the
 * busiest net, with the new connection counted in. False: no entry is taken. */
bool rpmi_admission_victim(const struct rpmi_admission *admission, const struct rpmi_origin *origin,
                           uint32_t *at);

/* The origin of a connection, all zeros when the kernel does not say. */
struct rpmi_origin rpmi_origin_of_socket(int fd);
struct rpmi_origin rpmi_origin_of_address(const struct sockaddr *address);

#endif
