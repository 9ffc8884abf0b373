/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.cc: fio's axes over any URL: every block size with every depth, in as many threads as asked
 * for, each with a connection and an object of its own.
 */
#include "bench/run.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

namespace bench
{

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

Worker::Worker(const RunOptions &options, Cell cell, uint32_t index)
    : options_(options), cell_(cell),
      name_("bench-" + std::to_string(getpid()) + "-" + std::to_string(index)),
      payload_(std::max<uint64_t>(cell.bytes, 8), 'x'), done_(std::max(cell.depth, options.batch)),
      start_(done_.size())
{
    rpm_hist_init(&result_.hist);
}

Worker::~Worker()
{
    log_.reset();
    region_.reset();
    if (conn_ != nullptr)
        (void)!rpm_conn_remove(conn_.get(), name_.c_str());
}

void Worker::open()
{
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.timeout_us = static_cast<uint64_t>(std::ceil(options_.timeout * 1e6));
    opts.method = options_.method;
    opts.hints = options_.hints.c_str();
    opts.staging_bytes = std::max<uint64_t>(16u << 20, 8 * staging_bytes());
    conn_ = cli::connect(options_.url, &opts);
    result_.memory = rpm_conn_mem_bytes(&opts);
    if (options_.op == "append")
        open_log();
    else
        open_region();
}

uint64_t Worker::staging_bytes() const
{
    return round_up(std::max<uint64_t>(1u << 20, 4 * done_.size() * (cell_.bytes + 64)), 64);
}

void Worker::open_log()
{
    rpm_log_opts opts = rpm_log_opts_init();
    uint64_t group = done_.size() * (cell_.bytes + 512);
    rpm_log *raw = nullptr;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.level = options_.level;
    opts.inflight_max = static_cast<uint32_t>(done_.size());
    opts.capacity_bytes = round_up(std::max<uint64_t>(16u << 20, 8 * group), 4096);
    opts.staging_bytes = staging_bytes();
    cli::check(name_, rpm_log_open(conn_.get(), name_.c_str(), &opts, &raw));
    log_.reset(raw);
    result_.memory += rpm_log_mem_bytes(&opts);
    trim_at_ = opts.capacity_bytes / 2;
}

void Worker::open_region()
{
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *raw = nullptr;
    bool volatile_words = options_.op == "cas";

    opts.flags = RPM_REGION_CREATE | (volatile_words ? RPM_REGION_DRAM : 0);
    opts.level = options_.level;
    opts.inflight_max = static_cast<uint32_t>(done_.size());
    slots_ = volatile_words ? 64 : std::max<uint64_t>(1, (16u << 20) / round_up(cell_.bytes, 64));
    opts.bytes = volatile_words ? slots_ * 64 : slots_ * round_up(cell_.bytes, 64);
    cli::check(name_, rpm_region_open(conn_.get(), name_.c_str(), &opts, &raw));
    region_.reset(raw);
}

/* An offset that looks random and costs nothing. */
uint64_t Worker::next_offset()
{
    random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
    return (random_ >> 33) % slots_ * round_up(options_.op == "cas" ? 8 : cell_.bytes, 64);
}

void Worker::count(uint64_t records, uint64_t ns)
{
    if (!counting_)
        return;
    result_.records += records;
    for (uint64_t i = 0; i < records; i++)
        rpm_hist_add(&result_.hist, ns);
}

/* Space of old records back, now and then. */
void Worker::make_room()
{
    struct rpm_log_info info = rpm_log_info_init();

    if (since_trim_ < trim_at_)
        return;
    since_trim_ = 0;
    cli::check("persist", rpm_log_persist(log_.get()));
    cli::check("info", rpm_log_info(log_.get(), &info));
    cli::check("trim", rpm_log_trim(log_.get(), info.tail_lsn));
}

void Worker::append_batch()
{
    std::vector<rpm_slice> slices(options_.batch, rpm_slice{ payload_.data(), cell_.bytes });
    uint64_t from = now_ns();

    while (!stop_.load(std::memory_order_relaxed)) {
        uint64_t end;

        cli::check("append",
                   options_.batch == 1
                       ? rpm_log_append(log_.get(), payload_.data(), cell_.bytes, nullptr)
                       : rpm_log_append_batch(log_.get(), slices.data(), options_.batch, nullptr));
        end = now_ns();
        count(options_.batch, end - from);
        from = end;
        since_trim_ += options_.batch * (cell_.bytes + 512);
        if (since_trim_ >= trim_at_) {
            make_room();
            from = now_ns();
        }
    }
}

int Worker::submit(uint64_t seq)
{
    void *context = reinterpret_cast<void *>(seq);
    bool more = options_.batch > 1 && (seq + 1) % options_.batch != 0;

    start_[seq % start_.size()] = now_ns();
    if (log_ == nullptr)
        return rpm_region_write_async(region_.get(), next_offset(), payload_.data(), cell_.bytes,
                                      context);
    since_trim_ += cell_.bytes + 512;
    return rpm_log_append_async(log_.get(), payload_.data(), cell_.bytes,
                                more ? static_cast<uint32_t>(RPM_MORE) : 0u, context, nullptr);
}

/* As many under way as the depth allows, one more for each that completes. */
void Worker::pipeline()
{
    uint64_t submitted = 0;
    uint64_t completed = 0;
    uint64_t heard = now_ns(); /* of the far end */

    while (!stop_.load(std::memory_order_relaxed) || completed < submitted) {
        uint32_t room = static_cast<uint32_t>(done_.size());
        uint64_t now;
        int n;

        while (submitted - completed < cell_.depth && !stop_.load(std::memory_order_relaxed)) {
            int err = submit(submitted);

            if (err == RPM_E_BUSY)
                break;
            cli::check(options_.op, err);
            submitted++;
        }
        if (log_ != nullptr && stop_.load(std::memory_order_relaxed))
            cli::check("persist", rpm_log_persist(log_.get()));
        n = cli::check("poll", log_ != nullptr
                                   ? rpm_log_poll(log_.get(), done_.data(), room)
                                   : rpm_region_poll(region_.get(), done_.data(), room));
        now = now_ns();
        if (n > 0 || submitted == completed)
            heard = now;
        else if (now - heard > options_.timeout * 1e9)
            throw cli::Failure(options_.op + ": nothing completed in time");
        for (int i = 0; i < n; i++) {
            cli::check(options_.op, done_[static_cast<size_t>(i)].status);
            count(1, now - start_[completed++ % start_.size()]);
        }
        if (log_ != nullptr && since_trim_ >= trim_at_)
            make_room();
    }
}

int Worker::one_op()
{
    if (options_.op == "write")
        return rpm_region_write(region_.get(), next_offset(), payload_.data(), cell_.bytes);
    return rpm_region_read(region_.get(), next_offset(), payload_.data(), cell_.bytes);
}

int Worker::one_cas()
{
    uint64_t offset = next_offset();
    uint64_t found;
    int err = rpm_region_cas(region_.get(), offset, expected_[offset / 64],
                             expected_[offset / 64] + 1, &found);

    if (err == 0)
        expected_[offset / 64] = found == expected_[offset / 64] ? found + 1 : found;
    return err;
}

void Worker::one_by_one()
{
    bool cas = options_.op == "cas";
    uint64_t from = now_ns();

    expected_.assign(slots_, 0);
    while (!stop_.load(std::memory_order_relaxed)) {
        uint64_t end;

        cli::check(options_.op, cas ? one_cas() : one_op());
        end = now_ns();
        count(1, end - from);
        from = end;
    }
}

void Worker::work()
{
    if (options_.op == "append" && cell_.depth == 1)
        append_batch();
    else if ((options_.op == "append" || options_.op == "write") && cell_.depth > 1)
        pipeline();
    else
        one_by_one();
}

/* All threads of a cell warm up, are counted for the time asked for, and stop. */
static Result run_cell(const RunOptions &options, Cell cell)
{
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::thread> threads;
    std::vector<int> cpus = allowed_cpus();
    std::exception_ptr failure;
    std::mutex lock;
    Result sum;
    uint64_t start;

    rpm_hist_init(&sum.hist);
    for (uint32_t i = 0; i < options.threads; i++)
        workers.push_back(std::make_unique<Worker>(options, cell, i));
    std::atomic<uint32_t> ready{ 0 };
    for (uint32_t i = 0; i < options.threads; i++)
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
                ready++;
            }
        });
    while (ready.load() < options.threads)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.2, options.seconds / 5)));
    for (auto &worker : workers)
        worker->count_from_now();
    start = now_ns();
    while (now_ns() - start < options.seconds * 1e9 && !cli::stopped() && failure == nullptr)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    sum.seconds = static_cast<double>(now_ns() - start) / 1e9;
    for (auto &worker : workers)
        worker->stop();
    for (std::thread &thread : threads)
        thread.join();
    if (failure != nullptr)
        std::rethrow_exception(failure);
    for (auto &worker : workers) {
        sum.records += worker->result().records;
        sum.memory += worker->result().memory;
        rpm_hist_merge(&sum.hist, &worker->result().hist);
    }
    return sum;
}

int run(const RunOptions &options)
{
    Report report(options);

    for (uint64_t bytes : options.sizes)
        for (uint32_t depth : options.depths) {
            Cell cell = { options.op == "cas" ? 8 : bytes, depth };

            if (cli::stopped())
                break;
            report.add(cell, run_cell(options, cell));
        }
    report.finish();
    return cli::kDone;
}

} // namespace bench
