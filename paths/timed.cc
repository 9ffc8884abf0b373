/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timed.cc: runs threads for a fixed time.
 */
#include "timed.h"

#include "tool.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace paths
{

namespace
{

constexpr double kWarmPart = 0.25; /* of the time that counts, before it */
constexpr uint64_t kLookNs = 5000000;

/* Until the time is over, a thread has failed, the user asks to stop, or @enough. */
void wait(
    double seconds, const std::atomic<bool> &failed,
    const std::function<bool()> &enough = [] { return false; })
{
    uint64_t end_ns = now_ns() + static_cast<uint64_t>(seconds * 1e9);

    for (uint64_t now = now_ns(); now < end_ns && !failed && !cli::stopped() && !enough();
         now = now_ns())
        std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(end_ns - now, kLookNs)));
}

} // namespace

bool Stage::ended() const
{
    return now_.load(std::memory_order_relaxed) == kEnd || cli::stopped();
}

double run_timed(size_t n, double seconds, double timeout,
                 const std::function<void(size_t, const Stage &)> &work)
{
    std::vector<std::exception_ptr> failures(n);
    std::vector<std::thread> threads;
    std::atomic<bool> failed{ false };
    Stage stage;

    for (size_t i = 0; i < n; i++)
        threads.emplace_back([&, i] {
            try {
                work(i, stage);
            } catch (...) {
                failures[i] = std::current_exception();
                failed = true;
            }
        });
    wait(kWarmPart * seconds, failed);
    uint64_t begin_ns = now_ns();
    stage.set(Stage::kCount);
    wait(seconds, failed);
    wait(timeout, failed, [&stage] { return stage.any(); });
    double counted = static_cast<double>(now_ns() - begin_ns) / 1e9;
    stage.set(Stage::kEnd);
    for (std::thread &thread : threads)
        thread.join();
    for (const std::exception_ptr &failure : failures)
        if (failure != nullptr)
            std::rethrow_exception(failure);
    if (cli::stopped())
        throw cli::Failure("stopped");
    if (!stage.any())
        throw cli::Failure("no operation ended within --time and --timeout");
    return counted;
}

} // namespace paths
