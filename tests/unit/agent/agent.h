// SPDX-License-Identifier: BSD-3-Clause
// agent.h: an agent in the test's process, with its three threads, as long as the object exists.
#ifndef TESTS_UNIT_AGENT_AGENT_H
#define TESTS_UNIT_AGENT_AGENT_H

#include "support/catch.h"
#include "support/server.h"

class Agent
{
  public:
    Agent(const std::string &server, const std::string &listen, const std::string &secret = "",
          uint32_t flags = 0, const char *name = nullptr)
    {
        rpm_agent_opts opts = rpm_agent_opts_init();

        opts.server = server.c_str();
        opts.listen = listen.c_str();
        opts.secret = secret.empty() ? nullptr : secret.c_str();
        opts.flags = RPM_SERVER_NO_SPIN | flags;
        opts.name = name;
        int err = rpm_agent_open(&opts, &agent_);
        INFO(rpm_last_error());
        REQUIRE(err == 0);
        threads_.emplace_back([this] { work_ = rpm_agent_work(agent_); });
        threads_.emplace_back([this] { engine_ = rpm_server_engine(rpm_agent_front(agent_)); });
        threads_.emplace_back([this] { control_ = rpm_server_run(rpm_agent_front(agent_)); });
    }
    Agent(const Agent &) = delete;
    ~Agent()
    {
        rpm_agent_stop(agent_);
        for (std::thread &thread : threads_)
            thread.join();
        CHECK(work_ == 0);
        CHECK(engine_ == 0);
        CHECK(control_ == 0);
        rpm_agent_close(&agent_);
    }
    std::string url() const
    {
        char text[512];

        REQUIRE(rpm_server_url(rpm_agent_front(agent_), 0, text, sizeof(text)) == 0);
        return text;
    }
    int stage(const rpm_decision &decision)
    {
        return rpm_agent_stage(agent_, &decision);
    }
    struct rpm_agent_stats stats() const
    {
        struct rpm_agent_stats stats = rpm_agent_stats_init();

        REQUIRE(rpm_agent_stats(agent_, &stats) == 0);
        return stats;
    }

  private:
    rpm_agent *agent_ = nullptr;
    std::vector<std::thread> threads_;
    int work_ = 0;
    int engine_ = 0;
    int control_ = 0;
};

#endif
