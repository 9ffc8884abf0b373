// SPDX-License-Identifier: BSD-3-Clause
#include "unit/pool/server.h"

namespace
{
constexpr uint64_t DATA = 36864;
constexpr uint64_t DIR = 4096;
} // namespace

TEST_CASE("dir: objects are created, found again after a restart, and removed", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    uint64_t free_bytes = rpmi_service_free_bytes(server.service);

    rpmi_reply log = server.open(me, "log", RPM_KIND_LOG, 8192);
    rpmi_reply region = server.open(me, "region", RPM_KIND_REGION, 100);
    rpmi_reply dram = server.open(me, "dram", RPM_KIND_DRAM, 64);
    rpmi_reply locks = server.open(me, "locks", RPM_KIND_LOCKS, 80);
    for (const rpmi_reply *reply : { &log, &region, &dram, &locks }) {
        CHECK(reply->status == 0);
        CHECK((reply->flags & RPMI_CALL_CREATE) != 0);
    }
    CHECK(log.bytes == 8192);
    CHECK(log.offset == DATA);
    CHECK(region.bytes == 100);
    CHECK(region.offset == DATA + 3 * 4096);
    CHECK(dram.offset == RPMI_SCRATCH_BYTES);
    CHECK(server.list(me) == std::vector<std::string>{ "dram", "locks", "log", "region" });
    CHECK(rpmi_service_free_bytes(server.service) == free_bytes - 4 * 4096);

    REQUIRE(server.reborn() == 0);
    me = server.client();
    CHECK(server.list(me) == std::vector<std::string>{ "log", "region" });
    rpmi_reply again = server.open(me, "log", RPM_KIND_LOG);
    CHECK(again.status == 0);
    CHECK(again.flags == 0);
    CHECK(again.id == log.id);
    CHECK(server.remove(me, "log").status == RPM_E_OWNED);
    CHECK(server.with_key(me, RPMI_CALL_CLOSE, again.key).status == 0);
    CHECK(server.remove(me, "log").status == 0);
    CHECK(server.remove(me, "region").status == 0);
    CHECK(server.remove(me, "region").status == RPM_E_NOENT);
    CHECK(rpmi_service_free_bytes(server.service) == free_bytes);
    REQUIRE(server.reborn() == 0);
    CHECK(server.list(server.client()).empty());
}

TEST_CASE("dir: a new region is zero, whatever the memory held before", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    rpmi_span span = {};

    for (const char *name : { "a", "b" }) {
        rpmi_reply made = server.open(me, name, RPM_KIND_REGION, 5000);

        REQUIRE(made.status == 0);
        REQUIRE(server.access(me, made.key, 0, 5000, RPMI_RIGHT_WRITE, &span) == 0);
        CHECK(span.area == RPMI_AREA_POOL);
        for (uint64_t i = 0; i < 5000; i++) {
            REQUIRE(server.pool.bytes[span.offset + i] == 0);
            REQUIRE(server.pool.kept[span.offset + i] == 0);
            server.pool.bytes[span.offset + i] = server.pool.kept[span.offset + i] = 0xaa;
        }
        REQUIRE(server.with_key(me, RPMI_CALL_CLOSE, made.key).status == 0);
        REQUIRE(server.remove(me, name).status == 0);
    }
    rpmi_reply dram = server.open(me, "d", RPM_KIND_DRAM, 64);
    REQUIRE(server.access(me, dram.key, 0, 64, RPMI_RIGHT_WRITE, &span) == 0);
    CHECK(span.area == RPMI_AREA_DRAM);
    std::fill_n(server.dram.bytes.begin() + static_cast<long>(span.offset), 64, 0xaa);
    REQUIRE(server.with_key(me, RPMI_CALL_CLOSE, dram.key).status == 0);
    REQUIRE(server.remove(me, "d").status == 0);
    dram = server.open(me, "d2", RPM_KIND_DRAM, 64);
    REQUIRE(server.access(me, dram.key, 0, 64, RPMI_RIGHT_READ, &span) == 0);
    CHECK(server.dram.bytes[span.offset] == 0);
}

