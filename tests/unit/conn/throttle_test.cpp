// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "conn/credit.h"
#include "conn/throttle.h"
}
#include "support/catch.h"

#include <algorithm>
#include <deque>
#include <functional>

namespace
{

// A NIC that completes operations in order, each at least a round trip after it was posted, at a
// rate that depends on the number that it holds.
struct Nic {
    uint64_t now_ns = 1000;
    uint64_t round_trip_ns = 2000;
    uint64_t free_ns = 0; // when it can begin the next one
    std::function<uint64_t(size_t)> service_ns;
    std::deque<uint64_t> ends;

    void post()
    {
        free_ns = std::max(free_ns, now_ns) + service_ns(ends.size() + 1);
        ends.push_back(std::max(free_ns, now_ns + round_trip_ns));
    }
    // Advances to the completion of one operation.
    void wait()
    {
        now_ns = std::max(now_ns, ends.front());
        while (!ends.empty() && ends.front() <= now_ns)
            ends.pop_front();
    }
};

// A caller that always has more operations, with at most so many outstanding.
struct Caller {
    rpmi_throttle throttle;
    uint32_t want;
    uint64_t done = 0;

    Caller(uint32_t depth, uint32_t wanted) : want(wanted)
    {
        rpmi_throttle_open(&throttle, depth);
    }
    void turn(Nic &nic)
    {
        while (nic.ends.size() < want) {
            if (nic.ends.size() >= throttle.limit) {
                throttle.held++;
                break;
            }
            if (nic.ends.empty())
                rpmi_throttle_alone(&throttle, nic.now_ns);
            nic.post();
            throttle.posted++;
        }
        nic.wait();
        done = throttle.posted - nic.ends.size();
        rpmi_throttle_done(&throttle, static_cast<uint32_t>(nic.ends.size()), nic.now_ns);
    }
    // Operations per second, counted for @ns.
    double run(Nic &nic, uint64_t ns)
    {
        uint64_t end = nic.now_ns + ns;
        uint64_t begin = nic.now_ns;
        uint64_t before = done;

        while (nic.now_ns < end)
            turn(nic);
        return static_cast<double>(done - before) * 1e9 / static_cast<double>(nic.now_ns - begin);
    }
    // Runs to the next trial and past it. A limit that a trial keeps holds for one more epoch.
    void again(Nic &nic)
    {
        REQUIRE(throttle.epochs_left > 0);
        throttle.epochs_left = 1;
        while (throttle.epochs_left > 0)
            turn(nic);
        settle(nic);
    }
    // Runs to the end of the present trial.
    void settle(Nic &nic)
    {
        while (throttle.epochs_left == 0)
            turn(nic);
    }
};

constexpr uint64_t SECOND_NS = 1000000000;

// A NIC that takes 50 ns for an operation up to @room outstanding ones, and a third of that rate
// beyond; its round trip is so long that this many keep it busy.
void falls_beyond(Nic &nic, size_t room)
{
    nic.round_trip_ns = room * 50;
    nic.service_ns = [room](size_t held) -> uint64_t { return held <= room ? 50 : 150; };
}

} // namespace

TEST_CASE("throttle: where the NIC slows down, the limit stays below", "[unit]")
{
    for (uint32_t room : { 20u, 40u, 80u }) {
        Nic nic;
        Caller caller(128, 128);

        falls_beyond(nic, room);
        caller.settle(nic);
        CAPTURE(room);
        CHECK(caller.throttle.limit <= room);
        CHECK(caller.throttle.limit > room / 2);
        double on = caller.run(nic, SECOND_NS / 100);
        Nic same = nic;
        same.ends.clear();
        Caller off(128, 128);
        off.throttle.limit = 128;
        off.throttle.epochs_left = UINT32_MAX; // no trials
        double without = off.run(same, SECOND_NS / 100);
        CHECK(on > 2 * without);
    }
}

TEST_CASE("throttle: a NIC as fast with many operations as with few gets no limit", "[unit]")
{
    Nic nic;
    Caller caller(256, 256);

    nic.service_ns = [](size_t) -> uint64_t { return 50; };
    caller.settle(nic);
    CHECK(caller.throttle.limit == 256);
    // A loss of less than a twentieth is no reason for a limit either.
    Nic slight;
    Caller other(256, 256);
    slight.round_trip_ns = 6400;
    slight.service_ns = [](size_t held) -> uint64_t { return held <= 64 ? 100 : 104; };
    other.settle(slight);
    CHECK(other.throttle.limit == 256);
    Nic more;
    Caller third(256, 256);
    more.round_trip_ns = 6400;
    more.service_ns = [](size_t held) -> uint64_t { return held <= 64 ? 100 : 108; };
    third.settle(more);
    CHECK(third.throttle.limit == 64);
}

TEST_CASE("throttle: a load that nothing held back is not tried on", "[unit]")
{
    Nic nic;
    Caller caller(256, 4);

    falls_beyond(nic, 40);
    caller.settle(nic);
    CHECK(caller.throttle.limit == 256);
    CHECK(caller.throttle.changes == 2); // lowered for the trial, and raised again
    CHECK(caller.throttle.held == 0);
    CHECK(nic.now_ns < 10000000); // one epoch
}

