// SPDX-License-Identifier: BSD-3-Clause
#include "support/rounds.h"
#include "unit/pool/claimed.h"

extern "C" {
#include "base/rng.h"
}

TEST_CASE("seal: sealing sets base and epoch, once for a claim, within bounds", "[unit]")
{
    ClaimServer server;
    rpmi_reply claim = server.claim(server.me, server.mine);

    for (uint64_t lsn : { uint64_t(1), uint64_t(8192 + 64), UINT64_MAX, UINT64_MAX - 63 })
        CHECK(server.with_key(server.me, RPMI_CALL_SEAL, claim.key, lsn).status == RPM_E_RANGE);
    CHECK(server.head(HEADER).epoch == 0);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, claim.key, 640).status == 0);
    rpmi_head head = server.head(HEADER);
    CHECK(head.epoch == 1);
    CHECK(head.base_lsn == 640);
    CHECK(head.turn == 2);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, claim.key, 640).status == RPM_E_DENIED);
}

TEST_CASE("seal: trims only go up, and stay within the ring", "[unit]")
{
    ClaimServer server;

    CHECK(server.with_key(server.me, RPMI_CALL_TRIM, server.mine, 8192 + 64).status == RPM_E_RANGE);
    CHECK(server.with_key(server.me, RPMI_CALL_TRIM, server.mine, 100).status == RPM_E_RANGE);
    CHECK(server.with_key(server.me, RPMI_CALL_TRIM, server.mine, UINT64_MAX - 63).status ==
          RPM_E_RANGE);
    CHECK(server.with_key(server.me, RPMI_CALL_TRIM, server.mine, 8192).status == 0);
    CHECK(server.with_key(server.you, RPMI_CALL_TRIM, server.yours, 640).status ==
          0); // lower: nothing
    CHECK(server.head(HEADER).trim_lsn == 8192);
    rpmi_reply claim = server.claim(server.me, server.mine);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, claim.key, 8128).status == RPM_E_RANGE);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, claim.key, 8192).status == 0);
    CHECK(server.head(HEADER).trim_lsn == 8192);
}

TEST_CASE("seal: before its seal, the holder of a claim trims any distance", "[unit]")
{
    ClaimServer server;
    const uint64_t far = 1 << 20; // far behind the ring

    rpmi_reply claim = server.claim(server.me, server.mine);
    CHECK(server.with_key(server.you, RPMI_CALL_TRIM, server.yours, far).status == RPM_E_RANGE);
    for (uint64_t lsn : { far + 1, uint64_t{ RPMI_HEAD_LIMIT }, UINT64_MAX - 63 })
        CHECK(server.with_key(server.me, RPMI_CALL_TRIM, server.mine, lsn).status == RPM_E_RANGE);
    rpmi_reply trimmed = server.with_key(server.me, RPMI_CALL_TRIM, server.mine, far);
    REQUIRE(trimmed.status == 0);
    CHECK(trimmed.value == far);
    REQUIRE(server.reborn() == 0);
    CHECK(server.head(HEADER).trim_lsn == far);
    server.attach();
    claim = server.claim(server.me, server.mine);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, claim.key, far - 64).status == RPM_E_RANGE);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, claim.key, far + 8192).status == 0);
    CHECK(server.with_key(server.me, RPMI_CALL_TRIM, server.mine, far + 8192 + 64).status ==
          RPM_E_RANGE);
    CHECK(server.head(HEADER).base_lsn == far + 8192);
}

namespace
{

uint64_t commit(const std::vector<unsigned char> &pool)
{
    return rpmi_load64(&pool[HEADER + RPMI_COMMIT_OFFSET]);
}

void set_commit(loop::Mem &pool, uint64_t lsn)
{
    rpmi_store64(&pool.bytes[HEADER + RPMI_COMMIT_OFFSET], lsn);
    rpmi_store64(&pool.kept[HEADER + RPMI_COMMIT_OFFSET], lsn);
}

} // namespace

