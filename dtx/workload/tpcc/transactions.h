/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transactions.h: the five transactions of TPC-C, one file each. Outputs are the data that the
 * specification shows on a terminal; each attempt sets them anew.
 */
#ifndef DTX_WORKLOAD_TPCC_TRANSACTIONS_H
#define DTX_WORKLOAD_TPCC_TRANSACTIONS_H

#include "workload/tpcc/input.h"
#include "workload/workload.h"
#include <dtx/txn.h>

namespace dtx::tpcc
{

/* The parameters and tables that the transactions of a terminal use. */
struct Context {
    const Parameters &parameters;
    const Tables &tables;
};

struct NewOrderOutput {
    uint32_t o_id;
    Text<16> last;
    Text<2> credit;
    uint32_t discount;
    int64_t total;
    bool item_not_valid; /* the order was aborted: "Item number is not valid" */
    struct Line {
        Text<24> name;
        int32_t stock;
        bool original; /* brand 'B', else generic, 'G' */
        uint32_t price;
        int64_t amount;
    } line[kLinesMax];
};

struct PaymentOutput {
    uint32_t c_id;
    int64_t balance;
    Text<2> credit;
};

struct OrderStatusOutput {
    uint32_t c_id;
    int64_t balance;
    uint32_t o_id;
    uint32_t carrier;
    uint32_t lines;
};

struct DeliveryOutput {
    uint32_t o_id; /* 0: nothing to deliver */
};

struct StockLevelOutput {
    uint32_t low;
};

/* False: an item does not exist; the transaction must abort (clause 2.4.2.3). */
Task<bool> new_order(Txn &txn, Context &context, const NewOrderInput &input,
                     NewOrderOutput &output);

Task<bool> payment(Txn &txn, Context &context, const PaymentInput &input, PaymentOutput &output);

Task<bool> order_status(Txn &txn, Context &context, const OrderStatusInput &input,
                        OrderStatusOutput &output);

/* Delivers the oldest undelivered order of district @d, in a database transaction of its own
 * (clause 2.7.2.2). */
Task<bool> deliver(Txn &txn, Context &context, const DeliveryInput &input, uint32_t d,
                   DeliveryOutput &output);

Task<bool> stock_level(Txn &txn, Context &context, const StockLevelInput &input,
                       StockLevelOutput &output);

/* The number of the customer. For a last name, it is the middle one ordered by first names (clause
 * 2.5.2.2). */
Task<uint32_t> customer_number(Txn &txn, Context &context, const Who &who);

} // namespace dtx::tpcc
#endif
