// SPDX-License-Identifier: BSD-3-Clause
// dtx_tpcc_test.cpp: TPC-C in a world of the device model whose servers lose power at any event:
// the durability tests of clause 3.5.4. After recovery the twelve consistency conditions hold on
// each copy, every acknowledged transaction is there, and the totals are those of the acknowledged
// transactions and of in-flight ones, each of which is there as a whole or not at all.
#include "crash/dtx_world.h"
#include "workload/receipts.h"
#include "workload/run.h"
#include "workload/tpcc/tpcc.h"
#include <dtx/checks.h>

#include <cstdlib>
#include <unistd.h>

using namespace dtx;

namespace
{

constexpr uint32_t kServers = 2;
constexpr int kTransactions = 8;

tpcc::Parameters tiny()
{
    tpcc::Parameters parameters;

    parameters.warehouses = 1;
    parameters.items = 15;
    parameters.customers = 10;
    parameters.room = 40;
    parameters.servers = kServers;
    return parameters;
}

dtx::Options options_of(DtxWorld &world, uint32_t canary)
{
    dtx::Options options = world.options(canary);

    options.coordinators = 2;
    options.log_bytes = 256 << 10;
    options.guesses = 1000;
    return options;
}

struct Result {
    uint64_t events = 0; // from the load to the end
    bool happened = false;
    std::string faults;
};

class ReceiptFile
{
  public:
    ReceiptFile()
    {
        int fd = mkstemp(&path[0]);

        REQUIRE(fd >= 0);
        close(fd);
    }
    ~ReceiptFile()
    {
        unlink(path.c_str());
    }

    std::string path = "/tmp/librpm_crash_XXXXXX";
};

std::string faults_of(tpcc::Tpcc &workload, const Cluster &cluster, const Tally &tally,
                      const std::vector<Receipt> &receipts)
{
    std::vector<Findings> all = checks::check_copies(cluster);
    std::string faults;

    for (uint32_t copy = 0; copy < all.size(); copy++) {
        std::vector<std::string> wrong = all[copy].texts();

        if (wrong.empty()) {
            all[copy].append(checks::check_indexes(cluster, copy));
            all[copy].append(workload.audit(cluster, copy, receipts));
            wrong = all[copy].texts();
            for (const std::string &text :
                 workload.check_run(cluster, copy, workload.loaded(), tally))
                wrong.push_back(text);
        }
        for (const std::string &text : wrong)
            faults += "copy " + std::to_string(copy) + ": " + text + "\n";
    }
    return faults;
}

// The transactions of one terminal, one after the other.
Task<void> sit(Terminal &terminal)
{
    for (int i = 0; i < kTransactions; i++)
        (void)co_await terminal.next();
}

// A run during which @server fails at @event; 0: never.
Result live_through(uint64_t event, uint32_t server, rpm_cut cut, uint32_t canary)
{
    DtxWorld world(event, kServers, 12 << 20, 512 << 10);
    tpcc::Tpcc workload(tiny());
    Cluster cluster(workload.schema(), options_of(world, canary));
    Tally tally(workload.kinds().size());
    ReceiptFile file;
    Receipts receipts(file.path);
    Result result;

    tally.receipts = &receipts;
    cluster.create();
    {
        Session session(cluster, 0);

        workload.load(session, {});
        uint64_t begin = rpm_sim_events(world.sim);

        rpm_sim_cut_at(world.sim, server, event, cut);
        std::vector<std::unique_ptr<Terminal>> terminals;
        std::vector<Task<void>> tasks;

        for (uint32_t i = 0; i < 2; i++) {
            terminals.push_back(workload.terminal(session, tally, TerminalPlace{ 0, 1, i, 7 }));
            tasks.push_back(sit(*terminals.back()));
        }
        try {
            session.run(std::move(tasks));
        } catch (const Error &error) {
            if (error.code() != RPM_E_CORRUPT)
                throw;
            result.faults = error.what(); /* a transaction read the damage */
        }
        result.events = rpm_sim_events(world.sim) - begin;
    }
    rpm_sim_cut_at(world.sim, server, 0, RPM_CUT_NONE);
    (void)cluster.recover();
    result.happened = world.restarts > 0;
    try {
        result.faults += faults_of(workload, cluster, tally, read_receipts(file.path));
    } catch (const Error &error) {
        result.faults += error.what();
    }
    return result;
}

} // namespace

TEST_CASE("dtx: TPC-C keeps its conditions when a server loses power at any event", "[crash]")
{
    uint64_t events = live_through(0, 0, RPM_CUT_NONE, 0).events;
    auto cut = GENERATE(RPM_CUT_DROP, RPM_CUT_TEAR, RPM_CUT_REORDER, RPM_CUT_KILL);

    int happened = 0;

    REQUIRE(events > 1000);
    for (uint64_t event = 1; event <= events; event += events / 16) {
        Result result = live_through(event, static_cast<uint32_t>(event % kServers), cut, 0);

        CAPTURE(event, int(cut));
        CHECK(result.faults == "");
        happened += result.happened ? 1 : 0;
    }
    // Back-off depends on the clock: no two runs have the same number of events.
    CHECK(happened >= 10);
}

TEST_CASE("dtx: TPC-C's checks find rows written before their log", "[canary]")
{
    uint64_t events = live_through(0, 0, RPM_CUT_NONE, 0).events;
    bool found = false;

    for (uint64_t event = 1; event <= events && !found; event += events / 60)
        found = live_through(event, static_cast<uint32_t>(event % kServers), RPM_CUT_DROP,
                             kCanaryLogLate)
                    .faults != "";
    CHECK(found);
}
