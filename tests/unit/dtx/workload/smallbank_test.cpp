// SPDX-License-Identifier: BSD-3-Clause
// smallbank_test.cpp: SmallBank: its input, its programs, and whether its checks detect violations.
#include "servers.h"
#include "workload/smallbank/input.h"
#include "workload/smallbank/programs.h"
#include "workload/smallbank/smallbank.h"

namespace dtx::smallbank
{

namespace
{

Parameters few_accounts(uint32_t servers)
{
    Parameters parameters;

    parameters.accounts = 300;
    parameters.hot = 20;
    parameters.low_balances = true;
    parameters.servers = servers;
    return parameters;
}

// Sets the accounts of customers 0 and 1, and runs single programs on them.
class Bank
{
  public:
    Bank() : servers_(1, 64 << 20), workload_(two()), cluster_(servers_.cluster(workload_, 1))
    {
        cluster_.create();
        dtx::load(workload_, cluster_, 1);
    }
    void set(uint32_t customer, int64_t savings, int64_t checking)
    {
        support::change_row(cluster_, workload_.tables().savings, customer,
                            [&](Account &account) { account.cents = savings; });
        support::change_row(cluster_, workload_.tables().checking, customer,
                            [&](Account &account) { account.cents = checking; });
    }
    // {savings, checking} of a customer.
    std::pair<int64_t, int64_t> get(uint32_t customer)
    {
        std::pair<int64_t, int64_t> cents;
        support::change_row(cluster_, workload_.tables().savings, customer,
                            [&](Account &account) { cents.first = account.cents; });
        support::change_row(cluster_, workload_.tables().checking, customer,
                            [&](Account &account) { cents.second = account.cents; });
        return cents;
    }
    bool run(Program program, int64_t cents, int64_t money = 0, int64_t savings = 0)
    {
        auto session = join(cluster_, 0);
        Programs programs(workload_.tables());
        Change change{ 0, 0 };
        Input input{ program, 0, 1, cents };
        Outcome outcome =
            session->transact_now([&](Txn &txn) { return programs.run(txn, input, change); });

        if (outcome.status == Status::committed) {
            CHECK(change.money == money);
            CHECK(change.savings == savings);
        }
        return outcome.status == Status::committed;
    }

  private:
    static Parameters two()
    {
        Parameters parameters;

        parameters.accounts = 2;
        parameters.hot = 2;
        parameters.hot_percent = 100;
        return parameters;
    }

