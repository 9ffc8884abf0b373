// SPDX-License-Identifier: BSD-3-Clause
// tpcc_test.cpp: TPC-C: its load, its transactions, all conditions after a run, and whether each
// condition detects violations.
#include "servers.h"
#include "workload/tpcc/check.h"
#include "workload/tpcc/load.h"
#include "workload/tpcc/text.h"
#include "workload/tpcc/tpcc.h"
#include "workload/tpcc/transactions.h"

namespace dtx::tpcc
{

namespace
{

Parameters small(uint32_t warehouses, uint32_t servers)
{
    Parameters parameters;

    parameters.warehouses = warehouses;
    parameters.items = 100;
    parameters.customers = 30;
    parameters.room = 1500;
    parameters.servers = servers;
    return parameters;
}

// One warehouse on one server, for single transactions and for wrong rows.
class Company
{
  public:
    explicit Company(const Parameters &parameters = small(1, 1))
        : parameters_(parameters), servers_(1), workload_(parameters),
          cluster_(servers_.cluster(workload_, 1)), pieces_{ parameters_, workload_.tables() }
    {
        cluster_.create();
        dtx::load(workload_, cluster_, 1);
    }
    template <class Body> Status run(Body body)
    {
        return join(cluster_, 0)->transact_now(body).status;
    }
    // The row of a key, which must be there.
    template <class Row> Row row(Table<Row> table, uint64_t key)
    {
        Row found{};

        run([&](Txn &txn) -> Task<bool> {
            std::optional<Row> read = co_await txn.read(table, key);

            if (!read)
                co_return false;
            found = *read;
            co_return true;
        });
        return found;
    }
    Status new_order(const NewOrderInput &input, NewOrderOutput &output)
    {
        return run([&](Txn &txn) { return tpcc::new_order(txn, pieces_, input, output); });
    }
    Status pay(const PaymentInput &input, PaymentOutput &output)
    {
        return run([&](Txn &txn) { return payment(txn, pieces_, input, output); });
    }
    uint32_t deliver(uint32_t d)
    {
        DeliveryInput input{ 1, 7, 12345 };
        DeliveryOutput output{};

        CHECK(run([&](Txn &txn) { return tpcc::deliver(txn, pieces_, input, d, output); }) ==
              Status::committed);
        return output.o_id;
    }
    OrderStatusOutput ask(const Who &who)
    {
        OrderStatusOutput output{};
        OrderStatusInput input{ who };

        CHECK(run([&](Txn &txn) { return order_status(txn, pieces_, input, output); }) ==
              Status::committed);
        return output;
    }
    uint32_t low(uint32_t d, int32_t threshold)
    {
        StockLevelOutput output{};
        StockLevelInput input{ { 1, d }, threshold };

        CHECK(run([&](Txn &txn) { return stock_level(txn, pieces_, input, output); }) ==
              Status::committed);
        return output.low;
    }
    std::vector<std::string> check()
    {
        return workload_.check(cluster_, 0);
    }
    // Number of violations of a rule, such as "condition 4".
    size_t found(const std::string &rule)
    {
        return support::count_of(check(), rule + ": ");
    }
    const Tables &tables() const
    {
        return workload_.tables();
    }
    const Cluster &cluster() const
    {
        return cluster_;
    }
    const Parameters &parameters() const
    {
        return parameters_;
    }
    Totals totals()
    {
        return workload_.totals(cluster_, 0);
    }

