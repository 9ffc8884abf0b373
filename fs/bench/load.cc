/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.cc: threads that begin a row together, and the table of rows.
 *
 * Tests: tests/tools/fs_test
 */
#include "bench/load.h"

#include "output.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace rfs::bench
{

using Clock = std::chrono::steady_clock;

/* Of latencies that a thread keeps: more calls than that reuse the places of earlier ones. */
static constexpr size_t kSamplesMax = 1 << 18;
/* A thread reads the clock before and after each call, but asks once in so many calls whether the
 * time is over. */
static constexpr uint64_t kCallsPerLook = 8;

struct ThreadResult {
    uint64_t calls = 0;
    double seconds = 0;
    std::vector<uint32_t> samples_ns;
};

static ThreadResult repeat(double seconds, const std::function<bool(uint64_t)> &act)
{
    ThreadResult result;
    Clock::time_point start = Clock::now();
    Clock::time_point end =
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    Clock::time_point now = start;

    while (result.calls % kCallsPerLook != 0 || now < end) {
        Clock::time_point before = now;

        if (!act(result.calls))
            break;
        now = Clock::now();
        auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now - before).count();
        auto sample = static_cast<uint32_t>(std::min<int64_t>(ns, UINT32_MAX));

        if (result.samples_ns.size() < kSamplesMax)
            result.samples_ns.push_back(sample);
        else
            result.samples_ns[result.calls % kSamplesMax] = sample;
        result.calls++;
    }
    result.seconds = std::chrono::duration<double>(now - start).count();
    return result;
}

static uint64_t quantile(std::vector<uint32_t> &samples, double share)
{
    if (samples.empty())
        return 0;
    auto at =
        samples.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(samples.size() - 1));

    std::nth_element(samples.begin(), at, samples.end());
    return *at;
}

Crew::Crew(uint32_t threads)
    : begin_(static_cast<ptrdiff_t>(threads) + 1), end_(static_cast<ptrdiff_t>(threads) + 1)
{
    for (uint32_t t = 0; t < threads; t++)
        threads_.emplace_back([this, t] { follow(t); });
}

Crew::~Crew()
{
    job_ = nullptr;
    begin_.arrive_and_wait();
    for (std::thread &thread : threads_)
        thread.join();
}

void Crew::follow(uint32_t thread)
{
    for (;;) {
        begin_.arrive_and_wait();
        if (job_ == nullptr)
            return;
        try {
            (*job_)(thread);
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex_);

            failure_ = std::current_exception();
        }
        end_.arrive_and_wait();
    }
}

void Crew::work(const std::function<void(uint32_t)> &job)
{
    job_ = &job;
    begin_.arrive_and_wait();
    end_.arrive_and_wait();
    if (failure_)
        std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Crew::work(const std::function<void()> &rows, const std::function<void(uint32_t)> &end)
{
    std::exception_ptr first;

    try {
        rows();
    } catch (...) {
        first = std::current_exception();
    }
    try {
        work(end);
    } catch (...) {
        first = first ? first : std::current_exception();
    }
    if (first)
        std::rethrow_exception(first);
}

Load::Load(const LoadOptions &options) : options_(options)
{
    print("call             threads      calls/s      MiB/s   p50 us   p99 us\n");
}

void Load::measure(const std::string &what, Crew &crew, uint64_t bytes,
                   const std::function<bool(uint32_t, uint64_t)> &act)
{
    std::vector<ThreadResult> results(crew.threads());

    crew.work([&](uint32_t t) {
        results[t] = repeat(options_.seconds, [&](uint64_t i) { return act(t, i); });
    });

    Row row{ what, crew.threads(), 0, bytes, 0, 0, 0 };
    std::vector<uint32_t> samples;

    for (const ThreadResult &result : results) {
        row.calls += result.calls;
        row.seconds = std::max(row.seconds, result.seconds);
        samples.insert(samples.end(), result.samples_ns.begin(), result.samples_ns.end());
    }
    row.p50_ns = quantile(samples, 0.5);
    row.p99_ns = quantile(samples, 0.99);
    rows_.push_back(row);

    double rate = row.seconds > 0 ? static_cast<double>(row.calls) / row.seconds : 0;
    char line[128];

    snprintf(line, sizeof(line), "%-16s %7u %12.0f %10.1f %8.1f %8.1f\n", what.c_str(),
             crew.threads(), rate, rate * static_cast<double>(bytes) / (1 << 20),
             static_cast<double>(row.p50_ns) / 1e3, static_cast<double>(row.p99_ns) / 1e3);
    print(line);
}

/* The table goes to standard error if standard output has the JSON. */
void Load::print(const char *line) const
{
    if (options_.json == "-")
        fputs(line, stderr);
    else
        cli::print(line);
}

void Load::finish() const
{
    nlohmann::json rows = nlohmann::json::array();

    if (options_.json.empty())
        return;
    for (const Row &row : rows_)
        rows.push_back({ { "what", row.what },
                         { "threads", row.threads },
                         { "calls", row.calls },
                         { "bytes", row.bytes },
                         { "seconds", row.seconds },
                         { "p50_ns", row.p50_ns },
                         { "p99_ns", row.p99_ns } });
    cli::OutFile file(options_.json);

    file.write(rows.dump(2) + "\n");
    file.close();
}

static std::string name_of(const char *kind, uint64_t i)
{
    return kind + std::to_string(i);
}

/* What one thread has. */
struct Owned {
    std::unique_ptr<Names> names;
    uint64_t made = 0;
    uint64_t renamed = 0;
    uint64_t removed = 0;

    bool create(uint64_t i, uint64_t most)
    {
        if (i == most)
            return false;
        try {
            names->create(name_of("a", i));
        } catch (const Full &) {
            return false;
        }
        made++;
        return true;
    }
    bool stat(uint64_t i)
    {
        if (made == 0)
            return false;
        names->stat(name_of("a", i * 7919 % made)); /* a prime: not in the order of creation */
        return true;
    }
    bool rename(uint64_t i)
    {
        if (i == made)
            return false;
        names->rename(name_of("a", i), name_of("b", i));
        renamed++;
        return true;
    }
    bool unlink()
    {
        if (removed == made)
            return false;
        names->unlink(name_of(removed < renamed ? "b" : "a", removed));
        removed++;
        return true;
    }
};

void measure_names(Load &load, const LoadOptions &options, uint32_t threads, const MakeNames &make)
{
    Crew crew(threads);
    std::vector<Owned> owned(threads);
    auto row = [&](const char *what, const std::function<bool(uint32_t, uint64_t)> &act) {
        load.measure(what, crew, 0, act);
    };

    auto rows = [&] {
        crew.work([&](uint32_t t) { owned[t].names = make(t); });
        row("create",
            [&](uint32_t t, uint64_t i) { return owned[t].create(i, options.files_max); });
        if (options.keep)
            return;
        row("stat", [&](uint32_t t, uint64_t i) { return owned[t].stat(i); });
        row("rename", [&](uint32_t t, uint64_t i) { return owned[t].rename(i); });
        row("unlink", [&](uint32_t t, uint64_t) { return owned[t].unlink(); });
    };

    crew.work(rows, [&](uint32_t t) {
        while (!options.keep && owned[t].unlink()) {
        }
        owned[t].names.reset();
    });
}

} // namespace rfs::bench
