/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * round.cc: send, and wait for all, also when one of them fails: what is borrowed is theirs until
 * then.
 *
 * Tests: tests/unit/dtx/engine/round_test.cpp
 */
#include "engine/round.h"

#include "engine/store.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

/* What always goes in one post. */
static constexpr size_t kPatchesMax = 32;
static constexpr uint64_t kPatchesBytesMax = 256 << 10;

Round::Round(Store &store, Via via) : store_(store), joined_(store.joined()), via_(via) {}

/* Somebody joined again: the old locks and the old claim are not ours any more, and what we would
 * do now nobody would undo. */
[[noreturn, gnu::cold]] static void fail_joined()
{
    throw Fenced(RPM_E_FENCED, "another coroutine of this session has joined again");
}

inline void Round::check_joined() const
{
    if (joined_ != store_.joined()) [[unlikely]]
        fail_joined();
}

/* For one more operation on the primary of a shard: where it is done when it is added; nullptr:
 * when the round is run. */
inline Port *Round::at_once(uint32_t shard)
{
    check_joined();
    store_.remote()++;
    return via_ != Via::call ? store_.near(shard) : nullptr;
}

void Round::stage(const Port &port, const Operation &op)
{
    ops_.push_back({ port.server(), stage_, op });
}

void Round::stage(const Operation &op)
{
    stage(store_.port(store_.server_of(op.shard, 0)), op);
}

void Round::read(Address address, void *bytes, uint32_t count)
{
    uint32_t shard = address.shard();
    uint64_t offset = store_.layout().row_offset(address);

    if (Port *port = at_once(shard))
        port->read(shard, offset, bytes, count);
    else
        stage({ Operation::read, shard, offset, bytes, count });
}

void Round::version(Address address, uint64_t *version)
{
    read(address, version, sizeof(*version));
}

void Round::lock_word(Address address, uint64_t *word)
{
    uint32_t shard = address.shard();
    uint64_t offset = store_.layout().lock_offset(address);

    if (Port *port = at_once(shard))
        *word = port->lock_word(shard, offset);
    else
        stage({ Operation::read_lock, shard, offset, word, sizeof(*word) });
}

void Round::compare_and_swap(Address address, uint64_t expect, uint64_t desired, uint64_t *found)
{
    uint32_t shard = address.shard();
    uint64_t offset = store_.layout().lock_offset(address);

    if (Port *port = at_once(shard))
        *found = port->compare_and_swap(shard, offset, expect, desired);
    else
        stage({ Operation::swap_lock, shard, offset, found, sizeof(*found), expect, desired });
}

/* Where steps interleave, others come between the operations of a round. */
void Round::write(uint32_t shard, uint32_t copy, std::span<const rpm_patch> patches)
{
    check_joined();

    Port &port = store_.port(store_.server_of(shard, copy));

    store_.remote() += patches.size();
    if (via_ != Via::call && port.places() && !store_.scheduler().interleaves()) {
        port.write(shard, patches);
        return;
    }
    for (const rpm_patch &patch : patches)
        stage(port,
              { Operation::write, shard, patch.offset, const_cast<void *>(patch.data), patch.len });
}

/* One after the other: what cannot be sent is the round's failure. */
template <class Send> Task<> Round::submit(Send send)
{
    int err = RPM_E_BUSY;

    co_await store_.scheduler().step();
    while (err == RPM_E_BUSY) {
        /* Somebody joined again: the old locks and the old claim are not ours any more. */
        err = joined_ != store_.joined() ? int(RPM_E_FENCED) : send();
        if (err == RPM_E_BUSY)
            co_await store_.scheduler().turn();
    }
    if (err != 0 && pending_->status == 0)
        pending_->status = err;
}

Task<> Round::wait()
{
    if (joined_ == store_.joined())
        store_.poll_mapped();
    if (pending_->remaining == 0)
        co_return;
    store_.round_trips()++;
    co_await Scheduler::Wait{ pending_->waiting };
}

