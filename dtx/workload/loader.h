/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loader.h: loads rows into a table, many in one transaction, by several threads and coroutines.
 */
#ifndef DTX_WORKLOAD_LOADER_H
#define DTX_WORKLOAD_LOADER_H

#include <dtx/error.h>
#include <dtx/session.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <librpm.h>
#include <string>
#include <utility>
#include <vector>

namespace dtx
{

template <class Row, class TableOf = Table<Row>> class Loader
{
  public:
    /* @batch rows in a transaction, all of one shard if the caller adds them in that order. */
    Loader(Session &session, TableOf table, uint32_t batch)
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
        /* The outcome is unknown if another session fenced this one, having taken it for dead: then
         * the table has all rows or none. The next attempt aborts if it has them. */
        for (bool unknown = false;;) {
            Outcome outcome = co_await session_.transact([this](Txn &txn) { return insert(txn); });

            if (outcome.status == Status::committed ||
                (outcome.status == Status::aborted && unknown))
                break;
            if (outcome.status == Status::aborted)
                throw Error(RPM_E_EXISTS, "the database has rows already; load an empty one");
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
    TableOf table_;
    uint32_t batch_;
    std::vector<std::pair<uint64_t, Row>> rows_;
};

/* The progress of a load, by all its threads together. */
struct LoadCount {
    std::atomic<uint32_t> shares = 0; /* threads that have counted their pieces */
    std::atomic<uint64_t> pieces = 0;
    std::atomic<uint64_t> done = 0; /* pieces that are loaded */
};

/* One thread's share of a load: part @part of @parts. */
struct Share {
    uint32_t part = 0;
    uint32_t parts = 1;
    const std::atomic<bool> *stop = nullptr; /* set to end the load early; may be null */
    LoadCount *count = nullptr;              /* of all threads; may be null */

    bool stopped() const
    {
        return stop != nullptr && stop->load(std::memory_order_relaxed);
    }
};

/* A part of a load, which one coroutine runs. */
using Piece = std::function<Task<void>()>;

/* Divides a share of rows 0 to @rows - 1 into pieces by ranges and servers, as one transaction of a
 * piece should access one server. The piece made by @make(first, end, server) loads the rows from
 * first to end - 1 that are on the server: about @each. */
template <class Make>
std::vector<Piece> pieces_by_server(uint64_t rows, uint32_t each, uint32_t servers,
                                    const Share &share, Make make)
{
    std::vector<Piece> pieces;
    uint64_t span = uint64_t{ each } * servers;
    uint64_t number = 0;

    for (uint64_t first = 0; first < rows; first += span)
        for (uint32_t server = 0; server < servers; server++)
            if (number++ % share.parts == share.part)
                pieces.push_back(make(first, std::min(first + span, rows), server));
    return pieces;
}

/* Loads the pieces of a share: each of @coroutines of the session takes the next piece that is
 * left. Throws Error, code 0, if it was stopped before the last piece. */
void load_pieces(Session &session, const std::vector<Piece> &pieces, uint32_t coroutines,
                 const Share &share);

} // namespace dtx
#endif
