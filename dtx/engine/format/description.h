/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * description.h: a schema as text, stored in each shard. The operator's commands use it to open the
 * database of any program, and an error about another schema uses it to name the first difference.
 *
 * One line has the name of the database, then one line for each table and each index, in the order
 * of their numbers: name, kind, bytes of a row, rows in each shard, number of the index (of an
 * index: of its table); then one line for each span: name, kind, bytes of a slab, slabs in each
 * shard, 0. The functions that give the partition of a key are not in the text.
 *
 * Format: dtx/FORMAT.md.
 *
 * Tests: tests/unit/dtx/engine/format/description_test.cpp
 */
#ifndef DTX_ENGINE_DESCRIPTION_H
#define DTX_ENGINE_DESCRIPTION_H

#include <dtx/schema.h>

#include <cstdint>
#include <string>

namespace dtx
{

/* Enough for kTablesMax tables with the longest names. */
inline constexpr size_t kDescriptionMax = 20480;

std::string description_of(const Schema &schema);
uint64_t sum_of(const std::string &description);

/* Names the first table or span that differs between two descriptions, which are not equal. */
std::string first_difference(const std::string &there, const std::string &own);

} // namespace dtx
#endif
