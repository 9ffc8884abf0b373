/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * post.c: convert ops to work requests, and post those of one call as a chain, behind one doorbell.
 *
 * Invariants
 *   an op is taken when the send queue and the credits have room for it; a COPY may be long: it is
 *   taken when its first request has room, and no other op before its last request is posted
 *   no request exceeds the memory of its key: the remote NIC would end the queue pair
 *   at least one request in depth / 2 is signaled, else no completion would free the send queue
 *
 * Fences: the NIC waits for a READ, an atomic or a FLUSH before a FENCED op; for ops of the server
 * CPU, has_room() waits before it takes the FENCED op.
 *
 * Tests: tests/conform/transport_test.cpp (in tests/live/)
 */
#include "transport/verbs/verbs.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"

#include <arpa/inet.h>
#include <string.h>

/* The requests of one post() that are not posted yet. */
struct wr_chain {
    struct rpmi_verbs *verbs;
    uint32_t n;
    bool plain; /* one scatter entry and no inline data, see needs_newer_interface() */
};

static int ring_doorbell(struct wr_chain *chain)
{
    int err = 0;

    if (chain->n != 0)
        err = rpmi_qp_post(&chain->verbs->qp, chain->verbs->chain, chain->n);
    chain->n = 0;
    if (err != 0)
        rpmi_verbs_break(chain->verbs, chain->verbs->finished, RPM_E_LOST);
    return err;
}

static unsigned char *slot_of(const struct rpmi_verbs *verbs, uint64_t number)
{
    return verbs->slots + number % verbs->send_wrs * RPMI_SLOT_BYTES;
}

static struct rpmi_wr *next_wr(struct wr_chain *chain, enum ibv_wr_opcode opcode)
{
    struct rpmi_verbs *verbs = chain->verbs;
    struct rpmi_wr *wr = &verbs->chain[chain->n++];

    RPM_ASSERT(chain->n <= RPMI_CHAIN_MAX);
    RPM_ASSERT(verbs->posted - verbs->finished < verbs->send_wrs); /* its slot is not in use */
    wr->flush_bytes = 0;
    wr->word = false;
    wr->wr = (struct ibv_send_wr){
        .wr_id = verbs->posted++,
        .sg_list = wr->sge,
        .opcode = opcode,
    };
    return wr;
}

/* Signal the last request of a SIGNALED op, or one that is needed to free the send queue. */
static void maybe_signal(struct rpmi_verbs *verbs, struct rpmi_wr *wr, bool wanted)
{
    uint32_t run = verbs->link.depth / 2;

    if (!wanted && ++verbs->unsignaled < run)
        return;
    wr->wr.send_flags |= IBV_SEND_SIGNALED;
    verbs->unsignaled = 0;
}

static void add_sge(struct rpmi_wr *wr, const void *from, uint64_t bytes, uint32_t lkey)
{
    if (bytes == 0)
        return;
    RPM_ASSERT(wr->wr.num_sge < (int)RPMI_SGE_MAX);
    wr->sge[wr->wr.num_sge++] = (struct ibv_sge){
        .addr = (uintptr_t)from,
        .length = (uint32_t)bytes,
        .lkey = lkey,
    };
}

/* Are so few bytes copied into the request? It saves the NIC a read of memory. */
static bool goes_inline(const struct wr_chain *chain, uint64_t bytes)
{
    const struct rpmi_verbs *verbs = chain->verbs;

    return !chain->plain && bytes <= verbs->qp.inline_bytes && bytes <= verbs->opts.inline_bytes;
}

static void set_remote(const struct rpmi_verbs *verbs, const struct rpmi_op *op, uint64_t from,
                       struct rpmi_wr *wr)
{
    wr->wr.wr.rdma.remote_addr = verbs->key[op->key].address + op->offset + from;
    wr->wr.wr.rdma.rkey = op->kind == RPMI_OP_READ || op->kind == RPMI_OP_FLUSH
                              ? verbs->key[op->key].read_rkey
                              : verbs->key[op->key].write_rkey;
}

