/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn.h: the operations of a transaction: read, write, insert, erase, scan, prefetch.
 *
 * Each read returns a committed row, but two reads may return rows of different times, until the
 * commit has validated them: a body must not crash or loop endlessly over rows that do not fit
 * together. Other transactions see its writes only after the commit. A transaction sees its own
 * writes; in an attempt that will end in a conflict it may miss a row of an ordered table that it
 * has inserted, or see a row twice.
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
#include <dtx/span.h>
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
    /* Awaited: the row of a key; nullopt: there is none. Throws Conflict, Fenced. */
    template <class Row> auto read(Table<Row> table, uint64_t key)
    {
        return AtOnce(Read<Row>{ *this, table, key });
    }

    /* Awaited: as read(), for a row that this transaction is going to write; the row counts as
     * written from here on. Over a link, if the phases execute and lock are by call or by fewest
     * (phases.h), the message that reads the row also locks it, unless the transaction has read or
     * prefetched it before: then the commit neither locks nor validates the row, which spares a
     * round trip. Until this transaction ends, other transactions that need the row run again. If
     * the body goes on for longer than lease_us while another session needs the row, that session
     * fences this one, and the outcome is unknown. Transactions that lock the same rows in
     * different orders conflict more often than with read() and write(). Throws Conflict,
     * Fenced. */
    template <class Row> auto read_for_update(Table<Row> table, uint64_t key)
    {
        return AtOnce(Read<Row>{ *this, table, key, true });
    }

    /* Awaited: replace the row of a key. False: the key has none, and nothing was done. Costs no
     * round trip if this transaction has read or written the row before. */
    template <class Row> auto write(Table<Row> table, uint64_t key, Row row)
    {
        return AtOnce(Write<Row>{ *this, table, key, row });
    }

    /* Awaited: add a row. False: the key has one, nothing was done. Throws Error: RPM_E_NOSPACE. */
    template <class Row> auto insert(Table<Row> table, uint64_t key, Row row)
    {
        return AtOnce(Insert<Row>{ *this, table, key, row });
    }

    /* Delete a row. False: there is none. */
    template <class Row> Task<bool> erase(Table<Row> table, uint64_t key)
    {
        return remove(table.number, key);
    }

    /* Awaited: at most @limit rows of an ordered table with @from <= key <= @to, of the partition
     * of @from, in @order. If another transaction inserts a row into the scanned range, or erases
     * one from it, before this transaction commits, the body of this one runs again. Throws Error:
     * RPM_E_INVAL if @to is in another partition than @from. */
    template <class Row>
    auto scan(Table<Row> table, uint64_t from, uint64_t to, uint32_t limit = UINT32_MAX,
              Order order = Order::ascending)
    {
        return AtOnce(Scan<Row>{ *this, table, { from, to, limit, order } });
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

    /* Awaited: read the rows of several keys together. Over a link, in one round trip; reading and
     * writing them afterwards takes none. Where the servers' memory is mapped, their cache misses
     * overlap. Skips rows whose slots this session does not remember. Changes nothing else. Throws
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

    /* Awaited: write bytes to spans, on all live copies of their shards, durable. All sessions see
     * the bytes at once; an abort does not undo them. So write bytes to which no committed row
     * refers, and let this transaction write the rows that refer to them: when it has committed,
     * the bytes are on all copies. Only one session at a time may write a range; keep rows that say
     * which session that is.
     * Cluster::recover(coordinator) fences a session that has died or is slow: after that no server
     * accepts a write of it. @pieces: borrowed until this has been awaited, and sent together, in
     * one round trip. After an exception, each aligned word of 8 bytes of them may be old or new.
     * Throws Fenced; Error, RPM_E_RANGE or RPM_E_INVAL, before anything is written. */
    Task<> write_span(std::span<const SpanWrite> pieces);
    /* Awaited: read bytes of spans, in one round trip. Bytes that were never written have no
     * defined value. If no session overwrites bytes to which a committed row leads, and this
     * transaction commits, the bytes are those to which the rows led that it read. @pieces:
     * borrowed until this has been awaited. Throws Fenced; Error, RPM_E_RANGE or RPM_E_INVAL. */
    Task<> read_span(std::span<const SpanRead> pieces);
    /* Awaited: the checksums of bytes of spans, which each server's CPU computes: for each 64
     * pieces, or 1 MiB, of a server a message, and a round trip for the longest row of these. As
     * read_span() for the bytes that are summed: a sum of bytes that are being written is that of
     * some mixture. @pieces: borrowed until this has been awaited. Throws Fenced; Error,
     * RPM_E_RANGE or RPM_E_INVAL; Error, RPM_E_NOCAP, if a server is too old: read the bytes. */
    Task<> sum_span(std::span<const SpanSum> pieces);
    /* How many copies of the shard are on servers that are live in this session's view. */
    uint32_t copies(uint32_t shard) const;

    /* The number of this attempt, unique among all attempts of all sessions. Numbers of a
     * coordinator repeat only after 65536 claims of its logs in one view of the servers. */
    uint64_t id() const
    {
        return id_;
    }

  private:
    friend class Session;

    /* Exists while an operation is under way. Its constructor throws Error if another operation is
     * under way: both would read the same objects into the same memory at different times. */
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

    /* Operations for AtOnce: now() returns the result if that needs no waiting; else nullopt, and
     * later() carries the operation out. */
    template <class Row> struct Read {
        std::optional<std::optional<Row>> now()
        {
            auto found = txn.find_now(table.number, key, updates);

            if (!found)
                return std::nullopt;
            if (*found == nullptr)
                return std::make_optional<std::optional<Row>>(std::nullopt);
            return std::make_optional<std::optional<Row>>(txn.row<Row>(**found));
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
            auto found = txn.find_now(table.number, key, updates);

            if (!found)
                return std::nullopt;
            if (*found == nullptr)
                return std::make_optional<std::optional<Bytes>>(std::nullopt);
            return std::make_optional(std::make_optional(txn.bytes(**found, table)));
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
            return txn.replace_now(table.number, key, &row);
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

    template <class Row> struct Insert {
        std::optional<bool> now()
        {
            return txn.add_now(table.number, key, &row);
        }
        Task<bool> later()
        {
            return txn.add(table.number, key, &row);
        }
        Txn &txn;
        Table<Row> table;
        uint64_t key;
        Row row;
    };

    template <class Row> struct Scan {
        using Rows = std::vector<std::pair<uint64_t, Row>>;

        std::optional<Rows> now()
        {
            auto found = txn.range_now(table.number, range);
            Rows rows;

            for (size_t i = 0; found && i < found->size(); i++) {
                auto [key, slot] = (*found)[i];
                const Access *access = txn.at_now(table.number, key, slot);

                if (access == nullptr)
                    return std::nullopt;
                rows.emplace_back(key, txn.row<Row>(*access));
            }
            return found ? std::make_optional(std::move(rows)) : std::nullopt;
        }
        Task<Rows> later()
        {
            return txn.scan_later(table, range);
        }
        Txn &txn;
        Table<Row> table;
        Range range;
    };
    template <class Row>
    Task<std::vector<std::pair<uint64_t, Row>>> scan_later(Table<Row> table, Range of)
    {
        OperationGuard guard(*this);
        std::vector<std::pair<uint64_t, Row>> rows;
        auto found = co_await range(table.number, of);

        if (!found.empty())
            co_await prefetch_slots(table.number, found);
        for (const auto &[key, slot] : found)
            rows.emplace_back(key, row<Row>(*co_await at(table.number, key, slot)));
        co_return rows;
    }

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

    std::optional<const Access *> find_now(uint32_t table, uint64_t key, bool updates);
    std::optional<bool> replace_now(uint32_t table, uint64_t key, const void *row);
    void fill(Access *fresh, uint64_t key, const void *row);
    std::optional<bool> add_now(uint32_t table, uint64_t key, const void *row);
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
    std::optional<std::vector<std::pair<uint64_t, uint64_t>>> range_now(uint32_t table,
                                                                        Range range);
    const Access *at_now(uint32_t table, uint64_t key, uint64_t slot);

    Session &session_;
    ReadWriteSet &set_;
    uint64_t id_;
    bool under_way_ = false;
};

/* Returns the row that a body needs. If there is none, throws Inconsistent: if another transaction
 * changed a row that the body read, the body runs again; else the database is damaged, and the
 * transaction ends with Error, RPM_E_CORRUPT and the text @what. */
template <class Row> const Row &need(const std::optional<Row> &row, const char *what)
{
    if (!row)
        throw Inconsistent{ {}, what };
    return *row;
}

/* The same for the result of an insert, a write or an erase(), or for any condition. */
inline void need(bool done, const char *what)
{
    if (!done)
        throw Inconsistent{ {}, what };
}

} // namespace dtx
#endif
