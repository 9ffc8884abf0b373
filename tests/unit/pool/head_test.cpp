// SPDX-License-Identifier: BSD-3-Clause
#include "unit/pool/claimed.h"

TEST_CASE("head: after a failed persist nothing is answered before the head is durable", "[unit]")
{
    ClaimServer server;

    server.pool.fail_persist_at = 1;
    CHECK(server.with_key(server.me, RPMI_CALL_TRIM, server.mine, 640).status == RPM_E_IO);
    CHECK(server.head(HEADER).trim_lsn == 640);
    server.pool.fail_persist_at = 1;
    CHECK(server.with_key(server.you, RPMI_CALL_TRIM, server.yours, 0).status == RPM_E_IO);
    rpmi_reply reply = server.with_key(server.you, RPMI_CALL_TRIM, server.yours, 0);
    CHECK(reply.status == 0);
    CHECK(reply.value == 640);
    REQUIRE(server.reborn() == 0);
    CHECK(server.head(HEADER).trim_lsn == 640);
}

TEST_CASE("head: a copy that could not be stored again is durable before the next head", "[unit]")
{
    ClaimServer server;

    rpm_diag_sink([](void *, rpm_diag_level, const char *) {}, nullptr, RPM_DIAG_WARNING);
    server.pool.bytes[HEADER + 3 * RPMI_HEAD_SLOT_STRIDE] ^= 1; // of the head, which is in 1 and 3
    server.pool.kept = server.pool.bytes;
    server.pool.fail_persist_at = 1; // of the copy
    CHECK(server.with_key(server.me, RPMI_CALL_TRIM, server.mine, 640).status == RPM_E_IO);
    server.pool.fail_persist_at = 2; // of the next head: a power cut tears it
    CHECK(server.with_key(server.me, RPMI_CALL_TRIM, server.mine, 640).status == RPM_E_IO);
    server.pool.fail_persist_at = 0;
    for (uint32_t slot : { 0u, 2u })
        server.pool.kept[HEADER + slot * RPMI_HEAD_SLOT_STRIDE + 32] ^= 1;
    REQUIRE(server.reborn() == 0);
    CHECK(server.head(HEADER).trim_lsn == 0);
    rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);
}

TEST_CASE("head: the head survives any flipped byte, which is repaired", "[unit]")
{
    ClaimServer server;
    rpmi_reply claim = server.claim(server.me, server.mine);

    REQUIRE(server.with_key(server.me, RPMI_CALL_SEAL, claim.key, 640).status == 0);
    REQUIRE(server.with_key(server.me, RPMI_CALL_TRIM, server.mine, 64).status == 0);
    rpmi_service_detach(server.service, server.me);
    std::vector<unsigned char> good = server.pool.bytes;

    rpm_diag_sink([](void *, rpm_diag_level, const char *) {}, nullptr, RPM_DIAG_WARNING);
    for (uint64_t at = 0; at < 2048; at++) {
        server.pool.bytes = good;
        server.pool.bytes[HEADER + at] ^= 0x41;
        rpmi_reply next = server.claim(server.you, server.yours);
        CAPTURE(at);
        // The claim word is eight bytes without a checksum: higher epochs, or none left.
        if (next.status == 0)
            CHECK(next.epoch >= 2);
        else
            CHECK((next.status == RPM_E_CORRUPT && at >= RPMI_GUARD_OFFSET));
        if (next.status == 0) {
            CHECK(memcmp(&server.pool.bytes[HEADER + 256], &good[HEADER + 256], RPMI_HEAD_BYTES) ==
                  0);
            CHECK(memcmp(&server.pool.bytes[HEADER + 768], &good[HEADER + 768], RPMI_HEAD_BYTES) ==
                  0);
            CHECK(server.head(HEADER).trim_lsn == 64);
            CHECK(server.head(HEADER).base_lsn == 640);
            CHECK(server.with_key(server.you, RPMI_CALL_SEAL, next.key, 640).status == 0);
            CHECK(server.with_key(server.you, RPMI_CALL_CLOSE, next.key).status == 0);
        }
    }
    // All of them, and all but one of an older head: none of them counts.
    for (uint64_t at = 0; at < RPMI_HEAD_BYTES; at++) {
        server.pool.bytes = good;
        server.pool.bytes[HEADER + at] ^= 1;
        server.pool.bytes[HEADER + 512 + at] ^= 1;
        server.pool.bytes[HEADER + 256 + at] ^= 1;
        server.pool.bytes[HEADER + 768 + at] ^= at % 2;
        CHECK(server.claim(server.you, server.yours).status == RPM_E_CORRUPT);
        CHECK(server.with_key(server.you, RPMI_CALL_TRIM, server.yours, 128).status ==
              RPM_E_CORRUPT);
    }
    rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);
}

