/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librpma.cc: PMDK's librpma as a peer: rpma_write() and rpma_flush(). Its own examples and
 * benchmarks flush after each write; several writes to consecutive bytes may share one flush.
 */
#include "bench/peer/peer.h"

extern "C" {
#include <librpma.h>
}

#include <cstring>
#include <infiniband/verbs.h>

namespace bench
{

static void must(int err, const char *what)
{
    if (err != 0)
        throw cli::Failure(std::string(what) + ": " + rpma_err_2str(err));
}

/* The memory that the server lends: sent in the private data of an accepted connection. */
struct RpmaRemote {
    uint8_t persistent; /* the server grants persistent flushes; else a flush only makes bytes
                           visible */
    uint8_t mr_bytes;
    uint8_t cfg_bytes;
    unsigned char text[53];
};

static constexpr int kUsage =
    RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;

/* Native flushes of version 1.3 ask the device, which refuses on memory that is not persistent. */
static struct rpma_mr_local *lend(struct rpma_peer *peer, const PeerSetup &setup, bool *persistent)
{
    struct rpma_mr_local *mr = nullptr;
    void *memory = map_memory(setup);

    *persistent = rpma_mr_reg(peer, memory, setup.bytes,
                              kUsage | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, &mr) == 0;
    if (!*persistent) {
        must(rpma_mr_reg(peer, memory, setup.bytes, kUsage, &mr), "rpma_mr_reg");
        fprintf(stderr, "rpm-bench: librpma cannot flush this memory persistently: its flushes "
                        "only make visible\n");
    }
    return mr;
}

static RpmaRemote describe(struct rpma_mr_local *mr, bool persistent)
{
    struct rpma_peer_cfg *cfg = nullptr;
    RpmaRemote remote = {};
    size_t mr_bytes = 0;
    size_t cfg_bytes = 0;

    must(rpma_peer_cfg_new(&cfg), "rpma_peer_cfg_new");
    must(rpma_peer_cfg_set_direct_write_to_pmem(cfg, persistent), "direct_write_to_pmem");
    must(rpma_peer_cfg_get_descriptor_size(cfg, &cfg_bytes), "rpma_peer_cfg_get_descriptor_size");
    must(rpma_mr_get_descriptor_size(mr, &mr_bytes), "rpma_mr_get_descriptor_size");
    if (mr_bytes + cfg_bytes > sizeof(remote.text))
        throw cli::Failure("librpma: descriptors of " + std::to_string(mr_bytes + cfg_bytes) +
                           " bytes, the private data has room for " +
                           std::to_string(sizeof(remote.text)));
    must(rpma_mr_get_descriptor(mr, remote.text), "rpma_mr_get_descriptor");
    must(rpma_peer_cfg_get_descriptor(cfg, remote.text + mr_bytes), "rpma_peer_cfg_get_descriptor");
    remote.persistent = persistent;
    remote.mr_bytes = static_cast<uint8_t>(mr_bytes);
    remote.cfg_bytes = static_cast<uint8_t>(cfg_bytes);
    (void)rpma_peer_cfg_delete(&cfg);
    return remote;
}

static void serve(const PeerSetup &setup, void (*ready)())
{
    struct ibv_context *context = nullptr;
    struct rpma_peer *peer = nullptr;
    struct rpma_ep *ep = nullptr;
    struct rpma_mr_local *mr;
    bool persistent = false;
    RpmaRemote remote;

    (void)rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED);
    must(rpma_utils_get_ibv_context(setup.address.c_str(), RPMA_UTIL_IBV_CONTEXT_LOCAL, &context),
         setup.address.c_str());
    must(rpma_peer_new(context, &peer), "rpma_peer_new");
    mr = lend(peer, setup, &persistent);
    remote = describe(mr, persistent);
    must(rpma_ep_listen(peer, setup.address.c_str(), setup.port.c_str(), &ep), "rpma_ep_listen");
    ready();
    for (;;) {
        struct rpma_conn_private_data data = { &remote, sizeof(remote) };
        struct rpma_conn_req *request = nullptr;
        struct rpma_conn *conn = nullptr;
        enum rpma_conn_event event;

        must(rpma_ep_next_conn_req(ep, nullptr, &request), "rpma_ep_next_conn_req");
        must(rpma_conn_req_connect(&request, &data, &conn), "rpma_conn_req_connect");
        /* Kept until the process ends. */
        must(rpma_conn_next_event(conn, &event), "rpma_conn_next_event");
    }
}

