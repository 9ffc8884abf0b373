/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * messages.c: the engine's part of a verbs: listener: it receives the messages that clients SEND,
 * carries out RPC requests in its batch, and hands auth messages and calls to the control thread.
 *
 * One done message answers all RPC requests of a pass, except lists of steps, each of which is
 * answered by a result message of its own. The engine sends either when the send queue has room:
 * the count in each is cumulative, so a later message covers one that was not sent.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "serve/verbs/verbs.h"

#include "base/assert.h"
#include "base/diag.h"

#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#define PASS_BYTES (1u << 20) /* of one client in one pass */
#define RECEIVE_ID (1ull << 63)

void rpmi_notify(int fd)
{
    uint64_t one = 1;
    ssize_t put = write(fd, &one, sizeof(one));

    RPM_ASSERT(put == (ssize_t)sizeof(one) || errno == EAGAIN);
}

bool rpmi_msg_receive(struct rpmi_verbs_session *session, uint32_t i)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t)rpmi_verbs_receive_at(session, i),
        .length = RPMI_MSG_TO_SERVER,
        .lkey = session->buffers_mr->lkey,
    };
    struct ibv_recv_wr wr = { .wr_id = RECEIVE_ID | i, .sg_list = &sge, .num_sge = 1 };
    struct ibv_recv_wr *bad;

    RPM_ASSERT(i < RPMI_VERBS_RECEIVES); /* the NIC stores what the client sends there */
    return ibv_post_recv(session->qp.qp, &wr, &bad) == 0;
}

bool rpmi_msg_send(struct rpmi_verbs_session *session, unsigned char *message, uint32_t len)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t)message,
        .length = len,
        .lkey = session->buffers_mr->lkey,
    };
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED | (len <= session->qp.inline_bytes ? IBV_SEND_INLINE : 0),
    };
    struct ibv_send_wr *bad;

    /* No byte outside this client's buffers is sent to it. */
    RPM_ASSERT(rpmi_in_bounds((uint64_t)(message - session->buffers), len, RPMI_VERBS_BUFFERS));
    __atomic_fetch_add(&session->sends, 1, __ATOMIC_RELAXED);
    return ibv_post_send(session->qp.qp, &wr, &bad) == 0;
}

/* Notify the control thread, which ends the session. */
static void drop_client(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                        const char *why)
{
    rpmi_diag(RPM_DIAG_DEBUG, "client %u is disconnected: %s", session->base.client, why);
    __atomic_store_n(&session->gone, 1, __ATOMIC_RELEASE);
    rpmi_notify(listener->control_notify_fd);
}

/* Carry out as much of the current RPC request as a pass may take. */
static void continue_rpc(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                         uint64_t *room, struct rpmi_batch *batch)
{
    struct rpm_server *server = listener->base.server;
    struct rpmi_op *op = &session->op;
    struct rpmi_part part = { session->carried, op->len - session->carried };
    int err;

    RPM_ASSERT(session->carried <= op->len);
    RPM_ASSERT(op->kind != RPMI_OP_STEPS ||
               session->results - session->results_sent < RPMI_VERBS_RESULTS);
    /* The receive with the bytes of a COPY is posted again after this: the first part stores all of
     * them, and later parts only zeros. */
    if (part.len > *room && rpmi_request_in_parts(op->kind)) {
        part.len = *room > op->body_bytes ? *room : op->body_bytes;
        if (part.len > op->len - session->carried)
            part.len = op->len - session->carried;
    }
    if (op->kind == RPMI_OP_STEPS)
        op->into = rpmi_verbs_result_at(session, session->results) + RPMI_RESULT_BYTES;
    err = rpmi_request_do(server, session->base.client, op, &part, batch);
    session->held = err == RPMI_HELD;
    if (session->held) {
        session->answered = rpmi_orders_answered(server->orders);
        session->unfinished = true;
        return;
    }
    *room -= part.len < *room ? part.len : *room;
    session->carried += part.len;
    session->unfinished = err == 0 && session->carried < op->len;
    if (session->unfinished)
        return;
    session->rpcs++;
    session->status = err;
    if (op->kind == RPMI_OP_STEPS && err == 0)
        rpmi_result_put(rpmi_verbs_result_at(session, session->results++), session->rpcs,
                        (uint32_t)op->len);
    rpmi_count_own(&server->stats.ops, 1);
    if (err != 0)
        rpmi_count_own(&server->stats.rejected, 1);
    else if (rpmi_request_promises(op->kind, op->flags) && session->first_durable == 0)
        session->first_durable = session->rpcs;
}

