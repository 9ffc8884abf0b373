/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sock_path.h: the path of a server's Unix socket, from the NAME of "shm:NAME" or "unix:NAME", and
 * the check of the user that serves there.
 */
#ifndef RPMI_SOCK_PATH_H
#define RPMI_SOCK_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#define RPMI_SOCK_PATH_BYTES (sizeof(((struct sockaddr_un *)0)->sun_path))

/*
 * The path at which a server of that name listens. A name with '/' is a path; any other name is
 * NAME.sock in the first of $LIBRPM_RUNTIME_DIR, $XDG_RUNTIME_DIR/librpm, /run/librpm (root),
 * /tmp/librpm-UID.
 * @make: create that directory, for its user alone; refuse one that others could have prepared.
 * @same_user: out, may be NULL: this user owns the directory, so the server must run as this user
 * or as root.
 * RPM_E_INVAL (no name, too long), RPM_E_DENIED (directory), RPM_E_IO.
 */
int rpmi_sock_path(const char *name, bool make, char path[], bool *same_user);

/* RPM_E_DENIED unless the process that serves @sock, connected to @path, runs as this user or as
 * root. */
int rpmi_sock_check_server(int sock, const char *path);

#endif
