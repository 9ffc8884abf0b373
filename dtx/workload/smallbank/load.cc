/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.cc: inserts the accounts; each transaction has accounts of one server only.
 */
#include "workload/smallbank/load.h"

#include <algorithm>

namespace dtx::smallbank
{

namespace
{

constexpr uint32_t kBatch = 50;
constexpr uint32_t kPiece = 1000; /* customers of a piece */
constexpr uint32_t kCoroutines = 4;

struct Range {
    uint32_t first;
    uint32_t end;
    uint32_t step;
};

Task<void> open_accounts(Session &session, const Parameters &parameters, const Tables &tables,
                         Range range)
{
    Loader<Account> savings(session, tables.savings, kBatch);
    Loader<Account> checking(session, tables.checking, kBatch);

    for (uint64_t i = range.first; i < range.end; i += range.step) {
        uint32_t customer = static_cast<uint32_t>(i);

        co_await savings.add(customer, opening_savings(parameters, customer));
        co_await checking.add(customer, opening_checking(parameters, customer));
    }
    co_await savings.flush();
    co_await checking.flush();
}

} // namespace

void load(Session &session, const Parameters &parameters, const Tables &tables, const Share &share)
{
    uint32_t servers = parameters.servers;
    auto piece = [&, servers](uint64_t first, uint64_t end, uint32_t server) -> Piece {
        Range range{ static_cast<uint32_t>(first + server), static_cast<uint32_t>(end), servers };

        return [&session, &parameters, &tables, range] {
            return open_accounts(session, parameters, tables, range);
        };
    };

    load_pieces(session, pieces_by_server(parameters.accounts, kPiece, servers, share, piece),
                kCoroutines, share);
}

} // namespace dtx::smallbank
