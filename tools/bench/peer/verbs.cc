/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.cc: plain verbs as a peer: a WRITE and a READ of its last byte, chained by hand and posted
 * with one doorbell; only the READ is signaled. This is the least cost of a persistent write if a
 * READ proves that the bytes have left the NIC.
 */
#include "bench/peer/peer.h"

#include <cerrno>
#include <cstring>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>

namespace bench
{

static constexpr uint32_t kInline[] = { 256, 64, 0 }; /* tried in this order; devices differ */
static constexpr uint8_t kReads = 16;                 /* outstanding, as rdma_cm asks for */
static constexpr int kResolveMs = 2000;

static void must(bool good, const char *what)
{
    if (!good)
        throw cli::Failure(std::string(what) + ": " + strerror(errno));
}

/* The memory that the server lends: sent in the private data of an accepted connection. */
struct VerbsRemote {
    uint64_t address;
    uint32_t key;
};

static struct sockaddr_storage resolve(const PeerSetup &setup)
{
    struct addrinfo hints = {};
    struct addrinfo *found = nullptr;
    struct sockaddr_storage address = {};
    int err;

    hints.ai_socktype = SOCK_STREAM;
    err = getaddrinfo(setup.address.c_str(), setup.port.c_str(), &hints, &found);
    if (err != 0)
        throw cli::Failure(setup.address + ": " + gai_strerror(err));
    memcpy(&address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return address;
}

/* Create a queue pair with the most inline data that the device grants; returns how much. */
static uint32_t create_qp(struct rdma_cm_id *id, uint32_t depth)
{
    for (uint32_t inline_bytes : kInline) {
        struct ibv_qp_init_attr attr = {};

        attr.qp_type = IBV_QPT_RC;
        attr.cap.max_send_wr = depth;
        attr.cap.max_recv_wr = 1;
        attr.cap.max_send_sge = 1;
        attr.cap.max_recv_sge = 1;
        attr.cap.max_inline_data = inline_bytes;
        if (rdma_create_qp(id, nullptr, &attr) == 0)
            return inline_bytes;
    }
    must(false, "rdma_create_qp");
    return 0;
}

static void serve(const PeerSetup &setup, void (*ready)())
{
    struct sockaddr_storage address = resolve(setup);
    unsigned char *memory = map_memory(setup);
    struct rdma_cm_id *listener = nullptr;
    struct ibv_mr *mr = nullptr;

    must(rdma_create_id(nullptr, &listener, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
    must(rdma_bind_addr(listener, reinterpret_cast<struct sockaddr *>(&address)) == 0,
         "rdma_bind_addr");
    must(rdma_listen(listener, 8) == 0, "rdma_listen");
    ready();
    for (;;) {
        struct rdma_conn_param param = {};
        struct rdma_cm_id *id = nullptr;
        VerbsRemote remote;

        must(rdma_get_request(listener, &id) == 0, "rdma_get_request");
        (void)create_qp(id, 8);
        if (mr == nullptr)
            mr = ibv_reg_mr(id->pd, memory, setup.bytes,
                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                IBV_ACCESS_REMOTE_READ);
        must(mr != nullptr, "ibv_reg_mr");
        remote = { reinterpret_cast<uint64_t>(memory), mr->rkey };
        param.private_data = &remote;
        param.private_data_len = sizeof(remote);
        param.responder_resources = kReads;
        param.initiator_depth = kReads;
        param.rnr_retry_count = 7;
        must(rdma_accept(id, &param) == 0, "rdma_accept");
    }
}

class VerbsClient : public PeerClient
{
  public:
    VerbsClient(const PeerSetup &setup, Shape shape, FlushMode mode)
        : PeerClient(setup, shape, mode), payload_(shape.bytes, 'x'), chain_(shape.depth + 1),
          pieces_(shape.depth + 1)
    {
        struct sockaddr_storage address = resolve(setup);
        struct rdma_conn_param param = {};

        must(rdma_create_id(nullptr, &id_, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
        must(rdma_resolve_addr(id_, nullptr, reinterpret_cast<struct sockaddr *>(&address),
                               kResolveMs) == 0,
             "rdma_resolve_addr");
        must(rdma_resolve_route(id_, kResolveMs) == 0, "rdma_resolve_route");
        inline_ = shape.bytes <= create_qp(id_, 2 * shape.depth + 8);
        local_mr_ = ibv_reg_mr(id_->pd, payload_.data(), payload_.size(), 0);
        word_mr_ = ibv_reg_mr(id_->pd, &word_, sizeof(word_), IBV_ACCESS_LOCAL_WRITE);
        must(local_mr_ != nullptr && word_mr_ != nullptr, "ibv_reg_mr");
        param.responder_resources = kReads;
        param.initiator_depth = kReads;
        param.retry_count = 3;
        param.rnr_retry_count = 7;
        must(rdma_connect(id_, &param) == 0, "rdma_connect");
        if (id_->event->param.conn.private_data_len < sizeof(remote_))
            throw cli::Failure("verbs: the private data of the connection is too short");
        memcpy(&remote_, id_->event->param.conn.private_data, sizeof(remote_));
    }
    ~VerbsClient() override
    {
        /* No rdma_disconnect(): it waits for an answer, and this server, which only listens, sends
         * none. */
        if (local_mr_ != nullptr)
            (void)ibv_dereg_mr(local_mr_);
        if (word_mr_ != nullptr)
            (void)ibv_dereg_mr(word_mr_);
        rdma_destroy_qp(id_);
        (void)rdma_destroy_id(id_);
    }

  private:
    void write(uint32_t at, uint64_t offset)
    {
        struct ibv_send_wr &wr = chain_[at];

        pieces_[at] = { reinterpret_cast<uint64_t>(payload_.data()),
                        static_cast<uint32_t>(shape_.bytes), local_mr_->lkey };
        wr = {};
        wr.sg_list = &pieces_[at];
        wr.num_sge = 1;
        wr.opcode = IBV_WR_RDMA_WRITE;
        wr.send_flags = inline_ ? IBV_SEND_INLINE : 0;
        wr.wr.rdma.remote_addr = remote_.address + offset;
        wr.wr.rdma.rkey = remote_.key;
        wr.next = &chain_[at + 1];
    }
    /* Add the READ behind @n writes, and post the chain. */
    void read_and_ring(uint32_t n, uint64_t offset)
    {
        struct ibv_send_wr &wr = chain_[n];
        struct ibv_send_wr *bad = nullptr;

        pieces_[n] = { reinterpret_cast<uint64_t>(&word_), 1, word_mr_->lkey };
        wr = {};
        wr.sg_list = &pieces_[n];
        wr.num_sge = 1;
        wr.opcode = IBV_WR_RDMA_READ;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.wr.rdma.remote_addr = remote_.address + offset;
        wr.wr.rdma.rkey = remote_.key;
        errno = ibv_post_send(id_->qp, chain_.data(), &bad);
        must(errno == 0, "ibv_post_send");
    }
    bool post(uint64_t offset) override
    {
        write(0, offset);
        read_and_ring(1, offset + shape_.bytes - 1);
        return true;
    }
    void post_group(uint64_t offset) override
    {
        for (uint32_t i = 0; i < shape_.depth; i++)
            write(i, offset + i * stride());
        read_and_ring(shape_.depth, offset + (shape_.depth - 1) * stride() + shape_.bytes - 1);
    }
    uint64_t reap() override
    {
        struct ibv_wc done[32];
        int n = ibv_poll_cq(id_->send_cq, 32, done);

        must(n >= 0, "ibv_poll_cq");
        for (int i = 0; i < n; i++)
            if (done[i].status != IBV_WC_SUCCESS)
                throw cli::Failure(std::string("verbs: ") + ibv_wc_status_str(done[i].status));
        return static_cast<uint64_t>(n);
    }

    std::vector<unsigned char> payload_;
    std::vector<struct ibv_send_wr> chain_;
    std::vector<struct ibv_sge> pieces_;
    struct rdma_cm_id *id_ = nullptr;
    struct ibv_mr *local_mr_ = nullptr;
    struct ibv_mr *word_mr_ = nullptr;
    VerbsRemote remote_ = {};
    uint64_t word_ = 0;
    bool inline_ = false;
};

static ContenderPtr connect(const PeerSetup &setup, Shape shape, FlushMode mode)
{
    return std::make_unique<VerbsClient>(setup, shape, mode);
}

/* The target: how much a log may cost more than a bare write. */
static double target(Shape shape, FlushMode mode)
{
    return mode == FlushMode::kEach && shape.depth == 1 ? 1.15 : 0;
}

const Peer peer_verbs = { "verbs", "verbs", true, serve, connect, target };

} // namespace bench
