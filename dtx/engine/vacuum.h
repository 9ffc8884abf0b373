/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vacuum.h: finds slots that nobody has, and gives them back.
 *
 * A session takes slots of a table by the dozen. When it dies, or is fenced, those that it has not
 * used yet are in no index, in no list, and with nobody.
 *
 * Which ones those are can be said when no session has any: all are fenced, the logs are applied
 * and empty, and a change of views is under way, so that nobody joins. A session that lives on
 * forgets its slots when it joins again and servers have heard of another view since
 * (Store::era()); what it had under way is fenced, or in a log that was applied. Then a slot that
 * was handed out, is not valid, that no entry of an index leads to and that is not in the list of
 * slots given back, is nobody's.
 *
 * They are put on that list by transactions like those of a session that ends, with a redo record
 * in the logs of a coordinator who is fenced. Nobody else is there, so there are no locks. One that
 * was interrupted is finished by the next recovery, like all others.
 *
 * Tests: tests/unit/dtx/check/vacuum_test.cpp, tests/crash/dtx_vacuum_test.cpp
 */
#ifndef DTX_ENGINE_VACUUM_H
#define DTX_ENGINE_VACUUM_H

#include "engine/recover.h"
#include "engine/store.h"
#include "engine/words.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dtx
{

class Vacuum
{
  public:
    /* @all: fenced, redone and cleared; the view of @store is being changed. */
    Vacuum(Store &store, const Everything &all);

    /* Returns how many slots were given back. Throws Error: RPM_E_CORRUPT. */
    uint64_t run();

  private:
    /* Of a table, or an index, in one shard: by slot. */
    struct Use {
        Word word{};
        std::vector<bool> used;     /* in use, or led to */
        std::vector<bool> returned; /* in the list */
    };

    void scan(uint32_t shard, uint32_t table);
    void each_slot(uint32_t shard, uint32_t table, uint64_t end,
                   const std::function<void(uint64_t slot, const unsigned char *image)> &heard);
    Use use_of(uint32_t shard, uint32_t table);
    void follow_returned(uint32_t shard, uint32_t table, Use &use);
    void look_at_rows(uint32_t shard, uint32_t table, Use &rows);
    void look_at_index(uint32_t shard, uint32_t table, Use &index, Use &rows);
    void give_back_lost(uint32_t shard, uint32_t table, const Use &use);
    uint64_t slots_at_once(uint32_t table) const;
    void give_back(Address word, std::span<const uint64_t> slots);
    Access *load(Accesses &accesses, Address address);
    void commit(Accesses &accesses);

    Store &store_;
    std::vector<AllLogs *> logs_; /* that get the records */
    uint32_t coordinator_ = 0;    /* whose logs these are */
    size_t record_max_ = 0;
    uint64_t prefix_; /* of the numbers of its transactions */
    uint64_t sequence_ = 0;
    uint64_t given_back_ = 0;
};

} // namespace dtx
#endif
