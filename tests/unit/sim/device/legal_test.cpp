// SPDX-License-Identifier: BSD-3-Clause
// legal_test.cpp: every cell of the legality matrix. A write is brought to the persistence domain
// by a method; once it is acknowledged, the power is cut after each of the events that follow. A
// legal cell never loses a byte of it; an illegal one does so for some seed and some cut.
#include "bench.h"
#include "support/rounds.h"

#include <librpm/facts.h>

namespace
{

struct Platform {
    const char *preset;
    uint32_t legal; // bit (1 << enum rpm_method)
};

uint32_t bit(rpm_method method)
{
    return 1u << method;
}

const uint32_t BY_CPU =
    (1u << RPM_METHOD_MESSAGE) | (1u << RPM_METHOD_IMMEDIATE) | (1u << RPM_METHOD_COPY);
const Platform PLATFORMS[] = {
    { "adr", BY_CPU | (1u << RPM_METHOD_FLUSH) },
    { "adr-noddio", BY_CPU | (1u << RPM_METHOD_FLUSH) | (1u << RPM_METHOD_READ) },
    { "eadr", BY_CPU | (1u << RPM_METHOD_FLUSH) | (1u << RPM_METHOD_READ) },
    { "msync", BY_CPU },
};

// How a write is brought to the persistence domain.
struct Way {
    rpm_method method;
    uint32_t flags; // flags of a COPY besides DURABLE: RPMI_SIM_CACHED, as with H4 off
};

// Posts a write and the op that acknowledges it; returns the number of that op.
uint64_t submit(Bench &bench, rpmi_sim_client *client, const Way &way, uint64_t offset,
                const std::vector<unsigned char> &bytes)
{
    rpm_method method = way.method;
    static unsigned char into[8];
    rpmi_sim_request seal = Bench::request(client, RPMI_SIM_READ, 0, 1);

    if (method == RPM_METHOD_IMMEDIATE)
        return bench.write(client, offset, bytes, RPMI_SIM_SIGNALED | RPMI_SIM_DURABLE,
                           RPMI_SIM_WRITE_IMM);
    if (method == RPM_METHOD_COPY)
        return bench.write(client, offset, bytes, RPMI_SIM_SIGNALED | RPMI_SIM_DURABLE | way.flags,
                           RPMI_SIM_COPY);
    if (method == RPM_METHOD_WRITE)
        return bench.write(client, offset, bytes);
    bench.write(client, offset, bytes, 0);
    seal.id = client->tail;
    seal.key = KEY_DRAM;
    seal.into = into;
    if (method == RPM_METHOD_READ_OTHER)
        seal.flags |= RPMI_SIM_OTHER_QP;
    if (method == RPM_METHOD_MESSAGE || method == RPM_METHOD_FLUSH) {
        seal.kind = method == RPM_METHOD_FLUSH ? RPMI_SIM_FLUSH : RPMI_SIM_PERSIST;
        seal.key = KEY_POOL;
        seal.offset = offset;
        seal.len = bytes.size();
    }
    return bench.post(client, seal);
}

struct Tally {
    uint64_t cuts = 0;
    uint64_t lost = 0;     // acknowledged bytes that were lost
    uint64_t invented = 0; // words that no write contains
};

// Each aligned word of the pool is, after the cut, one of those that were written there.
bool invented(const std::vector<unsigned char> &now,
              const std::vector<std::vector<unsigned char>> &images)
{
    for (size_t at = 0; at < now.size(); at += 8) {
        bool known = false;

        for (const auto &image : images)
            known = known || memcmp(&now[at], &image[at], 8) == 0;
        if (!known)
            return true;
    }
    return false;
}

std::vector<unsigned char> with(std::vector<unsigned char> image, size_t at,
                                const std::vector<unsigned char> &bytes)
{
    std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<long>(at));
    return image;
}

