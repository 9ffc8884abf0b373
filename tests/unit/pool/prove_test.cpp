// SPDX-License-Identifier: BSD-3-Clause
// A server certifies the records that are whole, of the claim in force, and no others.
#include "unit/pool/server.h"

extern "C" {
#include "wire/frame.h"
}
#include <cstring>

namespace
{

constexpr uint64_t CAPACITY = 8192;

struct ProveServer : PoolServer {
    uint32_t me = client();
    rpmi_reply opened = open(me, "log", RPM_KIND_LOG, CAPACITY);
    rpmi_reply claimed = claim();
    uint64_t lsn = 0;

    rpmi_reply claim(uint32_t flags = 0)
    {
        rpmi_reply reply = with_key(me, RPMI_CALL_CLAIM, opened.key, 0, flags);

        REQUIRE(reply.status == 0);
        return reply;
    }
    void seal(uint64_t tail = 0)
    {
        REQUIRE(with_key(me, RPMI_CALL_SEAL, claimed.key, tail).status == 0);
    }
    unsigned char *ring(uint64_t at)
    {
        return &pool.bytes[opened.offset + RPMI_LOG_HEADER_BYTES + at % CAPACITY];
    }
    // A frame at the end; its LSN.
    uint64_t write(uint32_t len, uint32_t flags = 0)
    {
        rpmi_frame frame = {};
        uint64_t at = lsn;

        frame.lsn = lsn;
        frame.len = len;
        frame.flags = flags;
        frame.epoch = claimed.epoch;
        memset(ring(lsn) + RPMI_FRAME_HEADER_BYTES, 'r', len);
        rpmi_frame_put(ring(lsn), &frame, opened.id, ring(lsn) + RPMI_FRAME_HEADER_BYTES);
        lsn += rpmi_frame_stride(len, flags);
        return at;
    }
    rpmi_proof prove(uint64_t first, uint64_t end, uint32_t epoch, uint64_t log_id)
    {
        rpmi_step step = {};
        rpmi_proof proof;

        step.kind = RPMI_STEP_PROVE;
        step.offset = first;
        step.end_lsn = end;
        step.epoch = epoch;
        step.log_id = log_id;
        rpmi_service_prove(service, &step, RPM_DURABLE, &proof);
        return proof;
    }
    rpmi_proof prove(uint64_t first, uint64_t end)
    {
        return prove(first, end, claimed.epoch, opened.id);
    }
    uint64_t proven(uint64_t first, uint64_t end)
    {
        rpmi_proof proof = prove(first, end);

        REQUIRE(proof.certificate.status == 0);
        CHECK(proof.certificate.first_lsn == first);
        return proof.certificate.end_lsn;
    }
};

} // namespace

TEST_CASE("prove: whole records are certified, up to the first that is not whole", "[unit]")
{
    ProveServer server;

    server.seal();
    server.write(10);
    uint64_t second = server.write(3000);
    uint64_t third = server.write(200, RPMI_FRAME_XPLINE);
    CHECK(server.proven(0, server.lsn) == server.lsn);
    CHECK(server.proven(second, third) == third);
    CHECK(server.proven(0, server.lsn - 64) == third); // the third ends behind that
    CHECK(server.proven(64, 128) == second);
    CHECK(server.proven(0, server.lsn + 640) == server.lsn);
    for (uint64_t at : { second + 23, second + 24, second + 2500, second + 3023 }) {
        CAPTURE(at);
        *server.ring(at) ^= 1;
        CHECK(server.proven(0, server.lsn) == second);
        *server.ring(at) ^= 1;
    }
}

TEST_CASE("prove: the ranges are those of the records, at the ring's end in two pieces", "[unit]")
{
    ProveServer server;
    uint64_t ring = server.opened.offset + RPMI_LOG_HEADER_BYTES;

    server.seal();
    while (server.lsn < CAPACITY)
        server.write(1000);
    server.write(40);
    rpmi_proof proof = server.prove(CAPACITY - 1024, server.lsn);
    CHECK(proof.certificate.end_lsn == server.lsn);
    REQUIRE(proof.ranges == 2);
    CHECK(proof.range[0].offset == ring + CAPACITY - 1024);
    CHECK(proof.range[0].len == 1024);
    CHECK(proof.range[1].offset == ring);
    CHECK(proof.range[1].len == 64);
    proof = server.prove(CAPACITY, server.lsn);
    REQUIRE(proof.ranges == 1);
    CHECK(proof.range[0].offset == ring);
    proof = server.prove(server.lsn, server.lsn + 64);
    CHECK(proof.certificate.end_lsn == server.lsn);
    CHECK(proof.ranges == 0);
}

TEST_CASE("prove: a record of an earlier lap is none of this one", "[unit]")
{
    ProveServer server;

    server.seal();
    while (server.lsn < CAPACITY)
        server.write(1000);
    CHECK(server.proven(CAPACITY, CAPACITY + 1024) == CAPACITY);
    CHECK(server.proven(0, CAPACITY) == CAPACITY);
}

