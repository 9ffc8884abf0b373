/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * words.h: table 0 of every shard: word t says which slots of table t nobody has.
 *
 * Sessions take some at a time, and keep those of rows they delete; what they still have when they
 * end they give back. Slots given back are a list: each names the next one in its key. What a
 * session that died still had stays unused until a vacuum finds it.
 */
#ifndef DTX_ENGINE_WORDS_H
#define DTX_ENGINE_WORDS_H

#include "engine/hash_index.h"
#include <dtx/schema.h>

#include <cstdint>

namespace dtx
{

inline constexpr uint32_t kWordsTable = 0;
inline constexpr uint64_t kSlotsAtOnce = 64;

struct Word {
    uint64_t handed_out; /* slots from the first on, whoever had them since */
    uint64_t returned;   /* the first slot of the list, plus 1; 0: none */
};

/* The first slot of a table that is handed out at all. */
inline uint64_t first_slot(const Schema &schema, uint64_t table)
{
    const TableSpec &spec = schema.tables()[table];

    if (spec.kind == TableKind::buckets)
        return first_spare_bucket(schema.tables()[spec.index].rows_max);
    return spec.kind == TableKind::nodes ? 1 : 0;
}

} // namespace dtx
#endif