static struct rpmi_wr *put_piece(struct wr_chain *chain, const struct rpmi_op *op, uint64_t from,
                                 const void *bytes, uint64_t len)
{
    struct rpmi_verbs *verbs = chain->verbs;
    const unsigned char *at = bytes;
    bool staged = at >= verbs->stage.base && at < verbs->stage.base + verbs->stage.bytes;
    struct rpmi_wr *wr = next_wr(chain, IBV_WR_RDMA_WRITE);

    set_remote(verbs, op, from, wr);
    add_sge(wr, bytes, len, staged ? verbs->stage_mr->lkey : verbs->own_mr->lkey);
    return wr;
}

/* A body alone is sent in place; else the front from a slot, the rest of the body, shared zeros. */
static struct rpmi_wr *put_plain_write(struct wr_chain *chain, const struct rpmi_op *op)
{
    struct rpmi_verbs *verbs = chain->verbs;
    unsigned char *slot = slot_of(verbs, verbs->posted);
    uint64_t data = op->head_bytes + op->body_bytes;
    uint64_t front = op->len < RPMI_SLOT_BYTES ? op->len : RPMI_SLOT_BYTES;
    uint64_t room = front - op->head_bytes;
    uint64_t body = op->body_bytes < room ? op->body_bytes : room;
    struct rpmi_wr *wr;

    if (op->head_bytes == 0 && op->body_bytes == op->len)
        return put_piece(chain, op, 0, op->body, op->len);
    if (op->head_bytes != 0)
        memcpy(slot, op->head, op->head_bytes);
    if (body != 0)
        memcpy(slot + op->head_bytes, op->body, body);
    memset(slot + op->head_bytes + body, 0, room - body);
    wr = put_piece(chain, op, 0, slot, front);
    if (data > front) {
        maybe_signal(verbs, wr, false);
        wr = put_piece(chain, op, front, (const unsigned char *)op->body + body, data - front);
        front = data;
    }
    while (front < op->len) {
        uint64_t zeros = op->len - front < RPMI_ZEROS_BYTES ? op->len - front : RPMI_ZEROS_BYTES;

        maybe_signal(verbs, wr, false);
        wr = put_piece(chain, op, front, verbs->own, zeros);
        front += zeros;
    }
    return wr;
}

/* Head, body, and zeros as far as one request reaches; the rest of the zeros in more requests. */
static struct rpmi_wr *put_write(struct wr_chain *chain, const struct rpmi_op *op,
                                 enum ibv_wr_opcode opcode)
{
    struct rpmi_verbs *verbs = chain->verbs;
    uint64_t data = op->head_bytes + op->body_bytes;
    uint64_t zeros = op->len - data;
    uint64_t first = zeros < RPMI_ZEROS_BYTES ? zeros : RPMI_ZEROS_BYTES;
    bool copied = goes_inline(chain, data + first);
    struct rpmi_wr *wr = next_wr(chain, zeros > first ? IBV_WR_RDMA_WRITE : opcode);
    const void *head = op->head;

    if (!copied && op->head_bytes != 0) {
        unsigned char *slot = slot_of(verbs, wr->wr.wr_id);

        memcpy(slot, op->head, op->head_bytes);
        head = slot;
    }
    set_remote(verbs, op, 0, wr);
    add_sge(wr, head, op->head_bytes, verbs->own_mr->lkey);
    add_sge(wr, op->body, op->body_bytes, verbs->stage_mr->lkey);
    add_sge(wr, verbs->own, first, verbs->own_mr->lkey);
    wr->wr.send_flags = copied ? IBV_SEND_INLINE : 0;
    for (uint64_t at = data + first; at < op->len; at += first) {
        first = op->len - at < RPMI_ZEROS_BYTES ? op->len - at : RPMI_ZEROS_BYTES;
        maybe_signal(verbs, wr, false);
        wr = next_wr(chain, at + first == op->len ? opcode : IBV_WR_RDMA_WRITE);
        set_remote(verbs, op, at, wr);
        add_sge(wr, verbs->own, first, verbs->own_mr->lkey);
    }
    if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        RPM_ASSERT(verbs->messages_out < verbs->credits);
        wr->wr.imm_data = htonl(rpmi_imm_make(op->key, op->offset));
        verbs->rpcs++;
        verbs->messages_out++;
    }
    return wr;
}

