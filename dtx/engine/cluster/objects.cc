/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * objects.cc: list what a server has of databases.
 *
 * Tests: tests/unit/dtx/engine/cluster/objects_test.cpp
 */
#include "engine/cluster/objects.h"

#include "engine/base/assert.h"
#include <dtx/error.h>

#include <cstring>

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

} // namespace dtx
