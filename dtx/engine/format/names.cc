/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.cc: compose the names of a database's regions and logs, and recognise those of shards.
 *
 * Tests: tests/unit/dtx/engine/format/names_test.cpp
 */
#include "engine/format/names.h"

#include <dtx/address.h>
#include <dtx/cluster.h>

namespace dtx
{

std::string database_prefix(const std::string &database)
{
    return kDatabases + database + "/";
}

std::string shard_name(const std::string &database, uint32_t shard)
{
    return database_prefix(database) + "shard" + std::to_string(shard);
}

std::string locks_name(const std::string &database, uint32_t shard)
{
    return database_prefix(database) + "locks" + std::to_string(shard);
}

std::string log_name(const std::string &database, uint32_t coordinator)
{
    return database_prefix(database) + "log" +
           (coordinator == kRecoverer ? "-recovery" : std::to_string(coordinator));
}

/* None: not a number of up to three digits. */
static std::optional<uint32_t> number_in(const std::string &digits)
{
    if (digits.empty() || digits.size() > 3 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
        return std::nullopt;
    return static_cast<uint32_t>(std::stoul(digits));
}

bool split_shard_name(const std::string &name, std::string &database, uint32_t &shard)
{
    static const std::string kFirst = kDatabases;
    static const std::string kLast = "/shard";
    size_t end = name.rfind(kLast);

    if (name.compare(0, kFirst.size(), kFirst) != 0 || end == std::string::npos ||
        end <= kFirst.size())
        return false;
    database = name.substr(kFirst.size(), end - kFirst.size());

    std::optional<uint32_t> number = number_in(name.substr(end + kLast.size()));

    shard = number.value_or(kShardsMax);
    return shard < kShardsMax;
}

std::optional<uint32_t> coordinator_in(const std::string &name, const std::string &database)
{
    std::string first = database_prefix(database) + "log";

    if (!name.starts_with(first))
        return std::nullopt;

    std::optional<uint32_t> number = number_in(name.substr(first.size()));

    return number && *number < kCoordinatorsMax ? number : std::nullopt;
}

} // namespace dtx