static struct rpmi_wr *put_read(struct wr_chain *chain, const struct rpmi_op *op)
{
    struct rpmi_wr *wr = next_wr(chain, IBV_WR_RDMA_READ);

    set_remote(chain->verbs, op, 0, wr);
    add_sge(wr, op->into, op->len, chain->verbs->stage_mr->lkey);
    return wr;
}

static struct rpmi_wr *put_flush(struct wr_chain *chain, const struct rpmi_op *op)
{
    struct rpmi_wr *wr = next_wr(chain, IBV_WR_RDMA_READ);

    set_remote(chain->verbs, op, 0, wr);
    wr->flush_bytes = op->len;
    return wr;
}

/* The word is copied out of the slot while it is posted. */
static struct rpmi_wr *put_word(struct wr_chain *chain, const struct rpmi_op *op)
{
    struct rpmi_verbs *verbs = chain->verbs;
    struct rpmi_wr *wr = next_wr(chain, IBV_WR_RDMA_WRITE);
    unsigned char *slot = slot_of(verbs, wr->wr.wr_id);

    RPM_ASSERT(op->head_bytes + op->body_bytes == sizeof(uint64_t) && op->len == sizeof(uint64_t));
    if (op->head_bytes != 0)
        memcpy(slot, op->head, op->head_bytes);
    if (op->body_bytes != 0)
        memcpy(slot + op->head_bytes, op->body, op->body_bytes);
    set_remote(verbs, op, 0, wr);
    RPM_ASSERT(rpmi_is_aligned(op->offset, sizeof(uint64_t)));
    add_sge(wr, slot, sizeof(uint64_t), verbs->own_mr->lkey);
    wr->word = true;
    return wr;
}

static struct rpmi_wr *put_atomic(struct wr_chain *chain, const struct rpmi_op *op)
{
    const struct rpmi_grant_key *key = &chain->verbs->key[op->key];
    bool cas = op->kind == RPMI_OP_CAS;
    struct rpmi_wr *wr =
        next_wr(chain, cas ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD);

    wr->wr.wr.atomic.remote_addr = key->address + op->offset;
    wr->wr.wr.atomic.rkey = key->write_rkey;
    wr->wr.wr.atomic.compare_add = cas ? op->expect : op->operand;
    wr->wr.wr.atomic.swap = cas ? op->operand : 0;
    add_sge(wr, op->into, sizeof(uint64_t), chain->verbs->stage_mr->lkey);
    return wr;
}

/* The part [from, from + len) of an op that one message asks for, and the bytes in the message. */
struct piece {
    uint64_t from;
    uint64_t len;
    uint64_t head_bytes;
    uint64_t body_bytes;
};

