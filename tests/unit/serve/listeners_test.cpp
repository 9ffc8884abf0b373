// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "support/server.h"

#include <librpm.h>
#include <string>
#include <unistd.h>

static int open_at(const std::string &listen)
{
    rpm_server_opts opts = rpm_server_opts_init();

    opts.listen = listen.c_str();
    opts.pool_bytes = 1 << 20;
    return support::try_server(opts);
}

TEST_CASE(
    "listeners: a server listens at a list of addresses, and an error names the one that failed",
    "[serve]")
{
    support::Dir dir;
    std::string shm = "shm:" + dir / "socket";

    CHECK(open_at(shm) == 0);
    CHECK(open_at("  " + shm + "\n") == 0);
    CHECK(open_at("") == RPM_E_INVAL);
    CHECK(open_at("   ") == RPM_E_INVAL);
    CHECK(open_at(shm + " shm:" + dir / "other") == RPM_E_INVAL);
    CHECK(std::string(rpm_last_error()).find("one shm: name") != std::string::npos);
    CHECK(open_at(shm + " carrier-pigeon:coop") == RPM_E_INVAL);
    CHECK(std::string(rpm_last_error()).find("carrier-pigeon") != std::string::npos);
    CHECK(open_at("sim:seed=1") == RPM_E_INVAL);
    CHECK(open_at("shm:" + std::string(2000, 'x')) == RPM_E_INVAL);
}

TEST_CASE("listeners: an address that cannot be used leaves nothing behind", "[serve]")
{
    support::Dir dir;
    std::string shm = "shm:" + dir / "socket";

    CHECK(open_at(shm + " nowhere:") == RPM_E_INVAL);
    CHECK(access((dir / "socket").c_str(), F_OK) != 0);
    CHECK(access((dir / "socket.lock").c_str(), F_OK) != 0);
    CHECK(open_at(shm) == 0);
}
