/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * media.h: the memory of a pool: anonymous DRAM, huge pages, a file on any file system, persistent
 * memory. Determines its persistence domain and brings ranges there.
 *
 * Tests: tests/unit/pmem/media_test.cpp
 */
#ifndef RPMI_MEDIA_H
#define RPMI_MEDIA_H

#include "pmem/backing.h"
#include "pool/mem.h"

#include <librpm/facts.h>
#include <stdbool.h>
#include <stddef.h>

struct pmem2_map;

struct rpmi_media_opts {
    const char *path; /* NULL: anonymous */
    uint64_t bytes;   /* anonymous, or when created */
    bool create;      /* make the file if there is none, size it if it is empty */
    bool huge;        /* anonymous: on huge pages */
    uint32_t domain;  /* enum rpm_domain declared by the operator; 0: only what is probed */
    int numa_node;    /* node + 1; 0: leave it */
};

struct rpmi_media {
    struct rpmi_mem mem; /* load, store, persist over the mapping */
    unsigned char *base;
    int fd;                      /* passed to clients that map the pool: read and write */
    int lock_fd;                 /* holds the lock against a second server; never passed on */
    bool created;                /* the file, by this open */
    bool sized;                  /* it was empty */
    int failed;                  /* a persist failed: no later one can be trusted */
    struct rpm_facts facts;      /* medium, domain, granularity, node */
    struct rpmi_backing backing; /* of a path: why its medium is unknown */
    struct pmem2_map *map;       /* of a path; NULL: plain mmap */
    char *path;                  /* NULL: anonymous */
    size_t mapped_bytes;         /* plain mmap: page-rounded */
};

/*
 * Open, lock, check and map. Room is allocated, so that a store never finds the medium full.
 * Existing content that is neither a pool of this library nor all zeros is refused here.
 * RPM_E_NOENT, RPM_E_DENIED, RPM_E_OWNED, RPM_E_NOSPACE, RPM_E_FOREIGN, RPM_E_VERSION,
 * RPM_E_CORRUPT, RPM_E_INVAL, RPM_E_NOMEM, RPM_E_IO. On an error everything that was created is
 * removed.
 */
int rpmi_media_open(const struct rpmi_media_opts *opts, struct rpmi_media *media);

/* Do flush instructions, or a fence, bring bytes to the domain, so that a client which maps the
 * pool can do it without the server? */
bool rpmi_media_by_cpu(const struct rpmi_media *media);

/* Remove a file that this open created, if the server could not use it. */
void rpmi_media_undo(struct rpmi_media *media);

/* Unmap and unlock. Safe on a struct of zeros. */
void rpmi_media_close(struct rpmi_media *media);

#endif
