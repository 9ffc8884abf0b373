// SPDX-License-Identifier: BSD-3-Clause
#include "unit/transport/fake.h"

TEST_CASE("delay: a completion is held for its time, in order", "[unit]")
{
    Wrapped wrapped("wrap=delay,delay_ns=1000");

    wrapped.post(1);
    CHECK(wrapped.poll().empty());
    wrapped.fake.now_ns += 500;
    wrapped.post(2);
    CHECK(wrapped.poll().empty());
    wrapped.fake.now_ns += 500;
    REQUIRE(wrapped.poll().size() == 1);
    CHECK(wrapped.poll().empty());
    wrapped.fake.now_ns += 500;
    CHECK(wrapped.poll().at(0).id == 2);
}

TEST_CASE("delay: wait waits for the oldest, or for the deadline", "[unit]")
{
    Wrapped wrapped("wrap=delay,delay_ns=1000");
    uint64_t start;

    wrapped.post(1);
    start = wrapped.fake.now_ns;
    CHECK(wrapped.link->ops->wait(wrapped.link, start + 100) == RPM_E_TIMEDOUT);
    CHECK(wrapped.fake.now_ns < start + 200);
    CHECK(wrapped.link->ops->wait(wrapped.link, start + 5000) == 0);
    CHECK(wrapped.fake.now_ns >= start + 1000);
    CHECK(wrapped.poll().at(0).id == 1);
    CHECK(wrapped.link->ops->wait(wrapped.link, start + 6000) == RPM_E_TIMEDOUT);
}

TEST_CASE("delay: a loss is reported after the delayed completions", "[unit]")
{
    Wrapped wrapped("wrap=delay,delay_ns=1000");

    wrapped.post(1);
    wrapped.fake.link.lost = RPM_E_LOST;
    wrapped.poll();
    CHECK(wrapped.last == 0);
    CHECK(wrapped.link->lost == 0);
    wrapped.fake.now_ns += 2000;
    CHECK(wrapped.poll().at(0).id == 1);
    CHECK(wrapped.link->lost == RPM_E_LOST);
    wrapped.poll();
    CHECK(wrapped.last == RPM_E_LOST);
    CHECK(wrapped.link->ops->wait(wrapped.link, UINT64_MAX) == 0);
    CHECK(wrapped.link->ops->reconnect(wrapped.link, 0) == 0);
    wrapped.poll();
    CHECK(wrapped.last == 0);
}

TEST_CASE("delay: after a loss held completions are returned though the clock stands still",
          "[unit]")
{
    Wrapped wrapped("wrap=delay,delay_ns=1000");

    wrapped.post(1);
    wrapped.fake.link.lost = RPM_E_LOST;
    CHECK(wrapped.poll().empty());
    CHECK(wrapped.poll().at(0).id == 1);
    CHECK(wrapped.link->lost == RPM_E_LOST);
}

TEST_CASE("delay: a caller that gave up on the link is not reconnected", "[unit]")
{
    Wrapped wrapped("wrap=delay,delay_ns=1000");

    wrapped.post(1);
    wrapped.link->lost = RPM_E_TIMEDOUT;
    wrapped.poll();
    CHECK(wrapped.link->lost == RPM_E_TIMEDOUT);
}

TEST_CASE("delay: calls and synchronous posts take longer too", "[unit]")
{
    Wrapped wrapped("wrap=delay,delay_ns=1000", RPMI_LINK_COMPLETES_ON_POST);
    rpmi_call call = {};
    rpmi_reply reply = {};
    uint64_t start = wrapped.fake.now_ns;

    CHECK(wrapped.post(1) == 1);
    CHECK(wrapped.fake.now_ns >= start + 1000);
    start = wrapped.fake.now_ns;
    CHECK(wrapped.link->ops->call(wrapped.link, &call, &reply, start + 5000) == 0);
    CHECK(wrapped.fake.now_ns >= start + 1100);
    start = wrapped.fake.now_ns;
    CHECK(wrapped.link->ops->call(wrapped.link, &call, &reply, start + 500) == RPM_E_TIMEDOUT);
}

TEST_CASE("delay: a reconnect drops held completions", "[unit]")
{
    Wrapped wrapped("wrap=delay,delay_ns=1000");

    wrapped.post(1);
    wrapped.poll();
    (void)wrapped.link->ops->reconnect(wrapped.link, 0);
    wrapped.fake.now_ns += 5000;
    CHECK(wrapped.poll().empty());
}

TEST_CASE("delay: when armed, a timer reports held completions, the link the others", "[unit]")
{
    Wrapped wrapped("wrap=delay,delay_ns=1000");
    const rpmi_transport_ops *ops = wrapped.link->ops;
    uint64_t by_ns = UINT64_MAX;

    CHECK(ops->arm(wrapped.link, &by_ns) == 0);
    CHECK(wrapped.fake.arms == 1);
    CHECK(by_ns == UINT64_MAX);
    wrapped.post(1);
    uint64_t posted = wrapped.fake.now_ns;
    CHECK(ops->arm(wrapped.link, &by_ns) == 0);
    CHECK(by_ns > posted);
    CHECK(by_ns < posted + 1100);
    uint64_t sooner = by_ns - 1;
    uint64_t other = sooner;
    CHECK(ops->arm(wrapped.link, &other) == 0);
    CHECK(other == sooner); // only ever lowered
    wrapped.fake.now_ns = by_ns;
    CHECK(ops->arm(wrapped.link, &by_ns) == 1);
    CHECK(wrapped.poll().at(0).id == 1);
    wrapped.fake.link.lost = RPM_E_LOST;
    CHECK(ops->arm(wrapped.link, &by_ns) == 1);
}
