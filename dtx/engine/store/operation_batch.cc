/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operation_batch.cc: send the operations and wait until all have ended. Also when one of them
 * fails, the batch waits for the others: until then librpm reads and writes the caller's buffers.
 *
 * Tests: tests/unit/dtx/engine/store/operation_batch_test.cpp
 */
#include "engine/store/operation_batch.h"

#include "engine/base/assert.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

/* Limits that fit into one librpm call on any link. */
static constexpr size_t kPatchesMax = 32;
static constexpr uint64_t kPatchesBytesMax = 256 << 10;

/* Another coroutine had the session join again. This batch's transaction belongs to the old claims:
 * its locks are freed already, and no recovery would undo what it writes now. */
[[gnu::cold]] void OperationBatch::fail_joined()
{
    throw Fenced(RPM_E_FENCED, "another coroutine of this session has joined again");
}

void OperationBatch::stage(const ServerConnection &connection, const Operation &op)
{
    if (!deferred_)
        deferred_.emplace();
    DTX_ASSERT(deferred_->ops.empty() || deferred_->ops.back().stage <= stage_);
    deferred_->ops.push_back({ connection.server(), stage_, op });
}

void OperationBatch::stage(const Operation &op)
{
    stage(servers_.primary(op.shard), op);
}

/* The connection to the server of a copy, for @operations on it. */
ServerConnection &OperationBatch::copy_of(uint32_t shard, uint32_t copy, uint64_t operations)
{
    check_joined();
    DTX_ASSERT(copy < servers_.copies(shard).size());
    servers_.remote() += operations;
    return *servers_.copies(shard)[copy];
}

/* Is an operation carried out when it is added? Where steps interleave, operations are staged, so
 * that other coroutines run between them. */
bool OperationBatch::ends_at_once(const ServerConnection &connection) const
{
    return via_ != Via::call && connection.is_mapped() && !servers_.scheduler().interleaves();
}

void OperationBatch::read_copy(uint32_t shard, uint32_t copy, uint64_t offset, void *bytes,
                               uint64_t count)
{
    ServerConnection &connection = copy_of(shard, copy, 1);

    if (ends_at_once(connection))
        connection.read(shard, offset, bytes, count);
    else
        stage(connection, { Operation::read, shard, offset, bytes, count });
}

void OperationBatch::sum_copy(uint32_t shard, uint32_t copy, uint64_t offset, uint64_t count,
                              uint64_t seed, uint64_t *sum)
{
    DTX_ASSERT(via_ == Via::call && count > 0 && count <= RPM_SUM_BYTES_MAX);
    stage(copy_of(shard, copy, 1), { Operation::sum, shard, offset, sum, count, 0, seed });
}

void OperationBatch::write(uint32_t shard, uint32_t copy, std::span<const rpm_patch> patches)
{
    ServerConnection &connection = copy_of(shard, copy, patches.size());

    if (ends_at_once(connection)) {
        connection.write(shard, patches);
        return;
    }
    for (const rpm_patch &patch : patches)
        stage(connection,
              { Operation::write, shard, patch.offset, const_cast<void *>(patch.data), patch.len });
}

/* Sends one operation or message, waiting while the queue is full. An error becomes the status of
 * the batch. */
template <class Send> Task<> OperationBatch::submit(Send send)
{
    int err = RPM_E_BUSY;

    co_await servers_.scheduler().step();
    while (err == RPM_E_BUSY) {
        /* After the session has joined again, an operation on the old connection must not be sent.
         * */
        err = joined_ != servers_.joined() ? int(RPM_E_FENCED) : send();
        if (err == RPM_E_BUSY)
            co_await servers_.scheduler().turn();
    }
    if (err != 0 && deferred_->pending->status == 0)
        deferred_->pending->status = err;
}

Task<> OperationBatch::wait()
{
    if (joined_ == servers_.joined())
        servers_.poll_mapped();
    if (deferred_->pending->remaining == 0)
        co_return;
    servers_.round_trips()++;
    co_await Scheduler::Wait{ deferred_->pending->waiting };
}

/* Puts the operations from @first on into a list of patches, as long as they are writes to one
 * shard that fit into one call of librpm. Returns how many. */
size_t OperationBatch::take_writes(size_t first, size_t end)
{
    const Staged &begin = deferred_->ops[first];
    uint64_t bytes = 0;

    deferred_->patches.clear();
    for (size_t i = first; i < end && deferred_->patches.size() < kPatchesMax; i++) {
        const Operation &op = deferred_->ops[i].op;

        bytes += op.count;
        if (op.kind != Operation::write || deferred_->ops[i].server != begin.server ||
            op.shard != begin.op.shard || (i > first && bytes > kPatchesBytesMax))
            break;
        deferred_->patches.push_back({ op.offset, op.bytes, op.count, 0 });
    }
    return deferred_->patches.size();
}

