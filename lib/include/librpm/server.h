/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server.h: a server, which lends a pool to clients. rpm-server is built on these functions; a
 * program may embed them.
 *
 * The library starts no thread: the program gives rpm_server_run() one thread, and
 * rpm_server_engine() another one. Without the second thread only clients that map the pool are
 * served.
 */
#ifndef LIBRPM_SERVER_H
#define LIBRPM_SERVER_H

#include <librpm/facts.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpm_server;

enum rpm_server_flag {
    RPM_SERVER_CREATE = 1,     /* format the pool if the path does not exist or holds only zeros */
    RPM_SERVER_NO_DIRECT = 2,  /* never let a client map the pool: only rings, so that clients are
                                 isolated from each other */
    RPM_SERVER_HUGE = 4,       /* anonymous pool on huge pages */
    RPM_SERVER_FENCE_KILL = 8, /* kill a fenced direct writer that does not stop within fence_us */
    RPM_SERVER_NO_SPIN = 16    /* the engine sleeps as soon as no request waits: for a machine with
                                 fewer CPUs than servers and clients */
};

struct rpm_server_opts {
    size_t size;          /* sizeof this struct as the caller compiled it */
    const char *pool;     /* file or device; NULL: anonymous memory. Borrowed until return */
    const char *listen;   /* addresses, separated by blanks: "shm:NAME", "verbs://HOST:PORT/POOL",
                             ... Borrowed until return */
    uint64_t pool_bytes;  /* with CREATE: size of the pool, multiple of 4096 */
    uint64_t dram_bytes;  /* room for DRAM regions and lock tables; 0: 1 MiB */
    uint32_t flags;       /* enum rpm_server_flag */
    uint32_t domain;      /* enum rpm_domain declared by the operator; 0: only what is probed */
    uint32_t clients_max; /* connections at once; 0: 64 */
    uint32_t socket_mode; /* permission bits of the socket; 0: 0600 */
    const char
        *secret; /* that clients must know, up to 127 bytes; NULL: none. Borrowed until return */
    uint64_t fence_us;    /* time that a fenced writer has to stop; 0: 1 s */
    int numa_node;        /* 1 + the node to bind the pool to; 0: any node (H1) */
    uint32_t ddio;        /* enum rpm_answer: do a NIC's writes allocate in the CPU cache, as the
                             operator declares; 0: only what is probed */
    const char *tls_cert; /* PEM file of the certificate, for addresses with tls=on. Borrowed until
                             return */
    const char *tls_key;  /* PEM file of its key: RPM_E_INVAL if its mode grants the group or others
                             any right; the group may read a file that root owns. Borrowed until
                             return */
    const char *agents; /* names of declared agents, separated by blanks, up to 1023 bytes: a client
                             that knows the secret and gives one of these names (rpm_agent_opts.name)
                             may carry records of writers that ask for it. NULL: none. Borrowed until
                             return */
};

static inline struct rpm_server_opts rpm_server_opts_init(void)
{
    struct rpm_server_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    return opts;
}

struct rpm_server_stats {
    size_t size;          /* sizeof this struct as the caller compiled it */
    uint64_t clients;     /* connected now */
    uint64_t accepted;    /* since start */
    uint64_t refused;     /* handshakes refused */
    uint64_t died;        /* clients that disconnected without closing the connection */
    uint64_t calls;       /* control messages served */
    uint64_t ops;         /* ring operations executed */
    uint64_t bytes;       /* ring bytes written */
    uint64_t rejected;    /* ring operations outside their key's bounds or rights */
    uint64_t claims;      /* log claims granted */
    uint64_t fenced;      /* writers fenced by the claim of another client */
    uint64_t locks_freed; /* locks of dead clients freed */
    uint64_t pool_bytes;
    uint64_t pool_free_bytes;
    uint64_t agents;      /* of the clients, those that are declared agents */
    uint64_t carried;     /* pieces of logs that were stored for them */
    uint64_t pool_starts; /* how often a server has opened this pool, this run included */
};

