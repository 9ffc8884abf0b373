/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls.h: the calls of a client that are under way, each a coroutine of its session. A blocking
 * call is one for which the thread waits; of one that was submitted, a completion tells.
 *
 * Invariants
 *   of a file, a call that is held begins when all that began before it have ended
 *   the last completion of a client is handed out when what its calls committed is installed: a
 *   program that has all of them need not call again
 *
 * Tests: tests/unit/fs/lib/async_test.cpp
 */
#ifndef FS_LIB_CALLS_H
#define FS_LIB_CALLS_H

#include <dtx/session.h>
#include <dtx/task.h>

#include <librpmfs.h>

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rfs
{

/* How a call of a file stands to others of that file. */
enum class Order {
    free,
    lock,    /* of a lock: fsync() does not wait for it, and close() ends it */
    barrier, /* begins when all before it have ended, but those of locks */
    close    /* begins when all have ended, and is the last one */
};

/* The error number, negative, for the exception that is being handled. @text: out, of
 * rfs_last_error(). */
int error_of_exception(std::string &text);

struct Job {
    void *context = nullptr;
    rfs_file *file = nullptr; /* nullptr: a call on a path */
    Order order = Order::free;
    uint64_t number = 0;
    int64_t result = 0;
    std::string text; /* of rfs_last_error() */
    bool is_submitted = false;
    bool has_ended = false;
    bool is_cancelled = false;
    rfs_file **into = nullptr; /* of rfs_open_async() */
    std::unique_ptr<rfs_file> opened;
};

/* Calls of a file that have not ended. */
class FileCalls
{
  public:
    void add(const Job &job);
    void remove(const Job &job);
    void hold(Job &job, dtx::Task<int64_t> body);
    /* A held call that may begin now. */
    std::optional<dtx::Task<int64_t>> next(Job *&job);
    bool is_closing() const
    {
        return closing_;
    }

  private:
    struct Held {
        Job *job;
        dtx::Task<int64_t> body;
    };

    std::vector<uint64_t> unended_; /* numbers, ascending; not of locks */
    uint32_t locks_ = 0;
    std::deque<Held> held_;
    bool closing_ = false;
};

class Calls
{
  public:
    /* @session: borrowed. @inflight_max: calls submitted of which no completion was taken. */
    Calls(dtx::Session &session, uint32_t inflight_max)
        : session_(session), inflight_max_(inflight_max)
    {
    }
    Calls(const Calls &) = delete;
    Calls &operator=(const Calls &) = delete;

    /* Runs a call while the thread waits. @make: a callable Task<int64_t>(Job &). Returns what the
     * call returned, or its error, whose text it notes. */
    template <class Make> int64_t run(rfs_file *file, Order order, Make make)
    {
        Job job;

        job.file = file;
        job.order = order;
        begin(job, make(job));
        finish(job);
        return job.result;
    }

    /* Begins a call, whose completion take() returns. Failure: EAGAIN; what @make throws. */
    template <class Make> void submit(rfs_file *file, Order order, void *context, Make make)
    {
        Job &job = add(file, order, context);
        std::optional<dtx::Task<int64_t>> body;

        try {
            body.emplace(make(job));
        } catch (...) {
            submitted_.pop_back();
            throw;
        }
        begin(job, std::move(*body));
    }

    /* Calls that were submitted and whose completions were not taken. */
    size_t outstanding() const
    {
        return submitted_.size() + ended_.size();
    }
    bool is_running() const
    {
        return running_ > 0;
    }
    /* Completions that take() would return. @installing: dtx::Session::work() has returned true. */
    size_t available(bool installing) const;
    uint32_t take(rfs_completion *done, uint32_t n, bool installing);
    /* Ends waits for locks that were submitted with a context, or all. Returns how many. */
    uint32_t cancel(const void *context);
    void cancel_all();
    /* Lets all calls run to their end. */
    void drain();
    /* If no call is running: until what they have committed is installed. */
    void settle();
    /* A completion that was not taken has opened a file: the caller closes it. nullptr: none. */
    std::unique_ptr<rfs_file> untaken();

  private:
    using Jobs = std::list<Job>;

    Job &add(rfs_file *file, Order order, void *context);
    void begin(Job &job, dtx::Task<int64_t> body);
    void finish(Job &job);
    static void hand_out(Job &job);
    dtx::Task<> follow(Job &job, dtx::Task<int64_t> body);
    void end(Job &job);
    void end_in_file(const Job &job);

    dtx::Session &session_;
    uint32_t inflight_max_;
    uint64_t numbers_ = 0;
    uint32_t running_ = 0;           /* begun or held, and not ended */
    Jobs submitted_;                 /* that have not ended */
    Jobs ended_;                     /* oldest first: their completions are not taken */
    std::vector<std::string> texts_; /* of the completions that were taken last */
};

} // namespace rfs
#endif
