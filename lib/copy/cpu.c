/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu.c: the copy engine `cpu`: this CPU copies memory that the link maps into the process, as a
 * direct client of shm: has it.
 *
 * Tests: tests/unit/copy/cpu_test.cpp
 */
#include "copy/copier.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"

#include <string.h>

#define COPY_MAX (1u << 20)

struct cpu_copier {
    struct rpmi_copier copier;
    uint64_t bytes; /* of the object */
};

static struct cpu_copier *cpu_of(struct rpmi_copier *copier)
{
    return (struct cpu_copier *)copier;
}

static void cpu_caps(const struct rpmi_copier *copier, struct rpmi_copier_caps *caps)
{
    (void)copier;
    *caps = (struct rpmi_copier_caps){ .bytes_max = COPY_MAX };
}

static int cpu_map(struct rpmi_copier *copier, uint32_t key, uint64_t bytes)
{
    struct rpmi_link *link = copier->conn->link;

    if (link->lost != 0)
        return link->lost;
    if (link->ops->peek(link, key, 0, bytes) == NULL)
        return rpmi_fail(RPM_E_NOCAP,
                         "the copy engine 'cpu' copies from a pool that this process maps, and "
                         "this connection maps none; use 'rdma', or shm: in mode direct");
    cpu_of(copier)->bytes = bytes;
    return 0;
}

/* The mapping ends with the link: it is looked up for each copy. */
static int cpu_copy(struct rpmi_copier *copier, uint64_t offset, void *into, uint64_t len)
{
    struct rpmi_link *link = copier->conn->link;
    const void *from = NULL;

    RPM_ASSERT(rpmi_in_bounds(offset, len, cpu_of(copier)->bytes));
    if (link->lost == 0)
        from = link->ops->peek(link, copier->key, offset, len);
    if (from == NULL)
        return rpmi_fail(RPM_E_LOST,
                         "the connection was lost, and with it the mapping of the pool; "
                         "rpm_conn_reconnect() first");
    memcpy(into, from, len);
    return 0;
}

static int cpu_poll(struct rpmi_copier *copier, int *status)
{
    RPM_ASSERT(copier->busy);
    *status = 0;
    return 1;
}

static void cpu_wait(struct rpmi_copier *copier, uint64_t deadline_ns)
{
    (void)copier;
    (void)deadline_ns;
}

static void cpu_unmap(struct rpmi_copier *copier)
{
    copier->busy = false;
}

static void cpu_close(struct rpmi_copier *copier)
{
    rpmi_free(cpu_of(copier));
}

static const struct rpmi_copier_ops CPU_OPS = {
    .name = "cpu",
    .caps = cpu_caps,
    .map = cpu_map,
    .copy = cpu_copy,
    .poll = cpu_poll,
    .wait = cpu_wait,
    .unmap = cpu_unmap,
    .close = cpu_close,
};

int rpmi_cpu_copier_open(struct rpm_conn *conn, struct rpmi_copier **copier)
{
    struct cpu_copier *fresh = rpmi_alloc(sizeof(*fresh), 8);

    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->copier.ops = &CPU_OPS;
    fresh->copier.conn = conn;
    *copier = &fresh->copier;
    return 0;
}
