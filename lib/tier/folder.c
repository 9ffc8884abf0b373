/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * folder.c: segments in a folder: one folder for each log, one file for each segment. A file gets
 * its name when all of its bytes are durable.
 *
 * Invariants
 *   a file with the name of a segment is whole: it got it after fsync() and a comparison
 *   it is never replaced, and removed only by remove()
 *   put() returns 0 only when the file's folder is durable too
 *
 * Tests: tests/unit/tier/folder_test.cpp
 */
#include "tier/store.h"

#include "base/err.h"
#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMPARED_BYTES 2048u /* at once */
#define TEMPORARY ".tmp"
#define TEMPORARY_CHARS (RPMI_SEGMENT_NAME_CHARS + 1 + 32 + 4)

struct folder {
    struct rpmi_store store;
    int fd;
    char path[4096]; /* for error texts */
};

static struct folder *folder_of(struct rpmi_store *store)
{
    return (struct folder *)store;
}

/* The error for errno, with a text: @what failed at @name. */
static int fail(const struct folder *folder, const char *what, const char *name)
{
    int code = errno;
    int err = RPM_E_IO;

    if (code == ENOENT || code == ENOTDIR)
        err = RPM_E_NOENT;
    else if (code == EACCES || code == EPERM || code == EROFS)
        err = RPM_E_DENIED;
    else if (code == ENOSPC || code == EDQUOT)
        err = RPM_E_NOSPACE;
    return rpmi_fail(err, "%s/%s: cannot %s it: %s", folder->path, name, what, strerror(code));
}

/* The same of the folder of a log. */
static int fail_log(const struct folder *folder, const char *what, uint64_t log_id)
{
    char name[RPMI_SEGMENT_FOLDER_CHARS + 1];

    rpmi_segment_folder_put(name, log_id);
    return fail(folder, what, name);
}

