/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object_reader.h: reads objects that other sessions may be writing into a transaction's set.
 *
 * Tests: tests/unit/dtx/engine/txn/commit_test.cpp
 */
#ifndef DTX_ENGINE_OBJECT_READER_H
#define DTX_ENGINE_OBJECT_READER_H

#include "engine/cluster/servers.h"
#include "engine/store/install_queue.h"
#include "engine/store/unlocks.h"
#include <dtx/read_write_set.h>
#include <dtx/task.h>

#include <optional>
#include <vector>

namespace dtx
{

/* What a slot of zeros is. A session comes to an object only when a commit has written it; only an
 * allocator looks at slots that may be unused. */
enum class Zeros { torn, unused };

class ObjectReader
{
  public:
    ObjectReader(Servers &servers, InstallQueue &installs, Unlocks &unlocks)
        : servers_(servers), installs_(installs), unlocks_(unlocks)
    {
    }

    /* Awaited: the object as this transaction has read or written it; else as it is on the primary.
     * Throws Conflict if it stays torn because another session is writing it, or died while it
     * was; or if it was damaged, and is whole now: see mend(). Throws Error, RPM_E_CORRUPT, if it
     * is damaged on all copies. */
    struct Fetch {
        std::optional<Access *> now()
        {
            Access *found = reader.fetch_now(set, address, set.find(address), zeros);

            if (found == nullptr)
                return std::nullopt;
            return found;
        }
        Task<Access *> later()
        {
            return reader.fetch_remote(set, address, zeros);
        }
        ObjectReader &reader;
        ReadWriteSet &set;
        Address address;
        Zeros zeros;
    };
    AtOnce<Fetch> fetch(ReadWriteSet &set, Address address, Zeros zeros = Zeros::torn)
    {
        return AtOnce(Fetch{ *this, set, address, zeros });
    }

    /* Awaited: as fetch(). Where that spares the commit a round trip, the message that reads the
     * row also locks it until the transaction ends: access.taken is set, and the row counts as
     * written. Throws Conflict if another transaction holds the lock. */
    Task<Access *> fetch_locked(ReadWriteSet &set, Address address);

    /* Awaited: free the lock of an access that fetch_locked() has locked, because its row has
     * another key than the transaction looked for. The transaction will not write the row. */
    Task<> unlock(const ReadWriteSet &set, Access &access);

    /* As fetch() if the object is in the set or in mapped memory; else nullptr. @access: the result
     * of set.find(). */
    Access *fetch_now(ReadWriteSet &set, Address address, Access *access,
                      Zeros zeros = Zeros::torn);

    /* Awaited: read in one round trip those objects that this transaction has not read yet. If an
     * object was torn, the transaction reads it again when it uses it. */
    Task<> fetch_all(ReadWriteSet &set, const std::vector<Address> &addresses);

    /* Awaited: read the object into @image, outside of any transaction. False: it is torn. */
    Task<bool> peek(Address address, unsigned char *image, uint32_t bytes);

    /* Does fetch() of an object that is not in the set cost a round trip? */
    bool is_remote(Address address)
    {
        return servers_.phases().execute == Via::call ||
               !servers_.primary(address.shard()).is_mapped();
    }

    /* Has the CPU fetch the cache lines of an object in mapped memory, and of its lock. */
    void prefetch(Address address);

  private:
    Task<Access *> fetch_remote(ReadWriteSet &set, Address address, Zeros zeros);
    bool reads_lock_first(ReadWriteSet &set, uint32_t bytes) const;
    bool locks_first(Address address, uint32_t bytes);
    bool is_settled(const Access &access, uint64_t word) const;
    Task<> wait_for_rows(Address address);
    void expect_joined(const ReadWriteSet &set) const;
    Task<> lock_and_mend(ReadWriteSet &set, Access &torn);

    Servers &servers_;
    InstallQueue &installs_;
    Unlocks &unlocks_;
};

} // namespace dtx
#endif
