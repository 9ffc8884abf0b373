/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.c: the part of a client session that is the same for every kind of listener: attach the
 * client to the service, serve its calls, detach it.
 *
 * Tests: tests/unit/serve/session_test.cpp
 */
#include "serve/listener.h"

#include "base/assert.h"
#include "base/err.h"
#include "serve/serve.h"

#include <stdio.h>
#include <string.h>

void rpmi_session_refuse(struct rpmi_listener *listener, int status, struct rpmi_accept *accepted)
{
    RPM_ASSERT(status < 0);
    *accepted = (struct rpmi_accept){ .version = RPMI_PROTOCOL_VERSION, .status = status };
    accepted->facts = rpm_facts_init();
    (void)snprintf(accepted->text, sizeof(accepted->text), "%s", rpm_last_error());
    rpmi_count(&listener->server->stats.refused, 1);
}

static int attach(struct rpmi_listener *listener, struct rpmi_session *session,
                  const struct rpmi_auth *auth)
{
    struct rpm_server *server = listener->server;
    int err;

    if (auth->pool[0] != '\0' && strcmp(auth->pool, listener->pool) != 0)
        return rpmi_fail(RPM_E_NOENT, "the server has no pool '%s' at this address", auth->pool);
    rpmi_serve_lock(server);
    err = rpmi_service_attach(server->service, &session->client);
    rpmi_serve_unlock(server);
    if (err == RPM_E_LIMIT)
        return rpmi_fail(RPM_E_REFUSED,
                         "the server has %u clients, its maximum (rpm-server --clients)",
                         server->clients_max);
    return err;
}

int rpmi_session_enter(struct rpmi_listener *listener, struct rpmi_session *session,
                       const struct rpm_facts *facts, const struct rpmi_auth *auth,
                       struct rpmi_accept *accepted)
{
    struct rpm_server *server = listener->server;
    int err;

    RPM_ASSERT(rpmi_serve_is_control(server));
    RPM_ASSERT(session->client == 0);
    err = attach(listener, session, auth);
    if (err != 0) {
        session->client = 0;
        rpmi_session_refuse(listener, err, accepted);
        return err;
    }
    RPM_ASSERT(session->client != 0);
    session->keys = 0;
    *accepted = (struct rpmi_accept){
        .version = RPMI_PROTOCOL_VERSION,
        .mode = RPMI_MODE_RING,
        .client = session->client,
        .server_epoch = server->server_epoch,
        .pool_bytes = server->pool.mem.bytes,
        .dram_bytes = server->dram.mem.bytes,
        .facts = *facts,
        .steps = RPMI_SERVE_STEPS,
    };
    accepted->facts.pool_starts = server->facts.pool_starts;
    rpmi_count(&server->stats.accepted, 1);
    rpmi_count(&server->stats.clients, 1);
    return 0;
}

void rpmi_session_stores(struct rpmi_listener *listener, struct rpmi_session *session)
{
    RPM_ASSERT(session->client != 0 && !session->stores);
    session->stores = true;
    __atomic_fetch_add(&listener->server->storing, 1, __ATOMIC_RELAXED);
}

bool rpmi_session_serve(struct rpmi_listener *listener, struct rpmi_session *session,
                        struct rpmi_call *call, struct rpmi_reply *reply)
{
    struct rpm_server *server = listener->server;

    RPM_ASSERT(session->client != 0);
    if (rpmi_call_get(session->call, call) != 0)
        return false;
    rpmi_serve_lock(server);
    rpmi_service_call(server->service, session->client, call, reply);
    rpmi_serve_unlock(server);
    rpmi_watches_nudge(server);
    if (reply->status == 0 && (call->kind == RPMI_CALL_OPEN || call->kind == RPMI_CALL_CLAIM)) {
        RPM_ASSERT(reply->key != RPMI_KEY_SCRATCH && reply->key < RPMI_KEYS_MAX);
        session->keys++;
    } else if (reply->status == 0 && call->kind == RPMI_CALL_CLOSE) {
        RPM_ASSERT(session->keys > 0);
        session->keys--;
    }
    RPM_ASSERT(session->keys < RPMI_KEYS_MAX);
    rpmi_count(&server->stats.calls, 1);
    return true;
}

void rpmi_session_leave(struct rpmi_listener *listener, struct rpmi_session *session)
{
    struct rpm_server *server = listener->server;
    uint32_t freed;

    RPM_ASSERT(rpmi_serve_is_control(server)); /* its calls end before its claims and locks do */
    if (session->client == 0)
        return;
    rpmi_serve_lock(server);
    freed = rpmi_service_detach(server->service, session->client);
    rpmi_orders_forget(server, session->client);
    rpmi_watches_forget(server, session->client);
    rpmi_serve_unlock(server);
    rpmi_watches_nudge(server); /* of the locks that were freed */
    if (session->stores)
        __atomic_fetch_sub(&server->storing, 1, __ATOMIC_RELAXED);
    session->stores = false;
    rpmi_count(&server->stats.locks_freed, freed);
    rpmi_count(&server->stats.clients, (uint64_t)-1);
    if (session->keys != 0)
        rpmi_count(&server->stats.died, 1);
    session->client = 0;
}
