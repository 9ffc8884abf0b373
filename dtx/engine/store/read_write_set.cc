/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_write_set.cc: accesses in chunks that do not move, found by address in a hash table.
 *
 * Tests: tests/unit/dtx/engine/store/read_write_set_test.cpp
 */
#include <dtx/read_write_set.h>

#include "engine/base/assert.h"

#include <algorithm>

namespace dtx
{

static constexpr uint32_t kTableFirst = 64;
static constexpr uint32_t kFew = 8;

ReadWriteSet::ReadWriteSet() : table_(kTableFirst)
{
    chunks_.push_back(std::make_unique<std::array<Access, kChunk>>());
    blocks_.push_back(std::make_unique<unsigned char[]>(kBlockBytes));
}

void ReadWriteSet::clear()
{
    /* Shrink a table that is large for this transaction: clearing it would slow down small ones. */
    if (size_ < kTableFirst / 2 && table_.size() != kTableFirst)
        table_.resize(kTableFirst);
    std::fill(table_.begin(), table_.end(), 0);
    size_ = 0;
    block_ = 0;
    used_ = 0;
    large_.clear();
    begun = false;
    maybe_logged = false;
    logged = false;
    queued = false;
    blocking_lock = {};
    handed_out.clear();
}

void ReadWriteSet::grow_table()
{
    table_.assign(table_.size() * 2, 0);
    for (uint32_t i = 0; i < size_; i++)
        table_[place((*this)[i].address)] = i + 1;
}

Access *ReadWriteSet::add(Address address, uint32_t bytes)
{
    if (2 * (size_ + 1) > table_.size())
        grow_table();
    if (size_ == chunks_.size() * kChunk)
        chunks_.push_back(std::make_unique<std::array<Access, kChunk>>());

    uint32_t at = place(address);
    DTX_ASSERT(table_[at] == 0);
    Access &access = (*this)[size_];

    table_[at] = ++size_;
    access = Access{};
    access.address = address;
    access.image = take(bytes);
    access.bytes = bytes;
    return &access;
}

unsigned char *ReadWriteSet::take(uint32_t bytes)
{
    unsigned char *image;

    DTX_ASSERT(bytes % 8 == 0); /* images are aligned to words */
    if (bytes > kBlockBytes / 4) {
        large_.push_back(std::make_unique<unsigned char[]>(bytes));
        return large_.back().get();
    }
    if (used_ + bytes > kBlockBytes) {
        used_ = 0;
        if (++block_ == blocks_.size())
            blocks_.push_back(std::make_unique<unsigned char[]>(kBlockBytes));
    }
    image = blocks_[block_].get() + used_;
    used_ += bytes;
    return image;
}

const std::vector<Access *> &ReadWriteSet::sorted()
{
    auto before = [](const Access *a, const Access *b) { return a->address < b->address; };

    sorted_.resize(size_);
    for (uint32_t i = 0; i < size_; i++) {
        Access *access = &(*this)[i];
        uint32_t at = i;

        /* Insertion sort, if there are only a few. */
        for (; size_ <= kFew && at > 0 && before(access, sorted_[at - 1]); at--)
            sorted_[at] = sorted_[at - 1];
        sorted_[at] = access;
    }
    if (size_ > kFew)
        std::sort(sorted_.begin(), sorted_.end(), before);
    return sorted_;
}

} // namespace dtx
