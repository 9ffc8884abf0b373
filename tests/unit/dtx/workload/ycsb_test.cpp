// SPDX-License-Identifier: BSD-3-Clause
// ycsb_test.cpp: YCSB: its choice of records and operations, and whether its checks detect
// violations.
#include "servers.h"
#include "workload/ycsb/check.h"
#include "workload/ycsb/operations.h"
#include "workload/ycsb/ycsb.h"

#include <cmath>
#include <set>

namespace dtx::ycsb
{

namespace
{

Parameters few(char workload, bool ordered, uint32_t servers)
{
    Parameters parameters;

    parameters.workload = workload;
    parameters.keys = 2000;
    parameters.room = 4000;
    parameters.value_bytes = 20;
    parameters.ordered = ordered;
    parameters.servers = servers;
    return parameters;
}

std::string refusal(const Parameters &parameters)
{
    try {
        parameters.verify();
    } catch (const Error &error) {
        return error.what();
    }
    return "";
}

// Changes the value of a record without the workload.
template <class Change>
void change_value(const Cluster &cluster, const Ycsb &workload, uint64_t key, Change change)
{
    auto session = join(cluster, 0);
    auto body = [&](Txn &txn) -> Task<bool> {
        auto found = co_await txn.read(workload.tables().records, key);
        std::vector<unsigned char> value(found->begin(), found->end());

        change(value);
        co_return co_await txn.write(workload.tables().records, key, value);
    };

    REQUIRE(session->transact_now(body).status == Status::committed);
}

} // namespace

TEST_CASE("ycsb: a key gives the number of its record, and keys fall into all partitions")
{
    std::vector<uint32_t> met(kPartitions);

    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t record = i < 50000 ? i : i * 0x9e3779b97f4a7c15u;

        REQUIRE(record_of(key_of(record)) == record);
        met[partition_of(key_of(i))]++;
    }
    CHECK(record_of(key_of(UINT64_MAX)) == UINT64_MAX);
    for (uint32_t count : met)
        CHECK(std::abs(count - 100000.0 / kPartitions) < 6 * std::sqrt(100000.0 / kPartitions));
}

TEST_CASE("ycsb: sums for the zipfian choice are those of all their terms")
{
    for (double theta : { 0.0, 0.5, 0.99, 0.9999 })
        for (uint64_t many :
             { uint64_t{ 2 }, uint64_t{ 999 }, uint64_t{ 1001 }, uint64_t{ 200000 } }) {
            double sum = 0;

            for (uint64_t i = many; i >= 1; i--)
                sum += std::pow(static_cast<double>(i), -theta);
            CHECK(std::abs(zeta(many, theta) / sum - 1) < 1e-11);
        }
}

TEST_CASE("ycsb: popular ranks are drawn as often as the distribution says")
{
    constexpr uint32_t draws = 400000;
    constexpr uint64_t many = 1000;

    for (double theta : { 0.0, 0.6, 0.99 }) {
        Zipf zipf(many, theta);
        Random chance(5);
        std::vector<double> count(many);
        double sum = zeta(many, theta);

        for (uint32_t i = 0; i < draws; i++)
            count.at(zipf.draw(chance))++;
        INFO("theta " << theta);
        CHECK(count[0] / draws == Approx(1 / sum).epsilon(0.04));
        CHECK(count[1] / draws == Approx(std::pow(2, -theta) / sum).epsilon(0.06));
        // The method approximates the other ranks: their sum is exact, each one within a few per
        // cent.
        double tail = 0;
        double law = 0;

        for (uint64_t rank = 100; rank < many; rank++) {
            tail += count[rank] / draws;
            law += std::pow(static_cast<double>(rank + 1), -theta) / sum;
        }
        CHECK(tail == Approx(law).epsilon(0.05));
    }
}

TEST_CASE("ycsb: each rank is mapped to a record of its own")
{
    for (uint64_t many : { 2u, 3u, 6u, 1000u, 4096u, 99991u }) {
        Spread spread(many);
        std::set<uint64_t> places;

        for (uint64_t rank = 0; rank < many; rank++)
            places.insert(spread.place(rank));
        CHECK(places.size() == many);
        CHECK(*places.rbegin() == many - 1);
    }
}

