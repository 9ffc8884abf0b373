// SPDX-License-Identifier: BSD-3-Clause
// resume_test.cpp: the log under every fault that a link can have, at every op and every call:
// after reconnect and resume each record is in the log exactly once.
#include "support/catch.h"
#include "support/server.h"

#include <librpm.h>
#include <map>
#include <string>
#include <vector>

namespace
{

const uint32_t RECORDS = 24;
const uint32_t INFLIGHT = 8;

enum State { kTodo, kUnderWay, kDone };

bool is_loss(int err)
{
    return err == RPM_E_LOST || err == RPM_E_TIMEDOUT || err == RPM_E_DENIED || err == RPM_E_FENCED;
}

// A client that continues after every loss, until all of its records are acknowledged.
class Client
{
  public:
    // @timeout_us: virtual time costs nothing; real time must exceed the delays of a busy machine.
    Client(const std::string &url, uint64_t timeout_us)
    {
        rpm_conn_opts opts = rpm_conn_opts_init();

        opts.timeout_us = timeout_us;
        opts.depth = 64;
        opts.staging_bytes = 2 << 20;
        REQUIRE(rpm_conn_open(url.c_str(), &opts, &conn_) == 0);
        for (uint32_t i = 0; i < RECORDS; i++)
            state_[i] = kTodo;
    }
    Client(const Client &) = delete;
    ~Client()
    {
        rpm_log_close(&log_);
        rpm_conn_close(&conn_);
    }

    void run()
    {
        open();
        for (int step = 0; step < 10000; step++) {
            int err = advance();

            if (err == 0 && all_done())
                return;
            if (err != 0)
                resume(err);
        }
        FAIL("no end in sight");
    }

    // How often each record is in the log.
    std::map<uint32_t, int> read()
    {
        std::map<uint32_t, int> seen;

        for (int attempt = 0;; attempt++) {
            int err = try_read(&seen);

            if (err == 0)
                return seen;
            REQUIRE(is_loss(err));
            REQUIRE(attempt < 50);
            resume(err);
        }
    }
    int losses() const
    {
        return losses_;
    }

  private:
    void redial()
    {
        losses_++;
        for (int attempt = 0; rpm_conn_reconnect(conn_) != 0; attempt++)
            REQUIRE(attempt < 50);
    }
    void open()
    {
        rpm_log_opts opts = rpm_log_opts_init();

        opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        opts.capacity_bytes = 16 << 10;
        opts.inflight_max = INFLIGHT;
        for (int attempt = 0;; attempt++) {
            int err = rpm_log_open(conn_, "log", &opts, &log_);

            if (err == 0)
                return;
            CAPTURE(rpm_error_name(err), rpm_last_error());
            REQUIRE(is_loss(err));
            REQUIRE(attempt < 50);
            redial();
        }
    }
    bool all_done() const
    {
        for (const auto &entry : state_)
            if (entry.second != kDone)
                return false;
        return true;
    }
    uint32_t index_of(const void *context) const
    {
        return static_cast<uint32_t>(static_cast<const uint32_t *>(context) - numbers_);
    }

