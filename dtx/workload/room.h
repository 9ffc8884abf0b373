/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * room.h: the capacity of a table for a number of rows. It is larger than that number, because each
 * session reserves dozens of free slots at once.
 */
#ifndef DTX_WORKLOAD_ROOM_H
#define DTX_WORKLOAD_ROOM_H

#include <algorithm>
#include <cstdint>

namespace dtx
{

constexpr uint64_t room_for(uint64_t rows)
{
    return rows + std::min<uint64_t>(rows, 4096) + 64;
}

} // namespace dtx
#endif