TEST_CASE("ycsb: the latest records are those that were inserted last, then the load's last")
{
    Latest latest(100);

    CHECK(latest.at(0) == 99);
    CHECK(latest.at(99) == 0);
    latest.inserted(1000);
    latest.inserted(2000);
    CHECK(latest.at(0) == 2000);
    CHECK(latest.at(1) == 1000);
    CHECK(latest.at(2) == 99);
    for (uint64_t i = 0; i < Latest::kKept; i++)
        latest.inserted(5000 + i);
    CHECK(latest.at(0) == 5000 + Latest::kKept - 1);
    CHECK(latest.at(99) == 5000 + Latest::kKept - 100);
}

TEST_CASE("ycsb: the mixes are those of the core workloads")
{
    constexpr uint32_t draws = 100000;
    const double percent[6][kKinds] = { { 50, 50, 0, 0, 0 }, { 95, 5, 0, 0, 0 },
                                        { 100, 0, 0, 0, 0 }, { 95, 0, 5, 0, 0 },
                                        { 0, 0, 5, 95, 0 },  { 50, 0, 0, 0, 50 } };

    for (char workload = 'a'; workload <= 'f'; workload++) {
        Parameters parameters = few(workload, true, 1);
        Zipf zipf(parameters.keys, parameters.theta / 1e4);
        Latest latest(parameters.keys);
        Inputs inputs(parameters, zipf, latest, 3);
        uint32_t kinds[kKinds] = {};
        uint64_t lengths = 0;

        for (uint32_t i = 0; i < draws; i++) {
            Input input = inputs.next();

            REQUIRE(input.record < parameters.keys);
            REQUIRE(input.length <= kScanMax);
            REQUIRE((input.length != 0) == (input.kind == kScan));
            kinds[input.kind]++;
            lengths += input.length;
        }
        for (uint32_t kind = 0; kind < kKinds; kind++)
            CHECK(kinds[kind] * 100.0 / draws == Approx(percent[workload - 'a'][kind]).margin(0.5));
        if (workload == 'e')
            CHECK(static_cast<double>(lengths) / kinds[kScan] == Approx(50.5).epsilon(0.02));
    }
}

TEST_CASE("ycsb: parameters out of range are refused by name")
{
    auto refused = [](auto change) {
        Parameters parameters;

        change(parameters);
        return refusal(parameters);
    };

    CHECK(refused([](Parameters &) {}) == "");
    CHECK(refused([](Parameters &p) { p.keys = 1; }).find("keys") != std::string::npos);
    CHECK(refused([](Parameters &p) { p.value_bytes = 7; }).find("value") != std::string::npos);
    CHECK(refused([](Parameters &p) { p.theta = 10000; }).find("theta") != std::string::npos);
    CHECK(refused([](Parameters &p) { p.workload = 'g'; }).find("workload") != std::string::npos);
    CHECK(refused([](Parameters &p) { p.workload = 'e'; }).find("--index ordered") !=
          std::string::npos);
}

TEST_CASE("ycsb: after every core workload all copies have the values that its operations wrote")
{
    for (bool ordered : { false, true })
        for (char workload = 'a'; workload <= 'f'; workload++) {
            if (workload == 'e' && !ordered)
                continue;
            support::Servers servers(2, 64 << 20);
            Parameters parameters = few(workload, ordered, 2);
            RunOptions options;

            options.threads = 2;
            options.coroutines = 4;
            options.transactions = 1500;
            Ycsb made(parameters);
            Cluster cluster = servers.cluster(made, 2);
            RunResult result = support::load_and_run(made, cluster, options);
            uint64_t committed = 0;

            for (const KindCounts &counts : result.tally.counts)
                committed += counts.committed;
            INFO("workload " << workload << (ordered ? ", ordered" : ", hash"));
            CHECK(committed == 1500);
            CHECK(result.tally.ledger.unknown().empty());
        }
}

