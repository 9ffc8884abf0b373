// SPDX-License-Identifier: BSD-3-Clause
#include "support/fake_copier.h"
#include "support/loop.h"

extern "C" {
#include "log/log.h"
}

using namespace loop;

namespace
{

// A log of which bytes are copied, and what its bytes are.
struct CopySource {
    Server server;
    Conn conn;
    Log log;
    uint32_t key;
    std::vector<unsigned char> bytes = std::vector<unsigned char>(40000);

    explicit CopySource(const Setup &setup) : conn(server, setup), log(conn, "a", WRITER, 65536)
    {
        for (uint64_t i = 0; i < 60; i++)
            append(log, payload(i, 600));
        key = log.log->read_key;
        REQUIRE(rpmi_conn_read(conn, key, 0, bytes.data(), bytes.size()) == 0);
    }
};

} // namespace

TEST_CASE("copier: a name that no backend has is refused, with those that are known", "[unit]")
{
    CopySource source(queued());
    rpmi_copier *copier = nullptr;
    const char *known = nullptr;

    CHECK(rpmi_copier_open("dsa", source.conn, &copier) == RPM_E_INVAL);
    CHECK(std::string(rpm_last_error()) == "there is no copy engine 'dsa'; known are cpu and rdma");
    CHECK(copier == nullptr);
    CHECK(rpmi_copier_check("dsa", &known) == RPM_E_INVAL);
    REQUIRE(rpmi_copier_check(std::string("rdma").c_str(), &known) == 0);
    CHECK(std::string(known) == "rdma");
    rpmi_copier_close(nullptr);
}

TEST_CASE("copier: an object is mapped once, and again after another one or a reconnect", "[unit]")
{
    CopySource source(queued());
    FakeCopier fake(source.conn);

    REQUIRE(rpmi_copier_map(&fake.copier, source.key, 69632) == 0);
    REQUIRE(rpmi_copier_map(&fake.copier, source.key, 69632) == 0);
    CHECK(fake.maps == 1);
    REQUIRE(rpmi_copier_map(&fake.copier, source.key + 1, 69632) == 0);
    CHECK(fake.maps == 2);
    CHECK(fake.unmaps == 1);
    source.conn.conn->generation++;
    REQUIRE(rpmi_copier_map(&fake.copier, source.key + 1, 69632) == 0);
    CHECK(fake.maps == 3);
    source.conn.conn->generation--;
    fake.map_error = RPM_E_NOCAP;
    CHECK(rpmi_copier_map(&fake.copier, source.key, 69632) == RPM_E_NOCAP);
    CHECK_FALSE(fake.copier.mapped);
    fake.map_error = 0;
    REQUIRE(rpmi_copier_map(&fake.copier, source.key, 69632) == 0);
    rpmi_copier_close(&fake.copier);
    CHECK(fake.closed);
    CHECK(fake.unmaps == 4);
}

TEST_CASE("copier: a long range is copied in pieces, whatever the delay", "[unit]")
{
    CopySource source(queued());
    FakeCopier fake(source.conn);
    std::vector<unsigned char> into(30000);

    fake.delay = GENERATE(0u, 1u, 5u);
    REQUIRE(rpmi_copier_map(&fake.copier, source.key, 69632) == 0);
    REQUIRE(rpmi_copier_read(&fake.copier, 4096, into.data(), into.size()) == 0);
    CHECK(fake.copies == 4); // of 8192
    CHECK(fake.waits == 4 * fake.delay);
    CHECK(memcmp(into.data(), &source.bytes[4096], into.size()) == 0);
    fake.fail_each = 3;
    fake.copies = 0;
    CHECK(rpmi_copier_read(&fake.copier, 4096, into.data(), into.size()) == RPM_E_IO);
    CHECK(fake.copies == 3);
    CHECK_FALSE(fake.copier.busy);
}

TEST_CASE("copier: a copy that does not end in time is reported, and ends when it is closed",
          "[unit]")
{
    CopySource source(queued());
    FakeCopier fake(source.conn);
    std::vector<unsigned char> into(5000);
    uint64_t begin = source.server.now_ns;

    fake.stuck = true;
    REQUIRE(rpmi_copier_map(&fake.copier, source.key, 69632) == 0);
    CHECK(rpmi_copier_read(&fake.copier, 4096, into.data(), into.size()) == RPM_E_TIMEDOUT);
    CHECK(source.server.now_ns - begin >= source.conn.conn->timeout_ns);
    CHECK(fake.copier.busy);
    rpmi_copier_close(&fake.copier);
    CHECK_FALSE(fake.outstanding);
    CHECK(fake.closed);
}
