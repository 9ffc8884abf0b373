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
    /* Is the thread to end? It is also if the user wants so. */
    bool ended() const;
    void set(What what)
    {
        now_ = what;
    }

  private:
    std::atomic<int> now_{ kWarm };
    mutable std::atomic<bool> any_{ false };
};

/* Runs @work in @n threads, with the number of each, for @seconds that count and a part of that
 * before; for longer if no operation has ended by then, so that there is a result, but at most
 * @timeout. The seconds that did count; or throws what a thread has thrown, soon after it has. */
double run_timed(size_t n, double seconds, double timeout,
                 const std::function<void(size_t, const Stage &)> &work);

} // namespace paths

#endif
