/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vacuum.h: finds slots that were handed out and are not used, and returns them to the allocator
 * heads.
 *
 * A session takes up to kSlotsAtOnce slots of a table at a time. When it dies, or is fenced, its
 * logs name the slots that it has not used (engine/store/free_slots.h). They are lost if the
 * database has no logs (Options.durable off), or if the session died just after its log had become
 * full: then they have no row, are not on the list of returned slots, and no log names them.
 *
 * The vacuum runs when no session owns a slot: all sessions are fenced, the logs are applied, and a
 * change of the view is under way, so that no session joins. A session that still lives forgets its
 * slots when it joins again, and continues with those of a note that no transaction has written
 * since; its transactions under way were fenced, or recovered from the logs. So a slot is lost, or
 * spare, if it was handed out, is not valid, is in no entry of an index, and is not on the list of
 * returned slots.
 *
 * The vacuum puts these slots on the list, with redo records in the logs of a fenced coordinator.
 * No session runs, so its transactions take no locks.
 *
 * Tests: tests/unit/dtx/check/vacuum_test.cpp, tests/crash/dtx_vacuum_test.cpp
 */
#ifndef DTX_ENGINE_VACUUM_H
#define DTX_ENGINE_VACUUM_H

#include "engine/cluster/servers.h"
#include "engine/format/allocator.h"
#include "engine/recovery/recover.h"
#include "engine/recovery/slot_returns.h"
#include <dtx/read_write_set.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dtx
{

class Vacuum
{
  public:
    /* @all: after fence(), redo() and clear(), while the view of @servers is being changed. */
    Vacuum(Servers &servers, const FullRecovery &all);

    /* Returns how many slots were given back. Throws Error: RPM_E_CORRUPT. */
    uint64_t run();

  private:
    /* The slots of a table, or of an index, in one shard. */
    struct Use {
        AllocatorHead head{};
        std::vector<bool> used;     /* by slot: valid, or in an entry of the index */
        std::vector<bool> returned; /* by slot: on the list of returned slots */
    };

    void scan(uint32_t shard, uint32_t table);
    void each_slot(uint32_t shard, uint32_t table, uint64_t end,
                   const std::function<void(uint64_t slot, const unsigned char *image)> &callback);
    Use use_of(uint32_t shard, uint32_t table);
    void follow_returned(uint32_t shard, uint32_t table, Use &use);
    void mark_rows(uint32_t shard, uint32_t table, Use &rows);
    void mark_index(uint32_t shard, uint32_t table, Use &index, Use &rows);
    void give_back_lost(uint32_t shard, uint32_t table, const Use &use);
    void give_back(Address head, std::span<const uint64_t> slots);

    Servers &servers_;
    const FullRecovery &all_;
    SlotReturns::Logs logs_; /* of a fenced coordinator */
    SlotReturns returns_;
    uint64_t given_back_ = 0;
};

} // namespace dtx
#endif
