/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h: the work of one thread, and the report of all results.
 */
#ifndef RPM_TOOLS_BENCH_RUN_H
#define RPM_TOOLS_BENCH_RUN_H

#include "bench/bench.h"
#include "bench/stats.h"
#include "output.h"

#include <atomic>

namespace bench
{

struct Cell {
    uint64_t bytes;
    uint32_t depth;
    uint32_t threads;
};

struct Tally {
    uint64_t records = 0;
    Spread latency; /* ns */
    rpm_hist hist;

    Tally()
    {
        rpm_hist_init(&hist);
    }
    void add(uint64_t n, uint64_t ns)
    {
        records += n;
        latency.add(static_cast<double>(ns), n);
        for (uint64_t i = 0; i < n; i++)
            rpm_hist_add(&hist, ns);
    }
    void add(const Tally &other)
    {
        records += other.records;
        latency.add(other.latency);
        rpm_hist_merge(&hist, &other.hist);
    }
};

struct Result {
    Tally main;
    Tally reads;         /* of a mix */
    Spread rate;         /* operations per second, in parts of the time */
    uint64_t memory = 0; /* bytes of all clients */
    uint32_t level = 0;  /* enum rpm_level in force; 0: does not apply */
    uint32_t method = 0; /* enum rpm_method in force; 0: does not apply */
    double seconds = 0;
    struct rpm_conn_stats stats = rpm_conn_stats_init(); /* sums, and the lowest throttle_limit */

    void add(const Result &other);
};

/* Used by one thread, except for count_from_now(), counted() and stop(). */
class Worker
{
  public:
    Worker(const RunOptions &options, Cell cell, uint32_t index);
    ~Worker();
    Worker(const Worker &) = delete;
    Worker &operator=(const Worker &) = delete;

    void open();
    void work();
    void count_from_now()
    {
        counting_.store(true);
    }
    /* Operations so far. */
    uint64_t counted() const
    {
        return counted_.load(std::memory_order_relaxed);
    }
    void stop()
    {
        stop_.store(true);
    }
    const Result &result() const
    {
        return result_;
    }

  private:
    void open_log();
    void open_region();
    void open_locks();
    uint64_t staging_bytes() const;
    uint64_t next_random();
    uint64_t next_offset();
    bool next_is_read();
    void count(Tally &tally, uint64_t records, uint64_t ns);
    void make_room();
    void append_batch();
    void windows();
    void pipeline();
    void launch(uint64_t completed, uint64_t *submitted);
    void one_by_one();
    bool going_on() const
    {
        return !stop_.load(std::memory_order_relaxed);
    }
    int submit(uint64_t seq);
    int read_one();
    int one_op(bool read);
    int one_cas();
    int one_lock();

    const RunOptions &options_;
    Cell cell_;
    std::string name_;
    std::vector<unsigned char> payload_;
    std::vector<rpm_completion> done_;
    std::vector<uint64_t> start_; /* submission times of outstanding operations */
    std::vector<uint64_t> expected_;
    uint64_t slots_ = 1;
    uint64_t trim_at_ = 0;
    uint64_t since_trim_ = 0;
    uint64_t random_;
    Result result_;
    std::atomic<bool> counting_{ false };
    std::atomic<bool> stop_{ false };
    std::atomic<uint64_t> counted_{ 0 };
    cli::Conn conn_;
    cli::Log log_;
    cli::Region region_;
    cli::Locks locks_;
};

/* Prints each line when it is measured, and writes the files at the end; an interrupted run writes
 * the lines measured so far. */
class Report
{
  public:
    explicit Report(const RunOptions &options);
    void add(Cell cell, const Result &result);
    void finish(bool complete);
    size_t lines() const
    {
        return lines_.size();
    }

  private:
    struct Line {
        std::string op;
        Cell cell;
        Tally tally;
        Result result;
    };

    void print(const Line &line) const;
    void write_csv(bool complete) const;
    void write_json(bool complete) const;

    const RunOptions &options_;
    std::unique_ptr<cli::OutFile> csv_;
    std::unique_ptr<cli::OutFile> json_;
    std::FILE *table_; /* standard error if a file goes to standard output */
    rpm_facts facts_;
    std::vector<Line> lines_;
};

double ramp_seconds(const RunOptions &options);

} // namespace bench
#endif
