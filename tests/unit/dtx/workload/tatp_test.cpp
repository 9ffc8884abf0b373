// SPDX-License-Identifier: BSD-3-Clause
// tatp_test.cpp: TATP: its input, its load, its transactions, and whether its checks detect
// violations.
#include "servers.h"
#include "workload/tatp/input.h"
#include "workload/tatp/load.h"
#include "workload/tatp/tatp.h"
#include "workload/tatp/transactions.h"

#include <set>

namespace dtx::tatp
{

namespace
{

Parameters few_subscribers(uint32_t servers)
{
    Parameters parameters;

    parameters.subscribers = 150;
    parameters.servers = servers;
    return parameters;
}

// A database of one server, for single transactions.
class Register
{
  public:
    explicit Register(const Parameters &parameters = few_subscribers(1))
        : parameters_(parameters), servers_(1, 64 << 20), workload_(parameters_),
          cluster_(servers_.cluster(workload_, 1))
    {
        cluster_.create();
        dtx::load(workload_, cluster_, 1);
    }
    bool run(const Input &input, Change &change)
    {
        auto session = join(cluster_, 0);
        Transactions transactions(parameters_, workload_.tables());
        Outcome outcome =
            session->transact_now([&](Txn &txn) { return transactions.run(txn, input, change); });

        return outcome.status == Status::committed;
    }
    Opening opening(uint32_t s_id) const
    {
        return opening_of(parameters_, s_id);
    }
    Totals totals()
    {
        return workload_.totals(cluster_, 0);
    }
    const Cluster &cluster() const
    {
        return cluster_;
    }
    Tatp &workload()
    {
        return workload_;
    }
    // A subscriber and a type of special facility that exists, or one that does not.
    std::pair<uint32_t, uint32_t> facility(bool there) const
    {
        for (uint32_t s_id = 1; s_id <= parameters_.subscribers; s_id++) {
            std::set<uint64_t> keys;

            for (const auto &[key, row] : opening(s_id).facility)
                keys.insert(key);
            for (uint32_t type = 1; type <= 4; type++)
                if ((keys.count(facility_key(s_id, type)) != 0) == there)
                    return { s_id, type };
        }
        FAIL("all facilities are the same");
        return {};
    }

