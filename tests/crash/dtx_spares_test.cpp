// SPDX-License-Identifier: BSD-3-Clause
// dtx_spares_test.cpp: a server loses power at any event of a takeover, which returns the slots of
// a dead session. The takeover is then repeated. No row is damaged, no commit is lost, and a vacuum
// finds no slot that the takeovers have missed.
#include "crash/dtx_world.h"
#include "unit/dtx/engine/database.h"
#include <dtx/checks.h>
#include <dtx/error.h>

#include <memory>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint32_t kServers = 2;
constexpr uint32_t kOwner = 3;
constexpr uint64_t kRows = 12;
constexpr uint64_t kErased = 5;

dtx::Options options_of(DtxWorld &world, uint32_t canary)
{
    dtx::Options options = world.options(canary);

    options.log_bytes = 64 << 10;
    options.guesses = 100;
    return options;
}

// The last commit may be in the logs alone when the session stops.
void fill(Session &session, const Tables &tables)
{
    for (uint64_t key = 0; key < kRows; key++)
        REQUIRE(now(session, [&](Txn &txn) {
                    return txn.insert(tables.accounts, key, Account{ 1 });
                }) == Status::committed);
    for (uint64_t key = 0; key < kErased; key++)
        REQUIRE(now(session, [&](Txn &txn) { return txn.erase(tables.accounts, key); }) ==
                Status::committed);
}

std::string faults_of(const dtx::Cluster &cluster, const Tables &tables)
{
    std::string faults;
    uint64_t rows = 0;

    try {
        std::vector<dtx::Findings> all = dtx::checks::check_copies(cluster);

        for (uint32_t copy = 0; copy < all.size(); copy++) {
            if (all[copy].texts().empty())
                all[copy].append(dtx::checks::check_indexes(cluster, copy));
            for (const std::string &text : all[copy].texts())
                faults += text + "\n";
        }
        cluster.each_row(tables.accounts.number, 0,
                         [&](uint64_t, const void *, size_t) { rows++; });
        if (rows != kRows - kErased)
            faults += std::to_string(rows) + " rows\n";
        if (uint64_t missed = cluster.vacuum().slots; missed != 0)
            faults += std::to_string(missed) + " slots missed\n";
    } catch (const dtx::Error &error) {
        faults += error.what();
    }
    return faults;
}

struct Result {
    uint64_t events = 0; // of the takeover
    bool happened = false;
    uint64_t slots = 0;
    std::string faults;
};

Result live_through(uint64_t event, rpm_cut cut, uint32_t canary)
{
    uint32_t server = static_cast<uint32_t>(event % kServers);
    DtxWorld world(event, kServers, 2 << 20, 256 << 10);
    Tables tables(320); // five slots are taken at once
    dtx::Cluster cluster(tables.schema, options_of(world, canary));
    Result result;
    bool ended = false;

    cluster.create();
    auto owner = std::make_unique<Session>(cluster, kOwner);

    fill(*owner, tables);

    uint64_t begin = rpm_sim_events(world.sim);

    rpm_sim_cut_at(world.sim, server, event, cut);
    for (int tries = 0; !ended && tries < 10; tries++)
        try {
            result.slots += cluster.recover(kOwner).slots;
            ended = true;
        } catch (const dtx::Fenced &failure) {
            UNSCOPED_INFO(failure.what());
        }
    CHECK(ended);
    result.events = rpm_sim_events(world.sim) - begin;
    rpm_sim_cut_at(world.sim, server, 0, RPM_CUT_NONE);
    result.faults = faults_of(cluster, tables);
    /* Once the takeover needs no more of the server, only these reads notice that it is down. */
    result.happened = world.restarts > 0;
    owner.reset();
    return result;
}

} // namespace

TEST_CASE("dtx: a takeover under which a server loses power at any event does no harm", "[crash]")
{
    Result whole = live_through(0, RPM_CUT_NONE, 0);
    auto cut = GENERATE(RPM_CUT_DROP, RPM_CUT_TEAR, RPM_CUT_REORDER, RPM_CUT_KILL);

    REQUIRE(whole.faults == "");
    REQUIRE(whole.slots >= kErased);
    REQUIRE(whole.events > 50);
    // Each run is a world of its own, and some take slightly fewer events.
    for (uint64_t event = 1; event <= whole.events - whole.events / 30;
         event += 1 + whole.events / 60) {
        Result result = live_through(event, cut, 0);

        CAPTURE(event, int(cut), whole.events);
        CHECK(result.faults == "");
        CHECK(result.happened);
    }
}

TEST_CASE("dtx: a takeover that returns slots without a redo record is found", "[canary]")
{
    uint64_t events = live_through(0, RPM_CUT_NONE, 0).events;
    bool found = false;

    // The takeover returns slots near its end, so the search goes backwards.
    for (uint64_t event = events; event > events / 4 && !found; event--)
        found = live_through(event, RPM_CUT_DROP, dtx::kCanaryNoRecord).faults != "";
    CHECK(found);
}