static struct rpmi_wr *put_message(struct wr_chain *chain, const struct rpmi_op *op,
                                   const struct piece *piece)
{
    struct rpmi_verbs *verbs = chain->verbs;
    struct rpmi_wr *wr = next_wr(chain, IBV_WR_SEND);
    unsigned char *slot = slot_of(verbs, wr->wr.wr_id);
    uint32_t data = (uint32_t)(piece->head_bytes + piece->body_bytes);
    uint64_t skip = piece->from == 0 ? 0 : piece->from - op->head_bytes;
    uint8_t flags = op->flags & RPMI_RPC_FLAGS;
    const struct rpmi_rpc rpc = { op->kind,   flags, op->key, op->offset + piece->from,
                                  piece->len, data };

    RPM_ASSERT(verbs->messages_out < verbs->credits); /* the server has a receive for it */
    rpmi_rpc_put(slot, &rpc);
    if (piece->head_bytes != 0)
        memcpy(slot + RPMI_RPC_BYTES, op->head, piece->head_bytes);
    add_sge(wr, slot, RPMI_RPC_BYTES + piece->head_bytes, verbs->own_mr->lkey);
    if (piece->body_bytes != 0)
        add_sge(wr, (const unsigned char *)op->body + skip, piece->body_bytes,
                verbs->stage_mr->lkey);
    wr->wr.send_flags |= goes_inline(chain, RPMI_RPC_BYTES + data) ? IBV_SEND_INLINE : 0;
    verbs->rpcs++;
    verbs->messages_out++;
    return wr;
}

static struct rpmi_wr *put_persist(struct wr_chain *chain, const struct rpmi_op *op)
{
    struct rpmi_op persist = *op;
    const struct piece whole = { .len = op->len };

    persist.kind = RPMI_OP_PERSIST;
    persist.head_bytes = 0;
    return put_message(chain, &persist, &whole);
}

static struct rpmi_wr *put_steps(struct wr_chain *chain, const struct rpmi_op *op)
{
    const struct piece whole = { .len = op->len, .body_bytes = op->body_bytes };

    chain->verbs->lists_out++;
    return put_message(chain, op, &whole);
}

static uint32_t messages_left(const struct rpmi_verbs *verbs)
{
    /* One credit is kept for a call. */
    return verbs->messages_out + 1 < verbs->credits ? verbs->credits - 1 - verbs->messages_out : 0;
}

/* Post as many messages of a COPY as there is room for; zeros at its end take no bytes. */
static struct rpmi_wr *put_copy(struct wr_chain *chain, struct rpmi_unsent_copy *copy)
{
    struct rpmi_verbs *verbs = chain->verbs;
    const struct rpmi_op *op = &copy->op;
    uint64_t data = op->head_bytes + op->body_bytes;
    struct rpmi_wr *wr = NULL;

    while (!copy->all_sent && messages_left(verbs) > 0 && chain->n < RPMI_CHAIN_MAX &&
           verbs->posted - verbs->finished < verbs->send_wrs) {
        uint64_t left = data - copy->at;
        uint64_t part = left < RPMI_RPC_BODY_MAX ? left : RPMI_RPC_BODY_MAX;
        uint64_t head = copy->at == 0 ? op->head_bytes : 0;
        struct piece piece = { copy->at, part, head, part - head };

        copy->all_sent = part == left;
        if (copy->all_sent)
            piece.len = op->len - copy->at;
        if (wr != NULL)
            maybe_signal(verbs, wr, false);
        wr = put_message(chain, op, &piece);
        copy->at += part;
    }
    return wr;
}

static uint64_t pieces(uint64_t bytes, uint64_t each)
{
    return bytes == 0 ? 1 : (bytes + each - 1) / each;
}

/* Do key and offset fit the immediate data? If not, a WRITE and a message replace the op. */
static bool imm_fits(const struct rpmi_op *op)
{
    return rpmi_imm_fits(op->key, op->offset) &&
           op->len - op->head_bytes - op->body_bytes <= RPMI_ZEROS_BYTES;
}

/* Does an op need room for a message before it can be begun? */
static bool needs_message(const struct rpmi_op *op)
{
    return op->kind == RPMI_OP_PERSIST || op->kind == RPMI_OP_WRITE_IMM ||
           op->kind == RPMI_OP_COPY || op->kind == RPMI_OP_STEPS;
}

