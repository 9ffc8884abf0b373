/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conn.h: a connection to one server. A connection, and everything that is opened on it, belongs to
 * one thread.
 *
 * URLs: "shm:NAME[,mode=auto|direct|ring][,wrap=trace+count]",
 * "verbs://HOST:PORT[/POOL]", "tcp://HOST:PORT[/POOL][,tls=CAFILE]", "unix:NAME",
 * "sim:seed=N,preset=P[,agent=soc[,carry=agent]]". All but sim: and shm: in mode direct take
 * ",agent=URL[,carry=NAME][,calibration=FILE]" (agent.h); in the agent's URL a '+' stands for each
 * comma: ",agent=tcp://HOST:PORT+tls=FILE".
 */
#ifndef LIBRPM_CONN_H
#define LIBRPM_CONN_H

#include <librpm/facts.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RPM_NAME_MAX 63 /* bytes of an object's name: letters, digits, '.', '_', '-', '/' */

struct rpm_conn;

/* How a connection limits the load that it puts on the server and the NIC. <librpm/stats.h> has
 * counters of it. */
enum rpm_pace {
    RPM_PACE_THROTTLE = 1, /* limit the operations outstanding, since too many slow the NIC down.
                              The library tries limits and keeps the best one. For many connections
                              with many operations outstanding each; no effect on shm: direct, where
                              none is ever outstanding */
    RPM_PACE_EAGER = 2,    /* rpm_lock_acquire() tries again at once, without backing off */
    RPM_PACE_GATHER = 4    /* tcp: keep asynchronous operations unsent until rpm_conn_turn(), a
                              blocking call, or until they fill 128 KiB; no effect on shm: direct */
};

struct rpm_conn_opts {
    size_t size;            /* sizeof this struct as the caller compiled it */
    uint64_t timeout_us;    /* deadline of every blocking call; 0: 5 s */
    uint32_t depth;         /* operations outstanding on the link; 0: 256 */
    uint32_t method;        /* enum rpm_method to insist on; 0: the cheapest legal one */
    const char *hints;      /* "all", "none", "-H6", "H6,H9"; NULL: all. Borrowed until return */
    const char *secret;     /* of up to 127 bytes; NULL: none. Borrowed until return */
    uint64_t staging_bytes; /* memory for payloads of outstanding operations; 0: 16 MiB */
    uint32_t pace;          /* enum rpm_pace; 0: depth is the only limit, and rpm_lock_acquire()
                               waits longer after each failed try */
};

static inline struct rpm_conn_opts rpm_conn_opts_init(void)
{
    struct rpm_conn_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    return opts;
}

/**
 * rpm_conn_open: connect to a server and learn its facts.
 *
 * @url   address of the server. Borrowed.
 * @opts  NULL: defaults. Borrowed until return.
 * @conn  out, set only on 0. Taken by the caller: rpm_conn_close().
 *
 * Errors:   RPM_E_INVAL (URL or option), RPM_E_OPTS, RPM_E_REFUSED, RPM_E_DENIED, RPM_E_VERSION,
 *           RPM_E_PROTO, RPM_E_TIMEDOUT, RPM_E_LOST, RPM_E_NOCAP (this link lacks the mode or
 *           method), RPM_E_NOMEM, RPM_E_NOENT, RPM_E_IO (file of a sim: preset or of calibration=).
 * Threads:  setup only; the connection then belongs to the calling thread.
 * Cost:     blocks up to timeout_us, twice with an agent; allocates all that it needs. Before that
 *           the system resolves the name of a host, which takes at most timeout x attempts x
 *           servers of resolv.conf(5), by default 10 s for each server. A numeric address or a Unix
 *           socket needs no lookup.
 */
RPM_MUST_CHECK int rpm_conn_open(const char *url, const struct rpm_conn_opts *opts,
                                 struct rpm_conn **conn);

/**
 * rpm_conn_reconnect: dial the same server again after RPM_E_LOST or RPM_E_TIMEDOUT.
 *
 * Logs and regions opened on @conn stay, but must be resumed (rpm_log_resume()) or reopened
 * before use. A healthy connection is dropped and dialled anew.
 *
 * In an event loop this call blocks the whole loop, for up to timeout_us: give the connection a
 * short timeout_us and repeat the call later, or call it in another thread while the loop does not
 * use the connection. The descriptor of rpm_conn_fd() may stay in the loop's set, but may be
 * readable until the connection is restored.
 *
 * @conn  Borrowed.
 *
 * Durable:  changes nothing.
 * Errors:   as rpm_conn_open(); the connection stays lost and the call may be repeated.
 * Threads:  one per conn.
 * Cost:     blocks up to timeout_us, retrying while no server listens there. A name lookup that is
 *           running when timeout_us ends is not interrupted; rpm_conn_open() says how long it
 *           takes.
 */
RPM_MUST_CHECK int rpm_conn_reconnect(struct rpm_conn *conn);

