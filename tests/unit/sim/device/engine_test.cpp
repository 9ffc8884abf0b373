// SPDX-License-Identifier: BSD-3-Clause
// The copy engine of a server's SoC: in no order with the NIC, nor in itself; and power cuts.
#include "bench.h"

namespace
{

const uint32_t AGENT = 77; // as the server knows it

struct Soc {
    Bench bench;
    explicit Soc(const char *preset, uint64_t seed = 1) : bench(preset, seed)
    {
        bench.on_carry = [](uint32_t id, const rpmi_step &) {
            return id == AGENT ? 0 : RPM_E_DENIED;
        };
    }
    uint64_t copy(uint64_t offset, const std::vector<unsigned char> &bytes, uint32_t client = AGENT)
    {
        std::vector<unsigned char> list(RPMI_STEPS_BYTES);
        rpmi_step step = {};

        memcpy(&list[RPMI_CARRY_HEAD_BYTES], bytes.data(), bytes.size());
        step.kind = RPMI_STEP_CARRY;
        step.offset = offset;
        step.len = static_cast<uint16_t>(bytes.size());
        step.data = &list[RPMI_CARRY_HEAD_BYTES];
        step.proof = &list[RPMI_CARRY_AT_PROOF];
        return rpmi_engine_copy(bench.machine(), client, &step);
    }
    rpmi_copy_state state(uint64_t id)
    {
        return rpmi_engine_state(bench.machine(), id);
    }
    void complete(uint64_t id)
    {
        while (state(id) == RPMI_COPY_UNDER_WAY)
            REQUIRE(rpmi_world_step(bench.world));
    }
};

} // namespace

TEST_CASE("engine: a copy stores its bytes and no others, whatever their number", "[unit]")
{
    for (uint64_t seed = 1; seed < 20; seed++)
        for (size_t len : { 1, 64, 65, 300, 4032, 4048 }) {
            Soc soc("adr-noddio", seed);
            std::vector<unsigned char> bytes = pattern(len, 1);
            uint64_t id = soc.copy(8192, bytes);

            REQUIRE(id != 0); // the engine has its own copy of the bytes
            soc.bench.run_dry();
            CHECK(soc.state(id) == RPMI_COPY_DONE);
            CHECK(soc.bench.pool(8192, len) == pattern(len, 1));
            CHECK(soc.bench.pool(8192 + len, 64) == std::vector<unsigned char>(64));
            CHECK(soc.bench.pool(8192 - 64, 64) == std::vector<unsigned char>(64));
        }
}

TEST_CASE("engine: a copy completes before its last lines are in memory", "[unit]")
{
    for (uint64_t seed = 1; seed < 60; seed++) {
        Soc soc("adr-noddio", seed);

        soc.complete(soc.copy(4096, pattern(300, 1)));
        CHECK(soc.bench.pool(4096, 300) != pattern(300, 1));
        CHECK_FALSE(rpmi_engine_settled(soc.bench.machine(), soc.bench.machine()->engine.lines));
        CHECK(soc.bench.machine()->engine.posted <= RPMI_SIM_POSTED_LINES);
        while (!rpmi_engine_settled(soc.bench.machine(), soc.bench.machine()->engine.lines))
            REQUIRE(rpmi_world_step(soc.bench.world));
        CHECK(soc.bench.pool(4096, 300) == pattern(300, 1));
    }
}

