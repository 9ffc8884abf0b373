/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shard_header.h: the header of a shard, the bytes before its tables: the descriptor, the schema's
 * comment, in a server's own shard its state, and the description of the tables.
 *
 * Format: dtx/FORMAT.md.
 *
 * Tests: tests/unit/dtx/engine/format/shard_header_test.cpp
 */
#ifndef DTX_ENGINE_FORMAT_SHARD_HEADER_H
#define DTX_ENGINE_FORMAT_SHARD_HEADER_H

#include "engine/format/descriptor.h"
#include "engine/format/server_state.h"

#include <string>
#include <vector>

namespace dtx
{

/* The kTablesOffset bytes. @own: the state of the server whose own shard it is, or nullptr. */
std::vector<unsigned char> encode_shard_header(const Descriptor &descriptor,
                                               const std::string &comment, const ServerState *own,
                                               const std::string &description);

} // namespace dtx
#endif