/**
 * rpm_conn_fd: the descriptor of a connection, for an event loop: poll, epoll, io_uring, libuv.
 *
 * The descriptor stays the same until rpm_conn_close(), across reconnects too. Only wait until it
 * is readable: never read, write or close it. It becomes readable only for the event that
 * rpm_conn_arm() armed it for.
 *
 * @conn  Borrowed.
 *
 * Returns the descriptor.
 * Errors:   RPM_E_NOCAP (the device model, which has no time of its own; a server on this machine
 *           of a version without event notification), RPM_E_NOMEM (no descriptors left).
 * Threads:  one per conn; another thread may watch the descriptor.
 * Cost:     the first call opens it and makes system calls, later ones none.
 */
RPM_MUST_CHECK int rpm_conn_fd(struct rpm_conn *conn);

/**
 * rpm_conn_arm: arm the descriptor for the next event; returns 1 if one is pending already.
 *
 * Call it last before each wait: any other call on the connection, or on an object opened on it,
 * may consume the event that the descriptor was armed for. When it returns 1, and when the
 * descriptor becomes readable, poll every log and region of the connection, retry the calls that
 * returned RPM_E_BUSY, and arm again. The descriptor may become readable although no completion is
 * ready. Events are completions and the loss of the connection; writes by other clients are none.
 * The call sends unsent appends under the conditions of rpm_log_poll().
 *
 * A server that fails silently is detected as in a blocking call: operations are outstanding, and
 * none has completed for timeout_us. Then the descriptor becomes readable, and this call closes the
 * connection.
 *
 * @conn  rpm_conn_fd() was called for it. Borrowed.
 *
 * Returns 1 when there is something to poll now, 0 when the descriptor is armed.
 * Errors:   RPM_E_INVAL, RPM_E_LOST or RPM_E_TIMEDOUT: the connection is lost and every completion
 *           has been polled. Stop watching the descriptor until rpm_conn_reconnect().
 * Threads:  one per conn.
 * Cost:     does not block; no allocation; system calls: two to five.
 */
RPM_MUST_CHECK int rpm_conn_arm(struct rpm_conn *conn);

/**
 * rpm_conn_turn: send unsent operations and receive completions, once per turn of an event loop.
 *
 * With RPM_PACE_GATHER, rpm_log_poll() and rpm_region_poll() only return completions that this or a
 * blocking call received, so that one send carries all operations of a turn of the loop.
 *
 * @conn  Borrowed.
 *
 * Errors:   RPM_E_LOST, RPM_E_TIMEDOUT (the connection is lost: the completions of its logs and
 *           regions tell the result of each operation).
 * Threads:  one per conn.
 * Cost:     does not block; no allocation; over tcp: usually one send and one receive.
 */
RPM_MUST_CHECK int rpm_conn_turn(struct rpm_conn *conn);

/**
 * rpm_conn_drop: make a connection lost from the client's side, without waiting for the server.
 *
 * Outstanding operations complete with RPM_E_LOST, and later calls that need the server return it
 * until rpm_conn_reconnect(). rpm_log_close() and rpm_region_close(), which otherwise wait for the
 * server's answer for up to timeout_us, and rpm_conn_close() then return at once. The server does
 * not see that the client has dropped the connection before rpm_conn_close() or
 * rpm_conn_reconnect() ends the link; then it ends this client's claims and frees its locks.
 *
 * @conn  Borrowed.
 *
 * Durable:  an operation that had not completed may or may not have happened, as after RPM_E_LOST.
 * Threads:  one per conn.
 * Cost:     does not block; no allocation; no system call.
 */
void rpm_conn_drop(struct rpm_conn *conn);

/**
 * rpm_conn_facts: the platform at the server, as exchanged when the connection was made.
 *
 * @conn   Borrowed.
 * @facts  in: its size field; out: the rest.
 *
 * Errors:   RPM_E_INVAL.
 * Threads:  one per conn.
 */
RPM_MUST_CHECK int rpm_conn_facts(const struct rpm_conn *conn, struct rpm_facts *facts);

/**
 * rpm_conn_client: the id that the server gave this connection, never 0.
 *
 * @conn  Borrowed.
 *
 * Threads:  one per conn.
 */
uint32_t rpm_conn_client(const struct rpm_conn *conn);

/**
 * rpm_conn_mem_bytes: what rpm_conn_open() will allocate with these options.
 *
 * @opts  NULL: defaults. Borrowed.
 *
 * Returns bytes, or 0 for options that rpm_conn_open() would refuse.
 * Threads:  any.
 */
size_t rpm_conn_mem_bytes(const struct rpm_conn_opts *opts);

/**
 * rpm_conn_close: drop the connection. Safe on NULL; sets @conn to NULL.
 *
 * Close everything that was opened on it before: the call aborts if an object is still open.
 *
 * @conn  Taken.
 *
 * Durable:  operations that had not completed may or may not have happened.
 * Threads:  one per conn.
 */
void rpm_conn_close(struct rpm_conn **conn);

#ifdef __cplusplus
}
#endif
#endif
