/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ledger.h: the accounts of SmallBank in another store: an embedded transactional database of
 * this machine, used by one thread.
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

/* One thread's way to the store. Transactions one after the other, serialisable, and durable as the
 * store understands that when commit() returns. Failures throw std::runtime_error. */
class Ledger
{
  public:
    virtual ~Ledger() = default;
    /* @writes: the transaction is going to write. */
    virtual void begin(bool writes) = 0;
    /* Cents. The account is there. */
    virtual int64_t get(Kind kind, uint32_t customer) = 0;
    virtual void put(Kind kind, uint32_t customer, int64_t cents) = 0;
    virtual void commit() = 0;
    virtual void roll_back() = 0;
};

/* A store in a folder, empty at first. */
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
