/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.c: the control thread's part of a verbs: session, from the client's connection request
 * until the session is freed.
 *
 * The control thread ends a session in this order: put the queue pair into the error state, so that
 * the NIC carries out no more requests; deregister its memory; end its keys, claims and locks;
 * last, when the engine has left the session, destroy the queues.
 *
 * Invariant: a session is freed once, by the control thread. While no engine runs, that thread also
 * takes the engine's step (CLOSED -> LEFT); whether an engine runs cannot change under the lock.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "serve/verbs/verbs.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SENDS_SPARE 8u
#define RETRIES 6u           /* 7 means without end on some devices */
#define PROBE_NS 5000000000u /* between two checks whether a client's machine answers */
#define RETIRES_MAX 4u       /* sessions freed in one turn, before clients are served again */
#define LEAVE_NS 100000000u  /* wait at most so long for the engine to leave a session */
#define LEAVE_NAP_NS 20000u

static uint32_t index_of(const struct rpmi_verbs_listener *listener,
                         const struct rpmi_verbs_session *session)
{
    RPM_ASSERT(session >= listener->sessions &&
               session < listener->sessions + listener->sessions_n);
    return (uint32_t)(session - listener->sessions);
}

static struct rpmi_verbs_session *find_state(struct rpmi_verbs_listener *listener,
                                             enum rpmi_verbs_session_state state)
{
    for (uint32_t i = 0; i < listener->sessions_n; i++)
        if (rpmi_verbs_session_state(&listener->sessions[i]) == state)
            return &listener->sessions[i];
    return NULL;
}

static void leave_without_engine(struct rpmi_verbs_listener *listener)
{
    struct rpm_server *server = listener->base.server;

    rpmi_serve_lock(server);
    for (uint32_t i = 0; i < listener->sessions_n && server->engine_runs == 0; i++)
        if (rpmi_verbs_session_state(&listener->sessions[i]) == RPMI_VERBS_SESSION_CLOSED)
            __atomic_store_n(&listener->sessions[i].state, RPMI_VERBS_SESSION_LEFT,
                             __ATOMIC_RELEASE);
    rpmi_serve_unlock(server);
}

/* Destroy the parts of the session that were created. */
static void retire(struct rpmi_verbs_session *session)
{
    uint32_t state = rpmi_verbs_session_state(session);

    RPM_ASSERT(session->base.client == 0); /* detached: no claim, no key, no lock is left */
    RPM_ASSERT(state == RPMI_VERBS_SESSION_LEFT || state == RPMI_VERBS_SESSION_FREE);
    if (session->qp.qp != NULL)
        rdma_destroy_qp(session->id);
    if (session->cq != NULL)
        (void)ibv_destroy_cq(session->cq);
    if (session->buffers_mr != NULL)
        (void)ibv_dereg_mr(session->buffers_mr);
    if (session->buffers != NULL)
        (void)munmap(session->buffers, RPMI_VERBS_BUFFERS);
    if (session->pd != NULL)
        (void)ibv_dealloc_pd(session->pd);
    if (session->id != NULL)
        (void)rdma_destroy_id(session->id);
    session->qp = (struct rpmi_qp){ 0 };
    session->cq = NULL;
    session->buffers_mr = NULL;
    session->buffers = NULL;
    session->pd = NULL;
    session->id = NULL;
    __atomic_store_n(&session->state, RPMI_VERBS_SESSION_FREE, __ATOMIC_RELEASE);
}

bool rpmi_verbs_sessions_retire(struct rpmi_verbs_listener *listener)
{
    uint32_t done = 0;

    leave_without_engine(listener);
    for (uint32_t i = 0; i < listener->sessions_n; i++) {
        if (rpmi_verbs_session_state(&listener->sessions[i]) != RPMI_VERBS_SESSION_LEFT)
            continue;
        if (done++ == RETIRES_MAX)
            return true;
        retire(&listener->sessions[i]);
    }
    return false;
}

void rpmi_verbs_end_sessions(struct rpmi_verbs_listener *listener)
{
    for (uint32_t i = 0; i < listener->sessions_n; i++)
        rpmi_verbs_session_leave(listener, &listener->sessions[i]);
    while (rpmi_verbs_sessions_retire(listener))
        ;
    RPM_ASSERT(find_state(listener, RPMI_VERBS_SESSION_CLOSED) == NULL);
}

/* A free session. While the engine is about to leave a closed one, wait for that one. */
static struct rpmi_verbs_session *wait_for_session(struct rpmi_verbs_listener *listener)
{
    uint64_t deadline = rpmi_clock_ns() + LEAVE_NS;
    struct rpmi_verbs_session *session = find_state(listener, RPMI_VERBS_SESSION_FREE);

