// SPDX-License-Identifier: BSD-3-Clause
// Lists that begin with a WATCH at the server: held until the word changes or the time is over; who
// leaves; how long the engine may sleep meanwhile.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "base/clock.h"
#include "serve/serve.h"
}
#include <cstring>
#include <unistd.h>

namespace
{

const uint64_t MS = 1000000;

// A server without threads, with two clients that have a DRAM region each may read.
struct WatchBench {
    support::Server fixture;
    rpm_server *server = fixture.get();
    rpmi_watches *watches = server->watches;
    uint32_t client[2] = {};
    uint32_t key[2] = {};
    uint64_t at = 0; // of the region, in DRAM
    rpmi_batch batch;
    unsigned char list[64] = {};
    unsigned char answer[64] = {};

    explicit WatchBench(uint32_t clients_max = 2) : fixture(without_threads(clients_max))
    {
        for (int i = 0; i < 2; i++) {
            REQUIRE(rpmi_service_attach(server->service, &client[i]) == 0);
            key[i] = open(client[i]);
        }
        rpmi_batch_begin(&batch);
    }
    WatchBench(const WatchBench &) = delete;
    static support::ServerOpts without_threads(uint32_t clients_max)
    {
        support::ServerOpts opts;

        opts.bytes = 1 << 20;
        opts.clients_max = clients_max;
        opts.threads = support::ServerOpts::kNone;
        return opts;
    }
    uint32_t open(uint32_t who)
    {
        rpmi_call call = {};
        rpmi_reply reply = {};

        call.kind = RPMI_CALL_OPEN;
        call.flags = RPMI_CALL_CREATE;
        call.object = RPM_KIND_DRAM;
        call.bytes = 4096;
        strcpy(call.name, "words");
        rpmi_serve_lock(server);
        rpmi_service_call(server->service, who, &call, &reply);
        rpmi_serve_unlock(server);
        REQUIRE(reply.status == 0);
        at = reply.offset;
        return reply.key;
    }
    uint64_t &word(uint64_t offset)
    {
        return *reinterpret_cast<uint64_t *>(server->dram.base + at + offset);
    }
    int run(int i, uint64_t offset, uint64_t expect, uint64_t wait_us, uint64_t answer_bytes = 16)
    {
        rpmi_step step = {};

        step.kind = RPMI_STEP_WATCH;
        step.len = 8;
        step.key = key[i];
        step.offset = offset;
        step.expect = expect;
        step.operand = wait_us;
        return run(i, rpmi_step_put(list, &step), answer_bytes);
    }
    int run(int i, uint64_t list_bytes, uint64_t answer_bytes)
    {
        rpmi_op op = {};
        rpmi_part part = {};

        op.kind = RPMI_OP_STEPS;
        op.body = list;
        op.body_bytes = list_bytes;
        op.into = answer;
        op.len = answer_bytes;
        rpmi_serve_lock(server);
        int err = rpmi_request_do(server, client[i], &op, &part, &batch);
        rpmi_serve_unlock(server);
        return err;
    }
    uint32_t done() const
    {
        uint32_t n = 99;

        REQUIRE(rpmi_steps_answer_get(answer, 1, &n) == 0);
        return n;
    }
    uint64_t found() const
    {
        uint64_t value;

        memcpy(&value, answer + RPMI_STEPS_ANSWER_HEAD, sizeof(value));
        return value;
    }
    bool due(int i) const
    {
        return rpmi_watches_is_due(watches, client[i]);
    }
    void leave(int i)
    {
        rpmi_serve_lock(server);
        rpmi_service_detach(server->service, client[i]);
        rpmi_watches_forget(server, client[i]);
        rpmi_serve_unlock(server);
    }
};

} // namespace

TEST_CASE("watches: a list is held until the word differs, and due at the next look", "[unit]")
{
    WatchBench bench;

    bench.word(8) = 5;
    REQUIRE(bench.run(0, 8, 5, 1000000) == RPMI_HELD);
    CHECK(bench.watches->n == 1);
    rpmi_watches_look(bench.server);
    CHECK_FALSE(bench.due(0));
    CHECK(bench.run(0, 8, 5, 1000000) == RPMI_HELD); // tried too early
    CHECK(bench.watches->n == 1);
    bench.word(8) = 6;
    CHECK_FALSE(bench.due(0));
    uint64_t fired = bench.watches->fired;
    rpmi_watches_look(bench.server);
    CHECK(bench.due(0));
    CHECK(bench.watches->fired == fired + 1);
    rpmi_watches_look(bench.server);
    CHECK(bench.watches->fired == fired + 1); // once
    REQUIRE(bench.run(0, 8, 5, 1000000) == 0);
    CHECK(bench.done() == 1);
    CHECK(bench.found() == 6);
    CHECK(bench.watches->n == 0);
    CHECK_FALSE(bench.due(0));
}

