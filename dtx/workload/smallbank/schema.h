/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema.h: SmallBank: customers with a savings and a checking account each. Money in cents.
 *
 * The original's table of names is omitted, as other key-value systems do: programs get a
 * customer's number, 0 to accounts - 1. Customer n is in partition n.
 *
 * Tests: tests/unit/dtx/workload/smallbank_test.cpp
 */
#ifndef DTX_WORKLOAD_SMALLBANK_SCHEMA_H
#define DTX_WORKLOAD_SMALLBANK_SCHEMA_H

#include <dtx/schema.h>

#include <cstdint>
#include <string>

namespace dtx::smallbank
{

struct Account {
    int64_t cents;
};

struct Parameters {
    uint32_t accounts = 100000;
    uint32_t hot = 4000;       /* customers 0 to hot - 1 are the hot set */
    uint32_t hot_percent = 90; /* share of accesses to the hot set */
    bool low_balances = false; /* so low that programs often abort by their rules */
    bool send_payment = true;  /* off: the five programs of the original, 20 % each */
    uint32_t servers = 1;
    uint64_t load_seed = 1;

    /* Throws Error that names the parameter out of range. */
    void verify() const;
    /* The text that a database stores, and its inverse. Throws Error, RPM_E_FOREIGN. */
    std::string load_parameters() const;
    static Parameters of_database(const std::string &text, uint32_t servers);
};

/* Bounds of the opening balance of an account, both included. */
inline constexpr int64_t kNormalLeast = 1000000;
inline constexpr int64_t kNormalMost = 5000000;
inline constexpr int64_t kLowLeast = 0;
inline constexpr int64_t kLowMost = 5000;

struct Tables {
    explicit Tables(const Parameters &parameters);

    Schema schema;
    Table<Account> savings;
    Table<Account> checking;
};

/* Opening balance of customer @customer: a function of the seed, so that a check can compute it. */
Account opening_savings(const Parameters &parameters, uint32_t customer);
Account opening_checking(const Parameters &parameters, uint32_t customer);

} // namespace dtx::smallbank
#endif