TEST_CASE("seal: a commit word above the new base is lowered, and no other is changed", "[unit]")
{
    for (uint64_t word :
         { uint64_t{ 0 }, uint64_t{ 576 }, uint64_t{ 640 }, uint64_t{ 704 }, UINT64_MAX }) {
        ClaimServer server;
        rpmi_reply claim = server.claim(server.me, server.mine);

        set_commit(server.pool, word);
        CAPTURE(word);
        REQUIRE(server.with_key(server.me, RPMI_CALL_SEAL, claim.key, 640).status == 0);
        CHECK(commit(server.pool.kept) == (word > 640 ? 640 : word));
        CHECK(commit(server.pool.bytes) == commit(server.pool.kept));
        // A trim leaves it alone, and so does a claim.
        set_commit(server.pool, 8192);
        REQUIRE(server.with_key(server.me, RPMI_CALL_TRIM, server.mine, 640).status == 0);
        REQUIRE(server.claim(server.you, server.yours, RPMI_CALL_TAKEOVER).status == 0);
        CHECK(commit(server.pool.bytes) == 8192);
    }
}

TEST_CASE("seal: power fails while a commit word is lowered: no head is sealed below it", "[unit]")
{
    for (uint32_t step = 1; step <= 3; step++) {
        ClaimServer server;
        rpmi_reply claim = server.claim(server.me, server.mine);

        set_commit(server.pool, 8192);
        CAPTURE(step);
        server.pool.fail_persist_at = step;
        rpmi_reply sealed = server.with_key(server.me, RPMI_CALL_SEAL, claim.key, 640);
        CHECK((sealed.status == 0) == (step == 3)); // the word, then the head
        server.pool.fail_persist_at = 0;
        REQUIRE(server.reborn() == 0);
        CHECK((server.head(HEADER).epoch == 0 || commit(server.pool.bytes) <= 640));
        CHECK(commit(server.pool.bytes) == (step == 1 ? 8192 : 640));
    }
}

TEST_CASE("seal: a commit word that could not be persisted is, before a head is sealed", "[unit]")
{
    ClaimServer server;
    rpmi_reply claim = server.claim(server.me, server.mine);

    set_commit(server.pool, 8192);
    for (uint32_t again = 0; again < 2; again++) {
        server.pool.fail_persist_at = 1;
        CHECK(server.with_key(server.me, RPMI_CALL_SEAL, claim.key, 640).status == RPM_E_IO);
        CHECK(commit(server.pool.bytes) == 640); // as readers see it
        CHECK(commit(server.pool.kept) == 8192);
    }
    server.pool.fail_persist_at = 0;
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, claim.key, 640).status == 0);
    REQUIRE(server.reborn() == 0);
    CHECK(server.head(HEADER).epoch == 1);
    CHECK(commit(server.pool.bytes) == 640);
}

TEST_CASE("seal: after a power failure at any persist, the head is the old one or the new one",
          "[unit]")
{
    for (uint32_t step = 1; step < 12; step++) {
        ClaimServer server;
        uint64_t trimmed = 0;
        uint32_t sealed = 0;
        rpmi_reply claim;

        CAPTURE(step);
        server.pool.fail_persist_at = step;
        claim = server.claim(server.me, server.mine);
        if (claim.status == 0 &&
            server.with_key(server.me, RPMI_CALL_SEAL, claim.key, 4096).status == 0)
            sealed = 1;
        for (uint64_t lsn = 64; lsn <= 640; lsn += 64)
            if (server.with_key(server.me, RPMI_CALL_TRIM, server.mine, lsn).status == 0)
                trimmed = lsn;
            else
                break;
        server.pool.fail_persist_at = 0;
        REQUIRE(server.reborn() == 0);
        rpmi_head head = server.head(HEADER);
        // An answered call has taken effect; an unanswered one may have.
        CHECK(head.trim_lsn >= trimmed);
        CHECK(head.trim_lsn <= trimmed + 64);
        CHECK(head.epoch >= sealed);
        uint32_t me = server.client();
        uint32_t key = server.open(me, "log", RPM_KIND_LOG).key;
        CHECK(server.claim(me, key).epoch == (claim.status == 0 ? 2 : 1));
    }
}

