/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet.h: a packet from a client to a server. It has its own copy of the payload: the client may
 * reuse its memory as soon as the op has completed, which on real hardware happens before the bytes
 * are in memory.
 *
 * Invariant: the network, the NIC, the PCIe queue and the server CPU each hold one reference to a
 * packet; it is given back when all have dropped theirs.
 *
 * Tests: tests/unit/sim/device/nic_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_PACKET_H
#define RPMI_SIM_DEVICE_PACKET_H

#include "base/assert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPMI_SIM_MTU_BYTES 1024u
#define RPMI_SIM_PACKETS 32u /* of one client, in the network and in the server's NIC together */
#define RPMI_SIM_QPS 2u

/* The first ten are transport/op.h's kinds, by the same numbers. */
enum rpmi_sim_kind {
    RPMI_SIM_WRITE = 1,
    RPMI_SIM_READ = 2,
    RPMI_SIM_PERSIST = 3,
    RPMI_SIM_FLUSH = 4,
    RPMI_SIM_WRITE_IMM = 5,
    RPMI_SIM_COPY = 6,
    RPMI_SIM_CAS = 8,
    RPMI_SIM_FAA = 9,
    RPMI_SIM_STEPS = 10,
    RPMI_SIM_CALL = 11,      /* control message for the server's service */
    RPMI_SIM_PROBE = 12,     /* no payload: asks whether the server is alive */
    RPMI_SIM_DIAL = 13,      /* connection manager: make queue pairs */
    RPMI_SIM_DISCONNECT = 14 /* connection manager: the client died or disconnected */
};

/* transport/op.h's flags, by the same numbers. */
enum rpmi_sim_flag {
    RPMI_SIM_SIGNALED = 1,
    RPMI_SIM_FENCED = 2,
    RPMI_SIM_DURABLE = 4,
    RPMI_SIM_OTHER_QP = 8,
    RPMI_SIM_CACHED = 32,
    RPMI_SIM_SILENT = 128 /* never reported: the caller waits for this op itself */
};

struct rpmi_sim_client;

struct rpmi_packet {
    struct rpmi_packet *next; /* in its list; a packet is in one list at most */
    struct rpmi_sim_client *client;
    uint32_t gen; /* dialling of the client that sent it */
    uint8_t refs;
    uint8_t kind;  /* enum rpmi_sim_kind */
    uint8_t flags; /* enum rpmi_sim_flag */
    uint8_t qp;
    bool last;   /* of its op */
    bool listed; /* connection manager's packets: waiting at the server CPU */
    uint32_t key;
    uint32_t bytes; /* of the payload in data */
    uint64_t psn;
    uint64_t op;        /* number of the op at the client */
    uint64_t offset;    /* of this payload, within the key's object */
    uint64_t op_offset; /* of the whole op, within the key's object */
    uint64_t op_len;
    uint64_t expect;
    uint64_t operand; /* STEPS: bytes of the answer */
    unsigned char data[RPMI_SIM_MTU_BYTES];
};

struct rpmi_packets {
    struct rpmi_packet *head;
    struct rpmi_packet *tail;
};

static inline void rpmi_packets_put(struct rpmi_packets *list, struct rpmi_packet *packet)
{
    RPM_ASSERT(packet->next == NULL && packet != list->tail);
    if (list->tail == NULL)
        list->head = packet;
    else
        list->tail->next = packet;
    list->tail = packet;
}

static inline struct rpmi_packet *rpmi_packets_take(struct rpmi_packets *list)
{
    struct rpmi_packet *packet = list->head;

    if (packet == NULL)
        return NULL;
    list->head = packet->next;
    if (list->head == NULL)
        list->tail = NULL;
    packet->next = NULL;
    return packet;
}

#endif
