/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pcie.h: the queue between a server's NIC and its memory. Posted writes stay in order; a read
 * request, or the notice of a message, does not pass the writes before it. Relaxed ordering is
 * never on. The lines of one transaction arrive in memory in any order.
 *
 * Tests: tests/unit/sim/device/pcie_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_PCIE_H
#define RPMI_SIM_DEVICE_PCIE_H

#include "sim/device/media.h"
#include "sim/device/packet.h"

#define RPMI_SIM_TLP_BYTES 256u /* maximum payload of a transaction, the common setting */
#define RPMI_SIM_PCIE_SLOTS 64u /* posted credits: transactions in the queue */
#define RPMI_SIM_TLP_LINES (RPMI_SIM_TLP_BYTES / RPMI_LINE_BYTES)

enum rpmi_tlp_kind {
    RPMI_TLP_WRITE = 1, /* payload for memory */
    RPMI_TLP_READ = 2,  /* start of the oldest READ, FLUSH or atomic of a queue pair */
    RPMI_TLP_NOTICE = 3 /* a message for the server CPU */
};

struct rpmi_tlp {
    uint8_t kind; /* enum rpmi_tlp_kind */
    uint8_t qp;
    uint8_t place; /* enum rpmi_sim_place */
    uint8_t left;  /* bit for each line that has not arrived */
    uint32_t gen;
    uint32_t from; /* first byte in the packet's payload */
    uint32_t bytes;
    uint64_t offset; /* in the place */
    uint64_t ready_ns;
    struct rpmi_packet *packet; /* one reference; NULL for READ */
    struct rpmi_sim_client *client;
};

struct rpmi_pcie {
    struct rpmi_tlp slot[RPMI_SIM_PCIE_SLOTS];
    uint64_t head; /* counts transactions; index modulo the number of slots */
    uint64_t tail;
    bool armed;             /* an event is pending */
    uint64_t partial_words; /* 64-byte words written in part: each costs a read of the media */
    uint64_t lines;         /* lines that have arrived in memory */
};

struct rpmi_machine;

bool rpmi_pcie_full(const struct rpmi_machine *machine);

/* Queue a transaction; the caller has checked for room. Takes over the packet's reference. */
void rpmi_pcie_push(struct rpmi_machine *machine, const struct rpmi_tlp *tlp);

/* Event: one line arrives in memory, or one request leaves. False: the event found nothing to do.
 * @out is the request that left, its kind 0 if none did: the caller passes it to the NIC or the
 * CPU, and then calls rpmi_pcie_next(). */
bool rpmi_pcie_step(struct rpmi_machine *machine, struct rpmi_tlp *out);

/* The next transaction leaves after the time that a line takes. */
void rpmi_pcie_next(struct rpmi_machine *machine);

/* The memory and the part of the payload that bit @line of a write stands for. */
struct rpmi_piece rpmi_tlp_piece(const struct rpmi_tlp *tlp, uint32_t line);

/* After a power cut or the death of the process: drop all transactions. */
void rpmi_pcie_drop(struct rpmi_machine *machine);

#endif
