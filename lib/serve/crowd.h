/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crowd.h: who makes room when more knock at a port than there are places for. Whoever has not been
 * greeted yet sits on a seat, and it is known from where. Room is made by those from where most
 * come, so that a flood from one place pushes out itself and not the others.
 *
 * What it cannot do: tell apart those who come from one place, or keep out a flood from as many
 * places as there are seats.
 *
 * Tests: tests/unit/serve/crowd_test.cpp
 */
#ifndef RPMI_CROWD_H
#define RPMI_CROWD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* An IPv4 address, twice; the network (/64) of an IPv6 address and the rest of it; the user at the
 * other end of a Unix socket and its process. */
struct rpmi_origin {
    uint64_t net;
    uint64_t host;
};

struct rpmi_seat {
    struct rpmi_origin origin;
    uint64_t order;   /* in which they came */
    uint32_t of_net;  /* how many on seats are from there, with this one */
    uint32_t of_host; /* and of those, how many from this host */
    bool taken;
};

struct rpmi_crowd {
    struct rpmi_seat *seat;
    uint32_t seats;
    uint32_t high; /* no seat taken from here on */
    uint64_t order;
};

/* RPM_E_NOMEM. */
int rpmi_crowd_open(struct rpmi_crowd *crowd, uint32_t seats);
/* Safe on one that is all zeros. */
void rpmi_crowd_close(struct rpmi_crowd *crowd);

/* Somebody from @origin takes seat @at, which is free. */
void rpmi_crowd_sit(struct rpmi_crowd *crowd, uint32_t at, const struct rpmi_origin *origin);

/* The seat is free again, if it was taken. */
void rpmi_crowd_rise(struct rpmi_crowd *crowd, uint32_t at);

/* Who is to make room for one more from @origin: from the net from where most come, this one
 * counted in, and there from the host from where most come, whoever sits longest. @at: its seat.
 * False: nobody sits. */
bool rpmi_crowd_pick(const struct rpmi_crowd *crowd, const struct rpmi_origin *origin,
                     uint32_t *at);

/* From where the other side comes. All zeros when it cannot be told. */
struct rpmi_origin rpmi_origin_of_socket(int fd);
struct rpmi_origin rpmi_origin_of_address(const struct sockaddr *address);

#endif
