// SPDX-License-Identifier: BSD-3-Clause
#include "unit/pool/far.h"

namespace
{
constexpr uint64_t DATA = 36864;
constexpr uint64_t DIR = 4096;
} // namespace

TEST_CASE("dir: objects are created, found again after a restart, and removed", "[unit]")
{
    Far far;
    uint32_t me = far.client();
    uint64_t free_bytes = rpmi_service_free_bytes(far.service);

    rpmi_reply log = far.open(me, "log", RPM_KIND_LOG, 8192);
    rpmi_reply region = far.open(me, "region", RPM_KIND_REGION, 100);
    rpmi_reply dram = far.open(me, "dram", RPM_KIND_DRAM, 64);
    rpmi_reply locks = far.open(me, "locks", RPM_KIND_LOCKS, 80);
    for (const rpmi_reply *reply : { &log, &region, &dram, &locks }) {
        CHECK(reply->status == 0);
        CHECK(reply->flags == RPMI_CALL_CREATE);
    }
    CHECK(log.bytes == 8192);
    CHECK(log.offset == DATA);
    CHECK(region.bytes == 100);
    CHECK(region.offset == DATA + 3 * 4096);
    CHECK(dram.offset == RPMI_SCRATCH_BYTES);
    CHECK(far.list(me) == std::vector<std::string>{ "log", "region", "dram", "locks" });
    CHECK(rpmi_service_free_bytes(far.service) == free_bytes - 4 * 4096);

    REQUIRE(far.reborn() == 0);
    me = far.client();
    CHECK(far.list(me) == std::vector<std::string>{ "log", "region" });
    rpmi_reply again = far.open(me, "log", RPM_KIND_LOG);
    CHECK(again.status == 0);
    CHECK(again.flags == 0);
    CHECK(again.id == log.id);
    CHECK(far.remove(me, "log").status == RPM_E_OWNED);
    CHECK(far.with_key(me, RPMI_CALL_CLOSE, again.key).status == 0);
    CHECK(far.remove(me, "log").status == 0);
    CHECK(far.remove(me, "region").status == 0);
    CHECK(far.remove(me, "region").status == RPM_E_NOENT);
    CHECK(rpmi_service_free_bytes(far.service) == free_bytes);
    REQUIRE(far.reborn() == 0);
    CHECK(far.list(far.client()).empty());
}

TEST_CASE("dir: a new region is zero, whatever lay there", "[unit]")
{
    Far far;
    uint32_t me = far.client();
    rpmi_span span = {};

    for (const char *name : { "a", "b" }) {
        rpmi_reply made = far.open(me, name, RPM_KIND_REGION, 5000);

        REQUIRE(made.status == 0);
        REQUIRE(far.access(me, made.key, 0, 5000, RPMI_RIGHT_WRITE, &span) == 0);
        CHECK(span.area == RPMI_AREA_POOL);
        for (uint64_t i = 0; i < 5000; i++) {
            REQUIRE(far.pool.bytes[span.offset + i] == 0);
            REQUIRE(far.pool.kept[span.offset + i] == 0);
            far.pool.bytes[span.offset + i] = far.pool.kept[span.offset + i] = 0xaa;
        }
        REQUIRE(far.with_key(me, RPMI_CALL_CLOSE, made.key).status == 0);
        REQUIRE(far.remove(me, name).status == 0);
    }
    rpmi_reply dram = far.open(me, "d", RPM_KIND_DRAM, 64);
    REQUIRE(far.access(me, dram.key, 0, 64, RPMI_RIGHT_WRITE, &span) == 0);
    CHECK(span.area == RPMI_AREA_DRAM);
    std::fill_n(far.dram.bytes.begin() + static_cast<long>(span.offset), 64, 0xaa);
    REQUIRE(far.with_key(me, RPMI_CALL_CLOSE, dram.key).status == 0);
    REQUIRE(far.remove(me, "d").status == 0);
    dram = far.open(me, "d2", RPM_KIND_DRAM, 64);
    REQUIRE(far.access(me, dram.key, 0, 64, RPMI_RIGHT_READ, &span) == 0);
    CHECK(far.dram.bytes[span.offset] == 0);
}