TEST_CASE("prove: only the claim in force, and only behind its seal", "[unit]")
{
    ProveServer server;

    server.write(10);
    CHECK(server.prove(0, 64).certificate.status == RPM_E_FENCED); // not sealed yet
    server.seal();
    CHECK(server.prove(0, 64).certificate.status == 0);
    CHECK(server.prove(0, 64, server.claimed.epoch + 1, server.opened.id).certificate.status ==
          RPM_E_FENCED);
    CHECK(server.prove(0, 64, server.claimed.epoch, server.opened.id + 1).certificate.status ==
          RPM_E_NOENT);
    rpmi_reply first = server.claimed;
    server.claimed = server.claim(RPMI_CALL_TAKEOVER);
    CHECK(server.prove(0, 64, first.epoch, server.opened.id).certificate.status == RPM_E_FENCED);
    server.seal(64);
    CHECK(server.prove(0, 64, first.epoch, server.opened.id).certificate.status == RPM_E_FENCED);
    CHECK(server.proven(0, 64) == 0); // the record is of an earlier claim
    server.lsn = 64;
    server.write(10);
    CHECK(server.proven(64, 128) == 128);
    CHECK(server.with_key(server.me, RPMI_CALL_CLOSE, server.claimed.key).status == 0);
    CHECK(server.prove(64, 128).certificate.status == RPM_E_FENCED);
}

TEST_CASE("prove: LSNs that no records have are refused", "[unit]")
{
    ProveServer server;

    server.seal();
    for (auto [first, end] :
         std::vector<std::pair<uint64_t, uint64_t>>{ { 1, 64 },
                                                     { 0, 65 },
                                                     { 64, 64 },
                                                     { 128, 64 },
                                                     { 0, CAPACITY + 64 },
                                                     { 0, 1ull << 63 },
                                                     { UINT64_MAX - 63, 64 } }) {
        CAPTURE(first, end);
        CHECK(server.prove(first, end).certificate.status == RPM_E_RANGE);
    }
}

TEST_CASE("prove: each claim has a key of its own, which its certificates hold under", "[unit]")
{
    ProveServer server;
    unsigned char bytes[RPMI_CERTIFICATE_BYTES];
    rpmi_certificate certificate = {};

    server.seal();
    server.write(10);
    rpmi_proof proof = server.prove(0, 64);
    rpmi_proof_write(&proof, bytes);
    REQUIRE(rpmi_certificate_get(bytes, server.claimed.certificate_key, &certificate) == 0);
    CHECK(certificate.server_epoch == server.epoch);
    CHECK(certificate.level == RPM_DURABLE);
    rpmi_reply first = server.claimed;
    server.claimed = server.claim(RPMI_CALL_TAKEOVER);
    CHECK(memcmp(first.certificate_key, server.claimed.certificate_key, sizeof(bytes) / 4) != 0);
    CHECK(rpmi_certificate_get(bytes, server.claimed.certificate_key, &certificate) ==
          RPM_E_DENIED);
    proof = server.prove(0, 64, 99, server.opened.id);
    rpmi_proof_write(&proof, bytes);
    CHECK(rpmi_certificate_get(bytes, first.certificate_key, &certificate) == RPM_E_FENCED);
}

TEST_CASE("prove: many records take several questions", "[unit]")
{
    PoolServer server(4u << 20);
    uint32_t me = server.client();
    const uint64_t capacity = 2u << 20;
    rpmi_reply opened = server.open(me, "log", RPM_KIND_LOG, capacity);
    rpmi_reply claimed = server.with_key(me, RPMI_CALL_CLAIM, opened.key);
    uint64_t lsn = 0;
    uint64_t asked = 0;
    std::vector<uint64_t> ends;

    REQUIRE(server.with_key(me, RPMI_CALL_SEAL, claimed.key, 0).status == 0);
    for (uint32_t len : { 100000u, 100000u, 100000u, 1000000u, 100u }) {
        rpmi_frame frame = {};
        unsigned char *at = &server.pool.bytes[opened.offset + RPMI_LOG_HEADER_BYTES + lsn];

        frame.lsn = lsn;
        frame.len = len;
        frame.epoch = claimed.epoch;
        rpmi_frame_put(at, &frame, opened.id, at + RPMI_FRAME_HEADER_BYTES);
        lsn += rpmi_frame_stride(len, 0);
        ends.push_back(lsn);
    }
    for (uint64_t want : { ends[2], ends[3], ends[4] }) {
        rpmi_step step = {};
        rpmi_proof proof;

        step.kind = RPMI_STEP_PROVE;
        step.offset = asked;
        step.end_lsn = lsn;
        step.epoch = claimed.epoch;
        step.log_id = opened.id;
        rpmi_service_prove(server.service, &step, RPM_VISIBLE, &proof);
        REQUIRE(proof.certificate.status == 0);
        CHECK(proof.certificate.end_lsn == want);
        CHECK(proof.certificate.level == RPM_VISIBLE);
        asked = want;
    }
}
