// SPDX-License-Identifier: BSD-3-Clause
#include "unit/pool/claimed.h"

extern "C" {
#include "base/err.h"
}

TEST_CASE(
    "claim: the first client gets the log, the second is refused, a takeover fences the first",
    "[unit]")
{
    ClaimServer server;
    uint64_t claims;
    uint64_t fenced;

    rpmi_reply first = server.claim(server.me, server.mine);
    REQUIRE(first.status == 0);
    CHECK(first.epoch == 1);
    CHECK(server.guard() == 1);
    CHECK(server.access(server.me, first.key, 4096, 64, RPMI_RIGHT_WRITE) == 0);
    CHECK(server.access(server.me, first.key, RPMI_COMMIT_OFFSET - 1, 64, RPMI_RIGHT_WRITE) ==
          RPM_E_DENIED); // the header
    CHECK(server.access(server.me, first.key, RPMI_COMMIT_OFFSET, 8, RPMI_RIGHT_WRITE) == 0);
    CHECK(server.access(server.me, server.mine, RPMI_COMMIT_OFFSET, 8, RPMI_RIGHT_WRITE) ==
          RPM_E_DENIED);
    CHECK(server.claim(server.you, server.yours).status == RPM_E_OWNED);
    CHECK(server.claim(server.me, server.mine).status == RPM_E_OWNED);

    rpmi_reply second = server.claim(server.you, server.yours, RPMI_CALL_TAKEOVER);
    REQUIRE(second.status == 0);
    CHECK(second.epoch == 2);
    CHECK(server.access(server.me, first.key, 4096, 64, RPMI_RIGHT_WRITE) == RPM_E_FENCED);
    CHECK(server.access(server.me, first.key, 4096, 64, RPMI_RIGHT_READ) == RPM_E_FENCED);
    CHECK(server.access(server.me, server.mine, 4096, 64, RPMI_RIGHT_READ) == 0);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, first.key).status == RPM_E_FENCED);
    rpmi_service_counters(server.service, &claims, &fenced);
    CHECK(claims == 2);
    CHECK(fenced == 1);

    // Giving the revoked key back does not end the other's claim; giving the live one does.
    CHECK(server.with_key(server.me, RPMI_CALL_CLOSE, first.key).status == 0);
    CHECK(server.claim(server.me, server.mine).status == RPM_E_OWNED);
    CHECK(server.with_key(server.you, RPMI_CALL_CLOSE, second.key).status == 0);
    CHECK(server.claim(server.me, server.mine).epoch == 3);
}

TEST_CASE("claim: a resume is granted until another writer claims, across restarts too", "[unit]")
{
    ClaimServer server;
    rpmi_reply first = server.claim(server.me, server.mine);
    auto resume = [&](uint32_t client, uint32_t key) {
        return server.with_key(client, RPMI_CALL_CLAIM, key, first.epoch, RPMI_CALL_RESUME);
    };

    REQUIRE(first.status == 0);
    for (uint32_t again = 1; again <= 3; again++) // the replies before were lost
        CHECK(resume(server.you, server.yours).epoch == first.epoch + again);
    REQUIRE(server.reborn() == 0);
    server.me = server.client();
    server.mine = server.open(server.me, "log", RPM_KIND_LOG).key;
    server.you = server.client();
    server.yours = server.open(server.you, "log", RPM_KIND_LOG).key;
    CHECK(resume(server.me, server.mine).epoch == first.epoch + 4);
    rpmi_reply other = server.claim(server.you, server.yours, RPMI_CALL_TAKEOVER);
    REQUIRE(other.status == 0);
    CHECK(resume(server.me, server.mine).status == RPM_E_FENCED);
    CHECK(server.guard() == other.epoch);
    CHECK(server.with_key(server.you, RPMI_CALL_SEAL, other.key).status == 0); // it was not fenced
    REQUIRE(server.reborn() == 0);
    server.me = server.client();
    server.mine = server.open(server.me, "log", RPM_KIND_LOG).key;
    CHECK(resume(server.me, server.mine).status == RPM_E_FENCED);
}