// Three writes to overlapping lines, one after the other; the power goes after event @cut_at.
// False when the world ended before.
bool try_cut(const Platform &platform, const Way &way, uint64_t seed, uint64_t cut_at, Tally &tally)
{
    Bench bench(platform.preset, seed);
    rpmi_sim_client *client = bench.dial();
    const uint64_t base = 4096;
    const size_t sizes[] = { 200, seed % 3 == 0 ? 40u : 1496u, 64 };
    const size_t places[] = { seed % 5 * 24, seed % 5 * 24 + 8, seed % 5 * 24 + 16 + sizes[1] };
    std::vector<std::vector<unsigned char>> images{ std::vector<unsigned char>(2048) };
    std::vector<std::vector<unsigned char>> data;
    size_t acked = 0;

    for (unsigned i = 0; i < 3; i++) {
        data.push_back(pattern(sizes[i], i + 1));
        images.push_back(with(images.back(), places[i], data[i]));
    }
    rpmi_world_cut_at(bench.world, 0, cut_at, CUTS[(seed + cut_at) % 4]);
    for (; acked < 3; acked++) {
        uint64_t number = submit(bench, client, way, base + places[acked], data[acked]);

        while (bench.machine()->powered && !client->slot[number % client->room].done)
            if (!rpmi_world_step(bench.world))
                return false;
        if (!bench.machine()->powered)
            break;
    }
    while (bench.machine()->powered)
        if (!rpmi_world_step(bench.world))
            return false;

    std::vector<unsigned char> now = bench.pool(base, images[0].size());
    const size_t later = acked < 3 ? acked + 1 : 3; // may be partly there
    bool lost = false;

    for (size_t at = 0; at < now.size(); at += 8) // words that only acknowledged writes touched
        if (memcmp(&images[acked][at], &images[later][at], 8) == 0)
            lost = lost || memcmp(&now[at], &images[acked][at], 8) != 0;
    tally.cuts++;
    tally.lost += lost;
    tally.invented += invented(now, images);
    return true;
}

Tally try_cell(const Platform &platform, const Way &way, uint64_t seeds)
{
    bool legal = (platform.legal & bit(way.method)) != 0;
    Tally tally;

    for (uint64_t seed = 1; seed <= seeds; seed++)
        for (uint64_t cut_at = 1; try_cut(platform, way, seed, cut_at, tally); cut_at++)
            if (!legal && tally.lost > 0)
                return tally;
    return tally;
}

} // namespace

TEST_CASE("legal: a legal method never loses an acknowledged write, an illegal one does", "[unit]")
{
    const Platform platform = GENERATE(from_range(std::begin(PLATFORMS), std::end(PLATFORMS)));
    uint32_t number = GENERATE(range(1u, 8u));
    rpm_method method = static_cast<rpm_method>(number);
    bool legal = (platform.legal & bit(method)) != 0;
    // The seeds of an illegal method end with the first loss.
    Tally tally = try_cell(platform, { method, 0 }, legal ? rounds(60) : 60);

    CAPTURE(platform.preset, rpm_method_name(method), tally.cuts, tally.lost);
    REQUIRE(tally.cuts > 0);
    REQUIRE(tally.invented == 0);
    if (legal)
        REQUIRE(tally.lost == 0);
    else
        REQUIRE(tally.lost > 0);
}

TEST_CASE("legal: a copy through the caches that is written back loses nothing either", "[unit]")
{
    const Platform platform = GENERATE(from_range(std::begin(PLATFORMS), std::end(PLATFORMS)));
    Tally tally = try_cell(platform, { RPM_METHOD_COPY, RPMI_SIM_CACHED }, rounds(60));

    CAPTURE(platform.preset, tally.cuts);
    REQUIRE(tally.cuts > 0);
    REQUIRE(tally.lost == 0);
    REQUIRE(tally.invented == 0);
}

TEST_CASE("legal: the model's matrix is the library's", "[unit]")
{
    for (const Platform &platform : PLATFORMS) {
        rpmi_preset preset = preset_of(platform.preset);
        rpm_facts facts;

        rpmi_preset_facts(&preset, true, &facts);
        for (int method = RPM_METHOD_WRITE; method <= RPM_METHOD_FLUSH; method++) {
            const char *reason = nullptr;
            int legal = rpm_legal(&facts, static_cast<rpm_method>(method), RPM_DURABLE, &reason);

            CAPTURE(platform.preset, method, reason);
            CHECK((legal != 0) == ((platform.legal >> method & 1) != 0));
        }
    }
}
