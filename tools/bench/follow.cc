/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * follow.cc: readers at the tail of a log: one that has the server watch the tail
 * (rpm_reader_wait()) against one that reads there at intervals, as rpm_reader_wait() does where
 * the server cannot watch. What both cost while nothing is appended, and how late they have a
 * record.
 */
#include "bench/follow.h"
#include "bench/ours.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace bench
{

namespace
{

constexpr uint32_t kFollowers = 16;
constexpr uint64_t kLogBytes = 1u << 20;
/* A reader searches for damage 0.1, 0.3, 0.7, 1.5 and 3.1 s after it came to the tail: measure it
 * between two searches. */
constexpr uint64_t kSettleUs = 1600000;
constexpr uint64_t kIdleUs = 1400000;
constexpr uint32_t kRecords = 40; /* of a round */
constexpr auto kBetween = std::chrono::milliseconds(20);
constexpr double kIdleTarget = 0.01;
constexpr double kLateTarget = 1;

/* Returns as rpm_reader_wait() does. */
using Wait = std::function<int(rpm_reader *, uint64_t timeout_us, rpm_record *)>;

int wait_watching(rpm_reader *reader, uint64_t timeout_us, rpm_record *record)
{
    return rpm_reader_wait(reader, timeout_us, record);
}

/* Reads without a pause at first, then with pauses that double up to a millisecond. */
int wait_polling(rpm_reader *reader, uint64_t timeout_us, rpm_record *record)
{
    constexpr uint32_t kAtOnce = 64;
    uint64_t deadline = now_ns() + timeout_us * 1000;
    uint64_t pause_ns = 1000;
    uint32_t polls = 0;
    int found = rpm_reader_next(reader, record);

    while (found == 0 && now_ns() < deadline) {
        if (++polls > kAtOnce) {
            std::this_thread::sleep_for(std::chrono::nanoseconds(pause_ns));
            pause_ns = std::min<uint64_t>(2 * pause_ns, 1000000);
        }
        found = rpm_reader_next(reader, record);
    }
    return found;
}

cli::Log open_log(rpm_conn *conn, uint32_t flags)
{
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *raw = nullptr;

    opts.flags = flags;
    opts.capacity_bytes = flags != 0 ? kLogBytes : 0;
    cli::check("log", rpm_log_open(conn, "bench-follow", &opts, &raw));
    return cli::Log(raw);
}

/* At the tail of the log. */
class TailReader
{
  public:
    explicit TailReader(const std::string &url)
        : conn_(cli::connect(url)), log_(open_log(conn_.get(), 0))
    {
        rpm_reader_opts opts = rpm_reader_opts_init();
        struct rpm_log_info info = rpm_log_info_init();
        rpm_reader *raw = nullptr;

        cli::check("info", rpm_log_info(log_.get(), &info));
        opts.from_lsn = info.tail_lsn;
        cli::check("reader", rpm_reader_open(log_.get(), &opts, &raw));
        reader_.reset(raw);
    }
    bool wait(const Wait &wait, uint64_t timeout_us)
    {
        rpm_record record;

        return cli::check("reader", wait(reader_.get(), timeout_us, &record)) == 1;
    }
    /* READs and lists that it has sent. */
    uint64_t requests() const
    {
        struct rpm_conn_stats stats = rpm_conn_stats_init();

        cli::check("stats", rpm_conn_stats(conn_.get(), &stats));
        return stats.reads + stats.steps;
    }

  private:
    cli::Conn conn_;
    cli::Log log_;
    cli::Reader reader_;
};

/* Requests of a follower in a second in which nothing is appended, when all wait at once. */
double idle_requests(const std::string &url, const Wait &wait)
{
    std::atomic<uint64_t> sent{ 0 };

    in_threads(kFollowers, [&](uint32_t) {
        TailReader follower(url);

        (void)follower.wait(wait, kSettleUs);
        uint64_t before = follower.requests();
        (void)follower.wait(wait, kIdleUs);
        sent += follower.requests() - before;
    });
    return static_cast<double>(sent) / kFollowers / (static_cast<double>(kIdleUs) / 1e6);
}

/* Median of the times from the begin of an append until the follower has the record. */
double lateness(const std::string &url, rpm_log *log, const Wait &wait)
{
    std::vector<double> late;
    std::atomic<uint64_t> got{ 0 }; /* when the follower had the last record */
    std::atomic<bool> stop{ false };
    TailReader follower(url);

    in_threads(2, [&](uint32_t i) {
        while (i == 0 && !stop)
            if (follower.wait(wait, 50000))
                got = now_ns();
        for (uint32_t k = 0; i == 1 && k < kRecords && !cli::stopped(); k++) {
            std::this_thread::sleep_for(kBetween);
            uint64_t begin = now_ns();

            got = 0;
            if (rpm_log_append(log, "record", 6, nullptr) != 0)
                break;
            while (got == 0 && now_ns() < begin + 2000000000)
                std::this_thread::sleep_for(std::chrono::microseconds(5));
            if (got == 0)
                break;
            late.push_back(static_cast<double>(got - begin));
        }
        stop = true;
    });
    end_if_stopped();
    if (late.size() != kRecords)
        throw cli::Failure("a reader that followed had " + std::to_string(late.size()) + " of " +
                           std::to_string(kRecords) + " records, each within 2 s");
    return median(late);
}

void compare_waits(const CompareOptions &options, Row row,
                   const std::function<double(const Wait &)> &measure, std::vector<Row> &rows)
{
    std::vector<double> ours;
    std::vector<double> others;

    if (!wanted(options.only, row.what, row.against))
        return;
    for (uint32_t round = 0; round < options.rounds; round++) {
        show_round(row.what, row.against, round, options);
        ours.push_back(measure(wait_watching));
        others.push_back(measure(wait_polling));
        end_if_stopped();
    }
    add_row(row, ours, others, rows);
}

} // namespace

void compare_waiting(const CompareOptions &options, const std::string &url, std::vector<Row> &rows)
{
    Row idle = { "watch by 16", 0, 1, "polls by 16",
                 "READs and lists of an idle follower, a second" };
    Row late = { "record by watch", 6, 1, "record by polls", "time from append to reader" };
    cli::Conn conn = cli::connect(url);
    cli::Log log = open_log(conn.get(), RPM_LOG_WRITE | RPM_LOG_CREATE);

    cli::check("append", rpm_log_append(log.get(), "first", 5, nullptr));
    idle.target = kIdleTarget;
    late.target = kLateTarget;
    compare_waits(
        options, idle, [&](const Wait &wait) { return idle_requests(url, wait); }, rows);
    compare_waits(
        options, late, [&](const Wait &wait) { return lateness(url, log.get(), wait); }, rows);
}

} // namespace bench
