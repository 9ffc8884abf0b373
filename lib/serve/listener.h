/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listener.h: one address at which a server listens, with the operations of its kind. Clients of
 * tcp:, unix: and verbs: authenticate (wire/handshake.h) and share no memory with the server;
 * clients of shm: run on the server's machine and share memory with it.
 *
 * The control thread makes the handshake, serves calls and ends sessions; the engine carries out
 * requests. The two hand calls and replies to each other in struct rpmi_session.
 */
#ifndef RPMI_LISTENER_H
#define RPMI_LISTENER_H

#include "base/url.h"
#include "serve/request.h"
#include "wire/call.h"
#include "wire/handshake.h"

#include <librpm/facts.h>
#include <stdbool.h>
#include <stdint.h>

struct rpmi_listener;

struct rpmi_listener_ops {
    const char *scheme;
    bool in_memory; /* ready() only reads memory; false: it may make a system call */

    /* Listen. Owns nothing on failure. RPM_E_INVAL, RPM_E_OWNED, RPM_E_NOCAP, RPM_E_DENIED,
     * RPM_E_NOMEM, RPM_E_IO. The pool is not formatted yet: open does not read its bytes.
     */
    int (*open)(struct rpm_server *server, const struct rpmi_url *url,
                struct rpmi_listener **listener);

    /* Control thread, before its first turn: tell clients that the server lives, until end() is
     * called or this thread dies. NULL: clients notice the server's death by their connection. */
    void (*begin)(struct rpmi_listener *listener);

    /* Control thread, when some control_fd is readable or the time has passed that the last turn
     * returned: accept connections, continue handshakes, serve calls, end sessions. Returns the
     * milliseconds within which the next turn must come, -1: no limit. */
    int (*turn)(struct rpmi_listener *listener);

    /* Control thread, after its last turn: disconnect clients, which would else wait until the
     * server is closed. NULL: close() does it. */
    void (*end)(struct rpmi_listener *listener);

    /* Engine, before its first pass, bound to @cpu (0: to none): tell clients, which must not spin
     * on the same CPU. NULL: clients are not told. */
    void (*engine_begin)(struct rpmi_listener *listener, uint32_t cpu);

    /* Engine: is a request waiting? Cheap, never blocks. */
    bool (*ready)(struct rpmi_listener *listener);

    /* Engine, bound to @cpu: is a client connected that is not bound to the same CPU? NULL: yes. */
    bool (*may_spin)(struct rpmi_listener *listener, uint32_t cpu);

    /* Engine, about to sleep on engine_fd: arrange that it becomes readable when a request arrives.
     * True: one is waiting already. NULL: it always becomes readable. */
    bool (*arm)(struct rpmi_listener *listener);

    /* Engine, awake again: undo arm(). NULL: there is nothing to undo. */
    void (*disarm)(struct rpmi_listener *listener);

    /* Engine, under the server's lock: carry out waiting requests, for a bounded time. */
    void (*take)(struct rpmi_listener *listener, struct rpmi_batch *batch);

    /* Engine, without the lock, after the fence and the msync: answer the requests that take()
     * carried out. */
    void (*answer)(struct rpmi_listener *listener, const struct rpmi_batch *batch);

    /* Control thread, under the lock: after this no outstanding write of an older writer of that
     * log can arrive. RPM_E_OWNED: one still can. NULL: the server checks each write when it
     * arrives. */
    int (*quiesce)(struct rpmi_listener *listener, uint64_t header_offset);

    /* Control thread, under the lock: kill the client process that holds guard slot @slot
     * (wire/guard.h) of the log whose header is at @header_offset. False: no client of this
     * listener holds it. NULL: none can. */
    bool (*kill_writer)(struct rpmi_listener *listener, uint64_t header_offset, uint32_t slot);

    /* Disconnect every client and stop listening. Neither loop runs any more. */
    void (*close)(struct rpmi_listener *listener);
};

/* Embedded first in every listener's own struct; listeners.c sets ops and server. */
struct rpmi_listener {
    const struct rpmi_listener_ops *ops;
    struct rpm_server *server;
    int control_fd;               /* readable: turn() has something to do */
    int engine_fd;                /* readable: a request may be waiting; -1: not used */
    char pool[RPM_NAME_MAX + 1];  /* the pool name that clients may ask for */
    char url[RPMI_URL_BYTES_MAX]; /* the address that clients dial; filled in by open */
    struct rpm_facts facts;       /* the facts sent to clients; filled in by open */
};

extern const struct rpmi_listener_ops rpmi_shm_listener;
extern const struct rpmi_listener_ops rpmi_tcp_listener;
extern const struct rpmi_listener_ops rpmi_unix_listener;
extern const struct rpmi_listener_ops rpmi_verbs_listener;

/* The state of a call, which the engine receives and hands to the control thread, which answers
 * it. */
enum rpmi_session_call { RPMI_SESSION_IDLE = 0, RPMI_SESSION_ASKED = 1, RPMI_SESSION_ANSWERED = 2 };

/* A client session. Embedded first in the session struct of each kind of listener. */
struct rpmi_session {
    uint32_t client;     /* id, 0: not accepted */
    uint32_t keys;       /* granted and not closed yet */
    bool stores;         /* without the engine */
    uint32_t call_state; /* enum rpmi_session_call; atomic: says which thread owns the two
                            messages */
    unsigned char call[RPMI_CALL_BYTES];
    unsigned char reply[RPMI_REPLY_BYTES];
};

/* session.c; all by the control thread. */

/* Accept a client (the listener sets its call_state): check the pool that it names, attach it, fill
 * in @accepted except mode, depth and staging_bytes, with @facts and the start counter of the pool.
 * On an error @accepted is a refusal with the reason. */
int rpmi_session_enter(struct rpmi_listener *listener, struct rpmi_session *session,
                       const struct rpm_facts *facts, const struct rpmi_auth *auth,
                       struct rpmi_accept *accepted);

/* The client was accepted and stores by its own CPU, or by the server's NIC, so that the engine
 * does not notice. */
void rpmi_session_stores(struct rpmi_listener *listener, struct rpmi_session *session);

/* A refusal with the text of the last error. */
void rpmi_session_refuse(struct rpmi_listener *listener, int status, struct rpmi_accept *accepted);

/* Serve the call in @session->call. False: it is no valid call, end the session. The listener
 * encodes @reply in @session->reply, and adds its own fields. */
bool rpmi_session_serve(struct rpmi_listener *listener, struct rpmi_session *session,
                        struct rpmi_call *call, struct rpmi_reply *reply);

/* The client has left, and none of its writes can arrive any more: end its claims, keys and
 * locks. */
void rpmi_session_leave(struct rpmi_listener *listener, struct rpmi_session *session);

#endif
