/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair.h: mend what a check finds in a volume that no other client has open.
 *
 * Repairs are transactions of a client that keeps all others out (Client::enter_alone()), so an
 * interrupted repair leaves a volume that can be repaired again.
 * What cannot be decided stays as it is: an inode, a target, or attributes that are damaged, and
 * all that belongs to such an inode; directories that form a loop; the volume's own row. Blocks
 * that are in use and of no file stay in use while an inode or a pointer is damaged: they may be
 * its. While a row is torn on all copies, nothing is repaired. Indexes are not repaired.
 *
 * Tests: tests/unit/fs/check/repair_test.cpp
 */
#ifndef FS_CORE_CHECK_REPAIR_H
#define FS_CORE_CHECK_REPAIR_H

#include "core/client/client.h"

#include <cstdint>
#include <functional>
#include <string>

namespace rfs
{

/* Gets a sentence for each repair: what was found, what was done. */
using TellRepair = std::function<void(const std::string &text)>;

/* Repairs the tables. @alone: a client of the same volume, which has it alone. Returns the number
 * of repairs. Throws dtx::Error. */
uint64_t repair_tables(const OpenVolume &open, Client &alone, const TellRepair &told);

/* Writes each row that is torn or older on one copy as it is on another one: first of all, because
 * the client reads rows. @alone may be late by one row if its process is stopped for longer than a
 * lease and another client enters meanwhile. Returns the number of repairs. Throws dtx::Error. */
uint64_t repair_copies(const OpenVolume &open, Client &alone, const TellRepair &told);

/* Writes each block that is damaged on one copy as it is on another one. Returns the number of
 * repairs. Throws dtx::Error. */
uint64_t repair_data(const OpenVolume &open, Client &alone, const TellRepair &told);

} // namespace rfs
#endif