    support::Servers servers_;
    SmallBank workload_;
    Cluster cluster_;
};

using Cents = std::pair<int64_t, int64_t>;

} // namespace

TEST_CASE("smallbank: the mix and the hot set are as specified")
{
    constexpr uint32_t draws = 200000;
    Parameters parameters;
    Inputs inputs(parameters, 7);
    uint32_t programs[kPrograms] = {};
    uint32_t hot = 0;
    uint32_t added = 0;

    for (uint32_t i = 0; i < draws; i++) {
        Input input = inputs.next();

        programs[input.program]++;
        hot += input.customer < parameters.hot ? 1 : 0;
        added += input.program == kTransactSavings && input.cents > 0 ? 1 : 0;
        REQUIRE(input.customer < parameters.accounts);
        if (input.program == kAmalgamate || input.program == kSendPayment) {
            REQUIRE(input.other < parameters.accounts);
            REQUIRE(input.other != input.customer);
        }
    }
    for (uint32_t i = 0; i < kPrograms; i++)
        CHECK(programs[i] * 100.0 / draws == Approx(i == kSendPayment ? 25 : 15).margin(0.5));
    CHECK(hot * 100.0 / draws == Approx(90).margin(0.5));
    CHECK(added * 100.0 / programs[kTransactSavings] == Approx(50).margin(2));
}

TEST_CASE("smallbank: without SendPayment the five programs are equally likely")
{
    constexpr uint32_t draws = 100000;
    Parameters parameters;
    uint32_t programs[kPrograms] = {};

    parameters.send_payment = false;
    Inputs inputs(parameters, 7);
    for (uint32_t i = 0; i < draws; i++)
        programs[inputs.next().program]++;
    CHECK(programs[kSendPayment] == 0);
    for (uint32_t i = 0; i < kSendPayment; i++)
        CHECK(programs[i] * 100.0 / draws == Approx(20).margin(0.6));
}

TEST_CASE("smallbank: parameters out of range are refused by name")
{
    auto refused = [](auto change) {
        Parameters parameters;

        change(parameters);
        try {
            parameters.verify();
        } catch (const Error &error) {
            return std::string(error.what());
        }
        return std::string();
    };

    CHECK(refused([](Parameters &) {}) == "");
    CHECK(refused([](Parameters &p) { p.accounts = 1; }).find("accounts") != std::string::npos);
    CHECK(refused([](Parameters &p) { p.hot = 0; }).find("hot") != std::string::npos);
    CHECK(refused([](Parameters &p) { p.hot = 100001; }).find("hot") != std::string::npos);
    CHECK(refused([](Parameters &p) { p.hot = p.accounts; }).find("hot") != std::string::npos);
    CHECK(refused([](Parameters &p) { p.hot_percent = 101; }).find("hot-percent") !=
          std::string::npos);
}

TEST_CASE("smallbank: each program has the effects that its paper defines")
{
    Bank bank;

    bank.set(0, 300, 1000);
    bank.set(1, 50, 60);
    CHECK(bank.run(kBalance, 0));
    CHECK(bank.run(kDepositChecking, 130, 130));
    CHECK(bank.get(0) == Cents(300, 1130));
    CHECK_FALSE(bank.run(kDepositChecking, -1));
    CHECK(bank.run(kTransactSavings, -300, -300, -300));
    CHECK(bank.get(0) == Cents(0, 1130));
    CHECK_FALSE(bank.run(kTransactSavings, -1));
    CHECK(bank.run(kTransactSavings, 20, 20, 20));
    CHECK(bank.run(kSendPayment, 1130));
    CHECK(bank.get(0) == Cents(20, 0));
    CHECK(bank.get(1) == Cents(50, 1190));
    CHECK_FALSE(bank.run(kSendPayment, 1));
    CHECK(bank.run(kAmalgamate, 0, 0, -20));
    CHECK(bank.get(0) == Cents(0, 0));
    CHECK(bank.get(1) == Cents(50, 1210));
}

TEST_CASE("smallbank: a check on too little money costs a penalty of 1")
{
    Bank bank;

    bank.set(0, 200, 300);
    CHECK(bank.run(kWriteCheck, 500, -500));
    CHECK(bank.get(0) == Cents(200, -200));
    bank.set(0, 200, 299);
    CHECK(bank.run(kWriteCheck, 500, -600));
    CHECK(bank.get(0) == Cents(200, -301));
}

TEST_CASE("smallbank: money is neither made nor lost by two threads with low balances")
{
    support::Servers servers(3, 64 << 20);
    SmallBank workload(few_accounts(3));
    Cluster cluster = servers.cluster(workload, 2);
    RunOptions options;
    uint64_t ended = 0;

    options.threads = 2;
    options.coroutines = 4;
    options.transactions = 4000;
    RunResult result = support::load_and_run(workload, cluster, options);

    for (const KindCounts &counts : result.tally.counts) {
        CHECK(counts.committed > 0);
        CHECK(counts.unknown == 0);
        ended += counts.committed + counts.aborted;
    }
    CHECK(ended == 4000);
    CHECK(result.latency.count == 4000);
    CHECK(result.tally.counts[kTransactSavings].aborted > 0);
    CHECK(result.tally.counts[kSendPayment].aborted > 0);
    CHECK(result.tally.counts[kBalance].aborted == 0);
}

TEST_CASE("smallbank: every check detects its violation")
{
    support::Servers servers(2, 64 << 20);
    SmallBank workload(few_accounts(2));
    Cluster cluster = servers.cluster(workload, 2);
    const Tables &tables = workload.tables();
    Tally nothing(kPrograms);
    auto check = [&](uint32_t copy) {
        return workload.check_run(cluster, copy, workload.loaded(), nothing);
    };

    cluster.create();
    dtx::load(workload, cluster, 1);
    REQUIRE(check(0).empty());
    support::change_row(cluster, tables.checking, 5, [](Account &account) { account.cents++; });
    CHECK(support::count_of(check(0), "totals moved") == 1);
    CHECK(support::count_of(check(1), "totals moved") == 1);
    support::change_row(cluster, tables.checking, 5, [](Account &account) { account.cents--; });
    support::change_row(cluster, tables.savings, 6, [](Account &account) { account.cents = -1; });
    CHECK(support::count_of(check(0), "savings: customer 6") == 1);
    support::change_row(cluster, tables.savings, 6,
                        [](Account &account) { account = opening_savings(few_accounts(2), 6); });
    REQUIRE(check(0).empty());
    support::erase_row(cluster, tables.checking, 7);
    CHECK(support::count_of(check(0), "no checking: 1 customers") == 1);
    support::insert_row(cluster, tables.checking, 7, opening_checking(few_accounts(2), 7));
    support::insert_row(cluster, tables.savings, 300, Account{ 0 });
    CHECK(support::count_of(check(1), "savings without a customer: number 300") == 1);
}

TEST_CASE("smallbank: the totals detect canaries of the engine")
{
    for (uint32_t canary : { kCanaryNone, kCanaryValidate, kCanaryDropCommit }) {
        Parameters parameters = few_accounts(2);

        parameters.hot = 4;

        SmallBank workload(parameters);

        support::check_totals_show(workload, 2, canary);
    }
}

} // namespace dtx::smallbank