    while (session == NULL && rpmi_clock_ns() < deadline) {
        bool coming = find_state(listener, RPMI_VERBS_SESSION_CLOSED) != NULL;

        (void)rpmi_verbs_sessions_retire(listener);
        session = find_state(listener, RPMI_VERBS_SESSION_FREE);
        if (session == NULL && !coming)
            break;
        if (session == NULL)
            rpmi_clock_sleep_ns(LEAVE_NAP_NS);
    }
    return session;
}

/* A free session; if there is none, evict an unauthenticated connection. NULL: authenticated
 * clients have all of them, or the engine did not leave one in time. */
static struct rpmi_verbs_session *find_session(struct rpmi_verbs_listener *listener,
                                               const struct rpmi_origin *origin)
{
    struct rpmi_verbs_session *session = wait_for_session(listener);
    uint32_t at;

    if (session != NULL || !rpmi_admission_victim(&listener->admission, origin, &at))
        return session;
    RPM_ASSERT(listener->sessions[at].base.client == 0); /* never one that authenticated */
    rpmi_count(&listener->base.server->stats.refused, 1);
    rpmi_verbs_session_leave(listener, &listener->sessions[at]);
    return wait_for_session(listener);
}

static int make_buffers(struct rpmi_verbs_session *session)
{
    session->buffers =
        mmap(NULL, RPMI_VERBS_BUFFERS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (session->buffers == MAP_FAILED) {
        session->buffers = NULL;
        return rpmi_fail(RPM_E_NOMEM, "no memory for the message buffers of another client");
    }
    return rpmi_nic_register(&session->nic->nic, session->pd, session->buffers, RPMI_VERBS_BUFFERS,
                             RPMI_NIC_LOCAL, &session->buffers_mr);
}

static int make_queues(struct rpmi_verbs_session *session)
{
    struct rpmi_qp_attr wanted = {
        .send_wrs = RPMI_VERBS_SENDS + SENDS_SPARE,
        .recv_wrs = RPMI_VERBS_RECEIVES,
    };
    int err;

    RPM_ASSERT(session->cq == NULL && session->pd != NULL);
    session->cq = ibv_create_cq(session->nic->nic.verbs, (int)(wanted.send_wrs + wanted.recv_wrs),
                                NULL, session->nic->channel, 0);
    if (session->cq == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no completion queue: %s", strerror(errno));
    wanted.pd = session->pd;
    wanted.cq = session->cq;
    err = rpmi_qp_create(session->id, &wanted, &session->qp);
    if (err != 0)
        return err;
    for (uint32_t i = 0; i < RPMI_VERBS_RECEIVES; i++)
        if (!rpmi_msg_receive(session, i))
            return rpmi_fail(RPM_E_NOMEM,
                             "the device took %u receive requests of a session, and refused "
                             "the rest of %u",
                             i, RPMI_VERBS_RECEIVES);
    if (ibv_req_notify_cq(session->cq, 0) != 0)
        return rpmi_fail(RPM_E_IO, "the device cannot arm the completion queue of a session");
    return 0;
}

static int set_up(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session,
                  const struct rdma_conn_param *param)
{
    int err = rpmi_net_hello_get(param->private_data, param->private_data_len);

    if (err == 0)
        err = rpmi_serve_nic_of(listener, session->id->verbs, &session->nic);
    if (err != 0)
        return err;
    memcpy(session->transcript.hello, param->private_data, RPMI_NET_HELLO_BYTES);
    RPM_ASSERT(session->pd == NULL); /* no client gets the protection domain of another */
    session->pd = ibv_alloc_pd(session->nic->nic.verbs);
    if (session->pd == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no protection domain: %s", strerror(errno));
    err = make_buffers(session);
    if (err == 0)
        err = make_queues(session);
    return err != 0 ? err : rpmi_challenge_make(&session->transcript, 0);
}

static int accept_client(struct rpmi_verbs_session *session, const struct rdma_conn_param *theirs)
{
    uint8_t reads = session->nic->nic.reads_max;
    struct rdma_conn_param param = {
        .private_data = session->transcript.challenge,
        .private_data_len = RPMI_CHALLENGE_BYTES,
        .responder_resources = theirs->initiator_depth < reads ? theirs->initiator_depth : reads,
        .initiator_depth = 1,
        .retry_count = RETRIES,
        .rnr_retry_count = RETRIES,
    };

    if (rdma_accept(session->id, &param) != 0)
        return rpmi_fail(RPM_E_IO, "cannot accept a client: %s", strerror(errno));
    return 0;
}

/* Reject the connection request, with a challenge that says why. */
static void refuse(struct rpmi_verbs_listener *listener, struct rdma_cm_id *id, int status)
{
    struct rpmi_transcript transcript = { 0 };

    rpmi_diag(RPM_DIAG_NOTICE, "a client was refused: %s", rpm_last_error());
    rpmi_count(&listener->base.server->stats.refused, 1);
    if (rpmi_challenge_make(&transcript, status) == 0)
        (void)rdma_reject(id, transcript.challenge, RPMI_CHALLENGE_BYTES);
}

void rpmi_verbs_session_admit(struct rpmi_verbs_listener *listener, struct rdma_cm_id *id,
                              const struct rdma_conn_param *param)
{
    const struct rpmi_origin origin = rpmi_origin_of_address(rdma_get_peer_addr(id));
    struct rpmi_verbs_session *session = find_session(listener, &origin);
    int err;

    if (session == NULL) {
        (void)rpmi_fail(
            RPM_E_REFUSED,
            "no session is free: the server has its maximum of clients (rpm-server --clients)");
        refuse(listener, id, RPM_E_REFUSED);
        (void)rdma_destroy_id(id);
        return;
    }
    RPM_ASSERT(rpmi_verbs_session_state(session) == RPMI_VERBS_SESSION_FREE);
    RPM_ASSERT(session->id == NULL && session->qp.qp == NULL);
    memset(session, 0, sizeof(*session));
    session->id = id;
    id->context = session;
    err = set_up(listener, session, param);
    if (err == 0)
        err = accept_client(session, param);
    if (err != 0) {
        refuse(listener, id, err);
        retire(session);
        return;
    }
    rpmi_admission_enter(&listener->admission, index_of(listener, session), &origin);
    session->handshake_by_ns = rpmi_clock_ns() + RPMI_HANDSHAKE_NS;
    __atomic_store_n(&session->state, RPMI_VERBS_SESSION_HANDSHAKE, __ATOMIC_RELEASE);
    rpmi_notify(listener->engine_notify_fd);
}

static void put_accept(struct rpmi_verbs_session *session, const struct rpmi_grant_key *scratch)
{
    unsigned char *message = rpmi_verbs_answer_at(session);

    rpmi_accept_msg_put(message, RPMI_VERBS_RECEIVES, scratch);
    memcpy(session->transcript.beside, message + RPMI_ACCEPT_AT_MESSAGES, RPMI_ACCEPT_BESIDE);
    session->transcript.beside_bytes = RPMI_ACCEPT_BESIDE;
}

/* False: the session ends at once. A refused client gets an accept message that says why, and its
 * session stays until the client leaves or its time is over: ending the queue pair earlier would
 * drop the message. */
static bool handshake(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session)
{
    struct rpm_server *server = listener->base.server;
    unsigned char *message = rpmi_verbs_answer_at(session);
    struct rpmi_grant_key scratch = { 0 };
    struct rpmi_accept accepted;
    struct rpmi_auth auth;
    int err = rpmi_auth_get(&session->transcript, server->secret, &auth);

    RPM_ASSERT(session->base.client == 0 && !session->refused);
    if (err != 0)
        rpmi_session_refuse(&listener->base, err, &accepted);
    else
        err = rpmi_session_enter(&listener->base, &session->base, &session->nic->facts, &auth,
                                 &accepted);
    if (err == 0) {
        err = rpmi_regions_grant(listener, session, RPMI_KEY_SCRATCH, &scratch);
        if (err != 0) {
            rpmi_session_leave(&listener->base, &session->base);
            rpmi_session_refuse(&listener->base, err, &accepted);
        }
    }
    if (err == 0) {
        rpmi_session_stores(&listener->base, &session->base);
        accepted.depth = RPMI_VERBS_RECEIVES;
    }
    put_accept(session, &scratch);
    if (rpmi_sealed_make(&session->transcript, server->secret, &accepted,
                         message + RPMI_MSG_HEAD) != 0)
        return false;
    if (err == 0) {
        RPM_ASSERT(session->base.client != 0);
        rpmi_admission_leave(&listener->admission, index_of(listener, session));
        session->probe_at_ns = rpmi_clock_ns() + PROBE_NS;
        __atomic_store_n(&session->base.call_state, RPMI_SESSION_IDLE, __ATOMIC_RELEASE);
        __atomic_store_n(&session->state, RPMI_VERBS_SESSION_LIVE, __ATOMIC_RELEASE);
    }
    session->refused = err != 0;
    return rpmi_msg_send(session, message, RPMI_ACCEPT_MSG);
}

/* Serve a call. Memory that it grants is registered, and memory that it revokes deregistered,
 * before the answer is sent. */
static bool answer_call(struct rpmi_verbs_listener *listener, struct rpmi_verbs_session *session)
{
    unsigned char *message = rpmi_verbs_answer_at(session);
    struct rpmi_grant_key grant = { 0 };
    struct rpmi_reply reply;
    struct rpmi_call call;
    int err;

    RPM_ASSERT(session->base.client != 0);
    /* No write through a closed key may arrive once the server can reuse the object's space. */
    if (rpmi_call_get(session->base.call, &call) == 0 && call.kind == RPMI_CALL_CLOSE &&
        call.key < RPMI_KEYS_MAX && call.key != RPMI_KEY_SCRATCH &&
        !rpmi_regions_drop(session, call.key))
        return false;
    if (!rpmi_session_serve(&listener->base, &session->base, &call, &reply))
        return false;
    if (reply.status == 0 && (call.kind == RPMI_CALL_OPEN || call.kind == RPMI_CALL_CLAIM)) {
        err = rpmi_regions_grant(listener, session, reply.key, &grant);
        if (err != 0) {
            /* The client cannot use this key, nor close it, as it never learns of it: end the
             * session. */
            rpmi_diag(RPM_DIAG_WARNING, "client %u is disconnected: %s", session->base.client,
                      rpm_last_error());
            return false;
        }
    }
    rpmi_msg_head(message, RPMI_MSG_REPLY, RPMI_REPLY_MSG);
    rpmi_reply_put(message + RPMI_MSG_HEAD, &reply);
    rpmi_grant_put(message + RPMI_REPLY_AT_GRANT, &grant);
    __atomic_store_n(&session->base.call_state, RPMI_SESSION_IDLE, __ATOMIC_RELEASE);
    return rpmi_msg_send(session, message, RPMI_REPLY_MSG);
}

void rpmi_verbs_session_serve(struct rpmi_verbs_listener *listener,
                              struct rpmi_verbs_session *session)
{
    uint32_t state = rpmi_verbs_session_state(session);
    bool stays = true;

    if (__atomic_load_n(&session->base.call_state, __ATOMIC_ACQUIRE) == RPMI_SESSION_ASKED) {
        if (state == RPMI_VERBS_SESSION_HANDSHAKE && !session->refused)
            stays = handshake(listener, session);
        else if (state == RPMI_VERBS_SESSION_LIVE)
            stays = answer_call(listener, session);
    }
    if (!stays || __atomic_load_n(&session->gone, __ATOMIC_ACQUIRE) != 0)
        rpmi_verbs_session_leave(listener, session);
}

/* Put the queue pair into the error state: the NIC carries out no request on it any more. */
static void stop_queue(struct rpmi_verbs_session *session)
{
    struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

    if (ibv_modify_qp(session->qp.qp, &attr, IBV_QP_STATE) != 0)
        rpmi_diag(RPM_DIAG_WARNING, "cannot put a queue pair into the error state: %s",
                  strerror(errno));
}

void rpmi_verbs_session_leave(struct rpmi_verbs_listener *listener,
                              struct rpmi_verbs_session *session)
{
    uint32_t state = rpmi_verbs_session_state(session);

    RPM_ASSERT(rpmi_serve_is_control(listener->base.server));
    if (state != RPMI_VERBS_SESSION_HANDSHAKE && state != RPMI_VERBS_SESSION_LIVE)
        return;
    rpmi_admission_leave(&listener->admission, index_of(listener, session));
    (void)rdma_disconnect(session->id);
    __atomic_store_n(&session->gone, 1, __ATOMIC_RELEASE); /* the engine takes no more of its
                                                              requests */
    stop_queue(session);
    rpmi_regions_drop_all(session);
    rpmi_session_leave(&listener->base, &session->base);
    __atomic_store_n(&session->state, RPMI_VERBS_SESSION_CLOSED, __ATOMIC_RELEASE);
    rpmi_notify(listener->engine_notify_fd);
}

/* Post an empty WRITE. It accesses no memory; if the client's machine has failed, its NIC does not
 * acknowledge it, and the queue pair fails. */
void rpmi_verbs_session_probe(struct rpmi_verbs_session *session)
{
    struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
    struct ibv_send_wr *bad;

    if (rpmi_verbs_session_state(session) != RPMI_VERBS_SESSION_LIVE ||
        rpmi_clock_ns() < session->probe_at_ns)
        return;
    session->probe_at_ns = rpmi_clock_ns() + PROBE_NS;
    __atomic_fetch_add(&session->sends, 1, __ATOMIC_RELAXED);
    if (ibv_post_send(session->qp.qp, &wr, &bad) != 0)
        __atomic_store_n(&session->gone, 1, __ATOMIC_RELEASE);
}
