/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover.h: what coordinators that are gone have left: rows of transactions that are committed,
 * but not yet where they belong, and locks.
 *
 * Tests: tests/unit/dtx/engine/recover_test.cpp
 */
#ifndef DTX_ENGINE_RECOVER_H
#define DTX_ENGINE_RECOVER_H

#include "engine/store.h"
#include <dtx/cluster.h>

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace dtx
{

/* Coordinator of a transaction, by its number. Its claim is that of its logs on one server, which
 * is the same as long as the view is. */
inline constexpr unsigned kSequenceBits = 32;
inline constexpr unsigned kClaimBits = 16;
inline constexpr unsigned kViewBits = 9;
inline constexpr unsigned kEpochBits = kViewBits + kClaimBits;
inline constexpr uint32_t coordinator_of(uint64_t txn)
{
    return static_cast<uint32_t>(txn >> (kSequenceBits + kEpochBits));
}
inline constexpr uint32_t kVacuum = 126; /* in the place of a coordinator, in transactions of one */

/* The first numbers of a coordinator's transactions in the view of @store. @epoch: of its claim on
 * the first server that lives. */
uint64_t number_prefix(const Store &store, uint32_t coordinator, uint64_t epoch);

/* In all lock words of a shard whose primary is on another server by now: whoever sees it must look
 * for the view. */
inline constexpr uint64_t kMoved = UINT64_MAX;
static_assert(coordinator_of(kMoved) >= kCoordinatorsMax);

/* May all shards be used? Not after one of their servers was started again. */
bool is_ready(Store &store);

/* Finish what the coordinator, whose claims @store has, left behind: rows whose locks it still
 * holds. All others may go on meanwhile. */
Recovery finish_one(Store &store, uint32_t coordinator);

/* The logs of all coordinators on one server, taken over and held. */
class AllLogs
{
  public:
    AllLogs(Store &store, Port &port) : store_(store), port_(port) {}
    ~AllLogs();
    AllLogs(const AllLogs &) = delete;
    AllLogs &operator=(const AllLogs &) = delete;

    /* How many coordinators there are, at least. */
    uint32_t take_over();
    /* Make those that only @others has. */
    void create_as(const AllLogs &others);
    void each_record(const std::function<void(uint32_t coordinator, const void *, size_t)> &heard);
    void trim();

    uint32_t server() const
    {
        return port_.server();
    }
    bool has(uint32_t coordinator) const
    {
        return logs_.count(coordinator) != 0;
    }
    /* Of one coordinator that has one. */
    size_t record_max(uint32_t coordinator) const;
    void append(uint32_t coordinator, const std::vector<unsigned char> &record);
    void trim(uint32_t coordinator);

  private:
    bool take(uint32_t coordinator, uint64_t create_bytes);

    Store &store_;
    Port &port_;
    std::map<uint32_t, rpm_log *> logs_; /* by coordinator */
};

/* Finishes what all have left behind. Its store is open as the recoverer's. Each step once, in this
 * order; after any of them it may be begun anew by another. */
class Everything
{
  public:
    explicit Everything(Store &store) : store_(store) {}

    /* Nobody uses the database any more. */
    void fence();
    /* Rows are as the logs say. @written_in: the view of those who wrote them. */
    void redo(const View &written_in);
    /* Logs are empty and locks are free. */
    void clear();
    /* Everybody may use it. */
    void make_ready();

    /* Of servers that live, once they are taken over. */
    const std::vector<std::unique_ptr<AllLogs>> &logs() const
    {
        return logs_;
    }

    const Recovery &recovery() const
    {
        return recovery_;
    }

  private:
    Store &store_;
    std::vector<std::unique_ptr<AllLogs>> logs_;
    Recovery recovery_;
};

/* Room for the locks of all copies, on all servers that live in the view of @store, which were lost
 * where a server was started again. Throws Error: RPM_E_NOSPACE. */
void reserve_locks(Store &store);

/* All of this, in the view of @store. */
Recovery finish_all(Store &store);

/* Recover everything, if nobody has done so by now. @claim: of the recoverer's log. Throws Fenced
 * when a change of views has to be ended first. */
void recover_unready(const Cluster &cluster, Claim claim);

} // namespace dtx
#endif