TEST_CASE("throttle: load of the NIC by other clients is noticed", "[unit]")
{
    Nic nic;
    Caller caller(256, 256);

    falls_beyond(nic, 80);
    caller.settle(nic);
    CHECK(caller.throttle.limit == 64);
    falls_beyond(nic, 20);
    caller.again(nic);
    CHECK(caller.throttle.limit == 16);
    nic.service_ns = [](size_t) -> uint64_t { return 50; };
    caller.again(nic);
    CHECK(caller.throttle.limit == 256);
}

TEST_CASE("throttle: trials cost less than a tenth", "[unit]")
{
    Nic nic;
    Caller caller(256, 256);
    Caller off(256, 256);
    Nic same;

    nic.service_ns = same.service_ns = [](size_t) -> uint64_t { return 50; };
    off.throttle.epochs_left = UINT32_MAX;
    off.throttle.limit = 256;
    CHECK(caller.run(nic, SECOND_NS / 5) > 0.9 * off.run(same, SECOND_NS / 5));
    CHECK(caller.throttle.changes > 6); // more than one trial
}

TEST_CASE("throttle: an epoch is a number of round trips", "[unit]")
{
    struct {
        uint64_t round_trip_ns;
        uint64_t epoch_ns;
    } rows[] = { { 100, 2000000 },       { 1500, 2000000 },         { 10000, 10240000 },
                 { 60000, 61440000 },    { 97656, 99999744 },       { 97657, 100000000 },
                 { 1000000, 100000000 }, { 60000000000, 100000000 } };

    for (const auto &row : rows) {
        Nic nic;
        Caller caller(64, 1);

        nic.round_trip_ns = row.round_trip_ns;
        nic.service_ns = [](size_t) -> uint64_t { return 1; };
        CHECK(caller.throttle.epoch_ns == 100000000);
        caller.turn(nic);
        CAPTURE(row.round_trip_ns);
        CHECK(caller.throttle.round_trip_ns == row.round_trip_ns);
        CHECK(caller.throttle.epoch_ns == row.epoch_ns);
        nic.round_trip_ns = 5 * row.round_trip_ns; // a busy moment does not make it longer
        caller.turn(nic);
        CHECK(caller.throttle.epoch_ns == row.epoch_ns);
    }
}

TEST_CASE("throttle: an idle epoch says nothing", "[unit]")
{
    Nic nic;
    Caller caller(256, 256);

    falls_beyond(nic, 40);
    caller.run(nic, caller.throttle.epoch_ns / 100);
    uint32_t limit = caller.throttle.limit;
    uint64_t best = caller.throttle.best_rate;
    nic.now_ns += 10 * caller.throttle.epoch_ns;
    caller.turn(nic);
    CHECK(caller.throttle.limit == limit);
    CHECK(caller.throttle.best_rate == best);
    caller.settle(nic);
    CHECK(caller.throttle.limit == 32);
}

TEST_CASE("throttle: a new link is tried anew, and counters go on", "[unit]")
{
    Nic nic;
    Caller caller(256, 256);

    falls_beyond(nic, 40);
    caller.settle(nic);
    CHECK(caller.throttle.limit == 32);
    uint64_t changes = caller.throttle.changes;
    uint64_t held = caller.throttle.held;
    rpmi_throttle_restart(&caller.throttle);
    CHECK(caller.throttle.limit == RPMI_THROTTLE_LIMIT_MIN);
    CHECK(caller.throttle.changes == changes + 1);
    CHECK(caller.throttle.held == held);
    CHECK(caller.throttle.round_trip_ns == 0);
    caller.throttle.posted -= nic.ends.size(); // the completions of the old link are lost
    nic.ends.clear();
    caller.settle(nic);
    CHECK(caller.throttle.limit == 32);
}

TEST_CASE("throttle: every depth ends its trial", "[unit]")
{
    for (uint32_t depth : { 8u, 9u, 15u, 16u, 17u, 66u, 100u, 4096u }) {
        Nic nic;
        Caller caller(depth, depth);

        nic.service_ns = [](size_t) -> uint64_t { return 50; };
        CAPTURE(depth);
        for (int i = 0; i < 2000000 && caller.throttle.epochs_left == 0; i++)
            caller.turn(nic);
        CHECK(caller.throttle.epochs_left > 0);
        CHECK(caller.throttle.limit == depth);
    }
}

TEST_CASE("throttle: operations posted under another limit do not count for a trial", "[unit]")
{
    rpmi_throttle throttle;

    rpmi_throttle_open(&throttle, 256);
    throttle.posted = 256;
    rpmi_throttle_done(&throttle, 200, 1000);
    CHECK_FALSE(throttle.counting);
    rpmi_throttle_done(&throttle, RPMI_THROTTLE_LIMIT_MIN + 1, 2000);
    CHECK_FALSE(throttle.counting);
    rpmi_throttle_done(&throttle, RPMI_THROTTLE_LIMIT_MIN, 3000);
    CHECK(throttle.counting);
    CHECK(throttle.begin_ns == 3000);
    CHECK(throttle.begin_done == 256 - RPMI_THROTTLE_LIMIT_MIN);
}