/* The folder of a log. -1 and errno. */
static int open_log(const struct folder *folder, uint64_t log_id)
{
    char name[RPMI_SEGMENT_FOLDER_CHARS + 1];

    rpmi_segment_folder_put(name, log_id);
    return openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Its path below the folder, for error texts and openat(). */
#define PATH_CHARS (RPMI_SEGMENT_FOLDER_CHARS + 1 + RPMI_SEGMENT_NAME_CHARS)

static void path_put(char path[PATH_CHARS + 1], const struct rpmi_segment_name *name)
{
    rpmi_segment_folder_put(path, name->log_id);
    path[RPMI_SEGMENT_FOLDER_CHARS] = '/';
    rpmi_segment_name_put(path + RPMI_SEGMENT_FOLDER_CHARS + 1, name);
}

typedef int entry_visit(void *context, const char *entry);

/* Visit each entry of the folder @fd, which is closed. */
static int visit_entries(const struct folder *folder, int fd, entry_visit *visit, void *context)
{
    DIR *entries = fdopendir(fd);
    struct dirent *entry;
    int err = 0;

    if (entries == NULL) {
        err = fail(folder, "list", "");
        (void)close(fd);
        return err;
    }
    while (err == 0) {
        errno = 0;
        entry = readdir(entries);
        if (entry == NULL) {
            err = errno == 0 ? 0 : fail(folder, "list", "");
            break;
        }
        err = visit(context, entry->d_name);
    }
    (void)closedir(entries);
    return err;
}

struct log_entries {
    rpmi_log_visit *visit;
    void *context;
};

static int visit_log(void *context, const char *entry)
{
    const struct log_entries *entries = context;
    uint64_t log_id;

    return rpmi_segment_folder_get(entry, &log_id) ? entries->visit(entries->context, log_id) : 0;
}

static int folder_logs(struct rpmi_store *store, rpmi_log_visit *visit, void *context)
{
    const struct folder *folder = folder_of(store);
    struct log_entries entries = { visit, context };
    int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return fail(folder, "list", "");
    return visit_entries(folder, fd, visit_log, &entries);
}

struct segment_entries {
    rpmi_segment_visit *visit;
    void *context;
    uint64_t log_id;
};

static int visit_segment(void *context, const char *entry)
{
    const struct segment_entries *entries = context;
    struct rpmi_segment_name name = { .log_id = entries->log_id };

    return rpmi_segment_name_get(entry, &name) ? entries->visit(entries->context, &name) : 0;
}

/* Reading a folder, the file system goes through all its names in any case. */
static int folder_segments(struct rpmi_store *store, uint64_t log_id, uint64_t from_lsn,
                           rpmi_segment_visit *visit, void *context)
{
    const struct folder *folder = folder_of(store);
    struct segment_entries entries = { visit, context, log_id };
    int fd = open_log(folder, log_id);

    (void)from_lsn;
    if (fd < 0)
        return errno == ENOENT ? 0 : fail_log(folder, "list", log_id);
    return visit_entries(folder, fd, visit_segment, &entries);
}

static int folder_bytes(struct rpmi_store *store, const struct rpmi_segment_name *name,
                        uint64_t *bytes)
{
    const struct folder *folder = folder_of(store);
    char path[PATH_CHARS + 1];
    struct stat about;

    path_put(path, name);
    if (fstatat(folder->fd, path, &about, 0) != 0)
        return fail(folder, "find", path);
    if (!S_ISREG(about.st_mode))
        return rpmi_fail(RPM_E_CORRUPT, "%s/%s is no regular file", folder->path, path);
    *bytes = (uint64_t)about.st_size;
    return 0;
}

/* Read @len bytes of @fd. 1: done, 0: the file ends before, -1: errno. */
static int read_all(int fd, uint64_t offset, void *into, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t got = pread(fd, (char *)into + done, len - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        done += (size_t)got;
    }
    return 1;
}

static int folder_get(struct rpmi_store *store, const struct rpmi_segment_name *name,
                      uint64_t offset, void *into, size_t len)
{
    const struct folder *folder = folder_of(store);
    char path[PATH_CHARS + 1];
    int done;
    int fd;
    int err = 0;

    path_put(path, name);
    fd = openat(folder->fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(folder, "open", path);
    done = read_all(fd, offset, into, len);
    if (done < 0)
        err = fail(folder, "read", path);
    else if (done == 0)
        err = rpmi_fail(RPM_E_CORRUPT, "%s/%s: the file was cut off", folder->path, path);
    (void)close(fd);
    return err;
}

static int write_all(int fd, const void *bytes, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t put = write(fd, (const char *)bytes + done, len - done);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        done += (size_t)put;
    }
    return 0;
}

/* Are these the bytes of the file? Drops its clean pages first, so that they come from the medium
 * where the file system allows it. */
static bool is_same(int fd, const void *bytes, size_t len)
{
    unsigned char piece[COMPARED_BYTES];
    size_t at = 0;

    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    while (at < len) {
        size_t more = len - at < sizeof(piece) ? len - at : sizeof(piece);

        if (read_all(fd, at, piece, more) != 1 ||
            memcmp(piece, (const char *)bytes + at, more) != 0)
            return false;
        at += more;
    }
    return true;
}

/* Make the folder of a log, durably: another process may have made it, and ended before it was
 * durable. Its descriptor, or -1 and errno. */
static int make_log(const struct folder *folder, uint64_t log_id)
{
    char name[RPMI_SEGMENT_FOLDER_CHARS + 1];
    int fd = open_log(folder, log_id);

    if (fd < 0 && errno == ENOENT) {
        rpmi_segment_folder_put(name, log_id);
        if (mkdirat(folder->fd, name, 0777) != 0 && errno != EEXIST)
            return -1;
        fd = open_log(folder, log_id);
    }
    if (fd >= 0 && fsync(folder->fd) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* A name that no other process uses, on any machine that shares the folder. False: errno. */
static bool temporary_put(char temporary[TEMPORARY_CHARS + 1], const char *file)
{
    uint64_t random[2];

    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return false;
    (void)snprintf(temporary, TEMPORARY_CHARS + 1, "%s.%016" PRIx64 "%016" PRIx64 TEMPORARY, file,
                   random[0], random[1]);
    return true;
}

/* Write, make durable, and compare. */
static int write_temporary(const struct folder *folder, int log_fd, const char *temporary,
                           const void *bytes, size_t len)
{
    int fd = openat(log_fd, temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int err = 0;

    if (fd < 0)
        return fail(folder, "create", temporary);
    if (write_all(fd, bytes, len) != 0 || fsync(fd) != 0)
        err = fail(folder, "write", temporary);
    else if (!is_same(fd, bytes, len))
        err = rpmi_fail(RPM_E_IO,
                        "%s/%s: other bytes were read than had been written: the medium fails",
                        folder->path, temporary);
    (void)close(fd);
    return err;
}

/* Give the file its name, durably, unless there is one of that name: RPM_E_EXISTS. A file that has
 * its name is never removed here: a writer may have seen it, and trimmed its records. */
static int give_name(const struct folder *folder, int log_fd, const char *temporary,
                     const char *file)
{
    bool exists;

    if (linkat(log_fd, temporary, log_fd, file, 0) != 0 && errno != EEXIST &&
        renameat2(log_fd, temporary, log_fd, file, RENAME_NOREPLACE) != 0 && errno != EEXIST)
        return fail(folder, "name", file);
    exists = errno == EEXIST;
    if (fsync(log_fd) != 0)
        return fail(folder, "make durable the name of", file);
    return exists ? RPM_E_EXISTS : 0;
}

static int folder_put(struct rpmi_store *store, const struct rpmi_segment_name *name,
                      const void *bytes, size_t len)
{
    const struct folder *folder = folder_of(store);
    char file[RPMI_SEGMENT_NAME_CHARS + 1];
    char temporary[TEMPORARY_CHARS + 1];
    int fd = make_log(folder, name->log_id);
    int err;

    rpmi_segment_name_put(file, name);
    if (fd < 0)
        return fail(folder, "make a folder for", file);
    if (!temporary_put(temporary, file)) {
        err = fail(folder, "choose a name for", file);
    } else {
        err = write_temporary(folder, fd, temporary, bytes, len);
        errno = 0;
        if (err == 0)
            err = give_name(folder, fd, temporary, file);
        (void)unlinkat(fd, temporary, 0);
    }
    (void)close(fd);
    return err;
}

static int folder_settle(struct rpmi_store *store, uint64_t log_id)
{
    const struct folder *folder = folder_of(store);
    int fd = open_log(folder, log_id);
    int err = 0;

    if (fd < 0)
        return errno == ENOENT ? 0 : fail_log(folder, "open", log_id);
    if (fsync(fd) != 0 || fsync(folder->fd) != 0)
        err = fail_log(folder, "make durable", log_id);
    (void)close(fd);
    return err;
}

static int folder_remove(struct rpmi_store *store, const struct rpmi_segment_name *name)
{
    const struct folder *folder = folder_of(store);
    char file[RPMI_SEGMENT_NAME_CHARS + 1];
    int fd = open_log(folder, name->log_id);
    int err = 0;

    rpmi_segment_name_put(file, name);
    if (fd < 0)
        return fail(folder, "remove", file);
    if (unlinkat(fd, file, 0) != 0 || fsync(fd) != 0)
        err = fail(folder, "remove", file);
    (void)close(fd);
    return err;
}

static void folder_close(struct rpmi_store *store)
{
    struct folder *folder = folder_of(store);

    (void)close(folder->fd);
    rpmi_free(folder);
}

static const struct rpmi_store_ops FOLDER_OPS = {
    .logs = folder_logs,
    .segments = folder_segments,
    .bytes = folder_bytes,
    .get = folder_get,
    .put = folder_put,
    .settle = folder_settle,
    .remove = folder_remove,
    .close = folder_close,
};

int rpmi_folder_open(const char *path, struct rpmi_store **store)
{
    struct folder *folder = rpmi_alloc(sizeof(*folder), 8);
    int err;

    if (folder == NULL)
        return RPM_E_NOMEM;
    folder->store.ops = &FOLDER_OPS;
    (void)snprintf(folder->path, sizeof(folder->path), "%s", path);
    folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0) {
        err = fail(folder, "open", "");
        rpmi_free(folder);
        return err;
    }
    *store = &folder->store;
    return 0;
}
