/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * legs.h: append to a replicated log. Every member that is sealed, a *leg*, gets the same records,
 * through an ordinary log of its own; a record is acknowledged when acks members hold it.
 *
 * Invariants
 *   the legs' frames are the same, byte by byte: LSN, epoch, length, lag and checksum
 *   committed <= submitted; committed is the highest that the acks-th largest count of records that
 *     the legs have acknowledged ever was, so records are acknowledged in their order
 *   a record stays queued until it is acknowledged and every leg has taken it
 *   a leg that fails is dropped; so is one that alone keeps the queue full, or acknowledges nothing
 *     for suspect_ns, as long as acks others are left. A dropped leg gets no record before a round
 *   with fewer than acks legs nothing more is acknowledged: dead says so
 *
 * Tests: tests/unit/set/legs_test.cpp
 */
#ifndef RPMI_SET_LEGS_H
#define RPMI_SET_LEGS_H

#include "set/round.h"

/* A record that was submitted. */
struct rpmi_queued {
    uint64_t lsn;
    uint64_t end_lsn;    /* of its frame */
    uint64_t shared_lsn; /* acknowledged by all legs when it was submitted: its frame's lag */
    uint64_t at;         /* of its payload in the ring; counts as ring_tail does */
    uint32_t len;        /* of its payload, bytes */
    void *context;
};

struct rpmi_legs {
    struct rpmi_leg *legs; /* borrowed */
    uint32_t n;
    uint32_t acks;
    uint32_t level; /* enum rpm_level of their logs */
    uint32_t epoch; /* in which the legs were sealed */
    uint64_t suspect_ns;
    uint32_t large_unit;       /* frames of large records begin at a multiple of this on all legs */
    struct rpmi_queued *queue; /* ring, by the number of the record */
    uint32_t inflight_max;     /* its length */
    unsigned char *ring;       /* payloads of queued records */
    uint64_t ring_bytes;
    uint64_t ring_tail;     /* counts up; next free byte */
    uint64_t submitted;     /* records, since rpmi_legs_begin() */
    uint64_t committed;     /* of these, acks members have the first so many */
    uint64_t reaped;        /* of these, so many were handed out by rpmi_legs_poll() */
    uint64_t tail_lsn;      /* where the next frame begins */
    uint64_t shared_lsn;    /* all legs have acknowledged everything in front of it */
    uint64_t committed_lsn; /* acks members have everything in front of it */
    uint64_t lag_lsn;       /* what the legs' next frames state: see rpmi_queued.shared_lsn */
    int dead;               /* 0, or why fewer than acks legs are left */
    struct {
        uint64_t given;       /* records that its log has taken */
        uint64_t acked;       /* of these, so many are at the log's level */
        uint64_t progress_ns; /* when it acknowledged last, or had nothing to acknowledge */
    } of[RPMI_COPIES_MAX];
};

/* Memory for @inflight_max records with @ring_bytes of payload together. RPM_E_NOMEM. */
int rpmi_legs_open(struct rpmi_legs *legs, uint32_t inflight_max, uint64_t ring_bytes,
                   uint64_t suspect_ns);
void rpmi_legs_close(struct rpmi_legs *legs);

/* After a round that succeeded: append at its tail to the members that it has sealed. What was
 * submitted before is forgotten. */
void rpmi_legs_begin(struct rpmi_legs *legs, const struct rpmi_round *round);

/*
 * Use the dropped leg @i again, without a round, after rpm_conn_reconnect() of its connection: if
 * it was sealed in this epoch and no other writer has claimed it since, this client claims the same
 * epoch again, copies what the member lacks from another leg, and gives it the queued records.
 * Blocks for as long as the copy takes. After an error it stays dropped: RPM_E_FENCED: another
 * writer has claimed it, or it was not sealed in this epoch; RPM_E_QUORUM: its memory was lost.
 * After both only a round brings it back. Or legs->dead; else as rpmi_member_attach(), rpmi_fill().
 */
int rpmi_legs_rejoin(struct rpmi_legs *legs, uint32_t i);

/* The largest payload that can be submitted. */
uint64_t rpmi_legs_record_max(const struct rpmi_legs *legs);

/*
 * Submit a record of @len bytes, 1 to rpmi_legs_record_max(); one completion follows. @data:
 * borrowed until return. RPM_E_BUSY: nothing was submitted; poll, then again. RPM_E_FULL: nothing
 * was submitted; trim. Or legs->dead.
 */
int rpmi_legs_submit(struct rpmi_legs *legs, const void *data, uint32_t len, void *context,
                     uint64_t *lsn);

/* Hand out at most @n completions, oldest first. Once legs->dead is set, the records that were not
 * acknowledged end with it: they may be in the log or not. Does not block. */
uint32_t rpmi_legs_poll(struct rpmi_legs *legs, struct rpm_completion *done, uint32_t n);

/* Wait until all that was submitted is acknowledged; completions stay to be polled. RPM_E_TIMEDOUT:
 * not within the connections' timeout; or legs->dead. */
int rpmi_legs_flush(struct rpmi_legs *legs);

/* Free the space in front of @lsn, at most committed_lsn, the start of a record, on each leg that
 * has acknowledged so much; the other legs are dropped. RPM_E_RANGE, or legs->dead. */
int rpmi_legs_trim(struct rpmi_legs *legs, uint64_t lsn);

#endif
