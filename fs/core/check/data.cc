/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * data.cc: compare the blocks of all files, on each copy, with their checksums. The servers compute
 * them; if one is too old for that, this reads the blocks. Clients may write meanwhile: a block
 * whose checksum is wrong is read together with its pointer, in one transaction.
 *
 * Tests: tests/unit/fs/check/check_test.cpp, tests/fs/live_check.cpp
 */
#include "core/check/check.h"

#include "core/base/assert.h"
#include "core/check/repair.h"
#include "core/check/torn.h"
#include "core/format/keys.h"
#include <dtx/error.h>
#include <dtx/object.h>
#include <dtx/session.h>

#include <cstring>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace rfs
{

namespace
{

constexpr size_t kBlocksAtOnce = 256;

struct FileBlock {
    uint32_t ino;
    uint64_t number; /* of the block in the file */
    Pointer pointer;
};

class Data
{
  public:
    /* @alone: if not nullptr, its calls repair blocks that are damaged on one copy and whole on
     * another; @told gets a sentence for each. */
    Data(const OpenVolume &open, Client *alone, const TellRepair *told)
        : open_(open), tables_(open.volume.tables), alone_(alone), told_(told),
          session_(*open.cluster, dtx::kAnyCoordinator), bytes_(kBlocksAtOnce * kBlockBytes)
    {
        found_.rule("data", "each block has its checksum on each copy");
    }

    dtx::Findings run()
    {
        each(tables_.inodes, [this](uint64_t key, const InodeRow &row) {
            for (uint32_t i = 0; S_ISREG(row.mode) && i < kInodePointers; i++)
                add(static_cast<uint32_t>(key), i, row.pointers[i]);
        });
        each(tables_.maps, [this](uint64_t key, const MapRow &row) {
            for (uint32_t i = 0; i < kMapPointers; i++)
                add(upper_half(key), uint64_t{ lower_half(key) } * kMapPointers + i,
                    row.pointers[i]);
        });
        compare_all();
        return std::move(found_);
    }
    dtx::Counters counters() const
    {
        return session_.counters();
    }
    uint64_t repaired() const
    {
        return repaired_;
    }

  private:
    /* Leaves out rows that stay torn: check_tables() and check_live() tell them. */
    template <class Row, class Take> void each(dtx::Table<Row> table, Take take)
    {
        std::vector<unsigned char> again;

        open_.cluster->each_object(
            table.number, 0, [&](dtx::Address address, const unsigned char *image, uint32_t bytes) {
                Row row;

                if (!dtx::is_whole(image, bytes)) {
                    again.assign(image, image + bytes);
                    if (!read_whole(*open_.cluster, address, 0, again))
                        return;
                    image = again.data();
                }
                if ((dtx::header_of(image).flags & dtx::kObjectValid) == 0)
                    return;
                RFS_ASSERT(bytes >= sizeof(dtx::ObjectHeader) + sizeof(row));
                std::memcpy(&row, image + sizeof(dtx::ObjectHeader), sizeof(row));
                take(dtx::header_of(image).key, row);
            });
    }

    void add(uint32_t ino, uint64_t number, const Pointer &pointer)
    {
        if (number >= kFileBlocks || pointer.is_hole() || pointer.is_unwritten() ||
            !is_sound(pointer, open_.volume.shards, tables_.sizes.blocks()))
            return;
        some_.push_back({ ino, number, pointer });
        if (some_.size() == kBlocksAtOnce)
            compare_all();
    }

    /* Compares the blocks of some_, on each copy. */
    void compare_all()
    {
        for (uint32_t copy = 0; !some_.empty() && copy < open_.cluster->options().replicas;
             copy++) {
            can_sum_ = can_sum_ && sum_copy(copy);
            if (!can_sum_)
                read_copy(copy);
        }
        some_.clear();
    }

    /* Has the servers compute the checksums. False, and nothing is judged: a server cannot. */
    bool sum_copy(uint32_t copy)
    {
        std::vector<bool> there(some_.size());
        std::vector<uint64_t> sums(some_.size());

        try {
            (void)session_.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
                std::vector<dtx::SpanSum> wanted;

                for (size_t i = 0; i < some_.size(); i++) {
                    const FileBlock &block = some_[i];

                    there[i] = copy < txn.copies(block.pointer.shard());
                    if (there[i])
                        wanted.push_back({ tables_.blocks, block.pointer.shard(),
                                           block.pointer.block() * kBlockBytes, kBlockBytes,
                                           block_seed(block.ino, block.number), &sums[i], copy });
                }
                co_await txn.sum_span(wanted);
                co_return true;
            });
        } catch (const dtx::Error &error) {
            if (error.code() != RPM_E_NOCAP)
                throw;
            return false;
        }
        for (size_t i = 0; i < some_.size(); i++)
            if (there[i])
                judge(some_[i], copy, sums[i]);
        return true;
    }

    void read_copy(uint32_t copy)
    {
        std::vector<bool> there(some_.size());

        (void)session_.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
            std::vector<dtx::SpanRead> reads;

            for (size_t i = 0; i < some_.size(); i++) {
                there[i] = copy < txn.copies(some_[i].pointer.shard());
                if (there[i])
                    reads.push_back(span_of(some_[i].pointer, copy, &bytes_[i * kBlockBytes]));
            }
            co_await txn.read_span(reads);
            co_return true;
        });
        for (size_t i = 0; i < some_.size(); i++)
            if (there[i])
                judge(some_[i], copy,
                      block_sum(some_[i].ino, some_[i].number, &bytes_[i * kBlockBytes]));
    }

    dtx::SpanRead span_of(const Pointer &pointer, uint32_t copy, unsigned char *into) const
    {
        return { tables_.blocks, pointer.shard(), pointer.block() * kBlockBytes,
                 into,           kBlockBytes,     copy };
    }

    /* @sum: of the bytes on that copy. */
    void judge(const FileBlock &block, uint32_t copy, uint64_t sum)
    {
        bool wrong = sum != block.pointer.sum && is_wrong(block, copy);
        auto text = [&] {
            return "block " + std::to_string(block.number) + " of file " +
                   std::to_string(block.ino) + " is damaged on copy " + std::to_string(copy);
        };

        if (wrong && alone_ != nullptr && rewrite(block)) {
            (*told_)(text() + ": wrote it as it is on another copy");
            repaired_++;
        } else {
            found_.add_if(wrong, "data", text);
        }
    }

    /* Writes a block on all copies as it is on one that has its checksum. False: none has. */
    bool rewrite(const FileBlock &block)
    {
        std::vector<unsigned char> bytes(kBlockBytes);
        bool good = false;

        alone_->call_now(kSelf, [&](Call &call) -> dtx::Task<> {
            dtx::Txn &txn = call.txn;
            uint32_t copies = txn.copies(block.pointer.shard());

            for (uint32_t copy = 0; !good && copy < copies; copy++) {
                std::vector<dtx::SpanRead> reads{ span_of(block.pointer, copy, bytes.data()) };

                co_await txn.read_span(reads);
                good = block_sum(block.ino, block.number, bytes.data()) == block.pointer.sum;
            }
            if (good) {
                dtx::SpanWrite piece{ tables_.blocks, block.pointer.shard(),
                                      block.pointer.block() * kBlockBytes, bytes.data(),
                                      kBlockBytes };

                co_await txn.write_span({ &piece, 1 });
            }
        });
        return good;
    }

    /* Awaited: the pointer of a block, as the transaction reads it. */
    dtx::Task<Pointer> pointer_of(dtx::Txn &txn, FileBlock block) const
    {
        if (block.number < kInodePointers) {
            auto row = co_await txn.read(tables_.inodes, block.ino);

            if (row && S_ISREG(row->mode))
                co_return row->pointers[block.number];
            co_return Pointer{};
        }

        uint32_t number = static_cast<uint32_t>(block.number / kMapPointers);
        auto row = co_await txn.read(tables_.maps, key_of(block.ino, number));

        co_return row ? row->pointers[block.number % kMapPointers] : Pointer{};
    }

    /* Reads a block and its pointer in one transaction: is it wrong? */
    bool is_wrong(const FileBlock &block, uint32_t copy)
    {
        std::vector<unsigned char> bytes(kBlockBytes);
        bool wrong = false;

        (void)session_.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
            Pointer pointer = co_await pointer_of(txn, block);

            wrong = !pointer.is_hole() && !pointer.is_unwritten() &&
                    is_sound(pointer, open_.volume.shards, tables_.sizes.blocks()) &&
                    copy < txn.copies(pointer.shard());
            if (wrong) {
                std::vector<dtx::SpanRead> reads{ span_of(pointer, copy, bytes.data()) };

                co_await txn.read_span(reads);
                wrong = block_sum(block.ino, block.number, bytes.data()) != pointer.sum;
            }
            co_return true;
        });
        return wrong;
    }

    const OpenVolume &open_;
    const Tables &tables_;
    Client *alone_;
    const TellRepair *told_;
    uint64_t repaired_ = 0;
    dtx::Session session_;
    dtx::Findings found_;
    std::vector<FileBlock> some_;
    bool can_sum_ = true; /* the servers, as far as known */
    std::vector<unsigned char> bytes_;
};

} // namespace

dtx::Findings check_data(const OpenVolume &open, dtx::Counters *counters)
{
    Data data(open, nullptr, nullptr);
    dtx::Findings found = data.run();

    if (counters != nullptr)
        *counters = data.counters();
    return found;
}

uint64_t repair_data(const OpenVolume &open, Client &alone, const TellRepair &told)
{
    Data data(open, &alone, &told);

    (void)data.run();
    return data.repaired();
}

} // namespace rfs
