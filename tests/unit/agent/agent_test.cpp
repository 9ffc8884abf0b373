// SPDX-License-Identifier: BSD-3-Clause
// An agent between real writers and a real server: what it is there for, and what happens when it
// or the server is not.
#include "unit/agent/agent.h"

#include <librpm/decision.h>

#include <atomic>
#include <chrono>
#include <set>

namespace
{

// A server at unix: alone, so that its CPU must flush.
support::ServerOpts far_server(const support::Dir &dir, const std::string &secret = "")
{
    support::ServerOpts opts;

    opts.listen = "unix:" + (dir / "server");
    opts.secret = secret;
    opts.agents = "carrier";
    opts.flags = RPM_SERVER_NO_SPIN;
    return opts;
}

struct Writer {
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;

    explicit Writer(const std::string &url, const std::string &name = "log",
                    const std::string &secret = "", uint32_t flags = 0)
    {
        rpm_conn_opts opts = rpm_conn_opts_init();
        rpm_log_opts of_log = rpm_log_opts_init();

        opts.timeout_us = 30000000;
        if (url.find(",carry=") == url.npos)
            opts.method = RPM_METHOD_ORDER; // the agent is asked every time
        opts.secret = secret.empty() ? nullptr : secret.c_str();
        int err = rpm_conn_open(url.c_str(), &opts, &conn);
        INFO(rpm_last_error());
        REQUIRE(err == 0);
        of_log.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | flags;
        of_log.capacity_bytes = 256 << 10;
        REQUIRE(rpm_log_open(conn, name.c_str(), &of_log, &log) == 0);
    }
    Writer(const Writer &) = delete;
    ~Writer()
    {
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
    int append(const std::string &data)
    {
        uint64_t lsn = 0;

        return rpm_log_append(log, data.data(), data.size(), &lsn);
    }
    struct rpm_conn_stats stats() const
    {
        struct rpm_conn_stats stats = rpm_conn_stats_init();

        REQUIRE(rpm_conn_stats(conn, &stats) == 0);
        return stats;
    }
    std::vector<std::string> records()
    {
        std::vector<std::string> all;
        rpm_reader *reader = nullptr;
        rpm_record record;

        REQUIRE(rpm_reader_open(log, nullptr, &reader) == 0);
        while (rpm_reader_next(reader, &record) > 0)
            all.emplace_back(static_cast<const char *>(record.data), record.len);
        rpm_reader_close(&reader);
        return all;
    }
};

// What rpm-agent --tier does, for the log "log".
class Stager
{
  public:
    Stager(const std::string &server, const std::string &folder, Agent &agent) : agent_(agent)
    {
        rpm_tier_opts opts = rpm_tier_opts_init();

        opts.segment_span = 64 << 10;
        REQUIRE(rpm_conn_open(server.c_str(), nullptr, &conn_) == 0);
        REQUIRE(rpm_log_open(conn_, "log", nullptr, &log_) == 0);
        REQUIRE(rpm_tier_open(folder.c_str(), &opts, &tier_) == 0);
        REQUIRE(rpm_archiver_open(tier_, log_, &archiver_) == 0);
        thread_ = std::thread([this] { loop(); });
    }
    Stager(const Stager &) = delete;
    ~Stager()
    {
        stop_ = true;
        thread_.join();
        CHECK(failed_ == 0);
        rpm_archiver_close(&archiver_);
        rpm_tier_close(&tier_);
        rpm_log_close(&log_);
        rpm_conn_close(&conn_);
    }

