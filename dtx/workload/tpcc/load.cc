/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.cc: loads items, stock, warehouses and districts.
 *
 * W_YTD and D_YTD are the sums of the payments that the load inserts, so with fewer customers than
 * the specification demands they are smaller too.
 */
#include "workload/tpcc/load.h"

#include "workload/tpcc/text.h"

#include <algorithm>

namespace dtx::tpcc
{

namespace
{

constexpr uint32_t kPiece = 2000; /* items of a piece */
constexpr uint32_t kCoroutines = 4;

/* Each kind of row has its own random sequence, derived from one of these numbers. */
enum Part : uint64_t { kItem = 1, kStock, kWarehouse, kDistrict };

Random random_of(const Parameters &parameters, Part part, uint64_t number)
{
    return Random(seed_of(seed_of(parameters.load_seed, part), number));
}

struct Range {
    uint32_t first;
    uint32_t last;
};

/* The same in each copy of ITEM. */
Task<void> load_items(Session &session, const Parameters &parameters, const Tables &tables,
                      uint32_t copy, Range range)
{
    Loader<ItemRow> items(session, tables.item, kBatch);

    for (uint32_t i = range.first; i <= range.last; i++) {
        Random random = random_of(parameters, kItem, i);
        ItemRow row{};

        row.image = random.between(1, 10000);
        row.name.set(a_string(random, 14, 24));
        row.price = random.between(100, 10000);
        row.data.set(data_string(random));
        co_await items.add(item_key(copy + 1, i, parameters.copies()), row);
    }
    co_await items.flush();
}

Task<void> load_stock(Session &session, const Parameters &parameters, const Tables &tables,
                      uint32_t w, Range range)
{
    Loader<StockRow> stock(session, tables.stock, kBatch);

    for (uint32_t i = range.first; i <= range.last; i++) {
        Random random = random_of(parameters, kStock, stock_key(w, i));
        StockRow row{};

        row.quantity = static_cast<int32_t>(random.between(10, 100));
        for (auto &district : row.district)
            district.set(a_string(random, 24, 24));
        row.data.set(data_string(random));
        co_await stock.add(stock_key(w, i), row);
    }
    co_await stock.flush();
}

Task<void> load_warehouse(Session &session, const Parameters &parameters, const Tables &tables,
                          uint32_t w)
{
    Loader<WarehouseRow> warehouses(session, tables.warehouse, kBatch);
    Loader<DistrictRow> districts(session, tables.district, kBatch);
    Random random = random_of(parameters, kWarehouse, w);
    WarehouseRow row{};

    row.name.set(a_string(random, 6, 10));
    row.address = address(random);
    row.tax = random.between(0, 2000);
    row.ytd = kDistricts * int64_t{ parameters.customers } * kFirstPayment;
    co_await warehouses.add(warehouse_key(w), row);
    for (uint32_t d = 1; d <= kDistricts; d++) {
        DistrictRow district{};

        district.name.set(a_string(random, 6, 10));
        district.address = address(random);
        district.tax = random.between(0, 2000);
        district.ytd = int64_t{ parameters.customers } * kFirstPayment;
        district.next_o_id = parameters.customers + 1;
        co_await districts.add(district_key({ w, d }), district);
    }
    co_await warehouses.flush();
    co_await districts.flush();
}

template <class Add> void each_range(uint32_t count, Add add)
{
    for (uint32_t first = 1; first <= count; first += kPiece)
        add(Range{ first, std::min(first + kPiece - 1, count) });
}

} // namespace

uint64_t load_date()
{
    return 1262304000000000000ull; /* the first of January 2010 */
}

void load(Session &session, const Parameters &parameters, const Tables &tables, const Share &share)
{
    std::vector<Piece> all;
    std::vector<Piece> mine;

    for (uint32_t copy = 0; copy < parameters.copies(); copy++)
        each_range(parameters.items, [&](Range range) {
            all.push_back([&session, &parameters, &tables, copy, range] {
                return load_items(session, parameters, tables, copy, range);
            });
        });
    for (uint32_t w = 1; w <= parameters.warehouses; w++) {
        all.push_back([&session, &parameters, &tables, w] {
            return load_warehouse(session, parameters, tables, w);
        });
        each_range(parameters.items, [&](Range range) {
            all.push_back([&session, &parameters, &tables, w, range] {
                return load_stock(session, parameters, tables, w, range);
            });
        });
        for (uint32_t d = 1; d <= kDistricts; d++) {
            District at{ w, d };

            all.push_back([&session, &parameters, &tables, at] {
                return load_customers(session, parameters, tables, at);
            });
            all.push_back([&session, &parameters, &tables, at] {
                return load_orders(session, parameters, tables, at);
            });
        }
    }
    for (size_t i = share.part; i < all.size(); i += share.parts)
        mine.push_back(all[i]);
    load_pieces(session, mine, kCoroutines, share);
}

} // namespace dtx::tpcc
