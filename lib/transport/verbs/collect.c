/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collect.c: take the completions in the queue: count the requests that have finished, handle the
 * messages of the server, and record why the queue pair failed.
 *
 * Invariants
 *   a message that the server may not send now breaks the link
 *   the first completion with an error decides the request at which the queue pair failed, and the
 *     reason; later completions change neither
 *
 * Tests: tests/conform/transport_test.cpp, tests/conform/loss_test.cpp (in tests/live/)
 */
#include "transport/verbs/verbs.h"

#include "base/assert.h"
#include "base/err.h"

#include <string.h>

#define POLL_MAX 16

void rpmi_verbs_break(struct rpmi_verbs *verbs, uint64_t wr, int status)
{
    if (verbs->broken)
        return;
    verbs->broken = true;
    verbs->broken_wr = wr;
    verbs->broken_status = status;
}

/* The error of an op whose request failed with this status. The status does not say why an access
 * was refused: the server deregisters a fenced writer's memory, and all memory when it ends. A
 * writer finds out by rpm_log_resume() whether there is another writer. */
static int status_of(enum ibv_wc_status status)
{
    return status == IBV_WC_REM_OP_ERR ? RPM_E_IO : RPM_E_LOST;
}

static const char *reason_of(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
        return "the other machine does not answer (retries exceeded)";
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return "the server takes no more messages (RNR retries exceeded)";
    case IBV_WC_WR_FLUSH_ERR:
        return "the connection ended";
    case IBV_WC_REM_ACCESS_ERR:
        return "the remote NIC refused the access: the server is ending, or a newer writer claimed "
               "the log";
    default:
        return ibv_wc_status_str(status);
    }
}

static void request_ended(struct rpmi_verbs *verbs, const struct ibv_wc *wc)
{
    if (verbs->broken)
        return;
    /* Completions come in order, each of a request that was posted and has not finished. */
    RPM_ASSERT(wc->wr_id >= verbs->finished && wc->wr_id < verbs->posted);
    verbs->finished = wc->wr_id + 1;
    verbs->by_opcode[wc->opcode % (sizeof(verbs->by_opcode) / sizeof(verbs->by_opcode[0]))]++;
}

static void request_failed(struct rpmi_verbs *verbs, const struct ibv_wc *wc)
{
    int status = status_of(wc->status);

    if (verbs->broken)
        return;
    (void)rpmi_fail(status, "%s", reason_of(wc->status));
    rpmi_verbs_break(verbs, wc->wr_id, status);
}

/* The first list of steps without an answer among the RPC requests up to @done; NULL: none. */
static struct rpmi_verbs_sent *unanswered(struct rpmi_verbs *verbs, uint64_t done)
{
    for (uint64_t i = verbs->sent_head; verbs->lists_out > 0 && i != verbs->sent_tail; i++) {
        struct rpmi_verbs_sent *sent = &verbs->sent[i % verbs->link.depth];

        if (sent->want != 0 && sent->rpc <= done)
            return sent;
    }
    return NULL;
}

/* A done message: @done RPC requests are done. All succeeded, except the last one if @status is not
 * 0. The result message of each successful list came before it. False: the counts are invalid. */
static bool count_done(struct rpmi_verbs *verbs, uint64_t done, int status)
{
    const struct rpmi_verbs_sent *list = unanswered(verbs, done);

    if (done <= verbs->rpcs_done || done > verbs->rpcs || verbs->rpc_status != 0 ||
        (list != NULL && (list->rpc != done || status == 0)))
        return false;
    RPM_ASSERT(done - verbs->rpcs_done <= verbs->messages_out);
    verbs->messages_out -= (uint32_t)(done - verbs->rpcs_done);
    verbs->rpcs_done = done;
    verbs->rpc_status = status;
    return true;
}

static bool take_done(struct rpmi_verbs *verbs, const unsigned char *message)
{
    uint64_t done;
    int32_t status;

    return rpmi_done_get(message, &done, &status) == 0 && count_done(verbs, done, status);
}

