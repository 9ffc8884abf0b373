/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operations.h: the operations of YCSB, each a transaction.
 *
 * Tests: tests/unit/dtx/workload/ycsb_test.cpp
 */
#ifndef DTX_WORKLOAD_YCSB_OPERATIONS_H
#define DTX_WORKLOAD_YCSB_OPERATIONS_H

#include "workload/ycsb/schema.h"
#include <dtx/txn.h>

#include <cstdint>
#include <vector>

namespace dtx::ycsb
{

/* The operations of one terminal, one at a time. */
class Operations
{
  public:
    explicit Operations(const Tables &tables)
        : records_(tables.records), value_(tables.records.row_bytes)
    {
    }

    /* Reads a record. Throws Inconsistent if it does not exist. */
    Task<bool> read(Txn &txn, uint64_t record);
    /* Updates a record that must exist. The new value has the number of updates, so the record is
     * read first; a read-modify-write is the same. */
    Task<bool> update(Txn &txn, uint64_t record);
    /* Insert a record. False: it is there already. */
    Task<bool> insert(Txn &txn, uint64_t record);
    /* Scans @length records from this one's key on, over several partitions if needed; fewer at the
     * end. */
    Task<bool> scan(Txn &txn, uint64_t record, uint32_t length);

    /* How many records the last scan has found. */
    uint32_t found() const
    {
        return found_;
    }

  private:
    ByteTable records_;
    std::vector<unsigned char> value_;
    uint32_t found_ = 0;
};

} // namespace dtx::ycsb
#endif