TEST_CASE("head: an untrustworthy head is refused and not changed", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    rpmi_reply log = server.open(me, "log", RPM_KIND_LOG, 8192);
    uint64_t header = log.offset;
    rpmi_head head = server.head(header);

    REQUIRE(log.status == 0);
    head.turn = RPMI_HEAD_LIMIT - 1;
    for (uint32_t copy = 0; copy < RPMI_HEAD_COPIES; copy++)
        rpmi_head_put(
            &server.pool.bytes[header + 256 * uint64_t{ rpmi_head_slot(head.turn, copy) }], &head);
    rpmi_reply claim = server.with_key(me, RPMI_CALL_CLAIM, log.key);
    REQUIRE(claim.status == 0);
    CHECK(server.with_key(me, RPMI_CALL_SEAL, claim.key, 0).status == RPM_E_CORRUPT);
    CHECK(server.with_key(me, RPMI_CALL_TRIM, log.key, 64).status == RPM_E_CORRUPT);
    CHECK(server.head(header).turn == head.turn);
    CHECK(server.head(header).trim_lsn == 0);
}

namespace
{

// What OPEN says of the life in the log's head.
uint32_t lasting(PoolServer &server)
{
    rpmi_reply reply = server.open(server.client(), "log", RPM_KIND_LOG);

    REQUIRE(reply.status == 0);
    return reply.flags;
}

} // namespace

TEST_CASE("head: a seal records the life of its server, and OPEN says which parts of it last",
          "[unit]")
{
    const uint32_t both = RPMI_REPLY_RUN_LASTS | RPMI_REPLY_BOOT_LASTS;
    PoolServer server;
    uint32_t me = server.client();
    rpmi_reply log = server.open(me, "log", RPM_KIND_LOG, 8192);

    CHECK(log.flags == (RPMI_CALL_CREATE | both));
    CHECK(server.open(me, "region", RPM_KIND_REGION, 64).flags == RPMI_CALL_CREATE);
    rpmi_life created = server.head(log.offset).life;
    CHECK(created.run != 0);
    CHECK(created.boot == server.boot);

    rpmi_service_close(&server.service); // the process ends, its machine goes on
    REQUIRE(server.start() == 0);
    CHECK(lasting(server) == RPMI_REPLY_BOOT_LASTS);
    me = server.client();
    log = server.open(me, "log", RPM_KIND_LOG);
    REQUIRE(server.with_key(me, RPMI_CALL_TRIM, log.key, 640).status == 0);
    CHECK(server.head(log.offset).life.run == created.run);
    rpmi_reply claim = server.with_key(me, RPMI_CALL_CLAIM, log.key);
    CHECK(lasting(server) == RPMI_REPLY_BOOT_LASTS);
    REQUIRE(server.with_key(me, RPMI_CALL_SEAL, claim.key, 640).status == 0);
    CHECK(lasting(server) == both);
    CHECK(server.head(log.offset).life.run != created.run);

    REQUIRE(server.reborn() == 0);
    CHECK(lasting(server) == 0);
    rpmi_service_close(&server.service);
    server.boot = 1; // as when it was sealed
    REQUIRE(server.start() == 0);
    CHECK(lasting(server) == RPMI_REPLY_BOOT_LASTS);
    rpmi_service_close(&server.service);
    server.boot = 0; // a machine that does not say
    REQUIRE(server.start() == 0);
    CHECK(lasting(server) == 0);
}

TEST_CASE("head: an unknown boot never lasts, and nothing lasts of a head that cannot be read",
          "[unit]")
{
    PoolServer server;

    server.boot = 0;
    rpmi_service_close(&server.service);
    REQUIRE(server.start() == 0);
    rpmi_reply log = server.open(server.client(), "log", RPM_KIND_LOG, 8192);
    CHECK(log.flags == (uint32_t{ RPMI_CALL_CREATE } | RPMI_REPLY_RUN_LASTS));
    CHECK(lasting(server) == RPMI_REPLY_RUN_LASTS);
    // Without 0, 2 and 3 the head in 1 is valid, but a newer one may have been there.
    for (uint32_t slot : { 0u, 2u, 3u, 1u }) {
        server.pool.bytes[log.offset + slot * RPMI_HEAD_SLOT_STRIDE] ^= 1;
        CAPTURE(slot);
        CHECK(lasting(server) == (slot == 0 || slot == 2 ? RPMI_REPLY_RUN_LASTS : 0));
    }
}
