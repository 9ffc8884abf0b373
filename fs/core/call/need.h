/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * need.h: end an attempt that has read rows which do not fit together, or a row that no call
 * writes. If these rows are still as they were read, the volume is damaged, and the call ends with
 * a text that names the row: dtx::Error, RPM_E_CORRUPT, which callers get as EIO. Else the call
 * runs again (dtx::Inconsistent).
 *
 * Tests: tests/unit/fs/check/damage_test.cpp
 */
#ifndef FS_CORE_CALL_NEED_H
#define FS_CORE_CALL_NEED_H

#include "core/format/keys.h"
#include <dtx/error.h>

#include <cstdint>
#include <optional>
#include <string>

namespace rfs
{

/* A row, by its table and key. */
struct RowName {
    const char *table;
    uint64_t key;
};

inline RowName file_row(uint32_t ino)
{
    return { "inodes", ino };
}

/* @what: what is wrong with it. */
[[noreturn]] inline void damaged(RowName row, const char *what)
{
    throw dtx::Inconsistent{ {},
                             "the volume is damaged: row " + std::to_string(upper_half(row.key)) +
                                 "/" + std::to_string(lower_half(row.key)) + " of " + row.table +
                                 ": " + what +
                                 "; rpm-fs check lists all damage; unmount the volume everywhere, "
                                 "and rpm-fs check --offline --repair repairs what it can" };
}

inline void need(bool holds, RowName row, const char *what)
{
    if (!holds)
        damaged(row, what);
}

/* Returns a row that must exist. */
template <class Row> const Row &need(const std::optional<Row> &found, RowName row, const char *what)
{
    if (!found)
        damaged(row, what);
    return *found;
}

/* @fault: of fault_of(). */
inline void need_sound(const char *fault, RowName row)
{
    if (fault != nullptr)
        damaged(row, fault);
}

} // namespace rfs
#endif
