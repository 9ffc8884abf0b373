/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sock_path.c: the path of a Unix socket by its name, computed by one function for server and
 * client, and the check of the user that serves there.
 *
 * A directory that any user may create, such as one below /tmp, is used only if it belongs to this
 * user and no other user can write to it.
 *
 * Tests: tests/unit/transport/sock_path_test.cpp
 */
#include "transport/sock_path.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int runtime_dir(char *dir, size_t bytes)
{
    const char *given = getenv("LIBRPM_RUNTIME_DIR");
    const char *session = getenv("XDG_RUNTIME_DIR");
    int len;

    if (given != NULL && given[0] != '\0')
        len = snprintf(dir, bytes, "%s", given);
    else if (session != NULL && session[0] != '\0')
        len = snprintf(dir, bytes, "%s/librpm", session);
    else if (geteuid() == 0)
        len = snprintf(dir, bytes, "/run/librpm");
    else
        len = snprintf(dir, bytes, "/tmp/librpm-%u", (unsigned)geteuid());
    if (len < 0 || (size_t)len >= bytes)
        return rpmi_fail(RPM_E_INVAL,
                         "the path of the runtime directory has %d bytes, maximum %zu; set a "
                         "shorter LIBRPM_RUNTIME_DIR",
                         len, bytes - 1);
    return 0;
}

static int make_dir(const char *dir)
{
    struct stat st;

    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return rpmi_fail(errno == EACCES || errno == EROFS ? RPM_E_DENIED : RPM_E_IO,
                         "cannot make directory %s: %s", dir, strerror(errno));
    if (lstat(dir, &st) != 0)
        return rpmi_fail(RPM_E_IO, "cannot read the attributes of directory %s: %s", dir,
                         strerror(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 0022) != 0)
        return rpmi_fail(RPM_E_DENIED,
                         "%s is not a directory that only user %u can write to; remove it, or set "
                         "LIBRPM_RUNTIME_DIR",
                         dir, (unsigned)geteuid());
    return 0;
}

int rpmi_sock_path(const char *name, bool make, char path[], bool *same_user)
{
    char dir[RPMI_SOCK_PATH_BYTES];
    int len;
    int err;

    if (name[0] == '\0')
        return rpmi_fail(RPM_E_INVAL, "the URL names no server: shm:NAME");
    if (same_user != NULL)
        *same_user = false;
    if (strchr(name, '/') != NULL) {
        len = snprintf(path, RPMI_SOCK_PATH_BYTES, "%s", name);
    } else {
        err = runtime_dir(dir, sizeof(dir));
        if (err == 0 && make)
            err = make_dir(dir);
        if (err != 0)
            return err;
        len = snprintf(path, RPMI_SOCK_PATH_BYTES, "%s/%s.sock", dir, name);
        if (same_user != NULL)
            *same_user = getenv("LIBRPM_RUNTIME_DIR") == NULL;
    }
    if (len < 0 || (size_t)len >= RPMI_SOCK_PATH_BYTES)
        return rpmi_fail(
            RPM_E_INVAL,
            "the socket path of '%.40s...' has %d bytes, maximum %zu; choose a shorter name", name,
            len, RPMI_SOCK_PATH_BYTES - 1);
    return 0;
}

int rpmi_sock_check_server(int sock, const char *path)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
        (peer.uid == geteuid() || peer.uid == 0))
        return 0;
    return rpmi_fail(RPM_E_DENIED,
                     "the server at %s belongs to another user; expected is user %u or root", path,
                     (unsigned)geteuid());
}
