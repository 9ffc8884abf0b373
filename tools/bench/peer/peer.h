/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer.h: a peer is another library that makes bytes durable on another machine. Each has a server
 * process and a client in this program, which use it in the fastest way known to us.
 *
 * A peer writes records without frames, from registered memory, and cannot find the last record
 * after a crash. It does less work than a log, so the comparison favours the peer.
 */
#ifndef RPM_TOOLS_BENCH_PEER_H
#define RPM_TOOLS_BENCH_PEER_H

#include "bench/contender.h"

namespace bench
{

/* The address of a peer's server, and the memory that it lends. */
struct PeerSetup {
    std::string address;
    std::string port;
    std::string memory; /* file, or device of persistent memory */
    uint64_t bytes = 0; /* of a device: its last bytes */
    int control = -1;   /* one end of a pipe to the server: 'w' poll, 'r' sleep */
};

enum class FlushMode {
    kEach, /* each record is made durable by itself, with as many outstanding as the depth says */
    kGroup /* as many records as the depth says are made durable together, and awaited */
};

struct Peer {
    const char *name;
    const char *scheme; /* of librpm's link to compare with */
    bool groups;        /* can make several records durable at once */
    /* In its own process: lend the memory, call ready(), accept clients for ever. */
    void (*serve)(const PeerSetup &setup, void (*ready)());
    ContenderPtr (*connect)(const PeerSetup &setup, Shape shape, FlushMode mode);
    /* The target of librpm against this peer: largest ratio of librpm's time to the peer's; 0:
     * none. */
    double (*target)(Shape shape, FlushMode mode);
};

/* Each exists if the build found its library. */
extern const Peer peer_librpma;
extern const Peer peer_verbs;
extern const Peer peer_libfabric;

/* The child process, which ends with this object. */
class PeerServer
{
  public:
    PeerServer(const Peer &peer, const PeerSetup &setup);
    ~PeerServer();
    PeerServer(const PeerServer &) = delete;
    PeerServer &operator=(const PeerServer &) = delete;

    /* The address and memory, for clients. */
    const PeerSetup &setup() const
    {
        return setup_;
    }

  private:
    PeerSetup setup_;
    pid_t pid_;
};

/* Map the memory that a server lends, and touch it once. */
unsigned char *map_memory(const PeerSetup &setup);

/* An IPv4 address of an RDMA device of this machine; fails if there is none. */
std::string rdma_address();

/* A ring of records, and how many are outstanding. */
class PeerClient : public Contender
{
  public:
    void append(uint64_t n) override;
    uint64_t burst_max() const override
    {
        return 1u << 20;
    }

  protected:
    PeerClient(const PeerSetup &setup, Shape shape, FlushMode mode);
    /* Post one record at this offset, made durable by itself: one completion. False: no room
     * now. */
    virtual bool post(uint64_t offset) = 0;
    /* Post as many records as the depth says, one behind another from this offset on: one
     * completion.
     */
    virtual void post_group(uint64_t offset) = 0;
    /* Reap completions; returns their number. */
    virtual uint64_t reap() = 0;

    uint64_t stride() const
    {
        return (shape_.bytes + 63) / 64 * 64;
    }

    const Shape shape_;
    const FlushMode mode_;

  private:
    uint64_t next(uint64_t records);
    uint64_t reap_in_time();

    const uint64_t bytes_;
    uint64_t position_ = 0;
    uint64_t idle_ = 0;       /* reaps in a row without a completion */
    uint64_t idle_since_ = 0; /* nanoseconds */
};

} // namespace bench
#endif
