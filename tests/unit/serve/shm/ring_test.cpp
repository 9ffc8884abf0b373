// SPDX-License-Identifier: BSD-3-Clause
// What a ring client may write into shared memory, and what the server does with it.
#include "unit/serve/shm/ringer.h"

extern "C" {
#include "base/rng.h"
#include "pool/service.h"
#include "serve/shm/shm.h"
}
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <thread>
#include <unistd.h>
#include <vector>

using support::Server;
using support::ServerOpts;

TEST_CASE("ring: writes and reads back, head and body and zeros", "[unit]")
{
    ServerOpts opts;
    opts.domain =
        GENERATE(0u, static_cast<uint32_t>(RPM_DOMAIN_MSYNC), static_cast<uint32_t>(RPM_DOMAIN_ADR),
                 static_cast<uint32_t>(RPM_DOMAIN_EADR));
    Server server(opts);
    Ringer client(server);
    rpmi_slot slot = client.write(64, 128);

    strcpy(reinterpret_cast<char *>(client.ring.staging), "body");
    slot.body_bytes = 4;
    slot.head_bytes = 5;
    memcpy(slot.head, "head ", 5);
    REQUIRE(client.run(slot) == 0);
    REQUIRE(client.run(client.read(64, 128, 4096)) == 0);
    CHECK(std::string(reinterpret_cast<char *>(client.ring.staging) + 4096) == "head body");
    slot.head_bytes = 60; // too long to travel inline: from the line of its slot
    memset(client.ring.heads + (client.posted % client.ring.slots) * 64, 'h', 60);
    REQUIRE(client.run(slot) == 0);
    REQUIRE(client.run(client.read(64, 128, 4096)) == 0);
    CHECK(std::string(reinterpret_cast<char *>(client.ring.staging) + 4096) ==
          std::string(60, 'h') + "body");
}

TEST_CASE("ring: requests outside the object, the staging memory or the rights are refused",
          "[unit]")
{
    Server server;
    Ringer client(server);
    rpmi_slot slot;

    CHECK(client.run(client.write(4096, 1)) == RPM_E_RANGE);
    CHECK(client.run(client.write(4095, 2)) == RPM_E_RANGE);
    CHECK(client.run(client.write(UINT64_MAX, 2)) == RPM_E_RANGE);
    CHECK(client.run(client.write(0, UINT64_MAX)) == RPM_E_RANGE);
    CHECK(client.run(client.read(0, 4096, (1 << 16) - 4095)) == RPM_E_RANGE);
    CHECK(client.run(client.read(0, 4096, UINT32_MAX)) == RPM_E_RANGE);
    slot = client.write(0, 4096);
    slot.body = (1 << 16) - 4095;
    CHECK(client.run(slot) == RPM_E_RANGE);
    slot = client.write(0, 64);
    slot.body_bytes = 65;
    CHECK(client.run(slot) == RPM_E_RANGE);
    slot = client.write(0, 64);
    slot.head_bytes = 1;
    CHECK(client.run(slot) == RPM_E_RANGE);
    slot = client.write(0, 4096);
    slot.body_bytes = 0;
    slot.head_bytes = 65;
    CHECK(client.run(slot) == RPM_E_RANGE);
    slot = client.write(0, 64);
    slot.key = 77;
    CHECK(client.run(slot) == RPM_E_DENIED);
    slot.key = UINT32_MAX;
    CHECK(client.run(slot) == RPM_E_DENIED);
    slot.key = RPMI_KEY_SCRATCH;
    CHECK(client.run(slot) == RPM_E_DENIED);
    CHECK(client.run(client.write(0, 64)) == 0);
    CHECK(server.stats().rejected == 13);
}

namespace
{

// With memory for long requests, and a region of that size.
struct LongRinger : RawClient {
    static const uint64_t kBytes = 16 << 20;
    uint32_t key = 0;

