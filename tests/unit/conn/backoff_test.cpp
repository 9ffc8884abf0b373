// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "conn/backoff.h"
}
#include "support/catch.h"

#include <algorithm>
#include <queue>
#include <vector>

namespace
{

// Clients that compete for one lock. Each try and each release is an atomic that the remote NIC
// carries out in turn, one in ATOMIC_NS, half a round trip after it was sent.
struct World {
    struct Event {
        uint64_t at_ns;
        size_t client;
        bool release;

        bool operator<(const Event &other) const
        {
            return at_ns > other.at_ns;
        }
    };

    static constexpr uint64_t WAY_NS = 800;
    static constexpr uint64_t ATOMIC_NS = 300;

    std::vector<rpmi_backoff> clients;
    std::priority_queue<Event> events; // arrivals at the NIC
    bool backs_off;
    uint64_t between_ns; // from a release to the next try
    uint64_t nic_free_ns = 0;
    uint64_t now_ns = 0;
    bool held = false;
    uint64_t taken = 0;
    uint64_t tries = 0;

    World(size_t n, bool backing_off, uint64_t pause_ns = 0)
        : clients(n), backs_off(backing_off), between_ns(pause_ns)
    {
        for (size_t i = 0; i < n; i++) {
            rpmi_backoff_open(&clients[i], i + 1);
            rpmi_backoff_begin(&clients[i]);
            events.push({ 1000 + i, i, false });
        }
    }
    void step()
    {
        Event event = events.top();
        uint64_t heard;
        rpmi_backoff *client = &clients[event.client];

        events.pop();
        now_ns = std::max(event.at_ns, nic_free_ns);
        nic_free_ns = now_ns + ATOMIC_NS;
        heard = nic_free_ns + WAY_NS;
        if (event.release) {
            held = false;
            rpmi_backoff_begin(client);
            events.push({ heard + between_ns + WAY_NS, event.client, false });
            return;
        }
        tries++;
        rpmi_backoff_round_trip(client, heard - event.at_ns + WAY_NS);
        if (!held) {
            held = true;
            taken++;
            rpmi_backoff_done(client, heard);
            events.push({ heard + WAY_NS, event.client, true });
            return;
        }
        uint64_t wait = rpmi_backoff_conflict(client, heard);
        events.push({ heard + (backs_off ? wait : 0) + WAY_NS, event.client, false });
    }
    // Locks taken in a second of this model's time.
    uint64_t run(uint64_t ns)
    {
        uint64_t end = now_ns + ns;
        uint64_t before = taken;

        while (now_ns < end)
            step();
        return (taken - before) * 1000000000 / ns;
    }
};

constexpr uint64_t SECOND = 1000000000;

} // namespace

TEST_CASE("backoff: under contention more locks are taken, with fewer tries", "[unit]")
{
    World eager(48, false);
    World polite(48, true);

    eager.run(SECOND / 5); // after the time that it takes to adapt
    polite.run(SECOND / 5);
    eager.tries = polite.tries = 0;
    uint64_t eager_taken = eager.run(SECOND / 5);
    uint64_t polite_taken = polite.run(SECOND / 5);
    CAPTURE(eager_taken, polite_taken, eager.tries, polite.tries);
    CHECK(polite_taken > 2 * eager_taken);
    CHECK(polite.tries < eager.tries / 2);
}

TEST_CASE("backoff: without a conflict a client does not wait", "[unit]")
{
    World alone(1, true);

    alone.run(SECOND / 10);
    CHECK(alone.clients[0].max_ns == alone.clients[0].unit_ns);
    CHECK(alone.clients[0].conflicts == 0);
    CHECK(alone.tries == alone.taken);
}

TEST_CASE("backoff: the maximum grows with conflicts and comes back without", "[unit]")
{
    rpmi_backoff backoff;
    uint64_t now = 1;

    rpmi_backoff_open(&backoff, 1);
    uint64_t unit = backoff.unit_ns;
    CHECK(backoff.max_ns == unit);
    for (int i = 0; i < 100000; i++)
        (void)rpmi_backoff_conflict(&backoff, now += unit);
    CHECK(backoff.max_ns == 1024 * unit);
    CHECK(backoff.wait_ns == 1024 * unit);
    // A third of all tries fail: the maximum stays.
    for (int i = 0; i < 100000; i++) {
        now += unit;
        if (i % 3 == 0)
            (void)rpmi_backoff_conflict(&backoff, now);
        else
            rpmi_backoff_done(&backoff, now);
    }
    CHECK(backoff.max_ns == 1024 * unit);
    for (int i = 0; i < 100000; i++)
        rpmi_backoff_done(&backoff, now += unit);
    CHECK(backoff.max_ns == unit);
    CHECK(backoff.wait_ns == unit);
}

TEST_CASE("backoff: the wait doubles from try to try, with chance, and starts over", "[unit]")
{
    rpmi_backoff backoff;
    bool differs = false;
    uint64_t last = 0;

    rpmi_backoff_open(&backoff, 7);
    uint64_t unit = backoff.unit_ns;
    backoff.max_ns = 8 * unit;
    for (uint64_t at : { 1u, 2u, 4u, 8u, 8u, 8u, 8u }) {
        uint64_t wait = rpmi_backoff_conflict(&backoff, 1);

        CHECK(wait >= at * unit);
        CHECK(wait < (at + 1) * unit);
        differs = differs || (last != 0 && at == 8 && wait != last);
        last = at == 8 ? wait : 0;
    }
    CHECK(differs);
    rpmi_backoff_begin(&backoff);
    CHECK(rpmi_backoff_conflict(&backoff, 1) < 2 * unit);
}

TEST_CASE("backoff: the unit follows the round trip, the maximum with it", "[unit]")
{
    rpmi_backoff backoff;

    rpmi_backoff_open(&backoff, 1);
    backoff.max_ns = 64 * backoff.unit_ns;
    for (uint64_t ns : { 60000ull, 1800ull, 0ull, 1000000000000ull }) {
        for (int i = 0; i < 300; i++) {
            rpmi_backoff_round_trip(&backoff, ns);
            REQUIRE(backoff.unit_ns <= backoff.wait_ns);
            REQUIRE(backoff.wait_ns <= backoff.max_ns);
            REQUIRE(backoff.max_ns == 64 * backoff.unit_ns);
        }
        uint64_t expect = std::min<uint64_t>(std::max<uint64_t>(ns, 100), 10000000);
        CAPTURE(ns, backoff.unit_ns);
        CHECK(backoff.unit_ns >= expect - expect / 50 - 8);
        CHECK(backoff.unit_ns <= expect + expect / 50 + 8);
    }
}

TEST_CASE("backoff: clients of different seeds do not march in step", "[unit]")
{
    rpmi_backoff one;
    rpmi_backoff two;
    int same = 0;

    rpmi_backoff_open(&one, 1);
    rpmi_backoff_open(&two, 2);
    for (int i = 0; i < 100; i++)
        same += rpmi_backoff_conflict(&one, 1) == rpmi_backoff_conflict(&two, 1);
    CHECK(same < 10);
}