TEST_CASE("engine: its lines pass each other, and lines of the NIC, and no READ pushes them",
          "[unit]")
{
    bool second_first = false;
    bool nic_first = false;
    bool engine_first = false;
    bool unseen = false;

    for (uint64_t seed = 1; seed < 200; seed++) {
        Soc soc("adr-noddio", seed);
        rpmi_sim_client *client = soc.bench.dial();
        std::vector<unsigned char> by_nic = pattern(64, 3);
        std::vector<unsigned char> into(64);
        const std::vector<unsigned char> nothing(64);

        soc.bench.write(client, 16384, by_nic);
        uint64_t read = soc.bench.read(client, 16384, into);
        for (uint64_t i = 0; i < seed % 12; i++)
            rpmi_world_step(soc.bench.world);
        soc.copy(4096, pattern(64, 1));
        uint64_t second = soc.copy(8192, pattern(64, 2));
        for (;;) {
            bool first_there = soc.bench.pool(4096, 64) != nothing;
            bool second_there = soc.bench.pool(8192, 64) != nothing;
            bool nic_there = soc.bench.pool(16384, 64) != nothing;

            second_first = second_first || (second_there && !first_there);
            nic_first = nic_first || (nic_there && !second_there);
            engine_first = engine_first || (second_there && !nic_there);
            if (client->slot[read % client->room].done && soc.state(second) == RPMI_COPY_DONE &&
                !second_there)
                unseen = true;
            if (!rpmi_world_step(soc.bench.world))
                break;
        }
    }
    CHECK(second_first);
    CHECK(nic_first);
    CHECK(engine_first);
    CHECK(unseen);
}

TEST_CASE("engine: a line is stored only while the agent has the right to write it", "[unit]")
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        Soc soc("adr-noddio", seed);
        bool allowed = true;
        uint64_t stranger = soc.copy(4096, pattern(64, 1), AGENT + 1);

        soc.bench.on_carry = [&](uint32_t id, const rpmi_step &) {
            return id == AGENT && allowed ? 0 : RPM_E_FENCED;
        };
        uint64_t id = soc.copy(8192, pattern(2048, 2));
        while (soc.bench.machine()->engine.lines < 8)
            REQUIRE(rpmi_world_step(soc.bench.world));
        allowed = false;
        uint64_t lines = soc.bench.machine()->engine.lines;
        while (!rpmi_engine_settled(soc.bench.machine(), lines))
            REQUIRE(rpmi_world_step(soc.bench.world));
        std::vector<unsigned char> then = soc.bench.pool(0, POOL_BYTES);
        soc.bench.run_dry();
        CHECK(soc.bench.pool(0, POOL_BYTES) == then);
        CHECK(soc.bench.machine()->engine.lines == lines);
        CHECK(soc.state(id) == RPMI_COPY_REFUSED);
        CHECK(soc.state(stranger) == RPMI_COPY_REFUSED);
        CHECK(soc.bench.pool(4096, 64) == std::vector<unsigned char>(64));
    }
}

TEST_CASE("engine: the answer to a call waits for the lines that were on PCIe", "[unit]")
{
    for (uint64_t seed = 1; seed < 100; seed++) {
        Soc soc("adr-noddio", seed);
        rpmi_sim_client *client = soc.bench.dial();
        rpmi_sim_request call = Bench::request(client, RPMI_SIM_CALL, 0, RPMI_CALL_BYTES);
        uint64_t lines = 0;

        call.body = client->call;
        call.body_bytes = RPMI_CALL_BYTES;
        call.into = client->reply;
        soc.bench.on_call = [&](uint32_t, const unsigned char *, unsigned char *) {
            lines = soc.bench.machine()->engine.lines;
            soc.bench.on_carry = [](uint32_t, const rpmi_step &) { return RPM_E_FENCED; };
        };
        soc.copy(8192, pattern(4032, 2));
        REQUIRE(soc.bench.status_of(client, soc.bench.post(client, call)) == 0);
        CHECK(rpmi_engine_settled(soc.bench.machine(), lines));
        std::vector<unsigned char> then = soc.bench.pool(0, POOL_BYTES);
        soc.bench.run_dry();
        CHECK(soc.bench.pool(0, POOL_BYTES) == then);
    }
}

TEST_CASE("engine: more copies than it has room for are not taken", "[unit]")
{
    Soc soc("adr");

    for (uint32_t i = 0; i < RPMI_SIM_COPIES; i++)
        CHECK(soc.copy(4096 + 64 * i, pattern(64, i)) == i + 1);
    CHECK(soc.copy(0, pattern(64, 1)) == 0);
    soc.bench.run_dry();
    CHECK(soc.copy(0, pattern(64, 1)) == RPMI_SIM_COPIES + 1);
}