    explicit LongRinger(const Server &server) : RawClient(server)
    {
        REQUIRE(hello(RPMI_MODE_RING, "", 64, kBytes) == 0);
        rpmi_reply reply = open("long", RPM_KIND_REGION, kBytes);
        REQUIRE(reply.status == 0);
        key = reply.key;
        map_ring();
    }
    rpmi_slot make(uint8_t kind, uint64_t offset, uint64_t len) const
    {
        rpmi_slot slot = {};

        slot.kind = kind;
        slot.key = key;
        slot.offset = offset;
        slot.len = len;
        return slot;
    }
    int run(const rpmi_slot &slot)
    {
        post(slot);
        return outcome();
    }
};

ServerOpts room_for_long()
{
    ServerOpts opts;

    opts.bytes = 32 << 20;
    return opts;
}

} // namespace

TEST_CASE("ring: a long request arrives complete after any earlier requests", "[unit]")
{
    Server server(room_for_long());
    LongRinger client(server);
    uint64_t at = GENERATE(0u, 64u, 12345u);
    uint64_t len = GENERATE((1u << 20) - 1, (1u << 20) + 1, (3u << 20) + 77);
    uint16_t head_bytes = GENERATE(uint16_t(0), uint16_t(28), uint16_t(64));
    uint8_t kind = GENERATE(uint8_t(RPMI_OP_WRITE), uint8_t(RPMI_OP_COPY));
    uint64_t body_bytes = GENERATE(uint64_t(1) << 20, uint64_t(100), uint64_t(0));
    std::string expect(len, '\0');
    rpmi_slot slot = client.make(kind, at, len);

    CAPTURE(at, len, head_bytes, body_bytes);
    if (body_bytes > len - head_bytes)
        body_bytes = len - head_bytes;
    for (uint64_t i = 0; i < body_bytes; i++)
        client.ring.staging[i] = static_cast<unsigned char>(i * 31 + i / 4096 + 1);
    memset(slot.head, 'h', sizeof(slot.head));
    memset(client.ring.heads, 'h', client.ring.slots * size_t(RPMI_LINE_BYTES));
    slot.flags = RPMI_OP_DURABLE;
    slot.head_bytes = head_bytes;
    slot.body_bytes = static_cast<uint32_t>(body_bytes);
    memset(&expect[0], 'h', head_bytes);
    memcpy(&expect[head_bytes], client.ring.staging, body_bytes);
    REQUIRE(client.run(client.make(RPMI_OP_READ, 0, 777)) == 0); // misaligns what is left of a pass
    memcpy(client.ring.staging, &expect[head_bytes], body_bytes);
    REQUIRE(client.run(slot) == 0);
    REQUIRE(client.run(client.make(RPMI_OP_PERSIST, 0, client.kBytes)) == 0);
    REQUIRE(client.run(client.make(RPMI_OP_READ, at, len)) == 0);
    CHECK(memcmp(client.ring.staging, expect.data(), len) == 0);
    CHECK(client.run(client.make(RPMI_OP_READ, at, client.kBytes)) == (at == 0 ? 0 : RPM_E_RANGE));
}

TEST_CASE("ring: long requests keep no other client waiting", "[unit]")
{
    Server server(room_for_long());
    LongRinger hog(server);
    Ringer neighbour(server);
    uint8_t kind = GENERATE(uint8_t(RPMI_OP_READ), uint8_t(RPMI_OP_WRITE));

    // A test that is not scheduled meanwhile sees too much done; an engine that serves the hog
    // first lets it see all of it done each time.
    bool waited = true;
    for (int round = 0; round < 10 && waited; round++) {
        for (int i = 0; i < 60; i++)
            hog.post(hog.make(kind, 0, hog.kBytes));
        uint64_t before = hog.posted - 60;
        CHECK(neighbour.run(neighbour.write(0, 64)) == 0);
        uint64_t at_write = __atomic_load_n(&hog.ring.head->done, __ATOMIC_ACQUIRE) - before;
        CHECK(neighbour.open("another", RPM_KIND_REGION, 4096).status == 0);
        uint64_t at_open = __atomic_load_n(&hog.ring.head->done, __ATOMIC_ACQUIRE) - before;
        waited = at_write >= 30 || at_open >= 60;
        for (int i = 0; i < 60; i++)
            CHECK(hog.outcome() == 0);
    }
    CHECK_FALSE(waited);
}

