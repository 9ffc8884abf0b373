// SPDX-License-Identifier: BSD-3-Clause
// A writer that trims by the lines of an agent: which of them it takes, which it leaves, and that
// appends go on meanwhile. In the device model.
#include "support/decider.h"
#include "support/dir.h"
#include "unit/tier/tiered.h"

#include <librpm/sim.h>

namespace
{

constexpr uint64_t DECIDED_RING = 64u << 10;
constexpr size_t DECIDED_RECORD = 1000; // 1024 bytes of the ring

struct DecidedWorld {
    support::Dir dir;
    rpm_sim *sim = nullptr;
    rpm_conn *other = nullptr;
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    rpm_log *stored = nullptr; // the agent's handle
    rpm_tier *tier = nullptr;
    rpm_archiver *archiver = nullptr;
    Decider decider;

    explicit DecidedWorld(uint32_t flags = 0, bool region = true)
    {
        rpm_sim_opts opts = rpm_sim_opts_init();

        opts.preset = "adr";
        REQUIRE(rpm_sim_open(&opts, &sim) == 0);
        REQUIRE(rpm_sim_connect(sim, 0, nullptr, &other) == 0);
        if (region)
            REQUIRE(decider.open(other) == 0);
        REQUIRE(rpm_sim_connect_agent(sim, 0, nullptr, &conn) == 0);
        REQUIRE(open(RPM_LOG_CREATE | flags) == 0);
        REQUIRE(rpm_tier_open((dir / "").c_str(), nullptr, &tier) == 0);
        REQUIRE(rpm_log_open(other, "a", nullptr, &stored) == 0);
        REQUIRE(rpm_archiver_open(tier, stored, &archiver) == 0);
    }
    DecidedWorld(const DecidedWorld &) = delete;
    ~DecidedWorld()
    {
        rpm_archiver_close(&archiver);
        rpm_log_close(&stored);
        rpm_tier_close(&tier);
        rpm_log_close(&log);
        decider.close();
        rpm_conn_close(&conn);
        rpm_conn_close(&other);
        rpm_sim_close(&sim);
    }
    int open(uint32_t flags)
    {
        rpm_log_opts opts = rpm_log_opts_init();

        opts.flags = RPM_LOG_WRITE | RPM_LOG_AGENT_TIER | flags;
        opts.capacity_bytes = DECIDED_RING;
        return rpm_log_open(conn, "a", &opts, &log);
    }
    int append()
    {
        std::string data(DECIDED_RECORD, static_cast<char>('a' + appended % 26));
        int err = rpm_log_append(log, data.data(), data.size(), nullptr);

        appended += err == 0 ? 1 : 0;
        return err;
    }
    // Appends until @percent of the ring are in use.
    void fill(uint64_t percent)
    {
        while (info().tail_lsn + 1024 - info().head_lsn <= DECIDED_RING * percent / 100)
            REQUIRE(append() == 0);
    }
    // Appends to a ring that is not full, so that a READ that is on its way completes.
    void appends(int n)
    {
        for (int i = 0; i < n; i++)
            REQUIRE(append() == 0);
    }
    struct rpm_log_info info()
    {
        struct rpm_log_info found = rpm_log_info_init();

        REQUIRE(rpm_log_info(log, &found) == 0);
        return found;
    }
    struct rpm_conn_stats stats()
    {
        struct rpm_conn_stats found = rpm_conn_stats_init();

        REQUIRE(rpm_conn_stats(conn, &found) == 0);
        return found;
    }
    void store()
    {
        int more;

        while ((more = rpm_archiver_turn(archiver, 1)) == 1)
            ;
        REQUIRE(more == 0);
    }
    rpmi_decision decide()
    {
        rpm_decision decision = rpm_decision_init();

        REQUIRE(rpm_archiver_decide(archiver, &decision) == 1);
        return decider.line(decision);
    }
    uint64_t appended = 0;
};

} // namespace