TEST_CASE("dir: while a large region is zeroed, other calls are served", "[unit]")
{
    static uint32_t yields;
    static PoolServer *current;
    static rpmi_reply other;
    static uint32_t writer;
    PoolServer server(32 << 20);
    uint32_t client = server.client();

    current = &server;
    yields = 0;
    writer = server.client();
    other = server.open(writer, "other", RPM_KIND_REGION, 4096);
    server.service->opts.yield = [](void *) {
        yields++;
        CHECK(rpmi_dir_find(current->service, "large") == RPM_E_NOENT);
        CHECK(current->access(writer, other.key, 0, 64, RPMI_RIGHT_WRITE) == 0);
    };
    CHECK(server.open(client, "small", RPM_KIND_REGION, 4 << 20).status == 0);
    CHECK(yields == 0);
    memset(&server.pool.bytes[server.pool.bytes.size() / 2], 'x', server.pool.bytes.size() / 2);
    rpmi_reply large = server.open(client, "large", RPM_KIND_REGION, (20 << 20) + 100);
    REQUIRE(large.status == 0);
    CHECK(yields == 1);
    for (uint64_t i = 0; i < large.bytes; i += 97)
        if (server.pool.bytes[large.offset + i] != 0 || server.pool.kept[large.offset + i] != 0)
            FAIL("byte " << i << " is not zero");
}

TEST_CASE("dir: a log without a size leaves room for others", "[unit]")
{
    constexpr uint64_t POOL = (1u << 20) + (64u << 10);
    constexpr uint64_t SHARE = POOL / 8;
    constexpr uint64_t HEADER = 4096;
    PoolServer server(POOL);
    uint32_t me = server.client();
    uint64_t room = POOL - DATA;

    // An eighth of the pool each, and half as much if no such piece is left.
    std::vector<rpmi_reply> made;
    for (int i = 0; i < 7; i++)
        made.push_back(
            server.open(me, "log" + std::to_string(i), RPM_KIND_LOG, 0, RPMI_CALL_CREATE));
    for (const rpmi_reply &log : made)
        CHECK(log.bytes == SHARE);
    room -= 7 * (SHARE + HEADER);
    REQUIRE(room == SHARE / 2 + HEADER);
    CHECK(server.open(me, "half", RPM_KIND_LOG, 0, RPMI_CALL_CREATE).bytes == SHARE / 2);
    rpmi_reply none = server.open(me, "none", RPM_KIND_LOG, 0, RPMI_CALL_CREATE);
    CHECK(none.status == RPM_E_NOSPACE);
    CHECK(std::string(none.text) == "73728 bytes wanted, 0 free in one piece, of the pool's "
                                    "1114112: ask for less, remove objects or serve a larger one");
    // The largest piece is where logs were removed.
    for (size_t i = 2; i < 4; i++) {
        REQUIRE(server.with_key(me, RPMI_CALL_CLOSE, made[i].key).status == 0);
        REQUIRE(server.remove(me, "log" + std::to_string(i)).status == 0);
    }
    rpmi_reply again = server.open(me, "none", RPM_KIND_LOG, 0, RPMI_CALL_CREATE);
    CHECK(again.bytes == SHARE);
    CHECK(again.offset == made[2].offset);
    none = server.open(me, "large", RPM_KIND_REGION, 200000);
    CHECK(std::string(none.text).rfind("200000 bytes wanted, 143360 free in one piece", 0) == 0);
}

