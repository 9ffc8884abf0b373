/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sock_name.c: take the name of a Unix socket and listen there, for shm: and unix:.
 *
 * A server owns the name while it holds a lock on a file beside the socket. A server that finds the
 * socket and can take the lock knows, without connecting, that the server of that socket is dead.
 *
 * Tests: tests/unit/serve/server_test.cpp
 */
#include "serve/serve.h"

#include "base/assert.h"
#include "base/diag.h"
#include "base/err.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG 128
#define LOCK_TRIES 8

static void lock_path(const char *path, char *lock, size_t bytes)
{
    (void)snprintf(lock, bytes, "%s.lock", path);
}

/* 1: locked, 0: another server removed the file meanwhile: try again, or an error. */
static int try_lock(struct rpmi_sock_name *name, const char *lock)
{
    struct stat st;

    RPM_ASSERT(name->lock_fd < 0 && !name->taken); /* each server takes a name once */
    name->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (name->lock_fd < 0)
        return rpmi_fail(errno == EACCES || errno == EROFS || errno == EPERM ? RPM_E_DENIED
                                                                             : RPM_E_INVAL,
                         "cannot make %s: %s", lock, strerror(errno));
    if (flock(name->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return rpmi_fail(errno == EWOULDBLOCK ? RPM_E_OWNED : RPM_E_IO,
                         "another server listens at %s; stop it, or give another name", name->path);
    if (fstat(name->lock_fd, &st) == 0 && st.st_nlink > 0)
        return 1;
    (void)close(name->lock_fd);
    name->lock_fd = -1;
    return 0;
}

static int take_name(struct rpmi_sock_name *name)
{
    char lock[sizeof(name->path) + 8];
    struct stat st;
    int got = 0;

    lock_path(name->path, lock, sizeof(lock));
    for (int i = 0; i < LOCK_TRIES && got == 0; i++)
        got = try_lock(name, lock);
    if (got != 1)
        return got < 0 ? got
                       : rpmi_fail(RPM_E_OWNED, "another server took %s; choose another name",
                                   name->path);
    RPM_ASSERT(name->lock_fd >= 0); /* only its owner removes the socket of a dead server */
    name->taken = true;
    if (lstat(name->path, &st) != 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return rpmi_fail(RPM_E_INVAL,
                         "%s exists and is not a socket; remove it, or choose another name",
                         name->path);
    if (unlink(name->path) != 0)
        return rpmi_fail(RPM_E_DENIED, "cannot remove the old socket %s: %s", name->path,
                         strerror(errno));
    return 0;
}

static int bind_socket(struct rpmi_sock_name *name, int type, uint32_t mode)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    RPM_ASSERT(name->taken && name->listen_fd < 0); /* no two servers answer at one name */
    name->listen_fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (name->listen_fd < 0)
        return rpmi_fail(RPM_E_IO, "cannot make a socket: %s", strerror(errno));
    memcpy(address.sun_path, name->path, sizeof(address.sun_path));
    /* Before bind, so that the socket never has wider permissions than @mode. */
    if (fchmod(name->listen_fd, mode) != 0 ||
        bind(name->listen_fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        chmod(name->path, mode) != 0 || listen(name->listen_fd, BACKLOG) != 0)
        return rpmi_fail(errno == EACCES || errno == EROFS ? RPM_E_DENIED
                         : errno == ENOENT                 ? RPM_E_INVAL
                                                           : RPM_E_IO,
                         "cannot listen at %s: %s", name->path, strerror(errno));
    return 0;
}

int rpmi_sock_name_listen(struct rpmi_sock_name *name, int type, uint32_t mode)
{
    int err = take_name(name);

    return err != 0 ? err : bind_socket(name, type, mode);
}

void rpmi_sock_name_drop(struct rpmi_sock_name *name)
{
    char lock[sizeof(name->path) + 8];
    struct stat st;

    /* Else the socket that is removed, or the lock file, is another server's. */
    RPM_ASSERT(name->listen_fd < 0 || name->taken);
    RPM_ASSERT(!name->taken || name->lock_fd >= 0);
    if (name->listen_fd >= 0) {
        (void)close(name->listen_fd);
        if (lstat(name->path, &st) == 0 && unlink(name->path) != 0)
            rpmi_diag(RPM_DIAG_WARNING, "cannot remove %s: %s", name->path, strerror(errno));
    }
    if (name->lock_fd >= 0) {
        lock_path(name->path, lock, sizeof(lock));
        if (name->taken) /* else the file is another server's */
            (void)unlink(lock);
        (void)close(name->lock_fd);
    }
    name->taken = false;
    name->listen_fd = -1;
    name->lock_fd = -1;
}
