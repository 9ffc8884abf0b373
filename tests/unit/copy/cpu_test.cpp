// SPDX-License-Identifier: BSD-3-Clause
#include "support/loop.h"

extern "C" {
#include "copy/copier.h"
#include "log/log.h"
}

using namespace loop;

TEST_CASE("cpu copier: it copies what a link maps, at once", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Log log(conn, "a", WRITER, 65536);
    std::vector<unsigned char> expected(20000);
    std::vector<unsigned char> into(20000);
    rpmi_copier *copier = nullptr;
    rpmi_copier_caps caps = {};

    for (uint64_t i = 0; i < 60; i++)
        append(log, payload(i, 600));
    REQUIRE(rpmi_conn_read(conn, log.log->read_key, 4096, expected.data(), expected.size()) == 0);
    REQUIRE(rpmi_copier_open("cpu", conn, &copier) == 0);
    copier->ops->caps(copier, &caps);
    CHECK_FALSE(caps.overlaps);
    REQUIRE(rpmi_copier_map(copier, log.log->read_key, 69632) == 0);
    uint64_t ops = conn.link->ops;
    REQUIRE(rpmi_copier_read(copier, 4096, into.data(), into.size()) == 0);
    CHECK(into == expected);
    CHECK(conn.link->ops == ops); // not by the link
    conn.link->drop();
    CHECK(rpmi_copier_read(copier, 4096, into.data(), into.size()) == RPM_E_LOST);
    rpmi_copier_close(copier);
}

TEST_CASE("cpu copier: memory that is not mapped is out of its reach", "[unit]")
{
    Server server;
    bool queue = GENERATE(false, true);
    Conn conn(server, queue ? queued() : synchronous());
    Log log(conn, "a", WRITER, 65536);
    rpmi_copier *copier = nullptr;

    conn.link->peeks = false;
    REQUIRE(rpmi_copier_open("cpu", conn, &copier) == 0);
    CHECK(rpmi_copier_map(copier, log.log->read_key, 69632) == RPM_E_NOCAP);
    rpmi_copier_close(copier);
    rpmi_mem_fail_at(1);
    CHECK(rpmi_copier_open("cpu", conn, &copier) == RPM_E_NOMEM);
    rpmi_mem_fail_at(0);
}
