/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open.c: open, reconnect and close a connection. It allocates all memory when it opens.
 *
 * Tests: tests/unit/conn/open_test.cpp, tests/conform/
 */
#include "conn/conn.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "plan/refuse.h"

#define STAGING_DEFAULT (16u << 20)
#define STAGING_MIN (1u << 20)
#define STAGING_MAX (1ull << 32)
#define PACE_ALL ((uint32_t)(RPM_PACE_THROTTLE | RPM_PACE_EAGER | RPM_PACE_GATHER))
#define DEPTH_MIN (RPMI_BATCH_OPS_MAX + RPMI_CREDITS_SPARE)
#define LINK_BYTES (64u << 10) /* at least the size of each provider's own struct */

static int opts_read(const struct rpm_conn_opts *opts, struct rpm_conn_opts *ours)
{
    uint32_t hints;
    int err;

    *ours = rpm_conn_opts_init();
    err = rpmi_opts_in(ours, sizeof(*ours), opts);
    if (err != 0)
        return err;
    if (ours->timeout_us == 0)
        ours->timeout_us = RPMI_TIMEOUT_DEFAULT_US;
    if (ours->depth == 0)
        ours->depth = RPMI_DEPTH_DEFAULT;
    if (ours->staging_bytes == 0)
        ours->staging_bytes = STAGING_DEFAULT;
    if (ours->depth < RPMI_BATCH_OPS_MAX || ours->depth > RPMI_DEPTH_MAX)
        return rpmi_fail(RPM_E_INVAL, "depth is %u, expected is %u to %u", ours->depth,
                         RPMI_BATCH_OPS_MAX, RPMI_DEPTH_MAX);
    if (ours->staging_bytes < STAGING_MIN || ours->staging_bytes > STAGING_MAX)
        return rpmi_fail(RPM_E_INVAL, "staging_bytes is %llu, expected is %llu to %llu",
                         (unsigned long long)ours->staging_bytes, (unsigned long long)STAGING_MIN,
                         (unsigned long long)STAGING_MAX);
    if (ours->timeout_us > UINT64_MAX / 2000)
        return rpmi_fail(RPM_E_INVAL, "timeout_us of %llu, maximum %llu",
                         (unsigned long long)ours->timeout_us,
                         (unsigned long long)UINT64_MAX / 2000);
    if ((ours->pace & ~PACE_ALL) != 0)
        return rpmi_fail(RPM_E_INVAL, "pace flags %#x, known are %#x", ours->pace, PACE_ALL);
    err = rpmi_method_check(ours->method);
    if (err != 0)
        return err;
    return rpm_hints_parse(ours->hints != NULL ? ours->hints : "all", &hints);
}

static void self_complete(struct rpmi_owner *owner, uint64_t seq, int status)
{
    struct rpm_conn *conn =
        (struct rpm_conn *)((unsigned char *)owner - offsetof(struct rpm_conn, self));

    RPM_ASSERT(seq > conn->self_done && seq <= conn->self_seq);
    conn->self_done = seq;
    if (status != 0)
        conn->self_status = status;
}

static void self_lost(struct rpmi_owner *owner, int status)
{
    struct rpm_conn *conn =
        (struct rpm_conn *)((unsigned char *)owner - offsetof(struct rpm_conn, self));

    if (conn->self_done == conn->self_seq)
        return;
    conn->self_done = conn->self_seq;
    if (conn->self_status == 0)
        conn->self_status = status;
}

static void set_pace(struct rpm_conn *conn, uint32_t pace)
{
    const struct rpmi_link *link = conn->link;

    if (rpmi_conn_is_synchronous(conn))
        pace &= ~(uint32_t)(RPM_PACE_THROTTLE | RPM_PACE_GATHER); /* no op is ever outstanding */
    rpmi_credit_open(&conn->credit, link->depth);
    conn->throttled = (pace & RPM_PACE_THROTTLE) != 0;
    conn->unthrottled = conn->throttled ? 0 : link->depth - RPMI_CREDITS_SPARE;
    conn->eager = (pace & RPM_PACE_EAGER) != 0;
    conn->gathers = (pace & RPM_PACE_GATHER) != 0;
    rpmi_throttle_open(&conn->throttle, link->depth);
    rpmi_backoff_open(&conn->backoff, (uint64_t)link->client << 32 | link->server_epoch);
}

int rpmi_conn_wrap(struct rpmi_link *link, const struct rpm_conn_opts *opts, struct rpm_conn **conn)
{
    struct rpm_conn_opts ours;
    struct rpm_conn *fresh = NULL;
    int err = opts_read(opts, &ours);

    if (err != 0)
        goto fail;
    if (link->depth < DEPTH_MIN) {
        err = rpmi_fail(RPM_E_NOCAP,
                        "the link takes %u outstanding operations, a connection needs %u",
                        link->depth, DEPTH_MIN);
        goto fail;
    }
    err = RPM_E_NOMEM;
    fresh = rpmi_alloc(sizeof(*fresh), RPMI_LINE_BYTES);
    if (fresh == NULL)
        goto fail;
    fresh->due = rpmi_alloc(sizeof(fresh->due[0]) * link->depth, RPMI_LINE_BYTES);
    if (fresh->due == NULL)
        goto fail;
    fresh->bounce = link->ops->stage(link, RPMI_BOUNCE_BYTES);
    fresh->word = link->ops->stage(link, RPMI_LINE_BYTES);
    if (fresh->bounce == NULL || fresh->word == NULL) {
        err = rpmi_fail(RPM_E_NOMEM,
                        "the connection takes %u bytes of staging memory for itself and the link "
                        "has fewer; raise staging_bytes",
                        RPMI_BOUNCE_BYTES + RPMI_LINE_BYTES);
        goto fail;
    }
    fresh->link = link;
    rpmi_events_init(&fresh->events);
    set_pace(fresh, ours.pace);
    fresh->timeout_ns = ours.timeout_us * 1000;
    fresh->method = ours.method;
    (void)!rpm_hints_parse(ours.hints != NULL ? ours.hints : "all", &fresh->hints);
    fresh->self.complete = self_complete;
    fresh->self.lost = self_lost;
    fresh->owners[0] = &fresh->self;
    *conn = fresh;
    return 0;
fail:
    if (fresh != NULL)
        rpmi_free(fresh->due);
    rpmi_free(fresh);
    link->ops->close(link);
    return err;
}

