/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * round.cc: send, and wait for all, also when one of them fails: what is borrowed is theirs until
 * then.
 *
 * Tests: tests/unit/dtx/engine/round_test.cpp
 */
#include "engine/round.h"

#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

/* What always goes in one post. */
static constexpr size_t kPatchesMax = 32;
static constexpr uint64_t kPatchesBytesMax = 256 << 10;

/* Somebody joined again: the old locks and the old claim are not ours any more, and what we would
 * do now nobody would undo. */
[[gnu::cold]] void Round::fail_joined()
{
    throw Fenced(RPM_E_FENCED, "another coroutine of this session has joined again");
}

void Round::stage(const Port &port, const Operation &op)
{
    if (!far_)
        far_.emplace();
    far_->ops.push_back({ port.server(), stage_, op });
}

void Round::stage(const Operation &op)
{
    stage(store_.port(store_.server_of(op.shard, 0)), op);
}

/* Where steps interleave, others come between the operations of a round. */
void Round::write(uint32_t shard, uint32_t copy, std::span<const rpm_patch> patches)
{
    check_joined();

    Port &port = *store_.copies(shard)[copy];

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
    if (err != 0 && far_->pending->status == 0)
        far_->pending->status = err;
}

Task<> Round::wait()
{
    if (joined_ == store_.joined())
        store_.poll_mapped();
    if (far_->pending->remaining == 0)
        co_return;
    store_.round_trips()++;
    co_await Scheduler::Wait{ far_->pending->waiting };
}

/* How many operations from @first on are writes to the same rows' region that go together. */
size_t Round::take_writes(size_t first, size_t end)
{
    const Staged &begin = far_->ops[first];
    uint64_t bytes = 0;

    far_->patches.clear();
    for (size_t i = first; i < end && far_->patches.size() < kPatchesMax; i++) {
        const Operation &op = far_->ops[i].op;

        bytes += op.count;
        if (op.kind != Operation::write || far_->ops[i].server != begin.server ||
            op.shard != begin.op.shard || (i > first && bytes > kPatchesBytesMax))
            break;
        far_->patches.push_back({ op.offset, op.bytes, op.count, 0 });
    }
    return far_->patches.size();
}

Task<> Round::send_stage(size_t first, size_t end)
{
    for (size_t i = first, n; i < end && far_->pending->status == 0; i += n) {
        const Staged &staged = far_->ops[i];

        n = std::max<size_t>(take_writes(i, end), 1);
        if (n > 1)
            co_await submit([this, &staged] {
                return store_.port(staged.server)
                    .send_writes(staged.op.shard, far_->patches, far_->pending.get());
            });
        else
            co_await submit([this, &staged] {
                return store_.port(staged.server).send(staged.op, far_->pending.get());
            });
    }
    if (waits_ || end < far_->ops.size() || far_->pending->status != 0)
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
    return std::all_of(far_->ops.begin(), far_->ops.end(),
                       [](const Staged &staged) { return Room{}.take(staged.op); });
}

bool Round::wants_lists() const
{
    if (via_ != Via::fewest)
        return via_ == Via::call && fits();
    return !far_->ops.empty() && far_->ops.front().stage != far_->ops.back().stage &&
           std::none_of(
               far_->ops.begin(), far_->ops.end(),
               [this](const Staged &staged) { return store_.port(staged.server).places(); }) &&
           fits();
}

/* As much as goes into one message to each server, in order. */
void Round::take_lists()
{
    std::vector<Room> rooms(store_.ports());
    std::vector<bool> full(store_.ports());
    std::vector<Staged> rest;

    far_->lists.resize(store_.ports());
    for (std::vector<rpm_step> &list : far_->lists)
        list.clear();
    for (const Staged &staged : far_->ops) {
        full[staged.server] = full[staged.server] || !rooms[staged.server].take(staged.op);
        if (full[staged.server])
            rest.push_back(staged);
        else
            far_->lists[staged.server].push_back(store_.port(staged.server).step_of(staged.op));
    }
    far_->ops = std::move(rest);
}

Task<> Round::send_lists()
{
    while (!far_->ops.empty() && far_->pending->status == 0 && joined_ == store_.joined()) {
        take_lists();
        for (uint32_t server = 0; server < far_->lists.size(); server++)
            if (!far_->lists[server].empty())
                co_await submit([this, server] {
                    return store_.port(server).send_steps(far_->lists[server], far_->pending.get());
                });
        if (waits_ || !far_->ops.empty() || far_->pending->status != 0)
            co_await wait();
    }
    if (joined_ != store_.joined() && far_->pending->status == 0)
        far_->pending->status = RPM_E_FENCED;
}

Task<> Round::send_all()
{
    far_->pending = store_.new_pending();
    if (wants_lists())
        co_await send_lists();
    for (size_t first = 0, end; first < far_->ops.size() && far_->pending->status == 0;
         first = end) {
        for (end = first; end < far_->ops.size() && far_->ops[end].stage == far_->ops[first].stage;)
            end++;
        co_await send_stage(first, end);
    }
    far_->ops.clear();
    check(far_->pending->status, "a round trip to the servers");
}

} // namespace dtx
