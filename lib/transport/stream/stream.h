/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.h: the client side of tcp: and unix:. The client sends requests in the order posted, large
 * bodies directly from staging memory. The server answers with counts of done requests, and with
 * failures and results before the count that includes them.
 *
 * Invariants
 *   reaped <= done <= sent <= posted <= reaped + slots, all counted from the handshake
 *   a slot is reused only when its request was reaped, so all of it was sent before
 *   the client judges every count, length and result from the server before it uses it
 */
#ifndef RPMI_STREAM_H
#define RPMI_STREAM_H

#include "transport/stage.h"
#include "transport/stream/name.h"
#include "transport/stream/pipe.h"
#include "transport/transport.h"
#include "transport/watch.h"
#include "wire/handshake.h"
#include "wire/stream.h"

#define RPMI_STREAM_IN_BYTES 65536u
#define RPMI_STREAM_COPY_MAX 1024u /* a body up to this is copied behind its header */
#define RPMI_STREAM_PIECE_MAX (RPMI_REQUEST_BYTES + RPMI_LINE_BYTES + RPMI_STREAM_COPY_MAX)

struct rpmi_stream_sent {
    uint64_t id;
    const unsigned char *body; /* the body, if it is sent from staging memory */
    unsigned char *into;       /* memory for the result */
    uint32_t body_bytes;
    uint32_t piece; /* offset in stream->piece of header, head and a small body */
    uint32_t piece_bytes;
    uint32_t want; /* bytes of the result */
    uint32_t got;  /* of those, received */
    int32_t status;
    bool signaled;
};

struct rpmi_stream_call {
    bool wanted; /* a call was sent, and its reply has not come */
    bool here;   /* the reply has come */
    unsigned char reply[RPMI_REPLY_BYTES];
};

struct rpmi_stream {
    struct rpmi_link link;
    struct rpmi_pipe pipe;
    struct rpmi_watch watch;
    bool watches_room; /* the epoll set watches for room in the socket, to send held requests */
    struct rpmi_stream_name name;
    struct ssl_ctx_st *tls_ctx; /* NULL: no TLS */
    struct rpmi_auth auth;      /* repeated at a reconnect */
    char secret[RPMI_SECRET_BYTES];
    struct rpmi_stage stage;
    bool spins;
    bool gathers; /* a post sends only when HOLD_BYTES are held back */

    struct rpmi_stream_sent *slot;
    uint32_t slots;       /* power of two */
    unsigned char *piece; /* room for a piece of each slot, and two to spare */
    uint32_t piece_room;
    uint32_t piece_at; /* offset of the next piece */
    uint64_t posted;
    uint64_t sent;       /* requests of which all bytes were sent */
    uint64_t sent_bytes; /* bytes of the next one that were sent */
    uint64_t held_bytes; /* posted since the last send */
    uint64_t done;
    uint64_t reaped;
    uint64_t failures; /* failures received of requests that are not reaped yet */
    bool broken;       /* a request failed with an error that ends the link: later ones are lost */

    unsigned char *in;
    uint32_t in_from;
    uint32_t in_end;
    uint64_t data_request; /* the request whose result is being received */
    uint32_t data_left;    /* bytes of it to come */
    struct rpmi_stream_call call;
};

static inline struct rpmi_stream *rpmi_stream_of(struct rpmi_link *link)
{
    return (struct rpmi_stream *)(void *)link;
}

static inline struct rpmi_stream_sent *rpmi_stream_slot(struct rpmi_stream *stream,
                                                        uint64_t request)
{
    return &stream->slot[request & (stream->slots - 1)];
}

static inline void rpmi_stream_count_sent(struct rpmi_stream *stream, uint64_t bytes)
{
    stream->link.stats.messages++;
    stream->link.stats.sent_bytes += bytes;
}

/* dial.c: connect and make the handshake. Owns nothing on failure. RPM_E_REFUSED, RPM_E_DENIED,
 * RPM_E_TIMEDOUT, RPM_E_LOST, RPM_E_PROTO, RPM_E_VERSION, or what the server says. */
int rpmi_stream_dial(const struct rpmi_stream *stream, uint64_t deadline_ns, struct rpmi_pipe *pipe,
                     struct rpmi_accept *accepted);

/* send.c */
int rpmi_stream_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n);
/* Send as much as the socket takes now. 0, or RPM_E_LOST. */
int rpmi_stream_flush(struct rpmi_stream *stream);
/* No answer can arrive any more: all requests that are not done count as lost. */
void rpmi_stream_end(struct rpmi_stream *stream);

/* receive.c */
int rpmi_stream_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n);
int rpmi_stream_wait(struct rpmi_link *link, uint64_t deadline_ns);
int rpmi_stream_arm(struct rpmi_link *link, uint64_t *by_ns);
/* Receive and handle the answers that have arrived. 0, RPM_E_LOST, RPM_E_PROTO. */
int rpmi_stream_receive(struct rpmi_stream *stream);

#endif