class RpmaClient : public PeerClient
{
  public:
    RpmaClient(const PeerSetup &setup, Shape shape, FlushMode mode)
        : PeerClient(setup, shape, mode), payload_(shape.bytes, 'x')
    {
        struct ibv_context *context = nullptr;
        struct rpma_conn_private_data data = {};
        struct rpma_peer_cfg *cfg = nullptr;
        RpmaRemote remote;

        (void)rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED);
        must(rpma_utils_get_ibv_context(setup.address.c_str(), RPMA_UTIL_IBV_CONTEXT_REMOTE,
                                        &context),
             setup.address.c_str());
        must(rpma_peer_new(context, &peer_), "rpma_peer_new");
        connect(setup);
        must(rpma_conn_get_private_data(conn_, &data), "rpma_conn_get_private_data");
        if (data.len < sizeof(remote))
            throw cli::Failure("librpma: the private data of the connection is too short");
        memcpy(&remote, data.ptr, sizeof(remote));
        type_ = remote.persistent != 0 ? RPMA_FLUSH_TYPE_PERSISTENT : RPMA_FLUSH_TYPE_VISIBILITY;
        must(rpma_mr_remote_from_descriptor(remote.text, remote.mr_bytes, &remote_),
             "rpma_mr_remote_from_descriptor");
        must(rpma_peer_cfg_from_descriptor(remote.text + remote.mr_bytes, remote.cfg_bytes, &cfg),
             "rpma_peer_cfg_from_descriptor");
        must(rpma_conn_apply_remote_peer_cfg(conn_, cfg), "rpma_conn_apply_remote_peer_cfg");
        (void)rpma_peer_cfg_delete(&cfg);
        must(rpma_conn_get_cq(conn_, &cq_), "rpma_conn_get_cq");
        must(rpma_mr_reg(peer_, payload_.data(), payload_.size(), RPMA_MR_USAGE_WRITE_SRC,
                         &local_mr_),
             "rpma_mr_reg");
    }
    ~RpmaClient() override
    {
        (void)!rpma_conn_disconnect(conn_);
        (void)!rpma_mr_remote_delete(&remote_);
        (void)!rpma_mr_dereg(&local_mr_);
        (void)!rpma_conn_delete(&conn_);
        (void)!rpma_peer_delete(&peer_);
    }

  private:
    void connect(const PeerSetup &setup)
    {
        struct rpma_conn_cfg *cfg = nullptr;
        struct rpma_conn_req *request = nullptr;
        enum rpma_conn_event event;
        uint32_t depth = 2 * shape_.depth + 8;

        must(rpma_conn_cfg_new(&cfg), "rpma_conn_cfg_new");
        must(rpma_conn_cfg_set_sq_size(cfg, depth), "rpma_conn_cfg_set_sq_size");
        must(rpma_conn_cfg_set_cq_size(cfg, depth), "rpma_conn_cfg_set_cq_size");
        must(rpma_conn_req_new(peer_, setup.address.c_str(), setup.port.c_str(), cfg, &request),
             "rpma_conn_req_new");
        must(rpma_conn_req_connect(&request, nullptr, &conn_), "rpma_conn_req_connect");
        must(rpma_conn_next_event(conn_, &event), "rpma_conn_next_event");
        (void)rpma_conn_cfg_delete(&cfg);
        if (event != RPMA_CONN_ESTABLISHED)
            throw cli::Failure(std::string("librpma: ") + rpma_utils_conn_event_2str(event));
    }
    void write(uint64_t offset)
    {
        must(rpma_write(conn_, remote_, offset, local_mr_, 0, shape_.bytes,
                        RPMA_F_COMPLETION_ON_ERROR, nullptr),
             "rpma_write");
    }
    void flush(uint64_t offset, uint64_t bytes)
    {
        must(rpma_flush(conn_, remote_, offset, bytes, type_, RPMA_F_COMPLETION_ALWAYS, nullptr),
             "rpma_flush");
    }
    bool post(uint64_t offset) override
    {
        write(offset);
        flush(offset, shape_.bytes);
        return true;
    }
    void post_group(uint64_t offset) override
    {
        for (uint32_t i = 0; i < shape_.depth; i++)
            write(offset + i * stride());
        flush(offset, shape_.depth * stride());
    }
    uint64_t reap() override
    {
        struct ibv_wc done[32];
        int n = 0;
        int err = rpma_cq_get_wc(cq_, 32, done, &n);

        if (err == RPMA_E_NO_COMPLETION)
            return 0;
        must(err, "rpma_cq_get_wc");
        for (int i = 0; i < n; i++)
            if (done[i].status != IBV_WC_SUCCESS)
                throw cli::Failure(std::string("librpma: ") + ibv_wc_status_str(done[i].status));
        return static_cast<uint64_t>(n);
    }

    std::vector<unsigned char> payload_;
    enum rpma_flush_type type_ = RPMA_FLUSH_TYPE_PERSISTENT;
    struct rpma_peer *peer_ = nullptr;
    struct rpma_conn *conn_ = nullptr;
    struct rpma_cq *cq_ = nullptr;
    struct rpma_mr_local *local_mr_ = nullptr;
    struct rpma_mr_remote *remote_ = nullptr;
};

static ContenderPtr connect(const PeerSetup &setup, Shape shape, FlushMode mode)
{
    return std::make_unique<RpmaClient>(setup, shape, mode);
}

/* The target: 1.3 times its throughput one at a time, 3 times with many outstanding. */
static double target(Shape shape, FlushMode mode)
{
    return mode == FlushMode::kGroup ? 0 : shape.depth > 1 ? 1 / 3.0 : 1 / 1.3;
}

const Peer peer_librpma = { "librpma", "verbs", true, serve, connect, target };

} // namespace bench
