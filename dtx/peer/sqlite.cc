/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sqlite.cc: SQLite, a connection for each thread, statements prepared once.
 */
#include "peer/ledger.h"

#include <sqlite3.h>
#include <stdexcept>

namespace dtx::peer
{

namespace
{

constexpr int kPatienceMs = 60000;

class SqliteLedger : public Ledger
{
  public:
    explicit SqliteLedger(const std::string &file)
    {
        need(sqlite3_open(file.c_str(), &db_) == SQLITE_OK);
        need(sqlite3_busy_timeout(db_, kPatienceMs) == SQLITE_OK);
        run("PRAGMA journal_mode=WAL");
        run("PRAGMA synchronous=FULL");
        run("CREATE TABLE IF NOT EXISTS account (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL)");
        prepare("BEGIN IMMEDIATE", &begin_write_);
        prepare("BEGIN", &begin_read_);
        prepare("COMMIT", &commit_);
        prepare("ROLLBACK", &roll_back_);
        prepare("SELECT cents FROM account WHERE id = ?", &get_);
        prepare("INSERT OR REPLACE INTO account (id, cents) VALUES (?, ?)", &put_);
    }
    ~SqliteLedger() override
    {
        for (sqlite3_stmt *statement :
             { begin_write_, begin_read_, commit_, roll_back_, get_, put_ })
            sqlite3_finalize(statement);
        sqlite3_close(db_);
    }
    SqliteLedger(const SqliteLedger &) = delete;
    SqliteLedger &operator=(const SqliteLedger &) = delete;

    void begin(bool writes) override
    {
        step(writes ? begin_write_ : begin_read_);
    }
    int64_t get(Kind kind, uint32_t customer) override
    {
        need(sqlite3_bind_int64(get_, 1, id(kind, customer)) == SQLITE_OK);
        need(sqlite3_step(get_) == SQLITE_ROW);
        int64_t cents = sqlite3_column_int64(get_, 0);

        need(sqlite3_reset(get_) == SQLITE_OK);
        return cents;
    }
    void put(Kind kind, uint32_t customer, int64_t cents) override
    {
        need(sqlite3_bind_int64(put_, 1, id(kind, customer)) == SQLITE_OK);
        need(sqlite3_bind_int64(put_, 2, cents) == SQLITE_OK);
        step(put_);
    }
    void commit() override
    {
        step(commit_);
    }
    void roll_back() override
    {
        step(roll_back_);
    }

  private:
    static int64_t id(Kind kind, uint32_t customer)
    {
        return int64_t{ customer } * 2 + (kind == Kind::checking ? 1 : 0);
    }
    void need(bool well)
    {
        if (!well)
            throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(db_));
    }
    void run(const char *text)
    {
        need(sqlite3_exec(db_, text, nullptr, nullptr, nullptr) == SQLITE_OK);
    }
    void prepare(const char *text, sqlite3_stmt **statement)
    {
        need(sqlite3_prepare_v2(db_, text, -1, statement, nullptr) == SQLITE_OK);
    }
    void step(sqlite3_stmt *statement)
    {
        need(sqlite3_step(statement) == SQLITE_DONE);
        need(sqlite3_reset(statement) == SQLITE_OK);
    }

    sqlite3 *db_ = nullptr;
    sqlite3_stmt *begin_write_ = nullptr;
    sqlite3_stmt *begin_read_ = nullptr;
    sqlite3_stmt *commit_ = nullptr;
    sqlite3_stmt *roll_back_ = nullptr;
    sqlite3_stmt *get_ = nullptr;
    sqlite3_stmt *put_ = nullptr;
};

class SqliteStore : public Store
{
  public:
    explicit SqliteStore(const std::string &folder) : file_(folder + "/bank.sqlite") {}
    std::unique_ptr<Ledger> open() override
    {
        return std::make_unique<SqliteLedger>(file_);
    }

  private:
    std::string file_;
};

} // namespace

std::unique_ptr<Store> make_sqlite(const std::string &folder)
{
    return std::make_unique<SqliteStore>(folder);
}

} // namespace dtx::peer
