/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.h: make a volume, and open it as a client. A client, and what is opened on it, belongs to
 * one thread; a program has any number of clients. async.h has calls for which the thread does not
 * wait.
 *
 * Functions return 0 or a count, or an error as a negative number of errno(3), which may be one of
 * <librpm/error.h>. A call that finds no room waits while clients free removed files, and fails
 * with -ENOSPC when there are none, or none was freed for 2.5 s.
 *
 * Errors:  of each call: -EIO (a block or row is damaged on all copies; or servers did not answer
 *          for patience_us, and the client could not find out whether the call took effect), and
 *          errors of <librpm/error.h>, such as RPM_E_REFUSED, if servers do not answer at all: for
 *          both, rfs_last_error() has a sentence that names the server or the row. RPM_E_BUSY
 *          (servers refused the client because others took it for dead, and rpm-fs check --repair
 *          has the volume now), -ENOMEM.
 */
#ifndef LIBRPMFS_CLIENT_H
#define LIBRPMFS_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __GNUC__
#define RFS_MUST_CHECK __attribute__((warn_unused_result))
#else
#define RFS_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct rfs_client;

/* A volume and its servers. */
struct rfs_opts {
    size_t size;             /* sizeof this struct as the caller compiled it */
    const char *name;        /* of the volume: 1 to 31 letters, digits, '-' or '_' */
    const char *const *urls; /* of its servers, in the order in which it was made */
    uint32_t url_count;      /* 1 to 256 */
    const char *secret;      /* shared with the servers; NULL: none */
    uint64_t patience_us;    /* how long a call waits for servers that do not answer; 0: 30 s */
    uint32_t inflight_max;   /* calls of async.h whose completions were not returned; 0: 256 */
};

static inline struct rfs_opts rfs_opts_init(void)
{
    struct rfs_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    return opts;
}

/* What a new volume is to be. */
struct rfs_make_opts {
    size_t size;              /* sizeof this struct as the caller compiled it */
    uint64_t bytes;           /* for contents of files, on all servers together; each copy takes as
                                 much again. At least 2 MiB for each server */
    uint64_t bytes_per_inode; /* one inode for so many bytes; 0: 16384 */
    uint32_t replicas;        /* copies on different servers, 1 to url_count; 0: 1 */
    uint32_t uid;             /* owner of the root directory */
    uint32_t gid;
    uint32_t mode; /* its permission bits; 0: 0755 */
};

static inline struct rfs_make_opts rfs_make_opts_init(void)
{
    struct rfs_make_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    return opts;
}

/* On whose behalf a call is made: its permissions are checked, and new files are its own. */
struct rfs_cred {
    uint32_t uid; /* 0: no permission is checked */
    uint32_t gid;
    const uint32_t *groups; /* beside gid. Borrowed */
    uint32_t group_count;
};

/**
 * rfs_make: make a volume on servers, with an empty root directory.
 *
 * @opts  name and servers. Borrowed until return.
 * @make  size and copies. Borrowed until return.
 *
 * Durable:  on 0 the volume survives what durable data on its servers survive. On -EEXIST what is
 *           there has not changed. On another error there is no volume, or a part of one, which
 *           rfs_mount() refuses with -EIO and rpm-fs mkfs --force removes.
 * Errors:   -EINVAL (an option), -EEXIST (the servers have a volume or database of that name),
 *           -ENOSPC (a server's pool or DRAM has no room), those of client.h.
 * Threads:  any.
 * Cost:     blocks; writes all tables once.
 */
RFS_MUST_CHECK int rfs_make(const struct rfs_opts *opts, const struct rfs_make_opts *make);

/**
 * rfs_mount: open a volume as a client.
 *
 * @opts    name and servers. Borrowed until return.
 * @client  out, set only on 0. Taken by the caller: rfs_unmount().
 *
 * Durable:  on 0 the volume has noted the client. Files that have lost their last name, and that an
 *           earlier client with its number had open, are freed.
 * Errors:   -EINVAL (an option, or another number of servers), -ENOENT (no such volume),
 *           RPM_E_FOREIGN (a database that is no volume), RPM_E_VERSION, RPM_E_OWNED (64
 *           clients, each rpm-fs that runs among them, have had it open for patience_us),
 *           RPM_E_BUSY (rpm-fs check --repair has it), -ENOSPC (a server's pool has no room for the
 *           client's log, 1 MiB), RPM_E_REFUSED (also if a server takes no more clients), those of
 *           client.h.
 * Threads:  setup only; the client then belongs to the calling thread.
 * Cost:     blocks; connects to each server.
 */
RFS_MUST_CHECK int rfs_mount(const struct rfs_opts *opts, struct rfs_client **client);

/**
 * rfs_unmount: close a client, and free what only it still had open.
 *
 * Calls of async.h that are under way end first: those that wait for locks are cancelled, the
 * others take effect as if they were waited for. Their completions are dropped, and a file that one
 * of them would have opened is closed.
 *
 * @client  Taken and set to NULL. NULL, or a pointer to NULL: nothing happens. All files and
 *          directories opened on it must be closed; calls that close files may be under way.
 *
 * Durable:  its locks end, and what only it had open is freed. If servers do not answer, other
 *           clients do that later.
 * Threads:  one per client.
 * Cost:     blocks, for up to patience_us if servers do not answer.
 */
void rfs_unmount(struct rfs_client **client);

/**
 * rfs_turn: let the client free files that other clients have removed.
 *
 * Each other call does so too, once a second at most. A program that makes no calls for long calls
 * this about once a second: files that it had open stay allocated until it does.
 *
 * @client  Borrowed.
 *
 * Durable:  files without names that no client has open may be freed.
 * Errors:   those of client.h.
 * Threads:  one per client.
 * Cost:     blocks; a transaction for each server, if no file is to be freed.
 */
RFS_MUST_CHECK int rfs_turn(struct rfs_client *client);

/**
 * rfs_last_error: what went wrong with this thread's last call that failed.
 *
 * Returns a sentence; "" if the error number says all: use strerror(-error). Borrowed: valid until
 * the thread's next call of librpmfs.
 *
 * Threads:  any.
 */
const char *rfs_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
