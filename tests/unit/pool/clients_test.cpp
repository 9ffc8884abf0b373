// SPDX-License-Identifier: BSD-3-Clause
#include "unit/pool/server.h"

TEST_CASE("clients: they come and go, and no id comes twice", "[unit]")
{
    PoolServer server;
    std::map<uint32_t, int> seen;
    std::vector<uint32_t> now;

    for (int i = 0; i < 8; i++)
        now.push_back(server.client());
    uint32_t one_more = 77;
    CHECK(rpmi_service_attach(server.service, &one_more) == RPM_E_LIMIT);
    CHECK(one_more == 77);
    for (uint32_t id : now)
        seen[id]++;
    for (size_t i = 0; i < 1000; i++) {
        uint32_t gone = now[i % 8];

        CHECK(rpmi_service_detach(server.service, gone) == 0);
        CHECK(rpmi_service_detach(server.service, gone) == 0); // once is enough
        CHECK(server.open(gone, "x", RPM_KIND_LOG, 4096).status == RPM_E_DENIED);
        now[i % 8] = server.client();
        seen[now[i % 8]]++;
    }
    CHECK(seen.size() == 1008);
    rpmi_client *place = rpmi_client_find(server.service, now[0]);
    REQUIRE(place != nullptr);
    CHECK(now[7] < 1100);                     // as many as came, about
    server.service->last_id = UINT32_MAX - 2; // the last two ids that there are
    for (uint32_t id : now)
        rpmi_service_detach(server.service, id);
    CHECK(server.client() == UINT32_MAX - 1);
    CHECK(server.client() == UINT32_MAX);
    CHECK(rpmi_service_attach(server.service, &one_more) == RPM_E_REFUSED); // ids are used up
    CHECK(std::string(rpm_last_error()).find("restart it") != std::string::npos);
}

TEST_CASE("clients: exactly the locks of a leaving client are freed", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    uint32_t you = server.client();
    rpmi_reply one = server.open(me, "one", RPM_KIND_LOCKS, 80);
    rpmi_reply two = server.open(me, "two", RPM_KIND_LOCKS, 800);
    rpmi_reply words = server.open(me, "words", RPM_KIND_DRAM, 80);
    uint64_t mine = static_cast<uint64_t>(me) << 32 | server.epoch;
    uint64_t yours = static_cast<uint64_t>(you) << 32 | server.epoch;
    auto word = [&](const rpmi_reply &table, uint64_t index) {
        return reinterpret_cast<uint64_t *>(&server.dram.bytes[table.offset + index * 8]);
    };

    *word(one, 0) = mine;
    *word(one, 9) = mine;
    *word(one, 5) = yours;
    *word(two, 99) = mine;
    *word(words, 3) = mine; // no lock: a number that looks like one
    CHECK(rpmi_service_detach(server.service, me) == 3);
    CHECK(*word(one, 0) == 0);
    CHECK(*word(one, 9) == 0);
    CHECK(*word(two, 99) == 0);
    CHECK(*word(one, 5) == yours);
    CHECK(*word(words, 3) == mine);
    CHECK(rpmi_service_detach(server.service, you) == 1);
}
