// SPDX-License-Identifier: BSD-3-Clause
#include "unit/pool/server.h"

extern "C" {
#include "wire/start.h"
}

namespace
{

constexpr uint64_t COPY_2 = RPMI_START_AT + RPMI_START_STRIDE;

void store(loop::Mem &pool, uint64_t at, uint32_t starts)
{
    rpmi_start_count start = { starts };

    rpmi_start_put(&pool.bytes[at], &start);
    memcpy(&pool.kept[at], &pool.bytes[at], RPMI_START_BYTES);
}

} // namespace

TEST_CASE("start: each start of a server counts, durably", "[unit]")
{
    PoolServer server(1 << 20);

    for (uint32_t starts = 1; starts < 5; starts++) {
        CHECK(rpmi_service_starts(server.service) == starts);
        REQUIRE(server.reborn() == 0); // on the durable bytes
    }
}

TEST_CASE("start: a start is above both copies, whichever a power cut or damage left", "[unit]")
{
    struct {
        uint32_t first;
        uint32_t second;
    } const CASES[] = { { 9, 8 }, { 8, 9 }, { 9, 9 } };

    for (const auto &test : CASES) {
        PoolServer server(1 << 20);

        store(server.pool, RPMI_START_AT, test.first);
        store(server.pool, COPY_2, test.second);
        REQUIRE(server.reborn() == 0);
        CHECK(rpmi_service_starts(server.service) == 10);
    }
    for (uint64_t at : { uint64_t{ RPMI_START_AT }, COPY_2 }) {
        PoolServer server(1 << 20);

        store(server.pool, RPMI_START_AT, 9);
        store(server.pool, COPY_2, 9);
        server.pool.kept[at + 5] ^= 1;
        REQUIRE(server.reborn() == 0);
        CHECK(rpmi_service_starts(server.service) == 10);
        server.pool.kept[RPMI_START_AT + COPY_2 - at] ^= 1; // it was stored again: the other counts
        REQUIRE(server.reborn() == 0);
        CHECK(rpmi_service_starts(server.service) == 11);
    }
}

TEST_CASE("start: with both copies damaged, or at the last number, a pool is refused", "[unit]")
{
    PoolServer server(1 << 20);

    for (uint64_t at : { uint64_t{ RPMI_START_AT }, COPY_2 })
        memset(&server.pool.kept[at], 0, RPMI_START_BYTES);
    CHECK(server.reborn() == RPM_E_CORRUPT);
    store(server.pool, RPMI_START_AT, UINT32_MAX);
    store(server.pool, COPY_2, UINT32_MAX - 1);
    CHECK(server.reborn() == RPM_E_LIMIT);
    store(server.pool, RPMI_START_AT, UINT32_MAX - 1);
    REQUIRE(server.reborn() == 0);
    CHECK(rpmi_service_starts(server.service) == UINT32_MAX);
}

TEST_CASE("start: a server whose start cannot be made durable does not start", "[unit]")
{
    PoolServer server(1 << 20);

    rpmi_service_close(&server.service);
    uint32_t before = server.pool.persists;
    REQUIRE(server.start() == 0);
    uint32_t all = server.pool.persists - before;
    rpmi_service_close(&server.service);
    server.pool.fail_persist_at = all; // the last one: that of the counter
    CHECK(server.start() == RPM_E_IO);
    REQUIRE(server.start() == 0);
    CHECK(rpmi_service_starts(server.service) == 4);
}
