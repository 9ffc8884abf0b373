/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.h: the names of a database's regions and logs on a server.
 *
 * Format: dtx/FORMAT.md.
 *
 * Tests: tests/unit/dtx/engine/format/names_test.cpp
 */
#ifndef DTX_ENGINE_FORMAT_NAMES_H
#define DTX_ENGINE_FORMAT_NAMES_H

#include <cstdint>
#include <optional>
#include <string>

namespace dtx
{

/* The coordinator number of a recovery of the whole database, or a change of the view. Its log,
 * log-recovery, stays empty: it is only claimed. */
inline constexpr uint32_t kRecoverer = UINT32_MAX;

/* What the names of all databases' objects begin with, and those of a database's. */
inline constexpr const char *kDatabases = "dtx/";
std::string database_prefix(const std::string &database);

std::string shard_name(const std::string &database, uint32_t shard);
std::string locks_name(const std::string &database, uint32_t shard);
std::string log_name(const std::string &database, uint32_t coordinator);

/* The parts of a shard's name. False: @name is not of that form. */
bool split_shard_name(const std::string &name, std::string &database, uint32_t &shard);

/* The number in the name of a coordinator's log of @database; none if @name is not of that form. */
std::optional<uint32_t> coordinator_in(const std::string &name, const std::string &database);

} // namespace dtx
#endif
