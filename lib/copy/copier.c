/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copier.c: open a copier by name, and copy by it.
 *
 * Tests: tests/unit/copy/copier_test.cpp
 */
#include "copy/copier.h"

#include "base/assert.h"
#include "base/err.h"

#include <string.h>

static const struct {
    const char *name;
    int (*open)(struct rpm_conn *conn, struct rpmi_copier **copier);
} BACKENDS[] = {
    { "cpu", rpmi_cpu_copier_open },
    { "rdma", rpmi_rdma_copier_open },
};

#define BACKENDS_N (sizeof(BACKENDS) / sizeof(BACKENDS[0]))

/* Its index; BACKENDS_N: there is none. */
static size_t find(const char *name)
{
    size_t i = 0;

    while (i < BACKENDS_N && strcmp(name, BACKENDS[i].name) != 0)
        i++;
    return i;
}

int rpmi_copier_check(const char *name, const char **known)
{
    size_t i = find(name);

    if (i == BACKENDS_N)
        return rpmi_fail(RPM_E_INVAL, "there is no copy engine '%s'; known are cpu and rdma", name);
    *known = BACKENDS[i].name;
    return 0;
}

int rpmi_copier_open(const char *name, struct rpm_conn *conn, struct rpmi_copier **copier)
{
    int err = rpmi_copier_check(name, &name);

    return err != 0 ? err : BACKENDS[find(name)].open(conn, copier);
}

int rpmi_copier_map(struct rpmi_copier *copier, uint32_t key, uint64_t bytes)
{
    int err;

    RPM_ASSERT(!copier->busy);
    if (copier->mapped && copier->key == key && copier->generation == copier->conn->generation)
        return 0;
    if (copier->mapped)
        copier->ops->unmap(copier);
    copier->mapped = false;
    err = copier->ops->map(copier, key, bytes);
    if (err != 0)
        return err;
    copier->mapped = true;
    copier->key = key;
    copier->generation = copier->conn->generation;
    return 0;
}

int rpmi_copier_begin(struct rpmi_copier *copier, uint64_t offset, void *into, uint64_t len)
{
    int err;

    RPM_ASSERT(copier->mapped && !copier->busy && len > 0);
    RPM_ASSERT(copier->generation == copier->conn->generation); /* else the key is void */
    err = copier->ops->copy(copier, offset, into, len);
    copier->busy = err == 0;
    copier->late = false;
    return err;
}

int rpmi_copier_finish(struct rpmi_copier *copier)
{
    uint64_t deadline_ns = rpmi_conn_deadline(copier->conn);
    struct rpmi_link *link = copier->conn->link;
    int status = 0;

    RPM_ASSERT(copier->busy);
    while (copier->ops->poll(copier, &status) == 0) {
        if (link->ops->now_ns(link) >= deadline_ns) {
            copier->late = true;
            return rpmi_fail(RPM_E_TIMEDOUT,
                             "a copy by the copy engine '%s' did not complete within timeout_us",
                             copier->ops->name);
        }
        copier->ops->wait(copier, deadline_ns);
    }
    copier->busy = false;
    return status;
}

int rpmi_copier_read(struct rpmi_copier *copier, uint64_t offset, void *into, uint64_t len)
{
    struct rpmi_copier_caps caps = { 0 };
    uint64_t piece;

    copier->ops->caps(copier, &caps);
    RPM_ASSERT(caps.bytes_max >= RPMI_PAGE_BYTES);
    for (uint64_t at = 0; at < len; at += piece) {
        int err;

        piece = len - at < caps.bytes_max ? len - at : caps.bytes_max;
        err = rpmi_copier_begin(copier, offset + at, (unsigned char *)into + at, piece);
        if (err == 0)
            err = rpmi_copier_finish(copier);
        if (err != 0)
            return err;
    }
    return 0;
}

void rpmi_copier_close(struct rpmi_copier *copier)
{
    if (copier == NULL)
        return;
    if (copier->mapped)
        copier->ops->unmap(copier);
    copier->ops->close(copier);
}