TEST_CASE("dir: while a large region is zeroed, others are let through", "[unit]")
{
    static uint32_t breaths;
    static Far *current;
    static rpmi_reply other;
    static uint32_t writer;
    Far far(32 << 20);
    uint32_t client = far.client();

    current = &far;
    breaths = 0;
    writer = far.client();
    other = far.open(writer, "other", RPM_KIND_REGION, 4096);
    far.service->opts.breathe = [](void *) {
        breaths++;
        CHECK(rpmi_dir_find(current->service, "large") == RPM_E_NOENT);
        CHECK(current->access(writer, other.key, 0, 64, RPMI_RIGHT_WRITE) == 0);
    };
    CHECK(far.open(client, "small", RPM_KIND_REGION, 4 << 20).status == 0);
    CHECK(breaths == 0);
    memset(&far.pool.bytes[far.pool.bytes.size() / 2], 'x', far.pool.bytes.size() / 2);
    rpmi_reply large = far.open(client, "large", RPM_KIND_REGION, (20 << 20) + 100);
    REQUIRE(large.status == 0);
    CHECK(breaths == 1);
    for (uint64_t i = 0; i < large.bytes; i += 97)
        if (far.pool.bytes[large.offset + i] != 0 || far.pool.kept[large.offset + i] != 0)
            FAIL("byte " << i << " is not zero");
}

TEST_CASE("dir: a log without a size leaves room for others", "[unit]")
{
    constexpr uint64_t POOL = (1u << 20) + (64u << 10);
    constexpr uint64_t SHARE = POOL / 8;
    constexpr uint64_t HEADER = 4096;
    Far far(POOL);
    uint32_t me = far.client();
    uint64_t room = POOL - DATA;

    // An eighth each, and half of it when no such piece is left.
    std::vector<rpmi_reply> made;
    for (int i = 0; i < 7; i++)
        made.push_back(far.open(me, "log" + std::to_string(i), RPM_KIND_LOG, 0, RPMI_CALL_CREATE));
    for (const rpmi_reply &log : made)
        CHECK(log.bytes == SHARE);
    room -= 7 * (SHARE + HEADER);
    REQUIRE(room == SHARE / 2 + HEADER);
    CHECK(far.open(me, "half", RPM_KIND_LOG, 0, RPMI_CALL_CREATE).bytes == SHARE / 2);
    rpmi_reply none = far.open(me, "none", RPM_KIND_LOG, 0, RPMI_CALL_CREATE);
    CHECK(none.status == RPM_E_NOSPACE);
    CHECK(std::string(none.text) == "73728 bytes wanted, 0 free in one piece, of the pool's "
                                    "1114112: ask for less, remove objects or serve a larger one");
    // The largest piece is where logs were removed.
    for (size_t i = 2; i < 4; i++) {
        REQUIRE(far.with_key(me, RPMI_CALL_CLOSE, made[i].key).status == 0);
        REQUIRE(far.remove(me, "log" + std::to_string(i)).status == 0);
    }
    rpmi_reply again = far.open(me, "none", RPM_KIND_LOG, 0, RPMI_CALL_CREATE);
    CHECK(again.bytes == SHARE);
    CHECK(again.offset == made[2].offset);
    none = far.open(me, "large", RPM_KIND_REGION, 200000);
    CHECK(std::string(none.text).rfind("200000 bytes wanted, 143360 free in one piece", 0) == 0);
}

