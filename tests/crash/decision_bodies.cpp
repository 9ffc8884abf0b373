// SPDX-License-Identifier: BSD-3-Clause
// decision_bodies.cpp: scenarios of a writer that trims its log by the decisions of an agent, which
// stores the log in a folder that the writer does not see. The agent's region is in the volatile
// memory of the server's machine. What was acknowledged can be read for ever, through the folder.
#include "crash/bodies.h"
#include "support/decider.h"
#include "support/dir.h"

#include <cinttypes>

using namespace cuts;

namespace
{

const unsigned AGENT = 1; // the client that stores and stages
const unsigned SECOND = 2;

class DecidedOracle : public LogOracle
{
  public:
    DecidedOracle(const char *log, uint64_t bytes) : LogOracle(log, bytes)
    {
        by_agent = true;
        if (rpm_tier_open((dir_ / "").c_str(), nullptr, &tier) != 0)
            throw std::runtime_error(rpm_last_error());
    }
    ~DecidedOracle() override
    {
        close_handles();
        rpm_tier_close(&tier);
    }
    void use_again(Run &run) override
    {
        stages = true;
        start_agent(run);
        LogOracle::use_again(run);
    }
    // The region has to be there when a writer opens the log.
    void start_agent(Run &run)
    {
        Decider decider;

        run.must(decider.open(run.client(AGENT)), "region of decisions");
    }
    // The next decision of the agent.
    rpmi_decision line(const rpm_decision &decision)
    {
        return { decision.epoch,    decision.log_id,   decision.head_lsn, decision.trim_lsn,
                 decision.last_lsn, decision.last_sum, ++number_ };
    }
    void stage(Run &run, const rpmi_decision &decision)
    {
        Decider decider;

        run.must(decider.open(run.client(AGENT)), "region of decisions");
        run.must(decider.write(decision), "stage");
        run.say("staged decision %" PRIu64 ": trim to %" PRIu64, decision.number,
                decision.trim_lsn);
        staged = decision;
    }
    bool stages = true; // else the agent is stopped before it does
    rpmi_decision staged = {};

  protected:
    void stored(Run &run, rpm_archiver *archiver) override
    {
        rpm_decision decision = rpm_decision_init();

        if (stages && run.must(rpm_archiver_decide(archiver, &decision), "decide") == 1)
            stage(run, line(decision));
    }

  private:
    support::Dir dir_{ support::Dir::kMemory };
    uint64_t number_ = 0;
};

DecidedOracle &decided_log(Run &run)
{
    DecidedOracle &oracle = run.add(std::make_unique<DecidedOracle>("a", 4096));

    oracle.start_agent(run);
    return oracle;
}

// The log, opened by the agent.
class Stored
{
  public:
    Stored(Run &run, const std::string &name)
    {
        run.must(rpm_log_open(run.client(AGENT), name.c_str(), nullptr, &log), "open to store");
    }
    Stored(const Stored &) = delete;
    ~Stored()
    {
        rpm_archiver_close(&archiver);
        rpm_log_close(&log);
    }
    rpm_log *log = nullptr;
    rpm_archiver *archiver = nullptr;
};

void store(Run &run, DecidedOracle &oracle)
{
    Stored stored(run, oracle.name);

    oracle.archive(run, stored.log);
}

} // namespace

// Two laps: each record is stored, and the decision staged, before the log gets full.
static void decide_laps(Run &run)
{
    DecidedOracle &oracle = decided_log(run);
    Writer writer(run, FIRST, oracle);

    writer.append(40);
    run.begin();
    for (int turn = 0; turn < 4; turn++) {
        for (size_t len : { 40, 300, 8, 700, 500, 41 })
            writer.append_stored(len);
        store(run, oracle);
    }
}

// Decisions are fetched and committed while records are on their way.
static void decide_pipelined(Run &run)
{
    DecidedOracle &oracle = decided_log(run);
    Writer writer(run, FIRST, oracle);

    writer.append(40);
    run.begin();
    for (int turn = 0; turn < 3; turn++) {
        for (size_t len : { 40, 300, 8, 600, 41 })
            if (!writer.try_async(len, RPM_MORE) && !run.fired())
                violate("the log is full although the agent has decided");
        store(run, oracle);
        writer.poll(false);
        for (size_t len : { 100, 40 })
            if (!writer.try_async(len) && !run.fired())
                violate("the log is full although the agent has decided");
        writer.poll(true);
        store(run, oracle);
    }
}

