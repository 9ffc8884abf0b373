/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.cc: draws transactions and their input for a terminal.
 */
#include "workload/tpcc/input.h"

#include <chrono>

namespace dtx::tpcc
{

namespace
{

uint64_t today()
{
    auto since = std::chrono::system_clock::now().time_since_epoch();

    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

} // namespace

const std::vector<std::string> &kind_names()
{
    static const std::vector<std::string> names = { "new_order", "payment", "order_status",
                                                    "delivery", "stock_level" };

    return names;
}

Inputs::Inputs(const Parameters &parameters, const Constants &constants, District home,
               uint64_t seed)
    : parameters_(parameters), constants_(constants), home_(home), random_(seed)
{
    deck_.fill(kNewOrder);
    std::fill_n(deck_.begin() + 10, 10, kPayment);
    deck_[20] = kOrderStatus;
    deck_[21] = kDelivery;
    deck_[22] = kStockLevel;
}

Kind Inputs::by_percentage()
{
    static constexpr std::array<uint32_t, kKinds> percent = { 45, 43, 4, 4, 4 };
    uint32_t drawn = static_cast<uint32_t>(random_.below(100));
    uint32_t kind = 0;

    while (drawn >= percent[kind])
        drawn -= percent[kind++];
    return static_cast<Kind>(kind);
}

Kind Inputs::next()
{
    if (parameters_.new_order_only)
        return kNewOrder;
    if (parameters_.percentages)
        return by_percentage();
    if (dealt_ % deck_.size() == 0)
        random_.shuffle(deck_.data(), deck_.size());
    return deck_[dealt_++ % deck_.size()];
}

uint32_t Inputs::district()
{
    return random_.between(1, kDistricts);
}

/* Any but the home warehouse, each as likely. */
uint32_t Inputs::other_warehouse()
{
    uint32_t w = random_.between(1, parameters_.warehouses - 1);

    return w >= home_.w ? w + 1 : w;
}

Who Inputs::who(District at)
{
    bool by_name = random_.chance(6000);
    uint32_t number =
        by_name ? nurand(random_, { 255, 0, parameters_.names() - 1, constants_.last_name })
                : nurand(random_, { 1023, 1, parameters_.customers, constants_.customer });

    return { at, by_name, number };
}

NewOrderInput Inputs::new_order()
{
    NewOrderInput input{};

    input.home = { home_.w, district() };
    input.c_id = nurand(random_, { 1023, 1, parameters_.customers, constants_.customer });
    input.count = random_.between(5, kLinesMax);
    for (uint32_t i = 0; i < input.count; i++) {
        bool remote = parameters_.warehouses > 1 && random_.chance(parameters_.remote_lines);

        input.line[i].i_id = nurand(random_, { 8191, 1, parameters_.items, constants_.item });
        input.line[i].supply_w_id = remote ? other_warehouse() : home_.w;
        input.line[i].quantity = random_.between(1, 10);
    }
    if (random_.chance(parameters_.rollbacks))
        input.line[input.count - 1].i_id = parameters_.items + 1;
    input.date = today();
    return input;
}

PaymentInput Inputs::payment()
{
    PaymentInput input{};
    bool remote = parameters_.warehouses > 1 && random_.chance(parameters_.remote_payments);

    input.home = { home_.w, district() };
    input.who = who(remote ? District{ other_warehouse(), district() } : input.home);
    input.amount = random_.between(100, 500000);
    input.date = today();
    return input;
}

OrderStatusInput Inputs::order_status()
{
    return { who({ home_.w, district() }) };
}

DeliveryInput Inputs::delivery()
{
    return { home_.w, random_.between(1, 10), today() };
}

StockLevelInput Inputs::stock_level()
{
    return { home_, static_cast<int32_t>(random_.between(10, 20)) };
}

} // namespace dtx::tpcc
