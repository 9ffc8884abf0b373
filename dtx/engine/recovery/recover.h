/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover.h: finish what dead coordinators left: install the rows of transactions that are
 * committed by their records in the logs, drop the other transactions, and free the locks.
 *
 * To free the locks of one coordinator takes a word for each shard, however many rows there are:
 * its claim word, in the shard's locks region, says under which claim it took the locks that count.
 * A session that meets a lock of an earlier claim frees it: session.cc is_held().
 *
 * Tests: tests/unit/dtx/engine/recovery/recover_test.cpp
 */
#ifndef DTX_ENGINE_RECOVER_H
#define DTX_ENGINE_RECOVER_H

#include "engine/cluster/servers.h"
#include "engine/format/txn_number.h"
#include "engine/recovery/spares.h"
#include <dtx/cluster.h>

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace dtx
{

/* May sessions use all shards? False after a server was started again, until a recovery. */
bool is_ready(Servers &servers);

struct Finished {
    Recovery recovery;
    std::vector<Spare> spares; /* that the coordinator had; its logs have a note of them */
};

/* Install those rows in a coordinator's logs whose locks it still holds, and let its earlier locks
 * count no more: sessions that meet one free it. @servers has claimed the logs. Other sessions may
 * run meanwhile. */
Finished finish_one(Servers &servers, uint32_t coordinator);

/* Claim the logs of a coordinator, as @claim says, finish_one(), and return its spare slots. Throws
 * Fenced, Error. */
Recovery recover_one(const Cluster &cluster, uint32_t coordinator, Claim claim);

/* The logs of all coordinators on one server, with their claims. */
class AllLogs
{
  public:
    AllLogs(Servers &servers, ServerConnection &connection)
        : servers_(servers), connection_(connection)
    {
    }
    ~AllLogs();
    AllLogs(const AllLogs &) = delete;
    AllLogs &operator=(const AllLogs &) = delete;

    /* Claims all logs on the server, which fences their owners. Returns the highest coordinator
     * number with a log, plus 1. */
    uint32_t take_over();
    /* Create the logs that @others has and this server has not. */
    void create_as(const AllLogs &others);
    void
    each_record(const std::function<void(uint32_t coordinator, const void *, size_t)> &callback);
    void trim();
    /* Leave only a note of the coordinator's spare slots in each log. */
    void keep_notes(const std::map<uint32_t, std::vector<Spare>> &spares);

    uint32_t server() const
    {
        return connection_.server();
    }
    bool has(uint32_t coordinator) const
    {
        return logs_.count(coordinator) != 0;
    }
    /* The largest record that fits; the coordinator has a log on this server. */
    size_t record_max(uint32_t coordinator) const;
    void append(uint32_t coordinator, const std::vector<unsigned char> &record);
    void trim(uint32_t coordinator);

  private:
    bool take(uint32_t coordinator, uint64_t create_bytes);
    rpm_conn *next_connection();

    Servers &servers_;
    ServerConnection &connection_;
    std::vector<std::unique_ptr<RawConnection>> more_; /* for the logs that one has no room for */
    std::map<uint32_t, rpm_log *> logs_;               /* by coordinator */
};

/* Finishes the transactions of all coordinators. @servers is open with the recoverer's claim. The
 * caller calls each step once, in this order. If it is interrupted after any step, another recovery
 * begins with the first. */
class FullRecovery
{
  public:
    explicit FullRecovery(Servers &servers) : servers_(servers) {}

    /* Fences all sessions. */
    void fence();
    /* Installs the rows of each record that is in all logs that were to get it. @written_in: the
     * view in which the records were written, which determines these logs. */
    void redo(const View &written_in);
    /* Empties the logs, but for notes of the coordinators' spare slots, and frees the locks. */
    void clear();
    /* Lets sessions join again. */
    void make_ready();

    /* Are the logged rows installed, the logs empty and the locks free? */
    bool is_cleared() const
    {
        return cleared_;
    }

    /* The logs of the live servers, after fence(). */
    const std::vector<std::unique_ptr<AllLogs>> &logs() const
    {
        return logs_;
    }

    const Recovery &recovery() const
    {
        return recovery_;
    }

  private:
    Servers &servers_;
    std::vector<std::unique_ptr<AllLogs>> logs_;
    std::map<uint32_t, Spares> spares_; /* by coordinator */
    bool redone_ = false;
    bool cleared_ = false;
    Recovery recovery_;
};

/* Create the locks of all copies on all live servers of the view of @servers, because a server
 * that was started again has lost them. Throws Error: RPM_E_NOSPACE. */
void reserve_locks(Servers &servers);

/* All steps of FullRecovery, in the view of @servers. */
Recovery finish_all(Servers &servers);

/* Recover the whole database, unless another session has done so. @claim: how to claim the
 * recoverer's log. Throws Fenced while a change of the view is unfinished. */
void recover_unready(const Cluster &cluster, Claim claim);

} // namespace dtx
#endif