/* How many operations from @first on are writes to the same rows' region that go together. */
size_t Round::take_writes(size_t first, size_t end)
{
    const Staged &begin = ops_[first];
    uint64_t bytes = 0;

    patches_.clear();
    for (size_t i = first; i < end && patches_.size() < kPatchesMax; i++) {
        const Operation &op = ops_[i].op;

        bytes += op.count;
        if (op.kind != Operation::write || ops_[i].server != begin.server ||
            op.shard != begin.op.shard || (i > first && bytes > kPatchesBytesMax))
            break;
        patches_.push_back({ op.offset, op.bytes, op.count, 0 });
    }
    return patches_.size();
}

Task<> Round::send_stage(size_t first, size_t end)
{
    for (size_t i = first, n; i < end && pending_->status == 0; i += n) {
        const Staged &staged = ops_[i];

        n = std::max<size_t>(take_writes(i, end), 1);
        if (n > 1)
            co_await submit([this, &staged] {
                return store_.port(staged.server)
                    .send_writes(staged.op.shard, patches_, pending_.get());
            });
        else
            co_await submit([this, &staged] {
                return store_.port(staged.server).send(staged.op, pending_.get());
            });
    }
    if (waits_ || end < ops_.size() || pending_->status != 0)
        co_await wait();
}

namespace
{

/* Of a message and its answer. <librpm/steps.h> says what a step takes. */
struct Room {
    uint64_t message = 0;
    uint64_t answer = 0;
    uint32_t steps = 0;

    /* False: no room for it. */
    bool take(const Operation &op)
    {
        uint64_t bytes = (op.count + 7) / 8 * 8;
        Room with{ message, answer, steps + 1 };

        with.message += op.kind == Operation::write       ? 16 + bytes
                        : op.kind == Operation::swap_lock ? 32
                                                          : 16;
        with.answer += op.kind == Operation::write ? 0 : bytes;
        if (with.message > kMessageBytes || with.answer > kAnswerBytes ||
            with.steps > RPM_STEPS_MAX)
            return false;
        *this = with;
        return true;
    }
};

} // namespace

/* Does each of the operations go into a message? */
bool Round::fits() const
{
    return std::all_of(ops_.begin(), ops_.end(),
                       [](const Staged &staged) { return Room{}.take(staged.op); });
}

bool Round::wants_lists() const
{
    if (via_ != Via::fewest)
        return via_ == Via::call && fits();
    return !ops_.empty() && ops_.front().stage != ops_.back().stage &&
           std::none_of(
               ops_.begin(), ops_.end(),
               [this](const Staged &staged) { return store_.port(staged.server).places(); }) &&
           fits();
}

/* As much as goes into one message to each server, in order. */
void Round::take_lists()
{
    std::vector<Room> rooms(store_.ports());
    std::vector<bool> full(store_.ports());
    std::vector<Staged> rest;

    lists_.resize(store_.ports());
    for (std::vector<rpm_step> &list : lists_)
        list.clear();
    for (const Staged &staged : ops_) {
        full[staged.server] = full[staged.server] || !rooms[staged.server].take(staged.op);
        if (full[staged.server])
            rest.push_back(staged);
        else
            lists_[staged.server].push_back(store_.port(staged.server).step_of(staged.op));
    }
    ops_ = std::move(rest);
}

Task<> Round::send_lists()
{
    while (!ops_.empty() && pending_->status == 0 && joined_ == store_.joined()) {
        take_lists();
        for (uint32_t server = 0; server < lists_.size(); server++)
            if (!lists_[server].empty())
                co_await submit([this, server] {
                    return store_.port(server).send_steps(lists_[server], pending_.get());
                });
        if (waits_ || !ops_.empty() || pending_->status != 0)
            co_await wait();
    }
    if (joined_ != store_.joined() && pending_->status == 0)
        pending_->status = RPM_E_FENCED;
}

Task<> Round::send_all()
{
    pending_ = store_.new_pending();
    if (wants_lists())
        co_await send_lists();
    for (size_t first = 0, end; first < ops_.size() && pending_->status == 0; first = end) {
        for (end = first; end < ops_.size() && ops_[end].stage == ops_[first].stage;)
            end++;
        co_await send_stage(first, end);
    }
    ops_.clear();
    check(pending_->status, "a round trip to the servers");
}

} // namespace dtx