/* A result message: the answer to a list; the list and all RPC requests before it are done. */
static bool take_result(struct rpmi_verbs *verbs, const unsigned char *message, uint32_t len)
{
    struct rpmi_verbs_sent *list;
    uint64_t done;

    if (rpmi_result_get(message, &done) != 0 || done > verbs->rpcs)
        return false;
    list = unanswered(verbs, done);
    if (list == NULL || list->rpc != done || list->want != len - RPMI_RESULT_BYTES)
        return false;
    memcpy(list->into, message + RPMI_RESULT_BYTES, list->want);
    list->want = 0;
    verbs->lists_out--;
    return count_done(verbs, done, 0);
}

static bool take_fenced(struct rpmi_verbs *verbs, const unsigned char *message)
{
    uint32_t key;

    if (rpmi_fenced_get(message, &key) != 0)
        return false;
    verbs->fenced[key] = true;
    return true;
}

static bool take_answer(struct rpmi_verbs *verbs, const unsigned char *message, uint32_t len,
                        bool *flag)
{
    if (*flag || !verbs->asking)
        return false;
    RPM_ASSERT(verbs->messages_out > 0 && len <= sizeof(verbs->answer));
    verbs->asking = false;
    memcpy(verbs->answer, message, len);
    verbs->messages_out--;
    *flag = true;
    return true;
}

/* False: the server may not send this message now. */
static bool take_message(struct rpmi_verbs *verbs, const unsigned char *message, uint32_t len)
{
    switch (rpmi_msg_kind(message, len)) {
    case RPMI_MSG_ACCEPT:
        return take_answer(verbs, message, len, &verbs->accepted);
    case RPMI_MSG_REPLY:
        return verbs->accepted && take_answer(verbs, message, len, &verbs->replied);
    case RPMI_MSG_DONE:
        return take_done(verbs, message);
    case RPMI_MSG_RESULT:
        return take_result(verbs, message, len);
    case RPMI_MSG_FENCED:
        return take_fenced(verbs, message);
    default:
        return false;
    }
}

static void take_receive(struct rpmi_verbs *verbs, const struct ibv_wc *wc)
{
    uint32_t i = (uint32_t)(wc->wr_id & ~RPMI_RECEIVE_ID);

    RPM_ASSERT(i < verbs->receives_n);
    if (wc->status == IBV_WC_SUCCESS) {
        const unsigned char *message = verbs->receives + (uint64_t)i * RPMI_MSG_TO_CLIENT;

        if (take_message(verbs, message, wc->byte_len)) {
            if (rpmi_verbs_receive(verbs, i) == 0)
                return;
        } else {
            (void)rpmi_fail(RPM_E_PROTO, "the server sent an invalid message of %u bytes",
                            wc->byte_len);
        }
    } else if (verbs->posted != verbs->finished) {
        return; /* the completion of a request will have the reason */
    } else if (!verbs->broken) {
        (void)rpmi_fail(RPM_E_LOST, "%s", reason_of(wc->status));
    }
    rpmi_verbs_break(verbs, verbs->finished, RPM_E_LOST);
}

void rpmi_verbs_collect(struct rpmi_verbs *verbs)
{
    struct ibv_wc wc[POLL_MAX];
    int n;

    RPM_ASSERT(verbs->cq != NULL);
    do {
        n = ibv_poll_cq(verbs->cq, POLL_MAX, wc);
        for (int i = 0; i < n; i++) {
            if ((wc[i].wr_id & RPMI_RECEIVE_ID) != 0)
                take_receive(verbs, &wc[i]);
            else if (wc[i].status != IBV_WC_SUCCESS)
                request_failed(verbs, &wc[i]);
            else
                request_ended(verbs, &wc[i]);
        }
    } while (n == POLL_MAX);
    if (n < 0 && !verbs->broken) {
        (void)rpmi_fail(RPM_E_LOST, "the device cannot poll the completion queue");
        rpmi_verbs_break(verbs, verbs->finished, RPM_E_LOST);
    }
}
