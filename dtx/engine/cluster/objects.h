/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * objects.h: list what a server has of databases.
 *
 * Tests: tests/unit/dtx/engine/cluster/objects_test.cpp
 */
#ifndef DTX_ENGINE_CLUSTER_OBJECTS_H
#define DTX_ENGINE_CLUSTER_OBJECTS_H

#include <librpm.h>

#include <string>
#include <vector>

namespace dtx
{

/* The objects whose names begin with @prefix, by name. Blocks the thread, for a round trip each. */
std::vector<rpm_entry> objects_under(rpm_conn *conn, const std::string &prefix);

} // namespace dtx
#endif
