/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * intern.h: maps numbers of 64 bits to small indices, in the order of first occurrence.
 *
 * A hash table with open addressing, at most half full, of 4 bytes a slot beside the keys:
 * histories have millions of keys, and std::unordered_map would need several times the memory.
 *
 * Tests: tests/unit/dtx/history/intern_test.cpp
 */
#ifndef DTX_HISTORY_INTERN_H
#define DTX_HISTORY_INTERN_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dtx::history
{

inline constexpr uint32_t kNone = UINT32_MAX;

class Interner
{
  public:
    uint32_t intern(uint64_t key)
    {
        if (2 * (keys_.size() + 1) > slots_.size())
            grow();
        uint32_t &slot = slots_[place(key)];
        if (slot == kNone) {
            slot = static_cast<uint32_t>(keys_.size());
            keys_.push_back(key);
        }
        return slot;
    }

    /* kNone if the number has no index. */
    uint32_t find(uint64_t key) const
    {
        return slots_.empty() ? kNone : slots_[place(key)];
    }

    uint64_t key(uint32_t index) const
    {
        return keys_[index];
    }

    uint32_t size() const
    {
        return static_cast<uint32_t>(keys_.size());
    }

  private:
    /* Addresses and transaction numbers differ in few bits: mix them all, as the finaliser of
     * MurmurHash3 does. */
    static uint64_t mix(uint64_t key)
    {
        key = (key ^ key >> 33) * 0xff51afd7ed558ccdull;
        key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53ull;
        return key ^ key >> 33;
    }

    size_t place(uint64_t key) const
    {
        size_t mask = slots_.size() - 1;
        size_t at = mix(key) & mask;

        while (slots_[at] != kNone && keys_[slots_[at]] != key)
            at = (at + 1) & mask;
        return at;
    }

    void grow()
    {
        slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), kNone);
        for (uint32_t i = 0; i < keys_.size(); i++)
            slots_[place(keys_[i])] = i;
    }

    std::vector<uint64_t> keys_;
    std::vector<uint32_t> slots_;
};

} // namespace dtx::history
#endif
