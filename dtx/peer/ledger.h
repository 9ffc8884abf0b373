/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ledger.h: the interface of an embedded store that keeps the accounts of SmallBank.
 */
#ifndef DTX_PEER_LEDGER_H
#define DTX_PEER_LEDGER_H

#include "workload/smallbank/schema.h"

#include <cstdint>
#include <memory>
#include <string>

namespace dtx::peer
{

enum class Kind { savings, checking };

/* One thread's connection to the store. It runs one serialisable transaction at a time, durable by
 * the store's own guarantee when commit() returns. Failures throw std::runtime_error. */
class Ledger
{
  public:
    virtual ~Ledger() = default;
    /* @writes: the transaction is going to write. */
    virtual void begin(bool writes) = 0;
    /* In cents. The account must exist. */
    virtual int64_t get(Kind kind, uint32_t customer) = 0;
    virtual void put(Kind kind, uint32_t customer, int64_t cents) = 0;
    virtual void commit() = 0;
    virtual void roll_back() = 0;
};

/* A store, created empty in a folder. */
class Store
{
  public:
    virtual ~Store() = default;
    virtual std::unique_ptr<Ledger> open() = 0;
};

/* Write-ahead logging, synchronous=FULL. */
std::unique_ptr<Store> make_sqlite(const std::string &folder);
/* Defaults: every commit is synchronous. */
std::unique_ptr<Store> make_lmdb(const std::string &folder, uint32_t accounts);

} // namespace dtx::peer
#endif