TEST_CASE("ring: atomics on volatile words only, and only on aligned ones", "[unit]")
{
    Server server;
    Ringer client(server);
    rpmi_slot slot = {};
    uint64_t operand = 5;
    uint64_t found;

    slot.kind = RPMI_OP_FAA;
    slot.key = client.dram;
    slot.offset = 8;
    slot.body = 128;
    memcpy(slot.head + 8, &operand, 8);
    CHECK(client.run(slot) == 0);
    CHECK(client.run(slot) == 0);
    memcpy(&found, client.ring.staging + 128, 8);
    CHECK(found == 5);
    slot.offset = 12;
    CHECK(client.run(slot) < 0);
    slot.offset = 128;
    CHECK(client.run(slot) == RPM_E_RANGE);
    slot.offset = 0;
    slot.body = (1 << 16) - 7;
    CHECK(client.run(slot) == RPM_E_RANGE);
    slot.body = 0;
    slot.key = client.key;
    CHECK(client.run(slot) == RPM_E_DENIED);
}

TEST_CASE("ring: unknown operations fail, and fail the rest of their post only", "[unit]")
{
    Server server;
    Ringer client(server);
    rpmi_slot slot = client.write(0, 64);
    uint8_t kind = GENERATE(uint8_t{ 0 }, uint8_t{ RPMI_OP_FLUSH }, uint8_t{ RPMI_OP_DRAIN },
                            uint8_t{ RPMI_OP_KINDS }, uint8_t{ 255 });

    slot.kind = kind;
    CHECK(client.run(slot) == RPM_E_NOCAP);
    CHECK(client.run(client.write(0, 64)) == 0);
}

TEST_CASE("ring: one client's keys mean nothing on another's ring", "[unit]")
{
    Server server;
    Ringer one(server, "one");
    RawClient other(server);

    REQUIRE(other.hello(RPMI_MODE_RING) == 0);
    other.map_ring();
    other.post(one.write(0, 64));
    CHECK(other.outcome() == RPM_E_DENIED);
}

TEST_CASE("ring: a client can neither shrink nor grow its memory", "[unit]")
{
    Server server;
    Ringer client(server);

    CHECK(ftruncate(client.fd(RPMI_FD_RING), 0) != 0);
    CHECK(ftruncate(client.fd(RPMI_FD_RING), 1 << 30) != 0);
    CHECK(client.run(client.write(0, 64)) == 0);
}

TEST_CASE("ring: random bytes in shared memory harm neither the server nor other clients", "[unit]")
{
    Server server;
    Ringer good(server, "good");
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 11);
    memset(good.ring.staging, 'g', 4096);
    REQUIRE(good.run(good.write(0, 4096)) == 0);
    for (int round = 0; round < 30; round++) {
        Ringer bad(server, "bad");
        uint64_t one = 1;

        for (int i = 0; i < 2000; i++) {
            uint64_t at = rpmi_rng_below(&rng, bad.ring.bytes / 8 - 16) * 8;
            uint64_t value =
                rpmi_rng_chance(&rng, 500000) ? rpmi_rng_next(&rng) : rpmi_rng_below(&rng, 70000);
            if (rpmi_rng_chance(&rng, 700000)) // mostly the slots themselves
                at = 4096 + rpmi_rng_below(&rng, bad.ring.slots * 8) * 8;
            memcpy(reinterpret_cast<unsigned char *>(bad.ring.head) + at, &value, 8);
            if (rpmi_rng_chance(&rng, 200000)) {
                uint64_t next = rpmi_rng_below(&rng, bad.ring.slots);
                bad.ring.slot[next].turn = static_cast<uint32_t>(next + 1);
            }
        }
        (void)!write(bad.fd(RPMI_FD_NOTIFY), &one, sizeof(one));
        REQUIRE(good.run(good.read(0, 4096, 8192)) == 0);
        CHECK(std::string(reinterpret_cast<char *>(good.ring.staging) + 8192, 4096) ==
              std::string(4096, 'g'));
    }
}

