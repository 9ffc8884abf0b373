/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn.h: a transaction as its program sees it: reads, writes, inserts, deletes, ranges.
 *
 * Each read returns a committed row, but two reads may be of different times until the commit has
 * validated them: a program must not crash or loop over values that no state of the database has
 * together. Other transactions see its writes after the commit only. A transaction sees its own
 * writes; in a run that will end in a conflict it may miss a row of an ordered table that it has
 * inserted, or see a row twice.
 *
 * A body awaits each operation before it begins the next: if two operations of one transaction are
 * under way at once, the second throws Error, RPM_E_INVAL. prefetch() reads several rows at once.
 *
 * Tests: tests/unit/dtx/engine/txn/txn_test.cpp
 */
#ifndef DTX_TXN_H
#define DTX_TXN_H

#include <dtx/error.h>
#include <dtx/ordered_index.h>
#include <dtx/read_write_set.h>
#include <dtx/schema.h>
#include <dtx/task.h>

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace dtx
{

class Session;

class Txn
{
  public:
    /* Awaited: the row of a key, or nothing if there is none. Throws Conflict, Fenced. */
    template <class Row> auto read(Table<Row> table, uint64_t key)
    {
        return AtOnce(Read<Row>{ *this, table, key });
    }

    /* Awaited: as read(), of a row that this transaction is going to write; it counts as written
     * from here on. Over a link, by call or by what is fewest, the message that reads the row locks
     * it, unless the transaction has read or prefetched it before: the commit neither locks nor
     * validates it, which spares a round trip. Until this transaction ends, others that need the
     * row run again. If the body goes on for longer than lease_us while another session needs the
     * row, that session fences this one as it would in a commit, and the outcome is unknown. Two
     * transactions that lock the same rows in different orders get in each other's way more often
     * than by write() alone. Throws Conflict, Fenced. */
    template <class Row> auto read_for_update(Table<Row> table, uint64_t key)
    {
        return AtOnce(Read<Row>{ *this, table, key, true });
    }

    /* Awaited: replace the row of a key. False: there is none, and nothing was done. A row that was
     * read or written by this transaction costs no further round trip. */
    template <class Row> auto write(Table<Row> table, uint64_t key, Row row)
    {
        return AtOnce(Write<Row>{ *this, table, key, row });
    }

    /* Add a row. False: the key has one, and nothing was done. Throws Error: RPM_E_NOSPACE. */
    template <class Row> Task<bool> insert(Table<Row> table, uint64_t key, Row row)
    {
        co_return co_await add(table.number, key, &row);
    }

    /* Delete a row. False: there is none. */
    template <class Row> Task<bool> erase(Table<Row> table, uint64_t key)
    {
        return remove(table.number, key);
    }

    /* Of an ordered table, at most @limit rows of the partition of @from with @from <= key <= @to,
     * in @order. If another transaction inserts a row into or erases one from the range that was
     * scanned before this one commits, this one does not commit: its body runs again. Throws Error:
     * RPM_E_INVAL if @to is in another partition than @from. */
    template <class Row>
    Task<std::vector<std::pair<uint64_t, Row>>> scan(Table<Row> table, uint64_t from, uint64_t to,
                                                     uint32_t limit = UINT32_MAX,
                                                     Order order = Order::ascending)
    {
        OperationGuard guard(*this);
        std::vector<std::pair<uint64_t, Row>> rows;
        auto found = co_await range(table.number, { from, to, limit, order });

        co_await prefetch_slots(table.number, found);
        for (const auto &[key, slot] : found)
            rows.emplace_back(key, row<Row>(*co_await at(table.number, key, slot)));
        co_return rows;
    }

    /* A row of a table of bytes. Borrowed: valid until the attempt ends; if this transaction writes
     * the row, these bytes change. */
    using Bytes = std::span<const unsigned char>;

    /* The same operations on tables of bytes. @row has row_bytes of @table, else the call throws
     * Error, RPM_E_INVAL. Borrowed until the call has been awaited. */
    auto read(ByteTable table, uint64_t key)
    {
        return AtOnce(ReadBytes{ *this, table, key });
    }
    auto read_for_update(ByteTable table, uint64_t key)
    {
        return AtOnce(ReadBytes{ *this, table, key, true });
    }
    Task<bool> write(ByteTable table, uint64_t key, Bytes row);
    Task<bool> insert(ByteTable table, uint64_t key, Bytes row);
    Task<bool> erase(ByteTable table, uint64_t key)
    {
        return remove(table.number, key);
    }
    Task<std::vector<std::pair<uint64_t, Bytes>>> scan(ByteTable table, uint64_t from, uint64_t to,
                                                       uint32_t limit = UINT32_MAX,
                                                       Order order = Order::ascending);

    /* Awaited: have the rows of several keys under way together. Reading and writing them
     * afterwards takes no round trip where this session has met them before; where the servers'
     * memory is mapped, they miss this CPU's caches all at once. Changes nothing else. Throws
     * Fenced. */
    auto prefetch(std::vector<RowKey> rows)
    {
        return AtOnce(Prefetch<std::vector<RowKey>>{ *this, std::move(rows) });
    }
    template <class... More> auto prefetch(RowKey first, More... more)
    {
        using Rows = std::array<RowKey, 1 + sizeof...(more)>;

        return AtOnce(Prefetch<Rows>{ *this, { first, more... } });
    }

    /* The number of this attempt. No other attempt of any session has the same, until one
     * coordinator's logs have been claimed 65536 times in one view of the servers. */
    uint64_t id() const
    {
        return id_;
    }

  private:
    friend class Session;

    /* Held by an operation while it is under way. Its constructor throws Error if another operation
     * is: both would read the same objects into the same memory at different times. */
    class OperationGuard
    {
      public:
        explicit OperationGuard(Txn &txn) : txn_(txn)
        {
            txn.expect_idle();
            txn.under_way_ = true;
        }
        OperationGuard(const OperationGuard &) = delete;
        OperationGuard &operator=(const OperationGuard &) = delete;
        ~OperationGuard()
        {
            txn_.under_way_ = false;
        }

      private:
        Txn &txn_;
    };
    void expect_idle() const
    {
        if (under_way_)
            refuse();
    }
    [[noreturn]] static void refuse();

    template <class Row> Row row(const Access &access) const
    {
        Row row;

        std::memcpy(&row, set_.payload(access), sizeof(row));
        return row;
    }
    Bytes bytes(const Access &access, ByteTable table) const
    {
        return { set_.payload(access), table.row_bytes };
    }
    Txn(Session &session, ReadWriteSet &set, uint64_t id) : session_(session), set_(set), id_(id) {}

    /* An operation with now(): its result if that takes no waiting; else now() did nothing. */
    template <class Row> struct Read {
        std::optional<std::optional<Row>> now()
        {
            const Access *found = txn.find_now(table.number, key, updates);

            if (found == nullptr)
                return std::nullopt;
            return std::make_optional<std::optional<Row>>(txn.row<Row>(*found));
        }
        Task<std::optional<Row>> later()
        {
            const Access *found = co_await txn.find(table.number, key, updates);

            if (found == nullptr)
                co_return std::nullopt;
            co_return txn.row<Row>(*found);
        }
        Txn &txn;
        Table<Row> table;
        uint64_t key;
        bool updates = false;
    };

    struct ReadBytes {
        std::optional<std::optional<Bytes>> now()
        {
            const Access *found = txn.find_now(table.number, key, updates);

            if (found == nullptr)
                return std::nullopt;
            return std::make_optional(std::make_optional(txn.bytes(*found, table)));
        }
        Task<std::optional<Bytes>> later()
        {
            const Access *found = co_await txn.find(table.number, key, updates);

            if (found == nullptr)
                co_return std::nullopt;
            co_return txn.bytes(*found, table);
        }
        Txn &txn;
        ByteTable table;
        uint64_t key;
        bool updates = false;
    };

    template <class Row> struct Write {
        std::optional<bool> now()
        {
            if (!txn.replace_now(table.number, key, &row))
                return std::nullopt;
            return true;
        }
        Task<bool> later()
        {
            return txn.replace(table.number, key, &row);
        }
        Txn &txn;
        Table<Row> table;
        uint64_t key;
        Row row;
    };

    template <class Rows> struct Prefetch {
        std::optional<std::monostate> now()
        {
            if (!txn.prefetch_now(rows))
                return std::nullopt;
            return std::monostate{};
        }
        Task<std::monostate> later()
        {
            return txn.prefetch_remote(rows);
        }
        Txn &txn;
        Rows rows;
    };

    const Access *find_now(uint32_t table, uint64_t key, bool updates);
    bool replace_now(uint32_t table, uint64_t key, const void *row);
    bool prefetch_now(std::span<const RowKey> rows);
    bool change(Access *found, uint32_t table, const void *row);
    Task<const Access *> find(uint32_t table, uint64_t key, bool updates);
    Task<bool> replace(uint32_t table, uint64_t key, const void *row);
    Task<std::monostate> prefetch_remote(std::span<const RowKey> rows);
    Task<bool> add(uint32_t table, uint64_t key, const void *row);
    Task<bool> remove(uint32_t table, uint64_t key);
    Task<std::vector<std::pair<uint64_t, uint64_t>>> range(uint32_t table, Range range);
    Task<> prefetch_slots(uint32_t table, const std::vector<std::pair<uint64_t, uint64_t>> &found);
    Task<const Access *> at(uint32_t table, uint64_t key, uint64_t slot);

    Session &session_;
    ReadWriteSet &set_;
    uint64_t id_;
    bool under_way_ = false;
};

/* For a row that must be there, in a body. If it is not, throws Inconsistent: if another
 * transaction changed a row that the body read, the body runs again; else the transaction ends with
 * an Error, RPM_E_CORRUPT and @what. */
template <class Row> const Row &need(const std::optional<Row> &row, const char *what)
{
    if (!row)
        throw Inconsistent{ {}, what };
    return *row;
}

/* The same of an insert, a write, an erasure or a count of rows. */
inline void need(bool done, const char *what)
{
    if (!done)
        throw Inconsistent{ {}, what };
}

} // namespace dtx
#endif