TEST_CASE("engine: a power cut loses SoC memory, and keeps of lines on PCIe what the cut says",
          "[unit]")
{
    for (rpmi_cut cut : CUTS) {
        bool lost = false;
        bool kept = false;

        for (uint64_t seed = 1; seed < 100; seed++) {
            Soc soc("adr-noddio", seed);
            uint64_t waits = 0;

            uint64_t id = soc.copy(8192, pattern(512, 2));
            for (uint64_t i = 0; i < 1 + seed % 12; i++)
                REQUIRE(rpmi_world_step(soc.bench.world));
            const rpmi_engine &engine = soc.bench.machine()->engine;
            for (const rpmi_copy &copy : engine.copy)
                waits |= copy.id == id ? copy.waiting : 0;
            std::vector<rpmi_posted_line> posted(engine.line, engine.line + engine.posted);
            rpmi_power_cut(soc.bench.machine(), cut);
            CHECK(engine.posted == 0);
            CHECK(soc.state(id) == (waits != 0 ? RPMI_COPY_REFUSED : RPMI_COPY_DONE));
            for (uint32_t line = 0; line < 8; line++)
                if ((waits & 1u << line) != 0)
                    CHECK(soc.bench.pool(8192 + line * 64, 64) == std::vector<unsigned char>(64));
            for (const rpmi_posted_line &line : posted) {
                auto found = soc.bench.pool(line.offset, 64);

                kept = kept || memcmp(found.data(), line.data, 64) == 0;
                lost = lost || found == std::vector<unsigned char>(64);
            }
            CHECK(soc.copy(0, pattern(64, 1)) == 0); // it has no power
            soc.bench.run_dry();
            soc.bench.start();
            CHECK(soc.copy(0, pattern(64, 1)) == id + 1);
        }
        CHECK(kept == (cut != RPMI_CUT_DROP));
        CHECK(lost == (cut != RPMI_CUT_NONE));
    }
}

TEST_CASE("engine: with DDIO on what it has stored is volatile under ADR", "[unit]")
{
    Soc soc("adr");
    Soc noddio("adr-noddio");
    uint32_t lost = 0;

    for (Soc *one : { &soc, &noddio })
        for (uint64_t at = 0; at < 32; at++) {
            one->complete(one->copy(4096 + at * 64, pattern(64, 1)));
            while (one->bench.machine()->engine.posted > 0)
                REQUIRE(rpmi_world_step(one->bench.world));
        }
    rpmi_power_cut(soc.bench.machine(), RPMI_CUT_DROP);
    rpmi_power_cut(noddio.bench.machine(), RPMI_CUT_DROP);
    for (uint64_t at = 0; at < 32; at++) {
        lost += soc.bench.pool(4096 + at * 64, 64) != pattern(64, 1);
        CHECK(noddio.bench.pool(4096 + at * 64, 64) == pattern(64, 1));
    }
    CHECK(lost > 16);
}

TEST_CASE("engine: a server process that ends stops it; of a dead agent's copies some go on",
          "[unit]")
{
    uint32_t ended = 0;

    for (uint64_t seed = 1; seed < 100; seed++) {
        Soc soc("adr-noddio", seed);
        uint64_t id = soc.copy(8192, pattern(256, 2));

        rpmi_power_kill_agent(soc.bench.machine());
        soc.bench.run_dry();
        ended += soc.state(id) == RPMI_COPY_DONE;
        CHECK((soc.state(id) == RPMI_COPY_DONE) == (soc.bench.pool(8192, 256) == pattern(256, 2)));

        id = soc.copy(16384, pattern(256, 2));
        rpmi_power_kill(soc.bench.machine());
        soc.bench.run_dry();
        CHECK(soc.state(id) == RPMI_COPY_REFUSED);
        CHECK(soc.bench.pool(16384, 256) == std::vector<unsigned char>(256));
    }
    CHECK(ended > 20);
    CHECK(ended < 80);
}
