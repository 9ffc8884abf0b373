/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.cc: runs the threads of a workload, which start together and end together.
 *
 * A failure in one thread ends all threads; run() throws it when all have ended. While they run,
 * the caller's thread reads the counters of each thread, which are atomic.
 */
#include "workload/run.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace dtx
{

namespace
{

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/* Synchronises the threads of a run: they begin together, and the caller waits for their end. */
class ThreadGroup
{
  public:
    explicit ThreadGroup(uint32_t threads) : running_(threads), joining_(threads) {}
    /* Called by a thread when it has joined; returns when all have. */
    void ready()
    {
        std::unique_lock lock(mutex_);

        joining_--;
        changed_.notify_all();
        changed_.wait(lock, [this] { return joining_ == 0; });
    }
    /* Called by a thread that ends, with its failure or null. If it has not called ready() before,
     * the others no longer wait for it. */
    void ended(bool was_ready, std::exception_ptr failure)
    {
        std::lock_guard lock(mutex_);

        joining_ -= was_ready ? 0 : 1;
        running_--;
        if (failure)
            stop_ = true;
        if (failure && !failure_)
            failure_ = failure;
        changed_.notify_all();
    }
    void wait_ready()
    {
        std::unique_lock lock(mutex_);

        changed_.wait(lock, [this] { return joining_ == 0; });
    }
    /* Waits at most @seconds; true if all threads have ended. */
    bool wait_ended(double seconds)
    {
        std::unique_lock lock(mutex_);

        return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                                 [this] { return running_ == 0; });
    }
    void stop()
    {
        stop_ = true;
    }
    /* Is @failure a full table? Such a run ends early, but its results count. */
    bool note_full(std::exception_ptr failure)
    {
        std::lock_guard lock(mutex_);

        try {
            std::rethrow_exception(failure);
        } catch (const Error &error) {
            if (error.code() == RPM_E_NOSPACE)
                full_ = error.what();
            return error.code() == RPM_E_NOSPACE;
        } catch (...) {
            return false;
        }
    }
    const std::string &full() const
    {
        return full_;
    }
    bool stopped() const
    {
        return stop_.load(std::memory_order_relaxed);
    }
    void rethrow()
    {
        if (failure_)
            std::rethrow_exception(failure_);
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    uint32_t running_;
    uint32_t joining_;
    std::exception_ptr failure_;
    std::string full_;
    std::atomic<bool> stop_ = false;
};

/* One thread of a run. */
class Worker
{
  public:
    Worker(Workload &workload, const Cluster &cluster, const RunOptions &options, uint32_t thread)
        : workload_(workload), cluster_(cluster), options_(options), thread_(thread),
          tally_(workload.kinds().size())
    {
        rpm_hist_init(&latency_);
        tally_.receipts = options.receipts;
        left_ = options.transactions / options.threads +
                (thread < options.transactions % options.threads ? 1 : 0);
    }

    void work(ThreadGroup &group)
    {
        bool ready = false;
        std::exception_ptr failure;

        try {
            Listener *listener = options_.listener ? options_.listener(thread_) : nullptr;
            auto session = join(cluster_, options_.coordinator + thread_, listener);

            Counters joining = session->counters();

            ready = true;
            group.ready();
            run(*session, group);
            counters_ = session->counters();
            subtract(counters_, joining);
        } catch (...) {
            failure = std::current_exception();
        }
        group.ended(ready, failure);
    }

    /* The counts so far; called by another thread. */
    KindCounts so_far() const
    {
        KindCounts counts;

        counts.committed = committed_.load(std::memory_order_relaxed);
        counts.aborted = aborted_.load(std::memory_order_relaxed);
        counts.conflicts = conflicts_.load(std::memory_order_relaxed);
        counts.unknown = unknown_.load(std::memory_order_relaxed);
        return counts;
    }

    /* Excludes the operations of joining from the counters. */
    static void subtract(Counters &counters, const Counters &joining)
    {
        counters.remote -= joining.remote;
        counters.round_trips -= joining.round_trips;
        counters.messages -= joining.messages;
        counters.sent_bytes -= joining.sent_bytes;
        counters.received_bytes -= joining.received_bytes;
    }

    /* After the thread has ended. */
    void add_to(RunResult &result) const
    {
        result.tally.merge(tally_);
        rpm_hist_merge(&result.latency, &latency_);
        result.counters.committed += counters_.committed;
        result.counters.aborted += counters_.aborted;
        result.counters.conflicts += counters_.conflicts;
        result.counters.unknown += counters_.unknown;
        result.counters.remote += counters_.remote;
        result.counters.round_trips += counters_.round_trips;
        result.counters.messages += counters_.messages;
        result.counters.sent_bytes += counters_.sent_bytes;
        result.counters.received_bytes += counters_.received_bytes;
        result.counters.rejoined += counters_.rejoined;
        result.counters.mended += counters_.mended;
    }

  private:
    void run(Session &session, ThreadGroup &group)
    {
        std::vector<std::unique_ptr<Terminal>> terminals;
        std::vector<Task<void>> tasks;

        for (uint32_t i = 0; i < options_.coroutines; i++) {
            TerminalPlace place{ thread_, options_.threads, i, options_.seed };

            terminals.push_back(workload_.terminal(session, tally_, place));
            tasks.push_back(run_terminal(*terminals.back(), session, group));
        }
        session.run(std::move(tasks));
    }

    /* Runs transactions of one terminal until the run ends. */
    Task<void> run_terminal(Terminal &terminal, Session &session, ThreadGroup &group)
    {
        while (may_start(group)) {
            Clock::time_point start = Clock::now();
            Ended ended{};

            try {
                ended = co_await terminal.next();
            } catch (...) {
                group.stop(); /* also stops the other terminals of this thread */
                if (!group.note_full(std::current_exception()))
                    throw;
                break;
            }
            count(ended,
                  static_cast<uint64_t>((Clock::now() - start) / std::chrono::nanoseconds(1)));
            co_await session.turn();
        }
    }

    bool may_start(const ThreadGroup &group)
    {
        if (group.stopped() || (options_.transactions != 0 && left_ == 0))
            return false;
        left_ -= options_.transactions != 0 ? 1 : 0;
        return true;
    }

    void count(const Ended &ended, uint64_t ns)
    {
        KindCounts &counts = tally_.counts[ended.kind];

        rpm_hist_add(&latency_, ns);
        counts.conflicts += ended.outcome.conflicts;
        add(conflicts_, ended.outcome.conflicts);
        switch (ended.outcome.status) {
        case Status::committed:
            counts.committed++;
            add(committed_, 1);
            break;
        case Status::aborted:
            counts.aborted++;
            add(aborted_, 1);
            break;
        case Status::unknown:
            counts.unknown++;
            add(unknown_, 1);
            break;
        }
    }

    /* A single thread writes the counter, so this needs no atomic addition. */
    static void add(std::atomic<uint64_t> &counter, uint64_t more)
    {
        counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }

    Workload &workload_;
    const Cluster &cluster_;
    const RunOptions &options_;
    uint32_t thread_;
    uint64_t left_ = 0;
    Tally tally_;
    rpm_hist latency_;
    Counters counters_;
    std::atomic<uint64_t> committed_ = 0;
    std::atomic<uint64_t> aborted_ = 0;
    std::atomic<uint64_t> conflicts_ = 0;
    std::atomic<uint64_t> unknown_ = 0;
};

using Workers = std::vector<std::unique_ptr<Worker>>;

Sample sample_of(const Workers &workers, double seconds)
{
    Sample sample;

    sample.seconds = seconds;
    for (const auto &worker : workers)
        sample.counts += worker->so_far();
    return sample;
}

/* Waits until all threads have ended, and stops them when the time of the run is over. */
void watch(const Workers &workers, ThreadGroup &group, const RunOptions &options, RunResult &result)
{
    constexpr double kPollSeconds = 0.05; /* seconds between reads of options.stop */
    Clock::time_point start;
    double next = options.interval;

    group.wait_ready();
    start = Clock::now();
    for (bool ended = false; !ended;) {
        double now = seconds_since(start);
        double end = options.seconds > 0 ? options.seconds - now : kPollSeconds;

        ended = group.wait_ended(std::max(0.001, std::min({ kPollSeconds, end, next - now })));
        now = seconds_since(start);
        if ((options.seconds > 0 && now >= options.seconds) ||
            (options.stop != nullptr && options.stop->load()))
            group.stop();
        if (now >= next && !ended) {
            result.samples.push_back(sample_of(workers, now));
            next += options.interval;
            if (options.on_sample)
                options.on_sample(result.samples.back());
        }
    }
    result.seconds = seconds_since(start);
    result.samples.push_back(sample_of(workers, result.seconds));
}

/* Starts @threads threads, of which number i calls @each(i). */
template <class Each> std::vector<std::thread> start_threads(uint32_t threads, Each each)
{
    std::vector<std::thread> all;

    for (uint32_t i = 0; i < threads; i++)
        all.emplace_back([each, i] { each(i); });
    return all;
}

double part_of(const LoadCount &count, uint32_t threads)
{
    /* The total is known only when all threads have counted their pieces. */
    if (count.shares < threads || count.pieces == 0)
        return 0;
    return static_cast<double>(count.done) / static_cast<double>(count.pieces);
}

} // namespace

RunResult::RunResult(size_t kinds) : tally(kinds)
{
    rpm_hist_init(&latency);
}

std::unique_ptr<Session> join(const Cluster &cluster, uint32_t coordinator, Listener *listener)
{
    constexpr double kRetrySeconds = 15;
    constexpr auto kStepMax = std::chrono::milliseconds(500);
    Clock::time_point start = Clock::now();

    /* An attempt that fails at one server has claimed logs at others, and their servers must notice
     * that it gave up. So the pause doubles after each attempt. */
    for (auto step = std::chrono::milliseconds(2);; step = std::min(2 * step, kStepMax)) {
        try {
            return std::make_unique<Session>(cluster, coordinator, listener);
        } catch (const Error &error) {
            if (error.code() != RPM_E_OWNED || seconds_since(start) > kRetrySeconds)
                throw;
        }
        std::this_thread::sleep_for(step);
    }
}

void load(Workload &workload, const Cluster &cluster, uint32_t threads,
          const std::atomic<bool> *stop, const std::function<void(double part)> &on_progress)
{
    constexpr double kProgressSeconds = 0.1;
    ThreadGroup group(threads);
    LoadCount count;
    auto each = [&](uint32_t i) {
        std::exception_ptr failure;

        try {
            auto session = join(cluster, i);

            workload.load(*session, { i, threads, stop, &count });
        } catch (...) {
            failure = std::current_exception();
        }
        group.ended(false, failure);
    };

    std::vector<std::thread> all = start_threads(threads, each);
    while (on_progress && !group.wait_ended(kProgressSeconds))
        on_progress(part_of(count, threads));
    for (std::thread &thread : all)
        thread.join();
    group.rethrow();
}

RunResult run(Workload &workload, const Cluster &cluster, const RunOptions &options)
{
    RunResult result(workload.kinds().size());
    ThreadGroup group(options.threads);
    Workers workers;

    for (uint32_t i = 0; i < options.threads; i++)
        workers.push_back(std::make_unique<Worker>(workload, cluster, options, i));
    std::vector<std::thread> threads =
        start_threads(options.threads, [&](uint32_t i) { workers[i]->work(group); });

    watch(workers, group, options, result);
    for (std::thread &thread : threads)
        thread.join();
    group.rethrow();
    result.full = group.full();
    for (const auto &worker : workers)
        worker->add_to(result);
    return result;
}

} // namespace dtx
