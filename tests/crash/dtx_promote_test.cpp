// SPDX-License-Identifier: BSD-3-Clause
// dtx_promote_test.cpp: a server is lost for good at any event of a run. The operator's promotion
// removes it from the view while another server loses power; then a restoration brings it back
// while another server loses power.
#include "crash/dtx_world.h"
#include "engine/cluster/servers.h"
#include "unit/dtx/engine/histories.h"
#include <dtx/checks.h>
#include <dtx/error.h>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint32_t kServers = 3;
constexpr int kSteps = 12;

dtx::Options options_of(DtxWorld &world, uint32_t canary)
{
    dtx::Options options = world.options(canary);

    options.log_bytes = 64 << 10;
    options.guesses = 100;
    options.interleave = 60;
    options.retry_us = 1; // the only thread must not block while it waits for a promotion
    return options;
}

// The tables of other tests, and a span of 16 slabs.
struct SpanTables : Tables {
    dtx::Span span;

    SpanTables() : Tables(60), span(schema.span("bytes", 4096, 16)) {}
};

// A transaction writes bytes of its own; two transactions use one slab.
constexpr size_t kBytes = 1500;

std::string bytes_of(int number)
{
    return std::string(kBytes, static_cast<char>(number));
}

uint32_t shard_of(int number)
{
    return static_cast<uint32_t>(number) % kServers;
}

uint64_t offset_of(int number)
{
    return static_cast<uint64_t>(number) * 2048 + 77;
}

// One transaction: adds 1 to an account on each of three shards, writes bytes, and inserts a row
// that leads to them.
Task<bool> step(Txn &txn, const SpanTables &tables, int number)
{
    std::string bytes = bytes_of(number);
    dtx::SpanWrite piece{ tables.span, shard_of(number), offset_of(number), bytes.data(), kBytes };

    co_await txn.write_span({ &piece, 1 });
    for (uint32_t shard = 0; shard < kServers; shard++) {
        uint64_t key = in_partition(shard, 1);
        auto row = co_await txn.read(tables.accounts, key);

        (void)co_await txn.write(tables.accounts, key, Account{ row->cents + 1 });
    }
    (void)co_await txn.insert(tables.sorted,
                              in_partition(shard_of(number), static_cast<uint64_t>(number)),
                              Account{ number });
    co_return true;
}

struct Cut {
    uint32_t gone;   // the server that is lost for good
    uint64_t event;  // at this event of the run
    rpm_cut how;     // by this kind of fault
    bool all;        // the others fail with it, and restart
    uint64_t second; // another server fails at this event of the promotion, and restarts; 0: never
    uint64_t third;  // the same, of the restoration
};

struct Result {
    uint64_t run = 0; // events
    uint64_t promotion = 0;
    uint64_t restoration = 0;
    int restarts = 0;
    std::string faults;
};

class Life
{
  public:
    Life(const Cut &cut, uint32_t canary)
        : cut_(cut), world_(cut.event, kServers, 3 << 20, 256 << 10),
          cluster_(tables_.schema, options_of(world_, canary))
    {
        world_.gone = cut.gone;
        cluster_.create();
    }

    Result live()
    {
        load();
        for (uint32_t server = 0; server < kServers && cut_.all; server++)
            rpm_sim_cut_at(world_.sim, server, cut_.event, cut_.how);
        result_.run = count([&] { run(); }, cut_.gone, cut_.event);
        for (uint32_t server = 0; server < kServers && cut_.all; server++)
            rpm_sim_cut_at(world_.sim, server, 0, RPM_CUT_NONE);
        if (cut_.event == 0 || cut_.event > result_.run) // runs differ in their number of events
            rpm_sim_power_cut(world_.sim, cut_.gone, cut_.how);
        session_.reset();
        result_.promotion = count([&] { insist([&] { (void)cluster_.promote({ cut_.gone }); }); },
                                  other(), cut_.second);
        examine("without the server");
        session_ = std::make_unique<Session>(cluster_, 1, &recorder_);
        run();
        session_.reset();
        world_.gone = UINT32_MAX;
        result_.restoration =
            count([&] { insist([&] { (void)cluster_.restore(cut_.gone); }); }, other(), cut_.third);
        examine("with it again");
        recorder_.add_final_state(cluster_);
        result_.faults += recorder_.verdict();
        result_.restarts = world_.restarts;
        return result_;
    }

