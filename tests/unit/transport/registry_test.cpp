// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "transport/registry.h"
}
#include "support/catch.h"

#include <string>

TEST_CASE("registry: every provider's table is complete", "[unit]")
{
    for (const char *scheme : { "sim", "shm", "tcp", "unix", "verbs" }) {
        const rpmi_transport_ops *ops = nullptr;

        CAPTURE(scheme);
        REQUIRE(rpmi_registry_find(scheme, &ops) == 0);
        REQUIRE(ops != nullptr);
        CHECK(ops->scheme == std::string(scheme));
        CHECK(ops->size == sizeof(*ops));
        CHECK(ops->connect != nullptr);
        CHECK(ops->reconnect != nullptr);
        CHECK(ops->post != nullptr);
        CHECK(ops->poll != nullptr);
        CHECK(ops->wait != nullptr);
        CHECK(ops->call != nullptr);
        CHECK(ops->stage != nullptr);
        CHECK(ops->unstage != nullptr);
        CHECK(ops->peek != nullptr);
        CHECK(ops->now_ns != nullptr);
        CHECK(ops->pause != nullptr);
        CHECK(ops->close != nullptr);
    }
}

TEST_CASE("registry: an unknown scheme has no table", "[unit]")
{
    const rpmi_transport_ops *ops = nullptr;

    for (const char *scheme : { "pigeon", "", "shmx", "simx" })
        CHECK(rpmi_registry_find(scheme, &ops) == RPM_E_INVAL);
    CHECK(ops == nullptr);
}

TEST_CASE("registry: wrappers are found by their whole name", "[unit]")
{
    CHECK(rpmi_registry_wrapper("trace+count", 5) == &rpmi_wrap_trace);
    CHECK(rpmi_registry_wrapper("count", 5) == &rpmi_wrap_count);
    CHECK(rpmi_registry_wrapper("fault", 5) == &rpmi_wrap_fault);
    CHECK(rpmi_registry_wrapper("delay", 5) == &rpmi_wrap_delay);
    CHECK(rpmi_registry_wrapper("trace+count", 4) == nullptr);
    CHECK(rpmi_registry_wrapper("trace+count", 6) == nullptr);
    CHECK(rpmi_registry_wrapper("", 0) == nullptr);
}
