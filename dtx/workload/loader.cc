/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loader.cc: several coroutines load pieces until none is left.
 */
#include "workload/loader.h"

namespace dtx
{

namespace
{

Task<void> take_pieces(const std::vector<Piece> &pieces, size_t &next, const Share &share)
{
    while (next < pieces.size() && !share.stopped()) {
        size_t mine = next++;

        co_await pieces[mine]();
        if (share.count != nullptr)
            share.count->done++;
    }
}

} // namespace

void load_pieces(Session &session, const std::vector<Piece> &pieces, uint32_t coroutines,
                 const Share &share)
{
    std::vector<Task<void>> tasks;
    size_t next = 0;

    if (share.count != nullptr) {
        share.count->pieces += pieces.size();
        share.count->shares++;
    }
    for (uint32_t i = 0; i < coroutines; i++)
        tasks.push_back(take_pieces(pieces, next, share));
    session.run(std::move(tasks));
    if (next < pieces.size())
        throw Error(0, "stopped in the middle of the load");
}

} // namespace dtx
