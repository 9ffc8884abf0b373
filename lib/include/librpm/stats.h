/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats.h: counters of a connection, and a histogram for latencies.
 */
#ifndef LIBRPM_STATS_H
#define LIBRPM_STATS_H

#include <librpm/conn.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpm_conn_stats {
    size_t size;          /* sizeof this struct as the caller compiled it */
    uint64_t writes;      /* write operations posted */
    uint64_t write_bytes; /* including framing and padding */
    uint64_t reads;
    uint64_t read_bytes;
    uint64_t flushes; /* flush operations posted, whatever the method */
    uint64_t atomics;
    uint64_t calls;             /* control messages */
    uint64_t payload_bytes;     /* what the application asked to write */
    uint64_t sleeps;            /* waits that slept in the kernel after spinning */
    uint64_t throttle_limit;    /* operations that may be outstanding now; 0: not throttled */
    uint64_t throttle_changes;  /* of that limit */
    uint64_t throttle_held;     /* posts that it held back */
    uint64_t backoffs;          /* waits for a lock that another client held */
    uint64_t backoff_ns;        /* time spent in these waits */
    uint64_t steps;             /* lists of steps posted */
    uint64_t messages;          /* tcp: sends to the socket; other links: operations posted; 0 on
                                  shm: direct, where an operation completes when it is posted */
    uint64_t sent_bytes;        /* in these messages */
    uint64_t received_bytes;    /* in the replies */
    uint64_t orders;            /* of the flushes, those posted with method order */
    uint64_t order_fallbacks;   /* of these, those that the server fulfilled because the agent was
                                  away, or did not in time */
    uint64_t damaged;           /* how often a reader went to segments at a damaged record */
    uint64_t order_server;      /* of the orders, those that went to the server because it is the
                                  faster of the two */
    uint64_t order_probes;      /* of these, those about which the agent was asked too, to measure
                                  how long it takes */
    uint64_t agent_setup_ns;    /* what connecting to the agent took, the last time */
    uint64_t order_submit_ns;   /* of all orders that the agent fulfilled: until it was asked, */
    uint64_t order_execute_ns;  /* from then until the certificate came, */
    uint64_t order_complete_ns; /* and from then until the records were acknowledged */
    uint64_t decisions;         /* of an agent, by which a log was trimmed (<librpm/decision.h>) */
    uint64_t decisions_stale;   /* of an agent, that did not hold any more */
    uint64_t carried;           /* of the orders, those whose records were given to an agent */
    uint64_t copied_bytes;      /* by copy engines of readers (rpm_reader_opts.engine) */
    uint64_t copy_fallbacks;    /* copies that a copy engine did not make, or not in time, so that
                                   the reader READ the bytes */
};

static inline struct rpm_conn_stats rpm_conn_stats_init(void)
{
    struct rpm_conn_stats stats;

    memset(&stats, 0, sizeof(stats));
    stats.size = sizeof(stats);
    return stats;
}

/**
 * rpm_conn_stats: counters since the connection was opened.
 *
 * @conn   Borrowed.
 * @stats  in: its size field; out: the rest.
 *
 * Errors:   RPM_E_INVAL.
 * Threads:  one per conn.
 */
RPM_MUST_CHECK int rpm_conn_stats(const struct rpm_conn *conn, struct rpm_conn_stats *stats);

/* Log-scale histogram of 64-bit values, relative error below 1/64. No allocation. */
#define RPM_HIST_BUCKETS 3776

struct rpm_hist {
    uint64_t count;
    uint64_t sum;
    uint64_t min;
    uint64_t max;
    uint32_t bucket[RPM_HIST_BUCKETS];
};

/**
 * rpm_hist_init: an empty histogram.
 *
 * @hist  out.
 *
 * Threads:  one per object.
 */
void rpm_hist_init(struct rpm_hist *hist);

/**
 * rpm_hist_add: count one value.
 *
 * @hist   Borrowed.
 * @value  in a unit that the caller chooses.
 *
 * Threads:  one per object.
 * Cost:     a few instructions.
 */
void rpm_hist_add(struct rpm_hist *hist, uint64_t value);

/**
 * rpm_hist_merge: add all of one histogram's values to another.
 *
 * @into  Borrowed.
 * @from  Borrowed.
 *
 * Threads:  one per object.
 */
void rpm_hist_merge(struct rpm_hist *into, const struct rpm_hist *from);

/**
 * rpm_hist_percentile: the smallest value that at least a share of all values do not exceed.
 *
 * @hist      Borrowed.
 * @permille  thousandths, 0..1000: 999 is p99.9.
 *
 * Returns 0 for an empty histogram.
 * Threads:  one per object.
 */
uint64_t rpm_hist_percentile(const struct rpm_hist *hist, uint32_t permille);

#ifdef __cplusplus
}
#endif
#endif
