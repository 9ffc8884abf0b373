/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * caller.c: a client of verbs: from its connection request to its place being free again.
 *
 * Letting go, in this order: the queue pair into error, so that the NIC carries out nothing more of
 * it; its registrations away; its keys, claims and locks; last, once the engine has left it, the
 * queues.
 *
 * Invariant: a place is given back once, by the control thread. While no engine runs, that thread
 * also does what the engine does to leave; which of the two it is cannot change under the lock.
 *
 * Tests: tests/live/ (a device is needed)
 */
#include "serve/verbs/verbs.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SENDS_SPARE 8u
#define RETRIES 6u           /* 7 is for ever on some devices */
#define PROBE_NS 5000000000u /* between two looks whether a client's machine lives */
#define RETIRES_MAX 4u       /* places given back before others have their turn */
#define LEAVE_NS 100000000u  /* most that the engine should take to leave a place */
#define LEAVE_NAP_NS 20000u

static uint32_t index_of(const struct rpmi_verbs_listener *listener,
                         const struct rpmi_caller *caller)
{
    return (uint32_t)(caller - listener->callers);
}

static struct rpmi_caller *find_state(struct rpmi_verbs_listener *listener,
                                      enum rpmi_caller_state state)
{
    for (uint32_t i = 0; i < listener->callers_n; i++)
        if (rpmi_caller_state(&listener->callers[i]) == state)
            return &listener->callers[i];
    return NULL;
}

static void leave_without_engine(struct rpmi_verbs_listener *listener)
{
    struct rpm_server *server = listener->base.server;

    rpmi_serve_lock(server);
    for (uint32_t i = 0; i < listener->callers_n && server->engine_runs == 0; i++)
        if (rpmi_caller_state(&listener->callers[i]) == RPMI_CALLER_CLOSED)
            __atomic_store_n(&listener->callers[i].state, RPMI_CALLER_LEFT, __ATOMIC_RELEASE);
    rpmi_serve_unlock(server);
}

/* Destroy what there is of it. */
static void retire(struct rpmi_caller *caller)
{
    if (caller->qp.qp != NULL)
        rdma_destroy_qp(caller->id);
    if (caller->cq != NULL)
        (void)ibv_destroy_cq(caller->cq);
    if (caller->buffers_mr != NULL)
        (void)ibv_dereg_mr(caller->buffers_mr);
    if (caller->buffers != NULL)
        (void)munmap(caller->buffers, RPMI_CALLER_BUFFERS);
    if (caller->pd != NULL)
        (void)ibv_dealloc_pd(caller->pd);
    if (caller->id != NULL)
        (void)rdma_destroy_id(caller->id);
    caller->qp = (struct rpmi_qp){ 0 };
    caller->cq = NULL;
    caller->buffers_mr = NULL;
    caller->buffers = NULL;
    caller->pd = NULL;
    caller->id = NULL;
    __atomic_store_n(&caller->state, RPMI_CALLER_FREE, __ATOMIC_RELEASE);
}

bool rpmi_callers_retire(struct rpmi_verbs_listener *listener)
{
    uint32_t done = 0;

    leave_without_engine(listener);
    for (uint32_t i = 0; i < listener->callers_n; i++) {
        if (rpmi_caller_state(&listener->callers[i]) != RPMI_CALLER_LEFT)
            continue;
        if (done++ == RETIRES_MAX)
            return true;
        retire(&listener->callers[i]);
    }
    return false;
}

void rpmi_callers_farewell(struct rpmi_verbs_listener *listener)
{
    for (uint32_t i = 0; i < listener->callers_n; i++)
        rpmi_caller_leave(listener, &listener->callers[i]);
    while (rpmi_callers_retire(listener))
        ;
    RPM_ASSERT(find_state(listener, RPMI_CALLER_CLOSED) == NULL);
}

/* A place that is free, or that the engine is about to leave. */
static struct rpmi_caller *wait_for_place(struct rpmi_verbs_listener *listener)
{
    uint64_t deadline = rpmi_clock_ns() + LEAVE_NS;
    struct rpmi_caller *caller = find_state(listener, RPMI_CALLER_FREE);