namespace
{

// A log with records and a trimmed head, whose writer is gone, and the values of its repair.
struct RepairServer : ClaimServer {
    RepairServer()
    {
        rpmi_reply first = claim(me, mine);

        REQUIRE(with_key(me, RPMI_CALL_SEAL, first.key, 640).status == 0);
        REQUIRE(with_key(me, RPMI_CALL_TRIM, mine, 64).status == 0);
        REQUIRE(with_key(me, RPMI_CALL_CLOSE, first.key).status == 0);
    }
    rpmi_reply repair_claim(uint64_t seen, uint32_t flags = 0)
    {
        rpmi_call request = {};

        request.kind = RPMI_CALL_CLAIM;
        request.key = yours;
        request.flags = flags | RPMI_CALL_REPAIR;
        request.bytes = seen;
        return call(you, request);
    }
    rpmi_reply repair_seal(uint32_t key, uint64_t trim, uint64_t base)
    {
        rpmi_call request = {};

        request.kind = RPMI_CALL_SEAL;
        request.key = key;
        request.flags = RPMI_CALL_REPAIR;
        request.bytes = trim;
        request.lsn = base;
        return call(you, request);
    }
    void damage(uint32_t slots)
    {
        for (uint32_t slot = 0; slot < RPMI_HEAD_SLOTS; slot++)
            if ((slots >> slot & 1) != 0)
                pool.bytes[HEADER + slot * RPMI_HEAD_SLOT_STRIDE + 32] ^= 0x41;
        pool.kept = pool.bytes;
    }
    // All four slots have the repaired head, each with the turn of its parity.
    void check_whole(uint64_t trim, uint64_t base, uint32_t epoch)
    {
        rpmi_head_found found[RPMI_HEAD_SLOTS];
        uint32_t best = rpmi_head_judge(&pool.bytes[HEADER], head(HEADER).log_id, 8192, found);

        REQUIRE(best < RPMI_HEAD_SLOTS);
        for (uint32_t slot = 0; slot < RPMI_HEAD_SLOTS; slot++) {
            CAPTURE(slot);
            REQUIRE(found[slot].wrong == nullptr);
            CHECK(found[slot].head.turn + (slot % 2 == best % 2 ? 0 : 1) == found[best].head.turn);
            CHECK(found[slot].head.trim_lsn == trim);
            CHECK(found[slot].head.base_lsn == base);
            CHECK(found[slot].head.epoch == epoch);
        }
    }
};

} // namespace

TEST_CASE("seal: a lost head is reported with its reason, and can be repaired", "[unit]")
{
    RepairServer server;
    uint32_t slots = GENERATE(15u, 13u, 7u, 1u, 0u);
    uint64_t word = GENERATE(uint64_t{ 1 }, UINT64_MAX, uint64_t{ UINT32_MAX });
    bool sound = slots < 2 && word == 1;

    CAPTURE(slots, word);
    rpm_diag_sink([](void *, rpm_diag_level, const char *) {}, nullptr, RPM_DIAG_WARNING);
    server.damage(slots);
    rpmi_store64(&server.pool.bytes[HEADER + RPMI_GUARD_OFFSET], word);
    if (!sound) {
        rpmi_reply refused = server.claim(server.you, server.yours);
        CHECK(refused.status == RPM_E_CORRUPT);
        CHECK(std::string(refused.text).find("needs 'rpm-log repair': ") != std::string::npos);
        CHECK((std::string(refused.text).find(slots == 15 ? "slot 0 has a wrong checksum" : "") !=
               std::string::npos));
    }
    rpmi_reply claim = server.repair_claim(7);
    REQUIRE(claim.status == 0);
    CHECK(claim.epoch == 8);
    CHECK(server.repair_seal(claim.key, 64, 640).status == 0);
    server.check_whole(64, 640, 8);
    CHECK(server.with_key(server.you, RPMI_CALL_CLOSE, claim.key).status == 0);
    rpmi_reply next = server.claim(server.me, server.mine);
    CHECK(next.epoch == 9);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, next.key, 640).status == 0);
    rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);
}

