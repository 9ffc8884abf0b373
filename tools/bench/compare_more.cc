/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare_more.cc: rows with more than one client: two writers, a follower, recovery.
 */
#include "bench/compare.h"
#include "bench/limit.h"
#include "bench/ours.h"

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

namespace bench
{

static constexpr uint64_t kCapacity = 64u << 20;
static constexpr uint64_t kBytes = 256;
static constexpr int kBursts = 15;

/* A thread on one CPU. wait() rethrows its exception. */
class PinnedThread
{
  public:
    PinnedThread(int cpu, std::function<void()> work)
        : thread_([this, cpu, work] {
              pin(cpu);
              pinned_.store(true);
              try {
                  work();
              } catch (...) {
                  failure_ = std::current_exception();
                  failed_.store(true);
              }
          })
    {
        /* The new thread may start on this CPU: sleep, so that it can run and move. */
        while (!pinned_.load())
            std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    ~PinnedThread()
    {
        thread_.join();
    }

    /* Wait until @done returns true. */
    template <typename Done> void wait(Done done) const
    {
        while (!done()) {
            if (failed_.load(std::memory_order_acquire))
                std::rethrow_exception(failure_);
            end_if_stopped();
        }
    }

  private:
    std::exception_ptr failure_;
    std::atomic<bool> failed_{ false };
    std::atomic<bool> pinned_{ false };
    std::thread thread_;
};

/* A second writer in its own thread, which appends bursts on request. */
class SecondWriter
{
  public:
    SecondWriter(const Testbed &testbed, Shape shape, uint64_t records)
        : records_(records), helper_(testbed.server_cpu, [this, &testbed, shape] {
              OurLog log(testbed.socket + ",mode=direct", "bench-second", shape, kCapacity);

              turn_.store(kIdle);
              work(log);
          })
    {
        try {
            wait();
        } catch (...) {
            stop_.store(true);
            throw;
        }
    }
    ~SecondWriter()
    {
        stop_.store(true);
    }

    void prepare()
    {
        turn_.store(kPrepare);
        helper_.wait([this] { return turn_.load() == kReady; });
    }
    void go()
    {
        turn_.store(kGo, std::memory_order_release);
    }
    void wait() const
    {
        helper_.wait([this] { return turn_.load(std::memory_order_acquire) == kIdle; });
    }

  private:
    enum Turn { kOpening, kIdle, kPrepare, kReady, kGo };

    void work(OurLog &log)
    {
        while (!stop_.load(std::memory_order_relaxed)) {
            switch (turn_.load(std::memory_order_acquire)) {
            case kPrepare:
                log.reset();
                log.append(1);
                turn_.store(kReady);
                break;
            case kGo:
                log.append(records_);
                turn_.store(kIdle, std::memory_order_release);
                break;
            case kIdle:
                std::this_thread::sleep_for(std::chrono::microseconds(50));
                break;
            default:
                break;
            }
        }
    }

