// SPDX-License-Identifier: BSD-3-Clause
#include "unit/pool/server.h"

#include "support/death.h"

namespace
{

// Two clients, a log that the first one claimed, a region that this claim guards, one in DRAM.
struct Claimed : PoolServer {
    uint32_t writer = client();
    uint32_t other = client();
    rpmi_reply log = open(writer, "log", RPM_KIND_LOG, 8192);
    rpmi_reply claim = with_key(writer, RPMI_CALL_CLAIM, log.key);
    rpmi_reply region = guarded();
    rpmi_reply dram = open(other, "dram", RPM_KIND_DRAM, 64);

    rpmi_reply guarded()
    {
        rpmi_call request = {};

        request.kind = RPMI_CALL_OPEN;
        request.object = RPM_KIND_REGION;
        request.bytes = 4096;
        request.flags = RPMI_CALL_CREATE | RPMI_CALL_GUARDED;
        request.key = claim.key;
        strcpy(request.name, "region");
        return call(writer, request);
    }

    rpmi_client *place(uint32_t client)
    {
        return rpmi_client_find(service, client);
    }

    rpmi_object *object(uint32_t client, uint32_t key)
    {
        return &service->objects[place(client)->key[key].object];
    }
};

struct Spoil {
    const char *what; // text of the assertion that must fail
    void (*how)(Claimed &s);
};

const Spoil SPOILS[] = {
    { "!= rpmi_is_pool_index",
      [](Claimed &s) { s.object(s.writer, s.region.key)->entry.kind = RPM_KIND_DRAM; } },
    { "entry->bytes, area_bytes",
      [](Claimed &s) { s.object(s.writer, s.region.key)->entry.bytes = s.pool.bytes.size(); } },
    { "entry->kind == RPM_KIND_LOG",
      [](Claimed &s) { s.object(s.writer, s.region.key)->writer = s.writer; } },
    { "object->epoch != 0", [](Claimed &s) { s.object(s.writer, s.log.key)->epoch = 0; } },
    { "object->writer == client->id",
      [](Claimed &s) { s.object(s.writer, s.log.key)->writer = s.other; } },
    { "tally[i].claims == (object->writer != 0)",
      [](Claimed &s) { s.place(s.writer)->key[s.claim.key].rights = RPMI_RIGHT_READ; } },
    { "!object->sealed ||",
      [](Claimed &s) {
          rpmi_object *log = s.object(s.writer, s.log.key);

          s.with_key(s.writer, RPMI_CALL_CLOSE, s.claim.key);
          log->epoch = 0;
          log->sealed = true;
      } },
    { "lower->offset + lower->bytes",
      [](Claimed &s) {
          s.object(s.writer, s.region.key)->entry.offset =
              s.object(s.writer, s.log.key)->entry.offset;
      } },
    { "!key->fenced ||", [](Claimed &s) { s.place(s.other)->key[s.dram.key].fenced = true; } },
    { "key->guard <=", [](Claimed &s) { s.place(s.writer)->key[s.region.key].guard = 1000; } },
    { "object->used &&",
      [](Claimed &s) { s.place(s.writer)->key[s.region.key].object = RPMI_POOL_ENTRIES_MIN - 1; } },
    { "key->guard == 0 || key->fenced",
      [](Claimed &s) { s.place(s.writer)->key[s.region.key].guard = RPMI_POOL_ENTRIES_MIN; } },
    { "client->id <= service->last_id", [](Claimed &s) { s.service->last_id = 0; } },
    { "key->object < service->objects_n",
      [](Claimed &s) {
          s.place(s.other)->key[s.dram.key].object = uint16_t(s.service->objects_n);
      } },
    { "object->keys == tally[i].keys", [](Claimed &s) { s.object(s.other, s.dram.key)->keys++; } },
};

} // namespace

TEST_CASE("invariants: a service in use passes, and each violation is detected", "[unit]")
{
    Claimed server;

    REQUIRE(server.claim.status == 0);
    REQUIRE(server.region.status == 0);
    REQUIRE(server.dram.status == 0);
    REQUIRE(rpmi_service_check_invariants(server.service));
    for (const Spoil &spoil : SPOILS) {
        CAPTURE(spoil.what);
        std::string said = death_of([&] {
            spoil.how(server);
            (void)rpmi_service_check_invariants(server.service);
        });

        CAPTURE(said);
        CHECK(said.find(spoil.what) != std::string::npos);
    }
}