    while (caller == NULL && rpmi_clock_ns() < deadline) {
        bool coming = find_state(listener, RPMI_CALLER_CLOSED) != NULL;

        (void)rpmi_callers_retire(listener);
        caller = find_state(listener, RPMI_CALLER_FREE);
        if (caller == NULL && !coming)
            break;
        if (caller == NULL)
            rpmi_clock_sleep_ns(LEAVE_NAP_NS);
    }
    return caller;
}

/* NULL: all are taken by clients, or the engine is too busy to leave one. */
static struct rpmi_caller *find_caller(struct rpmi_verbs_listener *listener,
                                       const struct rpmi_origin *origin)
{
    struct rpmi_caller *caller = wait_for_place(listener);
    uint32_t at;

    if (caller != NULL || !rpmi_admission_victim(&listener->admission, origin, &at))
        return caller;
    rpmi_count(&listener->base.server->stats.refused, 1);
    rpmi_caller_leave(listener, &listener->callers[at]);
    return wait_for_place(listener);
}

static int make_buffers(struct rpmi_caller *caller)
{
    caller->buffers =
        mmap(NULL, RPMI_CALLER_BUFFERS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (caller->buffers == MAP_FAILED) {
        caller->buffers = NULL;
        return rpmi_fail(RPM_E_NOMEM, "no memory for a client's messages");
    }
    return rpmi_nic_register(&caller->nic->nic, caller->pd, caller->buffers, RPMI_CALLER_BUFFERS,
                             RPMI_NIC_LOCAL, &caller->buffers_mr);
}

static int make_queues(struct rpmi_caller *caller)
{
    struct rpmi_qp_wish wish = {
        .send_wrs = RPMI_CALLER_SENDS + SENDS_SPARE,
        .recv_wrs = RPMI_CALLER_RECEIVES,
    };
    int err;

    caller->cq = ibv_create_cq(caller->nic->nic.verbs, (int)(wish.send_wrs + wish.recv_wrs), NULL,
                               caller->nic->channel, 0);
    if (caller->cq == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no completion queue: %s", strerror(errno));
    wish.pd = caller->pd;
    wish.cq = caller->cq;
    err = rpmi_qp_create(caller->id, &wish, &caller->qp);
    if (err != 0)
        return err;
    for (uint32_t i = 0; i < RPMI_CALLER_RECEIVES; i++)
        if (!rpmi_msg_receive(caller, i))
            return rpmi_fail(RPM_E_NOMEM, "no room for a client's messages");
    if (ibv_req_notify_cq(caller->cq, 0) != 0)
        return rpmi_fail(RPM_E_IO, "no notice of a client's messages");
    return 0;
}

static int set_up(struct rpmi_verbs_listener *listener, struct rpmi_caller *caller,
                  const struct rdma_conn_param *param)
{
    int err = rpmi_opening_get(param->private_data, param->private_data_len);

    if (err == 0)
        err = rpmi_serve_nic_of(listener, caller->id->verbs, &caller->nic);
    if (err != 0)
        return err;
    memcpy(caller->talk.opening, param->private_data, RPMI_OPENING_BYTES);
    caller->pd = ibv_alloc_pd(caller->nic->nic.verbs);
    if (caller->pd == NULL)
        return rpmi_fail(RPM_E_NOMEM, "no protection domain: %s", strerror(errno));
    err = make_buffers(caller);
    if (err == 0)
        err = make_queues(caller);
    return err != 0 ? err : rpmi_challenge_make(&caller->talk, 0);
}

static int accept_caller(struct rpmi_caller *caller, const struct rdma_conn_param *theirs)
{
    uint8_t reads = caller->nic->nic.reads_max;
    struct rdma_conn_param param = {
        .private_data = caller->talk.challenge,
        .private_data_len = RPMI_CHALLENGE_BYTES,
        .responder_resources = theirs->initiator_depth < reads ? theirs->initiator_depth : reads,
        .initiator_depth = 1,
        .retry_count = RETRIES,
        .rnr_retry_count = RETRIES,
    };

    if (rdma_accept(caller->id, &param) != 0)
        return rpmi_fail(RPM_E_IO, "cannot accept a client: %s", strerror(errno));
    return 0;
}

/* Say no, with the reason where there is room for one. */
static void refuse(struct rpmi_verbs_listener *listener, struct rdma_cm_id *id, int status)
{
    struct rpmi_talk talk = { 0 };

    rpmi_diag(RPM_DIAG_NOTICE, "a client was refused: %s", rpm_last_error());
    rpmi_count(&listener->base.server->stats.refused, 1);
    if (rpmi_challenge_make(&talk, status) == 0)
        (void)rdma_reject(id, talk.challenge, RPMI_CHALLENGE_BYTES);
}

void rpmi_caller_admit(struct rpmi_verbs_listener *listener, struct rdma_cm_id *id,
                       const struct rdma_conn_param *param)
{
    const struct rpmi_origin origin = rpmi_origin_of_address(rdma_get_peer_addr(id));
    struct rpmi_caller *caller = find_caller(listener, &origin);
    int err;

    if (caller == NULL) {
        (void)rpmi_fail(RPM_E_REFUSED, "there is no place for another client");
        refuse(listener, id, RPM_E_REFUSED);
        (void)rdma_destroy_id(id);
        return;
    }
    memset(caller, 0, sizeof(*caller));
    caller->id = id;
    id->context = caller;
    err = set_up(listener, caller, param);
    if (err == 0)
        err = accept_caller(caller, param);
    if (err != 0) {
        refuse(listener, id, err);
        retire(caller);
        return;
    }
    rpmi_admission_enter(&listener->admission, index_of(listener, caller), &origin);
    caller->greet_by_ns = rpmi_clock_ns() + RPMI_GREETING_NS;
    __atomic_store_n(&caller->state, RPMI_CALLER_GREETING, __ATOMIC_RELEASE);
    rpmi_kick(listener->engine_kick_fd);
}

static void put_welcome(struct rpmi_caller *caller, const struct rpmi_grant_key *scratch)
{
    unsigned char *message = rpmi_caller_answer_at(caller);
    unsigned char *at = message + RPMI_WELCOME_AT_MESSAGES;

    rpmi_msg_head(message, RPMI_MSG_WELCOME, RPMI_WELCOME_MSG);
    rpmi_store32(at, RPMI_CALLER_RECEIVES);
    rpmi_store32(at + 4, 0);
    rpmi_grant_put(message + RPMI_WELCOME_AT_GRANT, scratch);
    memcpy(caller->talk.beside, at, RPMI_WELCOME_BESIDE);
    caller->talk.beside_bytes = RPMI_WELCOME_BESIDE;
}

/* False: it is let go. Whoever may not come in is told so, and then stays until it leaves or its
 * time is over: a message on its way does not survive its queue pair. */
static bool greet(struct rpmi_verbs_listener *listener, struct rpmi_caller *caller)
{
    struct rpm_server *server = listener->base.server;
    unsigned char *message = rpmi_caller_answer_at(caller);
    struct rpmi_grant_key scratch = { 0 };
    struct rpmi_welcome welcome;
    struct rpmi_entry entry;
    int err = rpmi_entry_get(&caller->talk, server->secret, &entry);

    if (err != 0)
        rpmi_guest_refuse(&listener->base, err, &welcome);
    else
        err = rpmi_guest_enter(&listener->base, &caller->guest, &entry, &welcome);
    if (err == 0) {
        err = rpmi_regions_grant(listener, caller, RPMI_KEY_SCRATCH, &scratch);
        if (err != 0) {
            rpmi_guest_leave(&listener->base, &caller->guest);
            rpmi_guest_refuse(&listener->base, err, &welcome);
        }
    }
    if (err == 0) {
        welcome.facts = caller->nic->facts;
        welcome.depth = RPMI_CALLER_RECEIVES;
    }
    put_welcome(caller, &scratch);
    if (rpmi_sealed_make(&caller->talk, server->secret, &welcome, message + RPMI_MSG_HEAD) != 0)
        return false;
    if (err == 0) {
        rpmi_admission_leave(&listener->admission, index_of(listener, caller));
        caller->probe_at_ns = rpmi_clock_ns() + PROBE_NS;
        __atomic_store_n(&caller->guest.call_state, RPMI_GUEST_IDLE, __ATOMIC_RELEASE);
        __atomic_store_n(&caller->state, RPMI_CALLER_LIVE, __ATOMIC_RELEASE);
    }
    caller->refused = err != 0;
    return rpmi_msg_send(caller, message, RPMI_WELCOME_MSG);
}

/* Serve a call; keys that it grants are registered before the answer says so, those that it takes
 * back are gone before. */
static bool answer_call(struct rpmi_verbs_listener *listener, struct rpmi_caller *caller)
{
    unsigned char *message = rpmi_caller_answer_at(caller);
    struct rpmi_grant_key grant = { 0 };
    struct rpmi_reply reply;
    struct rpmi_call call;
    int err;

    /* Nothing of a key that is being closed may land once its space can be another's. */
    if (rpmi_call_get(caller->guest.call, &call) == 0 && call.kind == RPMI_CALL_CLOSE &&
        call.key < RPMI_KEYS_MAX && call.key != RPMI_KEY_SCRATCH &&
        !rpmi_regions_drop(caller, call.key))
        return false;
    if (!rpmi_guest_serve(&listener->base, &caller->guest, &call, &reply))
        return false;
    if (reply.status == 0 && (call.kind == RPMI_CALL_OPEN || call.kind == RPMI_CALL_CLAIM)) {
        err = rpmi_regions_grant(listener, caller, reply.key, &grant);
        if (err != 0) {
            /* The key is useless: the client closes nothing that it never got, so it leaves. */
            rpmi_diag(RPM_DIAG_WARNING, "a client loses its connection: %s", rpm_last_error());
            return false;
        }
    }
    rpmi_msg_head(message, RPMI_MSG_REPLY, RPMI_REPLY_MSG);
    rpmi_reply_put(message + RPMI_MSG_HEAD, &reply);
    rpmi_grant_put(message + RPMI_REPLY_AT_GRANT, &grant);
    __atomic_store_n(&caller->guest.call_state, RPMI_GUEST_IDLE, __ATOMIC_RELEASE);
    return rpmi_msg_send(caller, message, RPMI_REPLY_MSG);
}

void rpmi_caller_serve(struct rpmi_verbs_listener *listener, struct rpmi_caller *caller)
{
    uint32_t state = rpmi_caller_state(caller);
    bool stays = true;

    if (__atomic_load_n(&caller->guest.call_state, __ATOMIC_ACQUIRE) == RPMI_GUEST_ASKED) {
        if (state == RPMI_CALLER_GREETING && !caller->refused)
            stays = greet(listener, caller);
        else if (state == RPMI_CALLER_LIVE)
            stays = answer_call(listener, caller);
    }
    if (!stays || __atomic_load_n(&caller->gone, __ATOMIC_ACQUIRE) != 0)
        rpmi_caller_leave(listener, caller);
}

/* Into error: the NIC answers nothing of it any more. */
static void stop_queue(struct rpmi_caller *caller)
{
    struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

    if (ibv_modify_qp(caller->qp.qp, &attr, IBV_QP_STATE) != 0)
        rpmi_diag(RPM_DIAG_WARNING, "a queue pair cannot be stopped: %s", strerror(errno));
}

void rpmi_caller_leave(struct rpmi_verbs_listener *listener, struct rpmi_caller *caller)
{
    uint32_t state = rpmi_caller_state(caller);

    if (state != RPMI_CALLER_GREETING && state != RPMI_CALLER_LIVE)
        return;
    rpmi_admission_leave(&listener->admission, index_of(listener, caller));
    (void)rdma_disconnect(caller->id);
    __atomic_store_n(&caller->gone, 1, __ATOMIC_RELEASE); /* the engine takes no more of it */
    stop_queue(caller);
    rpmi_regions_drop_all(caller);
    rpmi_guest_leave(&listener->base, &caller->guest);
    __atomic_store_n(&caller->state, RPMI_CALLER_CLOSED, __ATOMIC_RELEASE);
    rpmi_kick(listener->engine_kick_fd);
}

/* An empty write: it touches nothing, and is not acknowledged by a machine that is gone. */
void rpmi_caller_probe(struct rpmi_caller *caller)
{
    struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
    struct ibv_send_wr *bad;

    if (rpmi_caller_state(caller) != RPMI_CALLER_LIVE || rpmi_clock_ns() < caller->probe_at_ns)
        return;
    caller->probe_at_ns = rpmi_clock_ns() + PROBE_NS;
    __atomic_fetch_add(&caller->sends, 1, __ATOMIC_RELAXED);
    if (ibv_post_send(caller->qp.qp, &wr, &bad) != 0)
        __atomic_store_n(&caller->gone, 1, __ATOMIC_RELEASE);
}
