/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object_reader.cc: read an object, and read it again while it is torn. If it stays torn although
 * no session is writing it, it is damaged, and another copy is used.
 *
 * Tests: tests/unit/dtx/engine/txn/commit_test.cpp
 */
#include "engine/store/object_reader.h"

#include "engine/base/assert.h"
#include "engine/store/mend.h"
#include "engine/store/operation_batch.h"
#include <dtx/error.h>

#include <algorithm>

namespace dtx
{

static constexpr int kTornTries = 64; /* a server writes a row within a microsecond or two */

/* Zeros that are torn: the commit that led here has not installed the object yet, or the object is
 * damaged. */
static bool is_there(const unsigned char *image, uint32_t bytes, Zeros zeros)
{
    return is_whole(image, bytes) && (header_of(image).version != 0 || zeros == Zeros::unused);
}

Task<bool> ObjectReader::peek(Address address, unsigned char *image, uint32_t bytes)
{
    OperationBatch batch(servers_, servers_.phases().execute);

    batch.read(address, image, bytes);
    co_await batch.run();
    co_return is_there(image, bytes, Zeros::torn);
}

/* If the image is whole, makes it the version that the transaction uses, and returns true. */
static bool take_image(Access *access, Zeros zeros)
{
    if (!is_there(access->image, access->bytes, zeros))
        return false;
    access->whole = true;
    access->version = access->header().version;
    access->writer = access->header().writer;
    return true;
}

Access *ObjectReader::fetch_now(ReadWriteSet &set, Address address, Access *access, Zeros zeros)
{
    if (access == nullptr) {
        ServerConnection *there = servers_.mapped(address.shard());

        if (there == nullptr || servers_.phases().execute == Via::call)
            return nullptr;
        access = set.add(address, servers_.layout().table(address.table()).slot_bytes);
        servers_.remote()++;
        there->read(address.shard(), servers_.layout().row_offset(address), access->image,
                    access->bytes);
        (void)take_image(access, zeros);
    }
    DTX_ASSERT(access->address == address);
    if (!access->whole)
        return nullptr;
    access->seen = !access->fresh;
    return access;
}

void ObjectReader::prefetch(Address address)
{
    servers_.primary(address.shard())
        .prefetch(address.shard(), servers_.layout().row_offset(address),
                  servers_.layout().table(address.table()).slot_bytes,
                  servers_.layout().lock_offset(address));
}

/* A session that joins again frees its locks, so an attempt that began before must take no lock
 * afterwards. */
void ObjectReader::expect_joined(const ReadWriteSet &set) const
{
    if (set.joined != servers_.joined())
        throw Fenced(RPM_E_FENCED, "this attempt began before the session joined again");
}

/* The lock of a torn object was free: locks it, and stores it again if it is damaged. This attempt
 * of the transaction must end then, which frees the lock. */
Task<> ObjectReader::lock_and_mend(ReadWriteSet &set, Access &torn)
{
    OperationBatch batch(servers_, servers_.phases().lock);

    DTX_ASSERT(set.txn != 0 && !torn.locked);
    while (installs_.has(torn.address))
        co_await installs_.wait_for_one();
    expect_joined(set);
    set.begun = true;
    batch.compare_and_swap(torn.address, 0, set.txn, &torn.word);
    co_await batch.run();
    if (torn.word != 0) {
        set.blocking_lock = { torn.address, torn.word };
        co_return;
    }
    torn.locked = torn.taken = torn.written = torn.seen = true;
    co_await mend(servers_, torn);
}

/* Waits while a commit of this session has not installed the object: a NIC may carry out a read
 * before writes that were sent earlier, and would return the version before that commit. */
Task<> ObjectReader::wait_for_rows(Address address)
{
    while (installs_.has(address) && !servers_.primary(address.shard()).is_in_order())
        co_await installs_.wait_for_one();
}

/* Should the message that reads an object read its lock first? If the transaction then uses no
 * other row, its commit needs no validation. That pays only for the first object of a transaction,
 * or for the first after the index object that led to it. It is correct only where a CPU carries
 * out the message's operations in order: a NIC may read the row before the lock. */
bool ObjectReader::reads_lock_first(ReadWriteSet &set, uint32_t bytes) const
{
    if (servers_.phases().execute == Via::one_sided ||
        servers_.phases().validate == Via::one_sided || sizeof(uint64_t) + bytes > kAnswerBytes ||
        set.size() > 1)
        return false;
    if (set.size() == 0)
        return true;

    TableKind kind = servers_.cluster().schema().tables()[set[0].address.table()].kind;

    return kind == TableKind::buckets || kind == TableKind::nodes;
}

/* Was this version the newest committed one at some time between two operations that the server
 * carried out in order, the read of the lock, which found @word, and the read of the row?
 *
 * If the lock was free, every commit that was acknowledged before had installed the row. So the row
 * is as it was at that time, or a transaction took the lock afterwards and wrote the row; since a
 * row is installed after its transaction took effect, that was before the row was read. If the lock
 * was held by the transaction that wrote this version, its redo record was durable in all its logs
 * when the row was read, and no other transaction can have written the row since it took the lock.
 *
 * For two rows these may be different times, so a transaction that reads two is validated. */
bool ObjectReader::is_settled(const Access &access, uint64_t word) const
{
    return word == 0 || (word == access.writer && servers_.cluster().options().durable) ||
           servers_.canary(kCanaryLoneRead) || servers_.canary(kCanaryValidate);
}

Task<Access *> ObjectReader::fetch_remote(ReadWriteSet &set, Address address, Zeros zeros)
{
    Access *access = set.find(address);
    bool looks = false;

    if (access == nullptr) {
        if (!installs_.empty())
            co_await wait_for_rows(address);
        co_await servers_.scheduler().step();
        looks = reads_lock_first(set, servers_.layout().table(address.table()).slot_bytes);
        access = set.add(address, servers_.layout().table(address.table()).slot_bytes);
    }
    for (int tries = 0; !access->whole; tries++) {
        OperationBatch batch(servers_, servers_.phases().execute);
        uint64_t word = 0;

        if (looks || tries == kTornTries)
            batch.lock_word(address, &word);
        batch.then();
        batch.read(address, access->image, access->bytes);
        co_await batch.run();
        if (take_image(access, zeros)) {
            access->settled = looks && is_settled(*access, word);
            break;
        }
        if (tries == kTornTries) {
            set.blocking_lock = { address, word };
            if (word == 0 && !servers_.canary(kCanaryLock))
                co_await lock_and_mend(set, *access);
            throw Conflict{};
        }
        co_await servers_.scheduler().step();
    }
    access->seen = !access->fresh;
    co_return access;
}

/* Can one message lock the row and read it? Only a message to a server's CPU, which carries out the
 * operations in order. */
bool ObjectReader::locks_first(Address address, uint32_t bytes)
{
    return servers_.phases().execute != Via::one_sided &&
           servers_.phases().lock != Via::one_sided && sizeof(uint64_t) + bytes <= kAnswerBytes &&
           (servers_.scheduler().interleaves() || is_remote(address));
}

/* While this session holds the lock no other session writes the row, so the row is whole or
 * damaged, unless another session has taken over this session's logs after the row was locked and
 * before it was read: then the servers refuse what this one writes. */
Task<Access *> ObjectReader::fetch_locked(ReadWriteSet &set, Address address)
{
    uint32_t bytes = servers_.layout().table(address.table()).slot_bytes;

    if (set.find(address) != nullptr || !locks_first(address, bytes))
        co_return co_await fetch(set, address);
    while (installs_.has(address))
        co_await installs_.wait_for_one();
    co_await servers_.scheduler().step();
    expect_joined(set);

    Access *access = set.add(address, bytes);
    OperationBatch batch(servers_, servers_.phases().lock);

    DTX_ASSERT(set.txn != 0);
    set.begun = true;
    if (!servers_.canary(kCanaryLock))
        batch.compare_and_swap(address, 0, set.txn, &access->word);
    batch.then();
    batch.read(address, access->image, bytes);
    co_await batch.run();
    if (access->word != 0) {
        set.blocking_lock = { address, access->word };
        throw Conflict{};
    }
    access->locked = access->taken = access->written = access->seen = true;
    if (!take_image(access, Zeros::torn)) {
        if (!servers_.canary(kCanaryLock))
            co_await mend(servers_, *access);
        throw Conflict{};
    }
    co_return access;
}

Task<> ObjectReader::unlock(const ReadWriteSet &set, Access &access)
{
    int err = RPM_E_BUSY;

    DTX_ASSERT(access.taken && access.locked);
    access.taken = access.written = access.locked = false;
    while (err == RPM_E_BUSY && !servers_.canary(kCanaryLock)) {
        err = set.joined != servers_.joined() ? int(RPM_E_FENCED)
                                              : unlocks_.send(access.address, set.txn);
        if (err == RPM_E_BUSY)
            co_await servers_.scheduler().turn();
    }
    check(servers_.canary(kCanaryLock) ? 0 : err, "freeing a lock");
}

Task<> ObjectReader::fetch_all(ReadWriteSet &set, const std::vector<Address> &addresses)
{
    OperationBatch batch(servers_, servers_.phases().execute);
    uint32_t first = set.size();

    for (size_t i = 0; i < addresses.size() && !installs_.empty(); i++)
        co_await wait_for_rows(addresses[i]);
    for (Address address : addresses)
        if (set.find(address) == nullptr) {
            Access *access = set.add(address, servers_.layout().table(address.table()).slot_bytes);

            batch.read(address, access->image, access->bytes);
        }
    uint32_t end = set.size();

    co_await batch.run();
    for (uint32_t i = first; i < end; i++)
        (void)take_image(&set[i], Zeros::torn);
}

} // namespace dtx
