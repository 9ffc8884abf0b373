/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loader.h: rows into a table, many in one transaction.
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
        /* The outcome is unknown if another session took this session for dead and fenced it: then
         * all rows are in the table or none, and the next attempt finds out. */
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
    TableOf table_;
    uint32_t batch_;
    std::vector<std::pair<uint64_t, Row>> rows_;
};

/* How far a load is, by all its threads together. */
struct LoadCount {
    std::atomic<uint32_t> shares = 0; /* whose pieces are counted */
    std::atomic<uint64_t> pieces = 0;
    std::atomic<uint64_t> done = 0; /* of them */
};

/* Of a load: part @part of @parts, each in its own thread. */
struct Share {
    uint32_t part = 0;
    uint32_t parts = 1;
    const std::atomic<bool> *stop = nullptr; /* set when it is to end; may be null */
    LoadCount *count = nullptr;              /* may be null */

    bool stopped() const
    {
        return stop != nullptr && stop->load(std::memory_order_relaxed);
    }
};

/* A part of a load that one coroutine does without a pause. */
using Piece = std::function<Task<void>()>;

/* The pieces of a share, of rows 0 to @rows - 1 that lie on @servers by turns: for each of the
 * servers, @make(first, end, server) is to load its rows among first to end - 1, @each of them if
 * they are spread evenly. */
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

/* Do the pieces of a share: each of @coroutines of the session takes the next one that is left.
 * Throws Error, code 0: it was stopped with pieces left. */
void load_pieces(Session &session, const std::vector<Piece> &pieces, uint32_t coroutines,
                 const Share &share);

} // namespace dtx
#endif
