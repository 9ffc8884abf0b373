// SPDX-License-Identifier: BSD-3-Clause
#include "support/rounds.h"
#include "unit/pool/server.h"

TEST_CASE("service: malformed calls are refused", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();

    for (uint32_t kind : { 0u, uint32_t(RPMI_CALL_KINDS), 77u, UINT32_MAX })
        CHECK(server.with_key(me, kind, 0).status == RPM_E_PROTO);
    CHECK(server.with_key(me + 8, RPMI_CALL_NEXT, 0).status == RPM_E_DENIED);
    CHECK(server.with_key(0, RPMI_CALL_NEXT, 0).status == RPM_E_DENIED);
    CHECK(server.remove(me, "").status == RPM_E_NAME);
    CHECK(server.remove(me, "absent").status == RPM_E_NOENT);
}

TEST_CASE("service: a list has kind, size and writer of each object", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    rpmi_reply log = server.open(me, "log", RPM_KIND_LOG, 8192);

    REQUIRE(server.open(me, "locks", RPM_KIND_LOCKS, 80).status == 0);
    CHECK(std::string(server.next(me, "").name) == "locks");
    CHECK(server.next(me, "").bytes == 80);
    CHECK(server.next(me, "lod").bytes == 8192);
    rpmi_reply entry = server.next(me, "locks");
    CHECK(std::string(entry.name) == "log");
    CHECK(entry.object == RPM_KIND_LOG);
    CHECK(entry.bytes == 8192);
    CHECK(entry.writer == 0);
    REQUIRE(server.with_key(me, RPMI_CALL_CLAIM, log.key).status == 0);
    CHECK(server.next(me, "locks").writer == me);
    CHECK(server.next(me, "log").status == RPM_E_RANGE);
    CHECK(server.next(me, std::string(63, 'z')).status == RPM_E_RANGE);
}

TEST_CASE("service: there is no room for a kind of object that does not exist, or for one too many",
          "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    rpmi_call call = {};

    call.kind = RPMI_CALL_ROOM;
    CHECK(server.call(me, call).status == RPM_E_INVAL);
    call.object = RPM_KIND_DRAM;
    rpmi_reply room = server.call(me, call);
    REQUIRE(room.status == 0);
    CHECK(room.value > 64);
    for (uint32_t i = 0; i < room.epoch; i++)
        REQUIRE(server.open(me, ("locks" + std::to_string(i)).c_str(), RPM_KIND_LOCKS, 64).status ==
                0);
    room = server.call(me, call);
    CHECK(room.key == room.epoch);
    CHECK(room.bytes > 64);
    CHECK(room.value == 0);
}

TEST_CASE("service: an owner is alive while it is attached, in this run of the server", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    uint32_t you = server.client();
    auto alive = [&](uint32_t client, uint32_t epoch) {
        rpmi_reply reply =
            server.with_key(me, RPMI_CALL_OWNER, 0, static_cast<uint64_t>(client) << 32 | epoch);
        CHECK(reply.status == 0);
        return reply.value;
    };

    CHECK(alive(me, server.epoch) == 1);
    CHECK(alive(you, server.epoch) == 1);
    CHECK(alive(you, server.epoch + 1) == 0);
    CHECK(alive(you + 8, server.epoch) == 0);
    CHECK(alive(0, server.epoch) == 0);
    rpmi_service_detach(server.service, you);
    CHECK(alive(you, server.epoch) == 0);
}

TEST_CASE("service: no memory at start is an error, and nothing else", "[unit]")
{
    PoolServer server;

    rpmi_service_close(&server.service);
    rpmi_mem_fail_at(1);
    CHECK(server.start() == RPM_E_NOMEM);
    CHECK(server.service == nullptr);
    CHECK(server.start() == 0);
}

namespace
{

// A log has one writer, which lives and holds the only live write key; keys are counted right.
bool is_sound(const rpmi_service *service)
{
    std::vector<uint32_t> keys(service->objects_n);
    std::vector<uint32_t> writers(service->objects_n);

    for (uint32_t c = 0; c < service->clients_max; c++)
        for (const rpmi_key &key : service->clients[c].key)
            if (service->clients[c].id != 0 && key.state == RPMI_KEY_LIVE) {
                keys[key.object]++;
                writers[key.object] += (key.rights & RPMI_RIGHT_WRITE) != 0;
            }
    for (uint32_t i = 0; i < service->objects_n; i++) {
        const rpmi_object &object = service->objects[i];

        if (keys[i] != object.keys || (!object.used && keys[i] != 0))
            return false;
        if (!object.used || object.entry.kind != RPM_KIND_LOG)
            continue;
        if (writers[i] != (object.writer != 0 ? 1u : 0u))
            return false;
        if (object.writer != 0 && rpmi_client_find(service, object.writer) == nullptr)
            return false;
    }
    return true;
}

} // namespace

TEST_CASE("service: random calls keep the invariants", "[unit]")
{
    // Several clients, all kinds of calls with plausible and wild arguments.
    for (uint64_t seed : seeds(1, 30)) {
        PoolServer server(512 << 10);
        std::vector<uint32_t> clients;
        rpmi_rng rng;

        CAPTURE(seed);
        rpmi_rng_seed(&rng, seed);
        for (int i = 0; i < 4; i++)
            clients.push_back(server.client());
        for (int turn = 0; turn < 2000; turn++) {
            uint64_t who = rpmi_rng_below(&rng, 4);
            rpmi_call call = {};
            rpmi_reply reply;
            std::string name = "o" + std::to_string(rpmi_rng_below(&rng, 6));

            call.kind = static_cast<uint32_t>(1 + rpmi_rng_below(&rng, 8));
            call.object = static_cast<uint32_t>(1 + rpmi_rng_below(&rng, 4));
            call.flags = static_cast<uint32_t>(rpmi_rng_below(&rng, 8));
            call.key = static_cast<uint32_t>(rpmi_rng_below(&rng, 9));
            call.bytes = 4096 * rpmi_rng_below(&rng, 12);
            call.lsn = 64 * rpmi_rng_below(&rng, 200);
            memcpy(call.name, name.c_str(), name.size() + 1);
            if (rpmi_rng_below(&rng, 60) == 0) {
                rpmi_service_detach(server.service, clients[who]);
                clients[who] = server.client();
            }
            rpmi_service_call(server.service, clients[who], &call, &reply);
            REQUIRE(reply.status <= 0);

            REQUIRE(is_sound(server.service));
        }
        rpmi_service_close(&server.service);
        REQUIRE(server.start() == 0); // it accepts the visible state
    }
}
