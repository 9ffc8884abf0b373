/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * objects.h: list what a server has of databases.
 *
 * Tests: tests/unit/dtx/engine/cluster/objects_test.cpp
 */
#ifndef DTX_ENGINE_CLUSTER_OBJECTS_H
#define DTX_ENGINE_CLUSTER_OBJECTS_H

#include <librpm.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dtx
{

/* The objects whose names begin with @prefix, by name. Blocks the thread, for a round trip each. */
std::vector<rpm_entry> objects_under(rpm_conn *conn, const std::string &prefix);

/* The coordinators of @database that have a log on a server, from low to high numbers. */
std::vector<uint32_t> coordinators_on(rpm_conn *conn, const std::string &database);

} // namespace dtx
#endif