static uint64_t requests_of(const struct rpmi_op *op)
{
    if (op->kind != RPMI_OP_WRITE && op->kind != RPMI_OP_WRITE_IMM)
        return 1;
    /* At most: one each for front, body and pieces of zeros, or a message behind them. */
    return pieces(op->len - op->head_bytes - op->body_bytes, RPMI_ZEROS_BYTES) + 2;
}

static bool is_supported(const struct rpmi_verbs *verbs, const struct rpmi_op *op)
{
    if (op->kind == RPMI_OP_FLUSH)
        return verbs->qp.ex != NULL && verbs->link.facts.native_flush == RPM_YES;
    return op->kind >= RPMI_OP_WRITE && op->kind < RPMI_OP_KINDS && op->kind != RPMI_OP_DRAIN &&
           (op->flags & RPMI_OP_OTHER_QP) == 0;
}

/* Check the op against its key: 0, or why it must not be posted. */
static int judge(const struct rpmi_verbs *verbs, const struct rpmi_op *op)
{
    bool atomic = op->kind == RPMI_OP_CAS || op->kind == RPMI_OP_FAA;
    uint32_t right = rpmi_op_right(op->kind);
    const struct rpmi_grant_key *key;

    if (!is_supported(verbs, op))
        return rpmi_fail(RPM_E_NOCAP, "this link does not carry operation %u", op->kind);
    RPM_ASSERT(op->head_bytes <= RPMI_LINE_BYTES);
    if (op->kind == RPMI_OP_STEPS)
        return 0; /* the server judges each step */
    key = &verbs->key[op->key % RPMI_KEYS_MAX];
    if (op->key >= RPMI_KEYS_MAX || (key->rights & right) != right)
        return rpmi_fail(RPM_E_DENIED, "key %u lacks right %#x; reopen the object", op->key, right);
    if (!rpmi_in_bounds(op->offset, atomic ? sizeof(uint64_t) : op->len, key->bytes))
        return rpmi_fail(RPM_E_RANGE, "%llu bytes at offset %llu leave the object",
                         (unsigned long long)op->len, (unsigned long long)op->offset);
    if (right == RPMI_RIGHT_WRITE && op->offset < key->guarded_bytes)
        return rpmi_fail(RPM_E_DENIED, "offset %llu is in a log's header, which the server writes",
                         (unsigned long long)op->offset);
    if (atomic && !rpmi_is_aligned(op->offset, sizeof(uint64_t)))
        return rpmi_fail(RPM_E_INVAL, "an atomic at offset %llu: use a multiple of 8",
                         (unsigned long long)op->offset);
    return 0;
}

static bool has_room(const struct rpmi_verbs *verbs, const struct rpmi_op *op)
{
    if (!verbs->unsent.all_sent || verbs->sent_tail - verbs->sent_head >= verbs->link.depth)
        return false;
    if (verbs->posted - verbs->finished + requests_of(op) > verbs->send_wrs)
        return false;
    if (needs_message(op) && messages_left(verbs) == 0)
        return false;
    return (op->flags & RPMI_OP_FENCED) == 0 || verbs->rpcs_done >= verbs->fence_rpc;
}

bool rpmi_verbs_room_came(const struct rpmi_verbs *verbs)
{
    return verbs->op_waits && has_room(verbs, &verbs->waiting_op);
}

/* A WRITE with a long tail of zeros may take more requests than one chain has. */
static int too_large(const struct rpmi_op *op)
{
    if (requests_of(op) <= RPMI_CHAIN_MAX)
        return 0;
    return rpmi_fail(RPM_E_TOOBIG, "%llu bytes take more than %u requests; split the operation",
                     (unsigned long long)op->len, RPMI_CHAIN_MAX);
}

static struct rpmi_wr *put_op(struct wr_chain *chain, const struct rpmi_op *op)
{
    struct rpmi_wr *wr;

