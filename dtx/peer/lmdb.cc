/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lmdb.cc: LMDB, one environment for all threads, integers as keys.
 */
#include "peer/ledger.h"

#include <cstring>
#include <lmdb.h>
#include <stdexcept>

namespace dtx::peer
{

namespace
{

constexpr size_t kBytesOfAccount = 512; /* bytes of the map, enough for copy-on-write */
constexpr size_t kMapLeast = 64 << 20;

void need(int err)
{
    if (err != 0)
        throw std::runtime_error(std::string("LMDB: ") + mdb_strerror(err));
}

class LmdbLedger : public Ledger
{
  public:
    LmdbLedger(MDB_env *env, MDB_dbi table) : env_(env), table_(table) {}

    void begin(bool writes) override
    {
        need(mdb_txn_begin(env_, nullptr, writes ? 0 : MDB_RDONLY, &txn_));
    }
    int64_t get(Kind kind, uint32_t customer) override
    {
        Key key(kind, customer);
        MDB_val found;
        int64_t cents;

        need(mdb_get(txn_, table_, &key.bytes, &found));
        std::memcpy(&cents, found.mv_data, sizeof(cents));
        return cents;
    }
    void put(Kind kind, uint32_t customer, int64_t cents) override
    {
        Key key(kind, customer);
        MDB_val row{ sizeof(cents), &cents };

        need(mdb_put(txn_, table_, &key.bytes, &row, 0));
    }
    void commit() override
    {
        need(mdb_txn_commit(txn_));
    }
    void roll_back() override
    {
        mdb_txn_abort(txn_);
    }

  private:
    struct Key {
        Key(Kind kind, uint32_t customer)
            : number(size_t{ customer } * 2 + (kind == Kind::checking ? 1 : 0))
        {
        }
        size_t number;
        MDB_val bytes{ sizeof(number), &number };
    };

    MDB_env *env_;
    MDB_dbi table_;
    MDB_txn *txn_ = nullptr;
};

class LmdbStore : public Store
{
  public:
    LmdbStore(const std::string &folder, uint32_t accounts)
    {
        MDB_txn *txn = nullptr;

        need(mdb_env_create(&env_));
        need(mdb_env_set_mapsize(env_, kMapLeast + kBytesOfAccount * accounts));
        need(mdb_env_open(env_, folder.c_str(), 0, 0600));
        need(mdb_txn_begin(env_, nullptr, 0, &txn));
        need(mdb_dbi_open(txn, nullptr, MDB_CREATE | MDB_INTEGERKEY, &table_));
        need(mdb_txn_commit(txn));
    }
    ~LmdbStore() override
    {
        mdb_env_close(env_);
    }
    LmdbStore(const LmdbStore &) = delete;
    LmdbStore &operator=(const LmdbStore &) = delete;
    std::unique_ptr<Ledger> open() override
    {
        return std::make_unique<LmdbLedger>(env_, table_);
    }

  private:
    MDB_env *env_ = nullptr;
    MDB_dbi table_ = 0;
};

} // namespace

std::unique_ptr<Store> make_lmdb(const std::string &folder, uint32_t accounts)
{
    return std::make_unique<LmdbStore>(folder, accounts);
}

} // namespace dtx::peer
