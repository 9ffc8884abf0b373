/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * objects.cc: list what a server has of databases.
 *
 * Tests: tests/unit/dtx/engine/cluster/objects_test.cpp
 */
#include "engine/cluster/objects.h"

#include "engine/base/assert.h"
#include "engine/format/names.h"
#include <dtx/error.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace dtx
{

std::vector<rpm_entry> objects_under(rpm_conn *conn, const std::string &prefix)
{
    std::vector<rpm_entry> found;
    rpm_entry entry = rpm_entry_init();

    DTX_ASSERT(prefix.size() < sizeof(entry.name));
    std::memcpy(entry.name, prefix.c_str(), prefix.size()); /* no object has a prefix for a name */
    while (check(rpm_conn_next(conn, &entry), "listing what is on a server") == 1 &&
           std::string(entry.name).starts_with(prefix))
        found.push_back(entry);
    return found;
}

std::vector<uint32_t> coordinators_on(rpm_conn *conn, const std::string &database)
{
    std::vector<uint32_t> found;

    for (const rpm_entry &entry : objects_under(conn, database_prefix(database)))
        if (std::optional<uint32_t> number = coordinator_in(entry.name, database))
            found.push_back(*number);
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace dtx
