// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

extern "C" {
#include "log/log.h"
}

using namespace loop;

TEST_CASE("append: what was appended is read back, at every method", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    std::vector<Record> wrote;

    rpmi_mem_freeze();
    for (uint64_t i = 0; i < 20; i++) {
        std::string data = payload(i, 1 + 37 * i);

        wrote.push_back({ data, append(log, data), 1 });
    }
    rpmi_mem_thaw();
    CHECK(read_all(log) == wrote);
    CHECK(info(log).method == kind.method);

    // It is durable too: a power cut takes nothing.
    log.close();
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    Log after(conn, "a", WRITER);
    CHECK(read_all(after) == wrote);
    CHECK(info(after).epoch == 2);
    CHECK(info(after).records == 20);
}
