// SPDX-License-Identifier: BSD-3-Clause
// Orders that a server holds for an agent, from the client's list to its answer.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "serve/serve.h"
#include "wire/certificate.h"
}
#include <cstring>

namespace
{

struct OrdersBench {
    support::Server fixture{ without_threads() };
    rpm_server *server = fixture.get();
    unsigned char list[RPMI_STEPS_BYTES] = {};
    unsigned char answer[RPMI_STEPS_BYTES] = {};

    OrdersBench()
    {
        REQUIRE(rpmi_orders_open(server) == 0);
    }
    OrdersBench(const OrdersBench &) = delete;
    static support::ServerOpts without_threads()
    {
        support::ServerOpts opts;

        opts.bytes = 1 << 20;
        opts.clients_max = 2;
        opts.threads = support::ServerOpts::kNone;
        return opts;
    }
    rpmi_op order(uint32_t proves, bool faa = false)
    {
        rpmi_op op = {};
        uint32_t bytes = 0;

        op.kind = RPMI_OP_STEPS;
        op.len = RPMI_STEPS_ANSWER_HEAD;
        for (uint32_t i = 0; i < proves; i++) {
            rpmi_step step = {};

            step.kind = RPMI_STEP_PROVE;
            step.len = RPMI_CERTIFICATE_BYTES;
            step.end_lsn = 64;
            bytes += rpmi_step_put(list + bytes, &step);
            op.len += RPMI_CERTIFICATE_BYTES;
        }
        if (faa) {
            rpmi_step step = {};

            step.kind = RPMI_STEP_FAA;
            step.len = 8;
            bytes += rpmi_step_put(list + bytes, &step);
            op.len += 8;
        }
        op.body = list;
        op.body_bytes = bytes;
        op.into = answer;
        return op;
    }
    // The same with a CARRY of @len bytes in front.
    rpmi_op carry(uint32_t proves, uint16_t len)
    {
        rpmi_op op = order(proves);
        unsigned char behind[RPMI_STEPS_BYTES];
        rpmi_step step = {};

        memcpy(behind, list, op.body_bytes);
        step.kind = RPMI_STEP_CARRY;
        step.len = len;
        step.data = answer;
        uint32_t bytes = rpmi_step_put(list, &step);
        memcpy(list + bytes, behind, op.body_bytes);
        op.body_bytes += bytes;
        return op;
    }
    int run(uint32_t client, const rpmi_op &op)
    {
        rpmi_serve_lock(server);
        int err = rpmi_orders_want(server, client, &op) ? rpmi_orders_do(server, client, &op) : 99;
        rpmi_serve_unlock(server);
        return err;
    }
    void leave(uint32_t client)
    {
        rpmi_serve_lock(server);
        rpmi_orders_forget(server, client);
        rpmi_serve_unlock(server);
    }
};

} // namespace

TEST_CASE("orders: a list is held until the agent answers", "[unit][agent]")
{
    OrdersBench bench;
    uint64_t answered = rpmi_orders_answered(bench.server->orders);

    CHECK(rpmi_orders_take(bench.server, 63, RPMI_STEPS_BYTES) == nullptr);
    CHECK(bench.run(1, bench.order(2)) == RPMI_HELD);
    CHECK(bench.run(1, bench.order(2)) == RPMI_HELD); // tried again, it is the same order
    rpmi_held_order *order = rpmi_orders_take(bench.server, 63, RPMI_STEPS_BYTES);
    REQUIRE(order != nullptr);
    CHECK(order->steps == 2);
    CHECK(order->bytes == bench.order(2).body_bytes);
    CHECK(memcmp(order->list, bench.list, order->bytes) == 0);
    CHECK(rpmi_orders_take(bench.server, 63, RPMI_STEPS_BYTES) == nullptr);
    CHECK_FALSE(rpmi_orders_moved(bench.server->orders, answered));
    memset(order->answer, 7, sizeof(order->answer));
    rpmi_orders_answer(bench.server, order, 0);
    CHECK(rpmi_orders_moved(bench.server->orders, answered));
    CHECK(bench.run(1, bench.order(2)) == 0);
    CHECK(bench.answer[0] == 7);
    CHECK(bench.answer[RPMI_STEPS_ANSWER_HEAD + 127] == 7);
    CHECK(bench.answer[RPMI_STEPS_ANSWER_HEAD + 128] == 0);
    CHECK(bench.run(1, bench.order(1)) == RPMI_HELD); // the next one
}

