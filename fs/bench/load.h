/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h: calls by several threads for a while, how many there were and how long they took; and
 * the rows that make, look up, rename and remove names, on whatever keeps names.
 *
 * Tests: tests/tools/fs_test
 */
#ifndef FS_BENCH_LOAD_H
#define FS_BENCH_LOAD_H

#include <barrier>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rfs::bench
{

struct LoadOptions {
    std::vector<uint32_t> threads = { 1 };
    double seconds = 1;          /* of each row */
    uint64_t files_max = 100000; /* names that each thread makes at most */
    bool keep = false;           /* only the row create, whose files stay */
    std::string json;            /* file; empty: none */
};

/* One line of the result. */
struct Row {
    std::string what;
    uint32_t threads;
    uint64_t calls;
    uint64_t bytes; /* of each call; 0: it moves none */
    double seconds; /* of the thread that took longest */
    uint64_t p50_ns;
    uint64_t p99_ns;
};

/* Threads that do one job after another, because a client belongs to the thread that opened it. */
class Crew
{
  public:
    explicit Crew(uint32_t threads);
    ~Crew();
    Crew(const Crew &) = delete;
    Crew &operator=(const Crew &) = delete;

    uint32_t threads() const
    {
        return static_cast<uint32_t>(threads_.size());
    }
    /* Each thread calls job(thread); all begin together. Throws what one of them threw. */
    void work(const std::function<void(uint32_t)> &job);
    /* Calls @rows, and then has each thread call end(thread), even if @rows threw. */
    void work(const std::function<void()> &rows, const std::function<void(uint32_t)> &end);

  private:
    void follow(uint32_t thread);

    std::barrier<> begin_;
    std::barrier<> end_;
    std::mutex mutex_;
    std::exception_ptr failure_;
    const std::function<void(uint32_t)> *job_ = nullptr; /* null: end */
    std::vector<std::thread> threads_;
};

/* Measures rows, and prints each. */
class Load
{
  public:
    /* @options: borrowed. */
    explicit Load(const LoadOptions &options);

    /* Each thread calls act(thread, i) for i = 0, 1, ... until the time is over or it returns
     * false. Throws what a call throws. */
    void measure(const std::string &what, Crew &crew, uint64_t bytes,
                 const std::function<bool(uint32_t, uint64_t)> &act);
    /* Writes the JSON file. Throws cli::Failure. */
    void finish() const;

  private:
    void print(const char *line) const;

    const LoadOptions &options_;
    std::vector<Row> rows_;
};

/* There is no room for another file. */
struct Full {
};

/* Files in a directory of its own, for one thread. Calls are durable when they return, and throw if
 * they fail. */
class Names
{
  public:
    virtual ~Names() = default;
    /* An empty file. Throws Full. */
    virtual void create(const std::string &name) = 0;
    /* Reads the attributes of the file with that name. */
    virtual void stat(const std::string &name) = 0;
    virtual void rename(const std::string &from, const std::string &to) = 0;
    virtual void unlink(const std::string &name) = 0;
};

using MakeNames = std::function<std::unique_ptr<Names>(uint32_t thread)>;

/* The rows create, stat, rename and unlink, with so many threads. Leaves no file behind, unless
 * LoadOptions::keep is set. */
void measure_names(Load &load, const LoadOptions &options, uint32_t threads, const MakeNames &make);

} // namespace rfs::bench
#endif
