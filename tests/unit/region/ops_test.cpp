// SPDX-License-Identifier: BSD-3-Clause
#include "unit/region/region.h"

using namespace loop;

TEST_CASE("ops: inside its own slot a write may zero up to the next line, no further", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Region region(conn, "r", 256 * 4 + 30, 256);
    auto fill = [&] { std::fill_n(server.pool.bytes.begin() + POOL_DATA, 1054, 0x55); };
    auto touched = [&] {
        size_t last = 0;
        for (size_t i = 0; i < 1054; i++)
            last = server.pool.bytes[POOL_DATA + i] != 0x55 ? i + 1 : last;
        return last;
    };

    fill();
    REQUIRE(region.write(256, std::string(70, 'a')) == 0);
    CHECK(touched() == 256 + 128);
    fill();
    REQUIRE(region.write(256, std::string(256, 'a')) == 0);
    CHECK(touched() == 512);
    fill();
    REQUIRE(region.write(256, std::string(300, 'a')) == 0); // leaves its slot: not padded
    CHECK(touched() == 556);
    fill();
    REQUIRE(region.write(264, std::string(70, 'a')) == 0); // not from the slot's start
    CHECK(touched() == 334);
    fill();
    REQUIRE(region.write(1024, std::string(20, 'a')) == 0); // the region ends before the line does
    CHECK(touched() == 1044);
}

TEST_CASE("ops: AFTER carries a fence unless everything before was waited for", "[unit]")
{
    rpm_conn_opts conn_opts = with_method(RPM_METHOD_READ);
    Server server;
    Conn conn(server, queued(), &conn_opts);
    Region region(conn, "r", 1000);
    std::vector<rpmi_op> ops;
    rpm_patch patches[3] = { { 0, "data", 4, 0 },
                             { 100, "more", 4, 0 },
                             { 200, "flag", 4, RPM_PATCH_AFTER } };

    conn.link->on_op = [&](const rpmi_op &op) { ops.push_back(op); };
    REQUIRE(rpm_region_writev(region, patches, 3) == 0);
    REQUIRE(ops.size() == 5);
    CHECK(ops[2].kind == RPMI_OP_READ);
    CHECK(ops[3].kind == RPMI_OP_WRITE);
    CHECK((ops[3].flags & RPMI_OP_FENCED) != 0);
    CHECK(ops[4].kind == RPMI_OP_READ);
}

TEST_CASE("ops: a word behind AFTER is placed whole, and waits for a FLUSH by itself", "[unit]")
{
    struct {
        uint32_t method;
        uint32_t answer; // has the device ATOMIC WRITE?
        uint64_t offset;
        size_t len;
        bool word;
        bool fenced;
    } const all[] = {
        { RPM_METHOD_FLUSH, RPM_YES, 200, 8, true, false },
        { RPM_METHOD_FLUSH, RPM_NO, 200, 8, false, true },
        { RPM_METHOD_FLUSH, RPM_UNKNOWN, 200, 8, false, true },
        { RPM_METHOD_FLUSH, RPM_YES, 204, 8, false, true }, // not aligned
        { RPM_METHOD_FLUSH, RPM_YES, 200, 4, false, true },
        { RPM_METHOD_FLUSH, RPM_YES, 200, 16, false, true },
        { RPM_METHOD_READ, RPM_YES, 200, 8, true, true }, // may overtake a READ
        { RPM_METHOD_MESSAGE, RPM_YES, 200, 8, true, true },
        { RPM_METHOD_COPY, RPM_YES, 200, 8, false, true }, // the server CPU writes
    };

    for (const auto &one : all) {
        rpm_conn_opts opts = with_method(one.method);
        Server server;
        Conn conn(server, queued(), &opts);
        Region region(conn, "r", 4096);
        std::string flag(one.len, 'f');
        std::vector<rpmi_op> ops;
        rpm_patch patches[2] = { { 0, "data", 4, 0 },
                                 { one.offset, flag.data(), flag.size(), RPM_PATCH_AFTER } };

        CAPTURE(rpm_method_name(static_cast<rpm_method>(one.method)), one.answer, one.offset,
                one.len);
        conn.link->link.facts.atomic_write = one.answer;
        conn.link->on_op = [&](const rpmi_op &op) { ops.push_back(op); };
        REQUIRE(rpm_region_writev(region, patches, 2) == 0);
        uint32_t found = 0;
        for (const rpmi_op &op : ops) {
            bool write = op.kind == RPMI_OP_WRITE || op.kind == RPMI_OP_COPY;

            if (!write || op.offset != one.offset)
                continue;
            found++;
            CHECK(((op.flags & RPMI_OP_WORD) != 0) == one.word);
            CHECK(((op.flags & RPMI_OP_FENCED) != 0) == one.fenced);
        }
        CHECK(found == 1);
    }
}
