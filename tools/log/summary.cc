/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * summary.cc: the summary of an append run, as a table on standard error or as JSON on standard
 * output.
 */
#include "facts.h"
#include "log/append.h"

namespace logtool
{

static std::string rate_text(double per_second)
{
    char text[32];

    snprintf(text, sizeof(text), per_second < 1e6 ? "%.0f/s" : "%.2f M/s",
             per_second < 1e6 ? per_second : per_second / 1e6);
    return text;
}

static void row(const char *name, const std::string &value)
{
    fprintf(stderr, "  %-12s %s\n", name, value.c_str());
}

struct rpm_conn_stats Appender::conn_stats() const
{
    struct rpm_conn_stats stats = rpm_conn_stats_init();

    cli::check("statistics", rpm_conn_stats(session_.conn.get(), &stats));
    return stats;
}

/* Orders that the agent fulfilled. */
static uint64_t orders_by_agent(const struct rpm_conn_stats &stats)
{
    uint64_t others = stats.order_server + stats.order_fallbacks;

    return stats.orders > others ? stats.orders - others : 0;
}

static std::string part_text(uint64_t ns, uint64_t orders)
{
    return cli::ns_text(ns / orders);
}

void Appender::print_table(const rpm_facts &facts, double seconds) const
{
    struct rpm_log_info info = rpm_log_info_init();
    struct rpm_conn_stats stats = conn_stats();
    double records = static_cast<double>(acked_);

    row("records",
        std::to_string(acked_) +
            (skipped_ == 0 ? std::string()
                           : ", behind " + std::to_string(skipped_) + " that were in the log"));
    row("bytes", std::to_string(bytes_));
    if (seconds > 0)
        row("throughput", rate_text(records / seconds) + ", " +
                              cli::size_text(static_cast<double>(bytes_) / seconds) + "/s");
    if (hist_.count > 0)
        row("latency", "p50 " + cli::ns_text(rpm_hist_percentile(&hist_, 500)) + ", p99 " +
                           cli::ns_text(rpm_hist_percentile(&hist_, 990)) + ", p99.9 " +
                           cli::ns_text(rpm_hist_percentile(&hist_, 999)) + ", max " +
                           cli::ns_text(hist_.max));
    if (reconnects_ > 0)
        row("reconnects", std::to_string(reconnects_) + "; of the outstanding records " +
                              std::to_string(settled_present_) + " were in the log, " +
                              std::to_string(settled_absent_) + " were sent again");
    if (torn_ > 0)
        row("torn", std::to_string(torn_) + " at the tail, discarded when the log was opened");
    if (rpm_log_info(session_.log.get(), &info) == 0)
        row("level", std::string(rpm_level_name(static_cast<rpm_level>(info.level))) +
                         " by method " + rpm_method_name(static_cast<rpm_method>(info.method)) +
                         ", " + domain_text(facts));
    if (stats.orders > 0)
        row("orders", std::to_string(stats.orders) + "; the server fulfilled " +
                          std::to_string(stats.order_server) + " as the faster one, and " +
                          std::to_string(stats.order_fallbacks) + " in place of the agent" +
                          (stats.carried > 0 ? "; the agent was given the records of " +
                                                   std::to_string(stats.carried)
                                             : ""));
    uint64_t by_agent = orders_by_agent(stats);

    if (stats.order_fallbacks > 0 && by_agent == 0 && stats.agent_setup_ns == 0)
        row("agent", "none has answered; the server flushed all: start rpm-agent --listen, or "
                     "correct agent= in the URL");
    if (by_agent > 0)
        row("agent", std::to_string(by_agent) + " orders, on the average " +
                         part_text(stats.order_submit_ns, by_agent) + " until it was asked, " +
                         part_text(stats.order_execute_ns, by_agent) + " for its answer, " +
                         part_text(stats.order_complete_ns, by_agent) + " until acknowledged");
    if (options_.agent_tier)
        row("decisions", std::to_string(stats.decisions) +
                             " of the agent, by which the log was trimmed; " +
                             std::to_string(stats.decisions_stale) + " stale");
    row("memory", cli::size_text(static_cast<double>(session_.memory)) + " of this client");
}

void Appender::print_json(const rpm_facts &facts, double seconds) const
{
    struct rpm_log_info info = rpm_log_info_init();
    nlohmann::ordered_json json;

    (void)!rpm_log_info(session_.log.get(), &info);
    json["records"] = acked_;
    json["bytes"] = bytes_;
    json["skipped"] = skipped_;
    json["seconds"] = seconds;
    json["records_per_second"] = seconds > 0 ? static_cast<double>(acked_) / seconds : 0;
    json["latency_ns"] = { { "p50", rpm_hist_percentile(&hist_, 500) },
                           { "p99", rpm_hist_percentile(&hist_, 990) },
                           { "p99.9", rpm_hist_percentile(&hist_, 999) },
                           { "max", hist_.max } };
    json["reconnects"] = reconnects_;
    json["settled_present"] = settled_present_;
    json["settled_absent"] = settled_absent_;
    json["torn"] = torn_;
    json["level"] = rpm_level_name(static_cast<rpm_level>(info.level));
    json["method"] = rpm_method_name(static_cast<rpm_method>(info.method));
    facts::add_main(json, facts);
    struct rpm_conn_stats stats = conn_stats();

    json["orders"] = stats.orders;
    json["order_fallbacks"] = stats.order_fallbacks;
    json["order_server"] = stats.order_server;
    json["order_probes"] = stats.order_probes;
    json["agent_ns"] = { { "setup", stats.agent_setup_ns },
                         { "submission", stats.order_submit_ns },
                         { "execution", stats.order_execute_ns },
                         { "completion", stats.order_complete_ns } };
    json["decisions"] = stats.decisions;
    json["decisions_stale"] = stats.decisions_stale;
    json["carried"] = stats.carried;
    json["memory_bytes"] = session_.memory;
    printf("%s\n", json.dump(2).c_str());
}

void Appender::show_progress(const char *what)
{
    progress_.show([&] {
        double seconds = static_cast<double>(now_ns() - start_ns_) / 1e9;

        return options_.name + ": " + std::to_string(skipped_ + acked_) + " records" +
               (acked_ == 0 ? "" : ", " + rate_text(static_cast<double>(acked_) / seconds)) + what;
    });
}

void Appender::summary(bool failed)
{
    double seconds = static_cast<double>(now_ns() - start_ns_) / 1e9;
    rpm_facts facts = session_.facts();

    progress_.clear();
    if (!options_.quiet) {
        fprintf(stderr, "rpm-log: %s %s%s\n", options_.url.c_str(), options_.name.c_str(),
                failed ? " (did not reach the end of the input)" : "");
        print_table(facts, seconds);
    }
    if (options_.json)
        print_json(facts, seconds);
}

} // namespace logtool
