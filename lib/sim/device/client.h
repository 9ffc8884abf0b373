/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.h: a client machine: its NIC, which is the requester of two queue pairs to one server, and
 * the ops that were posted to it.
 *
 * Invariants
 *   head <= tail <= head + depth; ops are numbered from 0 and reported in that order
 *   of each queue pair: acknowledged <= next to send <= next to post, in packet numbers
 *   no op is reported twice; an op whose link is lost is reported as lost
 *
 * Tests: tests/unit/sim/device/open_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_CLIENT_H
#define RPMI_SIM_DEVICE_CLIENT_H

#include "base/limits.h"
#include "sim/device/nic.h"
#include "wire/call.h"
#include "wire/steps.h"

struct rpmi_world;
struct rpmi_machine;

#define RPMI_SIM_CLIENTS_MAX 64u
#define RPMI_SIM_PACKETS_ALL (RPMI_SIM_PACKETS + 2u) /* with two of the connection manager */
#define RPMI_SIM_ACKS 64u /* acknowledgements in transit; a later one covers any that is dropped */

/* An op as posted. */
struct rpmi_sim_request {
    uint8_t kind;  /* enum rpmi_sim_kind */
    uint8_t flags; /* enum rpmi_sim_flag */
    uint32_t key;
    uint32_t head_bytes; /* at most a line */
    uint64_t offset;
    uint64_t len;
    const void *head; /* borrowed until post returns */
    const void *body; /* borrowed until completion */
    uint64_t body_bytes;
    void *into; /* borrowed until completion */
    uint64_t expect;
    uint64_t operand; /* STEPS: bytes of the answer; len are those of the list */
    uint64_t id;
};

struct rpmi_sim_slot {
    struct rpmi_sim_request request;
    uint64_t psn; /* of the first packet */
    uint64_t packets;
    uint8_t qp;
    bool done;
    int status;
    int answer; /* 1: the answer is on its way back */
    unsigned char head[RPMI_LINE_BYTES];
};

struct rpmi_requester {
    uint64_t next;    /* packet number of the next post */
    uint64_t send;    /* next to send */
    uint64_t send_op; /* the op of that packet, or the op from which it is searched */
    uint64_t acked;   /* all packets below arrived */
    bool timed;       /* a timer event is pending */
    bool answered;    /* the server answered since the last timer event */
    bool probe;       /* a probe is to be sent */
    uint32_t silent;  /* timer events in a row without an answer */
};

enum rpmi_client_state {
    RPMI_CLIENT_FREE = 0,
    RPMI_CLIENT_OPEN = 1,
    RPMI_CLIENT_CLOSED = 2 /* closed; the server may still hold packets */
};

struct rpmi_sim_client {
    struct rpmi_world *world;
    struct rpmi_machine *machine;
    uint16_t index;
    uint8_t state;    /* enum rpmi_client_state */
    bool dead;        /* the client machine was killed */
    bool on_soc;      /* it is an agent on the server's SoC, and loses power with it */
    uint64_t kill_at; /* event after which the client machine is killed; 0: none */
    bool dialling;
    bool connected;
    int refused;    /* dialling ended with this error */
    int lost;       /* 0, or why no op works any more */
    uint32_t gen;   /* number of the dialling: packets and events of an earlier one are ignored */
    uint32_t epoch; /* of the server that accepted */

    /* Known to the server. */
    bool attached;
    uint32_t id;   /* given by the service */
    uint64_t boot; /* of the machine that gave the id */
    struct rpmi_responder responder[RPMI_SIM_QPS];
    unsigned char list[RPMI_STEPS_BYTES]; /* the list of steps received so far */

    /* The NIC. */
    struct rpmi_requester requester[RPMI_SIM_QPS];
    bool sending;       /* an event is pending */
    uint32_t turn;      /* queue pair that may send first */
    uint64_t wire_ns;   /* the port is busy until this time */
    uint64_t arrive_ns; /* last arrival at the server */
    uint64_t answer_ns; /* last arrival at the client */
    uint32_t acks;
    struct rpmi_packet *packet; /* RPMI_SIM_PACKETS, then two of the connection manager */
    struct rpmi_packet *spare;
    uint32_t packets; /* in use */