TEST_CASE("claim: an epoch that a client asks for is granted above all others only", "[unit]")
{
    ClaimServer server;
    rpmi_reply first = server.claim_epoch(server.me, server.mine, 5);

    REQUIRE(first.status == 0);
    CHECK(first.epoch == 5);
    CHECK(server.guard() == 5);
    // While the writer lives, as without an epoch; and it is not used up by that.
    std::vector<unsigned char> before = server.pool.bytes;
    CHECK(server.claim_epoch(server.you, server.yours, 6).status == RPM_E_OWNED);
    CHECK(server.claim(server.you, server.yours).status == RPM_E_OWNED);
    CHECK((server.pool.bytes == before));
    for (uint32_t epoch : { 1u, 4u, 5u }) {
        rpmi_reply lower =
            server.claim_epoch(server.you, server.yours, epoch, 0, RPMI_CALL_TAKEOVER);

        CHECK(lower.status == RPM_E_FENCED);
        CHECK(std::string(lower.text).find("claimed with epoch 5") != std::string::npos);
    }
    CHECK(server.access(server.me, first.key, 4096, 64, RPMI_RIGHT_WRITE) == 0);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, first.key).status == 0);
    rpmi_reply second = server.claim_epoch(server.you, server.yours, 9, 0, RPMI_CALL_TAKEOVER);
    REQUIRE(second.status == 0);
    CHECK(second.epoch == 9);
    CHECK(server.access(server.me, first.key, 4096, 64, RPMI_RIGHT_WRITE) == RPM_E_FENCED);

    REQUIRE(server.reborn() == 0);
    server.attach();
    CHECK(server.claim_epoch(server.me, server.mine, 9).status == RPM_E_FENCED);
    CHECK(server.claim_epoch(server.me, server.mine, UINT32_MAX).status == RPM_E_RANGE);
    CHECK(server.claim(server.me, server.mine).epoch == 10);
    rpmi_reply last =
        server.claim_epoch(server.you, server.yours, UINT32_MAX - 1, 0, RPMI_CALL_TAKEOVER);
    CHECK(last.epoch == UINT32_MAX - 1);
}

TEST_CASE("claim: an epoch must be above the head's, and without RESUME or REPAIR", "[unit]")
{
    ClaimServer server;
    rpmi_reply first = server.claim_epoch(server.me, server.mine, 5);

    REQUIRE(server.with_key(server.me, RPMI_CALL_SEAL, first.key).status == 0);
    REQUIRE(server.with_key(server.me, RPMI_CALL_CLOSE, first.key).status == 0);
    rpmi_store64(&server.pool.bytes[HEADER + RPMI_GUARD_OFFSET], 0); // a damaged claim word
    CHECK(server.claim_epoch(server.me, server.mine, 5).status == RPM_E_FENCED);
    for (uint32_t flag : { RPMI_CALL_RESUME, RPMI_CALL_REPAIR })
        CHECK(server.claim_epoch(server.me, server.mine, 6, 0, flag).status == RPM_E_INVAL);
    CHECK(server.claim_epoch(server.me, server.mine, 0, first.token).status == RPM_E_INVAL);
    CHECK(server.claim_epoch(server.me, server.mine, 6).status == 0);
}

TEST_CASE("claim: a token claims its epoch again, and ends the key before", "[unit]")
{
    bool sealed = GENERATE(false, true);
    ClaimServer server;
    uint64_t claims;
    uint64_t fenced;
    rpmi_reply first = server.claim_epoch(server.me, server.mine, 5);

    CAPTURE(sealed);
    REQUIRE(first.token != 0);
    if (sealed)
        REQUIRE(server.with_key(server.me, RPMI_CALL_SEAL, first.key, 640).status == 0);
    rpmi_head head = server.head(HEADER);
    // The connection before may not have ended yet for the server.
    rpmi_reply again = server.claim_epoch(server.you, server.yours, 5, first.token);
    REQUIRE(again.status == 0);
    CHECK(again.epoch == 5);
    CHECK(again.token == first.token);
    CHECK(server.guard() == 5);
    CHECK(server.access(server.me, first.key, 4096, 64, RPMI_RIGHT_WRITE) == RPM_E_FENCED);
    CHECK(server.access(server.you, again.key, 4096, 64, RPMI_RIGHT_WRITE) == 0);
    rpmi_service_counters(server.service, &claims, &fenced);
    CHECK(claims == 2);
    CHECK(fenced == 0); // it was its own
    CHECK(server.with_key(server.you, RPMI_CALL_SEAL, again.key, 640).status ==
          (sealed ? RPM_E_DENIED : 0)); // sealed once
    CHECK((server.head(HEADER).turn == head.turn) == sealed);

    // On the same connection, whether the key was closed or not; and after a restart.
    rpmi_reply third = server.claim_epoch(server.you, server.yours, 5, first.token);
    REQUIRE(third.status == 0);
    CHECK(third.key != again.key);
    CHECK(server.access(server.you, again.key, 4096, 64, RPMI_RIGHT_WRITE) == RPM_E_FENCED);
    CHECK(server.with_key(server.you, RPMI_CALL_CLOSE, third.key).status == 0);
    CHECK(server.claim_epoch(server.me, server.mine, 5, first.token).status == 0);
    REQUIRE(server.reborn() == 0);
    server.attach();
    CHECK(server.claim_epoch(server.me, server.mine, 5, first.token).token == first.token);
    // The word since stayed as it was.
    CHECK(server.with_key(server.you, RPMI_CALL_CLAIM, server.yours, 5, RPMI_CALL_RESUME).epoch ==
          6);
}

