/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bank.cc: runs the programs of SmallBank by several threads and counts outcomes like dtx-bench.
 */
#include "peer/bank.h"

#include "peer/ledger.h"

#include "tool.h"
#include "workload/smallbank/input.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

namespace dtx::peer
{

using smallbank::Input;

struct Counts {
    uint64_t committed = 0;
    uint64_t aborted = 0;
    int64_t money = 0; /* cents that deposits brought in, less those paid out */
};

/* Each program reads and writes as dtx/workload/smallbank/programs.h says. False: it aborted. */
static bool carry_out(Ledger &ledger, const Input &input, int64_t &money)
{
    constexpr Kind kSavings = Kind::savings;
    constexpr Kind kChecking = Kind::checking;
    uint32_t customer = input.customer;

    switch (input.program) {
    case smallbank::kBalance:
        return ledger.get(kSavings, customer) + ledger.get(kChecking, customer) > INT64_MIN;
    case smallbank::kDepositChecking:
        money = input.cents;
        ledger.put(kChecking, customer, ledger.get(kChecking, customer) + input.cents);
        return input.cents >= 0;
    case smallbank::kTransactSavings: {
        int64_t savings = ledger.get(kSavings, customer) + input.cents;

        money = input.cents;
        ledger.put(kSavings, customer, savings);
        return savings >= 0;
    }
    case smallbank::kAmalgamate: {
        int64_t all = ledger.get(kSavings, customer) + ledger.get(kChecking, customer);

        ledger.put(kChecking, input.other, ledger.get(kChecking, input.other) + all);
        ledger.put(kSavings, customer, 0);
        ledger.put(kChecking, customer, 0);
        return true;
    }
    case smallbank::kWriteCheck: {
        int64_t checking = ledger.get(kChecking, customer);
        bool covered = ledger.get(kSavings, customer) + checking >= input.cents;

        money = -(covered ? input.cents : input.cents + smallbank::kPenalty);
        ledger.put(kChecking, customer, checking + money);
        return true;
    }
    default: {
        int64_t from = ledger.get(kChecking, customer);

        if (from < input.cents)
            return false;
        ledger.put(kChecking, customer, from - input.cents);
        ledger.put(kChecking, input.other, ledger.get(kChecking, input.other) + input.cents);
        return true;
    }
    }
}

static void load(Ledger &ledger, const smallbank::Parameters &parameters)
{
    ledger.begin(true);
    for (uint32_t i = 0; i < parameters.accounts; i++) {
        ledger.put(Kind::savings, i, smallbank::opening_savings(parameters, i).cents);
        ledger.put(Kind::checking, i, smallbank::opening_checking(parameters, i).cents);
    }
    ledger.commit();
}

static int64_t total(Ledger &ledger, const smallbank::Parameters &parameters)
{
    int64_t cents = 0;

    ledger.begin(false);
    for (uint32_t i = 0; i < parameters.accounts; i++)
        cents += ledger.get(Kind::savings, i) + ledger.get(Kind::checking, i);
    ledger.roll_back();
    return cents;
}

static Counts work(Ledger &ledger, const Options &options, uint32_t thread,
                   const std::atomic<bool> &stop)
{
    smallbank::Inputs inputs(options.parameters, options.seed * 1000 + thread);
    Counts counts;

    while (!stop.load(std::memory_order_relaxed)) {
        Input input = inputs.next();
        int64_t money = 0;

        ledger.begin(input.program != smallbank::kBalance);
        if (carry_out(ledger, input, money)) {
            ledger.commit();
            counts.committed++;
            counts.money += money;
        } else {
            ledger.roll_back();
            counts.aborted++;
        }
    }
    return counts;
}

/* Runs all threads for the given time; returns the seconds that they ran. */
static Counts run(Store &store, const Options &options, double *seconds)
{
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    std::mutex mutex;
    Counts all;
    std::string failure;
    auto start = std::chrono::steady_clock::now();

    for (uint32_t t = 0; t < options.threads; t++)
        threads.emplace_back([&, t] {
            try {
                std::unique_ptr<Ledger> ledger = store.open();
                Counts counts = work(*ledger, options, t, stop);
                std::lock_guard<std::mutex> lock(mutex);

                all.committed += counts.committed;
                all.aborted += counts.aborted;
                all.money += counts.money;
            } catch (const std::exception &error) {
                std::lock_guard<std::mutex> lock(mutex);

                failure = error.what();
            }
        });
    std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
    stop = true;
    for (std::thread &thread : threads)
        thread.join();
    *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!failure.empty())
        throw std::runtime_error(failure);
    return all;
}

static std::unique_ptr<Store> make_store(const Options &options, const std::string &folder)
{
#ifdef HAVE_LMDB
    if (options.store == "lmdb")
        return make_lmdb(folder, options.parameters.accounts);
#endif
#ifdef HAVE_SQLITE
    if (options.store == "sqlite")
        return make_sqlite(folder);
#endif
    throw cli::Failure(
        options.store +
        ": dtx-peer was built without this store; install its library and build again");
}

static int compare(const Options &options, const std::string &folder)
{
    std::unique_ptr<Store> store = make_store(options, folder);
    int64_t before = 0;
    int64_t after = 0;
    double seconds = 0;
    Counts counts;

    {
        std::unique_ptr<Ledger> ledger = store->open();

        load(*ledger, options.parameters);
        before = total(*ledger, options.parameters);
    }
    counts = run(*store, options, &seconds);
    after = total(*store->open(), options.parameters);
    if (after != before + counts.money)
        throw cli::Failure("the accounts have " + std::to_string(after - before) +
                           " cents more, expected " + std::to_string(counts.money));
    if (options.json)
        printf("%s\n", nlohmann::json({ { "store", options.store },
                                        { "threads", options.threads },
                                        { "seconds", seconds },
                                        { "committed", counts.committed },
                                        { "aborted", counts.aborted } })
                           .dump()
                           .c_str());
    else
        printf("%.0f committed a second (%s, %u threads, %.2f s)\n",
               static_cast<double>(counts.committed) / seconds, options.store.c_str(),
               options.threads, seconds);
    return cli::kDone;
}

int run_bank(const Options &options)
{
    std::string folder = "/dev/shm/dtx-peer-XXXXXX";
    std::error_code ignored;
    int status = cli::kFailed;

    options.parameters.verify();
    if (mkdtemp(&folder[0]) == nullptr)
        throw cli::Failure(folder + ": " + strerror(errno));
    try {
        status = compare(options, folder);
    } catch (...) {
        std::filesystem::remove_all(folder, ignored);
        throw;
    }
    std::filesystem::remove_all(folder, ignored);
    return status;
}

} // namespace dtx::peer