static void begin(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                  uint64_t *room, struct rpmi_batch *batch)
{
    RPM_ASSERT(!session->unfinished); /* one RPC request at a time */
    session->carried = 0;
    continue_rpc(listener, session, room, batch);
}

/* A write with immediate data: the NIC wrote the bytes, the server CPU makes them durable. */
static bool take_imm(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                     const struct ibv_wc *wc, uint64_t *room, struct rpmi_batch *batch)
{
    uint32_t imm = ntohl(wc->imm_data);
    struct rpmi_extent extent;
    struct rpmi_op *op = &session->op;

    *op = (struct rpmi_op){
        .kind = RPMI_OP_PERSIST,
        .key = imm >> 24,
        .offset = (uint64_t)(imm & (RPMI_IMM_LINES - 1)) * RPMI_LINE_BYTES,
        .len = (uint64_t)wc->byte_len + RPMI_LINE_BYTES - 1,
    };
    /* The immediate names the first line, and the write may have begun anywhere in it, hence one
     * line more; bytes behind the end of the object are left out. */
    if (rpmi_service_extent(listener->base.server->service, session->base.client, op->key,
                            &extent) == 0 &&
        op->offset < extent.bytes && op->len > extent.bytes - op->offset)
        op->len = extent.bytes - op->offset;
    begin(listener, session, room, batch);
    return true;
}

static bool take_message(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                         const unsigned char *message, uint32_t len)
{
    uint32_t state = rpmi_verbs_session_state(session);
    struct rpmi_session *base = &session->base;

    if (__atomic_load_n(&base->call_state, __ATOMIC_ACQUIRE) != RPMI_SESSION_IDLE)
        return false;
    if (state == RPMI_VERBS_SESSION_HANDSHAKE && rpmi_msg_kind(message, len) == RPMI_MSG_AUTH)
        memcpy(session->transcript.auth, message + RPMI_MSG_HEAD, RPMI_AUTH_BYTES);
    else if (state == RPMI_VERBS_SESSION_LIVE && rpmi_msg_kind(message, len) == RPMI_MSG_CALL)
        memcpy(base->call, message + RPMI_MSG_HEAD, RPMI_CALL_BYTES);
    else
        return false;
    __atomic_store_n(&base->call_state, RPMI_SESSION_ASKED, __ATOMIC_RELEASE);
    rpmi_notify(listener->control_notify_fd);
    return true;
}

/* False: a client may not send this. */
static bool take_receive(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                         const struct ibv_wc *wc, uint64_t *room, struct rpmi_batch *batch)
{
    const unsigned char *message =
        rpmi_verbs_receive_at(session, (uint32_t)(wc->wr_id & ~RECEIVE_ID));
    struct rpmi_rpc rpc;

    if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
        return rpmi_verbs_session_state(session) == RPMI_VERBS_SESSION_LIVE &&
               take_imm(listener, session, wc, room, batch);
    if (rpmi_msg_kind(message, wc->byte_len) != RPMI_MSG_RPC)
        return take_message(listener, session, message, wc->byte_len);
    if (rpmi_verbs_session_state(session) != RPMI_VERBS_SESSION_LIVE ||
        rpmi_rpc_get(message, wc->byte_len, &rpc) != 0 ||
        session->results - session->results_sent == RPMI_VERBS_RESULTS)
        return false;
    session->op = (struct rpmi_op){
        .kind = rpc.kind,
        .flags = rpc.flags,
        .key = rpc.key,
        .offset = rpc.offset,
        .len = rpc.len,
        .body = message + RPMI_RPC_BYTES,
        .body_bytes = rpc.body_bytes,
    };
    begin(listener, session, room, batch);
    return true;
}

