// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/endpoint.h"
#include "base/err.h"
}
#include "support/catch.h"

#include <librpm/error.h>
#include <string>

struct Good {
    const char *address;
    const char *host;
    const char *port;
    const char *pool;
};

TEST_CASE("endpoint: an endpoint is host, port and pool", "[base]")
{
    const Good all[] = {
        { "//db1:7471/main", "db1", "7471", "main" },
        { "//10.0.0.1:0", "10.0.0.1", "0", "" },
        { "//10.0.0.1:65535/", "10.0.0.1", "65535", "" },
        { "//[::1]:7471/a/b", "::1", "7471", "a/b" },
        { "//[fe80::1%eth0]:1", "fe80::1%eth0", "1", "" },
    };

    for (const Good &good : all) {
        rpmi_endpoint endpoint;

        INFO(good.address);
        REQUIRE(rpmi_endpoint_parse(good.address, &endpoint) == 0);
        CHECK(std::string(endpoint.host) == good.host);
        CHECK(std::string(endpoint.port) == good.port);
        CHECK(std::string(endpoint.pool) == good.pool);
    }
}

TEST_CASE("endpoint: an endpoint that is none is refused with the part that is wrong", "[base]")
{
    const std::string longest(RPMI_HOST_BYTES, 'h');
    const std::pair<std::string, std::string> all[] = {
        { "", "//HOST:PORT" },
        { "db1:7471", "//HOST:PORT" },
        { "//", "host" },
        { "//:7471", "host" },
        { "//[]:7471", "host" },
        { "//[::1", "bracket" },
        { "//db1", "port" },
        { "//db1:", "port" },
        { "//db1:/main", "port" },
        { "//db1:http", "port" },
        { "//db1:65536", "65536" },
        { "//db1:12345678", "port" },
        { "//db1:7471x", "x" },
        { "//" + longest + ":1", "host" },
        { "//db1:1/" + std::string(RPMI_POOL_NAME_BYTES, 'p'), "pool" },
    };

    for (const auto &bad : all) {
        rpmi_endpoint endpoint;

        INFO(bad.first);
        REQUIRE(rpmi_endpoint_parse(bad.first.c_str(), &endpoint) == RPM_E_INVAL);
        CHECK(std::string(rpm_last_error()).find(bad.second) != std::string::npos);
    }
}