  private:
    Parameters parameters_;
    support::Servers servers_;
    Tpcc workload_;
    Cluster cluster_;
    tpcc::Context pieces_;
};

NewOrderInput order_of(uint32_t d, uint32_t c_id, std::vector<uint32_t> items)
{
    NewOrderInput input{};

    input.home = { 1, d };
    input.c_id = c_id;
    input.count = static_cast<uint32_t>(items.size());
    input.date = 99;
    for (uint32_t i = 0; i < input.count; i++)
        input.line[i] = { items[i], 1, 3 };
    return input;
}

constexpr District kFirst{ 1, 1 };

} // namespace

TEST_CASE("tpcc: the load has the rows of the specification, on every copy")
{
    Parameters parameters = small(2, 2);
    support::Servers servers(2);
    Tpcc workload(parameters);
    Cluster cluster = servers.cluster(workload, 2);

    cluster.create();
    dtx::load(workload, cluster, 2);
    for (uint32_t copy = 0; copy < 2; copy++) {
        Facts facts = facts_of(cluster, copy, parameters, workload.tables());

        CHECK(check(facts, parameters).texts() == std::vector<std::string>{});
        CHECK(totals(facts) == workload.loaded());
        CHECK(facts.warehouse.size() == 2);
        CHECK(facts.district.size() == 20);
        CHECK(facts.customer.size() == 20 * 30);
        CHECK(facts.stock.size() == 200);
        CHECK(facts.items == 200);
        CHECK(facts.order.size() == 20 * 30);
        for (const auto &[key, district] : facts.district) {
            CHECK(district.next_o_id == 31);
            CHECK(district.new_orders == 9);
            CHECK(district.new_min == 22);
            CHECK(district.lines >= 30 * 5);
            CHECK(district.lines <= 30 * 15);
        }
    }
}

TEST_CASE("tpcc: a load into a database with rows is refused")
{
    Company store;
    Tpcc again(store.parameters());

    try {
        dtx::load(again, store.cluster(), 1);
        FAIL("was loaded twice");
    } catch (const Error &error) {
        CHECK(error.code() == RPM_E_EXISTS);
    }
}

TEST_CASE("tpcc: a new order takes stock and numbers, and adds up its total")
{
    Company store;
    NewOrderInput input = order_of(1, 5, { 10, 20, 30, 40, 10 });
    NewOrderOutput output{};
    StockRow before = store.row(store.tables().stock, stock_key(1, 20));
    int64_t sum = 0;

    REQUIRE(store.new_order(input, output) == Status::committed);
    CHECK(output.o_id == 31);
    StockRow stock = store.row(store.tables().stock, stock_key(1, 20));
    CHECK(stock.quantity == (before.quantity >= 13 ? before.quantity - 3 : before.quantity + 88));
    CHECK(stock.ytd == 3);
    CHECK(stock.order_count == 1);
    CHECK(stock.remote_count == 0);
    CHECK(store.row(store.tables().stock, stock_key(1, 10)).order_count == 2);
    for (uint32_t i = 0; i < 5; i++) {
        ItemRow item = store.row(store.tables().item, item_key(1, input.line[i].i_id, 1));
        OrderLineRow line = store.row(store.tables().order_line, order_line_key(kFirst, 31, i + 1));

        CHECK(line.amount == int64_t{ 3 } * item.price);
        CHECK(line.i_id == input.line[i].i_id);
        CHECK(line.delivery_date == 0);
        CHECK(line.district_info.view() ==
              store.row(store.tables().stock, stock_key(1, line.i_id)).district[0].view());
        CHECK(output.line[i].amount == line.amount);
        sum += line.amount;
    }
    OrderRow order = store.row(store.tables().order, order_key(kFirst, 31));
    CHECK(order.c_id == 5);
    CHECK(order.lines == 5);
    CHECK(order.all_local == 1);
    CHECK(order.carrier == 0);
    uint32_t discount = store.row(store.tables().customer, customer_key(kFirst, 5)).discount;
    uint32_t tax = store.row(store.tables().warehouse, warehouse_key(1)).tax +
                   store.row(store.tables().district, district_key(kFirst)).tax;
    CHECK(output.total ==
          static_cast<int64_t>(static_cast<double>(sum) * (1 - discount / 1e4) * (1 + tax / 1e4) +
                               1e-6));
    CHECK(store.check() == std::vector<std::string>{});
}

TEST_CASE("tpcc: stock of less than the order plus ten is increased by 91")
{
    Company store;
    NewOrderOutput output{};
    auto after = [&](int32_t quantity) {
        support::change_row(store.cluster(), store.tables().stock, stock_key(1, 7),
                            [&](StockRow &row) { row.quantity = quantity; });
        REQUIRE(store.new_order(order_of(2, 1, { 7, 1, 2, 3, 4 }), output) == Status::committed);
        return store.row(store.tables().stock, stock_key(1, 7)).quantity;
    };

    CHECK(after(14) == 11);
    CHECK(after(13) == 10);
    CHECK(after(12) == 100);
}

TEST_CASE("tpcc: an unused item number undoes the whole order")
{
    Company store;
    NewOrderInput input = order_of(1, 5, { 10, 20, 30, 40, 101 });
    NewOrderOutput output{};
    Totals before = store.totals();
    StockRow stock = store.row(store.tables().stock, stock_key(1, 10));

    CHECK(store.new_order(input, output) == Status::aborted);
    CHECK(output.item_not_valid);
    // All work was done before the abort, and the terminal shows its results.
    CHECK(output.o_id == 31);
    CHECK(output.line[3].amount > 0);
    CHECK(output.last.view() ==
          store.row(store.tables().customer, customer_key(kFirst, 5)).last.view());
    CHECK(store.totals() == before);
    CHECK(store.row(store.tables().stock, stock_key(1, 10)).order_count == stock.order_count);
    CHECK(store.check() == std::vector<std::string>{});
    input.line[4].i_id = 50;
    CHECK(store.new_order(input, output) == Status::committed);
    CHECK(output.o_id == 31);
}

TEST_CASE("tpcc: a payment by last name is of the customer in the middle")
{
    Company store;
    NamesakesRow row = store.row(store.tables().namesakes, name_key(kFirst, 3));
    PaymentInput input{ kFirst, { kFirst, true, 3 }, 4200, 99 };
    PaymentOutput output{};

    REQUIRE(row.count > 0);
    uint32_t middle = row.customer[(row.count + 1) / 2 - 1];
    CustomerRow before = store.row(store.tables().customer, customer_key(kFirst, middle));
    CHECK(before.last.view() == last_name(3));
    REQUIRE(store.pay(input, output) == Status::committed);
    CHECK(output.c_id == middle);
    CustomerRow after = store.row(store.tables().customer, customer_key(kFirst, middle));
    CHECK(after.balance == before.balance - 4200);
    CHECK(after.ytd_payment == before.ytd_payment + 4200);
    CHECK(after.payment_count == 2);
    CHECK(store.check() == std::vector<std::string>{});
}

TEST_CASE("tpcc: a payment with bad credit is noted in front and cut at 500 letters")
{
    Company store;
    PaymentInput input{ { 1, 4 }, { { 1, 2 }, false, 9 }, 123456, 99 };
    PaymentOutput output{};
    uint64_t key = customer_key({ 1, 2 }, 9);

    support::change_row(store.cluster(), store.tables().customer, key, [](CustomerRow &row) {
        row.credit.set("BC");
        row.data.set(std::string(500, 'x'));
    });
    REQUIRE(store.pay(input, output) == Status::committed);
    std::string data(store.row(store.tables().customer, key).data.view());
    CHECK(data.substr(0, 22) == "9 2 1 4 1 1234.56 xxxx");
    CHECK(data.size() == 500);
    support::change_row(store.cluster(), store.tables().customer, key,
                        [](CustomerRow &row) { row.credit.set("GC"); });
    REQUIRE(store.pay(input, output) == Status::committed);
    CHECK(store.row(store.tables().customer, key).data.view() == data);
}

TEST_CASE("tpcc: the status of an order is that of the customer's latest one")
{
    Company store;
    NewOrderOutput output{};
    OrderStatusOutput status = store.ask({ kFirst, false, 5 });

    CHECK(status.o_id <= 30);
    REQUIRE(store.new_order(order_of(1, 5, { 1, 2, 3, 4, 5, 6 }), output) == Status::committed);
    REQUIRE(store.new_order(order_of(1, 6, { 1, 2, 3, 4, 5 }), output) == Status::committed);
    status = store.ask({ kFirst, false, 5 });
    CHECK(status.o_id == 31);
    CHECK(status.lines == 6);
    CHECK(status.carrier == 0);
    CHECK(status.balance == -1000);
}

TEST_CASE("tpcc: a delivery takes the oldest new order, or none if there is none")
{
    Company store;
    uint64_t key = order_key(kFirst, 22);
    uint32_t c_id = store.row(store.tables().order, key).c_id;

    CHECK(store.deliver(1) == 22);
    CHECK(store.row(store.tables().order, key).carrier == 7);
    CHECK(store.row(store.tables().order_line, order_line_key(kFirst, 22, 1)).delivery_date ==
          12345);
    CustomerRow customer = store.row(store.tables().customer, customer_key(kFirst, c_id));
    CHECK(customer.delivery_count == 1);
    CHECK(customer.balance > -1000);
    CHECK(store.check() == std::vector<std::string>{});
    for (uint32_t o = 23; o <= 30; o++)
        CHECK(store.deliver(1) == o);
    CHECK(store.deliver(1) == 0);
    CHECK(store.check() == std::vector<std::string>{});
    CHECK(store.totals()[1] == 9);
}

TEST_CASE("tpcc: the stock level counts the items of the last 20 orders that are low")
{
    Company store;
    NewOrderOutput output{};
    std::vector<uint32_t> few = { 1, 2, 3, 3, 2 };

    for (uint32_t i = 1; i <= 100; i++)
        support::change_row(store.cluster(), store.tables().stock, stock_key(1, i),
                            [&](StockRow &row) { row.quantity = i <= 2 ? 15 : 1000; });
    for (uint32_t i = 0; i < 20; i++)
        REQUIRE(store.new_order(order_of(3, 1, { 50, 51, 52, 53, 54 }), output) ==
                Status::committed);
    CHECK(store.low(3, 20) == 0);
    for (uint32_t item : { 1, 2, 3 })
        support::change_row(store.cluster(), store.tables().stock, stock_key(1, item),
                            [&](StockRow &row) { row.quantity = item <= 2 ? 19 : 1000; });
    REQUIRE(store.new_order(order_of(3, 1, few), output) == Status::committed);
    CHECK(store.low(3, 17) == 2);
    CHECK(store.low(3, 16) == 1);
    CHECK(store.low(3, 10) == 0);
    for (uint32_t i = 0; i < 20; i++)
        REQUIRE(store.new_order(order_of(3, 1, { 50, 51, 52, 53, 54 }), output) ==
                Status::committed);
    CHECK(store.low(3, 17) == 0);
}

TEST_CASE("tpcc: all conditions hold on every copy after the full mix by two threads")
{
    support::Servers servers(3);
    Parameters parameters = small(2, 3);
    RunOptions options;

    parameters.remote_lines = 1000;
    parameters.rollbacks = 500;
    options.threads = 2;
    options.coroutines = 3;
    options.transactions = 1500;
    Tpcc workload(parameters);
    Cluster cluster = servers.cluster(workload, 2);
    RunResult result = support::load_and_run(workload, cluster, options);

    for (const KindCounts &counts : result.tally.counts)
        CHECK(counts.committed > 0);
    CHECK(result.tally.counts[kNewOrder].aborted > 0);
    CHECK(result.tally.ledger.committed()[0] == result.tally.counts[kNewOrder].committed);
    CHECK(result.tally.ledger.committed()[3] == result.tally.counts[kPayment].committed);
}

TEST_CASE("tpcc: conditions 1, 2, 3, 8, 9 and 11 detect wrong districts")
{
    Company store;
    const Tables &tables = store.tables();
    uint64_t key = district_key(kFirst);

    REQUIRE(store.check().empty());
    support::change_row(store.cluster(), tables.district, key, [](DistrictRow &row) { row.ytd++; });
    CHECK(store.found("condition 1") == 1);
    CHECK(store.found("condition 8") == 0);
    CHECK(store.found("condition 9") == 1);
    support::change_row(store.cluster(), tables.warehouse, warehouse_key(1),
                        [](WarehouseRow &row) { row.ytd++; });
    CHECK(store.found("condition 1") == 0);
    CHECK(store.found("condition 8") == 1);
    support::change_row(store.cluster(), tables.district, key,
                        [](DistrictRow &row) { row.next_o_id++; });
    CHECK(store.found("condition 2") == 2);
    support::change_row(store.cluster(), tables.district, key,
                        [](DistrictRow &row) { row.next_o_id--; });
    CHECK(store.found("condition 2") == 0);
    support::erase_row(store.cluster(), tables.new_order, order_key(kFirst, 25));
    CHECK(store.found("condition 3") == 1);
    CHECK(store.found("condition 5") == 1);
    CHECK(store.found("condition 11") == 1);
}

TEST_CASE("tpcc: conditions 4 to 7 detect wrong orders and lines")
{
    Company store;
    const Tables &tables = store.tables();

    support::change_row(store.cluster(), tables.order, order_key(kFirst, 3),
                        [](OrderRow &row) { row.lines++; });
    CHECK(store.found("condition 4") == 1);
    CHECK(store.found("condition 6") == 1);
    support::change_row(store.cluster(), tables.order, order_key({ 1, 2 }, 3),
                        [](OrderRow &row) { row.carrier = 0; });
    CHECK(store.found("condition 5") == 1);
    CHECK(store.found("condition 7") == 1);
    support::change_row(store.cluster(), tables.order, order_key({ 1, 2 }, 3),
                        [](OrderRow &row) { row.carrier = 1; });
    CHECK(store.found("condition 7") == 0);
    support::change_row(store.cluster(), tables.order_line, order_line_key({ 1, 2 }, 3, 1),
                        [](OrderLineRow &row) { row.delivery_date = 0; });
    CHECK(store.found("condition 7") == 1);
    support::erase_row(store.cluster(), tables.order, order_key({ 1, 3 }, 4));
    CHECK(store.found("rows") >= 1);
    CHECK(store.found("condition 4") >= 1);
    CHECK(store.found("orders by customer") == 1);
}

TEST_CASE("tpcc: conditions 10 and 12 and the counts detect wrong customers")
{
    Company store;
    const Tables &tables = store.tables();
    uint64_t key = customer_key(kFirst, 8);

    support::change_row(store.cluster(), tables.customer, key,
                        [](CustomerRow &row) { row.balance++; });
    CHECK(store.found("condition 10") == 1);
    CHECK(store.found("condition 12") == 1);
    support::change_row(store.cluster(), tables.customer, key,
                        [](CustomerRow &row) { row.ytd_payment--; });
    CHECK(store.found("condition 10") == 1);
    CHECK(store.found("condition 12") == 0);
    support::change_row(store.cluster(), tables.customer, key,
                        [](CustomerRow &row) { row.payment_count++; });
    CHECK(store.found("payments") == 1);
    support::change_row(store.cluster(), tables.customer, key,
                        [](CustomerRow &row) { row.delivery_count++; });
    CHECK(store.found("deliveries") == 1);
    CHECK(store.found("condition 11") == 1);
    support::erase_row(store.cluster(), tables.history, customer_key(kFirst, 9));
    CHECK(store.found("condition 8") == 1);
    CHECK(store.found("condition 9") == 1);
    CHECK(store.found("payments") == 2);
}

TEST_CASE("tpcc: names, entries by customer, stock and rows are checked too")
{
    Company store;
    const Tables &tables = store.tables();
    OrderRow order = store.row(tables.order, order_key(kFirst, 12));

    support::change_row(store.cluster(), tables.namesakes, name_key(kFirst, 2),
                        [](NamesakesRow &row) { row.count--; });
    CHECK(store.found("last names") == 1);
    CHECK(store.found("rows") == 1);
    support::change_row(store.cluster(), tables.customer, customer_key({ 1, 2 }, 5),
                        [](CustomerRow &row) { row.last.set("ABSENT"); });
    CHECK(support::count_of(store.check(), "last names: 1 out of order") == 1);
    support::erase_row(store.cluster(), tables.customer_order,
                       customer_order_key(kFirst, order.c_id, 12));
    CHECK(store.found("orders by customer") == 2);
    support::change_row(store.cluster(), tables.stock, stock_key(1, 3), [](StockRow &row) {
        row.ytd++;
        row.order_count++;
        row.remote_count++;
    });
    CHECK(store.found("stock") == 3);
    support::erase_row(store.cluster(), tables.item, item_key(1, 5, 1));
    CHECK(support::count_of(store.check(), "rows: items 99 and 100") == 1);
}

} // namespace dtx::tpcc