static void take_one(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                     const struct ibv_wc *wc, uint64_t *room, struct rpmi_batch *batch)
{
    RPM_ASSERT((wc->wr_id & RECEIVE_ID) != 0 ||
               __atomic_load_n(&session->sends, __ATOMIC_RELAXED) > 0);
    if ((wc->wr_id & RECEIVE_ID) == 0)
        __atomic_fetch_sub(&session->sends, 1, __ATOMIC_RELAXED);
    if (wc->status != IBV_WC_SUCCESS) {
        drop_client(listener, session, ibv_wc_status_str(wc->status));
        return;
    }
    /* After a failure the engine carries out no more requests: the client must reconnect. */
    if ((wc->wr_id & RECEIVE_ID) == 0 || session->status != 0)
        return;
    if (!take_receive(listener, session, wc, room, batch))
        drop_client(listener, session, "it sent an invalid message");
    else if (!rpmi_msg_receive(session, (uint32_t)(wc->wr_id & ~RECEIVE_ID)))
        drop_client(listener, session, "the device refuses a receive");
}

/* Is there a completion to handle? */
static bool poll_cq(struct rpmi_verbs_session *session)
{
    int n;

    if (session->wc_at < session->wc_n)
        return true;
    n = ibv_poll_cq(session->cq, (int)RPMI_VERBS_WCS, session->wc);
    session->wc_at = 0;
    session->wc_n = n > 0 ? (uint32_t)n : 0;
    return n > 0;
}

static bool served(const struct rpmi_verbs_session *session)
{
    uint32_t state = rpmi_verbs_session_state(session);

    return (state == RPMI_VERBS_SESSION_HANDSHAKE || state == RPMI_VERBS_SESSION_LIVE) &&
           __atomic_load_n(&session->gone, __ATOMIC_RELAXED) == 0;
}

static bool can_report(const struct rpmi_verbs_session *session)
{
    return session->rpcs != session->rpcs_reported &&
           __atomic_load_n(&session->sends, __ATOMIC_RELAXED) < RPMI_VERBS_DONES;
}

/* Is there more of the current RPC request to carry out now? */
static bool can_continue(const struct rpm_server *server, const struct rpmi_verbs_session *session)
{
    return session->unfinished && session->status == 0 &&
           (!session->held ||
            rpmi_serve_may_retry(server, session->base.client, session->answered));
}

static bool session_ready(const struct rpm_server *server, struct rpmi_verbs_session *session)
{
    if (rpmi_verbs_session_state(session) == RPMI_VERBS_SESSION_CLOSED)
        return true;
    if (!served(session))
        return false;
    return can_continue(server, session) || can_report(session) ||
           (!session->held && poll_cq(session));
}

bool rpmi_messages_ready(struct rpmi_listener *listener)
{
    struct rpmi_verbs_listener *ours = rpmi_verbs_listener_of(listener);

    for (uint32_t i = 0; i < ours->sessions_n; i++)
        if (session_ready(listener->server, &ours->sessions[i]))
            return true;
    return false;
}

bool rpmi_messages_arm(struct rpmi_listener *listener)
{
    struct rpmi_verbs_listener *ours = rpmi_verbs_listener_of(listener);
    uint32_t nics = __atomic_load_n(&ours->nics_n, __ATOMIC_ACQUIRE);
    struct ibv_cq *cq;
    uint64_t count;
    void *context;

    if (read(ours->engine_notify_fd, &count, sizeof(count)) < 0)
        RPM_ASSERT(errno == EAGAIN);
    for (uint32_t i = 0; i < nics; i++)
        while (ibv_get_cq_event(ours->nics[i].channel, &cq, &context) == 0)
            ibv_ack_cq_events(cq, 1);
    for (uint32_t i = 0; i < ours->sessions_n; i++)
        if (served(&ours->sessions[i]) && ibv_req_notify_cq(ours->sessions[i].cq, 0) != 0)
            drop_client(ours, &ours->sessions[i], "the device refuses to notify of its messages");
    return rpmi_messages_ready(listener);
}

