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
static constexpr int kPauseMs = 5;

static void must(ssize_t err, const char *what)
{
    if (err < 0)
        throw cli::Failure(std::string(what) + ": " + fi_strerror(static_cast<int>(-err)));
}

/* The memory that the server lends: sent in the data of an accepted connection. */
struct FabricRemote {
    uint64_t address;
    uint64_t key;
};

/* The objects that client and server open. They end with their process, or with the comparison. */
struct FabricObjects {
    struct fi_info *info = nullptr;
    struct fid_fabric *fabric = nullptr;
    struct fid_domain *domain = nullptr;
    struct fid_eq *eq = nullptr;
    struct fid_cq *cq = nullptr;
    struct fid_ep *ep = nullptr;

    void find(const PeerSetup &setup, uint64_t flags);
    void open_domain(struct fi_info *of);
    void open_ep(struct fi_info *of);
};

void FabricObjects::find(const PeerSetup &setup, uint64_t flags)
{
    struct fi_info *hints = fi_allocinfo();
    struct fi_eq_attr eq_attr = {};

    hints->caps = FI_MSG | FI_RMA | FI_RMA_PMEM;
    hints->ep_attr->type = FI_EP_MSG;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->fabric_attr->prov_name = strdup("tcp");
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
    must(fi_getinfo(FI_VERSION(1, 14), setup.address.c_str(), setup.port.c_str(), flags, hints,
                    &info),
         "fi_getinfo");
    fi_freeinfo(hints);
    must(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    eq_attr.wait_obj = FI_WAIT_UNSPEC;
    must(fi_eq_open(fabric, &eq_attr, &eq, nullptr), "fi_eq_open");
}

void FabricObjects::open_domain(struct fi_info *of)
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

void FabricObjects::open_ep(struct fi_info *of)
{
    must(fi_endpoint(domain, of, &ep, nullptr), "fi_endpoint");
    must(fi_ep_bind(ep, &eq->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(ep), "fi_enable");
}

/* Accept the connection of a client, if one is waiting. */
static void accept_one(FabricObjects &objects, const PeerSetup &setup, unsigned char *memory)
{
    static struct fid_mr *mr;
    alignas(struct fi_eq_cm_entry) unsigned char text[512];
    struct fi_eq_cm_entry *entry = reinterpret_cast<struct fi_eq_cm_entry *>(text);
    uint32_t event = 0;
    FabricRemote remote;

    if (fi_eq_read(objects.eq, &event, text, sizeof(text), 0) < 0 || event != FI_CONNREQ)
        return;
    objects.open_domain(entry->info);
    if (mr == nullptr)
        must(fi_mr_reg(objects.domain, memory, setup.bytes, FI_REMOTE_WRITE, 0, 1, FI_RMA_PMEM, &mr,
                       nullptr),
             "fi_mr_reg");
    objects.open_ep(entry->info);
    remote.address = (entry->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0
                         ? reinterpret_cast<uint64_t>(memory)
                         : 0;
    remote.key = fi_mr_key(mr);
    must(fi_accept(objects.ep, &remote, sizeof(remote)), "fi_accept");
    fi_freeinfo(entry->info);
}

static void serve(const PeerSetup &setup, void (*ready)())
{
    unsigned char *memory = map_memory(setup);
    struct pollfd control = { setup.control, POLLIN, 0 };
    struct fid_pep *listener = nullptr;
    struct fi_cq_entry done[16];
    bool awake = false;
    FabricObjects objects;

    objects.find(setup, FI_SOURCE);
    must(fi_passive_ep(objects.fabric, objects.info, &listener, nullptr), "fi_passive_ep");
    must(fi_pep_bind(listener, &objects.eq->fid, 0), "fi_pep_bind");
    must(fi_listen(listener), "fi_listen");
    ready();
    for (uint64_t turn = 0;; turn++) {
        char command = 0;

        if (objects.cq != nullptr)
            (void)fi_cq_read(objects.cq, done, 16);
        if (awake && turn % 1024 != 0)
            continue;
        if (poll(&control, 1, awake ? 0 : kPauseMs) > 0) {
            if (read(setup.control, &command, 1) != 1)
                return;
            awake = command == 'w';
        }
        accept_one(objects, setup, memory);
    }
}

class FabricClient : public PeerClient
{
  public:
    FabricClient(const PeerSetup &setup, Shape shape, FlushMode mode)
        : PeerClient(setup, shape, mode), payload_(shape.bytes, 'x'), control_(setup.control)
    {
        objects_.find(setup, 0);
        objects_.open_domain(objects_.info);
        if ((objects_.info->domain_attr->mr_mode & FI_MR_LOCAL) != 0) {
            must(fi_mr_reg(objects_.domain, payload_.data(), payload_.size(), FI_WRITE, 0, 2, 0,
                           &mr_, nullptr),
                 "fi_mr_reg");
            desc_ = fi_mr_desc(mr_);
        }
        objects_.open_ep(objects_.info);
        must(fi_connect(objects_.ep, objects_.info->dest_addr, nullptr, 0), "fi_connect");
        await_connection();
    }
    ~FabricClient() override
    {
        (void)fi_shutdown(objects_.ep, 0);
        (void)fi_close(&objects_.ep->fid);
        if (mr_ != nullptr)
            (void)fi_close(&mr_->fid);
        (void)fi_close(&objects_.cq->fid);
        (void)fi_close(&objects_.domain->fid);
        (void)fi_close(&objects_.eq->fid);
        (void)fi_close(&objects_.fabric->fid);
        fi_freeinfo(objects_.info);
    }
    void reset() override
    {
        command('w');
    }
    void pause() override
    {
        command('r');
    }

  private:
    void command(char what)
    {
        if (write(control_, &what, 1) != 1)
            throw cli::Failure("the server of libfabric ended");
    }
    void await_connection()
    {
        alignas(struct fi_eq_cm_entry) unsigned char text[512];
        uint32_t event = 0;
        ssize_t n = fi_eq_sread(objects_.eq, &event, text, sizeof(text), kConnectMs, 0);

        if (n == -FI_EAVAIL)
            throw cli::Failure("libfabric: not connected: " + refusal());
        must(n, "libfabric: not connected");
        if (event != FI_CONNECTED ||
            n < static_cast<ssize_t>(sizeof(fi_eq_cm_entry) + sizeof(remote_)))
            throw cli::Failure(
                "libfabric: unexpected event or too little data instead of FI_CONNECTED");
        memcpy(&remote_, reinterpret_cast<struct fi_eq_cm_entry *>(text)->data, sizeof(remote_));
    }
    /* The event queue's reason why a connection failed. */
    std::string refusal()
    {
        struct fi_eq_err_entry why = {};

        if (fi_eq_readerr(objects_.eq, &why, 0) < 0)
            return "no reason given";
        return fi_strerror(why.err);
    }
    bool post(uint64_t offset) override
    {
        struct iovec local = { payload_.data(), payload_.size() };
        struct fi_rma_iov remote = { remote_.address + offset, shape_.bytes, remote_.key };
        struct fi_msg_rma message = {};
        ssize_t err;

        message.msg_iov = &local;
        message.desc = &desc_;
        message.iov_count = 1;
        message.rma_iov = &remote;
        message.rma_iov_count = 1;
        err = fi_writemsg(objects_.ep, &message, FI_COMMIT_COMPLETE | FI_COMPLETION);
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
        ssize_t n = fi_cq_read(objects_.cq, done, 32);

        if (n == -FI_EAGAIN)
            return 0;
        must(n, "fi_cq_read");
        return static_cast<uint64_t>(n);
    }

    std::vector<unsigned char> payload_;
    int control_;
    FabricObjects objects_;
    struct fid_mr *mr_ = nullptr;
    void *desc_ = nullptr;
    FabricRemote remote_ = {};
};

static ContenderPtr connect(const PeerSetup &setup, Shape shape, FlushMode mode)
{
    return std::make_unique<FabricClient>(setup, shape, mode);
}

/* The target: 8 times its throughput with many outstanding, the same time one at a time. */
static double target(Shape shape, FlushMode)
{
    return shape.depth > 1 ? 1 / 8.0 : 1;
}

const Peer peer_libfabric = { "libfabric", "tcp", false, serve, connect, target };

} // namespace bench