    /* Ops. */
    struct rpmi_sim_slot *slot;
    uint32_t depth;
    uint32_t room; /* slots allocated */
    uint64_t head;
    uint64_t tail;
    unsigned char call[RPMI_CALL_BYTES];
    unsigned char reply[RPMI_REPLY_BYTES];
};

/* A new client machine with room for @depth ops; not connected yet. RPM_E_NOMEM, RPM_E_LIMIT. */
int rpmi_client_open(struct rpmi_world *world, uint32_t server, uint32_t depth,
                     struct rpmi_sim_client **client);

/* Request queue pairs from the server; outstanding ops are dropped. Then process events until
 * dialling is false: connected, or refused. RPM_E_NOMEM. */
int rpmi_client_dial(struct rpmi_sim_client *client);

/* Ops that may still be posted. */
static inline uint32_t rpmi_client_free(const struct rpmi_sim_client *client)
{
    return client->depth - (uint32_t)(client->tail - client->head);
}

/* Take one op; there is room and the link is not lost. */
void rpmi_client_post(struct rpmi_sim_client *client, const struct rpmi_sim_request *request);

/* Take the next report. False: there is none. Ops that need no report are skipped. */
bool rpmi_client_reap(struct rpmi_sim_client *client, uint64_t *id, int *status);

/* Is there a report to reap, or is the link lost, so that none will come? */
bool rpmi_client_ready(struct rpmi_sim_client *client);

/* The machine dies: packets that were not sent yet are never sent. The server notices some time
 * later. */
void rpmi_client_kill(struct rpmi_sim_client *client);

/* The user closes the link. Packets that were sent still arrive. */
void rpmi_client_close(struct rpmi_sim_client *client);

/* The largest number of pending events of one client: each packet and its duplicate,
 * acknowledgements, answers, and one of each other kind, old timers included, for each queue
 * pair. */
static inline uint32_t rpmi_client_events(const struct rpmi_sim_client *client)
{
    return 2 * RPMI_SIM_PACKETS_ALL + RPMI_SIM_ACKS + client->room + 16 * RPMI_SIM_QPS;
}

/* Event: the server's answer to dialling arrives; @err is 0, or a positive errno. */
bool rpmi_client_answered(struct rpmi_sim_client *client, uint32_t gen, uint64_t err);

/* Free the client; the world calls this when it closes. */
void rpmi_client_destroy(struct rpmi_sim_client *client);

/* The link is lost with @why: every outstanding op ends. */
void rpmi_client_lose(struct rpmi_sim_client *client, int why);

/* packet.c: schedule the event in which the NIC sends the next packet, if the client can send. */
void rpmi_client_kick(struct rpmi_sim_client *client);

/* requester.c: events. False: the event found nothing to do. */
bool rpmi_requester_send(struct rpmi_sim_client *client, uint32_t gen);
bool rpmi_requester_ack(struct rpmi_sim_client *client, uint32_t gen, uint64_t arg, bool go_back);
bool rpmi_requester_answer(struct rpmi_sim_client *client, uint32_t gen, uint64_t op);
bool rpmi_requester_timer(struct rpmi_sim_client *client, uint32_t gen, uint32_t qp);

/* By the server: all packets below @psn of @qp arrived; or packets are missing from @psn on. */
void rpmi_send_ack(struct rpmi_sim_client *client, uint32_t gen, uint32_t qp, uint64_t psn,
                   bool go_back);

/* By the server: the result of an op. */
void rpmi_send_answer(struct rpmi_sim_client *client, uint32_t gen, uint64_t op, int status);

/* packet.c: take a packet; NULL if all are in use. */
struct rpmi_packet *rpmi_packet_take(struct rpmi_sim_client *client);
void rpmi_packet_drop(struct rpmi_packet *packet);

/* The op that a server's answer is for, if the client still waits for it. */
struct rpmi_sim_slot *rpmi_client_waits(struct rpmi_sim_client *client, uint32_t gen, uint64_t op);

/* Does this kind end with an answer rather than with an acknowledgement? */
bool rpmi_kind_answers(uint32_t kind);

#endif
