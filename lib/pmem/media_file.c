/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * media_file.c: open the file or device of a pool, lock it against a second server, and check that
 * it is a pool or empty.
 *
 * The lock is flock() on an open file whose descriptor is never passed to a client: the client
 * would keep the lock after this process died.
 *
 * Invariants
 *   a file is created, sized or removed only while its lock is held
 *   a file that is neither a pool nor all zeros is never changed
 *
 * Tests: tests/unit/pmem/media_test.cpp
 */
#include "pmem/media_map.h"

#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "pmem/probe.h"
#include "wire/field.h"
#include "wire/start.h"
#include "wire/super.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libpmem2.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_failed(const char *path, int err)
{
    switch (err) {
    case ENOENT:
    case ENOTDIR:
        return rpmi_fail(
            RPM_E_NOENT,
            "there is no pool %s; a server creates it if it is given a size (rpm-server --size)",
            path);
    case EACCES:
    case EPERM:
    case EROFS:
        return rpmi_fail(RPM_E_DENIED, "cannot open pool %s for writing: %s", path, strerror(err));
    case ENOSPC:
    case EDQUOT:
        return rpmi_fail(RPM_E_NOSPACE, "cannot create pool %s: %s", path, strerror(err));
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
        return rpmi_fail(RPM_E_INVAL, "cannot open pool %s: %s", path, strerror(err));
    default:
        return rpmi_fail(RPM_E_IO, "cannot open pool %s: %s", path, strerror(err));
    }
}

/* Open or create. Sets lock_fd and created. */
static int open_or_create(struct rpmi_media *media, const struct rpmi_media_opts *opts)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

    media->lock_fd = open(opts->path, flags);
    if (media->lock_fd < 0 && errno == ENOENT && opts->create) {
        media->lock_fd = open(opts->path, flags | O_CREAT | O_EXCL, 0600);
        media->created = media->lock_fd >= 0;
        if (media->lock_fd < 0 && errno == EEXIST)
            media->lock_fd = open(opts->path, flags);
        if (media->lock_fd < 0 && errno == ENOENT)
            return rpmi_fail(RPM_E_NOENT, "cannot create pool %s: %s", opts->path, strerror(errno));
    }
    return media->lock_fd >= 0 ? 0 : open_failed(opts->path, errno);
}