int rpmi_conn_link_opts(const struct rpm_conn_opts *opts, struct rpmi_link_opts *link)
{
    struct rpm_conn_opts ours;
    int err = opts_read(opts, &ours);

    if (err != 0)
        return err;
    *link = (struct rpmi_link_opts){
        .timeout_us = ours.timeout_us,
        /* A post of the largest size, and the two spare credits of pump.c, must fit. */
        .depth = ours.depth < DEPTH_MIN ? DEPTH_MIN : ours.depth,
        .staging_bytes = ours.staging_bytes,
        .secret = ours.secret,
        .gathers = (ours.pace & RPM_PACE_GATHER) != 0,
    };
    return 0;
}

int rpm_conn_open(const char *url, const struct rpm_conn_opts *opts, struct rpm_conn **conn)
{
    rpmi_begin();

    struct rpmi_link_opts link_opts;
    struct rpmi_link *link;
    int err;

    RPM_ASSERT(url != NULL && conn != NULL);
    err = rpmi_conn_link_opts(opts, &link_opts);
    if (err == 0)
        err = rpmi_link_open(url, &link_opts, &link);
    if (err != 0)
        return err;
    return rpmi_conn_wrap(link, opts, conn);
}

/* On a new link no op is outstanding: reset the counters of the old link's ops. */
static void start_over(struct rpm_conn *conn)
{
    RPM_ASSERT(conn->holding == 0); /* no owner posts on the new link what it held back before */
    conn->generation++;
    conn->throttle.posted -= conn->credit.used;
    conn->credit.used = 0;
    rpmi_throttle_restart(&conn->throttle);
    conn->unsignaled = 0;
    conn->due_first = 0;
    conn->due_count = 0;
    conn->self_done = conn->self_seq;
    conn->self_status = 0;
    conn->events.since_ns = 0;
    for (uint32_t i = 0; i <= RPMI_OWNERS_MAX; i++)
        if (conn->owners[i] != NULL)
            conn->owners[i]->lost_reported = false;
}

int rpm_conn_reconnect(struct rpm_conn *conn)
{
    rpmi_begin();

    uint64_t deadline;
    uint64_t pause_ns = 100000;
    int err;

    RPM_ASSERT(conn != NULL);
    deadline = rpmi_conn_deadline(conn);
    for (uint32_t i = 0; i <= RPMI_OWNERS_MAX; i++)
        if (conn->owners[i] != NULL && !conn->owners[i]->lost_reported) {
            conn->owners[i]->lost_reported = true;
            conn->owners[i]->due = 0;
            conn->owners[i]->lost(conn->owners[i], RPM_E_LOST);
        }
    conn->link->lost = RPM_E_LOST;
    for (;;) {
        err = conn->link->ops->reconnect(conn->link, deadline);
        if (err == 0)
            break;
        if ((err != RPM_E_REFUSED && err != RPM_E_LOST) ||
            conn->link->ops->now_ns(conn->link) >= deadline)
            return err;
        conn->link->ops->pause(conn->link, pause_ns);
        if (pause_ns < 50000000)
            pause_ns *= 2;
    }
    conn->link->lost = 0;
    start_over(conn);
    return 0;
}

int rpm_conn_facts(const struct rpm_conn *conn, struct rpm_facts *facts)
{
    rpmi_begin();
    RPM_ASSERT(conn != NULL && facts != NULL);
    return rpmi_opts_out(facts, &conn->link->facts, sizeof(conn->link->facts));
}

int rpm_conn_stats(const struct rpm_conn *conn, struct rpm_conn_stats *stats)
{
    rpmi_begin();

    struct rpm_conn_stats ours = conn->link->stats;

    RPM_ASSERT(stats != NULL);
    ours.payload_bytes = conn->payload_bytes;
    if (conn->throttled) {
        ours.throttle_limit = conn->throttle.limit;
        ours.throttle_changes = conn->throttle.changes;
        ours.throttle_held = conn->throttle.held;
    }
    return rpmi_opts_out(stats, &ours, sizeof(ours));
}

uint32_t rpm_conn_client(const struct rpm_conn *conn)
{
    return conn->link->client;
}

size_t rpm_conn_mem_bytes(const struct rpm_conn_opts *opts)
{
    struct rpm_conn_opts ours;

    if (opts_read(opts, &ours) != 0)
        return 0;
    return sizeof(struct rpm_conn) + ours.depth * sizeof(struct rpmi_due) + LINK_BYTES +
           ours.depth * 2 * RPMI_LINE_BYTES + ours.staging_bytes;
}

void rpm_conn_close(struct rpm_conn **conn)
{
    RPM_ASSERT(conn != NULL);
    if (*conn == NULL)
        return;
    RPM_ASSERT((*conn)->owners_open == 0);
    (*conn)->link->ops->close((*conn)->link);
    rpmi_events_close(&(*conn)->events);
    rpmi_free((*conn)->due);
    rpmi_free(*conn);
    *conn = NULL;
}