TEST_CASE("dir: sizes and kinds that cannot be", "[unit]")
{
    Far far;
    uint32_t me = far.client();
    std::vector<unsigned char> before = far.pool.bytes;

    for (uint64_t bytes : { uint64_t(1), uint64_t(4095), uint64_t(4097), UINT64_MAX,
                            UINT64_MAX - 4095, uint64_t(1) << 63 })
        CHECK(far.open(me, "x", RPM_KIND_LOG, bytes).status == RPM_E_INVAL);
    CHECK(far.open(me, "x", RPM_KIND_LOG, 1u << 20).status == RPM_E_NOSPACE);
    CHECK(far.open(me, "x", RPM_KIND_REGION, 1u << 20).status == RPM_E_NOSPACE);
    CHECK(far.open(me, "x", RPM_KIND_REGION, UINT64_MAX / 2).status == RPM_E_NOSPACE);
    CHECK(far.open(me, "x", RPM_KIND_DRAM, 7).status == RPM_E_INVAL);
    CHECK(far.open(me, "x", RPM_KIND_LOCKS, 12).status == RPM_E_INVAL);
    CHECK(far.open(me, "x", RPM_KIND_DRAM, 1u << 20).status == RPM_E_NOSPACE);
    CHECK(far.open(me, "x", RPM_KIND_REGION, 0, RPMI_CALL_CREATE).status == RPM_E_INVAL);
    CHECK(far.open(me, "x", 0, 4096).status == RPM_E_INVAL);
    CHECK(far.open(me, "x", 5, 4096).status == RPM_E_INVAL);
    CHECK(far.open(me, "", RPM_KIND_LOG, 4096).status == RPM_E_NAME);
    CHECK(far.open(me, "a b", RPM_KIND_LOG, 4096).status == RPM_E_NAME);
    CHECK(far.open(me, "x", RPM_KIND_LOG).status == RPM_E_NOENT);
    CHECK(far.list(me).empty());
    CHECK(far.pool.bytes == before);

    CHECK(far.open(me, "x", RPM_KIND_LOG, 4096).status == 0);
    CHECK(far.open(me, "x", RPM_KIND_LOG, 4096, RPMI_CALL_EXCL).status == RPM_E_EXISTS);
    for (uint32_t kind : { RPM_KIND_REGION, RPM_KIND_DRAM, RPM_KIND_LOCKS })
        CHECK(far.open(me, "x", kind, 4096).status == RPM_E_EXISTS);
}

TEST_CASE("dir: space is found again, in the gaps too", "[unit]")
{
    Far far(256 << 10);
    uint32_t me = far.client();
    rpmi_rng rng;
    std::map<std::string, std::pair<uint64_t, uint64_t>> model;
    uint64_t made = 0;
    uint64_t refused = 0;

    rpmi_rng_seed(&rng, 3);
    for (uint64_t turn = 0; turn < 3000; turn++) {
        std::string name = "o" + std::to_string(rpmi_rng_below(&rng, 150));

        if (model.count(name) != 0) {
            REQUIRE(far.remove(me, name).status == 0);
            model.erase(name);
            continue;
        }
        uint64_t bytes = 1 + rpmi_rng_below(&rng, 12000);
        rpmi_reply reply = far.open(me, name, RPM_KIND_REGION, bytes);
        if (reply.status != 0) {
            REQUIRE(reply.status == RPM_E_NOSPACE);
            refused++;
            continue;
        }
        made++;
        REQUIRE(far.with_key(me, RPMI_CALL_CLOSE, reply.key).status == 0);
        REQUIRE(reply.offset >= DATA);
        REQUIRE(reply.offset % 4096 == 0);
        REQUIRE(reply.offset + bytes <= (256 << 10));
        for (const auto &other : model)
            REQUIRE((reply.offset >= other.second.first + other.second.second ||
                     other.second.first >= reply.offset + bytes));
        model[name] = { reply.offset, bytes };
        if (turn % 100 == 0) {
            REQUIRE(far.reborn() == 0);
            me = far.client();
            REQUIRE(far.list(me).size() == model.size());
        }
    }
    CHECK(made > 500);
    CHECK(refused > 50);
}

TEST_CASE("dir: a pool has 128 objects and DRAM has 64", "[unit]")
{
    Far far(8u << 20);
    uint32_t me = far.client();
    int status = 0;
    int n = 0;

    for (; n < 200 && status == 0; n++) {
        rpmi_reply reply = far.open(me, "p" + std::to_string(n), RPM_KIND_REGION, 8);
        status = reply.status;
    }
    CHECK(status == RPM_E_LIMIT);
    CHECK(n == 129);
    me = far.client();
    for (n = 0, status = 0; n < 200 && status == 0; n++)
        status = far.open(me, "d" + std::to_string(n), RPM_KIND_DRAM, 8).status;
    CHECK(status == RPM_E_LIMIT);
    CHECK(n == 65);
    CHECK(far.list(me).size() == 192);
}