  private:
    uint32_t other() const
    {
        return (cut_.gone + 1) % kServers;
    }
    void load()
    {
        session_ = std::make_unique<Session>(cluster_, 0, &recorder_);
        REQUIRE(now(*session_, [&](Txn &txn) -> Task<bool> {
                    for (uint32_t shard = 0; shard < kServers; shard++)
                        (void)co_await txn.insert(tables_.accounts, in_partition(shard, 1),
                                                  Account{ 0 });
                    co_return true;
                }) == Status::committed);
    }
    // Runs @act, during which @server fails at @event. Returns the number of events that @act
    // takes.
    template <class Act> uint64_t count(Act act, uint32_t server, uint64_t event)
    {
        uint64_t begin = rpm_sim_events(world_.sim);

        rpm_sim_cut_at(world_.sim, server, event, cut_.how);
        act();
        rpm_sim_cut_at(world_.sim, server, 0, RPM_CUT_NONE);
        return rpm_sim_events(world_.sim) - begin;
    }
    // Repeats the command while servers are unreachable, as an operator does.
    template <class Act> void insist(Act act)
    {
        for (int tries = 0; tries < 20; tries++) {
            try {
                act();
                return;
            } catch (const dtx::Fenced &) {
            } catch (const dtx::Error &error) {
                if (error.code() != RPM_E_LOST && error.code() != RPM_E_TIMEDOUT &&
                    error.code() != RPM_E_FENCED && error.code() != RPM_E_REFUSED)
                    throw;
            }
        }
        result_.faults += "it cannot be repeated\n";
    }
    // Runs transactions until the server is lost.
    void run()
    {
        try {
            for (int i = 0; i < kSteps; i++) {
                Status status =
                    now(*session_, [&](Txn &txn) { return step(txn, tables_, ++number_); });

                acknowledged_ += status == Status::committed ? 1 : 0;
            }
        } catch (const dtx::Error &error) {
            UNSCOPED_INFO(error.what());
        }
    }
    void examine(const std::string &when)
    {
        std::string faults;
        int64_t rows = 0;
        int64_t sum = 0;
        std::vector<int> numbers;

        (void)cluster_.recover();
        cluster_.each_row(tables_.sorted.number, 0, [&](uint64_t, const void *row, size_t) {
            rows++;
            numbers.push_back(static_cast<int>(static_cast<const Account *>(row)->cents));
        });
        cluster_.each_row(tables_.accounts.number, 0, [&](uint64_t, const void *row, size_t) {
            sum += static_cast<const Account *>(row)->cents;
        });
        if (sum != 3 * rows || rows < acknowledged_ || rows > number_)
            faults += std::to_string(sum) + " in " + std::to_string(rows) + " rows of " +
                      std::to_string(acknowledged_) + " acknowledged, " + std::to_string(number_) +
                      " begun\n";
        std::vector<dtx::Findings> all = dtx::checks::check_copies(cluster_);

        for (uint32_t copy = 0; copy < all.size(); copy++) {
            if (all[copy].texts().empty())
                all[copy].append(dtx::checks::check_indexes(cluster_, copy));
            for (const std::string &text : all[copy].texts())
                faults += text + "\n";
        }
        for (int number : numbers)
            faults += examine_bytes(number);
        if (!faults.empty())
            result_.faults += when + ": " + faults;
    }

    // The bytes to which the row of a transaction leads must be on all copies.
    std::string examine_bytes(int number)
    {
        dtx::Scheduler scheduler(1, 0);
        dtx::Servers servers(cluster_, scheduler);
        uint32_t shard = shard_of(number);
        std::string found(kBytes, '\0');
        std::string faults;

        servers.open(0, dtx::Claim::none);
        for (dtx::ServerConnection *copy : servers.copies(shard)) {
            copy->read(shard, cluster_.layout().span(0).offset + offset_of(number), found.data(),
                       kBytes);
            if (found != bytes_of(number))
                faults += "bytes of transaction " + std::to_string(number) + " are not on server " +
                          std::to_string(copy->server()) + "\n";
        }
        servers.close();
        return faults;
    }

    Cut cut_;
    DtxWorld world_;
    SpanTables tables_;
    dtx::Cluster cluster_;
    Recorder recorder_;
    std::unique_ptr<Session> session_;
    Result result_;
    int number_ = 0;
    int acknowledged_ = 0;
};

Result live_through(const Cut &cut, uint32_t canary = 0)
{
    try {
        return Life(cut, canary).live();
    } catch (const dtx::Error &error) {
        Result result;

        result.faults = error.what();
        return result;
    }
}

} // namespace

TEST_CASE("dtx: a server that is lost for good at any event loses no acknowledged commit",
          "[crash]")
{
    uint64_t events = live_through({ 0, 0, RPM_CUT_DROP, false, 0, 0 }).run;
    auto how = GENERATE(RPM_CUT_DROP, RPM_CUT_TEAR, RPM_CUT_KILL);
    bool all = GENERATE(false, true);

    REQUIRE(events > 1000);
    for (uint64_t event = 1; event <= events; event += events / 30) {
        uint32_t gone = static_cast<uint32_t>(event % kServers);

        CAPTURE(event, gone, int(how), all);
        CHECK(live_through({ gone, event, how, all, 0, 0 }).faults == "");
    }
}

TEST_CASE("dtx: a promotion and a restoration survive that another server loses power", "[crash]")
{
    Result whole = live_through({ 0, 700, RPM_CUT_DROP, false, 0, 0 });
    auto how = GENERATE(RPM_CUT_DROP, RPM_CUT_KILL);

    REQUIRE(whole.faults == "");
    REQUIRE(whole.promotion > 200);
    REQUIRE(whole.restoration > 200);
    for (uint64_t event = 1; event < whole.promotion; event += whole.promotion / 20) {
        Result result = live_through({ 0, 700, how, false, event, 0 });

        CAPTURE(event, int(how));
        CHECK(result.faults == "");
        CHECK(result.restarts > 1); // the other server, and the first one at the end
    }
    for (uint64_t event = 1; event < whole.restoration; event += whole.restoration / 20) {
        Result result = live_through({ 0, 700, how, false, 0, event });

        CAPTURE(event, int(how));
        CHECK(result.faults == "");
        CHECK(result.restarts > 1);
    }
}

// Does a run with the canary end with a fault after one of 150 events?
static bool finds(uint32_t canary)
{
    uint64_t events = live_through({ 0, 0, RPM_CUT_DROP, false, 0, 0 }).run;
    bool found = false;

    for (uint64_t event = 1; event <= events && !found; event += events / 150)
        found = live_through(
                    { static_cast<uint32_t>(event % kServers), event, RPM_CUT_DROP, true, 0, 0 },
                    canary)
                    .faults != "";
    return found;
}

TEST_CASE("dtx: a promotion that does not apply the logs is found in the model", "[canary]")
{
    CHECK(finds(dtx::kCanaryNoRedo));
}

TEST_CASE("dtx: bytes of a span that are on the primary alone are found in the model", "[canary]")
{
    CHECK(finds(dtx::kCanarySpanPrimary));
}
