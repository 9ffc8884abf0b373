/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scrub.h: the part of rpm-agent that verifies the records of logs: it reads all of them, one pass
 * in each period, and names the LSNs of damaged ones, before a reader meets them. It runs in a
 * thread with a connection of its own, so that the other work of the agent does not wait for it.
 *
 * Tests: tests/tools/agent_test
 */
#ifndef TOOLS_AGENT_SCRUB_H
#define TOOLS_AGENT_SCRUB_H

#include "agent/source.h"

#include <atomic>
#include <chrono>
#include <set>
#include <utility>

class Scrub
{
  public:
    /* @period: seconds of one pass. The tier's segments may have what is damaged. */
    Scrub(const Source &source, double period);
    Scrub(const Scrub &) = delete;
    ~Scrub()
    {
        stop();
    }

    /* Wait until the program is told to stop. */
    void join()
    {
        if (thread_.joinable())
            thread_.join();
    }
    void stop()
    {
        stopping_ = true;
        join();
    }
    std::string summary() const;

  private:
    using Clock = std::chrono::steady_clock;

    struct Part {
        std::string name; /* of a log */
        uint64_t bytes;   /* its capacity */
    };

    /* LSNs that no whole record has. */
    struct Gap {
        uint64_t from;
        uint64_t to;

        bool operator==(const Gap &other) const
        {
            return from == other.from && to == other.to;
        }
    };

    bool ended() const;
    void sleep_until(Clock::time_point at) const;
    Clock::time_point due(double share) const;
    void loop();
    void pass();
    std::vector<Part> parts();
    void verify(const Part &part);
    int read(rpm_log *log, uint64_t &left);
    void pace(uint64_t bytes);
    std::vector<Gap> gaps(const std::string &name);
    void tell_once(const std::string &text);
    void tell(const std::string &name, rpm_log *log);
    std::string remedy(const std::string &name, rpm_log *log, const Gap &gap) const;

    const Source source_;
    const double period_;
    cli::Tier tier_;
    cli::Conn conn_;
    std::set<std::pair<std::string, uint64_t>> told_; /* ranges, by log and first LSN */
    std::set<std::string> errors_;                    /* that were printed */
    std::vector<Part> parts_;                         /* of this pass */
    size_t next_ = 0;                                 /* of them, to be verified */
    Clock::time_point began_;                         /* the pass */
    uint64_t to_read_ = 0;                            /* bytes, at most, in this pass */
    uint64_t has_read_ = 0;
    std::atomic<uint64_t> records_{ 0 }; /* whole ones, each counted in each pass */
    std::atomic<uint64_t> passes_{ 0 };
    std::atomic<uint64_t> damaged_{ 0 }; /* entries of told_ */
    std::atomic<bool> stopping_{ false };
    std::thread thread_;
};

#endif