  private:
    void loop()
    {
        while (!stop_ && failed_ == 0) {
            rpm_decision decision = rpm_decision_init();
            int more = rpm_archiver_turn(archiver_, 0);
            int decided = more < 0 ? more : rpm_archiver_decide(archiver_, &decision);

            if (decided == 1)
                decided = agent_.stage(decision);
            failed_ = decided < 0 ? decided : 0;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    }
    Agent &agent_;
    rpm_conn *conn_ = nullptr;
    rpm_log *log_ = nullptr;
    rpm_tier *tier_ = nullptr;
    rpm_archiver *archiver_ = nullptr;
    std::atomic<bool> stop_{ false };
    int failed_ = 0;
    std::thread thread_;
};

std::vector<std::string> numbered(int n)
{
    std::vector<std::string> all;

    for (int i = 0; i < n; i++)
        all.push_back("record " + std::to_string(i));
    return all;
}

} // namespace

TEST_CASE("agent: records are durable by certificates that it has fetched", "[unit][agent]")
{
    support::Dir dir(support::Dir::kMemory);
    support::Server server(far_server(dir, "open sesame"));

    for (std::string kind : { "unix:", "shm:" }) {
        for (const std::string &upstream : { server.listener_url(), server.url("ring") }) {
            Agent agent(upstream, kind + (dir / "agent"), "open sesame");
            Writer writer(server.listener_url() + ",agent=" + agent.url(), "log", "open sesame");
            size_t before = writer.records().size();

            CAPTURE(kind, upstream);
            for (const std::string &record : numbered(100))
                REQUIRE(writer.append(record) == 0);
            CHECK(writer.records().size() == before + 100);
            CHECK(writer.stats().orders == 100);
            CHECK(agent.stats().orders > 0); // of a machine that is busy some come too late
            CHECK(agent.stats().failed == 0);
        }
    }
}

TEST_CASE("agent: many writers share the messages to the server", "[unit][agent]")
{
    const int writers = 8;
    const int each = 200;
    support::Dir dir(support::Dir::kMemory);
    support::Server server(far_server(dir));
    Agent agent(server.listener_url(), "unix:" + (dir / "agent"));
    std::vector<std::unique_ptr<Writer>> all;
    std::vector<std::thread> threads;
    std::vector<int> failed(writers);

    for (int i = 0; i < writers; i++)
        all.push_back(std::make_unique<Writer>(server.listener_url() + ",agent=" + agent.url(),
                                               "log" + std::to_string(i)));
    for (int i = 0; i < writers; i++)
        threads.emplace_back([&, i] {
            for (const std::string &record : numbered(each))
                failed[i] += all[i]->append(record) != 0;
        });
    for (std::thread &thread : threads)
        thread.join();
    for (int i = 0; i < writers; i++) {
        CHECK(failed[i] == 0);
        CHECK(all[i]->records() == numbered(each));
    }
    CHECK(agent.stats().lists < agent.stats().orders);
}

TEST_CASE("agent: without it, records are flushed by the server; back, it is asked again",
          "[unit][agent]")
{
    support::Dir dir(support::Dir::kMemory);
    support::Server server(far_server(dir));
    std::string address = "unix:" + (dir / "agent");
    auto agent = std::make_unique<Agent>(server.listener_url(), address);
    Writer writer(server.listener_url() + ",agent=" + agent->url());
    int count = 0;
    auto append = [&] {
        auto start = std::chrono::steady_clock::now();

        REQUIRE(writer.append("record " + std::to_string(count++)) == 0);
        return std::chrono::steady_clock::now() - start;
    };

    append();
    agent.reset();
    uint64_t fallbacks = writer.stats().order_fallbacks;
    for (int i = 0; i < 50; i++)
        CHECK(append() < std::chrono::seconds(5)); // a busy machine stretches milliseconds
    CHECK(writer.stats().order_fallbacks == fallbacks + 50);
    agent = std::make_unique<Agent>(server.listener_url(), address);
    for (int i = 0; i < 600 && agent->stats().orders == 0; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        append();
    }
    CHECK(agent->stats().orders > 0);
    CHECK(writer.records() == numbered(count));
}

TEST_CASE("agent: a writer connects though the agent is away", "[unit][agent]")
{
    support::Dir dir(support::Dir::kMemory);
    support::Server server(far_server(dir));
    Writer writer(server.listener_url() + ",agent=unix:" + (dir / "absent"));

    CHECK(writer.append("hello") == 0);
    CHECK(writer.stats().order_fallbacks == 1);
}

TEST_CASE("agent: it finds its server again", "[unit][agent]")
{
    support::Dir dir(support::Dir::kMemory);
    support::Server server(far_server(dir));
    Agent agent(server.listener_url(), "unix:" + (dir / "agent"));

    {
        Writer writer(server.listener_url() + ",agent=" + agent.url());
        CHECK(writer.append("one") == 0);
    }
    server.stop();
    server.start();
    Writer writer(server.listener_url() + ",agent=" + agent.url());
    for (int i = 0; i < 600 && agent.stats().dials < 2; i++) {
        CHECK(writer.append("more") == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    CHECK(agent.stats().dials == 2);
    CHECK(writer.records().at(0) == "one");
}

TEST_CASE("agent: a writer that sees no segments trims as it decides", "[unit][agent]")
{
    const uint32_t flags[][2] = { { 0, 0 },
                                  { RPM_AGENT_ON_DEMAND, 0 },
                                  { 0, RPM_LOG_LATE_FETCH },
                                  { RPM_AGENT_ON_DEMAND, RPM_LOG_LATE_FETCH } };

    for (const auto &[of_agent, of_log] : flags)
        for (std::string kind : { "unix:", "shm:" }) {
            support::Dir dir(support::Dir::kMemory);
            support::Server server(far_server(dir));
            Agent agent(server.listener_url(), kind + (dir / "agent"), "", of_agent);
            Writer writer(server.listener_url() + ",agent=" + agent.url(), "log", "",
                          RPM_LOG_AGENT_TIER | of_log);
            Stager stager(server.listener_url(), dir / "", agent);
            std::string record(8000, 'r');

            CAPTURE(kind, of_agent, of_log);
            for (int i = 0; i < 200; i++) { // six times its capacity
                int err = writer.append(record);

                for (int turn = 0; err == RPM_E_FULL && turn < 1000; turn++) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    err = writer.append(record);
                }
                INFO(rpm_last_error());
                REQUIRE(err == 0);
            }
            CHECK(writer.stats().decisions > 4);
            CHECK(agent.stats().staged >= writer.stats().decisions);
        }
}

TEST_CASE("agent: it stages what an archiver decided, and nothing else", "[unit][agent]")
{
    support::Dir dir(support::Dir::kMemory);
    support::Server server(far_server(dir));
    Agent agent(server.listener_url(), "unix:" + (dir / "agent"));
    rpm_decision decision = rpm_decision_init();

    CHECK(agent.stage(decision) == RPM_E_INVAL);
    decision.log_id = 7;
    decision.epoch = 1;
    decision.trim_lsn = 64;
    CHECK(agent.stage(decision) == 1);
    CHECK(agent.stage(decision) == 0);
    decision.last_lsn = 64; // behind it
    CHECK(agent.stage(decision) == RPM_E_INVAL);
    decision.size = 4;
    CHECK(agent.stage(decision) == RPM_E_INVAL);
    CHECK(agent.stats().staged == 1);
}

TEST_CASE("agent: what it cannot be opened with", "[unit][agent]")
{
    support::Dir dir(support::Dir::kMemory);
    support::Server server(far_server(dir, "open sesame"));
    std::string own = "unix:" + (dir / "agent");
    std::string far = server.listener_url();
    std::string mapped = server.url();
    rpm_agent *agent = nullptr;

    struct {
        int err;
        const char *server;
        const char *secret;
        uint32_t flags;
    } rows[] = {
        { RPM_E_INVAL, nullptr, "open sesame", 0 },
        { RPM_E_REFUSED, own.c_str(), "open sesame", 0 },
        { RPM_E_DENIED, far.c_str(), "wrong", 0 },
        { RPM_E_NOCAP, mapped.c_str(), "open sesame", 0 },
        { RPM_E_INVAL, far.c_str(), "open sesame", RPM_SERVER_HUGE },
    };

    for (const auto &row : rows) {
        rpm_agent_opts opts = rpm_agent_opts_init();

        opts.server = row.server;
        opts.secret = row.secret;
        opts.flags = row.flags;
        opts.listen = own.c_str();
        opts.timeout_us = 1000000;
        CHECK(rpm_agent_open(&opts, &agent) == row.err);
        CHECK(agent == nullptr);
    }
    CHECK(rpm_agent_open(nullptr, &agent) == RPM_E_INVAL);
    rpm_agent_close(&agent); // safe on NULL
}

TEST_CASE("agent: a declared one carries records, whatever connects it and its writers",
          "[unit][agent]")
{
    support::Dir dir(support::Dir::kMemory);
    support::Server server(far_server(dir, "open sesame"));
    int logs = 0;

    for (std::string kind : { "unix:", "shm:" }) {
        for (const std::string &upstream : { server.listener_url(), server.url("ring") }) {
            Agent agent(upstream, kind + (dir / "agent"), "open sesame", 0, "carrier");
            Writer writer(server.listener_url() + ",agent=" + agent.url() + ",carry=carrier",
                          "log" + std::to_string(logs++), "open sesame");
            std::vector<std::string> expected;

            CAPTURE(kind, upstream);
            for (int i = 0; i < 100; i++) {
                expected.push_back(std::string(static_cast<size_t>(1 + i * 37), 'a' + i % 26));
                REQUIRE(writer.append(expected.back()) == 0);
            }
            CHECK(writer.records() == expected);
            CHECK(writer.stats().orders == 100);
            CHECK(writer.stats().carried > 0); // the last ones are too long for a list
            CHECK(writer.stats().carried < 100);
            CHECK(agent.stats().carried > 0);
        }
    }
    CHECK(server.stats().carried > 0);
}

TEST_CASE("agent: whom a server does not declare carries nothing", "[unit][agent]")
{
    support::Dir dir(support::Dir::kMemory);
    support::Server server(far_server(dir));
    Agent agent(server.listener_url(), "unix:" + (dir / "agent")); // gives no name
    std::string with_agent = server.listener_url() + ",agent=" + agent.url();
    rpm_conn *conn = nullptr;
    rpm_agent *refused = nullptr;
    rpm_agent_opts opts = rpm_agent_opts_init();
    std::string address = server.listener_url();
    std::string listen = "unix:" + (dir / "other");

    CHECK(rpm_conn_open((with_agent + ",carry=stranger").c_str(), nullptr, &conn) == RPM_E_DENIED);
    CHECK(rpm_conn_open((with_agent + ",carry=").c_str(), nullptr, &conn) == RPM_E_INVAL);
    CHECK(rpm_conn_open((server.listener_url() + ",carry=carrier").c_str(), nullptr, &conn) ==
          RPM_E_INVAL);
    opts.server = address.c_str();
    opts.listen = listen.c_str();
    opts.name = "stranger";
    CHECK(rpm_agent_open(&opts, &refused) == RPM_E_DENIED);
    opts.name = "";
    CHECK(rpm_agent_open(&opts, &refused) == RPM_E_INVAL);
    Writer writer(with_agent + ",carry=carrier"); // which this agent is not
    for (const std::string &record : numbered(20))
        REQUIRE(writer.append(record) == 0);
    CHECK(writer.records() == numbered(20));
    CHECK(agent.stats().carried == 0);
    CHECK(server.stats().carried == 0);
}