TEST_CASE("dir: invalid sizes and kinds are refused", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    std::vector<unsigned char> before = server.pool.bytes;

    for (uint64_t bytes : { uint64_t(1), uint64_t(4095), uint64_t(4097), UINT64_MAX,
                            UINT64_MAX - 4095, uint64_t(1) << 63 })
        CHECK(server.open(me, "x", RPM_KIND_LOG, bytes).status == RPM_E_INVAL);
    CHECK(server.open(me, "x", RPM_KIND_LOG, 1u << 20).status == RPM_E_NOSPACE);
    CHECK(server.open(me, "x", RPM_KIND_REGION, 1u << 20).status == RPM_E_NOSPACE);
    CHECK(server.open(me, "x", RPM_KIND_REGION, UINT64_MAX / 2).status == RPM_E_NOSPACE);
    CHECK(server.open(me, "x", RPM_KIND_DRAM, 7).status == RPM_E_INVAL);
    CHECK(server.open(me, "x", RPM_KIND_LOCKS, 12).status == RPM_E_INVAL);
    CHECK(server.open(me, "x", RPM_KIND_DRAM, 1u << 20).status == RPM_E_NOSPACE);
    CHECK(server.open(me, "x", RPM_KIND_REGION, 0, RPMI_CALL_CREATE).status == RPM_E_INVAL);
    CHECK(server.open(me, "x", 0, 4096).status == RPM_E_INVAL);
    CHECK(server.open(me, "x", 5, 4096).status == RPM_E_INVAL);
    CHECK(server.open(me, "", RPM_KIND_LOG, 4096).status == RPM_E_NAME);
    CHECK(server.open(me, "a b", RPM_KIND_LOG, 4096).status == RPM_E_NAME);
    CHECK(server.open(me, "x", RPM_KIND_LOG).status == RPM_E_NOENT);
    CHECK(server.list(me).empty());
    CHECK(server.pool.bytes == before);

    CHECK(server.open(me, "x", RPM_KIND_LOG, 4096).status == 0);
    CHECK(server.open(me, "x", RPM_KIND_LOG, 4096, RPMI_CALL_EXCL).status == RPM_E_EXISTS);
    for (uint32_t kind : { RPM_KIND_REGION, RPM_KIND_DRAM, RPM_KIND_LOCKS })
        CHECK(server.open(me, "x", kind, 4096).status == RPM_E_EXISTS);
}

TEST_CASE("dir: freed space is used again, also in gaps", "[unit]")
{
    PoolServer server(256 << 10);
    uint32_t me = server.client();
    rpmi_rng rng;
    std::map<std::string, std::pair<uint64_t, uint64_t>> model;
    uint64_t made = 0;
    uint64_t refused = 0;

    rpmi_rng_seed(&rng, 3);
    for (uint64_t turn = 0; turn < 3000; turn++) {
        std::string name = "o" + std::to_string(rpmi_rng_below(&rng, 150));

        if (model.count(name) != 0) {
            REQUIRE(server.remove(me, name).status == 0);
            model.erase(name);
            continue;
        }
        uint64_t bytes = 1 + rpmi_rng_below(&rng, 12000);
        rpmi_reply reply = server.open(me, name, RPM_KIND_REGION, bytes);
        if (reply.status != 0) {
            REQUIRE(reply.status == RPM_E_NOSPACE);
            refused++;
            continue;
        }
        made++;
        REQUIRE(server.with_key(me, RPMI_CALL_CLOSE, reply.key).status == 0);
        REQUIRE(reply.offset >= DATA);
        REQUIRE(reply.offset % 4096 == 0);
        REQUIRE(reply.offset + bytes <= (256 << 10));
        for (const auto &other : model)
            REQUIRE((reply.offset >= other.second.first + other.second.second ||
                     other.second.first >= reply.offset + bytes));
        model[name] = { reply.offset, bytes };
        if (turn % 100 == 0) {
            REQUIRE(server.reborn() == 0);
            me = server.client();
            REQUIRE(server.list(me).size() == model.size());
        }
    }
    CHECK(made > 500);
    CHECK(refused > 50);
}

TEST_CASE("dir: a pool has room for an object in each 64 KiB, and DRAM for 64", "[unit]")
{
    uint32_t room = GENERATE(128u, 500u);
    PoolServer server(uint64_t{ room } << 16);
    uint32_t me = 0;
    rpmi_reply reply = {};
    uint32_t made = 0;

    for (; made < 1000; made++) {
        if (made % 100 == 0) // a client has 255 keys
            me = server.client();
        reply = server.open(me, "p" + std::to_string(made), RPM_KIND_REGION, 8);
        if (reply.status != 0)
            break;
    }
    CHECK(reply.status == RPM_E_LIMIT);
    CHECK(std::string(reply.text).find("as many as its directory") != std::string::npos);
    CHECK(made == room);
    me = server.client();
    for (made = 0; made < 200; made++)
        if (server.open(me, "d" + std::to_string(made), RPM_KIND_DRAM, 8).status != 0)
            break;
    CHECK(made == 64);
    CHECK(server.list(me).size() == room + 64);
    REQUIRE(server.reborn() == 0);
    me = server.client();
    auto names = server.list(me);
    CHECK(names.size() == room);
    CHECK(std::is_sorted(names.begin(), names.end()));
}

