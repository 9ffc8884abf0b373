/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timed.h: threads that work for a fixed time, of which the first part is not counted.
 */
#ifndef RPM_PATHS_TIMED_H
#define RPM_PATHS_TIMED_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace paths
{

inline uint64_t now_ns()
{
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                 std::chrono::nanoseconds(1));
}

/* What all threads do now, and how many operations have counted. */
class Stage
{
  public:
    enum What { kWarm, kCount, kEnd };

    /* An operation has ended. Does it count? */
    bool counts() const
    {
        if (now_.load(std::memory_order_relaxed) != kCount)
            return false;
        if (!any_.load(std::memory_order_relaxed))
            any_ = true;
        return true;
    }
    bool any() const
    {
        return any_;
    }
    /* Must the thread end? Also true once the user has asked the program to stop. */
    bool ended() const;
    void set(What what)
    {
        now_ = what;
    }

  private:
    std::atomic<int> now_{ kWarm };
    mutable std::atomic<bool> any_{ false };
};

/* Runs @work in @n threads, with the number of each: first a quarter of @seconds to warm up, then
 * @seconds that count; then up to @timeout seconds more if no operation has ended yet. Returns the
 * seconds that counted; throws what a thread has thrown, soon after that, or Failure. */
double run_timed(size_t n, double seconds, double timeout,
                 const std::function<void(size_t, const Stage &)> &work);

} // namespace paths

#endif
