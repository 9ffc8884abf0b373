/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link.c: a link through rdma-core: connect, call, reconnect, close.
 *
 * Invariants
 *   a call without an answer in time ends the link: the next call would take the late answer for
 *     its own
 *   a reconnect fails if the server has other facts: the plans of open objects depend on them
 *
 * Tests: tests/conform/transport_test.cpp (in tests/live/), tests/unit/transport/verbs/
 */
#include "transport/verbs/verbs.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "transport/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRIES_DEFAULT 6u      /* 7 means without end on some devices */
#define ACK_TIMEOUT_DEFAULT 14u /* 67 ms */
#define ACK_TIMEOUT_MAX 31u
#define SPIN_US_MAX 1000000u

static int take_number(const struct rpmi_url *url, const char *key, uint32_t most, uint32_t *value)
{
    const char *text = rpmi_url_get(url, key, NULL);
    uint64_t number;
    int err;

    if (text == NULL)
        return 0;
    err = rpmi_parse_bytes(text, &number);
    if (err != 0)
        return err;
    if (number > most)
        return rpmi_fail(RPM_E_INVAL, "%s=%s; the maximum is %u", key, text, most);
    *value = (uint32_t)number;
    return 0;
}

static int take_switch(const struct rpmi_url *url, const char *key, bool *value)
{
    const char *text = rpmi_url_get(url, key, NULL);

    if (text == NULL)
        return 0;
    if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
        return rpmi_fail(RPM_E_INVAL, "%s=%s; expected is on or off", key, text);
    *value = strcmp(text, "on") == 0;
    return 0;
}

static int parse_url(const struct rpmi_url *url, struct rpmi_verbs_opts *opts)
{
    static const char *const known[] = { "from",   "retries",       "rnr_retries", "ack_timeout",
                                         "inline", "thread_domain", "spin_us",     RPMI_URL_TAKEN };
    const char *from = rpmi_url_get(url, "from", "");
    int err = rpmi_url_known(url, known, sizeof(known) / sizeof(known[0]));

    *opts = (struct rpmi_verbs_opts){
        .retries = RETRIES_DEFAULT,
        .rnr_retries = RETRIES_DEFAULT,
        .ack_timeout = ACK_TIMEOUT_DEFAULT,
        .inline_bytes = RPMI_INLINE_BYTES,
        .spin_us = RPMI_VERBS_SPIN_AUTO,
        .thread_domain = true,
    };
    if (err == 0)
        err = rpmi_endpoint_parse(url->address, &opts->to);
    if (err == 0 &&
        (size_t)snprintf(opts->from, sizeof(opts->from), "%s", from) >= sizeof(opts->from))
        err = rpmi_fail(RPM_E_INVAL, "from=%.40s... has %zu bytes, maximum %zu", from, strlen(from),
                        sizeof(opts->from) - 1);
    if (err == 0)
        err = take_number(url, "retries", 7, &opts->retries);
    if (err == 0)
        err = take_number(url, "rnr_retries", 7, &opts->rnr_retries);
    if (err == 0)
        err = take_number(url, "ack_timeout", ACK_TIMEOUT_MAX, &opts->ack_timeout);
    if (err == 0)
        err = take_number(url, "inline", RPMI_INLINE_BYTES, &opts->inline_bytes);
    if (err == 0)
        err = take_number(url, "spin_us", SPIN_US_MAX, &opts->spin_us);
    return err != 0 ? err : take_switch(url, "thread_domain", &opts->thread_domain);
}

static int take_opts(const struct rpmi_link_opts *opts, struct rpmi_verbs *verbs)
{
    int err = rpmi_remote_take_opts(opts, verbs->secret);

    if (err != 0)
        return err;
    return rpmi_verbs_memory_open(verbs, opts->depth < 2 ? 2 : opts->depth, opts->staging_bytes);
}

static void set_facts(struct rpmi_verbs *verbs, const struct rpmi_accept *accepted)
{
    verbs->link.facts = accepted->facts;
    verbs->link.flags = rpmi_remote_step_flags(accepted);
    if (verbs->qp.ex == NULL || !verbs->nic.atomic_write)
        verbs->link.facts.atomic_write = RPM_NO;
    if (verbs->qp.ex == NULL || !verbs->nic.flush) {
        verbs->link.facts.native_flush = RPM_NO; /* the server has it, this client does not */
        verbs->link.facts.methods &= ~(1u << RPM_METHOD_FLUSH);
    }
    verbs->link.client = accepted->client;
    verbs->link.server_epoch = accepted->server_epoch;
    verbs->link.lost = 0;
}

static void verbs_free(struct rpmi_verbs *verbs)
{
    rpmi_verbs_memory_close(verbs);
    explicit_bzero(verbs->secret, sizeof(verbs->secret));
    rpmi_free(verbs);
}

static int verbs_connect(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                         struct rpmi_link **link)
{
    struct rpmi_verbs *verbs = rpmi_alloc(sizeof(*verbs), RPMI_LINE_BYTES);
    uint64_t deadline = rpmi_clock_ns() + opts->timeout_us * 1000u;
    struct rpmi_accept accepted;
    int err;

    if (verbs == NULL)
        return RPM_E_NOMEM;
    err = parse_url(url, &verbs->opts);
    if (err == 0)
        err = take_opts(opts, verbs);
    if (err == 0)
        err = rpmi_verbs_dial(verbs, deadline, &accepted);
    if (err != 0) {
        verbs_free(verbs);
        return err;
    }
    set_facts(verbs, &accepted);
    *link = &verbs->link;
    return 0;
}