// The agent is killed again and again: with records in its memory that are in no segment, or
// between the segment and the decision. Another one begins with what is in the folder.
static void decide_killed(Run &run)
{
    DecidedOracle &oracle = decided_log(run);
    Writer writer(run, FIRST, oracle);

    writer.append(40);
    run.begin();
    for (int turn = 0; turn < 6; turn++) {
        for (size_t len : { 300, 41, 500, 40 })
            if (!writer.try_append(len)) {
                store(run, oracle);
                writer.append_stored(len);
            }
        Stored stored(run, oracle.name);
        rpm_decision decision = rpm_decision_init();

        run.must(rpm_archiver_open(oracle.tier, stored.log, &stored.archiver), "archiver open");
        while (run.must(rpm_archiver_turn(stored.archiver, 0), "archive") == 1)
            ;
        if (!run.chance.one_in(4) &&
            run.must(rpm_archiver_decide(stored.archiver, &decision), "decide") == 1)
            oracle.stage(run, oracle.line(decision));
    }
}

// Lines of an agent that stored another history of the log, as after a pool was restored from a
// backup: log, epoch and head are the same, or older ones, and the record is another one.
static void decide_stale(Run &run)
{
    DecidedOracle &oracle = decided_log(run);
    Writer writer(run, FIRST, oracle);

    writer.append(40);
    run.begin();
    for (int turn = 0; turn < 3; turn++) {
        struct rpm_log_info info = rpm_log_info_init();
        rpm_decision decision = rpm_decision_init();

        for (size_t len : { 300, 700, 40 })
            writer.append_stored(len);
        store(run, oracle);
        run.must(rpm_log_info(writer.log(), &info), "info");
        decision.log_id = oracle.staged.log_id;
        decision.epoch = static_cast<uint32_t>(info.epoch);
        writer.append_stored(500);
        writer.append_stored(40); // 64 bytes of the ring, in no segment
        run.must(rpm_log_info(writer.log(), &info), "info");
        decision.head_lsn = info.head_lsn;
        decision.trim_lsn = info.tail_lsn;
        decision.last_lsn = info.tail_lsn - 64;
        decision.last_sum = run.chance.next();
        if (run.chance.one_in(3) && decision.epoch > 1)
            decision.epoch--;
        if (run.chance.one_in(3) && decision.head_lsn > 0)
            decision.head_lsn -= 64;
        oracle.stage(run, oracle.line(decision));
        if (!writer.try_append(300) || !writer.try_append(500)) {
            store(run, oracle);
            writer.append_stored(500);
        }
        store(run, oracle);
    }
}

// The agent is stopped; another writer takes the log over, trims, and writes a lap; then the agent
// goes on, and its old line is there again.
static void decide_takeover(Run &run)
{
    DecidedOracle &oracle = decided_log(run);
    auto first = std::make_unique<Writer>(run, FIRST, oracle);

    first->append(40);
    run.begin();
    for (size_t len : { 300, 500, 41, 300 })
        first->append(len);
    store(run, oracle);
    rpmi_decision old = oracle.staged;
    first.reset();
    Writer second(run, SECOND, oracle, RPM_LOG_TAKEOVER);
    oracle.stages = false;
    for (int turn = 0; turn < 4; turn++) {
        store(run, oracle);
        second.trim(0);
        for (size_t len : { 300, 500, 40 })
            second.append(len);
    }
    oracle.stage(run, old);
    for (int turn = 0; turn < 6; turn++)
        if (!second.try_append(500)) {
            oracle.stages = true;
            store(run, oracle);
            second.append_stored(500);
        }
}

const std::vector<Scenario> &decision_scenarios()
{
    static const std::vector<Scenario> list = {
        { "decide_laps", decide_laps },         { "decide_pipelined", decide_pipelined },
        { "decide_killed", decide_killed },     { "decide_stale", decide_stale },
        { "decide_takeover", decide_takeover },
    };

    return list;
}
