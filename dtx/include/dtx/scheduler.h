/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheduler.h: the coroutines of one session take turns on its thread.
 *
 * In tests that interleave steps, a seeded generator chooses steps at which another coroutine runs
 * first although nothing has to be waited for: so one thread tries many interleavings, and a seed
 * repeats them.
 *
 * Tests: tests/unit/dtx/engine/base/scheduler_test.cpp
 */
#ifndef DTX_SCHEDULER_H
#define DTX_SCHEDULER_H

#include <dtx/task.h>

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace dtx
{

/* Nanoseconds of the machine's monotonic clock. */
uint64_t now_ns();

/* The generator splitmix64: small, and its seed gives the same numbers on each machine. */
class SplitMix64
{
  public:
    explicit SplitMix64(uint64_t seed) : state_(seed) {}
    uint64_t next()
    {
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    /* 0 to @n - 1. */
    uint64_t below(uint64_t n)
    {
        return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
    }

  private:
    uint64_t state_;
};

class Scheduler
{
  public:
    /* @interleave: of 256 steps, how many let another coroutine go first. */
    Scheduler(uint64_t seed, uint32_t interleave) : random_(seed), interleave_(interleave) {}

    /* Awaited. turn(): other coroutines run first. step(): so only where steps interleave, by the
     * generator's choice. */
    struct Turn {
        bool await_ready() const noexcept
        {
            return !yields;
        }
        void await_suspend(std::coroutine_handle<> handle)
        {
            scheduler.ready_.push_back(handle);
        }
        void await_resume() const noexcept {}
        Scheduler &scheduler;
        bool yields;
    };
    Turn turn()
    {
        return { *this, true };
    }
    Turn step()
    {
        return { *this, interleave_ != 0 && random_.below(256) < interleave_ };
    }

    /* Awaited: continue at @until_ns; other coroutines run meanwhile. Where steps interleave:
     * continue after some turns, whatever the time. */
    struct Sleep {
        bool await_ready() const noexcept
        {
            return false;
        }
        void await_suspend(std::coroutine_handle<> handle)
        {
            scheduler.sleeping_.push_back({ until_ns, handle });
        }
        void await_resume() const noexcept {}
        Scheduler &scheduler;
        uint64_t until_ns;
    };
    Sleep sleep_until(uint64_t until_ns)
    {
        return { *this, until_ns };
    }
    bool interleaves() const
    {
        return interleave_ != 0;
    }

    /* Awaited: stores this coroutine in @place and waits until wake() is called with it. */
    struct Wait {
        bool await_ready() const noexcept
        {
            return false;
        }
        void await_suspend(std::coroutine_handle<> handle) noexcept
        {
            place = handle;
        }
        void await_resume() const noexcept {}
        std::coroutine_handle<> &place;
    };
    void wake(std::coroutine_handle<> handle)
    {
        ready_.push_back(handle);
    }

    /* Run all tasks to their end. Meanwhile @poll is called repeatedly and wakes coroutines that
     * can continue; its argument is the time until which no coroutine is ready, or 0 if one is. */
    void run(std::vector<Task<void>> &tasks,
             const std::function<void(uint64_t idle_until_ns)> &poll);

    SplitMix64 &random()
    {
        return random_;
    }

  private:
    struct Sleeper {
        uint64_t until_ns;
        std::coroutine_handle<> handle;
    };

    void wake_sleepers();
    uint64_t idle_until_ns() const;

    std::deque<std::coroutine_handle<>> ready_;
    std::vector<Sleeper> sleeping_;
    SplitMix64 random_;
    uint32_t interleave_;
};

} // namespace dtx
#endif
