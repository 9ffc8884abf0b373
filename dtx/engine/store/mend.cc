/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mend.cc: read all copies of an object, and write those that are damaged.
 *
 * A transaction writes an object only while it holds the lock, and frees the lock when the object
 * is on all copies. So while this transaction holds it no copy is being written, and each one that
 * is whole has the committed version. A session that has lost the lock to a recovery cannot write
 * an old version: the servers refuse its writes.
 *
 * Tests: tests/unit/dtx/engine/store/mend_test.cpp
 */
#include "engine/store/mend.h"

#include "engine/base/assert.h"
#include "engine/store/operation_batch.h"
#include <dtx/object.h>

namespace dtx
{

using Images = std::vector<std::vector<unsigned char>>; /* by copy */

static Task<Images> read_copies(Servers &servers, const Access &access)
{
    uint32_t shard = access.address.shard();
    Images images(servers.copies(shard).size(), std::vector<unsigned char>(access.bytes));
    OperationBatch batch(servers, Via::one_sided);

    for (uint32_t copy = 0; copy < images.size(); copy++)
        batch.read_copy(shard, copy, servers.layout().row_offset(access.address),
                        images[copy].data(), access.bytes);
    co_await batch.run();
    co_return images;
}

/* A slot of zeros is damaged as well: a transaction came to this object, so it was written. */
static bool is_damaged(const std::vector<unsigned char> &image)
{
    return !is_whole(image.data(), static_cast<uint32_t>(image.size())) ||
           header_of(image.data()).version == 0;
}

/* nullptr: all are damaged. */
static const unsigned char *newest_of(const Images &images)
{
    const unsigned char *newest = nullptr;

    for (const auto &image : images)
        if (!is_damaged(image) &&
            (newest == nullptr || header_of(newest).version < header_of(image.data()).version))
            newest = image.data();
    return newest;
}

static void tell(Servers &servers, Address address, uint32_t copy)
{
    servers.mended()++;
    servers.cluster().notify(object_name(servers.cluster(), address) + " was damaged on server " +
                             std::to_string(servers.server_of(address.shard(), copy)) +
                             ": stored again as it is on another copy");
}

Task<> mend(Servers &servers, const Access &locked)
{
    DTX_ASSERT(locked.locked);

    uint32_t shard = locked.address.shard();
    Images images = co_await read_copies(servers, locked);
    const unsigned char *newest = newest_of(images);
    OperationBatch batch(servers, Via::one_sided);

    DTX_ASSERT(images.size() == servers.copies(shard).size()); /* else a copy stays damaged */
    if (newest == nullptr)
        fail_torn(servers.cluster(), locked.address);

    rpm_patch patch = { servers.layout().row_offset(locked.address), newest, locked.bytes, 0 };

    for (uint32_t copy = 0; copy < images.size(); copy++)
        if (is_damaged(images[copy]))
            batch.write(shard, copy, { &patch, 1 });
    co_await batch.run();
    for (uint32_t copy = 0; copy < images.size(); copy++)
        if (is_damaged(images[copy]))
            tell(servers, locked.address, copy);
}

} // namespace dtx
