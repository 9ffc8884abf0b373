/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.cc: inserts the records in key order; each transaction has records of one server only.
 */
#include "workload/ycsb/load.h"

#include <algorithm>

namespace dtx::ycsb
{

namespace
{

constexpr uint32_t kBatch = 50;
constexpr uint32_t kPiece = 1000; /* records of a piece */
constexpr uint32_t kCoroutines = 4;

using Bytes = std::vector<unsigned char>;

/* Inserts the records of @keys, in order, so that neighbours in an ordered index are inserted
 * together. */
Task<void> insert_records(Session &session, const Tables &tables, std::vector<uint64_t> keys)
{
    /* A redo record of the transaction must fit into a log. */
    uint32_t batch = std::clamp<uint32_t>(32768 / tables.records.row_bytes, 1, kBatch);
    Loader<Bytes, ByteTable> loader(session, tables.records, batch);
    Bytes value(tables.records.row_bytes);

    for (uint64_t key : keys) {
        make_value(key, 0, value);
        co_await loader.add(key, value);
    }
    co_await loader.flush();
}

/* The keys of records @first to @end - 1 that are on one server, in order. */
std::vector<uint64_t> keys_of(uint64_t first, uint64_t end, uint32_t server, uint32_t servers)
{
    std::vector<uint64_t> keys;

    for (uint64_t record = first; record < end; record++)
        if (uint64_t key = key_of(record); partition_of(key) % servers == server)
            keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    return keys;
}

} // namespace

void load(Session &session, const Parameters &parameters, const Tables &tables, const Share &share)
{
    uint32_t servers = parameters.servers;
    auto piece = [&, servers](uint64_t first, uint64_t end, uint32_t server) -> Piece {
        return [&session, &tables, first, end, server, servers] {
            return insert_records(session, tables, keys_of(first, end, server, servers));
        };
    };

    load_pieces(session, pieces_by_server(parameters.keys, kPiece, servers, share, piece),
                kCoroutines, share);
}

} // namespace dtx::ycsb