    switch (op->kind) {
    case RPMI_OP_WRITE:
        if ((op->flags & RPMI_OP_WORD) != 0)
            return put_word(chain, op);
        return chain->plain ? put_plain_write(chain, op) : put_write(chain, op, IBV_WR_RDMA_WRITE);
    case RPMI_OP_WRITE_IMM:
        if (imm_fits(op))
            return put_write(chain, op, IBV_WR_RDMA_WRITE_WITH_IMM);
        wr = put_write(chain, op, IBV_WR_RDMA_WRITE);
        maybe_signal(chain->verbs, wr, false);
        return put_persist(chain, op);
    case RPMI_OP_COPY:
        chain->verbs->unsent = (struct rpmi_unsent_copy){ .op = *op };
        return put_copy(chain, &chain->verbs->unsent);
    case RPMI_OP_PERSIST:
        return put_persist(chain, op);
    case RPMI_OP_STEPS:
        return put_steps(chain, op);
    case RPMI_OP_READ:
        return put_read(chain, op);
    case RPMI_OP_FLUSH:
        return put_flush(chain, op);
    default:
        return put_atomic(chain, op);
    }
}

/* How many RPC requests an op takes in all. */
static uint64_t rpcs_of(const struct rpmi_op *op)
{
    if (op->kind == RPMI_OP_COPY)
        return pieces(op->head_bytes + op->body_bytes, RPMI_RPC_BODY_MAX);
    return needs_message(op) ? 1 : 0;
}

static void take(struct wr_chain *chain, const struct rpmi_op *op)
{
    struct rpmi_verbs *verbs = chain->verbs;
    struct rpmi_verbs_sent *sent = &verbs->sent[verbs->sent_tail++ % verbs->link.depth];
    uint64_t rpcs = rpcs_of(op);
    uint64_t last_rpc = verbs->rpcs + rpcs;
    uint32_t first = chain->n;
    struct rpmi_wr *wr = put_op(chain, op);

    RPM_ASSERT(verbs->sent_tail - verbs->sent_head <= verbs->link.depth); /* was reported before */
    if ((op->flags & RPMI_OP_FENCED) != 0)
        verbs->chain[first].wr.send_flags |= IBV_SEND_FENCE;
    maybe_signal(verbs, wr, rpcs == 0 && (op->flags & RPMI_OP_SIGNALED) != 0);
    *sent = (struct rpmi_verbs_sent){
        .id = op->id,
        .wr = wr->wr.wr_id,
        .rpc = rpcs != 0 ? last_rpc : 0,
        .into = op->into,
        .want = op->kind == RPMI_OP_STEPS ? (uint32_t)op->len : 0,
        .key = op->key,
        .kind = op->kind,
        .signaled = (op->flags & RPMI_OP_SIGNALED) != 0,
    };
    if (op->kind == RPMI_OP_PERSIST || op->kind == RPMI_OP_STEPS ||
        (rpcs != 0 && (op->flags & RPMI_OP_DURABLE) != 0))
        verbs->fence_rpc = last_rpc;
}

/* The last op taken was a COPY of which not all messages are posted: post more of them. */
static void continue_copy(struct rpmi_verbs *verbs)
{
    struct wr_chain chain = { .verbs = verbs };
    struct rpmi_wr *wr = put_copy(&chain, &verbs->unsent);

    if (wr == NULL)
        return;
    maybe_signal(verbs, wr, false);
    verbs->sent[(verbs->sent_tail - 1) % verbs->link.depth].wr = wr->wr.wr_id;
    (void)ring_doorbell(&chain);
}

void rpmi_verbs_drain(struct rpmi_verbs *verbs)
{
    if (verbs->cq == NULL)
        return;
    rpmi_verbs_collect(verbs);
    if (!verbs->unsent.all_sent && !verbs->broken)
        continue_copy(verbs);
}

/* Must the interface with FLUSH and ATOMIC WRITE (qp.c) post the chain? There rdma-core 56's
 * Soft-RoCE sends inline data as if empty, and several scatter entries with a wrong length. */
