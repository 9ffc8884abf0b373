// SPDX-License-Identifier: BSD-3-Clause
// tier_bodies.cpp: scenarios with a tier: what a writer trims is in segments, so every record that
// was acknowledged can be read for ever. Power fails at the server; the folder of the tier loses
// nothing.
#include "crash/bodies.h"
#include "support/dir.h"

using namespace cuts;

namespace
{

const unsigned AGENT = 1; // the client that stores

// A log with a tier in a new folder.
class TieredOracle : public LogOracle
{
  public:
    TieredOracle(const char *log, uint64_t bytes, const char *engine) : LogOracle(log, bytes)
    {
        rpm_tier_opts opts = rpm_tier_opts_init();

        opts.engine = engine;
        if (rpm_tier_open((dir_ / "").c_str(), &opts, &tier) != 0)
            throw std::runtime_error(rpm_last_error());
    }
    ~TieredOracle() override
    {
        close_handles();
        rpm_tier_close(&tier);
    }

  private:
    support::Dir dir_;
};

LogOracle &tiered_log(Run &run, const char *name, const char *engine = nullptr)
{
    return run.add(std::make_unique<TieredOracle>(name, 4096, engine));
}

// Opens the log as another client, and stores it.
void store(Run &run, LogOracle &oracle)
{
    rpm_log *log = nullptr;

    run.must(rpm_log_open(run.client(AGENT), oracle.name.c_str(), nullptr, &log), "open to store");
    try {
        oracle.archive(run, log);
    } catch (...) {
        rpm_log_close(&log);
        throw;
    }
    rpm_log_close(&log);
}

} // namespace

// Three laps, each stored before the log gets full.
static void laps(Run &run, const char *engine)
{
    LogOracle &oracle = tiered_log(run, "a", engine);
    Writer writer(run, FIRST, oracle);

    writer.append(40);
    run.begin();
    for (int turn = 0; turn < 6; turn++) {
        for (size_t len : { 40, 300, 8, 700, 500, 41 })
            writer.append(len);
        store(run, oracle);
    }
}

static void tier_laps(Run &run)
{
    laps(run, nullptr);
}

// What is stored was copied by a copy engine.
static void tier_engine(Run &run)
{
    laps(run, "rdma");
}

// Records are stored while others are on their way.
static void tier_pipelined(Run &run)
{
    LogOracle &oracle = tiered_log(run, "a");
    Writer writer(run, FIRST, oracle);

    writer.append(40);
    run.begin();
    for (int turn = 0; turn < 5; turn++) {
        for (size_t len : { 40, 300, 8, 600, 500, 41 })
            writer.async(len, RPM_MORE);
        store(run, oracle);
        writer.poll(false);
        for (size_t len : { 100, 40 })
            writer.async(len);
        writer.poll(true);
        store(run, oracle);
    }
}

// A writer that resumes after a loss goes on as if it had not been there.
static void tier_resumed(Run &run)
{
    LogOracle &oracle = tiered_log(run, "a");
    Writer writer(run, FIRST, oracle);

    run.begin();
    for (int turn = 0; turn < 4; turn++) {
        try {
            for (size_t len : { 40, 500, 700, 41 })
                writer.async(len, RPM_MORE);
            store(run, oracle);
            for (uint64_t i = run.chance.below(40); i > 0; i--)
                rpm_sim_step(run.sim());
            run.inject(Fault::kill);
            writer.persist();
            writer.poll(true);
        } catch (const Lost &) {
        }
        run.restart();
        run.reconnect(AGENT);
        writer.resume();
        store(run, oracle);
    }
}

const std::vector<Scenario> &tier_scenarios()
{
    static const std::vector<Scenario> list = {
        { "tier_laps", tier_laps },
        { "tier_engine", tier_engine },
        { "tier_pipelined", tier_pipelined },
        { "tier_resumed", tier_resumed },
    };

    return list;
}
