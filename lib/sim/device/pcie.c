/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pcie.c: the PCIe queue of one server machine.
 *
 * Invariants
 *   head <= tail <= head + slots; transactions leave in the order in which they entered
 *   a request behind a write leaves after every line of that write has arrived in memory
 *
 * Tests: tests/unit/sim/device/pcie_test.cpp
 */
#include "sim/device/pcie.h"

#include "base/bytes.h"
#include "sim/device/world.h"

#define STALL_ONE_IN 32u /* one of so many transactions waits for credits; a coarse choice */

static struct rpmi_tlp *slot_of(struct rpmi_pcie *pcie, uint64_t number)
{
    return &pcie->slot[number % RPMI_SIM_PCIE_SLOTS];
}

bool rpmi_pcie_full(const struct rpmi_machine *machine)
{
    return machine->pcie.tail - machine->pcie.head == RPMI_SIM_PCIE_SLOTS;
}

static void arm(struct rpmi_machine *machine, uint64_t in_ns)
{
    struct rpmi_pcie *pcie = &machine->pcie;
    struct rpmi_world *world = machine->world;
    uint64_t ready;

    if (pcie->armed || pcie->head == pcie->tail)
        return;
    ready = slot_of(pcie, pcie->head)->ready_ns;
    if (ready > world->now_ns + in_ns)
        in_ns = ready - world->now_ns;
    pcie->armed = true;
    rpmi_world_push(world, RPMI_EV_PCIE, machine->index, 0, in_ns, 0);
}

static uint32_t lines_of(const struct rpmi_tlp *tlp)
{
    uint64_t first = tlp->offset / RPMI_LINE_BYTES;
    uint64_t last = (tlp->offset + tlp->bytes - 1) / RPMI_LINE_BYTES;

    return (uint32_t)(last - first + 1);
}

void rpmi_pcie_push(struct rpmi_machine *machine, const struct rpmi_tlp *tlp)
{
    struct rpmi_pcie *pcie = &machine->pcie;
    struct rpmi_tlp *slot = slot_of(pcie, pcie->tail);
    const struct rpmi_delays *ns = &machine->world->preset.ns;

    RPM_ASSERT(!rpmi_pcie_full(machine));
    *slot = *tlp;
    slot->ready_ns = machine->world->now_ns + ns->pcie;
    if (rpmi_rng_below(&machine->world->rng, STALL_ONE_IN) == 0)
        slot->ready_ns += rpmi_rng_below(&machine->world->rng, ns->pcie_slow);
    if (tlp->kind == RPMI_TLP_WRITE) {
        uint32_t lines = lines_of(tlp);

        RPM_ASSERT(tlp->bytes > 0 && lines <= RPMI_SIM_TLP_LINES);
        slot->left = (uint8_t)((1u << lines) - 1);
    }
    pcie->tail++;
    arm(machine, 0);
}

struct rpmi_piece rpmi_tlp_piece(const struct rpmi_tlp *tlp, uint32_t line)
{
    uint64_t begin = rpmi_align_down(tlp->offset, RPMI_LINE_BYTES) + line * RPMI_LINE_BYTES;
    uint64_t end = begin + RPMI_LINE_BYTES;
    uint64_t stop = tlp->offset + tlp->bytes;
    struct rpmi_piece piece;

    piece.offset = begin < tlp->offset ? tlp->offset : begin;
    piece.bytes = (uint32_t)((end < stop ? end : stop) - piece.offset);
    piece.from = tlp->packet->data + tlp->from + (piece.offset - tlp->offset);
    RPM_ASSERT(piece.offset < stop && piece.bytes <= RPMI_LINE_BYTES);
    return piece;
}

/* Write one of the lines left, chosen at random: PCIe promises no order inside a transaction. */
static void land_one(struct rpmi_machine *machine, struct rpmi_tlp *tlp)
{
    uint32_t lines = (uint32_t)__builtin_popcount(tlp->left);
    uint32_t skip = lines == 1 ? 0 : (uint32_t)rpmi_rng_below(&machine->world->rng, lines);
    struct rpmi_piece piece;
    uint32_t line = 0;

    for (;; line++) {
        if ((tlp->left & 1u << line) == 0)
            continue;
        if (skip-- == 0)
            break;
    }
    tlp->left = (uint8_t)(tlp->left & ~(1u << line));
    piece = rpmi_tlp_piece(tlp, line);
    machine->pcie.lines++;
    machine->pcie.partial_words += piece.bytes < RPMI_LINE_BYTES;
    rpmi_machine_land(machine, tlp->place, &piece, RPMI_BY_NIC);
}

bool rpmi_pcie_step(struct rpmi_machine *machine, struct rpmi_tlp *out)
{
    struct rpmi_pcie *pcie = &machine->pcie;
    struct rpmi_tlp *slot;

    pcie->armed = false;
    if (pcie->head == pcie->tail)
        return false;
    slot = slot_of(pcie, pcie->head);
    /* The event was for a transaction that was dropped since. */
    if (slot->ready_ns > machine->world->now_ns) {
        arm(machine, 0);
        return false;
    }
    out->kind = 0;
    if (slot->kind == RPMI_TLP_WRITE) {
        land_one(machine, slot);
        if (slot->left != 0)
            return true;
    }
    *out = *slot;
    pcie->head++;
    if (out->kind == RPMI_TLP_WRITE)
        rpmi_packet_drop(out->packet);
    return true;
}

void rpmi_pcie_next(struct rpmi_machine *machine)
{
    arm(machine, machine->world->preset.ns.line);
}

void rpmi_pcie_drop(struct rpmi_machine *machine)
{
    struct rpmi_pcie *pcie = &machine->pcie;

    for (; pcie->head < pcie->tail; pcie->head++) {
        struct rpmi_tlp *tlp = slot_of(pcie, pcie->head);

        if (tlp->packet != NULL)
            rpmi_packet_drop(tlp->packet);
    }
}
