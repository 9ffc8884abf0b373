/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash_index.h: which slot of a hash table has the row of a key. Buckets are objects: a key that is
 * not there was looked for in buckets that must not have changed at the commit.
 *
 * Tests: tests/unit/dtx/engine/index/hash_index_test.cpp
 */
#ifndef DTX_ENGINE_HASH_INDEX_H
#define DTX_ENGINE_HASH_INDEX_H

#include "engine/format/bucket.h"
#include <dtx/read_write_set.h>
#include <dtx/task.h>

#include <cstdint>
#include <optional>

namespace dtx
{

class Store;

/* The bucket that a key is hashed to. */
uint64_t home_bucket(uint64_t rows_max, uint64_t key);

/* The slot of a key's row, as this transaction has it. */
Task<std::optional<uint64_t>> hash_find(Store &store, ReadWriteSet &set, uint32_t table,
                                        uint64_t key);

/* The same where that takes no waiting. Nothing: the key is not there, or hash_find() has to be
 * asked: it finds what was looked at so far in @set. */
std::optional<uint64_t> hash_find_now(Store &store, ReadWriteSet &set, uint32_t table,
                                      uint64_t key);

/* Enter a key that is not there. */
Task<> hash_add(Store &store, ReadWriteSet &set, uint32_t table, uint64_t key, uint64_t slot);

/* Take a key out. What its slot was, or nothing: it was not there. */
Task<std::optional<uint64_t>> hash_remove(Store &store, ReadWriteSet &set, uint32_t table,
                                          uint64_t key);

} // namespace dtx
#endif