TEST_CASE("claim: a token is worth nothing with another epoch, or once another writer claimed",
          "[unit]")
{
    ClaimServer server;
    rpmi_reply first = server.claim_epoch(server.me, server.mine, 5);

    for (uint64_t token : { uint64_t{ 1 }, first.token + 1, UINT64_MAX })
        CHECK(server.claim_epoch(server.you, server.yours, 5, token).status == RPM_E_FENCED);
    for (uint32_t epoch : { 4u, 6u })
        CHECK(server.claim_epoch(server.you, server.yours, epoch, first.token).status ==
              RPM_E_FENCED);
    CHECK(server.access(server.me, first.key, 4096, 64, RPMI_RIGHT_WRITE) == 0);
    rpmi_reply other = server.claim(server.you, server.yours, RPMI_CALL_TAKEOVER);
    REQUIRE(other.epoch == 6);
    CHECK(other.token != first.token);
    rpmi_reply refused = server.claim_epoch(server.me, server.mine, 5, first.token);
    CHECK(refused.status == RPM_E_FENCED);
    CHECK(std::string(refused.text).find("claimed with epoch 6") != std::string::npos);
    CHECK(server.access(server.you, other.key, 4096, 64, RPMI_RIGHT_WRITE) == 0);
    // The claim of a client that asked for no epoch has a token as well.
    CHECK(server.claim_epoch(server.you, server.yours, 6, other.token).status == 0);
}

TEST_CASE("claim: a token with an old guard is worth nothing once a later epoch is sealed",
          "[unit]")
{
    ClaimServer server;
    rpmi_reply first = server.claim_epoch(server.me, server.mine, 5);
    std::vector<unsigned char> guard(&server.pool.bytes[HEADER + RPMI_GUARD_OFFSET],
                                     &server.pool.bytes[HEADER + RPMI_GUARD_OFFSET + 64]);

    REQUIRE(server.with_key(server.me, RPMI_CALL_SEAL, first.key, 640).status == 0);
    rpmi_reply other = server.claim(server.you, server.yours, RPMI_CALL_TAKEOVER);
    REQUIRE(server.with_key(server.you, RPMI_CALL_SEAL, other.key, 1280).status == 0);
    // The medium returns an older line.
    std::copy(guard.begin(), guard.end(), &server.pool.kept[HEADER + RPMI_GUARD_OFFSET]);
    REQUIRE(server.reborn() == 0);
    server.attach();
    rpmi_reply refused = server.claim_epoch(server.me, server.mine, 5, first.token);
    CHECK(refused.status == RPM_E_FENCED);
    CHECK(std::string(refused.text).find("sealed with epoch 6") != std::string::npos);
    CHECK(server.head(HEADER).epoch == 6);
    CHECK(server.claim(server.me, server.mine).epoch == 7);
}