TEST_CASE("seal: a repair keeps to the log's limits and to what valid slots say", "[unit]")
{
    RepairServer server;

    server.damage(4 + 8);
    CHECK(server.repair_claim(UINT32_MAX).status == RPM_E_CORRUPT);
    rpmi_reply claim = server.repair_claim(0);
    REQUIRE(claim.status == 0);
    CHECK(claim.epoch == 2); // above that of the valid slots
    for (auto [trim, base] : std::vector<std::pair<uint64_t, uint64_t>>{
             { 0, 640 },                           // trimmed to 64
             { 65, 640 },                          // no line
             { 64, 650 },                          //
             { 704, 640 },                         // the end before the beginning
             { 64, 64 + 8192 + 64 },               // more than the ring
             { RPMI_HEAD_LIMIT, RPMI_HEAD_LIMIT }, // never reached
             { UINT64_MAX - 63, UINT64_MAX - 63 } }) {
        CAPTURE(trim, base);
        CHECK(server.repair_seal(claim.key, trim, base).status == RPM_E_RANGE);
    }
    set_commit(server.pool, 2 * 8192);
    CHECK(server.repair_seal(claim.key, 8192 - 64, 8192 + 640).status == 0);
    server.check_whole(8192 - 64, 8192 + 640, 2);
    CHECK(commit(server.pool.kept) == 8192 + 640); // lowered
    CHECK(server.repair_seal(claim.key, 8192 - 64, 8192 + 640).status == RPM_E_DENIED);
    // A repair does not fence a live writer unless the caller asks for it.
    CHECK(server.with_key(server.you, RPMI_CALL_CLOSE, claim.key).status == 0);
    rpmi_reply writer = server.claim(server.me, server.mine);
    REQUIRE(writer.status == 0);
    CHECK(server.repair_claim(0).status == RPM_E_OWNED);
    claim = server.repair_claim(0, RPMI_CALL_TAKEOVER);
    REQUIRE(claim.status == 0);
    CHECK(claim.epoch == 4);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, writer.key, 8192 + 640).status ==
          RPM_E_FENCED);
}

TEST_CASE("seal: after a failed persist a head is repaired over durable ones only", "[unit]")
{
    for (uint32_t step = 1; step <= 4; step++) { // the ring, the heads
        RepairServer server;
        rpmi_reply claim = server.repair_claim(7);

        REQUIRE(claim.status == 0);
        CAPTURE(step);
        server.pool.fail_persist_at = step;
        rpmi_reply sealed = server.repair_seal(claim.key, 64, 640);
        CHECK((sealed.status == 0) == (step == 4));
        if (step == 4)
            continue;
        server.pool.fail_persist_at = 1;
        CHECK(server.repair_seal(claim.key, 64, 640).status == RPM_E_IO);
        CHECK(server.repair_seal(claim.key, 64, 640).status == 0);
        server.check_whole(64, 640, 8);
        REQUIRE(server.reborn() == 0);
        server.check_whole(64, 640, 8);
    }
}

TEST_CASE("seal: a repair that a power cut ends early left a log that opens, or is repaired again",
          "[unit]")
{
    uint32_t slots = GENERATE(15u, 14u, 11u, 10u, 5u, 0u);
    uint64_t opened = 0;
    uint64_t again = 0;

    CAPTURE(slots);
    rpm_diag_sink([](void *, rpm_diag_level, const char *) {}, nullptr, RPM_DIAG_WARNING);
    // The claim word; what is kept of the ring, in one piece or two; two pairs of slots.
    for (uint32_t persist = 1; persist <= 5; persist++) {
        for (uint64_t seed : seeds(0, 40)) {
            RepairServer server;
            rpmi_rng rng;

            CAPTURE(persist, seed);
            server.damage(slots);
            server.pool.fail_persist_at = persist;
            rpmi_reply claim = server.repair_claim(7);
            if (claim.status == 0)
                CHECK(server.repair_seal(claim.key, 8128, 8320).status ==
                      (persist <= 5 ? RPM_E_IO : 0));
            // Power fails: of what was not persisted any words arrived.
            rpmi_rng_seed(&rng, seed);
            for (size_t at = HEADER; at < HEADER + 4096; at += 8)
                if (rpmi_rng_below(&rng, 2) == 0)
                    memcpy(&server.pool.kept[at], &server.pool.bytes[at], 8);
            REQUIRE(server.reborn() == 0);
            server.you = server.client();
            server.yours = server.open(server.you, "log", RPM_KIND_LOG).key;
            rpmi_reply next = server.claim(server.you, server.yours);
            if (next.status == 0) {
                uint64_t trim = server.head(HEADER).trim_lsn;
                CHECK((trim == 8128 || (slots != 15 && trim <= 64)));
                opened++;
                continue;
            }
            CHECK(next.status == RPM_E_CORRUPT);
            next = server.repair_claim(7);
            REQUIRE(next.status == 0);
            CHECK(next.epoch >= 8);
            CHECK(server.repair_seal(next.key, 8128, 8320).status == 0);
            server.check_whole(8128, 8320, next.epoch);
            again++;
        }
    }
    rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);
    CHECK(opened > 0);
    CHECK((again > 0) == (slots == 15 || slots == 14 || slots == 11));
}
