/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.cc: fio's axes over any URL: every block size with every depth and number of threads, each
 * thread with a connection and an object of its own.
 */
#include "bench/run.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

namespace bench
{

void Result::add(const Result &other)
{
    uint64_t low = stats.throttle_limit;

    main.add(other.main);
    reads.add(other.reads);
    memory += other.memory;
    if (low == 0 || other.stats.throttle_limit < low)
        stats.throttle_limit = other.stats.throttle_limit;
    stats.throttle_changes += other.stats.throttle_changes;
    stats.throttle_held += other.stats.throttle_held;
    stats.backoffs += other.stats.backoffs;
    stats.backoff_ns += other.stats.backoff_ns;
    stats.sleeps += other.stats.sleeps;
}

/* All threads of a cell warm up, are counted for the time asked for, and stop. */
static Result run_cell(const RunOptions &options, Cell cell)
{
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::thread> threads;
    std::vector<int> cpus = allowed_cpus();
    std::exception_ptr failure;
    std::mutex lock;
    Result sum;
    uint64_t start;

    for (uint32_t i = 0; i < cell.threads; i++)
        workers.push_back(std::make_unique<Worker>(options, cell, i));
    std::atomic<uint32_t> ready{ 0 };
    for (uint32_t i = 0; i < cell.threads; i++)
        threads.emplace_back([&, i] {
            try {
                if (!cpus.empty())
                    pin(cpus[i % cpus.size()]);
                workers[i]->open();
                ready++;
                workers[i]->work();
            } catch (...) {
                std::lock_guard<std::mutex> guard(lock);
                failure = std::current_exception();
                ready++;
            }
        });
    while (ready.load() < cell.threads)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.2, options.seconds / 5)));
    for (auto &worker : workers)
        worker->count_from_now();
    start = now_ns();
    while (now_ns() - start < options.seconds * 1e9 && !cli::stopped() && failure == nullptr)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    sum.seconds = static_cast<double>(now_ns() - start) / 1e9;
    for (auto &worker : workers)
        worker->stop();
    for (std::thread &thread : threads)
        thread.join();
    if (failure != nullptr)
        std::rethrow_exception(failure);
    for (auto &worker : workers)
        sum.add(worker->result());
    return sum;
}

int run(const RunOptions &options)
{
    Report report(options);

    bool words = options.op == "cas" || options.op == "lock";
    std::vector<Cell> cells;

    for (uint64_t bytes : words ? std::vector<uint64_t>{ 8 } : options.sizes)
        for (uint32_t depth : options.depths)
            for (uint32_t threads : options.threads)
                cells.push_back({ bytes, depth, threads });
    for (Cell cell : cells)
        if (!cli::stopped())
            report.add(cell, run_cell(options, cell));
    report.finish();
    return cli::kDone;
}

} // namespace bench