    uint64_t records_;
    std::atomic<Turn> turn_{ kOpening };
    std::atomic<bool> stop_{ false };
    PinnedThread helper_; /* last: joined before the members that it uses are destroyed */
};

/* Start both writers together. Returns the time until both are done, per record. */
static double burst_of_two(OurLog &first, SecondWriter &second, uint64_t n)
{
    uint64_t start;

    end_if_stopped();
    first.reset();
    first.append(1);
    second.prepare();
    start = now_ns();
    second.go();
    first.append(n);
    second.wait();
    return static_cast<double>(now_ns() - start) / static_cast<double>(2 * n);
}

void compare_writers(const Testbed &testbed, std::vector<Row> &rows)
{
    Shape shape = { kBytes, 1 };
    std::vector<double> one;
    std::vector<double> two;

    if (!wanted(testbed.options.only, "two writers", "one writer"))
        return;
    OurLog first(testbed.socket + ",mode=direct", "bench-first", shape, kCapacity);
    uint64_t n = burst_records(first, 1);
    SecondWriter second(testbed, shape, n);
    Row row = { "two writers", kBytes, 1, "one writer",
                "time per record of both; 0.5 is twice the throughput" };

    for (uint32_t round = 0; round < testbed.options.rounds; round++) {
        std::vector<double> ones;
        std::vector<double> twos;

        show_round(row.what, row.against, round, testbed.options);
        for (int k = 0; k < kBursts; k++) {
            ones.push_back(burst(first, n, 1));
            twos.push_back(burst_of_two(first, second, n));
        }
        one.push_back(median(ones));
        two.push_back(median(twos));
    }
    row.target = 1 / 1.8;
    add_row(row, two, one, rows);
}

/* A reader in its own thread, which follows the tail between begin() and end(). */
class Follower
{
  public:
    explicit Follower(const Testbed &testbed)
        : helper_(testbed.server_cpu, [this, &testbed] { work(testbed.socket + ",mode=direct"); })
    {
    }
    ~Follower()
    {
        stop_.store(true);
        running_.store(false);
    }

    /* Start following from this LSN; returns when the thread has begun. */
    void begin(uint64_t lsn)
    {
        from_.store(lsn);
        running_.store(true);
        helper_.wait([this] { return active_.load(); });
    }
    /* Wait until the reader has read everything before @lsn. False: not in time. */
    bool end(uint64_t lsn)
    {
        uint64_t deadline = now_ns() + 2000000000;

        helper_.wait([this, lsn, deadline] { return seen_.load() >= lsn || now_ns() >= deadline; });
        running_.store(false);
        helper_.wait([this] { return !active_.load(); });
        return seen_.load() >= lsn;
    }

