/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric.cc: libfabric's tcp provider as a peer. Its FI_COMMIT_COMPLETE flushes each write at
 * the target; it cannot make several operations durable at once.
 *
 * The provider makes progress only while its target polls for completions. So its server spins
 * while it is timed, which is its best case, and sleeps while librpm is timed.
 */
#include "bench/peer/peer.h"

#include <cstring>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

namespace bench
{

static constexpr int kConnectMs = 5000;
static constexpr int kRestMs = 5;

static void must(ssize_t err, const char *what)
{
    if (err < 0)
        throw cli::Failure(std::string(what) + ": " + fi_strerror(static_cast<int>(-err)));
}

/* In the data of an accepted connection. */
struct FabricLent {
    uint64_t address;
    uint64_t key;
};

/* The objects that client and server open. They end with their process, or with the comparison. */
struct FabricEnds {
    struct fi_info *info = nullptr;
    struct fid_fabric *fabric = nullptr;
    struct fid_domain *domain = nullptr;
    struct fid_eq *eq = nullptr;
    struct fid_cq *cq = nullptr;
    struct fid_ep *ep = nullptr;

    void find(const Place &place, uint64_t flags);
    void open_domain(struct fi_info *of);
    void open_ep(struct fi_info *of);
};

void FabricEnds::find(const Place &place, uint64_t flags)
{
    struct fi_info *hints = fi_allocinfo();
    struct fi_eq_attr eq_attr = {};

    hints->caps = FI_MSG | FI_RMA | FI_RMA_PMEM;
    hints->ep_attr->type = FI_EP_MSG;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->fabric_attr->prov_name = strdup("tcp");
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
    must(fi_getinfo(FI_VERSION(1, 14), place.address.c_str(), place.port.c_str(), flags, hints,
                    &info),
         "fi_getinfo");
    fi_freeinfo(hints);
    must(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    eq_attr.wait_obj = FI_WAIT_UNSPEC;
    must(fi_eq_open(fabric, &eq_attr, &eq, nullptr), "fi_eq_open");
}

void FabricEnds::open_domain(struct fi_info *of)
{
    struct fi_cq_attr attr = {};

    if (domain != nullptr)
        return;
    must(fi_domain(fabric, of, &domain, nullptr), "fi_domain");
    attr.size = 256;
    attr.format = FI_CQ_FORMAT_CONTEXT;
    attr.wait_obj = FI_WAIT_NONE;
    must(fi_cq_open(domain, &attr, &cq, nullptr), "fi_cq_open");
}

void FabricEnds::open_ep(struct fi_info *of)
{
    must(fi_endpoint(domain, of, &ep, nullptr), "fi_endpoint");
    must(fi_ep_bind(ep, &eq->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(ep), "fi_enable");
}

/* Accept the connection of a client, if one is waiting. */
static void let_in(FabricEnds &ends, const Place &place, unsigned char *memory)
{
    static struct fid_mr *mr;
    alignas(struct fi_eq_cm_entry) unsigned char text[512];
    struct fi_eq_cm_entry *entry = reinterpret_cast<struct fi_eq_cm_entry *>(text);
    uint32_t event = 0;
    FabricLent lent;

    if (fi_eq_read(ends.eq, &event, text, sizeof(text), 0) < 0 || event != FI_CONNREQ)
        return;
    ends.open_domain(entry->info);
    if (mr == nullptr)
        must(fi_mr_reg(ends.domain, memory, place.bytes, FI_REMOTE_WRITE, 0, 1, FI_RMA_PMEM, &mr,
                       nullptr),
             "fi_mr_reg");
    ends.open_ep(entry->info);
    lent.address = (entry->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0
                       ? reinterpret_cast<uint64_t>(memory)
                       : 0;
    lent.key = fi_mr_key(mr);
    must(fi_accept(ends.ep, &lent, sizeof(lent)), "fi_accept");
    fi_freeinfo(entry->info);
}

static void serve(const Place &place, void (*ready)())
{
    unsigned char *memory = map_memory(place);
    struct pollfd orders = { place.orders, POLLIN, 0 };
    struct fid_pep *listener = nullptr;
    struct fi_cq_entry done[16];
    bool awake = false;
    FabricEnds ends;

    ends.find(place, FI_SOURCE);
    must(fi_passive_ep(ends.fabric, ends.info, &listener, nullptr), "fi_passive_ep");
    must(fi_pep_bind(listener, &ends.eq->fid, 0), "fi_pep_bind");
    must(fi_listen(listener), "fi_listen");
    ready();
    for (uint64_t turn = 0;; turn++) {
        char order = 0;

        if (ends.cq != nullptr)
            (void)fi_cq_read(ends.cq, done, 16);
        if (awake && turn % 1024 != 0)
            continue;
        if (poll(&orders, 1, awake ? 0 : kRestMs) > 0) {
            if (read(place.orders, &order, 1) != 1)
                return;
            awake = order == 'w';
        }
        let_in(ends, place, memory);
    }
}

class FabricClient : public PeerClient
{
  public:
    FabricClient(const Place &place, Shape shape, Way way)
        : PeerClient(place, shape, way), payload_(shape.bytes, 'x'), orders_(place.orders)
    {
        ends_.find(place, 0);
        ends_.open_domain(ends_.info);
        if ((ends_.info->domain_attr->mr_mode & FI_MR_LOCAL) != 0) {
            must(fi_mr_reg(ends_.domain, payload_.data(), payload_.size(), FI_WRITE, 0, 2, 0, &mr_,
                           nullptr),
                 "fi_mr_reg");
            desc_ = fi_mr_desc(mr_);
        }
        ends_.open_ep(ends_.info);
        must(fi_connect(ends_.ep, ends_.info->dest_addr, nullptr, 0), "fi_connect");
        await_connection();
    }
    ~FabricClient() override
    {
        (void)fi_shutdown(ends_.ep, 0);
        (void)fi_close(&ends_.ep->fid);
        if (mr_ != nullptr)
            (void)fi_close(&mr_->fid);
        (void)fi_close(&ends_.cq->fid);
        (void)fi_close(&ends_.domain->fid);
        (void)fi_close(&ends_.eq->fid);
        (void)fi_close(&ends_.fabric->fid);
        fi_freeinfo(ends_.info);
    }
    void reset() override
    {
        order('w');
    }
    void rest() override
    {
        order('r');
    }

  private:
    void order(char what)
    {
        if (write(orders_, &what, 1) != 1)
            throw cli::Failure("the server of libfabric ended");
    }
    void await_connection()
    {
        alignas(struct fi_eq_cm_entry) unsigned char text[512];
        uint32_t event = 0;
        ssize_t n = fi_eq_sread(ends_.eq, &event, text, sizeof(text), kConnectMs, 0);

        if (n == -FI_EAVAIL)
            throw cli::Failure("libfabric: not connected: " + refusal());
        must(n, "libfabric: not connected");
        if (event != FI_CONNECTED ||
            n < static_cast<ssize_t>(sizeof(fi_eq_cm_entry) + sizeof(far_)))
            throw cli::Failure("libfabric: connected to something else");
        memcpy(&far_, reinterpret_cast<struct fi_eq_cm_entry *>(text)->data, sizeof(far_));
    }
    // The event queue's reason why a connection failed.
    std::string refusal()
    {
        struct fi_eq_err_entry why = {};

        if (fi_eq_readerr(ends_.eq, &why, 0) < 0)
            return "no reason given";
        return fi_strerror(why.err);
    }
    bool post(uint64_t offset) override
    {
        struct iovec near = { payload_.data(), payload_.size() };
        struct fi_rma_iov far = { far_.address + offset, shape_.bytes, far_.key };
        struct fi_msg_rma message = {};
        ssize_t err;

        message.msg_iov = &near;
        message.desc = &desc_;
        message.iov_count = 1;
        message.rma_iov = &far;
        message.rma_iov_count = 1;
        err = fi_writemsg(ends_.ep, &message, FI_COMMIT_COMPLETE | FI_COMPLETION);
        if (err == -FI_EAGAIN)
            return false;
        must(err, "fi_writemsg");
        return true;
    }
    void post_group(uint64_t) override
    {
        throw cli::Failure("libfabric commits one operation at a time");
    }
    uint64_t reap() override
    {
        struct fi_cq_entry done[32];
        ssize_t n = fi_cq_read(ends_.cq, done, 32);

        if (n == -FI_EAGAIN)
            return 0;
        must(n, "fi_cq_read");
        return static_cast<uint64_t>(n);
    }

    std::vector<unsigned char> payload_;
    int orders_;
    FabricEnds ends_;
    struct fid_mr *mr_ = nullptr;
    void *desc_ = nullptr;
    FabricLent far_ = {};
};

static ContenderPtr connect(const Place &place, Shape shape, Way way)
{
    return std::make_unique<FabricClient>(place, shape, way);
}

/* 8 times its throughput with many, and no slower one at a time. */
static double target(Shape shape, Way)
{
    return shape.depth > 1 ? 1 / 8.0 : 1;
}

const Peer peer_libfabric = { "libfabric", "tcp", false, serve, connect, target };

} // namespace bench