TEST_CASE("dir: power fails at each step of create and remove: there or not, never half", "[unit]")
{
    uint32_t kind = GENERATE(uint32_t(RPM_KIND_LOG), uint32_t(RPM_KIND_REGION));

    for (uint32_t step = 1; step < 8; step++) {
        Far far;
        uint32_t me = far.client();

        CAPTURE(kind, step);
        far.pool.fail_persist_at = step;
        rpmi_reply made = far.open(me, "a", kind, 8192);
        bool there = made.status == 0;
        if (!there) {
            CHECK(made.status == RPM_E_IO);
            CHECK(far.list(me).empty());
        }
        far.pool.fail_persist_at = 0;
        REQUIRE(far.reborn() == 0);
        me = far.client();
        auto seen = far.list(me);
        CHECK(seen.size() <= 1);
        if (there)
            REQUIRE(seen.size() == 1);
        CHECK(far.open(me, "a", kind, 8192).status == 0);

        REQUIRE(far.reborn() == 0);
        me = far.client();
        far.pool.fail_persist_at = 1;
        CHECK(far.remove(me, "a").status == RPM_E_IO);
        REQUIRE(far.reborn() == 0);
        CHECK(far.list(far.client()).size() == 1);
    }
}

TEST_CASE("dir: any byte of a directory flipped is named or harmless", "[unit]")
{
    Far far;
    uint32_t me = far.client();

    REQUIRE(far.open(me, "log", RPM_KIND_LOG, 8192).status == 0);
    REQUIRE(far.open(me, "region", RPM_KIND_REGION, 100).status == 0);
    REQUIRE(far.open(me, "gone", RPM_KIND_REGION, 100).status == 0);
    rpmi_service_detach(far.service, me);
    REQUIRE(far.remove(far.client(), "gone").status == 0);
    std::vector<unsigned char> good = far.pool.bytes;
    uint32_t corrupt = 0;

    for (uint64_t at = 0; at < 5 * RPMI_DIRENT_BYTES; at++) {
        for (unsigned char bits : { 0x01, 0x40, 0xff }) {
            CAPTURE(at, bits);
            rpmi_service_close(&far.service);
            far.pool.bytes = good;
            far.pool.bytes[DIR + at] ^= bits;
            int err = far.start();
            if (err != 0) {
                CHECK(err == RPM_E_CORRUPT);
                corrupt++;
                continue;
            }
            // Only free entries have bytes that mean nothing.
            CHECK(at >= 2 * RPMI_DIRENT_BYTES);
            me = far.client();
            CHECK(far.list(me).size() == 2);
            CHECK(far.open(me, "log", RPM_KIND_LOG).status == 0);
            CHECK(far.open(me, "new", RPM_KIND_REGION, 100).status == 0);
        }
    }
    CHECK(corrupt >= 3 * (2 * 256 + 3 * 8));
    // A line, or a word, of an object's entry that reads as zeros does not give its space away.
    for (uint64_t len : { 8, 64 })
        for (uint64_t at = 0; at < 2 * RPMI_DIRENT_BYTES; at += len) {
            rpmi_service_close(&far.service);
            far.pool.bytes = good;
            memset(&far.pool.bytes[DIR + at], 0, len);
            CAPTURE(at, len);
            CHECK(far.start() == (far.pool.bytes == good ? 0 : RPM_E_CORRUPT));
        }
    rpmi_service_close(&far.service);
    far.pool.bytes = good;
    REQUIRE(far.start() == 0);
}

TEST_CASE("dir: entries that cannot both be true are corrupt", "[unit]")
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
        Far far;
        uint32_t me = far.client();
        rpmi_reply second;
        rpmi_dirent entry = {};
        unsigned char *slot = &far.pool.bytes[DIR + 256];

        REQUIRE(far.open(me, "first", RPM_KIND_LOG, 8192).status == 0);
        second = far.open(me, "second", RPM_KIND_REGION, 8192 + 100);
        REQUIRE(second.status == 0);
        REQUIRE(rpmi_dirent_get(slot, 1 << 20, &entry) == 1);
        row.spoil(&entry);
        if (entry.kind == RPM_KIND_LOG)
            entry.bytes = 8192 + 64;
        rpmi_dirent_put(slot, &entry);
        for (uint32_t at : { 0u, RPMI_DIRENT_STATE_2 })
            rpmi_store64(slot + at, rpmi_dirent_used());
        far.pool.kept = far.pool.bytes;
        CAPTURE(&row - spoils);
        CHECK(far.reborn() == RPM_E_CORRUPT);
        CHECK(std::string(rpm_last_error()) != "");
    }
}