static inline struct rpm_server_stats rpm_server_stats_init(void)
{
    struct rpm_server_stats stats;

    memset(&stats, 0, sizeof(stats));
    stats.size = sizeof(stats);
    return stats;
}

/**
 * rpm_server_open: open or format the pool, and listen.
 *
 * @opts    Borrowed until return.
 * @server  out, set only on 0. Taken by the caller: rpm_server_close().
 *
 * Durable:  formatting is complete or not there at all after a power loss; on 0 the pool's start
 *           counter (rpm_facts.pool_starts) is durable, 1 higher than before.
 * Errors:   RPM_E_OWNED (pool or name served by another process), RPM_E_FOREIGN, RPM_E_CORRUPT,
 *           RPM_E_VERSION, RPM_E_NOENT, RPM_E_DENIED, RPM_E_NOSPACE (file system, memory or
 *           huge pages), RPM_E_LIMIT (the pool was opened 2^32 - 1 times: copy its logs to a new
 *           one), RPM_E_INVAL, RPM_E_OPTS, RPM_E_NOMEM, RPM_E_IO. An error changes nothing; only
 *           after RPM_E_IO the start counter may be 1 higher.
 * Threads:  setup only.
 */
RPM_MUST_CHECK int rpm_server_open(const struct rpm_server_opts *opts, struct rpm_server **server);

/**
 * rpm_server_run: accept clients and serve control messages until rpm_server_stop().
 *
 * @server  Borrowed.
 *
 * Errors:   RPM_E_IO. No message of a client makes it return.
 * Threads:  one thread; rpm_server_engine() may run beside it in another.
 * Cost:     sleeps when idle.
 */
RPM_MUST_CHECK int rpm_server_run(struct rpm_server *server);

/**
 * rpm_server_engine: execute ring operations until rpm_server_stop().
 *
 * @server  Borrowed.
 *
 * Errors:   RPM_E_IO.
 * Threads:  one thread.
 * Cost:     spins about 50 us after the last operation, then sleeps; with RPM_SERVER_NO_SPIN it
 *           sleeps at once.
 */
RPM_MUST_CHECK int rpm_server_engine(struct rpm_server *server);

/**
 * rpm_server_stop: make both loops return soon.
 *
 * @server  Borrowed.
 *
 * Threads:  any; safe in a signal handler.
 */
void rpm_server_stop(struct rpm_server *server);

/**
 * rpm_server_stats: counters since the start.
 *
 * @server  Borrowed.
 * @stats   in: its size field; out: the rest.
 *
 * Errors:   RPM_E_INVAL.
 * Threads:  any.
 */
RPM_MUST_CHECK int rpm_server_stats(struct rpm_server *server, struct rpm_server_stats *stats);

/**
 * rpm_server_facts: the facts of the platform, as the server sends them to clients.
 *
 * @server  Borrowed.
 * @facts   in: its size field; out: the rest.
 *
 * Errors:   RPM_E_INVAL.
 * Threads:  any.
 */
RPM_MUST_CHECK int rpm_server_facts(const struct rpm_server *server, struct rpm_facts *facts);

/**
 * rpm_server_url: an address that the server listens at, as a client dials it: with the port that
 * the system chose if @listen said 0, with an address of this machine if it said "*", and without
 * options.
 *
 * @server  Borrowed.
 * @index   from 0: the shm: name if there is one, then the other addresses in the order of
 *          rpm_server_opts.listen.
 * @url     out, set only on 0. Borrowed until return.
 * @bytes   room in @url.
 *
 * Errors:   RPM_E_RANGE (no more addresses), RPM_E_TOOBIG (no room).
 * Threads:  any.
 */
RPM_MUST_CHECK int rpm_server_url(const struct rpm_server *server, uint32_t index, char *url,
                                  size_t bytes);

/**
 * rpm_server_close: disconnect clients, bring the pool to its persistence domain, and release it.
 * Safe on NULL.
 *
 * @server  Taken; set to NULL. Both loops must have returned.
 *
 * Durable:  everything that was visible in the pool is in its persistence domain afterwards.
 * Threads:  setup only.
 */
void rpm_server_close(struct rpm_server **server);

#ifdef __cplusplus
}
#endif
#endif
