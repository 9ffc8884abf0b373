/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copier.h: copy engines, which copy large ranges of remote memory into this process. A copier is
 * one engine on one connection, and has at most one copy outstanding. A caller whose copier fails
 * reads the same bytes over the link, so a copier that is slow or broken costs time and nothing
 * else.
 *
 * The bytes of a copy are as those of a READ: other clients may change them meanwhile.
 *
 * Threads: that of the connection.   Tests: tests/unit/copy/
 */
#ifndef RPMI_COPIER_H
#define RPMI_COPIER_H

#include "conn/conn.h"

struct rpmi_copier;

struct rpmi_copier_caps {
    uint64_t bytes_max; /* of one copy, at least RPMI_PAGE_BYTES */
    bool overlaps;      /* copy() returns before the bytes are there, and the caller can work */
};

struct rpmi_copier_ops {
    const char *name;

    void (*caps)(const struct rpmi_copier *copier, struct rpmi_copier_caps *caps);

    /* Copy from the object of @key, of @bytes, from now on. No copy is outstanding. RPM_E_NOCAP:
     * this copier does not reach it. */
    int (*map)(struct rpmi_copier *copier, uint32_t key, uint64_t bytes);

    /* Begin to copy [@offset, @offset + @len) of the object, which has them, to @into. Never
     * blocks. On 0 poll() says when @into may be used. RPM_E_BUSY: not now. */
    int (*copy)(struct rpmi_copier *copier, uint64_t offset, void *into, uint64_t len);

    /* 1: the copy has ended, with @status; 0: not yet. Never blocks. */
    int (*poll)(struct rpmi_copier *copier, int *status);

    /* Wait until poll() may return 1, at most until @deadline_ns on the link's clock. */
    void (*wait)(struct rpmi_copier *copier, uint64_t deadline_ns);

    /* Copy from no object. A copy that is outstanding has ended on return: @into is the caller's
     * again. */
    void (*unmap)(struct rpmi_copier *copier);

    /* Free the copier, of which no copy is outstanding: it is not mapped, or unmap() was called. */
    void (*close)(struct rpmi_copier *copier);
};

/* Embedded first in the struct of each backend, which sets @ops. */
struct rpmi_copier {
    const struct rpmi_copier_ops *ops;
    struct rpm_conn *conn;
    bool mapped;
    uint32_t key;        /* of the object that is mapped, */
    uint64_t generation; /* and of the connection when it was */
    bool busy;           /* a copy is outstanding, */
    bool late;           /* which has been waited for until a deadline */
};

/* Is there a backend of this name? 0 and its name, which stays; RPM_E_INVAL. */
int rpmi_copier_check(const char *name, const char **known);

/* A copier by the name of its backend, over @conn, which stays open until the copier is closed.
 * RPM_E_INVAL: there is none of this name. RPM_E_NOMEM, RPM_E_LIMIT. */
int rpmi_copier_open(const char *name, struct rpm_conn *conn, struct rpmi_copier **copier);

/* Map an object, unless it is mapped since the last reconnect. No copy is outstanding. */
int rpmi_copier_map(struct rpmi_copier *copier, uint32_t key, uint64_t bytes);

/* Begin a copy of at most bytes_max from the object that is mapped, as copy(). */
int rpmi_copier_begin(struct rpmi_copier *copier, uint64_t offset, void *into, uint64_t len);

/* Wait for the copy that is outstanding. Its status; RPM_E_TIMEDOUT: it has not ended within the
 * connection's timeout, and is outstanding still. */
int rpmi_copier_finish(struct rpmi_copier *copier);

/* Copy any number of bytes, and wait. No copy is outstanding. RPM_E_TIMEDOUT: one is now. */
int rpmi_copier_read(struct rpmi_copier *copier, uint64_t offset, void *into, uint64_t len);

/* Close, once no copy is outstanding. Safe on NULL. */
void rpmi_copier_close(struct rpmi_copier *copier);

/* cpu.c: this CPU copies memory that the link maps. */
int rpmi_cpu_copier_open(struct rpm_conn *conn, struct rpmi_copier **copier);
/* rdma.c: a READ of the link, by a NIC where it has one. */
int rpmi_rdma_copier_open(struct rpm_conn *conn, struct rpmi_copier **copier);

#endif
