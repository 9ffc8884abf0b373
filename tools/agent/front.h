/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * front.h: the part of rpm-agent that serves orders and stages decisions: an agent
 * (<librpm/agent.h>) and the threads of its three loops, which end when the program is told to
 * stop.
 */
#ifndef TOOLS_AGENT_FRONT_H
#define TOOLS_AGENT_FRONT_H

#include "agent/source.h"

#include <atomic>
#include <functional>
#include <iomanip>
#include <sstream>

struct AgentFrontOptions {
    std::string pool;
    std::vector<std::string> listen;
    std::string tls_cert;
    std::string tls_key;
    uint32_t clients;
    double timeout;
    uint32_t flags = 0;    /* as in rpm_agent_opts */
    std::string name = {}; /* by which the server declares it; "": it does not */
};

class AgentFront
{
  public:
    explicit AgentFront(const AgentFrontOptions &options)
    {
        rpm_agent_opts opts = rpm_agent_opts_init();
        std::string server = options.pool;
        std::string listen;
        std::string secret;
        rpm_agent *agent = nullptr;

        /* Only the server CPU certifies records, so the agent must not map the pool. */
        if (server.rfind("shm:", 0) == 0 && server.find(",mode=") == std::string::npos)
            server += ",mode=ring";
        for (const std::string &one : options.listen)
            listen += (listen.empty() ? "" : " ") + one;
        opts.server = server.c_str();
        opts.listen = listen.c_str();
        if (!cli::secret_file().empty()) {
            secret = cli::read_secret(cli::secret_file());
            opts.secret = secret.c_str();
        }
        opts.tls_cert = options.tls_cert.empty() ? nullptr : options.tls_cert.c_str();
        opts.tls_key = options.tls_key.empty() ? nullptr : options.tls_key.c_str();
        opts.clients_max = options.clients;
        opts.flags = options.flags;
        opts.timeout_us = static_cast<uint64_t>(options.timeout * 1e6);
        opts.name = options.name.empty() ? nullptr : options.name.c_str();
        cli::check("agent", rpm_agent_open(&opts, &agent));
        agent_ = agent;
        now_ = agent;
        cli::catch_stop([] {
            rpm_agent *now = now_.load();

            if (now != nullptr)
                rpm_agent_stop(now);
        });
        if (cli::stopped())
            rpm_agent_stop(agent_);
        start([this] { return rpm_agent_work(agent_); });
        start([this] { return rpm_server_engine(rpm_agent_front(agent_)); });
        start([this] { return rpm_server_run(rpm_agent_front(agent_)); });
    }
    AgentFront(const AgentFront &) = delete;
    ~AgentFront()
    {
        stop();
        now_ = nullptr;
        rpm_agent_close(&agent_);
    }

    /* The addresses at which writers find it. */
    std::string urls() const
    {
        std::string all;
        char url[512];

        for (uint32_t i = 0; rpm_server_url(rpm_agent_front(agent_), i, url, sizeof(url)) == 0; i++)
            all += (all.empty() ? "" : " ") + std::string(url);
        return all;
    }
    void join()
    {
        for (std::thread &thread : threads_)
            if (thread.joinable())
                thread.join();
    }
    void stop()
    {
        rpm_agent_stop(agent_);
        join();
    }
    bool failed() const
    {
        return failed_;
    }
    struct rpm_agent_stats stats() const
    {
        struct rpm_agent_stats stats = rpm_agent_stats_init();

        cli::check("statistics", rpm_agent_stats(agent_, &stats));
        return stats;
    }
    /* Let the writer of a log read how far it may trim it. */
    void stage(const rpm_decision &decision)
    {
        cli::check("decision", rpm_agent_stage(agent_, &decision));
    }
    std::string summary() const
    {
        struct rpm_agent_stats stats = this->stats();

        return std::to_string(stats.orders) + " orders in " + std::to_string(stats.lists) +
               " lists, " + std::to_string(stats.failed) + " refused, " +
               std::to_string(stats.carried) + " pieces carried" +
               (stats.staged == 0 ? ""
                                  : ", " + std::to_string(stats.staged) + " decisions staged") +
               (stats.lists == 0
                    ? ""
                    : "; on average a list was held " + us_each(stats.hold_ns, stats.lists) +
                          " us, and was at the server " + us_each(stats.execute_ns, stats.lists) +
                          " us");
    }

  private:
    static std::string us_each(uint64_t ns, uint64_t lists)
    {
        std::ostringstream text;

        text << std::fixed << std::setprecision(1)
             << static_cast<double>(ns) / static_cast<double>(lists) / 1000;
        return text.str();
    }
    void start(std::function<int()> loop)
    {
        threads_.push_back(without_signals([this, loop] {
            int err = loop();

            if (err == 0)
                return;
            notice(cli::RpmFailure("agent", err).what());
            failed_ = true;
            rpm_agent_stop(agent_);
        }));
    }

    static inline std::atomic<rpm_agent *> now_{ nullptr };
    rpm_agent *agent_ = nullptr;
    std::atomic<bool> failed_{ false };
    std::vector<std::thread> threads_;
};

#endif