TEST_CASE("orders: what is to be carried goes with its PROVEs, if the agent has room",
          "[unit][agent]")
{
    OrdersBench bench;
    rpmi_op op = bench.carry(2, 1000);

    CHECK(bench.run(1, op) == RPMI_HELD);
    CHECK(rpmi_orders_take(bench.server, 2, RPMI_STEPS_BYTES) == nullptr);
    CHECK(rpmi_orders_take(bench.server, 63, static_cast<uint32_t>(op.body_bytes) - 1) == nullptr);
    rpmi_held_order *order =
        rpmi_orders_take(bench.server, 3, static_cast<uint32_t>(op.body_bytes));
    REQUIRE(order != nullptr);
    CHECK(order->steps == 3);
    CHECK(order->proves == 2);
    CHECK(memcmp(order->list, bench.list, order->bytes) == 0);
    rpmi_orders_answer(bench.server, order, 0);
    CHECK(bench.run(1, op) == 0);
    CHECK(bench.run(1, bench.carry(0, 8)) == 99);           // nothing is asked
    CHECK(bench.run(1, bench.carry(63, 8)) == RPM_E_PROTO); // an agent could never take it
}

TEST_CASE("orders: the agent may give a reason instead of an answer", "[unit][agent]")
{
    OrdersBench bench;

    CHECK(bench.run(1, bench.order(1)) == RPMI_HELD);
    rpmi_orders_answer(bench.server, rpmi_orders_take(bench.server, 63, RPMI_STEPS_BYTES),
                       RPM_E_LOST);
    CHECK(bench.run(1, bench.order(1)) == RPM_E_LOST);
}

TEST_CASE("orders: each client has one, and its turn; one too long for now waits", "[unit][agent]")
{
    OrdersBench bench;

    CHECK(bench.run(1, bench.order(5)) == RPMI_HELD);
    CHECK(bench.run(2, bench.order(1)) == RPMI_HELD);
    CHECK(bench.run(3, bench.order(1)) == RPM_E_BUSY);
    rpmi_held_order *small = rpmi_orders_take(bench.server, 4, RPMI_STEPS_BYTES);
    REQUIRE(small != nullptr);
    CHECK(small->client == 2);
    rpmi_held_order *large = rpmi_orders_take(bench.server, 5, RPMI_STEPS_BYTES);
    REQUIRE(large != nullptr);
    CHECK(large->client == 1);
    rpmi_orders_answer(bench.server, small, 0);
    rpmi_orders_answer(bench.server, large, 0);
    CHECK(bench.run(2, bench.order(1)) == 0);
    CHECK(bench.run(3, bench.order(1)) == RPMI_HELD);
}

TEST_CASE("orders: of a client that has left, nothing stays", "[unit][agent]")
{
    OrdersBench bench;

    CHECK(bench.run(1, bench.order(1)) == RPMI_HELD);
    bench.leave(1);
    CHECK(rpmi_orders_take(bench.server, 63, RPMI_STEPS_BYTES) == nullptr);
    CHECK(bench.run(1, bench.order(1)) == RPMI_HELD);
    rpmi_held_order *order = rpmi_orders_take(bench.server, 63, RPMI_STEPS_BYTES);
    REQUIRE(order != nullptr);
    bench.leave(1);
    CHECK(order->state == RPMI_ORDER_TAKEN); // until the agent gives it back
    rpmi_orders_answer(bench.server, order, 0);
    CHECK(order->state == RPMI_ORDER_FREE);
    bench.leave(7);
}

TEST_CASE("orders: lists with anything else are the server's own", "[unit][agent]")
{
    OrdersBench bench;
    rpmi_op op = bench.order(2, true);

    CHECK(bench.run(1, op) == 99);
    op = bench.order(0, true);
    CHECK(bench.run(1, op) == 99);
    op.body_bytes = 0;
    CHECK(bench.run(1, op) == 99);
    op = bench.order(1);
    op.len++; // an answer of another length than its results
    CHECK(bench.run(1, op) == RPM_E_PROTO);
    op = bench.order(1);
    op.body_bytes = RPMI_STEPS_BYTES + 1;
    CHECK(bench.run(1, op) == 99);
}
