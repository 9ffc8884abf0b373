// SPDX-License-Identifier: BSD-3-Clause
// dtx_vacuum_test.cpp: a server loses power at any event of a vacuum. The vacuum is then repeated,
// or a recovery ends it. No row is damaged, and all slots can be used in the end.
#include "crash/dtx_world.h"
#include "engine/cluster/servers.h"
#include "unit/dtx/engine/database.h"
#include <dtx/checks.h>
#include <dtx/error.h>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint32_t kServers = 2;
constexpr uint64_t kRoom = 320; // a session takes five slots at once

dtx::Options options_of(DtxWorld &world, uint32_t canary)
{
    dtx::Options options = world.options(canary);

    options.log_bytes = 64 << 10;
    options.guesses = 100;
    return options;
}

bool insert(Session &session, const Tables &tables, uint64_t key)
{
    try {
        return now(session, [&](Txn &txn) -> Task<bool> {
                   co_return co_await txn.insert(tables.accounts, key, Account{ 1 });
               }) == Status::committed;
    } catch (const dtx::Error &error) {
        REQUIRE(error.code() == RPM_E_NOSPACE);
        return false;
    }
}

// Fences the session, and removes the note of its free slots from its logs.
void forget_slots(const dtx::Cluster &cluster)
{
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers servers(cluster, scheduler);

    (void)cluster.recover();
    servers.open(0, dtx::Claim::takeover);
    for (uint32_t server = 0; server < kServers; server++)
        servers.connection(server).keep_note({});
    servers.close();
}

// Inserts rows, and loses the slots that the session held between them.
void lose_slots(const dtx::Cluster &cluster, const Tables &tables)
{
    Session session(cluster, 0);

    for (uint64_t key = 0; key < 20; key++) {
        REQUIRE(insert(session, tables, key));
        forget_slots(cluster);
    }
}

std::string faults_of(const dtx::Cluster &cluster, const Tables &tables)
{
    std::string faults;

    try {
        std::vector<dtx::Findings> all = dtx::checks::check_copies(cluster);

        for (uint32_t copy = 0; copy < all.size(); copy++) {
            if (all[copy].texts().empty())
                all[copy].append(dtx::checks::check_indexes(cluster, copy));
            for (const std::string &text : all[copy].texts())
                faults += text + "\n";
        }
        (void)cluster.vacuum();

        Session session(cluster, 1);
        uint64_t rows = 20;

        while (insert(session, tables, 1000 + rows))
            rows++;
        if (rows != kRoom)
            faults += "room for " + std::to_string(rows) + " rows\n";
    } catch (const dtx::Error &error) {
        faults += error.what();
    }
    return faults;
}

struct Result {
    uint64_t events = 0; // of the vacuum
    bool happened = false;
    std::string faults;
};

// @repeated: the vacuum is repeated until it succeeds; otherwise a recovery ends it.
Result live_through(uint64_t event, rpm_cut cut, bool repeated, uint32_t canary)
{
    uint32_t server = static_cast<uint32_t>(event % kServers);
    DtxWorld world(event, kServers, 2 << 20, 256 << 10);
    Tables tables(kRoom);
    dtx::Cluster cluster(tables.schema, options_of(world, canary));
    bool ended = false;
    Result result;

    cluster.create();
    lose_slots(cluster, tables);

    uint64_t begin = rpm_sim_events(world.sim);

    rpm_sim_cut_at(world.sim, server, event, cut);
    for (int tries = 0; tries == 0 || (repeated && !ended && tries < 10); tries++)
        try {
            (void)cluster.vacuum();
            ended = true;
        } catch (const dtx::Fenced &failure) {
            UNSCOPED_INFO(failure.what());
        }
    CHECK((ended || !repeated));
    result.events = rpm_sim_events(world.sim) - begin;
    rpm_sim_cut_at(world.sim, server, 0, RPM_CUT_NONE);
    (void)cluster.recover();
    result.happened = world.restarts > 0;
    result.faults = faults_of(cluster, tables);
    return result;
}

} // namespace

TEST_CASE("dtx: a vacuum under which a server loses power at any event does no harm", "[crash]")
{
    uint64_t events = live_through(0, RPM_CUT_NONE, true, 0).events;
    auto cut = GENERATE(RPM_CUT_DROP, RPM_CUT_TEAR, RPM_CUT_REORDER, RPM_CUT_KILL);
    bool repeated = GENERATE(false, true);

    REQUIRE(events > 500);
    // Each run is a world of its own, and some take slightly fewer events.
    for (uint64_t event = 1 + repeated; event <= events - events / 50; event += events / 20) {
        Result result = live_through(event, cut, repeated, 0);

        CAPTURE(event, int(cut), repeated);
        CHECK(result.faults == "");
        CHECK(result.happened);
    }
}

TEST_CASE("dtx: a vacuum that returns slots without a redo record is found", "[canary]")
{
    uint64_t events = live_through(0, RPM_CUT_NONE, true, 0).events;
    bool found = false;

    // The vacuum returns slots near its end, so the search goes backwards.
    for (uint64_t event = events; event > events / 2 && !found; event -= events / 300)
        found = live_through(event, RPM_CUT_DROP, false, dtx::kCanaryNoRecord).faults != "";
    CHECK(found);
}
