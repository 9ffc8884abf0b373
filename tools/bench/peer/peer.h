/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer.h: other libraries that make bytes durable on another machine, each with a server process
 * and a client of ours that use it as well as we know.
 *
 * A peer writes records without a frame, from memory that is registered already, and nothing finds
 * its end again after a crash: it does less than a log, and is timed as if that were all.
 */
#ifndef RPM_TOOLS_BENCH_PEER_H
#define RPM_TOOLS_BENCH_PEER_H

#include "bench/contender.h"

namespace bench
{

/* Where a peer's server listens and what it lends. */
struct Place {
    std::string address;
    std::string port;
    std::string memory; /* file, or device of persistent memory */
    uint64_t bytes = 0; /* of a device: its last ones */
    int orders = -1;    /* one end of a pipe to the server: 'w' wake, 'r' rest */
};

enum class Way {
    kEach, /* each record is made durable by itself; so many under way at once as the depth says */
    kGroup /* as many as the depth says are made durable at once, and waited for */
};

struct Peer {
    const char *name;
    const char *scheme; /* of ours to compare with */
    bool groups;        /* has a way to make several records durable at once */
    /* In a process of its own: lend the memory, call ready(), let clients in for ever. */
    void (*serve)(const Place &place, void (*ready)());
    ContenderPtr (*connect)(const Place &place, Shape shape, Way way);
    /* What is asked of us against it: our time over its time at most; 0: nothing. */
    double (*target)(Shape shape, Way way);
};

/* Each is there if it was built with its library. */
extern const Peer peer_librpma;
extern const Peer peer_verbs;
extern const Peer peer_libfabric;

/* The child process; gone with this object. */
class PeerServer
{
  public:
    PeerServer(const Peer &peer, const Place &place);
    ~PeerServer();
    PeerServer(const PeerServer &) = delete;
    PeerServer &operator=(const PeerServer &) = delete;

    /* As clients need it. */
    const Place &place() const
    {
        return place_;
    }

  private:
    Place place_;
    pid_t pid_;
};

/* What a server lends, mapped and written to once. */
unsigned char *map_memory(const Place &place);

/* An IPv4 address of an RDMA device here; a failure says that there is none. */
std::string rdma_address();

/* A ring of records, and how many are under way. */
class PeerClient : public Contender
{
  public:
    void append(uint64_t n) override;
    uint64_t burst_max() const override
    {
        return 1u << 20;
    }

  protected:
    PeerClient(const Place &place, Shape shape, Way way);
    /* One record at this offset, made durable by itself: one completion. False: no room now. */
    virtual bool post(uint64_t offset) = 0;
    /* As many records as the depth says, one behind the other from this offset on: one completion.
     */
    virtual void post_group(uint64_t offset) = 0;
    /* How many completions there were. */
    virtual uint64_t reap() = 0;

    uint64_t stride() const
    {
        return (shape_.bytes + 63) / 64 * 64;
    }

    const Shape shape_;
    const Way way_;

  private:
    uint64_t next(uint64_t records);
    uint64_t reap_in_time();

    const uint64_t bytes_;
    uint64_t position_ = 0;
    uint64_t idle_ = 0;       /* reaps in a row that brought nothing */
    uint64_t idle_since_ = 0; /* nanoseconds */
};

} // namespace bench
#endif
