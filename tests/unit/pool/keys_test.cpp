// SPDX-License-Identifier: BSD-3-Clause
#include "unit/pool/server.h"

TEST_CASE("keys: a key opens its object, within bounds and rights, and nothing else", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    uint32_t you = server.client();
    rpmi_reply log = server.open(me, "log", RPM_KIND_LOG, 8192);
    rpmi_reply region = server.open(me, "region", RPM_KIND_REGION, 100);
    rpmi_reply dram = server.open(me, "dram", RPM_KIND_DRAM, 64);
    rpmi_reply locks = server.open(me, "locks", RPM_KIND_LOCKS, 64);
    rpmi_span span = {};

    CHECK(server.access(me, log.key, 0, 8192 + 4096, RPMI_RIGHT_READ, &span) == 0);
    CHECK(span.offset == log.offset);
    CHECK(server.access(me, log.key, 4096, 1, RPMI_RIGHT_WRITE) == RPM_E_DENIED);
    CHECK(server.access(me, log.key, 4096, 8192 + 1, RPMI_RIGHT_READ) == RPM_E_RANGE);
    CHECK(server.access(me, region.key, 0, 100, RPMI_RIGHT_READ | RPMI_RIGHT_WRITE) == 0);
    CHECK(server.access(me, region.key, 100, 0, RPMI_RIGHT_READ) == 0);
    CHECK(server.access(me, region.key, 100, 1, RPMI_RIGHT_READ) == RPM_E_RANGE);
    CHECK(server.access(me, region.key, 1, 100, RPMI_RIGHT_READ) == RPM_E_RANGE);
    CHECK(server.access(me, region.key, UINT64_MAX, 2, RPMI_RIGHT_READ) == RPM_E_RANGE);
    CHECK(server.access(me, region.key, 8, UINT64_MAX - 7, RPMI_RIGHT_READ) == RPM_E_RANGE);
    CHECK(server.access(me, region.key, 0, 8, RPMI_RIGHT_ATOMIC) == RPM_E_DENIED);
    CHECK(server.access(me, dram.key, 56, 8, RPMI_RIGHT_ATOMIC, &span) == 0);
    CHECK(span.area == RPMI_AREA_DRAM);
    CHECK(server.access(me, dram.key, 4, 8, RPMI_RIGHT_ATOMIC) == RPM_E_INVAL);
    CHECK(server.access(me, dram.key, 64, 8, RPMI_RIGHT_ATOMIC) == RPM_E_RANGE);
    CHECK(server.access(me, locks.key, 0, 8, RPMI_RIGHT_WRITE) == RPM_E_DENIED);
    CHECK(server.access(me, locks.key, 0, 8, RPMI_RIGHT_ATOMIC) == 0);

    CHECK(server.access(you, region.key, 0, 8, RPMI_RIGHT_READ) == RPM_E_DENIED);
    CHECK(server.access(me + 1000, region.key, 0, 8, RPMI_RIGHT_READ) == RPM_E_DENIED);
    CHECK(server.access(0, region.key, 0, 8, RPMI_RIGHT_READ) == RPM_E_DENIED);
    CHECK(server.access(me, 99, 0, 8, RPMI_RIGHT_READ) == RPM_E_DENIED);
    CHECK(server.access(me, 256, 0, 8, RPMI_RIGHT_READ) == RPM_E_DENIED);
    CHECK(server.access(me, UINT32_MAX, 0, 8, RPMI_RIGHT_READ) == RPM_E_DENIED);
}

TEST_CASE("keys: key 0 is a scratch line to read from", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    rpmi_span span = {};

    CHECK(server.access(me, 0, 0, 64, RPMI_RIGHT_READ, &span) == 0);
    CHECK(span.area == RPMI_AREA_DRAM);
    CHECK(span.offset == 0);
    CHECK(server.access(me, 0, 1, 64, RPMI_RIGHT_READ) == RPM_E_RANGE);
    CHECK(server.access(me, 0, 0, 8, RPMI_RIGHT_WRITE) == RPM_E_DENIED);
    CHECK(server.access(me, 0, 0, 8, RPMI_RIGHT_ATOMIC) == RPM_E_DENIED);
    CHECK(server.with_key(me, RPMI_CALL_CLOSE, 0).status == RPM_E_DENIED);
    CHECK(server.with_key(me, RPMI_CALL_CLAIM, 0).status == RPM_E_DENIED);
}

TEST_CASE("keys: a returned key is invalid, and can be granted again", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    rpmi_reply region = server.open(me, "region", RPM_KIND_REGION, 100);

    CHECK(server.with_key(me, RPMI_CALL_CLOSE, region.key).status == 0);
    CHECK(server.with_key(me, RPMI_CALL_CLOSE, region.key).status == RPM_E_DENIED);
    CHECK(server.with_key(me, RPMI_CALL_CLOSE, 256).status == RPM_E_DENIED);
    CHECK(server.with_key(me, RPMI_CALL_CLOSE, UINT32_MAX).status == RPM_E_DENIED);
    CHECK(server.access(me, region.key, 0, 8, RPMI_RIGHT_READ) == RPM_E_DENIED);
    CHECK(server.open(me, "region", RPM_KIND_REGION).key == region.key);
}

TEST_CASE("keys: a client may have 255, and without a free key no object is created", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();

    for (int i = 0; i < 255; i++)
        REQUIRE(server.open(me, "r", RPM_KIND_REGION, 100).status == 0);
    CHECK(server.open(me, "r", RPM_KIND_REGION).status == RPM_E_LIMIT);
    CHECK(server.open(me, "other", RPM_KIND_REGION, 100).status == RPM_E_LIMIT);
    CHECK(server.list(me).size() == 1);
    rpmi_service_detach(server.service, me);
    CHECK(server.remove(server.client(), "r").status == 0); // no key is left
}

