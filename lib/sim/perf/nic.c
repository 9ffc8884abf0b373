/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic.c: the server's NIC: it receives messages at its rate and buffers them, hands payloads to
 * PCIe, reads memory for READs and atomics, and answers. It acknowledges a WRITE on receipt, before
 * the bytes are in memory.
 *
 * An atomic holds one of a few units from its read of memory until it has changed the word. Atomics
 * on the same word of a script, or of a load with few words, are carried out one at a time. An
 * append takes its address here.
 *
 * Tests: tests/unit/sim/perf/nic_test.cpp
 */
#include "sim/perf/cluster_model.h"
#include "sim/perf/server_model.h"

static uint64_t pcie_ps(const struct rpmi_server_model *server, uint64_t bytes)
{
    return rpmi_rate_ps(bytes + server->params->pcie_header, server->params->pcie_rate);
}

static bool is_atomic(const struct rpmi_slot_op *op)
{
    return op->op_class->op == RPM_LOAD_CAS;
}

/* Bytes of the NIC's buffer that a transaction occupies until it leaves the root complex. */
static uint64_t weight(uint64_t bytes)
{
    return bytes == 0 ? 0 : bytes < RPMI_LINE_BYTES ? RPMI_LINE_BYTES : bytes;
}

/* Send one transaction to the root complex, in order. */
static void transact(struct rpmi_server_model *server, const struct rpmi_inbound *tlp)
{
    uint64_t number = server->tlps++ % server->inbound_room;
    uint64_t at_ps = rpmi_wire_pass(&server->pcie_in, server->now_ps, pcie_ps(server, tlp->bytes));

    server->tlp[number] = *tlp;
    server->inbound_bytes += weight(tlp->bytes);
    at_ps += server->params->pcie_write + rpmi_server_memory_hop_ps(server);
    rpmi_server_at(server, at_ps, RPMI_PERF_EV_TLP_ARRIVED, 0, 0, number);
}

/* Send a payload over PCIe, in transactions. */
static void push(struct rpmi_server_model *server, uint32_t slot, uint64_t address, uint64_t bytes,
                 bool dram, bool call)
{
    const struct rpmi_params *params = server->params;
    uint64_t end = address + bytes;

    while (address < end) {
        uint64_t next = (address / params->pcie_payload + 1) * params->pcie_payload;
        struct rpmi_inbound tlp = { .address = address, .slot = slot, .dram = dram };

        if (next > end)
            next = end;
        tlp.bytes = (uint32_t)(next - address);
        tlp.call = call && next == end;
        transact(server, &tlp);
        address = next;
    }
}

/* Send the read request to PCIe, behind earlier writes. */
static void request(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_inbound tlp = { .slot = slot };

    transact(server, &tlp);
}

static bool word_is_busy(const struct rpmi_server_model *server, uint32_t word)
{
    for (uint32_t i = 0; word != 0 && !RPMI_CANARY(MODEL_NO_WORDS) && i < server->atomics.under_way;
         i++)
        if (server->atomic_word[i] == word)
            return true;
    return false;
}

static bool has_unit(const struct rpmi_server_model *server)
{
    uint64_t units = RPMI_CANARY(MODEL_NO_UNITS) ? RPMI_SERVER_UNITS : server->params->nic_atomics;

    return server->atomics.under_way < units;
}

static bool start_atomic(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_fetches *atomics = &server->atomics;
    uint32_t word = rpmi_load_word(server, &server->slot[slot]);

    if (!has_unit(server) || word_is_busy(server, word))
        return false;
    server->atomic_word[atomics->under_way++] = word;
    request(server, slot);
    return true;
}

