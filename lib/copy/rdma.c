/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rdma.c: the copy engine `rdma`: a READ of the link, which a NIC carries out, or the server CPU
 * where the link has none. The READ fetches into staging memory of the link, from which poll()
 * copies; so nothing writes to the caller's memory between two calls.
 *
 * Tests: tests/unit/copy/rdma_test.cpp
 */
#include "copy/copier.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <string.h>

#define COPY_MAX RPMI_BOUNCE_BYTES

struct rdma_copier {
    struct rpmi_copier copier;
    struct rpmi_owner owner;
    uint64_t bytes; /* of the object */
    void *staged;   /* COPY_MAX bytes; NULL: the link completes on post */
    void *into;     /* of the copy that is outstanding */
    uint64_t len;
    uint64_t seq; /* of the READ posted last */
    uint64_t done;
    int status; /* of that one */
};

static struct rdma_copier *rdma_of(struct rpmi_copier *copier)
{
    return (struct rdma_copier *)copier;
}

static struct rdma_copier *owner_of(struct rpmi_owner *owner)
{
    return (struct rdma_copier *)((unsigned char *)owner - offsetof(struct rdma_copier, owner));
}

static void rdma_complete(struct rpmi_owner *owner, uint64_t seq, int status)
{
    struct rdma_copier *ours = owner_of(owner);

    RPM_ASSERT(seq == ours->seq); /* one is outstanding at most */
    ours->done = seq;
    ours->status = status;
}

static void rdma_lost(struct rpmi_owner *owner, int status)
{
    struct rdma_copier *ours = owner_of(owner);

    ours->status = ours->done < ours->seq ? status : ours->status;
    ours->done = ours->seq;
}

static void rdma_caps(const struct rpmi_copier *copier, struct rpmi_copier_caps *caps)
{
    *caps = (struct rpmi_copier_caps){ .bytes_max = COPY_MAX,
                                       .overlaps = !rpmi_conn_is_synchronous(copier->conn) };
}

static int rdma_map(struct rpmi_copier *copier, uint32_t key, uint64_t bytes)
{
    (void)key;
    rdma_of(copier)->bytes = bytes;
    return 0;
}

static int rdma_copy(struct rpmi_copier *copier, uint64_t offset, void *into, uint64_t len)
{
    struct rdma_copier *ours = rdma_of(copier);
    struct rpmi_op op = {
        .kind = RPMI_OP_READ,
        .flags = RPMI_OP_SIGNALED,
        .key = copier->key,
        .offset = offset,
        .len = len,
        .into = ours->staged != NULL ? ours->staged : into,
    };
    int err;

    RPM_ASSERT(rpmi_in_bounds(offset, len, ours->bytes) && len <= COPY_MAX);
    RPM_ASSERT(ours->done == ours->seq);
    err = rpmi_conn_post(copier->conn, &ours->owner, &op, 1, ours->seq + 1);
    if (err != 0 && err != RPMI_POST_DONE)
        return err;
    ours->seq++;
    ours->into = into;
    ours->len = len;
    ours->status = 0;
    if (err == RPMI_POST_DONE)
        ours->done = ours->seq;
    return 0;
}

static int rdma_poll(struct rpmi_copier *copier, int *status)
{
    struct rdma_copier *ours = rdma_of(copier);

    if (ours->done < ours->seq)
        (void)rpmi_conn_pump(copier->conn); /* which calls rdma_lost() after a loss */
    if (ours->done < ours->seq)
        return 0;
    if (ours->status == 0 && ours->staged != NULL)
        memcpy(ours->into, ours->staged, ours->len);
    *status = ours->status;
    return 1;
}

static void rdma_wait(struct rpmi_copier *copier, uint64_t deadline_ns)
{
    (void)rpmi_conn_wait(copier->conn, deadline_ns);
}

static void rdma_unmap(struct rpmi_copier *copier)
{
    rpmi_conn_drain(copier->conn, &rdma_of(copier)->owner);
    copier->busy = false;
}

static void rdma_close(struct rpmi_copier *copier)
{
    struct rdma_copier *ours = rdma_of(copier);
    struct rpmi_link *link = copier->conn->link;

    RPM_ASSERT(!copier->busy);
    rpmi_conn_leave(copier->conn, &ours->owner);
    if (ours->staged != NULL)
        link->ops->unstage(link, ours->staged);
    rpmi_free(ours);
}

static const struct rpmi_copier_ops RDMA_OPS = {
    .name = "rdma",
    .caps = rdma_caps,
    .map = rdma_map,
    .copy = rdma_copy,
    .poll = rdma_poll,
    .wait = rdma_wait,
    .unmap = rdma_unmap,
    .close = rdma_close,
};

int rpmi_rdma_copier_open(struct rpm_conn *conn, struct rpmi_copier **copier)
{
    struct rpmi_link *link = conn->link;
    struct rdma_copier *fresh = rpmi_alloc(sizeof(*fresh), 8);
    int err;

    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->copier.ops = &RDMA_OPS;
    fresh->copier.conn = conn;
    fresh->owner.complete = rdma_complete;
    fresh->owner.lost = rdma_lost;
    err = rpmi_conn_join(conn, &fresh->owner);
    if (err != 0) {
        rpmi_free(fresh);
        return err;
    }
    if (!rpmi_conn_is_synchronous(conn)) {
        fresh->staged = link->ops->stage(link, COPY_MAX);
        if (fresh->staged == NULL) {
            rdma_close(&fresh->copier);
            return rpmi_fail(
                RPM_E_NOMEM,
                "the copy engine 'rdma' needs %u bytes of staging memory, and they are "
                "not left; open the connection with more staging_bytes",
                COPY_MAX);
        }
    }
    *copier = &fresh->copier;
    return 0;
}