Task<> OperationBatch::send_stage(size_t first, size_t end)
{
    for (size_t i = first, n; i < end && deferred_->pending->status == 0; i += n) {
        const Staged &staged = deferred_->ops[i];

        n = std::max<size_t>(take_writes(i, end), 1);
        if (n > 1)
            co_await submit([this, &staged] {
                return servers_.connection(staged.server)
                    .send_writes(staged.op.shard, deferred_->patches, deferred_->pending.get());
            });
        else
            co_await submit([this, &staged] {
                return servers_.connection(staged.server).send(staged.op, deferred_->pending.get());
            });
    }
    if (waits_ || end < deferred_->ops.size() || deferred_->pending->status != 0)
        co_await wait();
}

namespace
{

/* The bytes of a message and of its answer. <librpm/steps.h> has the size of each step. */
struct Room {
    uint64_t message = 0;
    uint64_t answer = 0;
    uint32_t steps = 0;
    uint64_t summed = 0; /* bytes */

    /* False: the operation does not fit, and nothing was taken. */
    bool take(const Operation &op)
    {
        bool sum = op.kind == Operation::sum;
        uint64_t bytes = sum ? 8 : (op.count + 7) / 8 * 8;
        Room with{ message, answer, steps + 1, summed + (sum ? op.count : 0) };

        with.message += op.kind == Operation::write              ? 16 + bytes
                        : op.kind == Operation::swap_lock || sum ? 32
                                                                 : 16;
        with.answer += op.kind == Operation::write ? 0 : bytes;
        if (with.message > kMessageBytes || with.answer > kAnswerBytes ||
            with.steps > RPM_STEPS_MAX || with.summed > RPM_SUM_BYTES_MAX)
            return false;
        *this = with;
        return true;
    }
};

} // namespace

/* Does each operation by itself fit into a message? */
bool OperationBatch::fits() const
{
    return std::all_of(deferred_->ops.begin(), deferred_->ops.end(),
                       [](const Staged &staged) { return Room{}.take(staged.op); });
}

bool OperationBatch::wants_lists() const
{
    if (via_ != Via::fewest)
        return via_ == Via::call && fits();
    return !deferred_->ops.empty() && deferred_->ops.front().stage != deferred_->ops.back().stage &&
           std::none_of(deferred_->ops.begin(), deferred_->ops.end(),
                        [this](const Staged &staged) {
                            return servers_.connection(staged.server).is_mapped();
                        }) &&
           fits();
}

/* Moves operations, in order, into one message to each server, until it is full. */
void OperationBatch::take_lists()
{
    std::vector<Room> rooms(servers_.count());
    std::vector<bool> full(servers_.count());
    std::vector<Staged> rest;

    DTX_ASSERT(deferred_->pending->remaining == 0); /* else librpm still borrows the lists */
    deferred_->lists.resize(servers_.count());
    for (std::vector<rpm_step> &list : deferred_->lists)
        list.clear();
    for (const Staged &staged : deferred_->ops) {
        full[staged.server] = full[staged.server] || !rooms[staged.server].take(staged.op);
        if (full[staged.server])
            rest.push_back(staged);
        else
            deferred_->lists[staged.server].push_back(
                servers_.connection(staged.server).step_of(staged.op));
    }
    DTX_ASSERT(rest.size() < deferred_->ops.size()); /* each operation fits() */
    deferred_->ops = std::move(rest);
}

Task<> OperationBatch::send_lists()
{
    while (!deferred_->ops.empty() && deferred_->pending->status == 0 &&
           joined_ == servers_.joined()) {
        take_lists();
        for (uint32_t server = 0; server < deferred_->lists.size(); server++)
            if (!deferred_->lists[server].empty())
                co_await submit([this, server] {
                    return servers_.connection(server).send_steps(deferred_->lists[server],
                                                                  deferred_->pending.get());
                });
        if (waits_ || !deferred_->ops.empty() || deferred_->pending->status != 0)
            co_await wait();
    }
    if (joined_ != servers_.joined() && deferred_->pending->status == 0)
        deferred_->pending->status = RPM_E_FENCED;
}

Task<> OperationBatch::send_all()
{
    deferred_->pending = servers_.new_pending();
    if (wants_lists())
        co_await send_lists();
    for (size_t first = 0, end; first < deferred_->ops.size() && deferred_->pending->status == 0;
         first = end) {
        for (end = first; end < deferred_->ops.size() &&
                          deferred_->ops[end].stage == deferred_->ops[first].stage;)
            end++;
        co_await send_stage(first, end);
    }
    DTX_ASSERT(!waits_ || deferred_->pending->remaining == 0);
    deferred_->ops.clear();
    check(deferred_->pending->status, "a round trip to the servers");
}

} // namespace dtx
