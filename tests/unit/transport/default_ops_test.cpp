// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/clock.h"
#include "transport/transport.h"
}
#include "support/catch.h"

#include <string>

static rpmi_transport_ops empty()
{
    rpmi_transport_ops ops = {};

    ops.size = sizeof(ops);
    ops.scheme = "empty";
    rpmi_transport_complete(&ops);
    return ops;
}

TEST_CASE("default_ops: a missing operation returns RPM_E_NOCAP", "[unit]")
{
    rpmi_transport_ops ops = empty();
    rpmi_link link = {};
    rpmi_link *opened = nullptr;
    rpmi_call call = {};
    rpmi_reply reply = {};
    rpmi_op op = {};
    rpmi_done done = {};

    CHECK(ops.connect(nullptr, nullptr, &opened) == RPM_E_NOCAP);
    CHECK(opened == nullptr);
    CHECK(ops.reconnect(&link, 0) == RPM_E_NOCAP);
    CHECK(ops.post(&link, &op, 1) == RPM_E_NOCAP);
    CHECK(std::string(rpm_last_error()).find("\"post\"") != std::string::npos);
    CHECK(ops.poll(&link, &done, 1) == RPM_E_NOCAP);
    CHECK(ops.wait(&link, 0) == RPM_E_NOCAP);
    CHECK(ops.watch(&link, 0) == RPM_E_NOCAP);
    CHECK(ops.arm(&link, nullptr) == RPM_E_NOCAP);
    CHECK(ops.call(&link, &call, &reply, 0) == RPM_E_NOCAP);
    CHECK(ops.stage(&link, 64) == nullptr);
    CHECK(ops.peek(&link, 1, 0, 8) == nullptr);
    ops.unstage(&link, nullptr);
    ops.close(&link);
}

TEST_CASE("default_ops: a provider without a clock uses real time", "[unit]")
{
    rpmi_transport_ops ops = empty();
    rpmi_link link = {};
    uint64_t before = rpmi_clock_ns();
    uint64_t now = ops.now_ns(&link);

    CHECK(now >= before);
    ops.pause(&link, 1000);
    CHECK(ops.now_ns(&link) >= now);
}

TEST_CASE("default_ops: an operation that exists is kept", "[unit]")
{
    rpmi_transport_ops ops = {};

    ops.size = sizeof(ops);
    ops.scheme = "some";
    ops.now_ns = [](rpmi_link *) -> uint64_t { return 42; };
    rpmi_transport_complete(&ops);
    CHECK(ops.now_ns(nullptr) == 42);
}
