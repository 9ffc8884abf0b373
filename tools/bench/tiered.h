/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tiered.h: rows of rpm-bench agent about records in segments, and ranges that are compared where
 * they are.
 */
#ifndef RPM_TOOLS_BENCH_TIERED_H
#define RPM_TOOLS_BENCH_TIERED_H

#include "bench/compare.h"

namespace bench
{

constexpr uint64_t kTierBytes = 32u << 20; /* of records that are read from segments */

/* tiered.cc: reading segments against reading a file of the same bytes; storing them by a copy
 * engine against one READ at a time. */
void compare_tiered(const CompareOptions &options, const MemoryDir &dir, const std::string &url,
                    std::vector<Row> &rows);

/* tpcc.cc: the redo logs of dtx-bench tpcc in segments against their plain bytes. */
void compare_tpcc(const CompareOptions &options, const MemoryDir &dir, std::vector<Row> &rows);

/* near.cc: a COMPARE against reading both ranges. */
void compare_near(const CompareOptions &options, const std::string &url, std::vector<Row> &rows);

/* Store all records of a log as segments in @folder, which is made. @engine: NULL: none. @codec:
 * NULL: the default. */
void store_log(rpm_log *log, const std::string &folder, const char *engine,
               const char *codec = nullptr);

/* Each record of one log in the segments of @folder. */
void read_segments(const std::string &folder, uint64_t log_id,
                   const std::function<void(const rpm_record &)> &visit);

/* The bytes of a file in pieces. */
void read_file(const std::string &path,
               const std::function<void(const unsigned char *, uint64_t)> &visit);

/* A sum over the words of records or of a file, so that their bytes are looked at. */
uint64_t sum_words(const void *data, uint64_t bytes);

/* What some work takes, in nanoseconds a record. */
double time_per_record(uint64_t records, const std::function<void()> &work);

/* Reading segments may take twice as long as reading a file: half of its rate. */
constexpr double kReadTarget = 2;

} // namespace bench
#endif
