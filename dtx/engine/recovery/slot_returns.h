/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slot_returns.h: transactions of a recovery that put free slots on the lists of returned slots,
 * as Session::return_slots() does for those of a session that lives.
 *
 * If the recovery is interrupted, the next one finishes the last of them from its record.
 *
 * Tests: tests/unit/dtx/check/vacuum_test.cpp, tests/unit/dtx/engine/recovery/spares_test.cpp
 */
#ifndef DTX_ENGINE_SLOT_RETURNS_H
#define DTX_ENGINE_SLOT_RETURNS_H

#include "engine/cluster/servers.h"
#include <dtx/read_write_set.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dtx
{

class SlotReturns
{
  public:
    /* The logs that get the records, and the numbers of the transactions. */
    struct Logs {
        uint64_t prefix;
        size_t record_max;
        std::function<void(const std::vector<unsigned char> &record)> append;
    };

    /* @locks: sessions run, so each transaction locks what it writes. */
    SlotReturns(Servers &servers, Logs logs, bool locks);

    /* Puts @slots, at most at_once() and owned by the caller, on the list of a table. False: it
     * did nothing, because another transaction holds a lock. Throws Error, RPM_E_CORRUPT, if the
     * head or a slot is torn. */
    bool give_back(Address head, std::span<const uint64_t> slots);

    /* How many slots fit into one record with the allocator head. */
    uint64_t at_once(uint32_t table) const;

  private:
    bool lock(Address address, uint64_t txn);
    void unlock(std::span<const Address> held, uint64_t txn);
    bool lock_all(std::span<const Address> all, uint64_t txn);
    void link(ReadWriteSet &set, Address head, std::span<const uint64_t> slots);
    void commit(ReadWriteSet &set, uint64_t txn);

    Servers &servers_;
    Logs logs_;
    bool locks_;
    uint64_t sequence_ = 0;
};

/* An object that no session writes, read from the primary. Throws Error, RPM_E_CORRUPT: torn. */
Access *load(Servers &servers, ReadWriteSet &set, Address address);

/* Returns the spare slots of a coordinator whose logs @servers has claimed and whose transactions
 * are finished. Leaves in its logs a note of those that it could not return, because another
 * transaction holds the lock of the allocator head or the list is damaged. Returns how many it has
 * returned. Blocks the thread, for no lock. */
uint64_t return_spares(Servers &servers, uint32_t coordinator, std::vector<Spare> spares);

} // namespace dtx
#endif
