/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema.h: the tables of a database, as the program declares them. The same declaration creates a
 * database and opens it again; a schema that does not match the database is refused.
 *
 * A table maps keys of 64 bits to rows of a fixed size. A hash table finds a row by its key; an
 * ordered table also scans a range of keys. The rows of one partition lie on one server and its
 * backups; each table has a function that maps keys to partitions.
 *
 * Tests: tests/unit/dtx/engine/format/schema_test.cpp
 */
#ifndef DTX_SCHEMA_H
#define DTX_SCHEMA_H

#include <dtx/span.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace dtx
{

/* Returns the partition of a key. Partition p is on shard p modulo the number of servers. */
using Partition = uint32_t (*)(uint64_t key);

enum class TableKind : uint32_t {
    hash = 1,
    ordered = 2,
    buckets = 3,    /* buckets of a hash table */
    nodes = 4,      /* nodes of an ordered table */
    allocators = 5, /* allocator heads: which slots of each table have been handed out */
    span = 6        /* of a span; no table has it */
};

struct TableSpec {
    std::string name;
    TableKind kind;
    uint32_t row_bytes;
    uint64_t rows_max;  /* in each shard */
    uint32_t index = 0; /* number of the table with its buckets or nodes */
    Partition partition = nullptr;
};

struct SpanSpec {
    std::string name;
    uint32_t slab_bytes;
    uint64_t slabs; /* in each shard */
};

/* A row to prefetch, of any table. */
struct RowKey {
    uint32_t table;
    uint64_t key;
};

/* A table whose rows are of type Row. */
template <class Row> struct Table {
    static_assert(std::is_trivially_copyable_v<Row>, "rows are copied as bytes");
    uint32_t number = 0;

    RowKey at(uint64_t key) const
    {
        return { number, key };
    }
};

/* A table whose rows are bytes of a size that the program gives at run time, not a struct. */
struct ByteTable {
    uint32_t number = 0;
    uint32_t row_bytes = 0;

    RowKey at(uint64_t key) const
    {
        return { number, key };
    }
};

class Schema
{
  public:
    /* @name: 1 to 31 letters, digits, '-' or '_'. @version: the program's own, compared at open. */
    Schema(std::string name, uint32_t version);

    /* @rows_max: in each shard, at least 1. Throws Error if a table has that name already, or if
     * there are too many tables. */
    template <class Row>
    Table<Row> hash_table(const std::string &name, uint64_t rows_max, Partition partition)
    {
        return { add(name, TableKind::hash, sizeof(Row), rows_max, partition) };
    }
    template <class Row>
    Table<Row> ordered_table(const std::string &name, uint64_t rows_max, Partition partition)
    {
        return { add(name, TableKind::ordered, sizeof(Row), rows_max, partition) };
    }
    /* A table whose rows have @row_bytes bytes each, 1 to 65536. */
    ByteTable hash_table(const std::string &name, uint32_t row_bytes, uint64_t rows_max,
                         Partition partition)
    {
        return { add(name, TableKind::hash, row_bytes, rows_max, partition), row_bytes };
    }
    ByteTable ordered_table(const std::string &name, uint32_t row_bytes, uint64_t rows_max,
                            Partition partition)
    {
        return { add(name, TableKind::ordered, row_bytes, rows_max, partition), row_bytes };
    }

    static constexpr uint32_t kSpansMax = 16;

    /* Plain bytes beside the tables of each shard (span.h): @slabs slabs of @slab_bytes, which is a
     * multiple of 4096. In each shard, a span takes its slabs and 8 bytes for each. Throws Error if
     * a span or a table has that name already, or if there are kSpansMax spans. */
    Span span(const std::string &name, uint32_t slab_bytes, uint64_t slabs);

    static constexpr size_t kCommentMax = 2048;

    /* Text that create() stores in every shard beside the description of the tables, such as the
     * parameters of a load; dtx-check prints it. Throws Error if it is longer than kCommentMax. */
    void set_comment(std::string comment);
    const std::string &comment() const
    {
        return comment_;
    }

    /* The schema of a database, from the description that its shards hold (dtx/FORMAT.md). It lacks
     * the functions that give the partition of a key: it is enough to recover, promote, restore,
     * vacuum and check the database, but a session needs the program's own schema. Throws Error:
     * RPM_E_VERSION if this version of dtx lays out these tables in another way. */
    static Schema of_description(const std::string &name, uint32_t version,
                                 const std::string &text);
    /* Was this schema made by of_description()? */
    bool is_described() const
    {
        return described_;
    }

    const std::string &name() const
    {
        return name_;
    }
    uint32_t version() const
    {
        return version_;
    }
    const std::vector<TableSpec> &tables() const
    {
        return tables_;
    }
    const std::vector<SpanSpec> &spans() const
    {
        return spans_;
    }

  private:
    void check_new(const std::string &name, const char *what) const;
    uint32_t add(const std::string &name, TableKind kind, uint32_t row_bytes, uint64_t rows_max,
                 Partition partition);

    std::string name_;
    std::string comment_;
    uint32_t version_;
    bool described_ = false; /* partitions are unknown */
    std::vector<TableSpec>
        tables_; /* number 0: the allocator heads; each table is followed by its index */
    std::vector<SpanSpec> spans_;
};

} // namespace dtx
#endif