TEST_CASE("decision: a log written ten times over is never full", "[unit][agent]")
{
    for (uint32_t flags : { 0u, static_cast<uint32_t>(RPM_LOG_LATE_FETCH) }) {
        DecidedWorld world(flags);
        int error;

        CAPTURE(flags);
        for (int lap = 0; lap < 40; lap++) {
            if (world.info().tail_lsn > 0) {
                world.store();
                REQUIRE(world.decider.write(world.decide()) == 0);
            }
            world.appends(static_cast<int>(DECIDED_RING / 4096));
        }
        world.store();
        CHECK(world.info().tail_lsn == 10 * DECIDED_RING);
        CHECK(world.stats().decisions > 8);
        // Between a trim and the next decision the line rests on the head before.
        CHECK(world.stats().decisions_stale == 0);
        CHECK(stored_records(world.tier, world.log->log_id, &error).size() == world.appended);
    }
}

TEST_CASE("decision: at three quarters it is fetched, and committed before the ring is full",
          "[unit][agent]")
{
    DecidedWorld world;

    world.fill(50);
    world.store();
    rpmi_decision line = world.decide();
    REQUIRE(world.decider.write(line) == 0);
    world.fill(74);
    CHECK(world.info().head_lsn == 0); // nothing was asked for
    world.appends(8);
    CHECK(world.info().head_lsn == line.trim_lsn);
    CHECK(world.stats().decisions == 1);
    CHECK(world.stats().decisions_stale == 0);
}

TEST_CASE("decision: with LATE_FETCH it is fetched when the ring is full", "[unit][agent]")
{
    DecidedWorld world(RPM_LOG_LATE_FETCH);

    world.fill(50);
    world.store();
    REQUIRE(world.decider.write(world.decide()) == 0);
    world.fill(100);
    CHECK(world.info().head_lsn == 0);
    CHECK(world.append() == 0);
    CHECK(world.stats().decisions == 1);
}

TEST_CASE("decision: what does not hold any more is counted, and trims nothing", "[unit][agent]")
{
    struct {
        const char *what;
        void (*change)(rpmi_decision &line);
        bool stale; // else it is no decision
    } rows[] = {
        { "another epoch", [](rpmi_decision &line) { line.epoch++; }, true },
        { "the epoch before", [](rpmi_decision &line) { line.epoch--; }, true },
        { "an older head", [](rpmi_decision &line) { line.head_lsn -= 64; }, true },
        { "a later head", [](rpmi_decision &line) { line.head_lsn += 1024; }, true },
        { "another record there", [](rpmi_decision &line) { line.last_sum ^= 1; }, true },
        { "inside a record", [](rpmi_decision &line) { line.trim_lsn -= 64; }, true },
        { "behind a record", [](rpmi_decision &line) { line.trim_lsn += 1024; }, true },
        { "inside a frame", [](rpmi_decision &line) { line.last_lsn += 64; }, true },
        { "beyond the tail", [](rpmi_decision &line) { line.trim_lsn += DECIDED_RING; }, true },
        { "a record beyond the tail",
          [](rpmi_decision &line) {
              line.last_lsn += DECIDED_RING;
              line.trim_lsn += DECIDED_RING;
          },
          true },
        { "a log's that is not there",
          [](rpmi_decision &line) { line.log_id += RPMI_DECISION_SETS; }, false },
    };

    for (const auto &row : rows) {
        DecidedWorld world;
        unsigned char bytes[RPMI_DECISION_BYTES];

        CAPTURE(row.what);
        world.fill(30); // one decision that holds, so that the head is not 0
        REQUIRE(rpm_log_trim(world.log, 4096) == 0);
        rpm_log_close(&world.log);
        REQUIRE(world.open(0) == 0); // the second epoch
        world.fill(50);
        world.store();
        rpmi_decision good = world.decide();
        rpmi_decision line = good;
        row.change(line);
        if (!rpmi_decision_is_sound(&line))
            FAIL(row.what);
        rpmi_decision_put(bytes, &line);
        REQUIRE(world.decider.write_bytes(good.log_id, bytes) == 0);
        world.fill(100);
        CHECK(world.append() == RPM_E_FULL);
        CHECK(world.info().head_lsn == 4096);
        CHECK(world.stats().decisions == 0);
        CHECK(world.stats().decisions_stale == (row.stale ? 1 : 0));
        good.number++; // and then one that holds
        REQUIRE(world.decider.write(good) == 0);
        for (int turn = 0; turn < 100 && world.stats().decisions == 0; turn++)
            (void)world.append();
        CHECK(world.stats().decisions == 1);
        CHECK(world.info().head_lsn == good.trim_lsn);
    }
}

