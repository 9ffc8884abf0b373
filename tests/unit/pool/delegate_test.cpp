// SPDX-License-Identifier: BSD-3-Clause
// A declared agent stores records for the holder of a claim that has delegated this to it, and for
// no other client, as long as the claim lasts and the space is the records' own.
#include "unit/pool/server.h"

extern "C" {
#include "wire/carry.h"
}
#include <cstring>
#include <vector>

namespace
{

constexpr uint64_t RING = 8192;

struct DelegateServer : PoolServer {
    uint32_t writer = client();
    uint32_t agent = client();
    uint32_t other = client();
    rpmi_reply opened = open(writer, "log", RPM_KIND_LOG, RING);
    rpmi_reply claimed = with_key(writer, RPMI_CALL_CLAIM, opened.key);
    std::vector<unsigned char> list = std::vector<unsigned char>(RPMI_STEPS_BYTES);

    DelegateServer()
    {
        REQUIRE(claimed.status == 0);
        REQUIRE(named(agent, RPMI_CALL_AGENT, "agent").status == 0);
        REQUIRE(named(other, RPMI_CALL_AGENT, "another").status == 0);
    }
    rpmi_reply named(uint32_t client, uint32_t kind, const char *name, uint32_t key = 0)
    {
        rpmi_call request = {};

        request.kind = kind;
        request.key = key;
        strcpy(request.name, name);
        return call(client, request);
    }
    int delegate(const char *name = "agent")
    {
        return named(writer, RPMI_CALL_DELEGATE, name, claimed.key).status;
    }
    void seal(uint64_t tail = 0)
    {
        REQUIRE(with_key(writer, RPMI_CALL_SEAL, claimed.key, tail).status == 0);
    }
    // What becomes of a CARRY by @client, made under the claim that @made has.
    int carry(uint32_t client, uint64_t lsn, uint16_t len, const rpmi_reply &made,
              rpmi_span *span = nullptr, int spoil = -1)
    {
        const std::vector<unsigned char> data(len, 'r');
        rpmi_step step = {};
        rpmi_steps steps;
        rpmi_span found = {};
        uint32_t bytes = 0;

        step.kind = RPMI_STEP_CARRY;
        step.len = len;
        step.offset = lsn;
        step.log_id = opened.id;
        step.epoch = made.epoch;
        step.data = data.data();
        REQUIRE(rpmi_carry_put(list.data(), &step, made.certificate_key, &bytes) == 0);
        if (spoil >= 0)
            list[static_cast<size_t>(spoil)] ^= 1;
        rpmi_steps_begin(&steps, list.data(), bytes);
        REQUIRE(rpmi_steps_next(&steps, &step) == 1);
        return rpmi_service_carry(service, client, &step, span != nullptr ? span : &found);
    }
    int carry(uint32_t client, uint64_t lsn = 0, uint16_t len = 64)
    {
        return carry(client, lsn, len, claimed);
    }
};

} // namespace

TEST_CASE("delegate: only the agent that the writer names may carry", "[unit][agent]")
{
    DelegateServer server;
    rpmi_span span = {};

    server.seal();
    CHECK(server.carry(server.agent) == RPM_E_DENIED); // nothing is delegated yet
    REQUIRE(server.delegate() == 0);
    REQUIRE(server.carry(server.agent, 128, 64, server.claimed, &span) == 0);
    CHECK(span.area == RPMI_AREA_POOL);
    CHECK(span.offset == server.opened.offset + RPMI_LOG_HEADER_BYTES + 128);
    CHECK(server.carry(server.other) == RPM_E_DENIED);
    CHECK(server.carry(server.writer) == RPM_E_DENIED); // it writes by its key
    CHECK(server.carry(99) == RPM_E_DENIED);
    REQUIRE(server.delegate("another") == 0); // instead
    CHECK(server.carry(server.agent) == RPM_E_DENIED);
    CHECK(server.carry(server.other) == 0);
    CHECK(rpmi_service_agents(server.service) == 2);
    rpmi_service_detach(server.service, server.other);
    CHECK(rpmi_service_agents(server.service) == 1);
    CHECK(server.carry(server.other) == RPM_E_DENIED);
}