TEST_CASE("dir: a power failure at any step of create or remove leaves all or nothing", "[unit]")
{
    uint32_t kind = GENERATE(uint32_t(RPM_KIND_LOG), uint32_t(RPM_KIND_REGION));

    for (uint32_t step = 1; step < 8; step++) {
        PoolServer server;
        uint32_t me = server.client();

        CAPTURE(kind, step);
        server.pool.fail_persist_at = step;
        rpmi_reply made = server.open(me, "a", kind, 8192);
        bool there = made.status == 0;
        if (!there) {
            CHECK(made.status == RPM_E_IO);
            CHECK(server.list(me).empty());
        }
        server.pool.fail_persist_at = 0;
        REQUIRE(server.reborn() == 0);
        me = server.client();
        auto seen = server.list(me);
        CHECK(seen.size() <= 1);
        if (there)
            REQUIRE(seen.size() == 1);
        CHECK(server.open(me, "a", kind, 8192).status == 0);

        REQUIRE(server.reborn() == 0);
        me = server.client();
        server.pool.fail_persist_at = 1;
        CHECK(server.remove(me, "a").status == RPM_E_IO);
        REQUIRE(server.reborn() == 0);
        CHECK(server.list(server.client()).size() == 1);
    }
}

TEST_CASE("dir: any flipped byte of a directory is reported or has no effect", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();

    REQUIRE(server.open(me, "log", RPM_KIND_LOG, 8192).status == 0);
    REQUIRE(server.open(me, "region", RPM_KIND_REGION, 100).status == 0);
    REQUIRE(server.open(me, "gone", RPM_KIND_REGION, 100).status == 0);
    rpmi_service_detach(server.service, me);
    REQUIRE(server.remove(server.client(), "gone").status == 0);
    std::vector<unsigned char> good = server.pool.bytes;
    uint32_t corrupt = 0;

    for (uint64_t at = 0; at < 5 * RPMI_DIRENT_BYTES; at++) {
        for (unsigned char bits : { 0x01, 0x40, 0xff }) {
            CAPTURE(at, bits);
            rpmi_service_close(&server.service);
            server.pool.bytes = good;
            server.pool.bytes[DIR + at] ^= bits;
            int err = server.start();
            if (err != 0) {
                CHECK(err == RPM_E_CORRUPT);
                corrupt++;
                continue;
            }
            // Only free entries have bytes without meaning.
            CHECK(at >= 2 * RPMI_DIRENT_BYTES);
            me = server.client();
            CHECK(server.list(me).size() == 2);
            CHECK(server.open(me, "log", RPM_KIND_LOG).status == 0);
            CHECK(server.open(me, "new", RPM_KIND_REGION, 100).status == 0);
        }
    }
    CHECK(corrupt >= 3 * (2 * 256 + 3 * 8));
    // If a line or a word of an object's entry reads as zeros, its space is not allocated again.
    for (uint64_t len : { 8, 64 })
        for (uint64_t at = 0; at < 2 * RPMI_DIRENT_BYTES; at += len) {
            rpmi_service_close(&server.service);
            server.pool.bytes = good;
            memset(&server.pool.bytes[DIR + at], 0, len);
            CAPTURE(at, len);
            int expected = server.pool.bytes == good ? 0 : RPM_E_CORRUPT; // before start() counts

            CHECK(server.start() == expected);
        }
    rpmi_service_close(&server.service);
    server.pool.bytes = good;
    REQUIRE(server.start() == 0);
}

TEST_CASE("dir: entries that contradict each other are corrupt", "[unit]")
{
    struct {
        void (*spoil)(rpmi_dirent *);
    } spoils[] = {
        { [](rpmi_dirent *e) { memcpy(e->name, "first", 6); } },
        { [](rpmi_dirent *e) { e->offset = DATA + 4096; } },
        { [](rpmi_dirent *e) { e->offset += 64; } },
        { [](rpmi_dirent *e) { e->offset = 4096; } },
        { [](rpmi_dirent *e) { e->kind = RPM_KIND_LOG; } }, // of 100 bytes
    };

    for (const auto &row : spoils) {
        PoolServer server;
        uint32_t me = server.client();
        rpmi_reply second;
        rpmi_dirent entry = {};
        unsigned char *slot = &server.pool.bytes[DIR + 256];

        REQUIRE(server.open(me, "first", RPM_KIND_LOG, 8192).status == 0);
        second = server.open(me, "second", RPM_KIND_REGION, 8192 + 100);
        REQUIRE(second.status == 0);
        REQUIRE(rpmi_dirent_get(slot, 1 << 20, &entry) == 1);
        row.spoil(&entry);
        if (entry.kind == RPM_KIND_LOG)
            entry.bytes = 8192 + 64;
        rpmi_dirent_put(slot, &entry);
        for (uint32_t at : { 0u, RPMI_DIRENT_STATE_2 })
            rpmi_store64(slot + at, rpmi_dirent_used());
        server.pool.kept = server.pool.bytes;
        CAPTURE(&row - spoils);
        CHECK(server.reborn() == RPM_E_CORRUPT);
        CHECK(std::string(rpm_last_error()) != "");
    }
}