    // Appends a record, reaps completions. 0, or the loss.
    int advance()
    {
        rpm_completion done[INFLIGHT];
        int err = 0;

        for (uint32_t i = 0; i < RECORDS; i++) {
            if (state_[i] != kTodo)
                continue;
            numbers_[i] = i;
            err = rpm_log_append_async(log_, &numbers_[i], sizeof(numbers_[i]),
                                       i % 3 == 0 ? RPM_MORE : 0, &numbers_[i], nullptr);
            if (err == 0)
                state_[i] = kUnderWay;
            break;
        }
        if (err == RPM_E_BUSY)
            err = 0;
        if (err == 0)
            err = rpm_log_persist(log_);
        int n = rpm_log_poll(log_, done, INFLIGHT);
        for (int i = 0; i < n; i++) {
            uint32_t index = index_of(done[i].context);

            REQUIRE(state_[index] == kUnderWay);
            if (done[i].status == 0)
                state_[index] = kDone;
            else
                err = done[i].status;
        }
        REQUIRE((err == 0 || is_loss(err)));
        return n < 0 ? n : err;
    }
    void resume(int err)
    {
        rpm_outcome outcomes[INFLIGHT];
        uint32_t count = 0;

        for (int attempt = 0;; attempt++) {
            CAPTURE(rpm_error_name(err), attempt);
            REQUIRE(is_loss(err));
            REQUIRE(attempt < 50);
            redial();
            err = rpm_log_resume(log_, outcomes, INFLIGHT, &count);
            if (err == 0)
                break;
        }
        for (uint32_t i = 0; i < count; i++) {
            uint32_t index = index_of(outcomes[i].context);

            REQUIRE(state_[index] == kUnderWay);
            state_[index] = outcomes[i].present ? kDone : kTodo;
        }
        for (const auto &entry : state_) // every outcome is known
            REQUIRE(entry.second != kUnderWay);
    }
    int try_read(std::map<uint32_t, int> *seen)
    {
        rpm_reader *reader = nullptr;
        rpm_record record;
        int more = rpm_reader_open(log_, nullptr, &reader);

        seen->clear();
        if (more != 0)
            return more;
        while ((more = rpm_reader_next(reader, &record)) > 0)
            (*seen)[*static_cast<const uint32_t *>(record.data)]++;
        rpm_reader_close(&reader);
        return more;
    }

    rpm_conn *conn_ = nullptr;
    rpm_log *log_ = nullptr;
    uint32_t numbers_[RECORDS] = {};
    std::map<uint32_t, State> state_;
    int losses_ = 0;
};

int run(const std::string &url, uint64_t timeout_us = 30000)
{
    Client client(url, timeout_us);
    std::map<uint32_t, int> seen;

    CAPTURE(url);
    client.run();
    seen = client.read();
    REQUIRE(seen.size() == RECORDS);
    for (const auto &entry : seen)
        REQUIRE(entry.second == 1);
    return client.losses();
}

} // namespace

TEST_CASE("resume: under a fault at any op each record is in the log once, model", "[conform]")
{
    std::string kind = GENERATE("lost", "unacked", "timeout", "repeat");
    std::string preset = GENERATE("adr", "adr-noddio", "eadr", "msync");
    int losses = 0;

    for (int at = 1; at <= 60; at++)
        losses += run("sim:seed=3,preset=" + preset + ",wrap=fault,fault_kind=" + kind +
                      ",fault_at=" + std::to_string(at));
    CHECK((kind == "repeat" || losses > 20));
}

TEST_CASE("resume: under a fault at any call, model", "[conform]")
{
    std::string kind = GENERATE("lost", "unacked", "timeout", "refuse");
    int losses = 0;

    for (int at = 1; at <= 6; at++)
        losses += run("sim:seed=3,preset=adr,wrap=fault,fault_kind=" + kind +
                      ",fault_call=" + std::to_string(at));
    CHECK(losses >= 3);
}

TEST_CASE("resume: under a fault every few ops, model", "[conform]")
{
    std::string kind = GENERATE("lost", "unacked", "repeat");
    uint64_t every = GENERATE(20u, 40u);

    for (int seed = 1; seed <= 20; seed++)
        run("sim:seed=3,preset=adr-noddio,wrap=fault,fault_kind=" + kind +
            ",fault_every=" + std::to_string(every) + ",fault_seed=" + std::to_string(seed));
}

TEST_CASE("resume: under a fault at any op, over shm", "[conform]")
{
    std::string mode = GENERATE("direct", "ring");
    std::string kind = GENERATE("lost", "unacked", "repeat");

    for (int at = 1; at <= 60; at += 3) {
        support::Server server;

        run(server.url(mode) + ",wrap=fault,fault_kind=" + kind + ",fault_at=" + std::to_string(at),
            5000000);
    }
}
