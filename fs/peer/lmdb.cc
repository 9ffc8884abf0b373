/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lmdb.cc: LMDB, one environment for all threads.
 */
#include "peer/store.h"

#include <cstring>
#include <lmdb.h>
#include <stdexcept>

namespace rfs::peer
{

namespace
{

constexpr size_t kMapBytes = size_t{ 2 } << 30;
constexpr unsigned kThreadsMax = 256;

void need(int err)
{
    if (err != 0)
        throw std::runtime_error(std::string("LMDB: ") + mdb_strerror(err));
}

template <class Value> MDB_val bytes_of(Value &value)
{
    return { sizeof(value), &value };
}

/* A transaction, rolled back unless committed. */
class Transaction
{
  public:
    Transaction(MDB_env *env, unsigned flags)
    {
        need(mdb_txn_begin(env, nullptr, flags, &txn_));
    }
    ~Transaction()
    {
        if (txn_ != nullptr)
            mdb_txn_abort(txn_);
    }
    Transaction(const Transaction &) = delete;
    Transaction &operator=(const Transaction &) = delete;

    template <class Value> Value get(MDB_dbi table, MDB_val key)
    {
        MDB_val found;
        Value value;

        need(mdb_get(txn_, table, &key, &found));
        memcpy(&value, found.mv_data, sizeof(value));
        return value;
    }
    template <class Value> void put(MDB_dbi table, MDB_val key, Value value, unsigned flags = 0)
    {
        MDB_val bytes = bytes_of(value);

        need(mdb_put(txn_, table, &key, &bytes, flags));
    }
    void remove(MDB_dbi table, MDB_val key)
    {
        need(mdb_del(txn_, table, &key, nullptr));
    }
    void commit()
    {
        MDB_txn *txn = txn_;

        txn_ = nullptr;
        need(mdb_txn_commit(txn));
    }
    MDB_txn *handle()
    {
        return txn_;
    }

  private:
    MDB_txn *txn_ = nullptr;
};

struct Tables {
    MDB_env *env = nullptr;
    MDB_dbi names = 0;  /* parent and name: ino */
    MDB_dbi inodes = 0; /* ino: Attributes; of 0: the number used last */
};

class LmdbNames : public bench::Names
{
  public:
    LmdbNames(const Tables &tables, uint32_t thread) : tables_(tables), directory_(thread + 1)
    {
        Transaction txn(tables_.env, 0);

        txn.put(tables_.inodes, bytes_of(directory_), Attributes{ 040755 });
        txn.commit();
    }

    void create(const std::string &name) override
    {
        uint64_t counter = 0;
        Attributes fresh;

        for (int64_t &time : fresh.times_ns)
            time = wall_ns();
        Transaction txn(tables_.env, 0);
        auto ino = txn.get<uint64_t>(tables_.inodes, bytes_of(counter)) + 1;

        txn.put(tables_.inodes, bytes_of(counter), ino);
        txn.put(tables_.inodes, bytes_of(ino), fresh);
        txn.put(tables_.names, key(name), ino, MDB_NOOVERWRITE);
        touch_directory(txn);
        txn.commit();
    }
    void stat(const std::string &name) override
    {
        Transaction txn(tables_.env, MDB_RDONLY);
        auto ino = txn.get<uint64_t>(tables_.names, key(name));

        (void)txn.get<Attributes>(tables_.inodes, bytes_of(ino));
    }
    void rename(const std::string &from, const std::string &to) override
    {
        Transaction txn(tables_.env, 0);
        auto ino = txn.get<uint64_t>(tables_.names, key(from));

        txn.remove(tables_.names, key(from));
        txn.put(tables_.names, key(to), ino, MDB_NOOVERWRITE);
        touch_directory(txn);
        txn.commit();
    }
    void unlink(const std::string &name) override
    {
        Transaction txn(tables_.env, 0);
        auto ino = txn.get<uint64_t>(tables_.names, key(name));

        txn.remove(tables_.names, key(name));
        txn.remove(tables_.inodes, bytes_of(ino));
        touch_directory(txn);
        txn.commit();
    }

  private:
    /* Borrows key_. */
    MDB_val key(const std::string &name)
    {
        key_.assign(reinterpret_cast<const char *>(&directory_), sizeof(directory_));
        key_ += name;
        return { key_.size(), key_.data() };
    }
    void touch_directory(Transaction &txn)
    {
        auto directory = txn.get<Attributes>(tables_.inodes, bytes_of(directory_));

        directory.times_ns[1] = directory.times_ns[2] = wall_ns();
        txn.put(tables_.inodes, bytes_of(directory_), directory);
    }

    const Tables &tables_;
    uint64_t directory_;
    std::string key_;
};

class LmdbStore : public Store
{
  public:
    explicit LmdbStore(const std::string &folder)
    {
        need(mdb_env_create(&tables_.env));
        need(mdb_env_set_mapsize(tables_.env, kMapBytes));
        need(mdb_env_set_maxdbs(tables_.env, 2));
        need(mdb_env_open(tables_.env, folder.c_str(), 0, 0600));
        Transaction txn(tables_.env, 0);
        uint64_t counter = 0;

        need(mdb_dbi_open(txn.handle(), "names", MDB_CREATE, &tables_.names));
        need(mdb_dbi_open(txn.handle(), "inodes", MDB_CREATE | MDB_INTEGERKEY, &tables_.inodes));
        txn.put(tables_.inodes, bytes_of(counter), uint64_t{ kThreadsMax });
        txn.commit();
    }
    ~LmdbStore() override
    {
        mdb_env_close(tables_.env);
    }
    LmdbStore(const LmdbStore &) = delete;
    LmdbStore &operator=(const LmdbStore &) = delete;
    std::unique_ptr<bench::Names> open(uint32_t thread) override
    {
        return std::make_unique<LmdbNames>(tables_, thread);
    }

  private:
    Tables tables_;
};

} // namespace

std::unique_ptr<Store> make_lmdb(const std::string &folder)
{
    return std::make_unique<LmdbStore>(folder);
}

} // namespace rfs::peer
