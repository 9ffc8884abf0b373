/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parallel.cc: a contender of several logs, each with its own connection and thread.
 */
#include "bench/ours.h"

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace bench
{

/* A log that submits as many appends as the depth says, and waits for all of them by
 * rpm_log_persist(): clients that poll would take the CPUs from each other. */
class BlockingLog : public OurLog
{
  public:
    using OurLog::OurLog;

    void append(uint64_t n) override
    {
        for (uint64_t i = 0; i < n; i += shape_.depth) {
            for (uint32_t k = 0; k < shape_.depth; k++)
                submit();
            cli::check("append", rpm_log_persist(log()));
            reap();
        }
    }

  private:
    void submit()
    {
        int err = RPM_E_BUSY;

        while (err == RPM_E_BUSY) {
            err = rpm_log_append_async(log(), payload_.data(), shape_.bytes, 0, nullptr, nullptr);
            if (err == RPM_E_BUSY)
                reap();
        }
        cli::check("append", err);
    }
    void reap()
    {
        rpm_completion done[32];
        int found;

        while ((found = cli::check("poll", rpm_log_poll(log(), done, 32))) > 0)
            for (int i = 0; i < found; i++)
                cli::check("append", done[i].status);
    }
};

class ParallelLogs : public Contender
{
  public:
    using Open = std::function<ContenderPtr(uint32_t)>;

    ParallelLogs(uint32_t connections, const Open &open) : members_(connections)
    {
        for (uint32_t i = 0; i < connections; i++)
            threads_.emplace_back([this, open, i] { run_member(open, i); });
        try {
            run_all([](Contender &) {});
        } catch (...) {
            end();
            throw;
        }
    }
    ~ParallelLogs() override
    {
        end();
    }

    void append(uint64_t n) override
    {
        uint64_t share = n / members_;

        run_all([share](Contender &log) { log.append(share); });
    }
    void reset() override
    {
        run_all([](Contender &log) { log.reset(); });
    }
    uint64_t burst_max() const override
    {
        return burst_max_;
    }

  private:
    /* Run @work in all threads, and wait for them. */
    void run_all(const std::function<void(Contender &)> &work)
    {
        std::unique_lock<std::mutex> guard(lock_);

        work_ = work;
        busy_ = members_;
        turn_++;
        wake_.notify_all();
        done_.wait(guard, [this] { return busy_ == 0; });
        if (failure_ != nullptr)
            std::rethrow_exception(failure_);
    }
    void end()
    {
        {
            std::lock_guard<std::mutex> guard(lock_);

            stop_ = true;
            wake_.notify_all();
        }
        for (std::thread &thread : threads_)
            thread.join();
    }
    void run_member(const Open &open, uint32_t index)
    {
        ContenderPtr log;

        for (uint64_t turn = 1;; turn++) {
            std::unique_lock<std::mutex> guard(lock_);
            std::exception_ptr failure;

            wake_.wait(guard, [this, turn] { return stop_ || turn_ >= turn; });
            if (stop_)
                return;
            guard.unlock();
            try {
                if (log == nullptr)
                    log = open(index);
                work_(*log);
            } catch (...) {
                failure = std::current_exception();
            }
            guard.lock();
            if (log != nullptr)
                burst_max_ = members_ * log->burst_max();
            if (failure != nullptr)
                failure_ = failure;
            if (--busy_ == 0)
                done_.notify_one();
        }
    }

    const uint32_t members_;
    uint64_t burst_max_ = 0;
    std::mutex lock_;
    std::condition_variable wake_;
    std::condition_variable done_;
    std::function<void(Contender &)> work_; /* of this round */
    uint64_t turn_ = 0;
    uint32_t busy_ = 0; /* members still working */
    bool stop_ = false;
    std::exception_ptr failure_;
    std::vector<std::thread> threads_;
};

ContenderPtr make_parallel(const std::string &url, Shape shape, uint64_t capacity,
                           uint32_t connections, const ClientOptions &options)
{
    static int created;
    std::string name = "bench-" + std::to_string(created++) + "-";

    return std::make_unique<ParallelLogs>(connections, [=](uint32_t index) {
        std::string own = name + std::to_string(index);

        if (options.level == 0)
            return make_ours(url, own, shape, capacity, options);
        return ContenderPtr(std::make_unique<BlockingLog>(url, own, shape, capacity, options));
    });
}

} // namespace bench