TEST_CASE("watches: a list is due when its time is over, and ends with the word", "[unit]")
{
    WatchBench bench;

    REQUIRE(bench.run(0, 8, 0, 2000) == RPMI_HELD);
    REQUIRE(bench.run(1, 8, 0, 1000000) == RPMI_HELD);
    CHECK(rpmi_watches_nap_ms(bench.server) >= 0);
    CHECK(rpmi_watches_nap_ms(bench.server) <= 3);
    rpmi_clock_sleep_ns(2 * MS);
    rpmi_watches_look(bench.server);
    CHECK(bench.due(0));
    CHECK_FALSE(bench.due(1));
    REQUIRE(bench.run(0, 8, 0, 2000) == 0);
    CHECK(bench.done() == 0);
    CHECK(bench.found() == 0);
    CHECK(bench.watches->n == 1);
    CHECK(rpmi_watches_nap_ms(bench.server) > 100); // until the other one's time is over
    bench.word(8) = 1;
    REQUIRE(bench.run(1, 8, 0, 1000000) == 0); // without a look, too
    CHECK(bench.done() == 1);
    CHECK(rpmi_watches_nap_ms(bench.server) == -1);
}

TEST_CASE("watches: a word that changes back before the list is tried goes on being watched",
          "[unit]")
{
    WatchBench bench;

    REQUIRE(bench.run(0, 8, 0, 1000000) == RPMI_HELD);
    bench.word(8) = 1;
    rpmi_watches_look(bench.server);
    bench.word(8) = 0;
    CHECK(bench.due(0));
    CHECK(bench.run(0, 8, 0, 1000000) == RPMI_HELD);
    CHECK_FALSE(bench.due(0));
    CHECK(bench.watches->n == 1);
}

TEST_CASE("watches: a client that leaves is dropped, and its slot serves the next one", "[unit]")
{
    bool looked = GENERATE(true, false);
    WatchBench bench;

    REQUIRE(bench.run(0, 8, 0, 1000000) == RPMI_HELD);
    REQUIRE(bench.run(1, 16, 0, 1000000) == RPMI_HELD);
    bench.word(8) = 1;
    rpmi_watches_look(bench.server);
    CHECK(bench.due(0));
    bench.leave(0);
    CHECK_FALSE(bench.due(0));
    if (looked) {
        rpmi_watches_look(bench.server);
        CHECK(bench.watches->n == 1);
    }
    uint32_t before = bench.client[0];
    REQUIRE(rpmi_service_attach(bench.server->service, &bench.client[0]) == 0);
    REQUIRE(bench.client[0] % 2 == before % 2); // of two clients
    bench.key[0] = bench.open(bench.client[0]);
    CHECK_FALSE(bench.due(0));
    bench.word(24) = 0;
    REQUIRE(bench.run(0, 24, 0, 1000000) == RPMI_HELD);
    CHECK(bench.watches->n == 2);
    rpmi_watches_look(bench.server);
    CHECK_FALSE(bench.due(0));
    bench.word(24) = 7;
    bench.word(16) = 7;
    rpmi_watches_look(bench.server);
    CHECK(bench.due(0));
    CHECK(bench.due(1));
    CHECK(bench.run(0, 24, 0, 1000000) == 0);
    CHECK(bench.run(1, 16, 0, 1000000) == 0);
    CHECK(bench.watches->n == 0);
}

TEST_CASE("watches: what may not be read, or is no list, is refused at once", "[unit]")
{
    WatchBench bench;

    CHECK(bench.run(0, 8, 0, 1000, 24) == RPM_E_PROTO); // another answer
    CHECK(bench.run(0, 4096, 0, 1000) == RPM_E_RANGE);
    bench.key[0] = 77;
    CHECK(bench.run(0, 8, 0, 1000) == RPM_E_DENIED);
    CHECK(bench.watches->n == 0);
}

