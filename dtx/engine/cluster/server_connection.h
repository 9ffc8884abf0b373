/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server_connection.h: one coordinator's connection to one server: the shards there, their locks,
 * and the coordinator's log.
 *
 * The claim on the log guards all writes of the connection (librpm/region.h): a session that takes
 * the log over has fenced everything that this connection could still write.
 *
 * Every call may throw Fenced and Error.
 *
 * Tests: tests/unit/dtx/engine/recovery/recover_test.cpp
 */
#ifndef DTX_ENGINE_SERVER_CONNECTION_H
#define DTX_ENGINE_SERVER_CONNECTION_H

#include "engine/base/assert.h"
#include "engine/cluster/redo_log.h"
#include "engine/cluster/view.h"
#include "engine/format/names.h"
#include <dtx/cluster.h>
#include <dtx/error.h>
#include <dtx/read_write_set.h>

#include <librpm.h>

#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dtx
{

/* The server does not answer. The text does not say what to do. */
class Away : public Fenced
{
  public:
    using Fenced::Fenced;
};

/* A librpm connection to a server, with the options of the cluster. */
class RawConnection
{
  public:
    /* Throws Away; Fenced, the server refuses for now; Error. */
    RawConnection(const Cluster &cluster, uint32_t server);
    ~RawConnection();
    RawConnection(const RawConnection &) = delete;
    RawConnection &operator=(const RawConnection &) = delete;
    rpm_conn *get() const
    {
        return conn_;
    }

  private:
    rpm_conn *conn_ = nullptr;
};

/* The region of a shard, opened to read its header. */
class ShardHeaderRegion
{
  public:
    ShardHeaderRegion() = default;
    ~ShardHeaderRegion();
    ShardHeaderRegion(const ShardHeaderRegion &) = delete;
    ShardHeaderRegion &operator=(const ShardHeaderRegion &) = delete;
    /* Returns 0 or an rpm_error. */
    int open(rpm_conn *conn, const std::string &database, uint32_t shard);
    /* Leaves @into as it is if the shard is shorter. Throws Error. */
    void read(uint64_t offset, void *into, uint64_t bytes) const;

  private:
    rpm_region *region_ = nullptr;
};

/* Throws Error or Fenced for a shard that could not be opened with @err. RPM_E_NOENT: the server
 * has another pool, and the text says what to do. */
[[noreturn]] void fail_opening(const Cluster &cluster, uint32_t server, uint32_t shard, int err);

/* A counter of operations under way, and the coroutine that waits until it is 0. */
struct Pending {
    uint32_t remaining = 0;
    int status = 0; /* of the first operation that failed */
    std::coroutine_handle<> waiting;

    /* An operation has ended. Returns the coroutine to wake, if this was the last one. */
    std::coroutine_handle<> ended(int how)
    {
        DTX_ASSERT(remaining > 0); /* else its coroutine would go on too early */
        if (status == 0)
            status = how;
        return --remaining == 0 ? std::exchange(waiting, nullptr) : nullptr;
    }
};

/* Operations that a batch has sent. @pending counts those that have not ended; librpm borrows the
 * lists until then. Empty for a batch without operations. */
struct Sent {
    std::shared_ptr<Pending> pending;
    std::vector<std::vector<rpm_step>> lists;
};

/* An operation on one shard's rows or locks. */
struct Operation {
    enum Kind : uint8_t { read, write, read_lock, swap_lock, sum /* in a message only */ } kind;
    uint32_t shard;
    uint64_t offset;
    void *bytes; /* out of read, read_lock, swap_lock and sum, whose result is a word; write:
                    borrowed */
    uint64_t count;
    uint64_t expect = 0;  /* of swap_lock */
    uint64_t desired = 0; /* of swap_lock; of sum the seed */
};

/* What a connection sent and received: 0 where memory is mapped. */
struct Traffic {
    uint64_t messages = 0;
    uint64_t sent_bytes = 0;
    uint64_t received_bytes = 0;

    void add(const Traffic &other)
    {
        messages += other.messages;
        sent_bytes += other.sent_bytes;
        received_bytes += other.received_bytes;
    }
};

/* How to claim the log of a coordinator. */
enum class Claim {
    none,    /* no claim: only read */
    join,    /* create it if there is none; RPM_E_OWNED while its owner lives */
    rejoin,  /* create it if there is none, fence its owner */
    inherit, /* RPM_E_OWNED while its owner is connected; it is not created */
    takeover /* fence its owner; only the recoverer's log is created */
};

/* Throws Fenced. For an operation on a closed region or log: a session that could not join again
 * has closed all, while some of its coroutines were still in the middle of a transaction. */
[[noreturn]] void fail_closed();

/* Returns @handle; throws Fenced if it is closed. */
template <class Handle> inline Handle *require_open(Handle *handle)
{
    if (handle == nullptr) [[unlikely]]
        fail_closed();
    return handle;
}

class ServerConnection
{
  public:
    ServerConnection(const Cluster &cluster, uint32_t server);
    ~ServerConnection();
    ServerConnection(const ServerConnection &) = delete;
    ServerConnection &operator=(const ServerConnection &) = delete;

    /* Throws Fenced: the server does not answer, or refuses; the text says what to do, as
     * away_advice() for a database that goes on without the dead servers of @without. */
    void connect(const View &without = {});
    /* Claim the log, open the shards, and the locks of shards whose primary is here. The connection
     * is made. Throws Fenced, Error. */
    void open(const Placement &placement, uint32_t coordinator, Claim claim);
    /* Waits until the server has closed the log and the regions, unless the connection is lost. */
    void close();
    /* As if the connection were lost: operations under way end, and close() waits for nothing. */
    void drop();

    /* False: no log of that coordinator is here. */
    bool has_log() const
    {
        return log_ != nullptr;
    }
    /* Does this have the claim on the log of @coordinator? */
    bool owns(uint32_t coordinator) const
    {
        return log_ != nullptr && coordinator_ == coordinator;
    }
    /* Of the claim on the log, which this connection has. */
    uint64_t epoch() const
    {
        DTX_ASSERT(log_ != nullptr); /* numbers of an earlier claim may be in use */
        return epoch_;
    }
    size_t record_max() const;
    rpm_conn *conn() const
    {
        return conn_->get();
    }
    uint32_t server() const
    {
        return server_;
    }
    /* Is the server's memory mapped into this process? Then operations complete in the call. */
    bool is_mapped() const
    {
        return mapped_;
    }
    /* Does the device model carry out the operations? It does so while this thread polls. */
    bool is_modelled() const
    {
        return modelled_;
    }
    /* Are operations carried out in the order in which they were sent? They are if the server's CPU
     * carries out all of them. A NIC may carry out a read before earlier messages or writes. */
    bool is_in_order() const
    {
        return in_order_;
    }

    void read(uint32_t shard, uint64_t offset, void *into, uint64_t bytes)
    {
        check(rpm_region_read(require_open(rows_[shard].region), offset, into, bytes), "reading");
    }
    /* The CPU fetches the cache lines of a row and its lock, which are read soon. */
    void prefetch(uint32_t shard, uint64_t row, uint64_t row_bytes, uint64_t lock)
    {
        rpm_region_prefetch(require_open(rows_[shard].region), row, row_bytes);
        rpm_region_prefetch(require_open(locks_[shard].region), lock, sizeof(uint64_t));
    }
    void write(uint32_t shard, std::span<const rpm_patch> patches)
    {
        check(rpm_region_writev(require_open(rows_[shard].region), patches.data(),
                                static_cast<uint32_t>(patches.size())),
              "installing");
    }
    uint64_t lock_word(uint32_t shard, uint64_t offset)
    {
        uint64_t word;

        check(rpm_region_read(require_open(locks_[shard].region), offset, &word, sizeof(word)),
              "reading a lock");
        return word;
    }
    void read_locks(uint32_t shard, uint64_t offset, uint64_t *words, uint64_t bytes);
    /* From now on only the locks that @coordinator, whose log this connection owns, takes under
     * @claim count. */
    void set_claim_word(uint32_t shard, uint32_t coordinator, uint64_t claim);
    /* The next two overwrite what is there, other sessions' locks too: only the recoverer may. */
    void set_ready_word(uint32_t shard, uint64_t word);
    void fill_locks(uint32_t shard, uint64_t offset, const uint64_t *words, uint64_t bytes);
    uint64_t compare_and_swap(uint32_t shard, uint64_t offset, uint64_t expect, uint64_t desired)
    {
        uint64_t found;

        check(rpm_region_cas(require_open(locks_[shard].region), offset, expect, desired, &found),
              "locking");
        return found;
    }

    /* Begin an operation; poll() counts @pending down when it has ended. Returns 0, RPM_E_BUSY
     * (poll, then try again), or another rpm_error. */
    int send(const Operation &op, Pending *pending);
    int send_writes(uint32_t shard, std::span<const rpm_patch> patches, Pending *pending);
    /* The server's CPU carries out @steps, one after the other. They are borrowed until they have
     * ended. Returns as send(). */
    int send_steps(std::span<const rpm_step> steps, Pending *pending);
    rpm_step step_of(const Operation &op);

    /* Submit a redo record; poll() counts @pending down when the record is durable. Without
     * @pending, wait until it is. @lsn: out, the record's place in the log. False: the log or the
     * queue has no room: trim, then try again. Throws Error, RPM_E_TOOBIG. */
    bool append(const void *record, size_t bytes, Pending *pending, uint64_t *lsn);
    /* Send unsent operations and receive replies. Returns the number of operations that ended. */
    uint32_t poll(const std::function<void(std::coroutine_handle<>)> &wake);
    /* Since this object was made, over all its librpm connections. */
    Traffic traffic() const;
    /* Adds what an object that this one replaces has sent and received. */
    void count_before(const Traffic &traffic);
    bool is_waited_for() const
    {
        return outstanding_ > 0;
    }

    /* The rows of a record are installed on all copies: the log may trim it. */
    void retire(uint64_t lsn);
    /* Trim the records before the oldest one that is still needed: one round trip. False: there is
     * none. */
    bool trim();
    bool wants_trim() const
    {
        return log_ != nullptr && appended_ >= trim_bytes_;
    }

    /* Append a note of the coordinator's spare slots. From now on trim() keeps it, not the note
     * before. One round trip. False: the log has no room for it. */
    bool note(std::span<const Spare> spares);
    /* As trim(), for a full log: trims the note as well. The caller appends another one soon. */
    bool trim_note();
    /* Leave nothing in the log but a note. */
    void keep_note(std::span<const Spare> spares);

    void each_record(const std::function<void(const void *, size_t)> &callback);

    /* Is no connected client of this server the owner of the coordinator's log? Tries to claim the
     * log, which the server refuses if there is an owner, and gives the claim back at once: one
     * round trip. */
    bool is_unowned(uint32_t coordinator);

  private:
    struct Kept {
        uint64_t lsn;
        bool retired;
    };

    /* An open region. */
    struct Remote {
        rpm_region *region = nullptr;
        uint32_t outstanding = 0;
    };

    void claim_log(uint32_t coordinator, Claim claim);
    void open_shards(const Placement &placement, bool guarded);
    void keep(uint64_t lsn, size_t bytes);
    Remote &remote_of(const Operation &op);
    int sent(Remote &remote, int err, Pending *pending);
    template <class Poll>
    uint32_t reap(uint32_t &outstanding, Poll poll,
                  const std::function<void(std::coroutine_handle<>)> &wake);

    const Cluster &cluster_;
    uint32_t server_;
    std::optional<RawConnection> conn_;
    rpm_log *log_ = nullptr;
    uint32_t coordinator_ = 0; /* whose log it is */
    uint64_t epoch_ = 0;
    bool mapped_ = false;
    bool in_order_ = false;
    bool modelled_ = false;
    std::vector<Remote> rows_;     /* by shard; nullptr: no copy of it is here */
    std::vector<Remote> locks_;    /* by shard; only here where its primary is */
    uint32_t outstanding_ = 0;     /* on all queues */
    uint32_t log_outstanding_ = 0; /* of these, on the log */
    std::vector<Kept> kept_;       /* records in the log from kept_first_ on, oldest first */
    size_t kept_first_ = 0;
    uint64_t retired_lsn_ = 0; /* of the newest record before kept_first_ */
    uint64_t appended_ = 0;    /* bytes since the last trim */
    uint64_t trim_bytes_ = 0;
    std::vector<uint64_t> note_; /* the records of the newest note; they are kept */
    Traffic before_;             /* of connections that are closed */
};

/* "server 1 (shm:/tmp/b)". */
std::string server_name(const Cluster &cluster, uint32_t server);

} // namespace dtx
#endif