TEST_CASE("delegate: an agent that the server does not declare is refused by name", "[unit][agent]")
{
    DelegateServer server;
    rpmi_reply reply = server.named(server.writer, RPMI_CALL_AGENT, "stranger");

    CHECK(reply.status == RPM_E_DENIED);
    CHECK(strstr(reply.text, "no agent 'stranger'") != nullptr);
    CHECK(strstr(reply.text, "--agent stranger") != nullptr);
    CHECK(server.delegate("stranger") == RPM_E_DENIED);
    for (const char *name : { "", "agen", "agents", "agent another", " " }) {
        CAPTURE(name);
        CHECK(server.named(server.writer, RPMI_CALL_AGENT, name).status == RPM_E_DENIED);
        CHECK(server.named(server.writer, RPMI_CALL_DELEGATE, name).status == RPM_E_DENIED);
    }
    CHECK(server.named(server.writer, RPMI_CALL_DELEGATE, "another").status == 0); // a question
    CHECK(rpmi_service_agents(server.service) == 2);
}

TEST_CASE("delegate: only a claim can be delegated, by its holder", "[unit][agent]")
{
    DelegateServer server;
    rpmi_reply region = server.open(server.writer, "region", RPM_KIND_REGION, 4096);

    CHECK(server.named(server.writer, RPMI_CALL_DELEGATE, "agent", server.opened.key).status ==
          RPM_E_DENIED); // it may only read
    CHECK(server.named(server.writer, RPMI_CALL_DELEGATE, "agent", region.key).status ==
          RPM_E_DENIED);
    CHECK(server.named(server.agent, RPMI_CALL_DELEGATE, "agent", server.claimed.key).status ==
          RPM_E_DENIED); // a key of another client
    CHECK(server.named(server.writer, RPMI_CALL_UNDELEGATE, "", 77).status == RPM_E_DENIED);
}

TEST_CASE("delegate: an agent opens, claims and delegates nothing itself", "[unit][agent]")
{
    DelegateServer server;
    rpmi_reply refused = server.open(server.agent, "log", RPM_KIND_LOG);
    rpmi_call next = {};

    CHECK(refused.status == RPM_E_DENIED);
    CHECK(strstr(refused.text, "by another connection") != nullptr);
    CHECK(server.open(server.agent, "new", RPM_KIND_REGION, 4096).status == RPM_E_DENIED);
    for (uint32_t kind : { RPMI_CALL_CLAIM, RPMI_CALL_SEAL, RPMI_CALL_TRIM, RPMI_CALL_CLOSE,
                           RPMI_CALL_REMOVE, RPMI_CALL_UNDELEGATE }) {
        CAPTURE(kind);
        CHECK(server.with_key(server.agent, kind, server.opened.key).status == RPM_E_DENIED);
    }
    next.kind = RPMI_CALL_NEXT;
    CHECK(server.call(server.agent, next).status == 0); // it may look around
    CHECK(server.named(server.agent, RPMI_CALL_AGENT, "another").status == 0);
}

TEST_CASE("delegate: nothing is carried before the seal, nor for another epoch", "[unit][agent]")
{
    DelegateServer server;
    rpmi_reply stale = server.claimed;

    REQUIRE(server.delegate() == 0);
    CHECK(server.carry(server.agent) == RPM_E_FENCED);
    server.seal();
    CHECK(server.carry(server.agent) == 0);
    stale.epoch++;
    CHECK(server.carry(server.agent, 0, 64, stale) == RPM_E_FENCED);
}

TEST_CASE("delegate: it ends by UNDELEGATE, and with the claim", "[unit][agent]")
{
    DelegateServer server;

    server.seal();
    REQUIRE(server.delegate() == 0);
    CHECK(server.carry(server.agent) == 0);
    REQUIRE(server.with_key(server.writer, RPMI_CALL_UNDELEGATE, server.claimed.key).status == 0);
    CHECK(server.carry(server.agent) == RPM_E_DENIED);
    CHECK(server.with_key(server.writer, RPMI_CALL_UNDELEGATE, server.claimed.key).status == 0);
    REQUIRE(server.delegate() == 0);

    SECTION("by its end")
    {
        REQUIRE(server.with_key(server.writer, RPMI_CALL_CLOSE, server.claimed.key).status == 0);
        CHECK(server.carry(server.agent) == RPM_E_DENIED);
    }
    SECTION("by the end of its holder")
    {
        rpmi_service_detach(server.service, server.writer);
        CHECK(server.carry(server.agent) == RPM_E_DENIED);
    }
    SECTION("by the next claim, which the agent may carry for under its own proof only")
    {
        uint32_t next = server.client();
        rpmi_reply opened = server.open(next, "log", RPM_KIND_LOG);
        rpmi_reply claimed =
            server.with_key(next, RPMI_CALL_CLAIM, opened.key, 0, RPMI_CALL_TAKEOVER);

        REQUIRE(claimed.status == 0);
        CHECK(server.carry(server.agent) == RPM_E_DENIED);
        REQUIRE(server.with_key(next, RPMI_CALL_SEAL, claimed.key).status == 0);
        REQUIRE(server.named(next, RPMI_CALL_DELEGATE, "agent", claimed.key).status == 0);
        CHECK(server.carry(server.agent) == RPM_E_FENCED);
        CHECK(server.carry(server.agent, 0, 64, claimed) == 0);
        rpmi_reply forged = claimed;
        memcpy(forged.certificate_key, server.claimed.certificate_key,
               sizeof(forged.certificate_key));
        CHECK(server.carry(server.agent, 0, 64, forged) == RPM_E_DENIED);
    }
}

