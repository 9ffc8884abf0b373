// SPDX-License-Identifier: BSD-3-Clause
// tpcc_input_test.cpp: input of TPC-C is within the limits of clause 5.5.1.5, texts and
// non-uniform draws follow clauses 2.1.5, 2.1.6 and 4.3.2.
#include "support/catch.h"
#include "workload/tpcc/input.h"
#include <dtx/error.h>

#include <map>

namespace dtx::tpcc
{

namespace
{

Parameters warehouses(uint32_t count)
{
    Parameters parameters;

    parameters.warehouses = count;
    return parameters;
}

Inputs inputs_of(const Parameters &parameters, uint64_t seed = 5)
{
    return Inputs(parameters, run_constants(1, 2), { 2, 3 }, seed);
}

// 1 if a value is outside its bounds.
uint32_t outside(uint32_t value, uint32_t least, uint32_t most)
{
    return value < least || value > most ? 1 : 0;
}

} // namespace

TEST_CASE("tpcc input: new orders keep the limits of the specification")
{
    constexpr uint32_t draws = 100000;
    Parameters parameters = warehouses(4);
    Inputs inputs = inputs_of(parameters);
    uint64_t lines = 0;
    uint64_t remote = 0;
    uint64_t rollbacks = 0;
    uint32_t wrong = 0;
    std::map<uint32_t, uint32_t> suppliers;

    for (uint32_t i = 0; i < draws; i++) {
        NewOrderInput input = inputs.new_order();

        wrong += outside(input.home.w, 2, 2) + outside(input.home.d, 1, 10) +
                 outside(input.c_id, 1, 3000) + outside(input.count, 5, 15) + (input.date == 0);
        lines += input.count;
        for (uint32_t j = 0; j < input.count; j++) {
            bool unused = input.line[j].i_id == parameters.items + 1;

            wrong +=
                unused ? j != input.count - 1 : outside(input.line[j].i_id, 1, parameters.items);
            wrong += outside(input.line[j].quantity, 1, 10);
            wrong += outside(input.line[j].supply_w_id, 1, 4);
            remote += input.line[j].supply_w_id != 2 ? 1 : 0;
            suppliers[input.line[j].supply_w_id]++;
            rollbacks += unused ? 1 : 0;
        }
    }
    CHECK(wrong == 0);
    CHECK(rollbacks * 100.0 / draws >= 0.9);
    CHECK(rollbacks * 100.0 / draws <= 1.1);
    CHECK(static_cast<double>(lines) / draws >= 9.5);
    CHECK(static_cast<double>(lines) / draws <= 10.5);
    CHECK(static_cast<double>(remote) * 100 / static_cast<double>(lines) >= 0.95);
    CHECK(static_cast<double>(remote) * 100 / static_cast<double>(lines) <= 1.05);
    for (uint32_t w : { 1, 3, 4 })
        CHECK(suppliers[w] * 3.0 / static_cast<double>(remote) == Approx(1).margin(0.1));
}

TEST_CASE("tpcc input: payments and inquiries keep the limits of the specification")
{
    constexpr uint32_t draws = 100000;
    Inputs inputs = inputs_of(warehouses(3));
    uint32_t remote = 0;
    uint32_t named = 0;
    uint32_t asked_by_name = 0;

    for (uint32_t i = 0; i < draws; i++) {
        PaymentInput input = inputs.payment();
        OrderStatusInput inquiry = inputs.order_status();

        REQUIRE(input.home.w == 2);
        REQUIRE(input.amount >= 100);
        REQUIRE(input.amount <= 500000);
        remote += input.who.at.w != 2 ? 1 : 0;
        REQUIRE((input.who.at.w != 2 || input.who.at == input.home));
        named += input.who.by_name ? 1 : 0;
        asked_by_name += inquiry.who.by_name ? 1 : 0;
        REQUIRE(inquiry.who.at.w == 2);
        REQUIRE(inquiry.who.number <= (inquiry.who.by_name ? 999 : 3000));
    }
    CHECK(remote * 100.0 / draws >= 14);
    CHECK(remote * 100.0 / draws <= 16);
    CHECK(named * 100.0 / draws >= 57);
    CHECK(named * 100.0 / draws <= 63);
    CHECK(asked_by_name * 100.0 / draws >= 57);
    CHECK(asked_by_name * 100.0 / draws <= 63);
}

TEST_CASE("tpcc input: one warehouse has no remote accesses; 100 % remote is possible")
{
    Parameters parameters = warehouses(3);
    Parameters alone = warehouses(1);
    Inputs single(alone, run_constants(1, 2), { 1, 1 }, 3);

    parameters.remote_lines = 10000;
    parameters.new_order_only = true;
    Inputs inputs = inputs_of(parameters);
    for (uint32_t i = 0; i < 1000; i++) {
        NewOrderInput input = inputs.new_order();
        NewOrderInput home = single.new_order();

        REQUIRE(inputs.next() == kNewOrder);
        for (uint32_t j = 0; j < input.count; j++)
            REQUIRE(input.line[j].supply_w_id != 2);
        for (uint32_t j = 0; j < home.count; j++)
            REQUIRE(home.line[j].supply_w_id == 1);
        REQUIRE(single.payment().who.at.w == 1);
    }
}

TEST_CASE("tpcc input: each deck of 23 has the mix, in random order")
{
    Inputs inputs = inputs_of(warehouses(2));
    std::vector<std::vector<Kind>> decks;

    for (uint32_t i = 0; i < 50; i++) {
        uint32_t counts[kKinds] = {};
        std::vector<Kind> deck;

        for (uint32_t j = 0; j < 23; j++) {
            deck.push_back(inputs.next());
            counts[deck.back()]++;
        }
        REQUIRE(counts[kNewOrder] == 10);
        REQUIRE(counts[kPayment] == 10);
        REQUIRE(counts[kOrderStatus] == 1);
        REQUIRE(counts[kDelivery] == 1);
        REQUIRE(counts[kStockLevel] == 1);
        decks.push_back(deck);
    }
    CHECK(decks[0] != decks[1]);
}

TEST_CASE("tpcc input: by percentages the mix has the least shares of the specification")
{
    constexpr uint32_t draws = 200000;
    constexpr double percent[kKinds] = { 45, 43, 4, 4, 4 };
    Parameters parameters = warehouses(2);
    uint32_t counts[kKinds] = {};

    parameters.percentages = true;
    Inputs inputs = inputs_of(parameters);
    for (uint32_t i = 0; i < draws; i++)
        counts[inputs.next()]++;
    for (uint32_t i = 0; i < kKinds; i++)
        CHECK(counts[i] * 100.0 / draws == Approx(percent[i]).margin(0.4));
}

TEST_CASE("tpcc input: deliveries and stock levels are of the terminal's own district")
{
    Inputs inputs = inputs_of(warehouses(4));

    for (uint32_t i = 0; i < 1000; i++) {
        DeliveryInput delivery = inputs.delivery();
        StockLevelInput level = inputs.stock_level();

        REQUIRE(delivery.w == 2);
        REQUIRE(delivery.carrier >= 1);
        REQUIRE(delivery.carrier <= 10);
        REQUIRE(level.at == District{ 2, 3 });
        REQUIRE(level.threshold >= 10);
        REQUIRE(level.threshold <= 20);
    }
}

TEST_CASE("tpcc input: the constants of last names are at an allowed distance")
{
    for (uint64_t load_seed = 1; load_seed < 60; load_seed++)
        for (uint64_t seed = 1; seed < 60; seed++) {
            Constants run = run_constants(load_seed, seed);
            int apart = static_cast<int>(run.last_name) -
                        static_cast<int>(load_constants(load_seed).last_name);

            apart = apart < 0 ? -apart : apart;
            REQUIRE(apart >= 65);
            REQUIRE(apart <= 119);
            REQUIRE(apart != 96);
            REQUIRE(apart != 112);
            REQUIRE(run.last_name <= 255);
            REQUIRE(run.customer <= 1023);
            REQUIRE(run.item <= 8191);
        }
}

TEST_CASE("tpcc input: non-uniform draws follow the formula of the specification")
{
    constexpr uint32_t draws = 200000;
    Random chance(6);
    Uneven uneven{ 255, 0, 999, 0 };
    uint32_t low_bit = 0;
    uint32_t least = 999;
    uint32_t most = 0;

    for (uint32_t i = 0; i < draws; i++) {
        uint32_t drawn = nurand(chance, uneven);

        least = std::min(least, drawn);
        most = std::max(most, drawn);
        low_bit += drawn & 1;
    }
    CHECK(least == 0);
    CHECK(most == 999);
    // Either of two uniform bits sets it; numbers above 999 wrap around, to even and odd ones
    // alike.
    CHECK(low_bit * 1.0 / draws == Approx(0.75).margin(0.01));
    uneven.c = 1;
    low_bit = 0;
    for (uint32_t i = 0; i < draws; i++)
        low_bit += nurand(chance, uneven) & 1;
    CHECK(low_bit * 1.0 / draws == Approx(0.25).margin(0.01));
}

TEST_CASE("tpcc input: texts have the letters, lengths and syllables asked for")
{
    constexpr uint32_t draws = 20000;
    Random chance(8);
    uint32_t original = 0;

    CHECK(last_name(0) == "BARBARBAR");
    CHECK(last_name(371) == "PRICALLYOUGHT");
    CHECK(last_name(999) == "EINGEINGEING");
    for (uint32_t i = 0; i < draws; i++) {
        std::string data = data_string(chance);
        std::string digits = n_string(chance, 16);

        REQUIRE(data.size() >= 26);
        REQUIRE(data.size() <= 50);
        REQUIRE(digits.size() == 16);
        REQUIRE(digits.find_first_not_of("0123456789") == std::string::npos);
        original += data.find("ORIGINAL") != std::string::npos ? 1 : 0;
    }
    CHECK(original * 100.0 / draws == Approx(10).margin(0.7));
    CHECK(std::string(address(chance).zip.view()).substr(4) == "11111");
}

TEST_CASE("tpcc input: parameters out of range are refused by name")
{
    auto refused = [](auto change, const char *name) {
        Parameters parameters;

        change(parameters);
        try {
            parameters.verify();
        } catch (const Error &error) {
            return std::string(error.what()).find(name) != std::string::npos;
        }
        return false;
    };

    CHECK_NOTHROW(Parameters().verify());
    CHECK(refused([](Parameters &p) { p.warehouses = 0; }, "warehouses"));
    CHECK(refused([](Parameters &p) { p.warehouses = 10001; }, "warehouses"));
    CHECK(refused([](Parameters &p) { p.items = 0; }, "items"));
    CHECK(refused([](Parameters &p) { p.customers = 3001; }, "customers"));
    CHECK(refused([](Parameters &p) { p.customers = 0; }, "customers"));
    CHECK(refused([](Parameters &p) { p.remote_lines = 10001; }, "remote-lines"));
    CHECK(refused([](Parameters &p) { p.remote_payments = 10001; }, "remote-payments"));
    CHECK(refused([](Parameters &p) { p.rollbacks = 10001; }, "rollbacks"));
    CHECK(refused([](Parameters &p) { p.room = 0; }, "room"));
}

} // namespace dtx::tpcc