TEST_CASE("decision: an older one of the same run is stale, the same one is nothing new",
          "[unit][agent]")
{
    DecidedWorld world;

    world.fill(50);
    world.store();
    rpmi_decision first = world.decide();
    rpmi_decision second = world.decide();
    REQUIRE(world.decider.write(second) == 0);
    world.fill(78);
    world.appends(4);
    REQUIRE(world.stats().decisions == 1);
    world.fill(90);
    CHECK(world.stats().decisions_stale == 0);
    first.head_lsn = first.last_lsn = second.trim_lsn; // all but its number holds
    first.trim_lsn = first.last_lsn + 1024;
    world.store();
    rpm_decision now = rpm_decision_init();
    REQUIRE(rpm_archiver_decide(world.archiver, &now) == 1);
    rpmi_decision replayed = world.decider.line(now);
    replayed.number = first.number;
    REQUIRE(world.decider.write(replayed) == 0);
    world.fill(100);
    for (int turn = 0; turn < 20; turn++)
        CHECK(world.append() == RPM_E_FULL);
    CHECK(world.stats().decisions == 1);
    CHECK(world.stats().decisions_stale > 0);
}

TEST_CASE("decision: damaged lines are none, and other logs' lines are passed over",
          "[unit][agent]")
{
    DecidedWorld world;
    unsigned char bytes[RPMI_DECISION_BYTES];

    world.fill(50);
    world.store();
    rpmi_decision line = world.decide();
    rpmi_decision_put(bytes, &line);
    bytes[24] ^= 1;
    REQUIRE(world.decider.write_bytes(line.log_id, bytes, 0) == 0);
    rpmi_decision other = line;
    other.log_id += RPMI_DECISION_SETS;
    REQUIRE(world.decider.write(other, 1) == 0);
    world.fill(100);
    CHECK(world.append() == RPM_E_FULL);
    CHECK(std::string(rpm_last_error()).find("has not decided") != std::string::npos);
    CHECK(world.stats().decisions_stale == 0);
    REQUIRE(world.decider.write(line, 2) == 0);
    for (int turn = 0; turn < 100 && world.stats().decisions == 0; turn++)
        (void)world.append();
    CHECK(world.stats().decisions == 1);
}

TEST_CASE("decision: a writer that finds none asks for one", "[unit][agent]")
{
    DecidedWorld world;
    uint64_t word = 0;

    world.fill(74);
    REQUIRE(world.decider.asked(world.log->log_id, &word) == 0);
    CHECK(word == 0);
    world.fill(100);
    for (int turn = 0; turn < 3; turn++)
        CHECK(world.append() == RPM_E_FULL);
    REQUIRE(world.decider.asked(world.log->log_id, &word) == 0);
    CHECK(word != 0);
}

TEST_CASE("decision: a trim by another client makes the agent's later head the log's",
          "[unit][agent]")
{
    DecidedWorld world;

    world.fill(60);
    world.store();
    REQUIRE(rpm_log_trim(world.stored, 8192) == 0); // the writer does not know
    rpmi_decision line = world.decide();
    CHECK(line.head_lsn == 8192);
    REQUIRE(world.decider.write(line) == 0);
    world.fill(90);
    CHECK(world.stats().decisions == 1);
    CHECK(world.stats().decisions_stale == 0);
}

TEST_CASE("decision: an agent without the region leaves the log full, and says why",
          "[unit][agent]")
{
    DecidedWorld world(0, false);

    world.fill(100);
    CHECK(world.append() == RPM_E_FULL);
    CHECK(std::string(rpm_last_error()).find("has no decisions") != std::string::npos);
}

TEST_CASE("decision: what a log cannot be opened with", "[unit][agent]")
{
    DecidedWorld world;
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;

    opts.flags = RPM_LOG_AGENT_TIER;
    CHECK(rpm_log_open(world.conn, "a", &opts, &log) == RPM_E_INVAL);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_LATE_FETCH;
    CHECK(rpm_log_open(world.conn, "a", &opts, &log) == RPM_E_INVAL);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_AGENT_TIER;
    CHECK(rpm_log_open(world.other, "a", &opts, &log) == RPM_E_INVAL);
    CHECK(std::string(rpm_last_error()).find("without an agent") != std::string::npos);
    opts.tier = world.tier;
    CHECK(rpm_log_open(world.conn, "b", &opts, &log) == RPM_E_INVAL);
    CHECK(log == nullptr);
}
