/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts.h: the sums and counts that the consistency conditions of TPC-C compare, from all rows of
 * one copy.
 */
#ifndef DTX_WORKLOAD_TPCC_FACTS_H
#define DTX_WORKLOAD_TPCC_FACTS_H

#include "workload/tpcc/schema.h"
#include <dtx/cluster.h>

#include <cstdint>
#include <map>
#include <unordered_map>

namespace dtx::tpcc
{

struct WarehouseFacts {
    uint32_t rows = 0;
    int64_t ytd = 0;
    int64_t district_ytd = 0;   /* sum of D_YTD of its districts */
    int64_t history_amount = 0; /* sum of payments at this warehouse */
};

struct DistrictFacts {
    uint32_t rows = 0;
    uint32_t next_o_id = 0;
    int64_t ytd = 0;
    int64_t history_amount = 0;
    uint64_t orders = 0;
    uint64_t order_max = 0;
    uint64_t order_lines = 0; /* sum of O_OL_CNT */
    uint64_t lines = 0;       /* rows of ORDER-LINE */
    uint64_t new_orders = 0;
    uint64_t new_min = UINT64_MAX;
    uint64_t new_max = 0;
    uint64_t customers = 0;
    uint64_t named = 0;       /* customers in the lists by last name */
    uint64_t deliveries = 0;  /* sum of what customers were delivered */
    uint64_t by_customer = 0; /* entries of "orders by customer" */
};

struct CustomerFacts {
    uint32_t rows = 0;
    int64_t balance = 0;
    int64_t ytd_payment = 0;
    uint64_t payment_count = 0;
    uint64_t delivery_count = 0;
    int64_t delivered = 0; /* sum of the amounts of delivered lines */
    int64_t paid = 0;      /* sum of H_AMOUNT */
    uint64_t payments = 0; /* rows of history */
    uint64_t orders = 0;   /* delivered since the load */
    bool named = false;
};

struct OrderFacts {
    uint32_t c_id = 0;
    uint32_t rows = 0;
    uint8_t carrier = 0;
    uint8_t lines = 0;
    uint8_t line_rows = 0;
    bool is_new = false;
    bool by_customer = false;
    int64_t delivered = 0;
};

struct StockFacts {
    uint32_t rows = 0;
    int64_t ytd = 0;
    uint64_t orders = 0;
    uint64_t remote = 0;
    int64_t line_quantity = 0; /* of order lines since the load */
    uint64_t lines = 0;
    uint64_t remote_lines = 0;
};

struct Facts {
    std::map<uint32_t, WarehouseFacts> warehouse;         /* by number */
    std::map<uint64_t, DistrictFacts> district;           /* by in_district() */
    std::unordered_map<uint64_t, CustomerFacts> customer; /* by key */
    std::unordered_map<uint64_t, OrderFacts> order;       /* by key */
    std::unordered_map<uint64_t, StockFacts> stock;       /* by key; of a row or of a line */
    uint64_t items = 0;                                   /* rows, of all copies */
    uint64_t lines_dated_wrong = 0;                       /* condition 7 */
    uint64_t lines_of_no_order = 0;
    uint64_t names_out_of_order = 0; /* lists with first names out of order or a wrong last name */

    /* Rows of ORDER-LINE. */
    uint64_t lines() const
    {
        uint64_t sum = 0;

        for (const auto &[key, one] : district)
            sum += one.lines;
        return sum;
    }
};

Facts facts_of(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
               const Tables &tables);

} // namespace dtx::tpcc
#endif
