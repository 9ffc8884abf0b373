/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * worker.cc: one thread of rpm-bench run: its connection, its object, and its loop of operations.
 */
#include "bench/run.h"

#include <algorithm>
#include <cmath>

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
      start_(done_.size()), random_(index + 1)
{
    if (options.op == "lock")
        name_ = "bench-" + std::to_string(getpid()) + "-locks";
}

Worker::~Worker()
{
    log_.reset();
    region_.reset();
    locks_.reset();
    if (conn_ != nullptr)
        (void)!rpm_conn_remove(conn_.get(), name_.c_str());
}

void Worker::open()
{
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.timeout_us = static_cast<uint64_t>(std::ceil(options_.timeout * 1e6));
    opts.method = options_.method;
    opts.hints = options_.hints.c_str();
    opts.pace = options_.pace;
    opts.staging_bytes = std::max<uint64_t>(16u << 20, 8 * staging_bytes());
    conn_ = cli::connect(options_.url, &opts);
    result_.memory = rpm_conn_mem_bytes(&opts);
    if (options_.op == "append")
        open_log();
    else if (options_.op == "lock")
        open_locks();
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
    struct rpm_log_info info = rpm_log_info_init();
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
    cli::check("info", rpm_log_info(log_.get(), &info));
    result_.level = info.level;
    result_.method = info.method;
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
    /* The requested level, since a level that cannot be had is refused; a region does not report
     * its method. */
    if (!volatile_words)
        result_.level = options_.level != 0 ? options_.level : static_cast<uint32_t>(RPM_DURABLE);
    result_.method = options_.method;
}

/* One table for all threads. */
void Worker::open_locks()
{
    rpm_locks *raw = nullptr;

    cli::check(name_, rpm_locks_open(conn_.get(), name_.c_str(), options_.locks, &raw));
    locks_.reset(raw);
}

/* A fast pseudo-random number. */
uint64_t Worker::next_random()
{
    random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
    return random_ >> 33;
}

uint64_t Worker::next_offset()
{
    return next_random() % slots_ * round_up(options_.op == "cas" ? 8 : cell_.bytes, 64);
}

bool Worker::next_is_read()
{
    return options_.op == "read" || (options_.op == "mixed" && next_random() % 100 < options_.mix);
}

void Worker::count(Tally &tally, uint64_t records, uint64_t ns)
{
    if (!counting_)
        return;
    tally.add(records, ns);
    counted_.store(counted() + records, std::memory_order_relaxed);
}

/* Trim the log when it is half full. */
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

    while (going_on()) {
        uint64_t end;

        cli::check("append",
                   options_.batch == 1
                       ? rpm_log_append(log_.get(), payload_.data(), cell_.bytes, nullptr)
                       : rpm_log_append_batch(log_.get(), slices.data(), options_.batch, nullptr));
        end = now_ns();
        count(result_.main, options_.batch, end - from);
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

int Worker::read_one()
{
    return rpm_region_read(region_.get(), next_offset(), payload_.data(), cell_.bytes);
}

/* Windows: submit as many operations as the depth says, let the library wait for all of them,
 * repeat. */
void Worker::windows()
{
    while (going_on()) {
        uint64_t submitted = 0;
        uint64_t completed = 0;
        uint32_t room = static_cast<uint32_t>(done_.size());
        int err = 0;

        while (submitted < cell_.depth && err == 0) {
            err = submit(submitted);
            submitted += err == 0;
        }
        if (err != 0 && err != RPM_E_BUSY)
            cli::check(options_.op, err);
        cli::check("persist", rpm_log_persist(log_.get()));
        while (completed < submitted) {
            int n = cli::check("poll", rpm_log_poll(log_.get(), done_.data(), room));
            uint64_t now = now_ns();

            for (int i = 0; i < n; i++) {
                cli::check(options_.op, done_[static_cast<size_t>(i)].status);
                count(result_.main, 1, now - start_[completed++]);
            }
        }
        if (since_trim_ >= trim_at_)
            make_room();
    }
}

/* Submit more operations up to the depth. The read of a mix is a blocking call. */
void Worker::launch(uint64_t completed, uint64_t *submitted)
{
    while (*submitted - completed < cell_.depth && going_on()) {
        uint64_t from;
        int err;

        if (!next_is_read()) {
            err = submit(*submitted);
            if (err == RPM_E_BUSY)
                return;
            cli::check(options_.op, err);
            ++*submitted;
            continue;
        }
        from = now_ns();
        cli::check("read", read_one());
        count(result_.reads, 1, now_ns() - from);
    }
}

/* Pipeline: keep as many operations outstanding as the depth says, and submit one more for each
 * completion. */
void Worker::pipeline()
{
    uint64_t submitted = 0;
    uint64_t completed = 0;
    uint64_t last_ns = now_ns(); /* time of the last completion */

    while (going_on() || completed < submitted) {
        uint32_t room = static_cast<uint32_t>(done_.size());
        uint64_t now;
        int n;

        launch(completed, &submitted);
        if (log_ != nullptr && !going_on())
            cli::check("persist", rpm_log_persist(log_.get()));
        n = cli::check("poll", log_ != nullptr
                                   ? rpm_log_poll(log_.get(), done_.data(), room)
                                   : rpm_region_poll(region_.get(), done_.data(), room));
        now = now_ns();
        if (n > 0 || submitted == completed)
            last_ns = now;
        else if (now - last_ns > options_.timeout * 1e9)
            throw cli::Failure(options_.op + ": no operation completed within --timeout");
        for (int i = 0; i < n; i++) {
            cli::check(options_.op, done_[static_cast<size_t>(i)].status);
            count(result_.main, 1, now - start_[completed++ % start_.size()]);
        }
        if (log_ != nullptr && since_trim_ >= trim_at_)
            make_room();
    }
}

int Worker::one_op(bool read)
{
    if (options_.op == "cas")
        return one_cas();
    if (options_.op == "lock")
        return one_lock();
    if (read)
        return read_one();
    return rpm_region_write(region_.get(), next_offset(), payload_.data(), cell_.bytes);
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

int Worker::one_lock()
{
    uint64_t index = next_random() % rpm_locks_count(locks_.get());
    int err = rpm_lock_acquire(locks_.get(), index);

    return err != 0 ? err : rpm_lock_release(locks_.get(), index);
}

void Worker::one_by_one()
{
    uint64_t from = now_ns();

    expected_.assign(slots_, 0);
    while (going_on()) {
        bool read = next_is_read();
        uint64_t end;

        cli::check(options_.op, one_op(read));
        end = now_ns();
        count(read && options_.op == "mixed" ? result_.reads : result_.main, 1, end - from);
        from = end;
    }
}

void Worker::work()
{
    bool writes = options_.op == "append" || options_.op == "write" || options_.op == "mixed";
    bool waits = options_.wait == "block" || (options_.wait.empty() && cell_.depth == 1);

    if (writes && !waits)
        pipeline();
    else if (options_.op == "append" && cell_.depth > 1)
        windows();
    else if (options_.op == "append")
        append_batch();
    else
        one_by_one();
    cli::check("stats", rpm_conn_stats(conn_.get(), &result_.stats));
}

} // namespace bench
