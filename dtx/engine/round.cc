/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * round.cc: send, and wait for all, also when one of them fails: what is borrowed is theirs until
 * then.
 *
 * Tests: tests/unit/dtx/engine/round_test.cpp
 */
#include "engine/round.h"

#include "engine/error.h"
#include "engine/store.h"

namespace dtx
{

Round::Round(Store &store) : store_(store), joined_(store.joined()) {}

Port &Round::primary(Address address)
{
    return store_.port(store_.server_of(address.shard(), 0));
}

void Round::add(uint32_t server, const Operation &op)
{
    store_.remote()++;
    if (store_.port(server).places())
        store_.port(server).carry_out(op);
    else
        ops_.push_back({ server, stage_, op });
}

void Round::read(Address address, unsigned char *image, uint32_t bytes)
{
    add(primary(address).server(),
        { Operation::read, address.shard(), store_.layout().row_offset(address), image, bytes });
}

void Round::version(Address address, uint64_t *version)
{
    add(primary(address).server(),
        { Operation::read, address.shard(), store_.layout().row_offset(address), version,
          sizeof(*version) });
}

void Round::lock_word(Address address, uint64_t *word)
{
    add(primary(address).server(), { Operation::read_lock, address.shard(),
                                     store_.layout().lock_offset(address), word, sizeof(*word) });
}

void Round::compare_and_swap(Address address, uint64_t expect, uint64_t desired, uint64_t *found)
{
    add(primary(address).server(),
        { Operation::swap_lock, address.shard(), store_.layout().lock_offset(address), found,
          sizeof(*found), expect, desired });
}

void Round::write(uint32_t shard, uint32_t copy, std::span<const rpm_patch> patches)
{
    Port &port = store_.port(store_.server_of(shard, copy));

    if (port.places()) {
        store_.remote() += patches.size();
        port.write(shard, patches);
        return;
    }
    for (const rpm_patch &patch : patches)
        add(port.server(),
            { Operation::write, shard, patch.offset, const_cast<void *>(patch.data), patch.len });
}

/* All of one stage, and wait for them. What cannot be sent is the round's failure, but those that
 * were sent are waited for. */
Task<> Round::send_stage(size_t first, size_t end)
{
    for (size_t i = first; i < end && pending_->status == 0; i++) {
        const Staged &staged = ops_[i];
        int err;

        /* Somebody joined again: the old locks and the old claim are not ours any more. */
        while ((err = joined_ != store_.joined()
                          ? int(RPM_E_FENCED)
                          : store_.port(staged.server).send(staged.op, pending_.get())) ==
               RPM_E_BUSY)
            co_await store_.scheduler().turn();
        if (err != 0)
            pending_->status = err;
    }
    if (joined_ == store_.joined())
        store_.poll();
    if (pending_->remaining > 0)
        co_await Scheduler::Wait{ pending_->waiting };
}

Task<> Round::send_all()
{
    pending_ = store_.new_pending();
    for (size_t first = 0, end; first < ops_.size() && pending_->status == 0; first = end) {
        for (end = first; end < ops_.size() && ops_[end].stage == ops_[first].stage;)
            end++;
        co_await send_stage(first, end);
    }
    ops_.clear();
    check(pending_->status, "a round trip to the servers");
}

} // namespace dtx
