/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h: draws the next operation of a core workload of YCSB, and its record.
 *
 *   a  50 % reads, 50 % updates                   d  95 % reads of the latest, 5 % inserts
 *   b  95 % reads, 5 % updates                    e  95 % scans, 5 % inserts
 *   c  reads                                      f  50 % reads, 50 % read-modify-writes
 *
 * Tests: tests/unit/dtx/workload/ycsb_test.cpp
 */
#ifndef DTX_WORKLOAD_YCSB_INPUT_H
#define DTX_WORKLOAD_YCSB_INPUT_H

#include "workload/random.h"
#include "workload/ycsb/schema.h"
#include "workload/ycsb/zipf.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace dtx::ycsb
{

enum Kind : uint32_t { kRead, kUpdate, kInsert, kScan, kReadModifyWrite, kKinds };

const std::vector<std::string> &kind_names();

/* The records that all threads of a run inserted last. */
class Latest
{
  public:
    static constexpr uint64_t kKept = 1 << 16;

    /* Of a table with records 0 to @keys - 1; the one with the largest number is the newest. */
    explicit Latest(uint64_t keys) : keys_(keys) {}

    /* Add a record whose insertion was acknowledged. */
    void inserted(uint64_t record)
    {
        kept_[count_.fetch_add(1, std::memory_order_relaxed) % kKept].store(
            record, std::memory_order_release);
    }
    /* The record that was inserted @rank records ago; @rank is less than the number of loaded
     * records. Of those inserted by the run, only the last kKept are known. */
    uint64_t at(uint64_t rank) const;

  private:
    uint64_t keys_;
    std::atomic<uint64_t> count_ = 0;
    std::vector<std::atomic<uint64_t>> kept_ = std::vector<std::atomic<uint64_t>>(kKept);
};

struct Input {
    Kind kind;
    uint64_t record; /* of an insertion: unused */
    uint32_t length; /* of a scan, in records */
};

/* Draws for one terminal. */
class Inputs
{
  public:
    /* @latest must outlive it. */
    Inputs(const Parameters &parameters, const Zipf &zipf, const Latest &latest, uint64_t seed)
        : workload_(parameters.workload), zipf_(zipf), spread_(parameters.keys), latest_(latest),
          random_(seed)
    {
    }
    Input next();

  private:
    Kind kind();

    char workload_;
    Zipf zipf_;
    Spread spread_;
    const Latest &latest_;
    Random random_;
};

} // namespace dtx::ycsb
#endif
