/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history.h: a history in memory: transactions and objects as small indices.
 *
 * A transaction that has no line, but is named as the writer of a version that was read, has an
 * index too, and TxnOutcome::kAbsent. Index 0 is the initial load.
 *
 * Tests: tests/unit/dtx/history/reader_test.cpp, directed_test.cpp
 */
#ifndef DTX_HISTORY_HISTORY_H
#define DTX_HISTORY_HISTORY_H

#include "history/entry.h"
#include "history/intern.h"
#include "history/reader.h"

#include <span>
#include <string>
#include <vector>

namespace dtx::history
{

inline constexpr uint32_t kLoad = 0; /* the initial load, as a transaction */

enum class TxnOutcome : uint8_t { kCommitted, kAborted, kUnknown, kAbsent };

/* One access; for a read with the writer that the reader recorded. */
struct Item {
    uint64_t version;
    uint32_t object;
    uint32_t writer;
};

struct Txn {
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;
    uint64_t first = 0; /* index of its first item: reads, then writes */
    uint32_t reads = 0;
    uint32_t writes = 0;
    uint32_t session = 0;
    TxnOutcome outcome = TxnOutcome::kAbsent;
};

class History : public Sink
{
  public:
    History();

    /* Several files form one history: of several processes, or a final state from another program.
     */
    void header(const Header &header) override;
    std::string entry(const Entry &entry) override;
    std::string final_state(std::span<const Access> objects) override;

    /* Do all files say that the database was loaded for this history? */
    bool fresh() const
    {
        return fresh_;
    }

    uint32_t txns() const
    {
        return ids_.size();
    }

    uint32_t objects() const
    {
        return objects_.size();
    }

    const Txn &txn(uint32_t index) const
    {
        return txns_[index];
    }

    uint64_t txn_id(uint32_t index) const
    {
        return ids_.key(index);
    }

    uint64_t object_id(uint32_t index) const
    {
        return objects_.key(index);
    }

    std::span<const Item> reads(uint32_t index) const
    {
        return std::span(items_).subspan(txns_[index].first, txns_[index].reads);
    }

    std::span<const Item> writes(uint32_t index) const
    {
        const Txn &txn = txns_[index];

        return std::span(items_).subspan(txn.first + txn.reads, txn.writes);
    }

    std::span<const Item> final_items() const
    {
        return final_;
    }

  private:
    uint32_t intern_txn(uint64_t id);
    Item item(const Access &access, bool seen);

    Interner ids_;
    Interner objects_;
    std::vector<Txn> txns_;
    std::vector<Item> items_;
    std::vector<Item> final_;
    bool fresh_ = true;
};

} // namespace dtx::history
#endif
