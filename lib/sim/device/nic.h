/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic.h: the server's NIC, responder side of a client's two queue pairs.
 *
 * What it does in the order given: a packet in sequence is acknowledged on receipt, before any of
 * it is placed; a READ, FLUSH or atomic is set aside and starts some time later, so that a later
 * WRITE may be placed first. What it never does: let a READ start before the WRITEs posted earlier
 * on the same queue pair have been handed to PCIe, which a read cannot overtake there. Packets of
 * the other queue pair may still be waiting here: a READ pushes none of them.
 *
 * Tests: tests/unit/sim/device/nic_test.cpp, order_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_NIC_H
#define RPMI_SIM_DEVICE_NIC_H

#include "sim/device/packet.h"
#include "sim/queue.h"

#define RPMI_SIM_READS 16u /* responder resources of a queue pair: READ, FLUSH, atomic */

enum rpmi_read_state {
    RPMI_READ_ASIDE = 0,   /* waits for its turn */
    RPMI_READ_PUSHING = 1, /* behind posted writes in the PCIe queue */
    RPMI_READ_GOING = 2    /* reads, or flushes, line after line */
};

struct rpmi_read {
    uint8_t kind;
    uint8_t state; /* enum rpmi_read_state */
    uint8_t place; /* enum rpmi_sim_place, once going */
    uint32_t key;
    uint64_t op;
    uint64_t offset; /* within the key's object; in the place once going */
    uint64_t len;
    uint64_t expect;
    uint64_t operand;
    uint64_t done;  /* bytes */
    uint64_t stamp; /* FLUSH: what was seen by then is made durable */
};

struct rpmi_responder {
    bool alive;
    bool broken;  /* a packet was refused: no further one is taken */
    bool closed;  /* a packet that will be refused was taken: later ones are dropped */
    bool nagged;  /* "packets missing" was sent for this gap */
    bool issuing; /* an event is pending */
    uint32_t gen;
    uint64_t expected; /* packet sequence number */
    uint32_t cut;      /* bytes of the first packet that PCIe has already */
    struct rpmi_packets received;
    struct rpmi_read read[RPMI_SIM_READS];
    uint32_t reads;      /* pending */
    uint32_t read_first; /* oldest */
};

struct rpmi_machine;

/* Queue pair @qp of @client begins to serve dialling @gen. */
void rpmi_nic_ready(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen);

/* It ends: what was received and not yet handed to PCIe is dropped. */
void rpmi_nic_reset(struct rpmi_sim_client *client, uint32_t qp);

/* A packet comes off the wire; takes over one reference. */
void rpmi_nic_arrive(struct rpmi_packet *packet);

/* Events. False: nothing happened. */
bool rpmi_nic_issue(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen);
bool rpmi_nic_read(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen);

/* The oldest READ of the queue pair has left the PCIe queue: all before it has landed. */
void rpmi_nic_pushed(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen);

#endif
