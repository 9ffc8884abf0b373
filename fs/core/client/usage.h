/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage.h: how full a volume is.
 *
 * Tests: tests/unit/fs/client/usage_test.cpp
 */
#ifndef FS_CORE_CLIENT_USAGE_H
#define FS_CORE_CLIENT_USAGE_H

#include "core/client/client.h"

#include <cstdint>

namespace rfs
{

/* Blocks of a volume, one copy of each counted. */
struct Blocks {
    uint64_t all;
    uint64_t free;
    uint64_t usable; /* of the free ones, beside the reserve (slabs.h) */
};

/* Awaited: count the blocks. Reads the rows of all slabs that were ever used, some in each
 * transaction: what other calls change meanwhile may be counted or not. */
dtx::Task<Blocks> count_blocks(Client &client);

} // namespace rfs
#endif