TEST_CASE("claim: whatever a power cut leaves of the guard, no token claims another epoch",
          "[unit]")
{
    for (uint32_t words = 0; words < 8; words++) {
        ClaimServer server;
        rpmi_reply first = server.claim_epoch(server.me, server.mine, 5);

        REQUIRE(server.with_key(server.me, RPMI_CALL_CLOSE, first.key).status == 0);
        server.pool.fail_persist_at = 1;
        REQUIRE(server.claim_epoch(server.you, server.yours, 6).status == RPM_E_IO);
        for (uint32_t i = 0; i < 3; i++) { // claim, since, token
            uint64_t at = HEADER + RPMI_GUARD_OFFSET + (i == 0 ? 0 : 8 * (i + 1));

            if ((words >> i & 1) != 0)
                memcpy(&server.pool.kept[at], &server.pool.bytes[at], 8);
        }
        REQUIRE(server.reborn() == 0);
        server.attach();
        CAPTURE(words);
        CHECK(server.claim_epoch(server.me, server.mine, 6, first.token).status == RPM_E_FENCED);
        CHECK(server.claim_epoch(server.me, server.mine, 5, first.token).status ==
              ((words & 5) == 0 ? 0 : RPM_E_FENCED));
    }
}

TEST_CASE("claim: one that failed to persist its epoch is granted it when it asks again", "[unit]")
{
    ClaimServer server;

    server.pool.fail_persist_at = 1;
    REQUIRE(server.claim_epoch(server.me, server.mine, 6).status == RPM_E_IO);
    rpmi_reply again = server.claim_epoch(server.you, server.yours, 6);
    REQUIRE(again.status == 0);
    REQUIRE(server.reborn() == 0);
    server.attach();
    CHECK(server.guard() == 6);
    CHECK(server.claim_epoch(server.me, server.mine, 6).status == RPM_E_FENCED);
    CHECK(server.claim_epoch(server.me, server.mine, 6, again.token).status == 0);
}

TEST_CASE("claim: a client that leaves loses its claim", "[unit]")
{
    ClaimServer server;

    REQUIRE(server.claim(server.me, server.mine).status == 0);
    rpmi_service_detach(server.service, server.me);
    rpmi_reply next = server.claim(server.you, server.yours);
    CHECK(next.status == 0);
    CHECK(next.epoch == 2);
}

TEST_CASE("claim: an epoch is assigned once, sealed or not, over restarts too", "[unit]")
{
    ClaimServer server;

    CHECK(server.claim(server.me, server.mine).epoch == 1);
    REQUIRE(server.reborn() == 0);
    uint32_t me = server.client();
    uint32_t key = server.open(me, "log", RPM_KIND_LOG).key;
    CHECK(server.claim(me, key).epoch == 2);
    // The guard's word has no checksum: a value below the head's epoch is ignored.
    rpmi_service_detach(server.service, me);
    me = server.client();
    key = server.open(me, "log", RPM_KIND_LOG).key;
    rpmi_reply third = server.claim(me, key);
    REQUIRE(server.with_key(me, RPMI_CALL_SEAL, third.key).status == 0);
    rpmi_service_detach(server.service, me);
    rpmi_store64(&server.pool.bytes[HEADER + RPMI_GUARD_OFFSET], 0);
    me = server.client();
    key = server.open(me, "log", RPM_KIND_LOG).key;
    CHECK(server.claim(me, key).epoch == 4);
    rpmi_service_detach(server.service, me);
    for (uint64_t word : { uint64_t(UINT32_MAX), uint64_t(1) << 32, UINT64_MAX }) {
        rpmi_store64(&server.pool.bytes[HEADER + RPMI_GUARD_OFFSET], word);
        me = server.client();
        key = server.open(me, "log", RPM_KIND_LOG).key;
        CHECK(server.claim(me, key).status == RPM_E_CORRUPT); // used up
        rpmi_service_detach(server.service, me);
    }
}

TEST_CASE("claim: only logs, with a key of one's own", "[unit]")
{
    ClaimServer server;
    uint32_t region = server.open(server.me, "r", RPM_KIND_REGION, 100).key;

    CHECK(server.claim(server.me, region).status == RPM_E_DENIED);
    CHECK(server.claim(server.me, 77).status == RPM_E_DENIED);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, server.mine).status == RPM_E_DENIED);
    CHECK(server.with_key(server.me, RPMI_CALL_SEAL, region).status == RPM_E_DENIED);
    CHECK(server.with_key(server.me, RPMI_CALL_TRIM, region, 64).status == RPM_E_DENIED);
    CHECK(server.guard() == 0);
}