/* Ends an atomic; starts waiting ones in order, while there are units and their words are free. */
static void end_atomic(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_fetches *atomics = &server->atomics;
    bool passed_over = false; /* a waiting one could not start: all are queued again in order */
    uint32_t i = 0;

    while (server->atomic_word[i] != rpmi_load_word(server, &server->slot[slot]))
        i++;
    RPM_ASSERT(i < atomics->under_way);
    server->atomic_word[i] = server->atomic_word[--atomics->under_way];
    for (uint32_t n = atomics->waiting.count; n > 0 && (passed_over || has_unit(server)); n--) {
        uint32_t next = rpmi_fifo_pop(&atomics->waiting);

        if (start_atomic(server, next))
            continue;
        rpmi_fifo_push(&atomics->waiting, next);
        passed_over = true;
    }
}

static void fetch_or_wait(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_fetches *reads = &server->reads;

    if (is_atomic(&server->slot[slot])) {
        if (!start_atomic(server, slot))
            rpmi_fifo_push(&server->atomics.waiting, slot);
    } else if (reads->under_way < server->params->nic_reads || RPMI_CANARY(MODEL_NO_READ_LIMIT)) {
        reads->under_way++;
        request(server, slot);
    } else {
        rpmi_fifo_push(&reads->waiting, slot);
    }
}

static void end_read(struct rpmi_server_model *server)
{
    struct rpmi_fetches *reads = &server->reads;

    RPM_ASSERT(reads->under_way > 0);
    reads->under_way--;
    if (reads->waiting.count == 0)
        return;
    reads->under_way++;
    request(server, rpmi_fifo_pop(&reads->waiting));
}

/* Answers use the wire in the order of these calls: no answer waits for a later one. */
void rpmi_server_nic_answer(struct rpmi_server_model *server, uint32_t slot, uint64_t in_ps,
                            uint64_t bytes)
{
    const struct rpmi_params *params = server->params;
    uint64_t busy_ps = rpmi_port_ps(params, bytes);
    uint64_t at_ps = rpmi_wire_pass(&server->wire_out, server->now_ps, busy_ps) + in_ps;

    rpmi_server_at(server,
                   at_ps + params->network_latency + params->nic_latency + params->completion,
                   RPMI_PERF_EV_COMPLETION, 0, 0, slot);
}

void rpmi_server_nic_reply(struct rpmi_server_model *server, uint32_t slot, uint64_t in_ps)
{
    const struct rpmi_params *params = server->params;
    uint64_t bytes = rpmi_load_answer_bytes(&server->slot[slot]);

    rpmi_server_nic_answer(
        server, slot, in_ps + rpmi_payload_ps(params, false, bytes) + params->nic_latency, bytes);
}

static void touch(struct rpmi_server_model *server, uint32_t slot)
{
    if (server->cluster != NULL && server->slot[slot].op_class->word != 0)
        rpmi_cluster_touch(server, slot);
}

static void handle(struct rpmi_server_model *server, uint32_t slot, enum rpmi_message message)
{
    struct rpmi_slot_op *op = &server->slot[slot];
    const struct rpmi_op_class *op_class = op->op_class;

    if (rpmi_load_appends(server) && (message != RPMI_MESSAGE_READ || !op->write))
        op->address = rpmi_load_address(server, op->thread, op->write);
    switch (message) {
    case RPMI_MESSAGE_WRITE:
        push(server, slot, op->address, op_class->written, op_class->memory == RPM_LOAD_DRAM,
             false);
        touch(server, slot);
        if (op_class->persist != RPM_PERSIST_CHAIN)
            rpmi_server_nic_answer(server, slot, 0, 0);
        return;
    case RPMI_MESSAGE_CALL: /* payload and request, then the notice for the core */
        push(server, slot, (uint64_t)slot * RPMI_PAGE_BYTES, rpmi_load_call_bytes(op), true, true);
        return;
    default:
        RPM_ASSERT(message == RPMI_MESSAGE_READ);
        fetch_or_wait(server, slot);
    }
}

/* Handle messages in order, as long as the buffer has room; waiting messages are not
 * acknowledged. */
static void go_on(struct rpmi_server_model *server)
{
    while (server->backlog.count > 0 && server->inbound_bytes < server->params->nic_buffer) {
        uint32_t word = rpmi_fifo_pop(&server->backlog);

        handle(server, word >> 2, (enum rpmi_message)(word & 3));
    }
}

