/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * media.c: open, map and close the memory of a pool. media_file.c opens a path, media_mem.c loads,
 * stores and persists.
 *
 * Invariants
 *   all room is allocated before the first store: a full file system is an error here, never a
 *   bus error later
 *   a declared domain is accepted only if no probe contradicts it, and is marked as declared
 *   after an error the file system is as before
 *
 * Tests: tests/unit/pmem/media_test.cpp
 */
#include "pmem/media.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "pmem/cpu_copy.h"
#include "pmem/media_map.h"
#include "pmem/numa.h"
#include "pmem/probe.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libpmem2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* The kernel's estimate of memory that is available without swapping; 0: unknown. */
static uint64_t memory_available(void)
{
    unsigned long long kilobytes = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");

    if (file == NULL)
        return 0;
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1)
            break;
    (void)fclose(file);
    return (uint64_t)kilobytes << 10;
}

int rpmi_media_open_anonymous(struct rpmi_media *media, const struct rpmi_media_opts *opts)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (opts->huge ? MFD_HUGETLB : 0);
    uint64_t room = memory_available();
    struct statfs fs;

    if (opts->bytes < RPMI_LINE_BYTES || opts->bytes > INT64_MAX)
        return rpmi_fail(RPM_E_INVAL,
                         "anonymous memory of %" PRIu64 " bytes is asked for; at least %u",
                         opts->bytes, RPMI_LINE_BYTES);
    if (!opts->huge && room != 0 && opts->bytes > room)
        return rpmi_fail(RPM_E_NOSPACE,
                         "%" PRIu64 " bytes of memory wanted, %" PRIu64 " available: ask for less",
                         opts->bytes, room);
    media->fd = memfd_create("librpm", flags);
    if (media->fd < 0)
        return rpmi_fail(opts->huge ? RPM_E_NOSPACE : RPM_E_NOMEM, "no %s memory: %s",
                         opts->huge ? "huge page" : "anonymous", strerror(errno));
    media->facts.medium = opts->huge ? RPM_MEDIUM_HUGE : RPM_MEDIUM_DRAM;
    media->mem.bytes = opts->bytes;
    media->mapped_bytes = rpmi_align_up(opts->bytes, RPMI_PAGE_BYTES);
    if (opts->huge && fstatfs(media->fd, &fs) == 0)
        media->mapped_bytes = rpmi_align_up(opts->bytes, (uint64_t)fs.f_bsize);
    if (ftruncate(media->fd, (off_t)media->mapped_bytes) != 0)
        return rpmi_fail(RPM_E_NOSPACE, "no %" PRIu64 " bytes of memory: %s", opts->bytes,
                         strerror(errno));
    return 0;
}

static int map_plain(struct rpmi_media *media)
{
    void *base = mmap(NULL, media->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, media->fd, 0);

    if (base != MAP_FAILED) {
        media->base = base;
        media->facts.granularity_bytes = RPMI_PAGE_BYTES;
        return 0;
    }
    if (media->facts.medium == RPM_MEDIUM_HUGE)
        return rpmi_fail(RPM_E_NOSPACE, "no huge pages for %zu bytes: see vm.nr_hugepages (%s)",
                         media->mapped_bytes, strerror(errno));
    return rpmi_fail(RPM_E_NOMEM, "cannot map %zu bytes: %s", media->mapped_bytes, strerror(errno));
}

static int map_pmem2(struct rpmi_media *media, const char *path)
{
    struct pmem2_config *config = NULL;
    struct pmem2_source *source = NULL;
    int node;
    int err = pmem2_source_from_fd(&source, media->fd);

    if (err == 0)
        err = pmem2_config_new(&config);
    if (err == 0)
        err = pmem2_config_set_required_store_granularity(config, PMEM2_GRANULARITY_PAGE);
    if (err == 0)
        err = pmem2_config_set_length(config, media->mem.bytes);
    if (err == 0)
        err = pmem2_map_new(&media->map, config, source);
    if (err == 0 && pmem2_source_numa_node(source, &node) == 0)
        media->facts.memory_node = node;
    if (config != NULL)
        (void)pmem2_config_delete(&config);
    if (source != NULL)
        (void)pmem2_source_delete(&source);
    if (err != 0)
        return rpmi_fail(err == -ENOMEM ? RPM_E_NOMEM : RPM_E_IO, "cannot map pool %s: %s", path,
                         pmem2_errormsg());
    media->base = pmem2_map_get_address(media->map);
    media->facts.granularity_bytes = rpmi_probe_granularity(media->map);
    return 0;
}

/* Allocate all blocks or pages now, and enter them in the page tables if the kernel has
 * MADV_POPULATE_WRITE. */
static int reserve_room(struct rpmi_media *media, const char *path)
{
    uint64_t bytes = media->mapped_bytes != 0 ? media->mapped_bytes : media->mem.bytes;
    int err;

    if (media->facts.medium == RPM_MEDIUM_DEVDAX)
        return 0;
    err = posix_fallocate(media->fd, 0, (off_t)bytes);
    if (err == ENOSPC || err == EDQUOT || err == ENOMEM)
        return rpmi_fail(RPM_E_NOSPACE, "no room for %" PRIu64 " bytes at %s: %s", bytes,
                         path != NULL ? path : "anonymous memory", strerror(err));
    if (err != 0)
        return rpmi_fail(RPM_E_IO, "cannot allocate %" PRIu64 " bytes at %s: %s", bytes,
                         path != NULL ? path : "anonymous memory", strerror(err));
#ifdef MADV_POPULATE_WRITE
    if (media->facts.medium != RPM_MEDIUM_FILE) /* would make its page cache dirty */
        (void)madvise(media->base, media->mem.bytes, MADV_POPULATE_WRITE);
#endif
    return 0;
}

