// SPDX-License-Identifier: BSD-3-Clause
#include "unit/region/region.h"

using namespace loop;

TEST_CASE("open: a region is created, opened again, and keeps its size", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Region none;

    CHECK(none.open(conn, "r", nullptr) == RPM_E_NOENT);
    Region region(conn, "r", 5000);
    CHECK(rpm_region_bytes(region) == 5000);
    REQUIRE(region.write(4990, "0123456789") == 0);
    Region again;
    REQUIRE(again.open(conn, "r", nullptr) == 0);
    CHECK(rpm_region_bytes(again) == 5000);
    CHECK(again.read(4990, 10) == "0123456789");
    CHECK(again.read(0, 100) == std::string(100, '\0'));
    rpm_region_opts opts = rpm_region_opts_init();
    opts.flags = RPM_REGION_CREATE | RPM_REGION_EXCL;
    opts.bytes = 100;
    Region third;
    CHECK(third.open(conn, "r", &opts) == RPM_E_EXISTS);
    opts.flags = RPM_REGION_CREATE;
    REQUIRE(third.open(conn, "r", &opts) == 0);
    CHECK(rpm_region_bytes(third) == 5000);
}

TEST_CASE("open: options out of range are refused, and nothing is created", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    struct {
        int err;
        void (*spoil)(rpm_region_opts *);
    } bad[] = {
        { RPM_E_INVAL, [](rpm_region_opts *o) { o->flags |= 8; } },
        { RPM_E_INVAL, [](rpm_region_opts *o) { o->level = 5; } },
        { RPM_E_INVAL, [](rpm_region_opts *o) { o->bytes = 0; } },
        { RPM_E_INVAL, [](rpm_region_opts *o) { o->slot_bytes = 100; } },
        { RPM_E_INVAL, [](rpm_region_opts *o) { o->inflight_max = 65537; } },
        { RPM_E_INVAL, [](rpm_region_opts *o) { o->size = 1; } },
        { RPM_E_INVAL, [](rpm_region_opts *o) { o->method = RPM_METHOD_COUNT; } },
        { RPM_E_NOCAP, [](rpm_region_opts *o) { o->method = RPM_METHOD_COPY; } },
        { RPM_E_NOCAP, [](rpm_region_opts *o) { o->method = RPM_METHOD_READ_OTHER; } },
        { RPM_E_NOSPACE, [](rpm_region_opts *o) { o->bytes = 1u << 20; } },
        { RPM_E_INVAL, [](rpm_region_opts *o) { o->bytes = UINT64_MAX; } },
        { RPM_E_NOCAP,
          [](rpm_region_opts *o) {
              o->flags |= RPM_REGION_DRAM;
              o->level = RPM_DURABLE;
          } },
        { RPM_E_INVAL,
          [](rpm_region_opts *o) {
              o->flags |= RPM_REGION_DRAM;
              o->bytes = 7;
          } },
        { RPM_E_NOSPACE,
          [](rpm_region_opts *o) {
              o->flags |= RPM_REGION_DRAM;
              o->bytes = 1u << 19;
          } },
    };

    for (const auto &row : bad) {
        rpm_region_opts opts = rpm_region_opts_init();
        rpm_region *region = nullptr;
        rpm_entry entry = rpm_entry_init();

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = 4096;
        row.spoil(&opts);
        CAPTURE(&row - bad);
        CHECK(rpm_region_open(conn, "r", &opts, &region) == row.err);
        CHECK(region == nullptr);
        CHECK(rpm_conn_next(conn, &entry) == 0);
    }
    rpm_region *region = nullptr;
    rpm_region_opts opts = rpm_region_opts_init();
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 10;
    CHECK(rpm_region_open(conn, "", &opts, &region) == RPM_E_NAME);
    CHECK(rpm_region_open(conn, std::string(64, 'r').c_str(), &opts, &region) == RPM_E_NAME);
    struct {
        rpm_region_opts known;
        uint64_t later;
    } newer = { opts, 1 };
    newer.known.size = sizeof(newer);
    CHECK(rpm_region_open(conn, "r", &newer.known, &region) == RPM_E_OPTS);
    newer.later = 0;
    REQUIRE(rpm_region_open(conn, "r", &newer.known, &region) == 0);
    rpm_region_close(&region);
    CHECK(region == nullptr);
    rpm_region_close(&region);
}

TEST_CASE("open: kinds do not mix", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Region persistent(conn, "p", 64);
    Region dram(conn, "d", 64, 0, RPM_REGION_DRAM);
    Log log(conn, "l", WRITER, 4096);
    Region wrong;
    rpm_region_opts opts = rpm_region_opts_init();

    CHECK(wrong.open(conn, "d", nullptr) == RPM_E_EXISTS);
    CHECK(wrong.open(conn, "l", nullptr) == RPM_E_EXISTS);
    opts.flags = RPM_REGION_DRAM;
    CHECK(wrong.open(conn, "p", &opts) == RPM_E_EXISTS);
    REQUIRE(wrong.open(conn, "d", &opts) == 0);
}

TEST_CASE("open: a level that cannot be proven is refused before anything is created", "[unit]")
{
    Setup setup = queued(bit(RPM_METHOD_READ) | bit(RPM_METHOD_WRITE));
    Server server;

    setup.ddio = RPM_YES;
    Conn conn(server, setup);
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_entry entry = rpm_entry_init();
    Region region;
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 100;
    CHECK(region.open(conn, "r", &opts) == RPM_E_NOCAP);
    CHECK(rpm_conn_next(conn, &entry) == 0);
    opts.level = RPM_VISIBLE;
    REQUIRE(region.open(conn, "r", &opts) == 0);
    CHECK(region.write(0, "x") == 0);
    CHECK(rpm_region_persist(region, 0, 1) == 0);
}