TEST_CASE("ycsb: a scan continues over partitions, in key order, to the last record")
{
    support::Servers servers(2, 64 << 20);
    Ycsb workload(few('e', true, 2));
    Cluster cluster = servers.cluster(workload, 1);
    Operations operations(workload.tables());
    std::set<uint64_t> keys;

    cluster.create();
    dtx::load(workload, cluster, 1);
    for (uint64_t record = 0; record < 2000; record++)
        keys.insert(key_of(record));

    auto session = join(cluster, 0);

    for (uint64_t record = 0; record < 2000; record += 37) {
        auto behind = static_cast<size_t>(std::distance(keys.find(key_of(record)), keys.end()));

        session->transact_now([&](Txn &txn) { return operations.scan(txn, record, 100); });
        CHECK(operations.found() == std::min<size_t>(behind, 100));
    }
}

TEST_CASE("ycsb: a second run inserts other records than the first")
{
    support::Servers servers(1, 64 << 20);
    Ycsb workload(few('d', false, 1));
    Cluster cluster = servers.cluster(workload, 1);
    RunOptions options;

    options.coroutines = 2;
    options.transactions = 400;
    support::load_and_run(workload, cluster, options);
    for (int again = 0; again < 3; again++) {
        Totals before = workload.totals(cluster, 0);
        RunResult result = dtx::run(workload, cluster, options);
        const KindCounts &inserts = result.tally.counts[kInsert];

        CHECK(inserts.committed > 0);
        CHECK(inserts.aborted < 20);
        CHECK(workload.check_run(cluster, 0, before, result.tally) == std::vector<std::string>{});
    }
}

TEST_CASE("ycsb: its checks detect a wrong value, a lost and a misplaced update")
{
    support::Servers servers(1, 64 << 20);
    Ycsb workload(few('a', false, 1));
    Cluster cluster = servers.cluster(workload, 1);
    uint64_t key = key_of(7);
    Tally tally(kKinds);
    std::vector<std::string> wrong;

    cluster.create();
    dtx::load(workload, cluster, 1);
    change_value(cluster, workload, key, [](auto &value) { value[19] ^= 1; });
    wrong = workload.check(cluster, 0);
    CHECK(support::count_of(wrong, "values: record 7") == 1);

    change_value(cluster, workload, key, [&](auto &value) { make_value(key, 1, value); });
    CHECK(workload.check(cluster, 0).empty());
    wrong = workload.check_run(cluster, 0, workload.loaded(), tally);
    CHECK(support::count_of(wrong, "totals moved") == 1);
    tally.ledger.add(Status::committed, change_of_update(key_of(8)));
    wrong = workload.check_run(cluster, 0, workload.loaded(), tally);
    CHECK(support::count_of(wrong, "totals moved") == 1);

    Tally right(kKinds);

    right.ledger.add(Status::committed, change_of_update(key));
    CHECK(workload.check_run(cluster, 0, workload.loaded(), right).empty());

    auto session = join(cluster, 0);

    session->transact_now([&](Txn &txn) { return txn.erase(workload.tables().records, key); });
    CHECK(support::count_of(workload.check(cluster, 0), "records: 1 are missing") == 1);
}

TEST_CASE("ycsb: its checks detect canaries of the engine")
{
    for (uint32_t canary : { kCanaryNone, kCanaryLock, kCanaryDropCommit }) {
        Parameters parameters = few('f', false, 1);

        parameters.keys = 4;

        Ycsb workload(parameters);

        support::check_totals_show(workload, 1, canary);
    }
}

TEST_CASE("txn: a row of bytes has the table's size or is refused")
{
    support::Servers servers(1, 64 << 20);
    Ycsb workload(few('a', false, 1));
    Cluster cluster = servers.cluster(workload, 1);
    std::vector<unsigned char> small(19);

    cluster.create();

    auto session = join(cluster, 0);
    auto code_of = [&](auto body) {
        try {
            session->transact_now(body);
        } catch (const Error &error) {
            return error.code();
        }
        return 0;
    };

    CHECK(code_of([&](Txn &txn) { return txn.insert(workload.tables().records, 1, small); }) ==
          RPM_E_INVAL);
    CHECK(code_of([&](Txn &txn) { return txn.write(workload.tables().records, 1, small); }) ==
          RPM_E_INVAL);
}

} // namespace dtx::ycsb