namespace
{

// A log, and a region and words that @me's claim of it guards.
struct GuardServer : PoolServer {
    uint32_t me = client();
    uint32_t you = client();
    uint32_t log;
    uint32_t claim;
    uint32_t region;
    uint32_t words;

    GuardServer()
    {
        log = open(me, "log", RPM_KIND_LOG, 8192).key;
        claim = with_key(me, RPMI_CALL_CLAIM, log).key;
        region = guarded("region", RPM_KIND_REGION).key;
        words = guarded("words", RPM_KIND_DRAM).key;
    }
    rpmi_reply guarded(const char *name, uint32_t kind, uint32_t by = 0)
    {
        rpmi_call request = {};

        request.kind = RPMI_CALL_OPEN;
        request.flags = RPMI_CALL_CREATE | RPMI_CALL_GUARDED;
        request.key = by != 0 ? by : claim;
        request.object = kind;
        request.bytes = 4096;
        strcpy(request.name, name);
        return call(me, request);
    }
    int writes(uint32_t key)
    {
        return access(me, key, 0, 64, RPMI_RIGHT_WRITE);
    }
    int swaps()
    {
        return access(me, words, 0, 8, RPMI_RIGHT_ATOMIC);
    }
    int reads(uint32_t key)
    {
        return access(me, key, 0, 64, RPMI_RIGHT_READ);
    }
    rpmi_extent extent(uint32_t key)
    {
        rpmi_extent found = {};

        REQUIRE(rpmi_service_extent(service, me, key, &found) == 0);
        return found;
    }
    void check_fenced()
    {
        CHECK(writes(region) == RPM_E_FENCED);
        CHECK(writes(words) == RPM_E_FENCED);
        CHECK(swaps() == RPM_E_FENCED);
        CHECK(reads(region) == 0);
        CHECK(reads(words) == 0);
        CHECK(extent(region).rights == RPMI_RIGHT_READ);
        CHECK(extent(words).rights == RPMI_RIGHT_READ);
    }
};

} // namespace

TEST_CASE("keys: a guarded key writes until another client claims the log, and still reads then",
          "[unit]")
{
    GuardServer server;
    uint32_t free = server.open(server.me, "region", RPM_KIND_REGION).key;
    uint32_t theirs = server.open(server.you, "log", RPM_KIND_LOG).key;
    rpmi_reply header = server.open(server.me, "log", RPM_KIND_LOG);

    CHECK(server.writes(server.region) == 0);
    CHECK(server.swaps() == 0);
    CHECK(server.extent(server.region).claim_header == header.offset);
    CHECK(server.extent(server.words).claim_header == header.offset);
    CHECK(server.extent(server.claim).claim_header == header.offset);
    CHECK(server.extent(free).claim_header == 0);
    CHECK(server.extent(server.log).claim_header == 0);
    CHECK(server.with_key(server.you, RPMI_CALL_CLAIM, theirs).status == RPM_E_OWNED);
    CHECK(server.writes(server.region) == 0);
    REQUIRE(server.with_key(server.you, RPMI_CALL_CLAIM, theirs, 0, RPMI_CALL_TAKEOVER).status ==
            0);
    server.check_fenced();
    CHECK(server.writes(free) == 0);
    // A fenced key does not become valid again.
    rpmi_service_detach(server.service, server.you);
    CHECK(server.with_key(server.me, RPMI_CALL_CLAIM, server.log).status == 0);
    server.check_fenced();
    CHECK(server.with_key(server.me, RPMI_CALL_CLOSE, server.region).status == 0);
    CHECK(server.open(server.me, "region", RPM_KIND_REGION).key == server.region);
    CHECK(server.writes(server.region) == 0);
}

TEST_CASE("keys: a guarded key cannot write after the claim was returned or renewed", "[unit]")
{
    bool renewed = GENERATE(false, true);
    GuardServer server;

    CAPTURE(renewed);
    if (renewed)
        CHECK(
            server.with_key(server.me, RPMI_CALL_CLAIM, server.log, 0, RPMI_CALL_TAKEOVER).status ==
            0);
    else
        CHECK(server.with_key(server.me, RPMI_CALL_CLOSE, server.claim).status == 0);
    server.check_fenced();
}

TEST_CASE("keys: only the client's own claim can guard, and only regions", "[unit]")
{
    GuardServer server;
    uint32_t theirs = server.open(server.you, "log", RPM_KIND_LOG).key;
    uint32_t dead = server.claim;

    CHECK(server.guarded("new", RPM_KIND_REGION, server.log).status == RPM_E_DENIED);
    CHECK(server.guarded("new", RPM_KIND_REGION, server.region).status == RPM_E_DENIED);
    CHECK(server.guarded("new", RPM_KIND_REGION, 77).status == RPM_E_DENIED);
    CHECK(server.guarded("new", RPM_KIND_REGION, UINT32_MAX).status == RPM_E_DENIED);
    CHECK(server.guarded("new", RPM_KIND_LOG).status == RPM_E_INVAL);
    CHECK(server.guarded("new", RPM_KIND_LOCKS).status == RPM_E_INVAL);
    REQUIRE(server.with_key(server.you, RPMI_CALL_CLAIM, theirs, 0, RPMI_CALL_TAKEOVER).status ==
            0);
    CHECK(server.guarded("new", RPM_KIND_REGION, dead).status == RPM_E_FENCED);
    CHECK(server.list(server.me) == std::vector<std::string>{ "log", "region", "words" });
}
