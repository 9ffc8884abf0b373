/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sync.c: helpers of a connection that block: reads, flushes of ranges, control messages, pauses.
 *
 * Tests: tests/unit/conn/sync_test.cpp
 */
#include "conn/conn.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"

static int read_piece(struct rpm_conn *conn, uint32_t key, uint64_t offset, void *into,
                      uint64_t len)
{
    struct rpmi_op op = {
        .kind = RPMI_OP_READ,
        .key = key,
        .offset = offset,
        .len = len,
        .into = rpmi_conn_is_synchronous(conn) ? into : conn->bounce,
    };
    int err;

    RPM_ASSERT(op.into == into || len <= RPMI_BOUNCE_BYTES);
    err = rpmi_conn_exec(conn, &op, 1);
    if (err == 0 && op.into != into)
        memcpy(into, op.into, len);
    return err;
}

int rpmi_conn_read(struct rpm_conn *conn, uint32_t key, uint64_t offset, void *into, uint64_t len)
{
    for (uint64_t at = 0; at < len;) {
        uint64_t piece = len - at < RPMI_BOUNCE_BYTES ? len - at : RPMI_BOUNCE_BYTES;
        int err = read_piece(conn, key, offset + at, (unsigned char *)into + at, piece);

        if (err != 0)
            return err;
        at += piece;
    }
    return 0;
}

/* Spins through a short pause: a sleep would take longer. The clock of the device model does not
 * advance while this spins, so there the link lets time pass. */
void rpmi_conn_pause(struct rpm_conn *conn, uint64_t ns, uint64_t deadline_ns)
{
    struct rpmi_link *link = conn->link;
    uint64_t now = link->ops->now_ns(link);
    uint64_t end = now + ns < deadline_ns ? now + ns : deadline_ns;

    while (now < end && end - now < RPMI_SPIN_NS) {
        uint64_t before = now;

        rpmi_cpu_relax();
        now = link->ops->now_ns(link);
        if (now == before)
            break;
    }
    if (now < end)
        link->ops->pause(link, end - now);
}

int rpmi_conn_persist(struct rpm_conn *conn, const struct rpmi_plan *plan, uint32_t key,
                      const struct rpmi_range *ranges, uint32_t n)
{
    struct rpmi_op ops[RPMI_PLAN_OPS_MAX] = { 0 };
    uint32_t count;

    RPM_ASSERT(n <= RPMI_PLAN_OPS_MAX);
    count = rpmi_plan_seal(plan, key, ranges, n, conn->word, ops);
    return count == 0 ? 0 : rpmi_conn_exec(conn, ops, count);
}

int rpmi_conn_call(struct rpm_conn *conn, const struct rpmi_call *call, struct rpmi_reply *reply)
{
    int err;

    if (conn->link->lost != 0)
        return rpmi_fail(conn->link->lost, "the connection is lost: reconnect first");
    conn->link->stats.calls++;
    err = conn->link->ops->call(conn->link, call, reply, rpmi_conn_deadline(conn));
    if (err != 0) {
        if (conn->link->lost == 0)
            conn->link->lost = err;
        (void)rpmi_conn_pump(conn);
        return err;
    }
    if (reply->status != 0)
        return rpmi_fail(reply->status, "%s", reply->text);
    return 0;
}

void rpmi_conn_drop_key(struct rpm_conn *conn, uint32_t key)
{
    struct rpmi_call call = { .kind = RPMI_CALL_CLOSE, .key = key };
    struct rpmi_reply reply;

    if (conn->link->lost == 0)
        (void)rpmi_conn_call(conn, &call, &reply);
}

struct rpm_request rpmi_conn_request(const struct rpm_conn *conn, enum rpm_request_kind kind,
                                     uint32_t level, uint32_t method)
{
    struct rpm_request request = rpm_request_init();

    request.kind = kind;
    request.level = level;
    request.hints = conn->hints;
    request.method = method != RPM_METHOD_DEFAULT ? method : conn->method;
    return request;
}