namespace
{

constexpr uint64_t ID = 0x1234567890abcdefull;

// An OPEN with CREATE of a log as the copy of a set has it.
rpmi_call copy_call(const char *name = "copy")
{
    rpmi_call call = {};

    call.kind = RPMI_CALL_OPEN;
    call.object = RPM_KIND_LOG;
    call.flags = RPMI_CALL_CREATE;
    call.bytes = 8192;
    call.lsn = 640;
    call.id = ID;
    call.epoch = 7;
    call.set = { 3, 2, 1, 99 };
    strcpy(call.name, name);
    return call;
}

} // namespace

TEST_CASE("dir: a log begins with the id, first LSN, set and epoch that its creator chose",
          "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    rpmi_reply copy = server.call(me, copy_call());

    REQUIRE(copy.status == 0);
    CHECK((copy.flags & RPMI_CALL_CREATE) != 0);
    CHECK(copy.id == ID);
    CHECK(copy.token != 0);
    REQUIRE(server.reborn() == 0); // all of it is durable
    rpmi_head head = server.head(copy.offset);
    CHECK(head.log_id == ID);
    CHECK(head.trim_lsn == 640);
    CHECK(head.base_lsn == 640);
    CHECK(head.epoch == 0);
    CHECK(rpmi_load64(&server.pool.bytes[copy.offset + RPMI_GUARD_OFFSET]) == 7);
    me = server.client();
    rpmi_reply opened = server.call(me, copy_call());
    REQUIRE(opened.status == 0);
    CHECK((opened.flags & RPMI_CALL_CREATE) == 0);
    CHECK(opened.token == 0); // it is the creator's

    // Its creator claims the epoch by the token; another client only a higher one.
    rpmi_call claim = {};
    claim.kind = RPMI_CALL_CLAIM;
    claim.key = opened.key;
    claim.epoch = 7;
    CHECK(server.call(me, claim).status == RPM_E_FENCED);
    claim.token = copy.token;
    rpmi_reply mine = server.call(me, claim);
    REQUIRE(mine.epoch == 7);
    CHECK(server.with_key(me, RPMI_CALL_SEAL, mine.key, 640).status == 0);
    head = server.head(copy.offset);
    CHECK(head.epoch == 7);
    CHECK(head.set.member == 1); // a seal keeps the set
    CHECK(head.set.members == 99);
    CHECK(server.with_key(me, RPMI_CALL_TRIM, opened.key, 704).status == 0);
    rpmi_head trimmed = server.head(copy.offset);
    CHECK(rpmi_membership_is_same(&trimmed.set, &head.set));
}

TEST_CASE("dir: a log that exists is refused to a client that expects another one", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();

    REQUIRE(server.call(me, copy_call()).status == 0);
    REQUIRE(server.open(me, "single", RPM_KIND_LOG, 8192).status == 0);
    auto refused = [&](void (*change)(rpmi_call &), const char *why) {
        rpmi_call call = copy_call();

        change(call);
        rpmi_reply reply = server.call(me, call);
        CAPTURE(why, reply.text);
        CHECK(reply.status == RPM_E_EXISTS);
        CHECK(std::string(reply.text).find(why) != std::string::npos);
    };
    refused([](rpmi_call &call) { call.id++; }, "has the id 0x1234567890abcdef");
    refused([](rpmi_call &call) { call.set.acks = 3; }, "member 1 of 3 with acks 2");
    refused([](rpmi_call &call) { call.set.copies = 4; }, "member 1 of 3");
    refused([](rpmi_call &call) { call.set.member = 0; }, "member 1 of 3");
    refused([](rpmi_call &call) { call.set.members++; }, "member list 0x63");
    refused([](rpmi_call &call) { strcpy(call.name, "other"); },
            "log 'copy' of this pool has the id");
    refused(
        [](rpmi_call &call) {
            strcpy(call.name, "single");
            call.id = 0;
        },
        "is a single log");
    CHECK(server.list(me) == std::vector<std::string>{ "copy", "single" });
    // A client that expects nothing may read it.
    CHECK(server.open(me, "copy", RPM_KIND_LOG).status == 0);
}

