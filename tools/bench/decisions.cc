/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decisions.cc: rows of rpm-bench agent: appends to a log that is written ten times over and
 * trimmed as its agent decides. A decision is staged before the writer asks or after it, and asked
 * for when the log is three quarters full or when it is full.
 */
#include "bench/decisions.h"

#include "agent/front.h"
#include "bench/ours.h"

#include <atomic>
#include <chrono>
#include <sys/stat.h>
#include <thread>

namespace bench
{

namespace
{

constexpr uint64_t kRing = 1u << 20;
constexpr uint64_t kLaps = 10;
constexpr uint64_t kPayload = 1000; /* 1024 bytes of the ring */
constexpr uint64_t kSpan = 64u << 10;
constexpr std::chrono::microseconds kIdle{ 200 };

/* Which of the two is switched off. */
struct How {
    uint32_t agent_flags; /* enum rpm_agent_flag */
    uint32_t log_flags;   /* enum rpm_log_flag */
};

const How kBoth = { 0, 0 };

/* What rpm-agent does for one log: stores it, and stages decisions. */
class Storing
{
  public:
    Storing(const std::string &url, const std::string &name, const std::string &folder,
            AgentFront &front)
        : front_(front), conn_(cli::connect(url))
    {
        rpm_tier_opts opts = rpm_tier_opts_init();
        rpm_log *log = nullptr;
        rpm_tier *tier = nullptr;

        opts.segment_span = kSpan;
        cli::check(name, rpm_log_open(conn_.get(), name.c_str(), nullptr, &log));
        log_.reset(log);
        cli::check(folder, rpm_tier_open(folder.c_str(), &opts, &tier));
        tier_.reset(tier);
        cli::check(name, rpm_archiver_open(tier, log, &archiver_));
        thread_ = std::thread([this] { loop(); });
    }
    Storing(const Storing &) = delete;
    ~Storing()
    {
        stop_ = true;
        thread_.join();
        rpm_archiver_close(&archiver_);
    }
    /* Fail if it could not store. */
    void check() const
    {
        cli::check("archiver", failed_);
    }

  private:
    void loop()
    {
        while (!stop_ && failed_ == 0) {
            rpm_decision decision = rpm_decision_init();
            int more = rpm_archiver_turn(archiver_, 0);
            int decided = more < 0 ? more : rpm_archiver_decide(archiver_, &decision);

            if (decided < 0)
                failed_ = decided;
            else if (decided > 0)
                front_.stage(decision);
            if (more == 0)
                std::this_thread::sleep_for(kIdle);
        }
    }

    AgentFront &front_;
    cli::Conn conn_;
    cli::Log log_;
    cli::Tier tier_;
    rpm_archiver *archiver_ = nullptr;
    std::atomic<bool> stop_{ false };
    std::atomic<int> failed_{ 0 };
    std::thread thread_;
};

/* Append until the log was written ten times over. Nanoseconds a record. */
double write_laps(rpm_log *log, const Storing &storing)
{
    const uint64_t records = kLaps * kRing / 1024;
    std::vector<unsigned char> payload(kPayload, 'd');
    uint64_t begin = now_ns();

    for (uint64_t i = 0; i < records; i++) {
        int err;

        while ((err = rpm_log_append(log, payload.data(), payload.size(), nullptr)) == RPM_E_FULL &&
               !cli::stopped()) {
            storing.check();
            std::this_thread::sleep_for(kIdle);
        }
        end_if_stopped();
        cli::check("append", err);
    }
    return static_cast<double>(now_ns() - begin) / static_cast<double>(records);
}

/* A new log and a new folder each time. */
double append_all(const MemoryDir &dir, const std::string &url, const How &how)
{
    static uint32_t number = 0;
    std::string name = "bench-decisions-" + std::to_string(number++);
    std::string folder = dir / name;
    AgentFront front({ url,
                       { "unix:" + folder + ".front" },
                       "",
                       "",
                       4,
                       5,
                       how.agent_flags | RPM_SERVER_NO_SPIN }); /* it would take the writer's CPU */
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *raw = nullptr;
    double ns;

    if (mkdir(folder.c_str(), 0700) != 0)
        throw cli::Failure(folder + ": " + strerror(errno));
    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | RPM_LOG_AGENT_TIER | how.log_flags;
    opts.capacity_bytes = kRing;
    cli::Conn conn = cli::connect(url + ",agent=" + front.urls());
    cli::check(name, rpm_log_open(conn.get(), name.c_str(), &opts, &raw));
    {
        cli::Log log(raw);
        Storing storing(url, name, folder, front);

        ns = write_laps(raw, storing);
    }
    cli::check("stats", rpm_conn_stats(conn.get(), &stats));
    if (stats.decisions == 0)
        throw cli::Failure("the log was not trimmed by a decision of the agent");
    cli::check(name, rpm_conn_remove(conn.get(), name.c_str()));
    return ns;
}

void compare_how(const CompareOptions &options, const MemoryDir &dir, const std::string &url,
                 const std::string &against, const How &how, std::vector<Row> &rows)
{
    Row row = { "ten laps", kPayload, 1, against, "time per record" };
    std::vector<double> ours;
    std::vector<double> others;

    if (!wanted(options.only, row.what, row.against))
        return;
    for (uint32_t round = 0; round < options.rounds; round++) {
        show_round(row.what, row.against, round, options);
        ours.push_back(append_all(dir, url, kBoth));
        others.push_back(append_all(dir, url, how));
        end_if_stopped();
    }
    add_row(row, ours, others, rows);
}

} // namespace

void compare_decisions(const CompareOptions &options, const MemoryDir &dir, const std::string &url,
                       std::vector<Row> &rows)
{
    compare_how(options, dir, url, "staged on demand", { RPM_AGENT_ON_DEMAND, 0 }, rows);
    compare_how(options, dir, url, "fetched late", { 0, RPM_LOG_LATE_FETCH }, rows);
    compare_how(options, dir, url, "both", { RPM_AGENT_ON_DEMAND, RPM_LOG_LATE_FETCH }, rows);
}

} // namespace bench
