/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema.h: the tables of TPC-C, with all columns of the specification (clause 1.3) except those
 * that are in the key. Money in cents, taxes and discounts in ten-thousandths, dates in ns since
 * 1970, 0 where the specification has null; texts are padded with zeros.
 *
 * ITEM is never changed, so every server that has warehouses has a copy of its own. Customers are
 * never added and keep their names, so a row lists those of one district with one last name.
 *
 * Tests: tests/unit/dtx/workload/tpcc_test.cpp
 */
#ifndef DTX_WORKLOAD_TPCC_SCHEMA_H
#define DTX_WORKLOAD_TPCC_SCHEMA_H

#include "workload/tpcc/keys.h"
#include <dtx/schema.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dtx::tpcc
{

inline constexpr uint32_t kDistricts = 10;

/* A text of at most N letters. */
template <size_t N> struct Text {
    char letters[N];

    void set(std::string_view text)
    {
        size_t bytes = text.size() < N ? text.size() : N;

        std::memset(letters, 0, N);
        std::memcpy(letters, text.data(), bytes);
    }
    std::string_view view() const
    {
        return { letters, strnlen(letters, N) };
    }
};

struct PostalAddress {
    Text<20> street_1;
    Text<20> street_2;
    Text<20> city;
    Text<2> state;
    Text<9> zip;
};

struct WarehouseRow {
    int64_t ytd;
    uint32_t tax;
    Text<10> name;
    PostalAddress address;
    char unused[3];
};

struct DistrictRow {
    int64_t ytd;
    uint32_t next_o_id;
    uint32_t tax;
    Text<10> name;
    PostalAddress address;
    char unused[7];
};

struct CustomerRow {
    int64_t balance;
    int64_t ytd_payment;
    int64_t credit_limit;
    uint64_t since;
    uint32_t discount;
    uint32_t payment_count;
    uint32_t delivery_count;
    Text<16> first;
    Text<2> middle;
    Text<16> last;
    PostalAddress address;
    Text<16> phone;
    Text<2> credit; /* "GC" or "BC" */
    Text<500> data;
    char unused[5];
};

inline constexpr size_t kNamesakes = 127;

/* The customers of a last name, in the order of their first names. */
struct NamesakesRow {
    uint16_t count;
    uint16_t customer[kNamesakes];
};

struct HistoryRow {
    uint64_t date;
    int64_t amount;
    uint32_t c_w_id;
    uint32_t c_id;
    uint16_t w_id;
    uint8_t c_d_id;
    uint8_t d_id;
    Text<24> data;
    char unused[4];
};

struct OrderRow {
    uint64_t entry_date;
    uint32_t c_id;
    uint8_t carrier; /* 0: not delivered yet */
    uint8_t lines;
    uint8_t all_local;
    uint8_t unused;
};

/* These two rows have all their columns in the key. */
struct CustomerOrderRow {
    uint32_t o_id;
};
struct NewOrderRow {
    uint32_t o_id;
};

struct OrderLineRow {
    uint64_t delivery_date;
    int64_t amount;
    uint32_t i_id;
    uint32_t supply_w_id;
    uint8_t quantity;
    Text<24> district_info;
    char unused[7];
};

struct StockRow {
    int64_t ytd;
    int32_t quantity;
    uint32_t order_count;
    uint32_t remote_count;
    Text<24> district[kDistricts];
    Text<50> data;
    char unused[2];
};

struct ItemRow {
    uint32_t price;
    uint32_t image;
    Text<24> name;
    Text<50> data;
    char unused[2];
};

struct Parameters {
    uint32_t warehouses = 1;
    uint32_t items = 100000;
    uint32_t customers = 3000;       /* of each district; the load inserts as many orders */
    uint32_t remote_lines = 100;     /* order lines from another warehouse, of 10,000 */
    uint32_t remote_payments = 1500; /* payments of another warehouse's customers, of 10,000 */
    uint32_t rollbacks = 100;        /* new orders with an item that does not exist, of 10,000 */
    bool percentages = false;        /* draw the mix by 45, 43, 4, 4, 4 % instead of from a deck */
    bool new_order_only = false;
    uint32_t room = 100000; /* new orders of each warehouse that the tables have room for */
    uint32_t servers = 1;
    uint64_t load_seed = 1;

    /* Throws Error that names the parameter out of range. */
    void verify() const;
    /* The text that a database stores, and its inverse. Throws Error, RPM_E_FOREIGN. */
    std::string load_parameters() const;
    static Parameters of_database(const std::string &text, uint32_t servers);
    /* Servers that have warehouses, each with a copy of ITEM. */
    uint32_t copies() const
    {
        return warehouses < servers ? warehouses : servers;
    }
    /* Number of last names: a third of the customers of a district, at most 1000. */
    uint32_t names() const
    {
        return customers >= 3000 ? 1000 : customers < 3 ? 1 : customers / 3;
    }
    /* The load delivers the orders up to this number. */
    uint32_t delivered() const
    {
        return customers * 7 / 10;
    }
};

struct Tables {
    explicit Tables(const Parameters &parameters);

    Schema schema;
    Table<WarehouseRow> warehouse;
    Table<DistrictRow> district;
    Table<CustomerRow> customer;
    Table<NamesakesRow> namesakes;
    Table<HistoryRow> history;
    Table<OrderRow> order;
    Table<CustomerOrderRow> customer_order;
    Table<NewOrderRow> new_order;
    Table<OrderLineRow> order_line;
    Table<StockRow> stock;
    Table<ItemRow> item;
};

} // namespace dtx::tpcc
#endif
