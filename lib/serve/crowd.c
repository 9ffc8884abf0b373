/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crowd.c: fairness among those who have not said yet who they are. All by the control thread.
 *
 * Invariant: a seat's counts are those of the taken seats of its net and of its host.
 *
 * Tests: tests/unit/serve/crowd_test.cpp
 */
#include "serve/crowd.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/mem.h"

#include <librpm/error.h>
#include <netinet/in.h>

int rpmi_crowd_open(struct rpmi_crowd *crowd, uint32_t seats)
{
    *crowd = (struct rpmi_crowd){ .seats = seats };
    crowd->seat = rpmi_alloc(seats * sizeof(crowd->seat[0]), RPMI_LINE_BYTES);
    return crowd->seat != NULL ? 0 : RPM_E_NOMEM;
}

void rpmi_crowd_close(struct rpmi_crowd *crowd)
{
    rpmi_free(crowd->seat);
    *crowd = (struct rpmi_crowd){ 0 };
}

static bool same_net(const struct rpmi_origin *a, const struct rpmi_origin *b)
{
    return a->net == b->net;
}

static bool same_host(const struct rpmi_origin *a, const struct rpmi_origin *b)
{
    return a->net == b->net && a->host == b->host;
}

/* Everybody's kin from there, when @change of them come. */
static void count_kin(struct rpmi_crowd *crowd, const struct rpmi_origin *origin, int32_t change)
{
    for (uint32_t i = 0; i < crowd->high; i++) {
        struct rpmi_seat *seat = &crowd->seat[i];

        if (!seat->taken || !same_net(&seat->origin, origin))
            continue;
        seat->of_net += (uint32_t)change;
        if (same_host(&seat->origin, origin))
            seat->of_host += (uint32_t)change;
    }
}

void rpmi_crowd_sit(struct rpmi_crowd *crowd, uint32_t at, const struct rpmi_origin *origin)
{
    struct rpmi_seat *fresh = &crowd->seat[at];

    RPM_ASSERT(at < crowd->seats && !fresh->taken);
    if (at >= crowd->high)
        crowd->high = at + 1;
    *fresh = (struct rpmi_seat){ .origin = *origin, .order = crowd->order++ };
    for (uint32_t i = 0; i < crowd->high; i++) {
        const struct rpmi_seat *seat = &crowd->seat[i];

        fresh->of_net += seat->taken && same_net(&seat->origin, origin);
        fresh->of_host += seat->taken && same_host(&seat->origin, origin);
    }
    count_kin(crowd, origin, 1);
    fresh->of_net++;
    fresh->of_host++;
    fresh->taken = true;
}

void rpmi_crowd_rise(struct rpmi_crowd *crowd, uint32_t at)
{
    struct rpmi_seat *seat = &crowd->seat[at];

    RPM_ASSERT(at < crowd->seats);
    if (!seat->taken)
        return;
    count_kin(crowd, &seat->origin, -1);
    RPM_ASSERT(seat->of_net >= seat->of_host);
    seat->taken = false;
    while (crowd->high > 0 && !crowd->seat[crowd->high - 1].taken)
        crowd->high--;
}

/* Should this one go rather than that? */
static bool goes_first(const struct rpmi_seat *seat, const struct rpmi_seat *other,
                       const struct rpmi_origin *origin)
{
    uint32_t net = seat->of_net + same_net(&seat->origin, origin);
    uint32_t other_net = other->of_net + same_net(&other->origin, origin);
    uint32_t host = seat->of_host + same_host(&seat->origin, origin);
    uint32_t other_host = other->of_host + same_host(&other->origin, origin);

    if (net != other_net)
        return net > other_net;
    return host != other_host ? host > other_host : seat->order < other->order;
}

bool rpmi_crowd_pick(const struct rpmi_crowd *crowd, const struct rpmi_origin *origin, uint32_t *at)
{
    const struct rpmi_seat *first = NULL;

    for (uint32_t i = 0; i < crowd->high; i++) {
        const struct rpmi_seat *seat = &crowd->seat[i];

        if (seat->taken && (first == NULL || goes_first(seat, first, origin)))
            first = seat;
    }
    if (first != NULL)
        *at = (uint32_t)(first - crowd->seat);
    return first != NULL;
}

struct rpmi_origin rpmi_origin_of_address(const struct sockaddr *address)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
    const unsigned char *at = six->sin6_addr.s6_addr;
    uint64_t word;

    if (address->sa_family == AF_INET) {
        word = rpmi_load32(&four->sin_addr);
        return (struct rpmi_origin){ word, word };
    }
    if (address->sa_family != AF_INET6)
        return (struct rpmi_origin){ 0 };
    if (!IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        return (struct rpmi_origin){ rpmi_load64(at), rpmi_load64(at + 8) };
    word = rpmi_load32(at + 12);
    return (struct rpmi_origin){ word, word };
}

struct rpmi_origin rpmi_origin_of_socket(int fd)
{
    struct sockaddr_storage address = { 0 };
    socklen_t bytes = sizeof(address);
    struct ucred peer = { 0 };
    socklen_t peer_bytes = sizeof(peer);

    if (getpeername(fd, (struct sockaddr *)&address, &bytes) != 0)
        return (struct rpmi_origin){ 0 };
    if (address.ss_family != AF_UNIX)
        return rpmi_origin_of_address((const struct sockaddr *)&address);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) != 0)
        return (struct rpmi_origin){ 0 };
    return (struct rpmi_origin){ peer.uid, (uint64_t)peer.pid };
}