static int watch_both(struct rpmi_verbs *verbs)
{
    int err = rpmi_watch_add(&verbs->watch, verbs->channel->fd);

    return err != 0 ? err : rpmi_watch_add(&verbs->watch, verbs->events->fd);
}

static int verbs_watch(struct rpmi_link *link, int epoll_fd)
{
    struct rpmi_verbs *verbs = rpmi_verbs_of(link);
    int err = 0;

    RPM_ASSERT(!verbs->watch.on); /* the set before would keep the descriptors */
    verbs->watch = (struct rpmi_watch){ .on = true, .epoll_fd = epoll_fd };
    if (verbs->cq != NULL) /* none: the next reconnect adds them */
        err = watch_both(verbs);
    verbs->watch.on = err == 0;
    return err;
}

static int redial(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_verbs *verbs = rpmi_verbs_of(link);
    struct rpm_facts before = verbs->link.facts;
    struct rpmi_accept accepted;
    int err;

    RPM_ASSERT(link->lost != 0); /* its user knows that ops and keys have ended */
    err = rpmi_verbs_dial(verbs, deadline_ns, &accepted);
    if (err != 0)
        return err;
    set_facts(verbs, &accepted);
    err = rpmi_remote_same_facts(&before, &verbs->link.facts);
    if (err == 0)
        err = watch_both(verbs);
    if (err == 0)
        return 0;
    verbs->link.facts = before;
    verbs->link.lost = RPM_E_LOST;
    rpmi_verbs_disconnect(verbs);
    return err;
}

static int verbs_reconnect(struct rpmi_link *link, uint64_t deadline_ns)
{
    rpmi_verbs_disconnect(rpmi_verbs_of(link));
    link->lost = RPM_E_LOST;
    return rpmi_remote_redial(link, redial, deadline_ns);
}

/* Record the keys that an answer grants or revokes. */
static int update_keys(struct rpmi_verbs *verbs, const struct rpmi_call *call,
                       const struct rpmi_reply *reply)
{
    struct rpmi_grant_key grant;
    int err;

    if (reply->status != 0)
        return 0;
    if (call->kind == RPMI_CALL_CLOSE && call->key < RPMI_KEYS_MAX &&
        call->key != RPMI_KEY_SCRATCH) {
        memset(&verbs->key[call->key], 0, sizeof(verbs->key[0]));
        return 0;
    }
    if (call->kind != RPMI_CALL_OPEN && call->kind != RPMI_CALL_CLAIM)
        return 0;
    err = rpmi_grant_get(verbs->answer + RPMI_REPLY_AT_GRANT, &grant);
    if (err != 0)
        return err;
    if (reply->key == RPMI_KEY_SCRATCH || reply->key >= RPMI_KEYS_MAX)
        return rpmi_fail(RPM_E_PROTO, "the server granted key %u, expected is 1 to %u", reply->key,
                         RPMI_KEYS_MAX - 1u);
    verbs->key[reply->key] = grant;
    verbs->fenced[reply->key] = false;
    return 0;
}

static int verbs_call(struct rpmi_link *link, const struct rpmi_call *call,
                      struct rpmi_reply *reply, uint64_t deadline_ns)
{
    struct rpmi_verbs *verbs = rpmi_verbs_of(link);
    unsigned char message[RPMI_CALL_MSG];
    int err;

    if (link->lost != 0 || verbs->cq == NULL || verbs->broken || verbs->rpc_status != 0)
        return rpmi_fail(RPM_E_LOST, "the link is lost: reconnect first");
    rpmi_msg_head(message, RPMI_MSG_CALL, sizeof(message));
    rpmi_call_put(message + RPMI_MSG_HEAD, call);
    verbs->replied = false;
    err = rpmi_verbs_send(verbs, message, sizeof(message));
    while (err == RPM_E_BUSY && rpmi_clock_ns() < deadline_ns) {
        rpmi_verbs_drain(verbs);
        err = verbs->broken ? RPM_E_LOST : rpmi_verbs_send(verbs, message, sizeof(message));
    }
    if (err == RPM_E_BUSY)
        err = rpmi_fail(RPM_E_TIMEDOUT, "the server took no call in time; reconnect, or allow "
                                        "more time (of the library: rpm_conn_opts.timeout_us)");
    if (err == 0)
        err = rpmi_verbs_wait_flag(verbs, &verbs->replied, deadline_ns);
    if (err == 0)
        err = rpmi_reply_get(verbs->answer + RPMI_MSG_HEAD, reply);
    if (err == 0)
        err = update_keys(verbs, call, reply);
    if (err != 0)
        link->lost = err;
    return err;
}

static void *verbs_stage(struct rpmi_link *link, uint64_t bytes)
{
    return rpmi_stage_take(&rpmi_verbs_of(link)->stage, bytes);
}

static void verbs_unstage(struct rpmi_link *link, void *ptr)
{
    rpmi_stage_give(&rpmi_verbs_of(link)->stage, ptr);
}

static void verbs_close(struct rpmi_link *link)
{
    struct rpmi_verbs *verbs = rpmi_verbs_of(link);

    rpmi_verbs_disconnect(verbs);
    verbs_free(verbs);
}

const struct rpmi_transport_ops rpmi_verbs_transport = {
    .size = sizeof(struct rpmi_transport_ops),
    .scheme = "verbs",
    .connect = verbs_connect,
    .reconnect = verbs_reconnect,
    .post = rpmi_verbs_post,
    .poll = rpmi_verbs_poll,
    .wait = rpmi_verbs_wait,
    .watch = verbs_watch,
    .arm = rpmi_verbs_arm,
    .call = verbs_call,
    .stage = verbs_stage,
    .unstage = verbs_unstage,
    .close = verbs_close,
};
