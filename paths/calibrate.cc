/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibrate.cc: writers append to logs of their own, one record at a time: all by the agent, then
 * all by the server, for each size class that a record may have. What one append takes depends on
 * how many writers there are, so measure with as many as there will be (--threads).
 *
 * Tests: tests/tools/pathbench_live_test
 */
#include "calibrate.h"

#include "output.h"
#include "timed.h"

#include <cmath>
#include <numeric>

namespace paths
{

namespace
{

constexpr uint64_t kCapacity = 1u << 20; /* of a log; it is trimmed when half of it is used */
constexpr uint64_t kFrameHead = 24;      /* of a record in its log */
constexpr double kFallbacksMost = 0.5;   /* of the agent's orders */

/* Frames of the largest size of their class, without those that one record cannot have. */
constexpr uint64_t kFrames[] = { 64, 256, 1024, 4096, 65536 };

/* One way to have records made durable. */
struct Way {
    const char *name;
    std::string url;
    uint32_t method;
};

/* @url without what it says of an agent. */
std::string without_agent(const std::string &url)
{
    std::string bare;
    size_t from = 0;

    while (from <= url.size()) {
        size_t comma = std::min(url.find(',', from), url.size());
        std::string part = url.substr(from, comma - from);

        if (part.rfind("agent=", 0) != 0 && part.rfind("carry=", 0) != 0 &&
            part.rfind("calibration=", 0) != 0)
            bare += (from == 0 ? "" : ",") + part;
        from = comma + 1;
    }
    return bare;
}

/* A writer with its connection and log. */
class Writer
{
  public:
    Writer(const LiveOptions &options, const Way &way, size_t number);
    ~Writer();
    Writer(const Writer &) = delete;
    Writer &operator=(const Writer &) = delete;

    void run(uint64_t bytes, const Stage &stage);
    uint64_t appends() const
    {
        return appends_;
    }
    uint64_t took_ns() const
    {
        return took_ns_;
    }
    struct rpm_log_info info() const
    {
        struct rpm_log_info info = rpm_log_info_init();

        cli::check("info", rpm_log_info(log_.get(), &info));
        return info;
    }
    struct rpm_conn_stats stats() const
    {
        struct rpm_conn_stats stats = rpm_conn_stats_init();

        cli::check("stats", rpm_conn_stats(conn_.get(), &stats));
        return stats;
    }

  private:
    std::string name_;
    cli::Conn conn_;
    cli::Log log_;
    uint64_t appends_ = 0;
    uint64_t took_ns_ = 0;
};

Writer::Writer(const LiveOptions &options, const Way &way, size_t number)
    : name_("pathbench-" + std::to_string(getpid()) + "-" + std::to_string(number))
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_log_opts log_opts = rpm_log_opts_init();
    rpm_log *raw = nullptr;

    opts.timeout_us = static_cast<uint64_t>(std::ceil(options.timeout * 1e6));
    opts.method = way.method;
    log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    log_opts.capacity_bytes = kCapacity;
    conn_ = cli::connect(way.url, &opts);
    cli::check(name_, rpm_log_open(conn_.get(), name_.c_str(), &log_opts, &raw));
    log_.reset(raw);
}

Writer::~Writer()
{
    log_.reset();
    if (conn_ != nullptr)
        (void)!rpm_conn_remove(conn_.get(), name_.c_str());
}

void Writer::run(uint64_t bytes, const Stage &stage)
{
    std::vector<unsigned char> payload(bytes - kFrameHead, 'r');
    uint64_t trim_after = kCapacity / 2 / bytes;
    uint64_t lsn;

    appends_ = took_ns_ = 0;
    for (uint64_t i = 0; !stage.ended(); i++) {
        if (i % trim_after == 0)
            cli::check("trim", rpm_log_trim(log_.get(), info().tail_lsn));
        uint64_t begin_ns = now_ns();

        cli::check("append", rpm_log_append(log_.get(), payload.data(), payload.size(), &lsn));
        if (stage.counts()) {
            took_ns_ += now_ns() - begin_ns;
            appends_++;
        }
    }
}

/* Does a connection that may choose use the agent at all? Where it does not, there is no choice. */
uint32_t check_choice(const LiveOptions &options)
{
    Writer writer(options, { "", options.urls[0], RPM_METHOD_DEFAULT }, 0);
    struct rpm_log_info info = writer.info();

    if (info.method != RPM_METHOD_ORDER && info.method != RPM_METHOD_CARRY)
        throw cli::Failure(options.urls[0] + ": this connection makes records " +
                           rpm_level_name(static_cast<rpm_level>(info.level)) + " by method " +
                           rpm_method_name(static_cast<rpm_method>(info.method)) +
                           ", never by the agent: no calibration is needed");
    return info.level;
}

/* The agent must have done it, or its time is that of the server. */
void check_orders(const std::vector<std::unique_ptr<Writer>> &writers)
{
    uint64_t orders = 0;
    uint64_t fallbacks = 0;

    for (const auto &writer : writers) {
        orders += writer->stats().orders;
        fallbacks += writer->stats().order_fallbacks;
    }
    if (static_cast<double>(fallbacks) > kFallbacksMost * static_cast<double>(orders))
        throw cli::Failure("the agent did not make " + std::to_string(fallbacks) + " of " +
                           std::to_string(orders) +
                           " orders durable in time; start it, or measure when it is less busy");
}

Json measure_way(const LiveOptions &options, const Way &way)
{
    std::vector<std::unique_ptr<Writer>> writers;
    Json rows = Json::array();

    for (uint32_t i = 0; i < options.threads; i++)
        writers.push_back(std::make_unique<Writer>(options, way, i));
    for (uint64_t bytes : kFrames) {
        uint64_t appends = 0;
        uint64_t took_ns = 0;

        run_timed(writers.size(), options.seconds, options.timeout,
                  [&](size_t i, const Stage &stage) { writers[i]->run(bytes, stage); });
        for (const auto &writer : writers) {
            appends += writer->appends();
            took_ns += writer->took_ns();
        }
        rows.push_back({ { "bytes", bytes },
                         { "by", way.name },
                         { "ns", std::max<uint64_t>(took_ns / appends, 1) },
                         { "appends", appends } });
    }
    if (way.method == RPM_METHOD_ORDER)
        check_orders(writers);
    return rows;
}

} // namespace

Json calibrate(const LiveOptions &options, const std::string &file)
{
    if (options.urls.size() != 1 || options.urls[0].find(",agent=") == std::string::npos)
        throw cli::Failure("--calibrate needs one --url, with the agent that writers will have: "
                           "tcp://HOST:PORT,agent=URL");
    (void)facts_of_running(cli::connect(options.urls[0]).get(), options.urls[0]);
    cli::OutFile out(file);
    uint32_t level = check_choice(options);
    Json rows = measure_way(options, { "agent", options.urls[0], RPM_METHOD_ORDER });
    std::string text = "rpm-calibration 1\n# mean time of an append, " +
                       std::to_string(options.threads) + " writers, " +
                       rpm_level_name(static_cast<rpm_level>(level)) + "\n# " + options.urls[0] +
                       "\n# bytes, by the agent or the server, nanoseconds\n";

    for (const Json &row :
         measure_way(options, { "server", without_agent(options.urls[0]), RPM_METHOD_DEFAULT }))
        rows.push_back(row);
    for (const Json &row : rows)
        text += std::to_string(row["bytes"].get<uint64_t>()) + " " + row["by"].get<std::string>() +
                " " + std::to_string(row["ns"].get<uint64_t>()) + "\n";
    out.write(text);
    out.close();
    return rows;
}

} // namespace paths