  private:
    Parameters parameters_;
    support::Servers servers_;
    Tatp workload_;
    Cluster cluster_;
};

Input input_of(Kind kind, uint32_t s_id, uint32_t type)
{
    Input input{};

    input.kind = kind;
    input.s_id = s_id;
    input.type = type;
    put_digits(input.numberx, 12345);
    return input;
}

} // namespace

TEST_CASE("tatp: the mix is as specified")
{
    constexpr uint32_t draws = 200000;
    constexpr double percent[kKinds] = { 35, 10, 35, 2, 14, 2, 2 };
    Inputs inputs(Parameters(), 7);
    uint32_t kinds[kKinds] = {};

    for (uint32_t i = 0; i < draws; i++) {
        Input input = inputs.next();

        kinds[input.kind]++;
        REQUIRE(input.s_id >= 1);
        REQUIRE(input.s_id <= 100000);
        REQUIRE(input.type >= 1);
        REQUIRE(input.type <= 4);
        REQUIRE(input.start_time % 8 == 0);
        REQUIRE(input.start_time <= 16);
        REQUIRE(input.end_time >= 1);
        REQUIRE(input.end_time <= 24);
        if (input.kind != kGetNewDestination) {
            REQUIRE(input.end_time > input.start_time);
            REQUIRE(input.end_time <= input.start_time + 8);
        }
    }
    for (uint32_t i = 0; i < kKinds; i++)
        CHECK(kinds[i] * 100.0 / draws == Approx(percent[i]).margin(0.4));
}

TEST_CASE("tatp: subscribers are drawn non-uniformly, by the constant for their number")
{
    constexpr uint32_t draws = 100000;
    Parameters uniform;

    uniform.uniform = true;
    CHECK(skew_of(100000) == 65535);
    CHECK(skew_of(1000000) == 65535);
    CHECK(skew_of(1000001) == 1048575);
    CHECK(skew_of(10000001) == 2097151);

    // x | y has each of the low 16 bits set in 3 of 4 cases instead of in 1 of 2.
    auto bits = [](const Parameters &parameters) {
        Inputs inputs(parameters, 9);
        uint64_t set = 0;

        for (uint32_t i = 0; i < draws; i++)
            set += (inputs.next().s_id - 1) >> 3 & 1;
        return static_cast<double>(set) / draws;
    };
    Parameters power;
    power.subscribers = 1 << 16;
    uniform.subscribers = 1 << 16;
    CHECK(bits(power) == Approx(0.75).margin(0.01));
    CHECK(bits(uniform) == Approx(0.5).margin(0.01));
}

TEST_CASE("tatp: the load keeps the rules of rows and values")
{
    constexpr uint32_t subscribers = 20000;
    Parameters parameters;
    uint64_t infos = 0;
    uint64_t facilities = 0;
    uint64_t forwardings = 0;
    uint64_t active = 0;

    for (uint32_t s_id = 1; s_id <= subscribers; s_id++) {
        Opening opening = opening_of(parameters, s_id);
        std::set<uint64_t> keys;

        REQUIRE(opening.access_info.size() >= 1);
        REQUIRE(opening.access_info.size() <= 4);
        REQUIRE(opening.facility.size() >= 1);
        REQUIRE(opening.facility.size() <= 4);
        for (const auto &[key, row] : opening.access_info)
            REQUIRE(keys.insert(key).second);
        keys.clear();
        for (const auto &[key, row] : opening.facility) {
            REQUIRE(keys.insert(key).second);
            active += row.is_active;
        }
        for (const auto &[key, row] : opening.forwarding) {
            uint64_t start = key & 0xff;

            REQUIRE(keys.count(key >> 8) == 1);
            REQUIRE(keys.insert(key).second);
            REQUIRE(start % 8 == 0);
            REQUIRE(start <= 16);
            REQUIRE(row.end_time > start);
            REQUIRE(row.end_time <= start + 8);
        }
        for (uint32_t i = 0; i < 10; i++) {
            REQUIRE(opening.subscriber.bit[i] <= 1);
            REQUIRE(opening.subscriber.hex[i] <= 15);
        }
        infos += opening.access_info.size();
        facilities += opening.facility.size();
        forwardings += opening.forwarding.size();
    }
    CHECK(static_cast<double>(infos) / subscribers == Approx(2.5).margin(0.03));
    CHECK(static_cast<double>(facilities) / subscribers == Approx(2.5).margin(0.03));
    CHECK(static_cast<double>(forwardings) / subscribers == Approx(3.75).margin(0.06));
    CHECK(static_cast<double>(active) / static_cast<double>(facilities) ==
          Approx(0.85).margin(0.01));
    CHECK(std::string(opening_of(parameters, 77).subscriber.sub_nbr, 15) == "000000000000077");
}

TEST_CASE("tatp: updating a subscriber without the facility commits by the reference rule")
{
    Register reference;
    Parameters strict = few_subscribers(1);
    auto [s_id, type] = reference.facility(false);
    Input input = input_of(kUpdateSubscriberData, s_id, type);
    Change change;
    Totals before = reference.totals();

    input.bit = reference.opening(s_id).subscriber.bit[0] == 0 ? 1 : 0;
    CHECK(reference.run(input, change));
    CHECK(reference.totals()[2] - before[2] == static_cast<uint64_t>(input.bit == 1 ? 1 : -1));

    strict.abort_rule = true;
    Register aborting(strict);
    before = aborting.totals();
    CHECK_FALSE(aborting.run(input, change));
    CHECK(aborting.totals() == before);
}

TEST_CASE("tatp: a call forwarding needs its facility and is inserted once")
{
    Register all;
    auto [s_id, type] = all.facility(true);
    auto [orphan, missing] = all.facility(false);
    Input insert = input_of(kInsertCallForwarding, s_id, type);
    Input erase = input_of(kDeleteCallForwarding, s_id, type);
    Change change;

    insert.end_time = 5;
    all.run(erase, change);
    CHECK_FALSE(all.run(erase, change));
    CHECK(change.forwarding == 0);
    CHECK(all.run(insert, change));
    CHECK(change.forwarding == 1);
    CHECK_FALSE(all.run(insert, change));
    CHECK(all.run(erase, change));
    CHECK(change.forwarding == -1);
    insert.s_id = orphan;
    insert.type = missing;
    CHECK_FALSE(all.run(insert, change));
}

TEST_CASE("tatp: a new destination is active at the time asked for")
{
    Register all;
    auto [s_id, type] = all.facility(true);
    Input insert = input_of(kInsertCallForwarding, s_id, type);
    Input query = input_of(kGetNewDestination, s_id, type);
    Change change;

    for (uint32_t start = 0; start <= 16; start += 8) {
        Input erase = input_of(kDeleteCallForwarding, s_id, type);

        erase.start_time = start;
        all.run(erase, change);
    }
    support::change_row(all.cluster(), all.workload().tables().facility, facility_key(s_id, type),
                        [](SpecialFacility &row) { row.is_active = 1; });
    insert.start_time = 8;
    insert.end_time = 12;
    REQUIRE(all.run(insert, change));
    auto found = [&](uint32_t start, uint32_t end) {
        query.start_time = start;
        query.end_time = end;
        REQUIRE(all.run(query, change));
        return change.found;
    };

    CHECK(found(8, 11) == 1);
    CHECK(found(16, 11) == 1);
    CHECK(found(8, 12) == 0);
    CHECK(found(0, 3) == 0);
    support::change_row(all.cluster(), all.workload().tables().facility, facility_key(s_id, type),
                        [](SpecialFacility &row) { row.is_active = 0; });
    CHECK(found(8, 11) == 0);
}

TEST_CASE("tatp: rows and sums are right after two threads")
{
    support::Servers servers(3, 64 << 20);
    Tatp workload(few_subscribers(3));
    Cluster cluster = servers.cluster(workload, 2);
    RunOptions options;

    options.threads = 2;
    options.coroutines = 4;
    options.transactions = 6000;
    RunResult result = support::load_and_run(workload, cluster, options);

    for (const KindCounts &counts : result.tally.counts)
        CHECK(counts.committed > 0);
    for (Kind kind : { kGetSubscriberData, kGetNewDestination, kGetAccessData,
                       kUpdateSubscriberData, kUpdateLocation })
        CHECK(result.tally.counts[kind].aborted == 0);
    CHECK(result.tally.counts[kInsertCallForwarding].aborted > 0);
    CHECK(result.tally.counts[kDeleteCallForwarding].aborted > 0);
}

TEST_CASE("tatp: every check detects its violation")
{
    Register all;
    Tatp &workload = all.workload();
    const Cluster &cluster = all.cluster();
    const Tables &tables = workload.tables();
    auto found = [&](const char *part) {
        return support::count_of(workload.check(cluster, 0), part);
    };
    auto [s_id, type] = all.facility(true);
    auto [orphan, missing] = all.facility(false);
    uint64_t info = all.opening(1).access_info[0].first;

    REQUIRE(workload.check(cluster, 0).empty());
    support::change_row(cluster, tables.number, 9, [](SubscriberNumber &row) { row.s_id = 10; });
    CHECK(found("subscriber's number: not what was loaded: key 9") == 1);
    support::erase_row(cluster, tables.number, 9);
    CHECK(found("subscriber's number: missing: key 9") == 1);
    support::change_row(cluster, tables.subscriber, 3, [](Subscriber &row) { row.hex[2] ^= 1; });
    CHECK(found("subscriber: not what was loaded: key 3") == 1);
    support::change_row(cluster, tables.access_info, info, [](AccessInfo &row) { row.data1++; });
    CHECK(found("access info: not what was loaded") == 1);
    support::insert_row(cluster, tables.facility, facility_key(orphan, missing), SpecialFacility{});
    CHECK(found("special facility: of no subscriber") == 1);
    support::insert_row(cluster, tables.forwarding, forwarding_key(151, 1, 0),
                        CallForwarding{ 4, {} });
    CHECK(found("call forwarding: without special facility") == 1);
    for (uint32_t start = 0; start <= 16; start += 8) {
        Change change;
        Input erase = input_of(kDeleteCallForwarding, s_id, type);

        erase.start_time = start;
        all.run(erase, change);
    }
    support::insert_row(cluster, tables.forwarding, forwarding_key(s_id, type, 8),
                        CallForwarding{ 8, {} });
    CHECK(found("call forwarding: at no time: from 8 to 8") == 1);
}

} // namespace dtx::tatp
