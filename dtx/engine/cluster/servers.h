/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * servers.h: the connections of one session, or one recovery, to all live servers of a view.
 *
 * Tests: tests/unit/dtx/engine/recovery/recover_test.cpp
 */
#ifndef DTX_ENGINE_SERVERS_H
#define DTX_ENGINE_SERVERS_H

#include "engine/cluster/server_connection.h"
#include "engine/cluster/view.h"
#include <dtx/cluster.h>
#include <dtx/scheduler.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace dtx
{

class Servers
{
  public:
    static constexpr uint64_t kSleepMaxNs = 100000000; /* the longest sleep of a thread */

    Servers(const Cluster &cluster, Scheduler &scheduler);

    /* Connect to all live servers, as a coordinator. Throws Fenced while the view is being
     * changed. */
    void open(uint32_t coordinator, Claim claim);
    /* The same for the live servers of @view, whether it is in force or not. */
    void open(uint32_t coordinator, Claim claim, const View &view);
    /* Takes over the connections of @opened, an object of the same cluster, which another thread
     * may have opened. This object must be closed before; @opened is closed afterwards. */
    void adopt(Servers &opened);
    /* Operations under way end with RPM_E_FENCED, and the coroutines that wait for them go on.
     * Waits for each server to close its end; after drop() it does not. */
    void close();
    /* Makes all connections lost: operations end, and close() waits for no server. The servers see
     * the connections end when close() has closed them. */
    void drop();

    /* How often the connections were opened or closed. An operation that was begun at another count
     * belongs to connections that are closed, and must not be continued. */
    uint64_t joined() const
    {
        return joined_;
    }
    bool is_open() const
    {
        return open_;
    }
    /* Is this open with a claim on the logs of @coordinator on all live servers? */
    bool owns(uint32_t coordinator) const
    {
        return open_ && owns_ && coordinator_ == coordinator;
    }

    const Cluster &cluster() const
    {
        return cluster_;
    }
    const Phases &phases() const
    {
        return cluster_.options().phases;
    }
    const Layout &layout() const
    {
        return cluster_.layout();
    }
    bool canary(Canary canary) const
    {
        return cluster_.options().canary == canary;
    }
    Scheduler &scheduler()
    {
        return scheduler_;
    }

    uint32_t count() const
    {
        return static_cast<uint32_t>(connections_.size());
    }
    ServerConnection &connection(uint32_t server)
    {
        return *connections_[server];
    }
    /* The connection to the server of a shard's primary. */
    ServerConnection &primary(uint32_t shard)
    {
        return connection(server_of(shard, 0));
    }
    /* The same if the server's memory is mapped, so that one-sided operations complete in the call
     * that posts them; else nullptr. Also nullptr where steps interleave: other coroutines must run
     * in between. */
    ServerConnection *mapped(uint32_t shard) const
    {
        return mapped_[shard];
    }
    /* The servers that have a shard, the primary first. */
    std::span<ServerConnection *const> copies(uint32_t shard) const
    {
        return copies_[shard];
    }

    /* The servers of each shard and log, as of the last open(). */
    const Placement &placement() const
    {
        return placement_;
    }
    uint32_t server_of(uint32_t shard, uint32_t copy) const
    {
        return placement_.server_of(shard, copy);
    }
    uint32_t shard_of(uint32_t table, uint64_t key) const;

    /* A counter of operations under way, which poll() counts down. */
    std::shared_ptr<Pending> new_pending();
    /* Wake the coroutines whose operations have ended. True: none has ended, and operations are
     * under way or @may_sleep: no coroutine can continue before a time or a descriptor lets it. */
    bool poll(bool may_sleep = false);
    /* Call this after poll() returned true. If no coroutine is ready before @until_ns (0: one is
     * ready now), and no operation ends for a while, the thread sleeps until one ends or a
     * descriptor can be read that a coroutine waits for. */
    void idle(uint64_t until_ns);
    /* For a thread that waits elsewhere: adds the descriptors of connections with operations under
     * way, which can be read when poll() has something to do. False: it has something to do now, or
     * a connection has no descriptor. Also detects a server that has not answered for too long. */
    bool arm(std::vector<pollfd> &fds);
    /* As poll(), for servers whose memory is mapped: their operations have ended already. Polling
     * the other servers costs system calls: poll() does it for all coroutines at once. */
    void poll_mapped();

    /* The lock word of an object. Blocks the thread: for recovery. */
    uint64_t lock_word(Address address);
    /* Calls @callback for the slots of a table from 0 to @end - 1, as @server has them. Blocks the
     * thread. */
    void each_slot(uint32_t server, uint32_t shard, uint32_t table, uint64_t end,
                   const std::function<void(uint64_t slot, const unsigned char *image)> &callback);
    /* Counters: operations, and how often a coroutine waited for servers. */
    uint64_t &remote()
    {
        return remote_;
    }
    uint64_t &round_trips()
    {
        return round_trips_;
    }
    /* Objects that this session found damaged on a copy and stored there again. */
    uint64_t &mended()
    {
        return mended_;
    }
    Traffic traffic() const;

  private:
    void find_copies(uint32_t shard);
    void sleep_until(uint64_t until_ns);
    void yield_to_servers() const;

    const Cluster &cluster_;
    Scheduler &scheduler_;
    Placement placement_;
    std::vector<std::unique_ptr<ServerConnection>> connections_;
    std::vector<std::vector<ServerConnection *>> copies_; /* by shard, the primary first */
    std::vector<ServerConnection *> mapped_;              /* by shard */
    std::vector<std::shared_ptr<Pending>> pending_;       /* librpm may still refer to them */
    uint64_t remote_ = 0;
    uint64_t round_trips_ = 0;
    uint64_t mended_ = 0;
    uint64_t joined_ = 0;
    bool open_ = false;
    uint32_t coordinator_ = 0;    /* of the last open() */
    bool owns_ = false;           /* its logs */
    uint64_t quiet_since_ns_ = 0; /* when polls began to find nothing; 0: not yet */
    uint32_t quiet_polls_ = 0;
};

/* Is no connected client the owner of the log that the coordinator has on @server? Blocks the
 * thread: connects, and asks. Throws Fenced, Error. */
bool is_disconnected(const Cluster &cluster, uint32_t server, uint32_t coordinator);

/* An object in an error text. */
std::string object_name(const Cluster &cluster, Address address);

/* The version of an object after its next write. Throws Error, RPM_E_CORRUPT, if there is none. */
uint64_t next_version(const Cluster &cluster, Address address, uint64_t version);

/* Throws Error, RPM_E_CORRUPT: the object is torn. */
[[noreturn]] void fail_torn(const Cluster &cluster, Address address);

/* Throws it if an object that no session writes is torn, or is a root and zeros. */
void expect_whole(const Cluster &cluster, Address address, const unsigned char *image,
                  uint32_t bytes);

} // namespace dtx
#endif
