// SPDX-License-Identifier: BSD-3-Clause
#include "unit/transport/fake.h"

TEST_CASE("count: ops, bytes and times by kind are printed at close", "[unit]")
{
    Diag diag(RPM_DIAG_NOTICE);
    {
        Wrapped wrapped("wrap=count");
        rpmi_call call = {};
        rpmi_reply reply = {};

        wrapped.post({ Wrapped::op(1, 0), Wrapped::op(2, RPMI_OP_SIGNALED, RPMI_OP_READ) });
        wrapped.fake.now_ns += 979; // with 20 for the post and 1 for the poll: 1000
        wrapped.poll();
        wrapped.post(3, 0);
        (void)wrapped.link->ops->call(wrapped.link, &call, &reply, 0);
        CHECK(diag.lines.empty());
    }
    REQUIRE(diag.lines.size() == 3);
    CHECK(diag.lines[0] == "count posts 2 calls 1");
    CHECK(diag.lines[1] == "count write ops 2 bytes 128 failed 0 timed 0 p50 0 p99 0 max 0 ns");
    CHECK(diag.lines[2].find("count read ops 1 bytes 64 failed 0 timed 1 p50 ") == 0);
    CHECK(diag.lines[2].find(" max 1000 ns") != std::string::npos);
}

TEST_CASE("count: failures are counted, signalled or not", "[unit]")
{
    Diag diag(RPM_DIAG_NOTICE);
    {
        Wrapped wrapped("wrap=count");

        wrapped.post({ Wrapped::op(1, 0), Wrapped::op(2), Wrapped::op(3, 1, RPMI_OP_READ) });
        wrapped.fake.outstanding = 3;
        wrapped.fake.done = { { 1, RPM_E_LOST }, { 2, RPM_E_LOST }, { 3, 0 } };
        CHECK(wrapped.poll().size() == 3);
    }
    REQUIRE(diag.lines.size() == 4);
    CHECK(diag.lines[1].find("count unsignalled ops 0 bytes 0 failed 1 ") == 0);
    CHECK(diag.lines[2].find("count write ops 2 bytes 128 failed 1 timed 0 ") == 0);
    CHECK(diag.lines[3].find("count read ops 1 bytes 64 failed 0 timed 1 ") == 0);
}

TEST_CASE("count: on a link that completes on post the post is timed", "[unit]")
{
    Diag diag(RPM_DIAG_NOTICE);
    {
        Wrapped wrapped("wrap=count", RPMI_LINK_COMPLETES_ON_POST);

        wrapped.post({ Wrapped::op(1, 0), Wrapped::op(2, 0, RPMI_OP_DRAIN) });
        wrapped.fake.post_result = RPM_E_FENCED;
        wrapped.post(3);
    }
    REQUIRE(diag.lines.size() == 3);
    CHECK(diag.lines[1].find("count write ops 1 bytes 64 failed 1 timed 0") == 0);
    CHECK(diag.lines[2].find("count drain ops 1 bytes 64 failed 0 timed 1") == 0);
    CHECK(diag.lines[2].find(" max 20 ns") != std::string::npos);
}

TEST_CASE("count: a reconnect forgets outstanding ops", "[unit]")
{
    Diag diag(RPM_DIAG_NOTICE);
    {
        Wrapped wrapped("wrap=count");

        wrapped.post(1);
        (void)wrapped.link->ops->reconnect(wrapped.link, 0);
        wrapped.post(2);
        CHECK(wrapped.poll().size() == 1);
    }
    CHECK(diag.lines.at(1).find("count write ops 2 bytes 128 failed 0 timed 1") == 0);
}