static int lock_pool(struct rpmi_media *media, const char *path, struct stat *st)
{
    if (flock(media->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        media->created = false; /* the process that holds the lock decides about the file */
        if (errno == EWOULDBLOCK)
            return rpmi_fail(
                RPM_E_OWNED,
                "pool %s is served by another process; stop that server, or serve another pool",
                path);
        return rpmi_fail(RPM_E_IO, "cannot lock pool %s: %s", path, strerror(errno));
    }
    if (fstat(media->lock_fd, st) != 0)
        return rpmi_fail(RPM_E_IO, "cannot stat pool %s: %s", path, strerror(errno));
    if (st->st_nlink == 0)
        return rpmi_fail(RPM_E_OWNED,
                         "pool %s was removed by another process while it was opened; try again",
                         path);
    return 0;
}

/* Open the file a second time, for clients: this open file does not hold the lock. */
static int open_for_clients(struct rpmi_media *media, const char *path)
{
    char self[48];

    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", media->lock_fd);
    media->fd = open(self, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return media->fd >= 0 ? 0 : open_failed(path, errno);
}

static int check_kind(const struct stat *st, const char *path)
{
    if (S_ISREG(st->st_mode)) {
        if ((st->st_mode & 0222) == 0) /* root could write it, but its mode forbids writing */
            return rpmi_fail(
                RPM_E_DENIED,
                "pool %s is read-only, and a server writes to it; mount or chmod it writable",
                path);
        return 0;
    }
    if (S_ISCHR(st->st_mode))
        return 0;
    return rpmi_fail(RPM_E_INVAL,
                     "pool %s is neither a file nor a character device; give the path of one",
                     path);
}

/* Is a piece of the pool as formatting finds or leaves it: zeros, or, in front of @dir_end, free
 * directory entries and a start counter of 0? */
static bool is_new(const unsigned char *piece, uint64_t at, uint64_t dir_end)
{
    if (at < RPMI_DIR_OFFSET)
        return rpmi_start_is_new(piece, at, RPMI_DIRENT_BYTES);
    return at < dir_end ? rpmi_dirent_is_new(piece) : rpmi_all_zero(piece, RPMI_DIRENT_BYTES);
}

/* Is everything behind the superblock new? Holes are skipped. 1, 0 or an error. */
static int rest_is_new(int fd, uint64_t bytes, const char *path)
{
    unsigned char block[8 * RPMI_DIRENT_BYTES];
    off_t at = RPMI_SUPER_BYTES;
    uint64_t dir_end = RPMI_DIR_OFFSET + (uint64_t)rpmi_super_entries(bytes) * RPMI_DIRENT_BYTES;

    while ((uint64_t)at < bytes) {
        off_t data = lseek(fd, at, SEEK_DATA);
        ssize_t got;

        if (data < 0 && errno == ENXIO)
            return 1;
        if (data > at)
            at = (off_t)rpmi_align_down((uint64_t)data, RPMI_DIRENT_BYTES);
        memset(block, 0, sizeof(block)); /* behind the end of the file */
        got = pread(fd, block, sizeof(block), at);
        if (got < 0)
            return rpmi_fail(RPM_E_IO, "cannot read pool %s: %s", path, strerror(errno));
        if (got == 0)
            return 1;
        for (ssize_t i = 0; i < got; i += RPMI_DIRENT_BYTES)
            if (!is_new(block + i, (uint64_t)at + (uint64_t)i, dir_end))
                return 0;
        at += got;
    }
    return 1;
}

/* 0: the file holds a pool. RPM_E_NOENT: it is not formatted yet. Else the error to report. */
static int check_block(const unsigned char *block, int fd, uint64_t bytes, const char *path)
{
    struct rpmi_super super;
    int fresh;
    int err = rpmi_super_get(block, bytes, &super);

    if (err != 0 && err != RPM_E_NOENT)
        return rpmi_fail(err, "%s: %s", path, rpm_last_error());
    if (err == 0)
        return 0;
    /* No superblock: the file may hold other data, zeros, or what an interrupted format left: zeros
     * and free directory entries. */
    fresh = rest_is_new(fd, bytes, path);
    if (fresh < 0)
        return fresh;
    return fresh == 1 ? RPM_E_NOENT
                      : rpmi_fail(RPM_E_FOREIGN,
                                  "%s holds other data, no librpm pool: give the path of a pool, "
                                  "or a new one",
                                  path);
}

static int check_content(int fd, uint64_t bytes, const char *path)
{
    unsigned char *block = rpmi_alloc(RPMI_SUPER_BYTES, RPMI_LINE_BYTES);
    int err;

    if (block == NULL)
        return RPM_E_NOMEM;
    if (pread(fd, block, RPMI_SUPER_BYTES, 0) < 0)
        err = rpmi_fail(RPM_E_IO, "cannot read pool %s: %s", path, strerror(errno));
    else
        err = check_block(block, fd, bytes, path);
    rpmi_free(block);
    return err;
}

static int size_new_file(struct rpmi_media *media, const struct rpmi_media_opts *opts)
{
    if (opts->bytes < RPMI_POOL_BYTES_MIN || !rpmi_is_aligned(opts->bytes, RPMI_PAGE_BYTES) ||
        opts->bytes > INT64_MAX)
        return rpmi_fail(RPM_E_INVAL,
                         "a pool has at least %u bytes and a multiple of %u, not %" PRIu64,
                         RPMI_POOL_BYTES_MIN, RPMI_PAGE_BYTES, opts->bytes);
    if (ftruncate(media->fd, (off_t)opts->bytes) != 0)
        return rpmi_fail(errno == EFBIG || errno == ENOSPC ? RPM_E_NOSPACE : RPM_E_IO,
                         "cannot make pool %s %" PRIu64 " bytes long: %s", opts->path, opts->bytes,
                         strerror(errno));
    media->mem.bytes = opts->bytes;
    media->sized = true;
    return 0;
}

static int size_file(struct rpmi_media *media, const struct rpmi_media_opts *opts,
                     const struct stat *st)
{
    int err;

    if (st->st_size == 0) {
        if (!opts->create)
            return rpmi_fail(
                RPM_E_NOENT,
                "pool %s is empty; give a size, and the server formats it (rpm-server --size)",
                opts->path);
        return size_new_file(media, opts);
    }
    err = check_content(media->fd, (uint64_t)st->st_size, opts->path);
    if (err == RPM_E_NOENT && !opts->create)
        return rpmi_fail(RPM_E_NOENT,
                         "%s has not been formatted as a pool; give a size, and the server does it "
                         "(rpm-server --size)",
                         opts->path);
    media->mem.bytes = rpmi_align_down((uint64_t)st->st_size, RPMI_PAGE_BYTES);
    return err == RPM_E_NOENT ? 0 : err;
}

static int size_device(struct rpmi_media *media, const char *path)
{
    struct pmem2_source *source = NULL;
    size_t bytes = 0;

    if (media->facts.medium != RPM_MEDIUM_DEVDAX)
        return rpmi_fail(
            RPM_E_INVAL,
            "%s is not a device of persistent memory; give the path of one, or of a file", path);
    if (pmem2_source_from_fd(&source, media->fd) != 0 || pmem2_source_size(source, &bytes) != 0) {
        if (source != NULL)
            (void)pmem2_source_delete(&source);
        return rpmi_fail(RPM_E_IO, "%s: %s", path, pmem2_errormsg());
    }
    (void)pmem2_source_delete(&source);
    media->mem.bytes = bytes;
    return 0;
}

int rpmi_media_open_path(struct rpmi_media *media, const struct rpmi_media_opts *opts)
{
    struct stat st;
    int err = open_or_create(media, opts);

    if (err == 0)
        err = lock_pool(media, opts->path, &st);
    if (err == 0)
        err = check_kind(&st, opts->path);
    if (err == 0)
        err = open_for_clients(media, opts->path);
    if (err != 0)
        return err;
    media->facts.medium = rpmi_probe_medium(media->fd, &media->backing);
    if (S_ISCHR(st.st_mode))
        return size_device(media, opts->path);
    err = size_file(media, opts, &st);
    if (err == 0 && media->sized) /* an empty file could not be probed before */
        media->facts.medium = rpmi_probe_medium(media->fd, &media->backing);
    return err;
}