TEST_CASE("claim: an older direct writer that does not stop is named in the refusal", "[unit]")
{
    loop::Mem pool(1 << 20);
    loop::Mem dram(4096);
    rpmi_service_opts opts = {};
    rpmi_service *service = nullptr;
    static uint64_t asked;
    static int answer;
    uint32_t me = 0;
    rpmi_call call = {};
    rpmi_reply reply;

    asked = 0;
    answer = RPM_E_OWNED;
    REQUIRE(rpmi_pool_format(&pool.mem, 1) == 0);
    opts.pool = &pool.mem;
    opts.dram = &dram.mem;
    opts.clients_max = 2;
    opts.server_epoch = 1;
    opts.quiesce = [](void *, uint64_t header) {
        asked = header;
        return answer == 0 ? 0 : answer;
    };
    REQUIRE(rpmi_service_open(&opts, &service) == 0);
    REQUIRE(rpmi_service_attach(service, &me) == 0);
    call.kind = RPMI_CALL_OPEN;
    call.object = RPM_KIND_LOG;
    call.bytes = 8192;
    call.flags = RPMI_CALL_CREATE;
    memcpy(call.name, "log", 4);
    rpmi_service_call(service, me, &call, &reply);
    REQUIRE(reply.status == 0);
    call.kind = RPMI_CALL_CLAIM;
    call.key = reply.key;
    call.flags = 0;
    rpmi_service_call(service, me, &call, &reply);
    CHECK(reply.status == RPM_E_OWNED);
    CHECK(asked == HEADER);
    answer = 0;
    rpmi_service_call(service, me, &call, &reply);
    CHECK(reply.status == 0);
    CHECK(reply.epoch == 2); // the first was spent
    // So is the same writer's older connection, when it claims its epoch again.
    call.epoch = reply.epoch;
    call.token = reply.token;
    answer = RPM_E_OWNED;
    asked = 0;
    rpmi_service_call(service, me, &call, &reply);
    CHECK(reply.status == RPM_E_OWNED);
    CHECK(asked == HEADER);
    answer = 0;
    rpmi_service_call(service, me, &call, &reply);
    CHECK(reply.epoch == 2);
    rpmi_service_close(&service);
}

TEST_CASE("claim: an epoch refused for an older direct writer is granted to the next that asks",
          "[unit]")
{
    ClaimServer server;
    static int answer;
    rpmi_reply first = server.claim_epoch(server.me, server.mine, 5);

    answer = RPM_E_OWNED;
    server.service->opts.quiesce = [](void *, uint64_t) {
        return answer == 0 ? 0 : rpmi_fail(answer, "it does not stop");
    };
    for (int i = 0; i < 2; i++)
        CHECK(server.claim_epoch(server.you, server.yours, 7, 0, RPMI_CALL_TAKEOVER).status ==
              RPM_E_OWNED);
    CHECK(server.guard() == 7); // by which the direct writer learns of it
    CHECK(server.access(server.me, first.key, 4096, 64, RPMI_RIGHT_WRITE) == RPM_E_FENCED);
    answer = 0;
    for (uint32_t epoch : { 5u, 6u })
        CHECK(server.claim_epoch(server.you, server.yours, epoch).status == RPM_E_FENCED);
    CHECK(server.claim_epoch(server.me, server.mine, 5, first.token).status == RPM_E_FENCED);
    rpmi_reply second = server.claim_epoch(server.you, server.yours, 7);
    REQUIRE(second.status == 0);
    CHECK(second.epoch == 7);
    CHECK(server.claim_epoch(server.me, server.mine, 7, 0, RPMI_CALL_TAKEOVER).status ==
          RPM_E_FENCED); // once

    answer = RPM_E_OWNED;
    CHECK(server.claim_epoch(server.me, server.mine, 9, 0, RPMI_CALL_TAKEOVER).status ==
          RPM_E_OWNED);
    REQUIRE(server.reborn() == 0); // it does not know whether it has granted that epoch
    server.attach();
    CHECK(server.claim_epoch(server.me, server.mine, 9).status == RPM_E_FENCED);
    CHECK(server.claim(server.me, server.mine).epoch == 10);
}
