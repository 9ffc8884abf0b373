/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * description.h: a schema as text, which each shard carries: the commands of an operator open any
 * database by it, and a program whose schema does not fit learns where it differs.
 *
 * A line for the name of the database, then one for each table, those of indexes among them, in the
 * order of their numbers: name, kind, bytes of a row, rows in each shard, number of the index (of
 * an index: of its table). What no text can carry is which partition a key is in.
 *
 * Format: ../FORMAT.md. Tests: tests/unit/dtx/engine/description_test.cpp
 */
#ifndef DTX_ENGINE_DESCRIPTION_H
#define DTX_ENGINE_DESCRIPTION_H

#include <dtx/schema.h>

#include <cstdint>
#include <string>

namespace dtx
{

/* Of kTablesMax tables with the longest names. */
inline constexpr size_t kDescriptionMax = 20480;

std::string description_of(const Schema &schema);
uint64_t sum_of(const std::string &description);

/* In words, where the tables of a shard differ first from those of a program. They differ. */
std::string first_difference(const std::string &there, const std::string &own);

} // namespace dtx
#endif
