/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operation_batch.h: operations on the servers' memory that one coroutine has under way together
 * and waits for once.
 *
 * Via::one_sided: where this process has a server's memory mapped, an operation is carried out when
 * it is added. For all other servers, the operations of a stage are sent together when the batch is
 * run: one round trip for each stage. Via::call: each server gets one message with all of its
 * operations, and its CPU carries them out in the order in which they were added, whatever their
 * stage. Via::fewest: by call over links if there are several stages, else one-sided.
 *
 * Tests: tests/unit/dtx/engine/store/operation_batch_test.cpp
 */
#ifndef DTX_ENGINE_OPERATION_BATCH_H
#define DTX_ENGINE_OPERATION_BATCH_H

#include "engine/base/assert.h"
#include "engine/cluster/servers.h"
#include "engine/format/txn_number.h"
#include <dtx/address.h>
#include <dtx/task.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace dtx
{

/* Limits of a message and of its answer, in bytes. The server adds one word to the answer. */
inline constexpr uint64_t kMessageBytes = 4096;
inline constexpr uint64_t kAnswerBytes = 4096 - 8;

class OperationBatch
{
  public:
    explicit OperationBatch(Servers &servers, Via via = Via::fewest)
        : servers_(servers), joined_(servers.joined()), via_(via)
    {
    }
    OperationBatch(const OperationBatch &) = delete;
    OperationBatch &operator=(const OperationBatch &) = delete;

    /* Read an object from the shard's primary into @bytes. This and the out parameters below are
     * borrowed, and filled, until run() has been awaited. */
    void read(Address address, void *bytes, uint32_t count);
    /* Read bytes of a shard from its copy @copy. */
    void read_copy(uint32_t shard, uint32_t copy, uint64_t offset, void *bytes, uint64_t count);
    /* The checksum of bytes of a shard, of copy @copy. By call only. */
    void sum_copy(uint32_t shard, uint32_t copy, uint64_t offset, uint64_t count, uint64_t seed,
                  uint64_t *sum);
    /* Read the version of an object alone. */
    void version(Address address, uint64_t *version);
    void lock_word(Address address, uint64_t *word);
    /* Of a shard: which claim's locks of a coordinator count. */
    void claim_word(uint32_t shard, uint32_t coordinator, uint64_t *word);
    void compare_and_swap(Address address, uint64_t expect, uint64_t desired, uint64_t *found);
    /* Write to copy @copy of a shard. The bytes are borrowed until run() has been awaited. */
    void write(uint32_t shard, uint32_t copy, std::span<const rpm_patch> patches);

    /* Begin a stage: each server carries out its operations after those of earlier stages. */
    void then()
    {
        stage_++;
    }

    /* Awaited: send the operations and wait until all have ended. Throws Fenced, Error. */
    struct Run {
        bool await_ready() const noexcept
        {
            return batch.is_done();
        }
        bool await_suspend(std::coroutine_handle<> awaiting)
        {
            task.emplace(batch.send_all());
            return task->await_suspend(awaiting);
        }
        void await_resume()
        {
            if (task)
                task->await_resume();
        }
        OperationBatch &batch;
        std::optional<Task<>> task{};
    };
    Run run()
    {
        return Run{ *this };
    }

    /* Awaited: as run(), but without waiting for the operations that are sent last; leave() returns
     * them, to be waited for later. The bytes of writes are not borrowed any more. */
    Run send()
    {
        waits_ = false;
        return Run{ *this };
    }
    Sent leave()
    {
        DTX_ASSERT(!waits_ && is_done());
        return deferred_ ? Sent{ std::move(deferred_->pending), std::move(deferred_->lists) }
                         : Sent{};
    }
    /* Have all operations that were added ended? */
    bool is_done() const
    {
        return !deferred_ || deferred_->ops.empty();
    }

  private:
    struct Staged {
        uint32_t server;
        uint32_t stage;
        Operation op;
    };

    /* State of a batch that cannot complete at once. */
    struct Deferred {
        std::vector<Staged> ops; /* not sent yet */
        std::vector<std::vector<rpm_step>>
            lists; /* by server: the steps of the message to its CPU */
        std::vector<rpm_patch> patches;
        std::shared_ptr<Pending> pending;
    };

    [[noreturn]] static void fail_joined();
    void check_joined() const
    {
        if (joined_ != servers_.joined()) [[unlikely]]
            fail_joined();
    }
    /* Counts an operation on the primary of a shard. Returns the connection on which to carry it
     * out now; nullptr: it is to be staged. */
    ServerConnection *at_once(uint32_t shard)
    {
        check_joined();
        servers_.remote()++;
        return via_ != Via::call ? servers_.mapped(shard) : nullptr;
    }
    ServerConnection &copy_of(uint32_t shard, uint32_t copy, uint64_t operations);
    bool ends_at_once(const ServerConnection &connection) const;
    void read_word(uint32_t shard, uint64_t offset, uint64_t *word);
    void stage(const ServerConnection &connection, const Operation &op);
    void stage(const Operation &op); /* on the primary */
    Task<> send_all();
    Task<> send_stage(size_t first, size_t end);
    Task<> send_lists();
    template <class Send> Task<> submit(Send send);
    Task<> wait();
    size_t take_writes(size_t first, size_t end);
    bool fits() const;
    bool wants_lists() const;
    void take_lists();

    Servers &servers_;
    uint64_t joined_;
    Via via_;
    uint32_t stage_ = 0;
    bool waits_ = true; /* for the operations that are sent last */
    std::optional<Deferred> deferred_;
};

inline void OperationBatch::read(Address address, void *bytes, uint32_t count)
{
    uint32_t shard = address.shard();
    uint64_t offset = servers_.layout().row_offset(address);

    if (ServerConnection *connection = at_once(shard))
        connection->read(shard, offset, bytes, count);
    else
        stage({ Operation::read, shard, offset, bytes, count });
}

inline void OperationBatch::version(Address address, uint64_t *version)
{
    read(address, version, sizeof(*version));
}

inline void OperationBatch::read_word(uint32_t shard, uint64_t offset, uint64_t *word)
{
    if (ServerConnection *connection = at_once(shard))
        *word = connection->lock_word(shard, offset);
    else
        stage({ Operation::read_lock, shard, offset, word, sizeof(*word) });
}

inline void OperationBatch::lock_word(Address address, uint64_t *word)
{
    read_word(address.shard(), servers_.layout().lock_offset(address), word);
}

inline void OperationBatch::claim_word(uint32_t shard, uint32_t coordinator, uint64_t *word)
{
    read_word(shard, claim_offset(coordinator), word);
}

inline void OperationBatch::compare_and_swap(Address address, uint64_t expect, uint64_t desired,
                                             uint64_t *found)
{
    uint32_t shard = address.shard();
    uint64_t offset = servers_.layout().lock_offset(address);

    if (ServerConnection *connection = at_once(shard))
        *found = connection->compare_and_swap(shard, offset, expect, desired);
    else
        stage({ Operation::swap_lock, shard, offset, found, sizeof(*found), expect, desired });
}

} // namespace dtx
#endif
