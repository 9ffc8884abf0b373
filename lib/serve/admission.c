/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * admission.c: choose the unauthenticated connection that a new one evicts. Called by the control
 * thread only.
 *
 * Invariant: same_net and same_host of a taken entry count the taken entries of its net and host.
 *
 * Tests: tests/unit/serve/admission_test.cpp
 */
#include "serve/admission.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/mem.h"

#include <librpm/error.h>
#include <netinet/in.h>

int rpmi_admission_open(struct rpmi_admission *admission, uint32_t entries)
{
    RPM_ASSERT(entries > 0);
    *admission = (struct rpmi_admission){ .entries = entries };
    admission->entry = rpmi_alloc(entries * sizeof(admission->entry[0]), RPMI_LINE_BYTES);
    return admission->entry != NULL ? 0 : RPM_E_NOMEM;
}

void rpmi_admission_close(struct rpmi_admission *admission)
{
    rpmi_free(admission->entry);
    *admission = (struct rpmi_admission){ 0 };
}

static bool is_same_net(const struct rpmi_origin *a, const struct rpmi_origin *b)
{
    return a->net == b->net;
}

static bool is_same_host(const struct rpmi_origin *a, const struct rpmi_origin *b)
{
    return a->net == b->net && a->host == b->host;
}

/* Add @change to the counts of all entries with this origin. */
static void add_to_counts(struct rpmi_admission *admission, const struct rpmi_origin *origin,
                          int32_t change)
{
    for (uint32_t i = 0; i < admission->high; i++) {
        struct rpmi_admission_entry *entry = &admission->entry[i];

        if (!entry->taken || !is_same_net(&entry->origin, origin))
            continue;
        RPM_ASSERT(change > 0 || entry->same_net > 0);
        entry->same_net += (uint32_t)change;
        if (is_same_host(&entry->origin, origin))
            entry->same_host += (uint32_t)change;
    }
}

void rpmi_admission_enter(struct rpmi_admission *admission, uint32_t at,
                          const struct rpmi_origin *origin)
{
    struct rpmi_admission_entry *fresh = &admission->entry[at];

    RPM_ASSERT(at < admission->entries && !fresh->taken);
    if (at >= admission->high)
        admission->high = at + 1;
    *fresh = (struct rpmi_admission_entry){ .origin = *origin, .order = admission->order++ };
    for (uint32_t i = 0; i < admission->high; i++) {
        const struct rpmi_admission_entry *entry = &admission->entry[i];

        fresh->same_net += entry->taken && is_same_net(&entry->origin, origin);
        fresh->same_host += entry->taken && is_same_host(&entry->origin, origin);
    }
    add_to_counts(admission, origin, 1);
    fresh->same_net++;
    fresh->same_host++;
    fresh->taken = true;
    RPM_ASSERT(fresh->same_net >= fresh->same_host && fresh->same_net <= admission->high);
}

void rpmi_admission_leave(struct rpmi_admission *admission, uint32_t at)
{
    struct rpmi_admission_entry *entry = &admission->entry[at];

    RPM_ASSERT(at < admission->entries);
    if (!entry->taken)
        return;
    add_to_counts(admission, &entry->origin, -1);
    RPM_ASSERT(entry->same_net >= entry->same_host);
    entry->taken = false;
    while (admission->high > 0 && !admission->entry[admission->high - 1].taken)
        admission->high--;
    RPM_ASSERT(admission->high <= admission->entries);
}

/* Should a new connection from @origin evict @entry rather than @other? */
static bool evicted_before(const struct rpmi_admission_entry *entry,
                           const struct rpmi_admission_entry *other,
                           const struct rpmi_origin *origin)
{
    uint32_t net = entry->same_net + is_same_net(&entry->origin, origin);
    uint32_t other_net = other->same_net + is_same_net(&other->origin, origin);
    uint32_t host = entry->same_host + is_same_host(&entry->origin, origin);
    uint32_t other_host = other->same_host + is_same_host(&other->origin, origin);

    if (net != other_net)
        return net > other_net;
    return host != other_host ? host > other_host : entry->order < other->order;
}

bool rpmi_admission_victim(const struct rpmi_admission *admission, const struct rpmi_origin *origin,
                           uint32_t *at)
{
    const struct rpmi_admission_entry *first = NULL;

    for (uint32_t i = 0; i < admission->high; i++) {
        const struct rpmi_admission_entry *entry = &admission->entry[i];

        if (entry->taken && (first == NULL || evicted_before(entry, first, origin)))
            first = entry;
    }
    RPM_ASSERT(first == NULL || first->same_host >= 1); /* it counts itself */
    RPM_ASSERT(first != NULL || admission->high == 0);  /* the last entry below high is taken */
    if (first != NULL)
        *at = (uint32_t)(first - admission->entry);
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
