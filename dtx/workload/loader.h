/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loader.h: rows into a table, many in one transaction.
 */
#ifndef DTX_WORKLOAD_LOADER_H
#define DTX_WORKLOAD_LOADER_H

#include "engine/error.h"
#include "engine/session.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <librpm.h>
#include <string>
#include <utility>
#include <vector>

namespace dtx
{

template <class Row> class Loader
{
  public:
    /* @batch rows in a transaction, all of one shard if the caller adds them in that order. */
    Loader(Session &session, Table<Row> table, uint32_t batch)
        : session_(session), table_(table), batch_(batch)
    {
    }

    Task<void> add(uint64_t key, const Row &row)
    {
        rows_.emplace_back(key, row);
        if (rows_.size() >= batch_)
            co_await flush();
    }

    Task<void> flush()
    {
        if (rows_.empty())
            co_return;
        /* Of one whose end is unknown, because somebody thought us dead, all rows are there or
         * none: then another try finds out. */
        for (bool unknown = false;;) {
            Outcome outcome = co_await session_.transact([this](Txn &txn) { return insert(txn); });

            if (outcome.status == Status::committed ||
                (outcome.status == Status::aborted && unknown))
                break;
            if (outcome.status == Status::aborted)
                throw Error(RPM_E_EXISTS, "the database has rows already");
            unknown = true;
        }
        rows_.clear();
    }

  private:
    Task<bool> insert(Txn &txn)
    {
        for (const auto &[key, row] : rows_) {
            bool added = co_await txn.insert(table_, key, row);

            if (!added)
                co_return false;
        }
        co_return true;
    }

    Session &session_;
    Table<Row> table_;
    uint32_t batch_;
    std::vector<std::pair<uint64_t, Row>> rows_;
};

/* Of a load: part @part of @parts, each in its own thread. */
struct Share {
    uint32_t part = 0;
    uint32_t parts = 1;
    const std::atomic<bool> *stop = nullptr; /* somebody has asked for an end; may be null */

    bool stopped() const
    {
        return stop != nullptr && stop->load(std::memory_order_relaxed);
    }
};

/* Pieces of a share, done one after the other by whoever is free: by @coroutines of the session.
 * Throws Error, code 0: it was stopped with pieces left. */
using Piece = std::function<Task<void>()>;

void load_pieces(Session &session, const std::vector<Piece> &pieces, uint32_t coroutines,
                 const Share &share);

} // namespace dtx
#endif
