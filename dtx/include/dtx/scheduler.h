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
#include <exception>
#include <functional>
#include <poll.h>
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

    /* Awaited: continue when @fd can be read, has failed or was hung up: a read of it does not
     * block then. The descriptor is borrowed until that. */
    struct Readable {
        bool await_ready() const noexcept
        {
            return false;
        }
        void await_suspend(std::coroutine_handle<> handle)
        {
            scheduler.watched_.push_back(handle);
            scheduler.fds_.push_back({ fd, POLLIN, 0 });
        }
        void await_resume() const noexcept {}
        Scheduler &scheduler;
        int fd;
    };
    Readable readable(int fd)
    {
        return { *this, fd };
    }
    /* The descriptors that coroutines wait for: a thread that sleeps in poll() for other ones adds
     * these. */
    const std::vector<pollfd> &watched() const
    {
        return fds_;
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

    /* Adds a task, which runs beside the others until it ends. Its frame is freed then. */
    void start(Task<void> task);
    /* Starts @tasks, and runs them and all others that are started to their end; then throws the
     * first exception that ended one. Meanwhile @poll is called repeatedly and wakes coroutines
     * that can continue; its argument is the time until which no coroutine is ready, or 0 if one
     * is. */
    void run(std::vector<Task<void>> tasks,
             const std::function<void(uint64_t idle_until_ns)> &poll);

    /* For a thread with a loop of its own, instead of run(): calls @poll once, as run() does, and
     * then lets all coroutines go on that are ready. False: none is left; then it throws the first
     * exception that ended one. */
    bool pass(const std::function<void(uint64_t idle_until_ns)> &poll);
    /* Has no task been started that has not ended? */
    bool is_empty() const
    {
        return tasks_.empty();
    }
    /* The time until which no coroutine is ready, unless @poll or a descriptor wakes one; 0: one is
     * ready now. */
    uint64_t idle_until_ns() const;

    /* How often run() or pass() has let all ready coroutines go on. */
    uint64_t passes() const
    {
        return passes_;
    }

    SplitMix64 &random()
    {
        return random_;
    }

  private:
    struct Sleeper {
        uint64_t until_ns;
        std::coroutine_handle<> handle;
    };

    Task<void> until_end(Task<void> task);
    void run_ready();
    void free_ended();
    void wake_sleepers();
    void wake_readable();
    void wake_and_poll(const std::function<void(uint64_t idle_until_ns)> &poll);
    void end_tasks();

    std::vector<Task<void>> tasks_;
    size_t ended_ = 0; /* of tasks_ */
    uint64_t passes_ = 0;
    std::exception_ptr thrown_;
    std::deque<std::coroutine_handle<>> ready_;
    std::vector<Sleeper> sleeping_;
    std::vector<std::coroutine_handle<>> watched_; /* waits for the descriptor in fds_ */
    std::vector<pollfd> fds_;
    SplitMix64 random_;
    uint32_t interleave_;
};

} // namespace dtx
#endif
