/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h: objects, as one session reads them and finds room for new ones.
 *
 * Tests: tests/unit/dtx/engine/commit_test.cpp
 */
#ifndef DTX_ENGINE_STORE_H
#define DTX_ENGINE_STORE_H

#include "engine/behind.h"
#include "engine/guesses.h"
#include "engine/port.h"
#include "engine/view.h"
#include <dtx/accesses.h>
#include <dtx/cluster.h>
#include <dtx/ordered_index.h>
#include <dtx/scheduler.h>
#include <dtx/task.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace dtx
{

class Store
{
  public:
    Store(const Cluster &cluster, Scheduler &scheduler);

    /* Connect to all servers that live, as a coordinator. */
    void open(uint32_t coordinator, Claim claim);
    /* The same to those that live in @view, whether it is in force or not. */
    void open(uint32_t coordinator, Claim claim, const View &view);
    void close();

    /* Awaited: the object, as this transaction has it, or as it is now. Throws Conflict when it
     * stays torn: somebody is writing it, or died over it. */
    struct Fetch {
        std::optional<Access *> now()
        {
            Access *found = store.fetch_now(accesses, address, accesses.find(address));

            if (found == nullptr)
                return std::nullopt;
            return found;
        }
        Task<Access *> far()
        {
            return store.fetch_far(accesses, address);
        }
        Store &store;
        Accesses &accesses;
        Address address;
    };
    AtOnce<Fetch> fetch(Accesses &accesses, Address address)
    {
        return AtOnce(Fetch{ *this, accesses, address });
    }

    /* Awaited: as fetch(), and where that spares the commit a round trip, the message that reads
     * the row locks it until the transaction ends: the access is taken, and counts as written.
     * Throws Conflict if another transaction holds the lock. */
    Task<Access *> fetch_locked(Accesses &accesses, Address address);

    /* Free the lock of a taken access that holds another row than the one looked for. The
     * transaction does not write it. */
    Task<> unlock(const Accesses &accesses, Access &access);

    /* As fetch() where that takes no waiting, else nullptr. @access: what accesses.find() says. */
    Access *fetch_now(Accesses &accesses, Address address, Access *access);

    /* Bring those objects that this transaction does not have yet, in one round trip, before it
     * uses them. What is torn is brought anew when it is used. */
    Task<> bring(Accesses &accesses, const std::vector<Address> &addresses);

    /* Does fetch() cost a round trip? */
    bool is_far(Address address)
    {
        return phases().execute == Via::call || !port(server_of(address.shard(), 0)).places();
    }

    /* The same object read anew into @image, to look at; false: it is torn. */
    Task<bool> peek(Address address, unsigned char *image, uint32_t bytes);

    /* Slots of a table from the first one to @end, as @server has them, at once. */
    void each_slot(uint32_t server, uint32_t shard, uint32_t table, uint64_t end,
                   const std::function<void(uint64_t slot, const unsigned char *image)> &heard);

    /* Of its lock, at once, without letting others go on: for recovery. */
    uint64_t lock_word(Address address);

    /* A free slot, as an object to be written whole. Throws Error: RPM_E_NOSPACE. */
    Task<Access *> allocate(Accesses &accesses, uint32_t shard, uint32_t table);

    /* A slot of this session that is free again. */
    void give_back(Address address);

    /* The allocator word of a table of which this session has more free slots than it is to keep.
     */
    std::optional<Address> surplus();

    /* At most @most free slots of the table of @word, which are this session's no more. */
    std::vector<uint64_t> take(Address word, size_t most);

    /* Has the process that had a coordinator's logs gone, as far as a server knows? */
    bool is_gone(uint32_t coordinator);

    /* It will be fetched, and locked, soon: where it is mapped, its lines are on their way. */
    void expect(Address address);

    /* Where rows were when they were last seen. */
    Guesses &guesses()
    {
        return guesses_;
    }

    uint32_t shard_of(uint32_t table, uint64_t key) const;

    /* Where shards and logs are, since the last open(). */
    const Placement &placement() const
    {
        return placement_;
    }
    uint32_t server_of(uint32_t shard, uint32_t copy) const
    {
        return placement_.server_of(shard, copy);
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
    Scheduler &scheduler()
    {
        return scheduler_;
    }
    Port &port(uint32_t server)
    {
        return *ports_[server];
    }
    /* The server of a shard's primary, if its memory is mapped, so that one-sided operations there
     * are done when they are asked for; else nullptr. Not where steps interleave: other coroutines
     * come in between. */
    Port *near(uint32_t shard) const
    {
        return near_[shard];
    }
    /* The servers that have a shard, the primary first. */
    std::span<Port *const> copies(uint32_t shard) const
    {
        return copies_[shard];
    }
    uint32_t ports() const
    {
        return static_cast<uint32_t>(ports_.size());
    }
    bool canary(Canary canary) const
    {
        return cluster_.options().canary == canary;
    }
    /* Nodes of ordered indexes above the leaves, as they were when last looked at. */
    std::unordered_map<uint64_t, Node> &nodes()
    {
        return nodes_;
    }
    uint64_t &remote()
    {
        return remote_;
    }

    /* How often this store was opened and closed: what was begun before cannot be ended. */
    uint64_t joined() const
    {
        return joined_;
    }
    bool is_open() const
    {
        return open_;
    }
    /* Another one where slots that were handed out before may be others' by now. */
    uint64_t era() const
    {
        return era_;
    }
    std::shared_ptr<Pending> new_pending();
    /* Wake those whose operations have ended. When nobody has anything to do until @idle_until_ns
     * (0: somebody has) and nothing comes for a while, the thread sleeps until something does. */
    void poll(uint64_t idle_until_ns = 0);
    /* As poll(), of servers whose memory is mapped alone: what was begun there has ended already.
     * To ask the others costs system calls: poll() does it for all coroutines at once. */
    void poll_mapped();

    /* Have a lock of transaction @txn free soon, without waiting for it. 0, RPM_E_BUSY: poll first,
     * or why not. May throw Fenced and Error. */
    int send_unlock(Address address, uint64_t txn);
    /* Commits that are told and not installed yet. */
    Behind &behind()
    {
        return behind_;
    }
    /* Wait until another of them has ended. Throws Fenced if they will not. */
    Task<> wait_behind();
    /* Wait until those have ended, and for a second until unlocks have. */
    void settle();
    /* Has one of all those failed? Then locks are still ours, until the session joins again. */
    bool lost_unlock() const
    {
        return behind_.failed() || (unheard_ != nullptr && unheard_->status != 0);
    }

    /* A coroutine waits for servers, however many, once. */
    uint64_t &round_trips()
    {
        return round_trips_;
    }
    Traffic traffic() const;

    /* Set by the session: a transaction of its own that hands out slots. */
    std::function<Task<std::vector<uint64_t>>(Address word, uint64_t many)> hand_out;

  private:
    Task<Access *> fetch_far(Accesses &accesses, Address address);
    bool looks_first(Accesses &accesses, uint32_t bytes) const;
    bool locks_first(Address address, uint32_t bytes);
    bool is_settled(const Access &access, uint64_t word) const;
    Task<> wait_for_rows(Address address);
    Task<> expect_in_work(const Access &torn, uint64_t owner);
    void find_copies(uint32_t shard);
    std::vector<uint64_t> &free_slots(uint32_t shard, uint32_t table);
    void rest(uint64_t until_ns);
    void begin_era(uint64_t heard);

    const Cluster &cluster_;
    Scheduler &scheduler_;
    Placement placement_;
    std::vector<std::unique_ptr<Port>> ports_;
    std::vector<std::vector<Port *>> copies_; /* by shard, the primary first */
    std::vector<Port *> near_;                /* by shard */
    Guesses guesses_;
    std::unordered_map<uint64_t, Node> nodes_;      /* by address */
    std::vector<std::vector<uint64_t>> free_;       /* by shard and table */
    std::optional<Address> surplus_;                /* where it was met last */
    std::vector<std::shared_ptr<Pending>> pending_; /* some log may still know them */
    uint64_t remote_ = 0;
    uint64_t round_trips_ = 0;
    Behind behind_{ *this };
    std::shared_ptr<Pending> unheard_; /* unlocks under way for which no coroutine waits */
    uint64_t unheard_word_ = 0;        /* what their words were */
    uint64_t joined_ = 0;
    bool open_ = false;
    uint64_t heard_ = 0; /* the largest number of a view, when this was last opened */
    uint64_t era_ = 0;
    uint64_t quiet_since_ns_ = 0; /* nothing has ended since; 0: not looked at the clock yet */
    uint32_t quiet_polls_ = 0;
};

/* Throws Error, RPM_E_CORRUPT, if an object that nobody writes is torn. */
void expect_whole(const Cluster &cluster, Address address, const unsigned char *image,
                  uint32_t bytes);

} // namespace dtx
#endif