void rpmi_server_nic_message(struct rpmi_server_model *server, uint32_t slot,
                             enum rpmi_message message)
{
    rpmi_fifo_push(&server->backlog, slot << 2 | message);
    go_on(server);
}

void rpmi_server_nic_left(struct rpmi_server_model *server, uint64_t bytes)
{
    RPM_ASSERT(server->inbound_bytes >= weight(bytes));
    server->inbound_bytes -= weight(bytes);
    go_on(server);
}

void rpmi_server_nic_inbound(struct rpmi_server_model *server, uint64_t tlp)
{
    rpmi_server_inbound_push(server, &server->tlp[tlp]);
}

/* Is this the READ that makes a write durable? */
static bool is_flush(const struct rpmi_slot_op *op)
{
    return op->write && !is_atomic(op);
}

static bool reads_dram(const struct rpmi_slot_op *op)
{
    return (is_flush(op) ? op->op_class->flush_memory : op->op_class->memory) == RPM_LOAD_DRAM;
}

/* Request the next lines of a read; a large read requests some at a time. */
static void request_lines(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_slot_op *op = &server->slot[slot];

    for (; op->line < op->end && op->lines < RPMI_FETCH_LINES; op->line++, op->lines++) {
        uint32_t owner = RPMI_OWNER(RPMI_OWNER_FETCH, slot);

        if (!reads_dram(op) && server->ddio && rpmi_llc_has(&server->llc, op->line))
            rpmi_server_at(server, server->now_ps + server->params->llc_latency,
                           RPMI_PERF_EV_LINE_READ, 0, owner, 0);
        else
            rpmi_server_memory_read(server, reads_dram(op), op->line, owner, 0);
    }
}

static uint64_t fetched_bytes(const struct rpmi_slot_op *op)
{
    if (is_flush(op))
        return 1;
    return is_atomic(op) ? 8 : op->op_class->bytes;
}

void rpmi_server_nic_fetch(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_slot_op *op = &server->slot[slot];
    uint64_t end = op->address + fetched_bytes(op);

    op->line = op->address / RPMI_LINE_BYTES;
    op->end = (end + RPMI_LINE_BYTES - 1) / RPMI_LINE_BYTES;
    op->lines = 0;
    request_lines(server, slot);
}

void rpmi_server_nic_data(struct rpmi_server_model *server, uint32_t slot)
{
    struct rpmi_slot_op *op = &server->slot[slot];
    uint64_t back_ps = server->params->pcie_read - server->params->pcie_write;
    uint64_t busy_ps = pcie_ps(server, fetched_bytes(op));

    RPM_ASSERT(op->lines > 0);
    op->lines--;
    request_lines(server, slot);
    if (op->lines == 0)
        rpmi_server_at(server, rpmi_wire_pass(&server->pcie_out, server->now_ps, busy_ps) + back_ps,
                       RPMI_PERF_EV_NIC_FETCHED, 0, 0, slot);
}

void rpmi_server_nic_fetched(struct rpmi_server_model *server, uint32_t slot)
{
    const struct rpmi_slot_op *op = &server->slot[slot];

    if (is_atomic(op)) {
        rpmi_server_at(server, server->now_ps + server->params->nic_atomic,
                       RPMI_PERF_EV_ATOMIC_DONE, 0, 0, slot);
        return;
    }
    end_read(server);
    if (!is_flush(op))
        touch(server, slot);
    rpmi_server_nic_answer(server, slot, server->params->nic_latency, fetched_bytes(op));
}

/* An atomic has changed its word in the NIC: write the word to memory, and free the unit. */
void rpmi_server_nic_changed(struct rpmi_server_model *server, uint32_t slot)
{
    const struct rpmi_slot_op *op = &server->slot[slot];

    push(server, slot, op->address, 8, op->op_class->memory == RPM_LOAD_DRAM, false);
    touch(server, slot);
    end_atomic(server, slot);
    rpmi_server_nic_answer(server, slot, server->params->nic_latency, 8);
}