TEST_CASE("dir: a log is not created with an LSN, epoch or set out of bounds", "[unit]")
{
    PoolServer server;
    uint32_t me = server.client();
    auto refused = [&](void (*change)(rpmi_call &), int err) {
        rpmi_call call = copy_call();

        change(call);
        CHECK(server.call(me, call).status == err);
    };

    refused([](rpmi_call &call) { call.lsn = 1; }, RPM_E_RANGE);
    refused([](rpmi_call &call) { call.lsn = RPMI_HEAD_LIMIT; }, RPM_E_RANGE);
    refused([](rpmi_call &call) { call.epoch = UINT32_MAX; }, RPM_E_RANGE);
    refused([](rpmi_call &call) { call.set.acks = 0; }, RPM_E_RANGE);
    refused([](rpmi_call &call) { call.set.acks = 4; }, RPM_E_RANGE);
    refused([](rpmi_call &call) { call.set.member = 3; }, RPM_E_RANGE);
    refused([](rpmi_call &call) { call.set.copies = RPMI_COPIES_MAX + 1; }, RPM_E_RANGE);
    for (uint32_t kind : { RPM_KIND_REGION, RPM_KIND_DRAM, RPM_KIND_LOCKS })
        for (int field = 0; field < 3; field++) {
            rpmi_call call = copy_call();

            call.object = kind;
            call.id = field == 0 ? ID : 0;
            call.epoch = field == 1 ? 7 : 0;
            if (field != 2)
                call.set = {};
            CHECK(server.call(me, call).status == RPM_E_INVAL);
        }
    CHECK(server.list(me).empty());
}

TEST_CASE("dir: a log with a given id never finds frames of a removed log with that id", "[unit]")
{
    bool given = GENERATE(true, false);
    PoolServer server;
    uint32_t me = server.client();
    rpmi_reply first = server.call(me, copy_call());

    CAPTURE(given);
    std::fill_n(server.pool.bytes.begin() + static_cast<long>(first.offset + 4096), 8192, 0xee);
    server.pool.kept = server.pool.bytes;
    REQUIRE(server.with_key(me, RPMI_CALL_CLOSE, first.key).status == 0);
    REQUIRE(server.remove(me, "copy").status == 0);
    rpmi_call call = copy_call();
    call.id = given ? ID : 0;
    rpmi_reply second = server.call(me, call);
    REQUIRE(second.offset == first.offset);
    REQUIRE(server.reborn() == 0);
    for (uint64_t at = second.offset + 4096; at < second.offset + 4096 + 8192; at++)
        REQUIRE(server.pool.bytes[at] == (given ? 0 : 0xee));
}

TEST_CASE("dir: power fails while a log is created with an epoch: it has it, or is not there",
          "[unit]")
{
    uint32_t whole = 0;
    uint32_t none = 0;

    for (uint32_t step = 1; step < 12; step++) {
        PoolServer server;
        uint32_t me = server.client();

        CAPTURE(step);
        server.pool.fail_persist_at = step;
        rpmi_reply copy = server.call(me, copy_call());
        server.pool.fail_persist_at = 0;
        REQUIRE(server.reborn() == 0);
        me = server.client();
        rpmi_reply opened = server.open(me, "copy", RPM_KIND_LOG);
        none += opened.status != 0;
        whole += opened.status == 0;
        CHECK((copy.status != 0 || opened.status == 0));
        if (opened.status != 0)
            continue;
        CHECK(rpmi_load64(&server.pool.bytes[opened.offset + RPMI_GUARD_OFFSET]) == 7);
        CHECK(server.head(opened.offset).base_lsn == 640);
        rpmi_call claim = {};
        claim.kind = RPMI_CALL_CLAIM;
        claim.key = opened.key;
        claim.epoch = 7;
        CHECK(server.call(me, claim).status == RPM_E_FENCED);
    }
    CHECK(none > 3);
    CHECK(whole > 2);
}
