/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.cc: compose the names of a database's regions and logs, and recognise those of shards.
 *
 * Tests: tests/unit/dtx/engine/format/names_test.cpp
 */
#include "engine/format/names.h"

#include <dtx/address.h>

namespace dtx
{

std::string shard_name(const std::string &database, uint32_t shard)
{
    return "dtx/" + database + "/shard" + std::to_string(shard);
}

std::string locks_name(const std::string &database, uint32_t shard)
{
    return "dtx/" + database + "/locks" + std::to_string(shard);
}

std::string log_name(const std::string &database, uint32_t coordinator)
{
    return "dtx/" + database + "/log" +
           (coordinator == kRecoverer ? "-recovery" : std::to_string(coordinator));
}

bool split_shard_name(const std::string &name, std::string &database, uint32_t &shard)
{
    static const std::string kFirst = "dtx/";
    static const std::string kLast = "/shard";
    size_t end = name.rfind(kLast);

    if (name.compare(0, kFirst.size(), kFirst) != 0 || end == std::string::npos ||
        end <= kFirst.size())
        return false;
    database = name.substr(kFirst.size(), end - kFirst.size());

    std::string digits = name.substr(end + kLast.size());

    if (digits.empty() || digits.size() > 3 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
        return false;
    shard = static_cast<uint32_t>(std::stoul(digits));
    return shard < kShardsMax;
}

} // namespace dtx