TEST_CASE("open: every allocation may fail, nothing leaks, nothing is created", "[unit]")
{
    Setup setup = GENERATE(synchronous(), queued());
    Server server;
    Conn conn(server, setup);
    rpm_region_opts opts = rpm_region_opts_init();
    size_t staged = conn.link->staged.size();
    rpm_entry entry = rpm_entry_init();
    rpm_locks *locks = nullptr;
    Region region;
    uint64_t n = 1;

    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 100;
    for (; n < 10; n++) {
        rpmi_mem_fail_at(n);
        int err = region.open(conn, "r", &opts);
        rpmi_mem_fail_at(0);
        if (err == 0)
            break;
        CHECK(err == RPM_E_NOMEM);
        CHECK(conn.conn->owners_open == 0);
        CHECK(conn.link->staged.size() == staged);
        CHECK(rpm_conn_next(conn, &entry) == 0);
    }
    CHECK(n == 3);
    region.close();
    CHECK(conn.link->staged.size() == staged);
    rpmi_mem_fail_at(1);
    CHECK(rpm_locks_open(conn, "l", 3, &locks) == RPM_E_NOMEM);
    rpmi_mem_fail_at(0);
    CHECK(locks == nullptr);
    CHECK(conn.conn->owners_open == 0);
}

TEST_CASE("open: lost at its call, and the next attempt works", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_locks *locks = nullptr;
    Region region;
    int how = GENERATE(0, 1, 2);

    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 100;
    for (int which = 0; which < 2; which++) {
        if (how < 2)
            conn.link->faults.lose_call = 1;
        else
            conn.link->faults.stall_call = 1;
        conn.link->faults.lose_reply = how == 1;
        int err = which == 0 ? region.open(conn, "r", &opts) : rpm_locks_open(conn, "l", 3, &locks);
        CHECK(err == (how == 2 ? RPM_E_TIMEDOUT : RPM_E_LOST));
        CHECK(conn.conn->owners_open == (which == 0 ? 0 : 1));
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        err = which == 0 ? region.open(conn, "r", &opts) : rpm_locks_open(conn, "l", 3, &locks);
        REQUIRE(err == 0);
    }
    rpm_locks_close(&locks);
}

TEST_CASE("open: a lack of staging memory is an error with its reason", "[unit]")
{
    Server server;
    rpm_conn_opts conn_opts = rpm_conn_opts_init();

    conn_opts.staging_bytes = 3u << 20;
    Conn conn(server, queued(), &conn_opts);
    Region one(conn, "one", 100);
    Region two(conn, "two", 100);
    Region three;
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_entry entry = rpm_entry_init();
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 100;
    CHECK(three.open(conn, "three", &opts) == RPM_E_NOMEM);
    strcpy(entry.name, "two");
    CHECK(rpm_conn_next(conn, &entry) == 0);
    one.close();
    CHECK(three.open(conn, "three", &opts) == 0);
}

TEST_CASE("open: the method of a region overrides that of the connection", "[unit]")
{
    struct {
        uint32_t method;
        std::vector<int> kinds;
    } rows[] = {
        { 0, { RPMI_OP_WRITE, RPMI_OP_READ } }, // the connection's
        { RPM_METHOD_READ, { RPMI_OP_WRITE, RPMI_OP_READ } },
        { RPM_METHOD_MESSAGE, { RPMI_OP_WRITE, RPMI_OP_PERSIST } },
        { RPM_METHOD_COPY, { RPMI_OP_COPY } },
        { RPM_METHOD_FLUSH, { RPMI_OP_WRITE, RPMI_OP_FLUSH } },
    };
    rpm_conn_opts conn_opts = with_method(RPM_METHOD_READ);
    Server server;
    Conn conn(server, queued(), &conn_opts);

    for (const auto &row : rows) {
        rpm_region_opts opts = rpm_region_opts_init();
        std::vector<int> seen;
        Region region;

        CAPTURE(row.method);
        opts.flags = RPM_REGION_CREATE;
        opts.bytes = 1000;
        opts.method = row.method;
        REQUIRE(region.open(conn, "r", &opts) == 0);
        conn.link->on_op = [&](const rpmi_op &op) { seen.push_back(op.kind); };
        REQUIRE(region.write(0, "x") == 0);
        conn.link->on_op = nullptr;
        CHECK(seen == row.kinds);
        CHECK(server.pool.kept[POOL_DATA] == 'x');
    }
}

TEST_CASE("open: a region's method that does not reach its level is refused, with the reason",
          "[unit]")
{
    rpm_region_opts opts = rpm_region_opts_init();
    Setup setup = queued();
    Server server;

    setup.ddio = RPM_YES;
    Conn conn(server, setup);
    Region region;
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 1000;
    opts.method = RPM_METHOD_READ;
    CHECK(region.open(conn, "r", &opts) == RPM_E_NOCAP);
    CHECK(std::string(rpm_last_error()).find("DDIO") != std::string::npos);
    opts.flags |= RPM_REGION_DRAM; // level visible, which needs no flush
    CHECK(region.open(conn, "r", &opts) == 0);
}