TEST_CASE("watches: a list that the client changes while it is held is forgotten", "[unit]")
{
    WatchBench bench;

    SECTION("to one that is refused")
    {
        REQUIRE(bench.run(0, 8, 0, 1000000) == RPMI_HELD);
        CHECK(bench.run(0, 4096, 0, 1000000) == RPM_E_RANGE);
    }
    SECTION("to one that does not watch")
    {
        rpmi_step step = {};

        REQUIRE(bench.run(0, 8, 0, 1000000) == RPMI_HELD);
        step.kind = RPMI_STEP_READ;
        step.len = 8;
        step.key = bench.key[0];
        CHECK(bench.run(0, rpmi_step_put(bench.list, &step), uint64_t{ 16 }) == 0);
    }
    CHECK(bench.watches->n == 0);
    CHECK(rpmi_watches_nap_ms(bench.server) == -1);
}

TEST_CASE("watches: the engine looks after a pass that changed memory, else now and then", "[unit]")
{
    WatchBench bench;

    bool skipped = false;

    REQUIRE(bench.run(0, 8, 0, 1000000) == RPMI_HELD);
    CHECK_FALSE(bench.batch.changed);
    rpmi_watches_look(bench.server);
    uint64_t looked = bench.watches->looked_ns;
    rpmi_watches_look_after(bench.server, true);
    CHECK(bench.watches->looked_ns > looked);
    rpmi_clock_sleep_ns(MS);
    looked = bench.watches->looked_ns;
    rpmi_watches_look_after(bench.server, false);
    CHECK(bench.watches->looked_ns > looked);
    for (int i = 0; i < 100 && !skipped; i++) { // a millisecond may pass between the two
        rpmi_watches_look(bench.server);
        looked = bench.watches->looked_ns;
        rpmi_watches_look_after(bench.server, false);
        skipped = bench.watches->looked_ns == looked;
    }
    CHECK(skipped);
    for (uint8_t kind : { RPMI_OP_WRITE, RPMI_OP_FAA }) {
        rpmi_op op = {};
        rpmi_part part = { 0, 8 };
        uint64_t body = 0;

        op.kind = kind;
        op.key = bench.key[1];
        op.offset = 128;
        op.len = op.body_bytes = kind == RPMI_OP_WRITE ? 8 : 0;
        op.body = &body;
        op.into = &body;
        bench.batch.changed = false;
        rpmi_serve_lock(bench.server);
        REQUIRE(rpmi_request_do(bench.server, bench.client[1], &op, &part, &bench.batch) == 0);
        rpmi_serve_unlock(bench.server);
        CHECK(bench.batch.changed);
    }
}

TEST_CASE("watches: while a client stores without the engine, it sleeps for a millisecond",
          "[unit]")
{
    support::Server server;
    rpm_conn *direct = nullptr;
    auto storing = [&] { return __atomic_load_n(&server.get()->storing, __ATOMIC_RELAXED); };

    CHECK(storing() == 0);
    REQUIRE(rpm_conn_open(server.url("direct").c_str(), nullptr, &direct) == 0);
    CHECK(storing() == 1);
    rpm_conn_close(&direct);
    for (int i = 0; i < 20000 && storing() != 0; i++)
        rpmi_clock_sleep_ns(MS);
    CHECK(storing() == 0);

    WatchBench bench;
    REQUIRE(bench.run(0, 8, 0, 1000000) == RPMI_HELD);
    CHECK(rpmi_watches_nap_ms(bench.server) > 100);
    bench.server->storing = 1;
    CHECK(rpmi_watches_nap_ms(bench.server) == 1);
    bench.server->storing = 0;
}

TEST_CASE("watches: the control thread wakes the engine if it may have changed a watched word",
          "[unit]")
{
    bool watched = GENERATE(false, true);
    WatchBench bench(3);
    rpmi_listener listener = {};
    rpmi_session session = {};
    rpmi_auth auth = {};
    rpmi_accept accepted;
    rpmi_call call = {};
    rpmi_reply reply;
    uint64_t count = 0;
    auto woken = [&] {
        return read(bench.server->engine_notify_fd, &count, sizeof(count)) == sizeof(count);
    };

    CAPTURE(watched);
    listener.server = bench.server;
    listener.facts = rpm_facts_init();
    if (watched)
        REQUIRE(bench.run(0, 8, 0, 1000000) == RPMI_HELD);
    REQUIRE(rpmi_session_enter(&listener, &session, &listener.facts, &auth, &accepted) == 0);
    (void)woken();
    call.kind = RPMI_CALL_NEXT;
    rpmi_call_put(session.call, &call);
    REQUIRE(rpmi_session_serve(&listener, &session, &call, &reply));
    CHECK(woken() == watched);
    rpmi_session_leave(&listener, &session); // it frees locks
    CHECK(woken() == watched);
}
