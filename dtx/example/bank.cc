/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bank.cc: a bank in less than 70 lines of code: accounts are spread over all servers, and a
 * transfer changes two of them in one transaction.
 *
 *     bank URL...          the URL of each server, such as shm:/run/a shm:/run/b
 */
#include <dtx/session.h>

#include <cstdio>

struct Account {
    int64_t cents;
};

static constexpr uint32_t kAccounts = 100;

/* Each account is in a partition of its own, so the accounts are spread over the servers. */
static uint32_t partition(uint64_t account)
{
    return static_cast<uint32_t>(account);
}

static dtx::Task<bool> transfer(dtx::Txn &txn, dtx::Table<Account> accounts, uint64_t from,
                                uint64_t to, int64_t cents)
{
    auto payer = co_await txn.read(accounts, from);
    auto payee = co_await txn.read(accounts, to);

    if (!payer || !payee || payer->cents < cents)
        co_return false; /* abort: nothing was changed */
    co_await txn.write(accounts, from, Account{ payer->cents - cents });
    co_await txn.write(accounts, to, Account{ payee->cents + cents });
    co_return true; /* commit: both accounts are changed, durably, or neither is */
}

/* A coroutine with transfers from one account. Several of them run concurrently in one thread. */
static dtx::Task<void> customer(dtx::Session &session, dtx::Table<Account> accounts,
                                uint64_t number)
{
    for (uint64_t i = 1; i <= 50; i++)
        co_await session.transact([&](dtx::Txn &txn) {
            return transfer(txn, accounts, number, (number + i) % kAccounts, 100);
        });
}

static void run(const std::vector<std::string> &urls)
{
    dtx::Schema schema("bank", 1);
    auto accounts = schema.hash_table<Account>("accounts", 2 * kAccounts, partition);
    dtx::Options options;

    options.urls = urls;
    options.replicas = urls.size() < 2 ? 1 : 2;
    dtx::Cluster cluster(schema, options);
    cluster.create();

    dtx::Session session(cluster, 0);
    int64_t total = 0;
    std::vector<dtx::Task<void>> customers;

    session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
        for (uint64_t i = 0; i < kAccounts; i++)
            co_await txn.insert(accounts, i, Account{ 1000 });
        co_return true;
    });
    for (uint64_t i = 0; i < 8; i++)
        customers.push_back(customer(session, accounts, i));
    session.run(std::move(customers));
    session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
        total = 0;
        for (uint64_t i = 0; i < kAccounts; i++)
            total += (co_await txn.read(accounts, i))->cents;
        co_return true;
    });
    std::printf("%u accounts have %lld.%02lld\n", kAccounts, static_cast<long long>(total / 100),
                static_cast<long long>(total % 100));
}

int main(int argc, char **argv)
{
    try {
        run({ argv + 1, argv + argc });
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "bank: %s\n", failure.what());
        return 1;
    }
}
