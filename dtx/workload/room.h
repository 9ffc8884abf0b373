/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * room.h: how many rows a table is given for those it must hold: sessions take slots by the dozen
 * and keep what they do not use.
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