TEST_CASE("ring: a claim fences the ring writer before it", "[unit]")
{
    Server server;
    RawClient first(server);
    RawClient second(server);
    rpmi_slot slot = {};

    REQUIRE(first.hello(RPMI_MODE_RING) == 0);
    REQUIRE(second.hello(RPMI_MODE_RING) == 0);
    first.map_ring();
    rpmi_reply opened = first.open("log", RPM_KIND_LOG, 4096);
    REQUIRE(opened.status == 0);
    rpmi_reply claimed = first.claim(opened.key);
    REQUIRE(claimed.status == 0);
    slot.kind = RPMI_OP_COPY;
    slot.key = claimed.key;
    slot.offset = 4096;
    slot.len = 64;
    slot.body_bytes = 64;
    first.post(slot);
    CHECK(first.outcome() == 0);
    slot.offset = 0; // the header is the server's
    first.post(slot);
    CHECK(first.outcome() == RPM_E_DENIED);
    opened = second.open("log", RPM_KIND_LOG, 4096);
    REQUIRE(opened.status == 0);
    CHECK(second.claim(opened.key).status == RPM_E_OWNED);
    REQUIRE(second.claim(opened.key, RPMI_CALL_TAKEOVER).status == 0);
    slot.offset = 4096;
    first.post(slot);
    CHECK(first.outcome() == RPM_E_FENCED);
}

TEST_CASE("ring: each armed event is sent once", "[unit]")
{
    Server server;
    Ringer client(server);
    char byte;

    REQUIRE(client.run(client.write(0, 64)) == 0);
    CHECK(recv(client.sock(), &byte, 1, MSG_DONTWAIT) < 0); // not armed
    for (int i = 0; i < 10; i++) {
        __atomic_store_n(&client.ring.head->waits, RPMI_WAITS_EVENT, __ATOMIC_SEQ_CST);
        REQUIRE(client.run(client.write(0, 64)) == 0);
        REQUIRE(client.run(client.write(0, 64)) == 0);
        pollfd entry = { client.sock(), POLLIN, 0 };
        REQUIRE(poll(&entry, 1, static_cast<int>(kPatienceNs / 1000000)) == 1);
        CHECK(recv(client.sock(), &byte, 1, MSG_DONTWAIT) == 1);
        CHECK(__atomic_load_n(&client.ring.head->waits, __ATOMIC_SEQ_CST) == RPMI_WAITS_NOT);
        CHECK(recv(client.sock(), &byte, 1, MSG_DONTWAIT) < 0);
    }
}

TEST_CASE("ring: a client that reads no events does not delay the server", "[unit]")
{
    Server server;
    Ringer rude(server, "rude");
    Ringer client(server);

    for (int i = 0; i < 2000; i++) {
        __atomic_store_n(&rude.ring.head->waits, RPMI_WAITS_EVENT, __ATOMIC_SEQ_CST);
        REQUIRE(rude.run(rude.write(0, 64)) == 0);
    }
    for (uint32_t junk : { 3u, 7u, UINT32_MAX }) {
        __atomic_store_n(&rude.ring.head->waits, junk, __ATOMIC_SEQ_CST);
        REQUIRE(rude.run(rude.write(0, 64)) == 0);
    }
    REQUIRE(client.run(client.write(0, 64)) == 0);
    CHECK(client.open("more", RPM_KIND_REGION, 4096).status == 0);
}
