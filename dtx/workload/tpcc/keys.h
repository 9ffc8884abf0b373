/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keys.h: keys of TPC-C in 64 bits. The upper 16 are the warehouse, 1 to 65535, which is the
 * partition; the lower ones sort rows in the order in which transactions scan them.
 *
 *   district          w 16 |             d 48
 *   customer          w 16 | d  8 |      c 40
 *   by last name      w 16 | d  8 |   name 40     the number of the name, 0 to 999
 *   order, new order  w 16 | d  8 |      o 40
 *   order of customer w 16 | d  4 |   c 12 | o 32
 *   order line        w 16 | d  8 |   o 36 | l 4
 *   stock             w 16 |             i 48
 *   item              p 16 |             i 48     copy p, one for each server that has warehouses
 *   history           w 16 |      anything 48
 */
#ifndef DTX_WORKLOAD_TPCC_KEYS_H
#define DTX_WORKLOAD_TPCC_KEYS_H

#include <cstdint>

namespace dtx::tpcc
{

/* A district of a warehouse; both count from 1. */
struct District {
    uint32_t w;
    uint32_t d;

    bool operator==(const District &) const = default;
};

constexpr uint64_t warehouse_key(uint32_t w)
{
    return uint64_t{ w } << 48;
}
constexpr uint64_t district_key(District at)
{
    return warehouse_key(at.w) | at.d;
}
constexpr uint64_t in_district(District at)
{
    return warehouse_key(at.w) | uint64_t{ at.d } << 40;
}
constexpr uint64_t customer_key(District at, uint32_t c)
{
    return in_district(at) | c;
}
constexpr uint64_t name_key(District at, uint32_t name)
{
    return in_district(at) | name;
}
constexpr uint64_t order_key(District at, uint32_t o)
{
    return in_district(at) | o;
}
constexpr uint64_t customer_order_key(District at, uint32_t c, uint32_t o)
{
    return warehouse_key(at.w) | uint64_t{ at.d } << 44 | uint64_t{ c } << 32 | o;
}
constexpr uint64_t order_line_key(District at, uint32_t o, uint32_t line)
{
    return in_district(at) | uint64_t{ o } << 4 | line;
}
constexpr uint64_t stock_key(uint32_t w, uint32_t i)
{
    return warehouse_key(w) | i;
}
/* Key of the item's copy on the server of warehouse @w; @copies servers have warehouses. */
constexpr uint64_t item_key(uint32_t w, uint32_t i, uint32_t copies)
{
    return warehouse_key((w - 1) % copies + 1) | i;
}

constexpr uint32_t warehouse_of(uint64_t key)
{
    return static_cast<uint32_t>(key >> 48);
}
/* The district in the key of a customer, last name, order, new order or order line. */
constexpr District district_of(uint64_t key)
{
    return { warehouse_of(key), static_cast<uint32_t>(key >> 40) & 0xff };
}

} // namespace dtx::tpcc
#endif