static bool needs_newer_interface(const struct rpmi_op *ops, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (ops[i].kind == RPMI_OP_FLUSH || (ops[i].flags & RPMI_OP_WORD) != 0)
            return true;
    return false;
}

/* An op that cannot be posted, behind ops that were: it fails once those have ended. */
static void refuse(struct wr_chain *chain, const struct rpmi_op *op, int status)
{
    struct rpmi_verbs *verbs = chain->verbs;

    if (chain->n != 0) {
        verbs->chain[chain->n - 1].wr.send_flags |= IBV_SEND_SIGNALED;
        verbs->unsignaled = 0;
    }
    RPM_ASSERT(verbs->sent_tail - verbs->sent_head < verbs->link.depth);
    verbs->sent[verbs->sent_tail++ % verbs->link.depth] = (struct rpmi_verbs_sent){
        .id = op->id,
        .wr = verbs->posted - 1,
        .rpc = verbs->rpcs_done < verbs->rpcs ? verbs->rpcs : 0,
        .signaled = true,
        .refused = status,
    };
    verbs->refusing = true;
}

/* Take one op into the chain. 1: taken, 0: there is no room, or why it cannot be posted. */
static int take_next(struct wr_chain *chain, const struct rpmi_op *op)
{
    struct rpmi_verbs *verbs = chain->verbs;
    int err = judge(verbs, op);

    if (err == 0)
        err = too_large(op);
    if (err != 0)
        return err;
    if (!has_room(verbs, op)) {
        err = ring_doorbell(chain);
        rpmi_verbs_drain(verbs);
        if (err == 0 && !verbs->broken && !has_room(verbs, op)) {
            verbs->op_waits = true;
            verbs->waiting_op = *op;
            return 0;
        }
        if (err != 0 || verbs->broken)
            return 0;
    }
    if (chain->n + requests_of(op) > RPMI_CHAIN_MAX && ring_doorbell(chain) != 0)
        return 0;
    take(chain, op);
    return 1;
}

int rpmi_verbs_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct rpmi_verbs *verbs = rpmi_verbs_of(link);
    struct wr_chain chain = { .verbs = verbs };
    uint32_t taken = 0;
    int got = 1;

    if (RPMI_UNLIKELY(link->lost != 0 || verbs->broken || verbs->refusing))
        return rpmi_fail(RPM_E_LOST, "the link is lost: reconnect first");
    verbs->op_waits = false;
    chain.plain = verbs->nic.software && needs_newer_interface(ops, n);
    while (taken < n && (got = take_next(&chain, &ops[taken])) > 0)
        taken++;
    if (got < 0 && verbs->sent_tail == verbs->sent_head)
        return got;
    for (; got < 0 && taken < n && verbs->sent_tail - verbs->sent_head < link->depth; taken++) {
        refuse(&chain, &ops[taken], got);
        got = RPM_E_LOST;
    }
    (void)ring_doorbell(&chain);
    return (int)taken;
}

int rpmi_verbs_send(struct rpmi_verbs *verbs, const void *bytes, uint32_t len)
{
    struct wr_chain chain = { .verbs = verbs };
    struct rpmi_wr *wr;

    RPM_ASSERT(len <= RPMI_CALL_SLOT_BYTES);
    if (verbs->posted - verbs->finished >= verbs->send_wrs || verbs->messages_out >= verbs->credits)
        return RPM_E_BUSY;
    RPM_ASSERT(!verbs->asking); /* no late answer is taken for that of this call */
    memcpy(verbs->call_slot, bytes, len);
    wr = next_wr(&chain, IBV_WR_SEND);
    add_sge(wr, verbs->call_slot, len, verbs->own_mr->lkey);
    maybe_signal(verbs, wr, true);
    verbs->messages_out++;
    verbs->asking = true;
    return ring_doorbell(&chain);
}
