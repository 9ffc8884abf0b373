// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

namespace
{

struct Machine {
    explicit Machine(const char *name) : preset(preset_of(name))
    {
        if (rpmi_sim_media_open(&media, &preset, 65536, 4096) != 0)
            throw std::runtime_error("no media");
        rpmi_rng_seed(&rng, 1);
    }

    ~Machine()
    {
        rpmi_sim_media_close(&media);
    }

    bool land(rpmi_sim_place place, uint64_t offset, rpmi_writer writer)
    {
        static const unsigned char bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        rpmi_piece piece = { offset, bytes, 8 };

        return rpmi_sim_media_land(&media, place, &piece, writer, &rng);
    }

    rpmi_preset preset;
    rpmi_sim_media media;
    rpmi_rng rng;
};

} // namespace

TEST_CASE("media: writer and target decide whether the line is dirty afterwards", "[unit]")
{
    struct {
        const char *preset;
        bool nic, cpu, stream, atomic;
    } const table[] = {
        { "adr", true, true, false, true },
        { "adr-noddio", false, true, false, true },
        { "eadr", false, false, false, false },
        { "msync", true, true, true, true },
    };

    for (const auto &row : table) {
        Machine machine(row.preset);

        CAPTURE(row.preset);
        CHECK(machine.land(RPMI_PLACE_POOL, 0, RPMI_BY_NIC) == row.nic);
        CHECK(machine.land(RPMI_PLACE_POOL, 64, RPMI_BY_CPU) == row.cpu);
        CHECK(machine.land(RPMI_PLACE_POOL, 128, RPMI_BY_STREAM) == row.stream);
        CHECK(machine.land(RPMI_PLACE_POOL, 192, RPMI_BY_ATOMIC) == row.atomic);
        CHECK(rpmi_sim_media_at(&machine.media, RPMI_PLACE_POOL, 199, 1)[0] == 8);
    }
}

TEST_CASE("media: DRAM is visible at once and has no dirty lines", "[unit]")
{
    Machine machine("adr");

    REQUIRE_FALSE(machine.land(RPMI_PLACE_DRAM, 4088, RPMI_BY_NIC));
    REQUIRE(rpmi_sim_media_at(&machine.media, RPMI_PLACE_DRAM, 4095, 1)[0] == 8);
    REQUIRE(machine.media.cache.dirty_count == 0);
}

TEST_CASE("media: a piece ends with its line", "[unit]")
{
    REQUIRE(rpmi_line_part(0, 1000) == 64);
    REQUIRE(rpmi_line_part(60, 1000) == 4);
    REQUIRE(rpmi_line_part(60, 2) == 2);
}