TEST_CASE("delegate: the server stores what the writer made, where the writer wants it",
          "[unit][agent]")
{
    DelegateServer server;

    server.seal();
    REQUIRE(server.delegate() == 0);
    for (int at : { 8, 16, 24, 32, 47, 48, 55 }) {
        CAPTURE(at);
        CHECK(server.carry(server.agent, 64, 8, server.claimed, nullptr, at) < 0);
    }
}

TEST_CASE("delegate: nothing is stored over what may be another record", "[unit][agent]")
{
    DelegateServer server;

    server.seal();
    REQUIRE(server.delegate() == 0);
    CHECK(server.carry(server.agent, RING - 64, 64) == 0);
    CHECK(server.carry(server.agent, RING - 64, 65) == RPM_E_RANGE); // past the end of the ring
    CHECK(server.carry(server.agent, RING, 64) == RPM_E_RANGE);      // a lap too far
    CHECK(server.carry(server.agent, 32, 8) == RPM_E_RANGE);
    REQUIRE(server.with_key(server.writer, RPMI_CALL_TRIM, server.opened.key, 256).status == 0);
    CHECK(server.carry(server.agent, 192, 64) == RPM_E_RANGE); // its space is free for others
    CHECK(server.carry(server.agent, 256, 64) == 0);
    CHECK(server.carry(server.agent, RING + 192, 64) == 0);
    CHECK(server.carry(server.agent, RING + 192, 65) == RPM_E_RANGE);
    CHECK(server.carry(server.agent, 1ull << 63, 64) == RPM_E_RANGE);
    CHECK(server.carry(server.agent, ~63ull, 64) == RPM_E_RANGE);

    uint32_t trimmer = server.client(); // any client may trim
    rpmi_reply opened = server.open(trimmer, "log", RPM_KIND_LOG);
    REQUIRE(server.with_key(trimmer, RPMI_CALL_TRIM, opened.key, 512).status == 0);
    CHECK(server.carry(server.agent, 256, 64) == RPM_E_RANGE);
    CHECK(server.carry(server.agent, 512, 64) == 0);
}

TEST_CASE("delegate: a later claim carries from the trim in force", "[unit][agent]")
{
    DelegateServer server;

    server.seal(1024);
    REQUIRE(server.with_key(server.writer, RPMI_CALL_TRIM, server.opened.key, 512).status == 0);
    REQUIRE(server.with_key(server.writer, RPMI_CALL_CLOSE, server.claimed.key).status == 0);
    server.claimed = server.with_key(server.writer, RPMI_CALL_CLAIM, server.opened.key);
    REQUIRE(server.claimed.status == 0);
    server.seal(1024);
    REQUIRE(server.delegate() == 0);
    CHECK(server.carry(server.agent, 448, 64) == RPM_E_RANGE);
    CHECK(server.carry(server.agent, 1024, 64) == 0);
}

TEST_CASE("delegate: after a restart of the server, too", "[unit][agent]")
{
    DelegateServer server;

    server.seal(1024);
    REQUIRE(server.with_key(server.writer, RPMI_CALL_TRIM, server.opened.key, 512).status == 0);
    server.stop();
    REQUIRE(server.start() == 0);
    server.writer = server.client();
    server.agent = server.client();
    REQUIRE(server.named(server.agent, RPMI_CALL_AGENT, "agent").status == 0);
    server.opened = server.open(server.writer, "log", RPM_KIND_LOG);
    server.claimed = server.with_key(server.writer, RPMI_CALL_CLAIM, server.opened.key);
    REQUIRE(server.claimed.status == 0);
    server.seal(1024);
    REQUIRE(server.delegate() == 0);
    CHECK(server.carry(server.agent, 448, 64) == RPM_E_RANGE);
    CHECK(server.carry(server.agent, 1024, 64) == 0);
    CHECK(server.carry(server.agent, RING + 448, 64) == 0);
}