  private:
    void work(const std::string &url)
    {
        cli::Conn conn = cli::connect(url);
        rpm_log *raw = nullptr;

        cli::check("follow", rpm_log_open(conn.get(), "bench-first", nullptr, &raw));
        cli::Log log(raw);
        while (!stop_.load()) {
            if (running_.load())
                follow(log.get());
            else
                std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }

    void follow(rpm_log *log)
    {
        rpm_reader_opts opts = rpm_reader_opts_init();
        rpm_reader *raw = nullptr;
        rpm_record record;

        opts.from_lsn = from_.load();
        seen_.store(opts.from_lsn);
        cli::check("follow", rpm_reader_open(log, &opts, &raw));
        cli::Reader reader(raw);
        active_.store(true);
        while (running_.load(std::memory_order_relaxed))
            if (cli::check("follow", rpm_reader_wait(reader.get(), 100, &record)) == 1)
                seen_.store(record.next_lsn, std::memory_order_relaxed);
        active_.store(false);
    }

    std::atomic<uint64_t> from_{ 0 };
    std::atomic<bool> running_{ false };
    std::atomic<bool> active_{ false };
    std::atomic<bool> stop_{ false };
    alignas(64) std::atomic<uint64_t> seen_{ 0 };
    PinnedThread helper_; /* last: joined before the members that it uses are destroyed */
};

static double burst_followed(OurLog &log, Follower &follower, uint64_t n)
{
    uint64_t start;
    double ns;

    log.reset();
    follower.begin(log.tail_lsn());
    log.append(1);
    start = now_ns();
    log.append(n);
    ns = static_cast<double>(now_ns() - start) / static_cast<double>(n);
    if (!follower.end(log.read_tail()))
        throw cli::Failure("the reader did not reach the writer's tail within 2 s");
    return ns;
}

static void compare_followed(const Testbed &testbed, uint64_t bytes, std::vector<Row> &rows)
{
    Shape shape = { bytes, 1 };
    std::vector<double> alone;
    std::vector<double> followed;
    Row row = { "writer with follower", bytes, 1, "writer alone", "time per record" };

    if (!wanted(testbed.options.only, row.what, row.against))
        return;
    OurLog log(testbed.socket + ",mode=direct", "bench-first", shape, kCapacity);
    uint64_t n = burst_records(log, 1);
    Follower follower(testbed);

    for (uint32_t round = 0; round < testbed.options.rounds; round++) {
        std::vector<double> alones;
        std::vector<double> followeds;

        show_round(row.what, row.against, round, testbed.options);
        for (int k = 0; k < kBursts; k++) {
            alones.push_back(burst(log, n, 1));
            followeds.push_back(burst_followed(log, follower, n));
        }
        alone.push_back(median(alones));
        followed.push_back(median(followeds));
    }
    row.target = 1.1;
    add_row(row, followed, alone, rows);
}

void compare_follower(const Testbed &testbed, std::vector<Row> &rows)
{
    for (uint64_t bytes : { uint64_t{ 64 }, kBytes })
        compare_followed(testbed, bytes, rows);
}

/* Fill a log with records until it is full. */
static uint64_t fill(const Testbed &testbed, uint64_t bytes)
{
    cli::Conn conn = cli::connect(testbed.socket + ",mode=direct");
    rpm_log_opts opts = rpm_log_opts_init();
    std::vector<unsigned char> payload(kBytes, 'y');
    std::vector<rpm_slice> batch(64, rpm_slice{ payload.data(), kBytes });
    rpm_log *raw = nullptr;
    uint64_t records = 0;
    int err;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = bytes;
    cli::check("scan", rpm_log_open(conn.get(), "bench-scan", &opts, &raw));
    cli::Log log(raw);
    while ((err = rpm_log_append_batch(log.get(), batch.data(), 64, nullptr)) == 0) {
        records += 64;
        end_if_stopped();
    }
    if (err != RPM_E_FULL)
        cli::check("scan", err);
    return records;
}

/* Nanoseconds to scan the log; @bytes: how many bytes it read. */
static double scan_once(rpm_log *log, uint64_t records, uint64_t *bytes)
{
    struct rpm_log_info info = rpm_log_info_init();

    cli::check("scan", rpm_log_info(log, &info));
    if (info.records != records)
        throw cli::Failure("the scan found " + std::to_string(info.records) + " of " +
                           std::to_string(records) + " records");
    *bytes = info.tail_lsn - info.head_lsn;
    return static_cast<double>(info.scan_ns);
}

void compare_scan(const Testbed &testbed, std::vector<Row> &rows)
{
    Row row = { "recovery scan", kBytes, 1, "checksum pass",
                "time per record; 1 / ratio is the bandwidth share" };
    std::vector<double> ours;
    std::vector<double> pass;
    rpm_log *raw = nullptr;
    const LimitKernel *kernel;
    uint64_t records;
    uint64_t bytes;
    volatile uint64_t sink;

    if (!wanted(testbed.options.only, row.what, row.against) || limit_kernels(&kernel) == 0)
        return;
    records = fill(testbed, testbed.options.scan_bytes);
    cli::Conn conn = cli::connect(testbed.socket + ",mode=direct");
    cli::check("scan", rpm_log_open(conn.get(), "bench-scan", nullptr, &raw));
    cli::Log log(raw);
    Mapping pool(testbed.dir / "pool", testbed.options.scan_bytes, false);

    (void)scan_once(log.get(), records, &bytes);
    for (uint32_t round = 0; round < testbed.options.rounds; round++) {
        uint64_t start;

        show_round(row.what, row.against, round, testbed.options);
        end_if_stopped();
        ours.push_back(scan_once(log.get(), records, &bytes) / static_cast<double>(records));
        start = now_ns();
        sink = kernel->sum(pool.data(), bytes);
        pass.push_back(static_cast<double>(now_ns() - start) / static_cast<double>(records));
    }
    (void)sink;
    row.target = 2.0;
    add_row(row, ours, pass, rows);
    log.reset();
    cli::check("remove", rpm_conn_remove(conn.get(), "bench-scan"));
}

} // namespace bench
