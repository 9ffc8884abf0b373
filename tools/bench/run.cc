/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.cc: rpm-bench run: measure every block size with every depth and number of threads over any
 * URL; each thread has its own connection and object.
 */
#include "bench/run.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

namespace bench
{

static constexpr double kParts = 20; /* parts of the time of which the rate is recorded */

static std::string seconds_left(double seconds)
{
    return std::to_string(static_cast<int>(std::ceil(std::max(seconds, 0.0)))) + " s left";
}

static std::string per_second(double rate)
{
    return std::to_string(static_cast<uint64_t>(rate)) + " operations a second";
}

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
    level = other.level;
    method = other.method;
}

double ramp_seconds(const RunOptions &options)
{
    return options.ramp >= 0 ? options.ramp : std::min(0.2, options.seconds / 5);
}

using Workers = std::vector<std::unique_ptr<Worker>>;

static uint64_t counted(const Workers &workers)
{
    uint64_t sum = 0;

    for (const auto &worker : workers)
        sum += worker->counted();
    return sum;
}

/* Wait until the time is over, a worker failed or the user asked to stop; returns the seconds. With
 * @rate this is the measured time, else the ramp before it. */
static double wait(const RunOptions &options, const Workers &workers, const std::string &title,
                   Spread *rate, const std::atomic<bool> &failed)
{
    const double wanted = rate != nullptr ? options.seconds : ramp_seconds(options);
    const double part = std::max(options.seconds / kParts, 0.005);
    uint64_t start = now_ns();
    double seconds = 0;
    double part_from = 0;
    uint64_t part_count = 0;

    while (seconds < wanted && !cli::stopped() && !failed.load()) {
        std::this_thread::sleep_for(std::chrono::duration<double>(
            std::min({ 0.005, wanted - seconds, part_from + part - seconds })));
        seconds = static_cast<double>(now_ns() - start) / 1e9;
        if (rate != nullptr && seconds - part_from >= part) {
            uint64_t count = counted(workers);

            rate->add(static_cast<double>(count - part_count) / (seconds - part_from));
            part_from = seconds;
            part_count = count;
        }
        progress().show([&] {
            return title + ": " +
                   (rate == nullptr ? "warming up" : seconds_left(wanted - seconds)) +
                   (rate == nullptr ? "" : ", " + per_second(rate->mean));
        });
    }
    return seconds;
}

/* Run all threads of a cell: warm up, measure for the requested time, stop. */
static Result run_cell(const RunOptions &options, Cell cell, const std::string &title)
{
    Workers workers;
    std::vector<std::thread> threads;
    std::vector<int> cpus = allowed_cpus();
    std::exception_ptr failure;
    std::atomic<bool> failed{ false };
    std::mutex lock;
    Result sum;

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
                failed.store(true);
                ready++;
            }
        });
    while (ready.load() < cell.threads)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    wait(options, workers, title, nullptr, failed);
    for (auto &worker : workers)
        worker->count_from_now();
    sum.seconds = wait(options, workers, title, &sum.rate, failed);
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

static std::vector<Cell> cells_of(const RunOptions &options)
{
    bool words = options.op == "cas" || options.op == "lock";
    std::vector<Cell> cells;

    for (uint64_t bytes : words ? std::vector<uint64_t>{ 8 } : options.sizes)
        for (uint32_t depth : options.depths)
            for (uint32_t threads : options.threads)
                cells.push_back({ bytes, depth, threads });
    return cells;
}

static std::string title_of(const RunOptions &options, const std::vector<Cell> &cells, size_t at)
{
    const Cell &cell = cells[at];

    return "line " + std::to_string(at + 1) + " of " + std::to_string(cells.size()) + ", " +
           options.op + " of " + std::to_string(cell.bytes) + " B at depth " +
           std::to_string(cell.depth) + ", threads " + std::to_string(cell.threads);
}

/* Results so far are kept after any failure: the files are then marked incomplete. */
int run(const RunOptions &options)
{
    Report report(options);
    std::vector<Cell> cells = cells_of(options);
    std::exception_ptr failure;

    try {
        for (size_t i = 0; i < cells.size() && !cli::stopped(); i++)
            report.add(cells[i], run_cell(options, cells[i], title_of(options, cells, i)));
    } catch (...) {
        failure = std::current_exception();
    }
    progress().clear();
    report.finish(failure == nullptr && !cli::stopped());
    if (failure != nullptr)
        std::rethrow_exception(failure);
    if (cli::stopped())
        throw cli::Failure("stopped: " + std::to_string(report.lines()) +
                           " lines were measured, the last of them perhaps for a shorter time");
    return cli::kDone;
}

} // namespace bench
