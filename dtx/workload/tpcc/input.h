/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h: TPC-C: draws the next transaction of a terminal and its input (clauses 2.4.1 to 2.8.1,
 * 5.2.4.2). There are no keying and thinking times, as in other research.
 */
#ifndef DTX_WORKLOAD_TPCC_INPUT_H
#define DTX_WORKLOAD_TPCC_INPUT_H

#include "workload/random.h"
#include "workload/tpcc/schema.h"
#include "workload/tpcc/text.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dtx::tpcc
{

enum Kind : uint32_t { kNewOrder, kPayment, kOrderStatus, kDelivery, kStockLevel, kKinds };

const std::vector<std::string> &kind_names();

inline constexpr uint32_t kLinesMax = 15;

struct NewOrderInput {
    District home;
    uint32_t c_id;
    uint32_t count;
    struct Line {
        uint32_t i_id;
        uint32_t supply_w_id;
        uint32_t quantity;
    } line[kLinesMax];
    uint64_t date;
};

/* A customer by number, or by last name. */
struct Who {
    District at;
    bool by_name;
    uint32_t number; /* number of the customer or of the last name */
};

struct PaymentInput {
    District home;
    Who who;
    int64_t amount;
    uint64_t date;
};

struct OrderStatusInput {
    Who who;
};

struct DeliveryInput {
    uint32_t w;
    uint32_t carrier;
    uint64_t date;
};

struct StockLevelInput {
    District at;
    int32_t threshold;
};

class Inputs
{
  public:
    /* A terminal of district @home. */
    Inputs(const Parameters &parameters, const Constants &constants, District home, uint64_t seed);

    Kind next();
    NewOrderInput new_order();
    PaymentInput payment();
    OrderStatusInput order_status();
    DeliveryInput delivery();
    StockLevelInput stock_level();

  private:
    Who who(District at);
    uint32_t other_warehouse();
    uint32_t district();
    Kind by_percentage();

    Parameters parameters_;
    Constants constants_;
    District home_;
    Random random_;
    std::array<Kind, 23> deck_;
    size_t dealt_ = 0;
};

} // namespace dtx::tpcc
#endif
