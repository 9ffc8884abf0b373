// SPDX-License-Identifier: BSD-3-Clause
#include "support/loop.h"

extern "C" {
#include "copy/copier.h"
#include "log/log.h"
}

using namespace loop;

namespace
{

struct ReadSource {
    Server server;
    Conn conn;
    Log log;
    rpmi_copier *copier = nullptr;
    std::vector<unsigned char> expected = std::vector<unsigned char>(20000);
    std::vector<unsigned char> into = std::vector<unsigned char>(20000);

    explicit ReadSource(const Setup &setup) : conn(server, setup), log(conn, "a", WRITER, 65536)
    {
        for (uint64_t i = 0; i < 60; i++)
            append(log, payload(i, 600));
        REQUIRE(rpmi_conn_read(conn, log.log->read_key, 4096, expected.data(), expected.size()) ==
                0);
        REQUIRE(rpmi_copier_open("rdma", conn, &copier) == 0);
        REQUIRE(rpmi_copier_map(copier, log.log->read_key, 69632) == 0);
    }
    ~ReadSource()
    {
        rpmi_copier_close(copier);
    }
};

} // namespace

TEST_CASE("rdma copier: it copies by a READ of any link", "[unit]")
{
    ReadSource source(GENERATE(false, true) ? queued() : synchronous());
    rpmi_copier_caps caps = {};

    source.copier->ops->caps(source.copier, &caps);
    CHECK(caps.overlaps == !rpmi_conn_is_synchronous(source.conn));
    for (int i = 0; i < 3; i++) {
        memset(source.into.data(), 0, source.into.size());
        REQUIRE(rpmi_copier_read(source.copier, 4096, source.into.data(), source.into.size()) == 0);
        CHECK(source.into == source.expected);
    }
}

TEST_CASE("rdma copier: the caller works while a copy is under way, and others use the link",
          "[unit]")
{
    ReadSource source(queued());
    unsigned char other[100];
    int status = 77;

    source.conn.link->manual = true;
    REQUIRE(rpmi_copier_begin(source.copier, 4096, source.into.data(), 20000) == 0);
    CHECK(source.copier->ops->poll(source.copier, &status) == 0);
    CHECK(source.into == std::vector<unsigned char>(20000)); // not touched before it has ended
    source.conn.link->manual = false;
    REQUIRE(rpmi_conn_read(source.conn, source.log.log->read_key, 4096, other, 100) == 0);
    CHECK(source.into == std::vector<unsigned char>(20000));
    CHECK(rpmi_copier_finish(source.copier) == 0);
    CHECK(source.into == source.expected);
}

TEST_CASE("rdma copier: a loss ends the copy, and after a reconnect there are copies again",
          "[unit]")
{
    ReadSource source(queued());

    source.conn.link->faults.lose_op = 1;
    CHECK(rpmi_copier_read(source.copier, 4096, source.into.data(), 20000) == RPM_E_LOST);
    CHECK_FALSE(source.copier->busy);
    CHECK(source.into == std::vector<unsigned char>(20000));
    CHECK(rpmi_copier_begin(source.copier, 4096, source.into.data(), 20000) == RPM_E_LOST);
    uint32_t n = 0;
    rpm_outcome outcomes[256];
    REQUIRE(rpm_conn_reconnect(source.conn) == 0);
    REQUIRE(rpm_log_resume(source.log, outcomes, 256, &n) == 0);
    REQUIRE(rpmi_copier_map(source.copier, source.log.log->read_key, 69632) == 0);
    REQUIRE(rpmi_copier_read(source.copier, 4096, source.into.data(), 20000) == 0);
    CHECK(source.into == source.expected);
}

TEST_CASE("rdma copier: closed while a copy is under way, it waits for its end", "[unit]")
{
    ReadSource source(queued());

    REQUIRE(rpmi_copier_begin(source.copier, 4096, source.into.data(), 20000) == 0);
}

TEST_CASE("rdma copier: without memory, or on a full connection, it is not opened", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    rpmi_copier *copier = nullptr;
    uint64_t n = 1;

    for (; n < 10; n++) {
        rpmi_mem_fail_at(n);
        int err = rpmi_copier_open("rdma", conn, &copier);
        rpmi_mem_fail_at(0);
        if (err == 0)
            break;
        CHECK(err == RPM_E_NOMEM);
    }
    CHECK(n == 3);
    std::vector<rpmi_copier *> more;
    int err = 0;
    while ((err = rpmi_copier_open("rdma", conn, &more.emplace_back())) == 0)
        ;
    more.pop_back();
    CHECK((err == RPM_E_LIMIT || err == RPM_E_NOMEM));
    for (rpmi_copier *one : more)
        rpmi_copier_close(one);
    rpmi_copier_close(copier);
}
