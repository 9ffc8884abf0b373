/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sqlite.cc: SQLite, a connection for each thread, statements prepared once.
 */
#include "peer/store.h"

#include <cstring>
#include <sqlite3.h>
#include <stdexcept>

namespace rfs::peer
{

namespace
{

constexpr int kPatienceMs = 60000;

const char *const kTables = "CREATE TABLE IF NOT EXISTS name (parent INTEGER, name TEXT, "
                            "ino INTEGER NOT NULL, PRIMARY KEY (parent, name)) WITHOUT ROWID;"
                            "CREATE TABLE IF NOT EXISTS inode (ino INTEGER PRIMARY KEY, "
                            "attributes BLOB NOT NULL)";

class Statement
{
  public:
    Statement(sqlite3 *db, const char *text) : db_(db)
    {
        need(sqlite3_prepare_v2(db, text, -1, &statement_, nullptr) == SQLITE_OK);
    }
    ~Statement()
    {
        sqlite3_finalize(statement_);
    }
    Statement(const Statement &) = delete;
    Statement &operator=(const Statement &) = delete;

    Statement &bind(int at, int64_t value)
    {
        need(sqlite3_bind_int64(statement_, at, value) == SQLITE_OK);
        return *this;
    }
    /* @text, @attributes: borrowed until the statement has run. */
    Statement &bind(int at, const std::string &text)
    {
        need(sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()),
                               SQLITE_STATIC) == SQLITE_OK);
        return *this;
    }
    Statement &bind(int at, const Attributes &attributes)
    {
        need(sqlite3_bind_blob(statement_, at, &attributes, sizeof(attributes), SQLITE_STATIC) ==
             SQLITE_OK);
        return *this;
    }
    void run()
    {
        need(sqlite3_step(statement_) == SQLITE_DONE);
        need(sqlite3_reset(statement_) == SQLITE_OK);
    }
    int64_t number()
    {
        need(sqlite3_step(statement_) == SQLITE_ROW);
        int64_t found = sqlite3_column_int64(statement_, 0);

        need(sqlite3_reset(statement_) == SQLITE_OK);
        return found;
    }
    Attributes attributes()
    {
        Attributes found;

        need(sqlite3_step(statement_) == SQLITE_ROW);
        need(sqlite3_column_bytes(statement_, 0) == static_cast<int>(sizeof(found)));
        memcpy(&found, sqlite3_column_blob(statement_, 0), sizeof(found));
        need(sqlite3_reset(statement_) == SQLITE_OK);
        return found;
    }

  private:
    void need(bool well)
    {
        if (!well)
            throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(db_));
    }

    sqlite3 *db_;
    sqlite3_stmt *statement_ = nullptr;
};

/* An open connection, with its tables. */
class Connection
{
  public:
    explicit Connection(const std::string &file)
    {
        if (sqlite3_open(file.c_str(), &db_) != SQLITE_OK)
            throw std::runtime_error(file + ": " + sqlite3_errmsg(db_));
        sqlite3_busy_timeout(db_, kPatienceMs);
        run("PRAGMA journal_mode=WAL");
        run("PRAGMA synchronous=FULL");
        run(kTables);
    }
    ~Connection()
    {
        sqlite3_close(db_);
    }
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    sqlite3 *db()
    {
        return db_;
    }

  private:
    void run(const char *text)
    {
        if (sqlite3_exec(db_, text, nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(db_));
    }

    sqlite3 *db_ = nullptr;
};

class SqliteNames : public bench::Names
{
  public:
    SqliteNames(const std::string &file, uint32_t thread) : connection_(file), directory_(thread)
    {
        put_.bind(1, directory_).bind(2, Attributes{ 040755 }).run();
    }

    void create(const std::string &name) override
    {
        Attributes fresh;

        for (int64_t &time : fresh.times_ns)
            time = wall_ns();
        begin_.run();
        add_.bind(1, fresh).run();
        link_.bind(1, directory_)
            .bind(2, name)
            .bind(3, sqlite3_last_insert_rowid(connection_.db()))
            .run();
        touch_directory();
        commit_.run();
    }
    void stat(const std::string &name) override
    {
        (void)look_.bind(1, directory_).bind(2, name).attributes();
    }
    void rename(const std::string &from, const std::string &to) override
    {
        begin_.run();
        int64_t ino = find_.bind(1, directory_).bind(2, from).number();

        unlink_.bind(1, directory_).bind(2, from).run();
        link_.bind(1, directory_).bind(2, to).bind(3, ino).run();
        touch_directory();
        commit_.run();
    }
    void unlink(const std::string &name) override
    {
        begin_.run();
        int64_t ino = find_.bind(1, directory_).bind(2, name).number();

        unlink_.bind(1, directory_).bind(2, name).run();
        remove_.bind(1, ino).run();
        touch_directory();
        commit_.run();
    }

  private:
    void touch_directory()
    {
        Attributes directory = get_.bind(1, directory_).attributes();

        directory.times_ns[1] = directory.times_ns[2] = wall_ns();
        put_.bind(1, directory_).bind(2, directory).run();
    }

    Connection connection_;
    int64_t directory_;
    Statement begin_{ connection_.db(), "BEGIN IMMEDIATE" };
    Statement commit_{ connection_.db(), "COMMIT" };
    Statement add_{ connection_.db(), "INSERT INTO inode (ino, attributes) VALUES "
                                      "((SELECT max(ino) + 1 FROM inode), ?)" };
    Statement put_{ connection_.db(),
                    "INSERT OR REPLACE INTO inode (ino, attributes) VALUES (?, ?)" };
    Statement get_{ connection_.db(), "SELECT attributes FROM inode WHERE ino = ?" };
    Statement remove_{ connection_.db(), "DELETE FROM inode WHERE ino = ?" };
    Statement link_{ connection_.db(), "INSERT INTO name (parent, name, ino) VALUES (?, ?, ?)" };
    Statement find_{ connection_.db(), "SELECT ino FROM name WHERE parent = ? AND name = ?" };
    Statement unlink_{ connection_.db(), "DELETE FROM name WHERE parent = ? AND name = ?" };
    Statement look_{ connection_.db(), "SELECT attributes FROM name JOIN inode USING (ino) "
                                       "WHERE parent = ? AND name = ?" };
};

class SqliteStore : public Store
{
  public:
    explicit SqliteStore(const std::string &folder) : file_(folder + "/names.sqlite") {}
    std::unique_ptr<bench::Names> open(uint32_t thread) override
    {
        return std::make_unique<SqliteNames>(file_, thread);
    }

  private:
    std::string file_;
};

} // namespace

std::unique_ptr<Store> make_sqlite(const std::string &folder)
{
    return std::make_unique<SqliteStore>(folder);
}

} // namespace rfs::peer
