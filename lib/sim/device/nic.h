/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic.h: the server's NIC, the responder of a client's two queue pairs.
 *
 * The NIC acknowledges a packet in sequence on receipt, before any of its bytes are written. It
 * sets a READ, FLUSH or atomic aside and starts it some time later, so that a later WRITE may be
 * written first. It never starts a READ before the WRITEs posted earlier on the same queue pair
 * have been handed to PCIe, where a read cannot overtake them. Packets of the other queue pair may
 * still wait in the NIC: a READ pushes none of them.
 *
 * Tests: tests/unit/sim/device/nic_test.cpp, order_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_NIC_H
#define RPMI_SIM_DEVICE_NIC_H

#include "sim/device/packet.h"
#include "sim/queue.h"

#define RPMI_SIM_READS 16u /* responder resources of a queue pair: READ, FLUSH, atomic */

enum rpmi_read_state {
    RPMI_READ_ASIDE = 0,   /* waits until the requests before it have ended */
    RPMI_READ_PUSHING = 1, /* in the PCIe queue, behind posted writes */
    RPMI_READ_GOING = 2    /* reads or flushes lines */
};

struct rpmi_read {
    uint8_t kind;
    uint8_t state; /* enum rpmi_read_state */
    uint8_t place; /* enum rpmi_sim_place, set in RPMI_READ_GOING */
    uint32_t key;
    uint64_t op;
    uint64_t offset; /* within the key's object; in that memory once going */
    uint64_t len;
    uint64_t expect;
    uint64_t operand;
    uint64_t done;  /* bytes */
    uint64_t stamp; /* FLUSH: content visible by then is made durable */
};

struct rpmi_responder {
    bool alive;
    bool broken;   /* a packet was refused: no further packet is accepted */
    bool closed;   /* a packet that will be refused was accepted: later packets are dropped */
    bool nak_sent; /* the "packets missing" answer was sent for this gap */
    bool issuing;  /* an event is pending */
    uint32_t gen;
    uint64_t expected; /* packet sequence number */
    uint32_t cut;      /* bytes of the first packet that were handed to PCIe */
    struct rpmi_packets received;
    struct rpmi_read read[RPMI_SIM_READS];
    uint32_t reads;      /* pending */
    uint32_t read_first; /* oldest */
};

struct rpmi_machine;

/* Queue pair @qp of @client begins to serve dialling @gen. */
void rpmi_nic_ready(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen);

/* The queue pair ends: packets that were not yet handed to PCIe are dropped. */
void rpmi_nic_reset(struct rpmi_sim_client *client, uint32_t qp);

/* A packet arrives; takes over one reference. */
void rpmi_nic_arrive(struct rpmi_packet *packet);

/* Events. False: the event found nothing to do. */
bool rpmi_nic_issue(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen);
bool rpmi_nic_read(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen);

/* The oldest READ of the queue pair has left the PCIe queue: all writes before it have arrived in
 * memory. */
void rpmi_nic_pushed(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen);

#endif