static void take_from(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                      struct rpmi_batch *batch)
{
    uint64_t room = PASS_BYTES;
    uint64_t summed = batch->summed;
    uint32_t left = RPMI_VERBS_RECEIVES;

    session->first_durable = 0;
    if (can_continue(listener->base.server, session))
        continue_rpc(listener, session, &room, batch);
    while (served(session) && (!session->unfinished || session->status != 0) && left > 0 &&
           room > 0 && rpmi_batch_may_take(batch, summed) && poll_cq(session)) {
        take_one(listener, session, &session->wc[session->wc_at++], &room, batch);
        left--;
    }
}

/* From now on the engine does not access the session; the control thread frees it. */
static void leave(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session)
{
    __atomic_store_n(&session->state, RPMI_VERBS_SESSION_LEFT, __ATOMIC_RELEASE);
    rpmi_notify(listener->control_notify_fd);
}

void rpmi_messages_take(struct rpmi_listener *listener, struct rpmi_batch *batch)
{
    struct rpmi_verbs_listener *ours = rpmi_verbs_listener_of(listener);

    RPM_ASSERT(rpmi_serve_is_engine(listener->server) && rpmi_serve_has_lock(listener->server));
    for (uint32_t i = 0; i < ours->sessions_n; i++) {
        struct rpmi_verbs_session *session = &ours->sessions[i];

        if (rpmi_verbs_session_state(session) == RPMI_VERBS_SESSION_CLOSED)
            leave(ours, session);
        else if (served(session))
            take_from(ours, session, batch);
    }
}

/* Send the answers to lists of steps, as many as there is room for. False: some are left. */
static bool send_results(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session)
{
    RPM_ASSERT(session->results - session->results_sent <= RPMI_VERBS_RESULTS);
    while (session->results_sent != session->results) {
        unsigned char *message = rpmi_verbs_result_at(session, session->results_sent);
        uint64_t rpc = 0;

        if (rpmi_result_get(message, &rpc) != 0 || rpc > session->rpcs ||
            (rpc == session->rpcs && session->status != 0)) {
            session->results_sent = session->results; /* msync failed: these must not be sent */
            return true;
        }
        if (!can_report(session))
            return false;
        if (!rpmi_msg_send(session, message, rpmi_msg_bytes(message))) {
            drop_client(listener, session, "the device refuses to send an answer");
            return false;
        }
        session->rpcs_reported = rpc;
        session->results_sent++;
    }
    return true;
}

/* If msync failed, the first RPC request of the batch that promises durability has failed, and none
 * after it is answered. */
static void record_msync(struct rpmi_verbs_session *session, const struct rpmi_batch *batch)
{
    if (batch->msync_status == 0 || session->first_durable == 0)
        return;
    session->rpcs = session->first_durable;
    session->status = batch->msync_status;
}

void rpmi_messages_answer(struct rpmi_listener *listener, const struct rpmi_batch *batch)
{
    struct rpmi_verbs_listener *ours = rpmi_verbs_listener_of(listener);

    RPM_ASSERT(rpmi_serve_is_engine(listener->server));
    for (uint32_t i = 0; i < ours->sessions_n; i++) {
        struct rpmi_verbs_session *session = &ours->sessions[i];
        unsigned char *message;

        if (rpmi_verbs_session_state(session) != RPMI_VERBS_SESSION_LIVE || !served(session))
            continue;
        record_msync(session, batch);
        if (!send_results(ours, session) || !can_report(session))
            continue;
        message = rpmi_verbs_done_at(session, session->dones_sent++);
        rpmi_done_put(message, session->rpcs, session->status);
        session->rpcs_reported = session->rpcs;
        if (!rpmi_msg_send(session, message, RPMI_DONE_BYTES))
            drop_client(ours, session, "the device refuses to send an answer");
    }
}
