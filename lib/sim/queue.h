/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue.h: the pending events of a world, earliest first. A binary heap of fixed capacity.
 *
 * Invariant: two events of the same instant are processed in the order they were pushed.
 *
 * Tests: tests/unit/sim/queue_test.cpp
 */
#ifndef RPMI_SIM_QUEUE_H
#define RPMI_SIM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum rpmi_event_kind {
    RPMI_EV_SEND = 1,         /* client NIC puts a packet on the wire */
    RPMI_EV_ARRIVE = 2,       /* packet reaches the server's NIC */
    RPMI_EV_ACK = 3,          /* acknowledgement reaches the client */
    RPMI_EV_GO_BACK = 4,      /* "packets missing" reaches the client */
    RPMI_EV_ANSWER = 5,       /* result of an op reaches the client */
    RPMI_EV_TIMER = 6,        /* client NIC checks whether the server has answered */
    RPMI_EV_ISSUE = 7,        /* server NIC turns a received packet into PCIe transactions */
    RPMI_EV_READ = 8,         /* server NIC continues a READ, FLUSH or atomic */
    RPMI_EV_PCIE = 9,         /* a transaction leaves the PCIe queue */
    RPMI_EV_CPU = 10,         /* server CPU serves a message */
    RPMI_EV_EVICT = 11,       /* the cache writes some dirty line back */
    RPMI_EV_DIAL = 12,        /* connection request or disconnect reaches the server */
    RPMI_EV_DIAL_ANSWER = 13, /* answer to a connection request reaches the client */
    RPMI_EV_CPU_ACCESS = 14,  /* a store, write-back or fence of the server CPU */
    RPMI_EV_POWER = 15,       /* cut, kill, restart */
    RPMI_EV_DEATH = 16,       /* a client machine dies */
    RPMI_EV_ENGINE = 17,      /* a line of the SoC's copy engine leaves it, or arrives in memory */
    RPMI_EV_KINDS = 18
};

struct rpmi_event {
    uint64_t at; /* nanoseconds in a world, picoseconds in a server model */
    uint64_t order;
    uint16_t kind; /* enum rpmi_event_kind */
    uint16_t who;  /* client, or machine: by kind */
    uint32_t gen;  /* which dialling of the client it belongs to */
    uint64_t arg;
};

struct rpmi_queue {
    struct rpmi_event *heap;
    uint32_t count;
    uint32_t room;
    uint64_t order;
};

/* Make room for @more events beyond those pending. Setup only. RPM_E_NOMEM: nothing changed. */
int rpmi_queue_reserve(struct rpmi_queue *queue, uint32_t more);
void rpmi_queue_close(struct rpmi_queue *queue);

/* A full queue is an assertion: room was reserved for all that can be pending. */
void rpmi_queue_push(struct rpmi_queue *queue, const struct rpmi_event *event);

/* False when nothing is pending. */
bool rpmi_queue_pop(struct rpmi_queue *queue, struct rpmi_event *event);

/* When the earliest event is due; UINT64_MAX when nothing is pending. */
static inline uint64_t rpmi_queue_next(const struct rpmi_queue *queue)
{
    return queue->count == 0 ? UINT64_MAX : queue->heap[0].at;
}

#endif
