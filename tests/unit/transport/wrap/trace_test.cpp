// SPDX-License-Identifier: BSD-3-Clause
#include "unit/transport/fake.h"

TEST_CASE("trace: one line for each op taken, completion and call", "[unit]")
{
    Diag diag(RPM_DIAG_DEBUG);
    Wrapped wrapped("wrap=trace");
    rpmi_call call = {};
    rpmi_reply reply = {};

    wrapped.fake.take_most = 2;
    wrapped.post(
        { Wrapped::op(1, 0), Wrapped::op(2, RPMI_OP_SIGNALED | RPMI_OP_DURABLE), Wrapped::op(3) });
    wrapped.poll();
    call.kind = RPMI_CALL_TRIM;
    call.key = 4;
    (void)wrapped.link->ops->call(wrapped.link, &call, &reply, 0);
    REQUIRE(diag.lines.size() == 4);
    CHECK(diag.lines[0] == "post write key 0 offset 0 len 64 id 1");
    CHECK(diag.lines[1] == "post write key 0 offset 0 len 64 id 2 signaled durable");
    CHECK(diag.lines[2] == "done id 2 status 0");
    CHECK(diag.lines[3] == "call kind 4 key 4 name : 0");
}

TEST_CASE("trace: failures have their name", "[unit]")
{
    Diag diag(RPM_DIAG_DEBUG);
    Wrapped wrapped("wrap=trace");

    wrapped.fake.post_result = RPM_E_FENCED;
    CHECK(wrapped.post(1) == RPM_E_FENCED);
    wrapped.fake.link.lost = RPM_E_LOST;
    wrapped.poll();
    (void)wrapped.link->ops->reconnect(wrapped.link, 0);
    REQUIRE(diag.lines.size() == 3);
    CHECK(diag.lines[0] == "post of 1 ops, first write: RPM_E_FENCED");
    CHECK(diag.lines[1] == "poll RPM_E_LOST");
    CHECK(diag.lines[2] == "reconnect 0");
}

TEST_CASE("trace: silent below debug", "[unit]")
{
    Diag diag(RPM_DIAG_NOTICE);
    Wrapped wrapped("wrap=trace");

    wrapped.post(1);
    wrapped.poll();
    CHECK(diag.lines.empty());
}