static int set_domain(struct rpmi_media *media, uint32_t declared)
{
    struct rpm_facts *facts = &media->facts;

    facts->domain = rpmi_probe_domain(facts->medium, facts->granularity_bytes);
    if (declared != RPM_DOMAIN_NONE && declared != facts->domain) {
        if (declared > RPM_DOMAIN_EADR)
            return rpmi_fail(RPM_E_INVAL, "persistence domain %u, known are 0 (as probed) to %u",
                             declared, RPM_DOMAIN_EADR);
        if (facts->medium == RPM_MEDIUM_UNKNOWN && declared != RPM_DOMAIN_MSYNC)
            return rpmi_fail(RPM_E_INVAL, "no domain but msync can be declared for pool %s: %s",
                             media->path, media->backing.why);
        if (facts->medium == RPM_MEDIUM_FILE)
            return rpmi_fail(RPM_E_INVAL, "the pool is a file behind a page cache: only msync "
                                          "makes it durable, no other domain can be declared");
        facts->domain = declared;
        facts->domain_declared = 1;
    }
    if (facts->medium == RPM_MEDIUM_UNKNOWN && facts->domain_declared == 0)
        rpmi_diag(RPM_DIAG_WARNING,
                  "no append to pool %s can be durable: %s; declare the domain msync (rpm-server "
                  "--domain msync) if its msync ends on a medium that survives power loss",
                  media->path, media->backing.why);
    if (facts->domain == RPM_DOMAIN_ADR && !rpmi_cpu.can_flush)
        return rpmi_fail(RPM_E_INVAL,
                         "the pool's domain is ADR, and this CPU has no instruction that this "
                         "library knows to flush its caches (x86-64: clflush, arm64: dc cvap): "
                         "declare msync for a file, or eadr where caches survive power loss");
    return 0;
}

int rpmi_media_map(struct rpmi_media *media, const struct rpmi_media_opts *opts)
{
    bool plain = opts->path == NULL || media->facts.medium == RPM_MEDIUM_HUGE;
    int err;

    if (plain && media->mapped_bytes == 0)
        media->mapped_bytes = media->mem.bytes;
    err = plain ? map_plain(media) : map_pmem2(media, opts->path);
    if (err == 0)
        err = set_domain(media, opts->domain);
    if (err == 0 && opts->numa_node > 0)
        err = rpmi_numa_bind(media->base, media->mem.bytes, opts->numa_node - 1);
    if (err == 0)
        err = reserve_room(media, opts->path);
    return err;
}

static int copy_path(struct rpmi_media *media, const char *path)
{
    size_t bytes = strlen(path) + 1;

    media->path = rpmi_alloc(bytes, sizeof(void *));
    if (media->path == NULL)
        return RPM_E_NOMEM;
    memcpy(media->path, path, bytes);
    return 0;
}

int rpmi_media_open(const struct rpmi_media_opts *opts, struct rpmi_media *media)
{
    struct rpmi_media fresh = { .mem.ops = &rpmi_media_mem_ops, .fd = -1, .lock_fd = -1 };
    int err = 0;

    fresh.facts = rpm_facts_init();
    fresh.facts.line_bytes = RPMI_LINE_BYTES;
    if (opts->path != NULL)
        err = copy_path(&fresh, opts->path);
    if (err == 0)
        err = opts->path != NULL ? rpmi_media_open_path(&fresh, opts)
                                 : rpmi_media_open_anonymous(&fresh, opts);
    if (err == 0)
        err = rpmi_media_map(&fresh, opts);
    if (err != 0) {
        rpmi_media_undo(&fresh);
        rpmi_media_close(&fresh);
        return err;
    }
    if (opts->path == NULL)
        (void)fcntl(fresh.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    if (fresh.facts.medium == RPM_MEDIUM_FSDAX || fresh.facts.medium == RPM_MEDIUM_DEVDAX)
        fresh.facts.line_bytes = RPMI_XPLINE_BYTES;
    else if (fresh.facts.memory_node < 0)
        fresh.facts.memory_node = rpmi_numa_node_of(fresh.base);
    *media = fresh;
    return 0;
}

void rpmi_media_undo(struct rpmi_media *media)
{
    if (media->created && unlink(media->path) != 0)
        rpmi_diag(RPM_DIAG_WARNING, "cannot remove the unfinished pool %s: %s", media->path,
                  strerror(errno));
    if (!media->created && media->sized && ftruncate(media->fd, 0) != 0)
        rpmi_diag(RPM_DIAG_WARNING, "cannot empty the unfinished pool %s: %s", media->path,
                  strerror(errno));
    media->created = false;
    media->sized = false;
}

void rpmi_media_close(struct rpmi_media *media)
{
    if (media->mem.ops == NULL)
        return;
    RPM_ASSERT(media->mem.ops == &rpmi_media_mem_ops);
    if (media->map != NULL)
        (void)pmem2_map_delete(&media->map);
    else if (media->base != NULL)
        (void)munmap(media->base, media->mapped_bytes);
    rpmi_fd_close(&media->fd);
    rpmi_fd_close(&media->lock_fd);
    rpmi_free(media->path);
    memset(media, 0, sizeof(*media));
}
