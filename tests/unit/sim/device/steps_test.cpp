// SPDX-License-Identifier: BSD-3-Clause
// Lists of steps on the server CPU of a modelled machine.
#include "unit/sim/device/bench.h"

namespace
{

struct List {
    std::vector<unsigned char> bytes;
    std::vector<unsigned char> answer = std::vector<unsigned char>(RPMI_STEPS_ANSWER_HEAD);

    static rpmi_step make(uint8_t kind, uint32_t key, uint64_t offset, size_t len)
    {
        rpmi_step step = {};

        step.kind = kind;
        step.len = static_cast<uint16_t>(len);
        step.key = key;
        step.offset = offset;
        return step;
    }
    void add(const rpmi_step &step)
    {
        size_t at = bytes.size();

        bytes.resize(at + rpmi_step_bytes(&step));
        rpmi_step_put(&bytes[at], &step);
        answer.resize(answer.size() + rpmi_step_result_bytes(&step));
    }
    void write(uint64_t offset, const std::vector<unsigned char> &data, uint8_t flags)
    {
        rpmi_step step = make(RPMI_STEP_WRITE, KEY_LEASE, offset, data.size());

        step.data = data.data();
        step.flags = flags;
        add(step);
    }
    void word(uint8_t kind, uint64_t offset, uint64_t expect, uint64_t operand, uint8_t flags = 0)
    {
        rpmi_step step = make(kind, KEY_DRAM, offset, 8);

        step.flags = flags;
        step.expect = expect;
        step.operand = operand;
        add(step);
    }
    uint64_t post(Bench &bench, rpmi_sim_client *client, uint32_t flags = RPMI_SIM_DURABLE)
    {
        rpmi_sim_request request =
            Bench::request(client, RPMI_SIM_STEPS, 0, bytes.size(), RPMI_SIM_SIGNALED | flags);

        request.body = bytes.data();
        request.body_bytes = bytes.size();
        request.into = answer.data();
        request.operand = answer.size();
        return bench.post(client, request);
    }
    uint32_t done() const
    {
        uint32_t done = 99;

        REQUIRE(rpmi_steps_answer_get(answer.data(), RPMI_STEPS_MAX, &done) == 0);
        return done;
    }
    uint64_t result(size_t at) const
    {
        uint64_t word;

        memcpy(&word, &answer[at], sizeof(word));
        return word;
    }
};

const char *const PRESETS[] = { "adr", "adr-noddio", "eadr", "msync" };

} // namespace

TEST_CASE("steps: a list of several packets is carried out once it is there", "[unit]")
{
    for (const char *preset : PRESETS)
        for (uint64_t seed = 1; seed < 20; seed++) {
            Bench bench(preset, seed, [](rpmi_world_opts &opts) {
                opts.loss_ppm = 50000;
                opts.duplicate_ppm = 50000;
            });
            rpmi_sim_client *client = bench.dial();
            auto data = pattern(2500, 1);

            memset(bench.machine()->media.dram, 0, DRAM_BYTES);
            List list;
            list.word(RPMI_STEP_FAA, 8, 0, 5);
            list.write(4096, data, RPMI_STEP_DURABLE);
            list.add(List::make(RPMI_STEP_READ, KEY_POOL, 4100, 40));
            list.word(RPMI_STEP_CAS, 8, 5, 9);
            REQUIRE(bench.status_of(client, list.post(bench, client)) == 0);
            CHECK(list.done() == 4);
            CHECK(list.result(8) == 0);
            CHECK(memcmp(&list.answer[16], &data[4], 40) == 0);
            CHECK(list.result(56) == 5);
            CHECK(bench.pool(4096, 2500) == data);
            CHECK(bench.machine()->cpu.streams == 0);
            rpmi_power_cut(bench.machine(), RPMI_CUT_DROP);
            CHECK(bench.pool(4096, 2500) == data);
        }
}

TEST_CASE("steps: a write is visible before a later atomic", "[unit]")
{
    struct Watch {
        Bench *bench;
        std::vector<unsigned char> data;
        bool early = false;
    };

    for (bool cached : { false, true })
        for (uint64_t seed = 1; seed < 40; seed++) {
            Bench bench("adr", seed);
            rpmi_sim_client *client = bench.dial();
            Watch watch = { &bench, pattern(600, 1) };
            List list;

            list.write(4096, watch.data, RPMI_STEP_DURABLE | (cached ? RPMI_STEP_CACHED : 0));
            list.word(RPMI_STEP_FAA, 8, 0, 1);
            memset(bench.machine()->media.dram, 0, DRAM_BYTES);
            bench.machine()->cpu.context = &watch;
            bench.machine()->cpu.meanwhile = [](void *context) {
                Watch *watch = static_cast<Watch *>(context);

                if (watch->bench->machine()->media.dram[8] == 1 &&
                    watch->bench->pool(4096, 600) != watch->data)
                    watch->early = true;
            };
            REQUIRE(bench.status_of(client, list.post(bench, client)) == 0);
            CHECK_FALSE(watch.early);
            bench.machine()->cpu.meanwhile = nullptr;
        }
}

TEST_CASE("steps: refused with nothing done, and a list that ends early", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    auto data = pattern(64, 1);
    List ends;
    List late;

    memset(bench.machine()->media.dram, 0, DRAM_BYTES);
    ends.word(RPMI_STEP_CAS, 8, 1, 9, RPMI_STEP_MUST);
    ends.write(4096, data, RPMI_STEP_DURABLE);
    REQUIRE(bench.status_of(client, ends.post(bench, client)) == 0);
    CHECK(ends.done() == 0);
    CHECK(bench.pool(4096, 64) == std::vector<unsigned char>(64));
    bench.revoked = true;
    late.word(RPMI_STEP_FAA, 8, 0, 5);
    late.write(4096, data, RPMI_STEP_DURABLE);
    CHECK(bench.status_of(client, late.post(bench, client)) == RPM_E_FENCED);
    CHECK(bench.machine()->media.dram[8] == 0);
    CHECK(bench.pool(4096, 64) == std::vector<unsigned char>(64));
}

TEST_CASE("steps: a power cut at any event loses no list that was answered", "[unit]")
{
    for (const char *preset : PRESETS)
        for (uint64_t at = 1; at < 200; at++) {
            Bench bench(preset, at);
            rpmi_sim_client *client = bench.dial();
            auto data = pattern(700, 1);
            List list;
            uint64_t number;

            list.write(4096, data, RPMI_STEP_DURABLE);
            list.write(9000, data, RPMI_STEP_DURABLE | RPMI_STEP_CACHED);
            list.word(RPMI_STEP_FAA, 8, 0, 1);
            number = list.post(bench, client);
            rpmi_world_cut_at(bench.world, 0, at, CUTS[at % 4]);
            int status = bench.status_of(client, number);
            if (status == 0) {
                rpmi_power_cut(bench.machine(), RPMI_CUT_DROP);
                REQUIRE(bench.pool(4096, 700) == data);
                REQUIRE(bench.pool(9000, 700) == data);
            }
        }
}

TEST_CASE("steps: the host certifies, at the level that the request and the domain allow", "[unit]")
{
    struct {
        const char *preset;
        uint32_t flags;
        rpm_level level;
    } rows[] = {
        { "adr", RPMI_SIM_DURABLE, RPM_DURABLE },
        { "adr", 0, RPM_VISIBLE },
        { "msync", RPMI_SIM_DURABLE, RPM_DURABLE },
    };

    for (const auto &row : rows) {
        Bench bench(row.preset);
        rpmi_sim_client *client = bench.dial();
        List list;
        rpmi_step prove = List::make(RPMI_STEP_PROVE, 0, 128, RPMI_CERTIFICATE_BYTES);
        rpm_level asked = RPM_POSTED;
        int err = 0;

        prove.log_id = 7;
        prove.end_lsn = 192;
        prove.epoch = 3;
        bench.on_prove = [&](const rpmi_step &step, rpm_level level, void *into) {
            asked = level;
            memset(into, static_cast<int>(step.log_id + step.offset + step.epoch), 64);
            return err;
        };
        list.add(prove);
        REQUIRE(bench.status_of(client, list.post(bench, client, row.flags)) == 0);
        CAPTURE(row.preset, row.flags);
        CHECK(asked == row.level);
        CHECK(list.answer[8] == 7 + 128 + 3);
        CHECK(list.answer[8 + 63] == 7 + 128 + 3);
        err = RPM_E_IO;
        CHECK(bench.status_of(client, list.post(bench, client, row.flags)) == RPM_E_IO);
    }
}

TEST_CASE("steps: what the host lets an agent carry is stored, and the list goes on if not",
          "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    const std::vector<unsigned char> data = pattern(100, 3);
    std::vector<unsigned char> found(100, 0xee);
    List list;
    rpmi_step carry = List::make(RPMI_STEP_CARRY, 0, 4096, 100);
    int err = RPM_E_FENCED;

    carry.data = data.data();
    bench.on_carry = [&](uint32_t id, const rpmi_step &step) {
        CHECK(id == client->id);
        CHECK(memcmp(step.data, data.data(), data.size()) == 0);
        return err;
    };
    list.add(carry);
    list.word(RPMI_STEP_FAA, 8, 0, 1);
    REQUIRE(bench.status_of(client, list.post(bench, client)) == 0);
    REQUIRE(bench.status_of(client, bench.read(client, 4096, found)) == 0);
    CHECK(found == std::vector<unsigned char>(100, 0));
    err = 0;
    REQUIRE(bench.status_of(client, list.post(bench, client)) == 0);
    REQUIRE(bench.status_of(client, bench.read(client, 4096, found)) == 0);
    CHECK(found == data);
}

TEST_CASE("steps: a COMPARE tells where ranges first differ, in the cache or past it", "[unit]")
{
    for (const char *preset : PRESETS) {
        Bench bench(preset);
        rpmi_sim_client *client = bench.dial();
        auto data = pattern(600, 1);
        auto changed = data;
        List list;
        rpmi_step compare = List::make(RPMI_STEP_COMPARE, KEY_POOL, 4096, 8);

        CAPTURE(preset);
        changed[333] ^= 1;
        compare.range = 600;
        compare.other_key = KEY_POOL;
        compare.other_offset = 8192;
        list.write(4096, data, 0);
        list.write(8192, data, RPMI_STEP_DURABLE); // one in the cache, one past it
        list.add(compare);
        list.write(8192, changed, 0);
        list.add(compare);
        compare.offset += 334;
        compare.other_offset += 334;
        compare.range = 266;
        list.add(compare);
        REQUIRE(bench.status_of(client, list.post(bench, client)) == 0);
        CHECK(list.done() == 6);
        CHECK(list.result(8) == 600);
        CHECK(list.result(16) == 333);
        CHECK(list.result(24) == 266);
    }
}

TEST_CASE("steps: a COMPARE beyond an object, or of none, is refused", "[unit]")
{
    Bench bench("adr");
    rpmi_sim_client *client = bench.dial();
    rpmi_step compare = List::make(RPMI_STEP_COMPARE, KEY_POOL, 0, 8);

    compare.range = 100;
    compare.other_key = KEY_POOL;
    for (uint64_t offset : { uint64_t{ UINT64_MAX }, uint64_t{ 1ull << 40 } }) {
        List list;

        compare.other_offset = offset;
        list.add(compare);
        CHECK(bench.status_of(client, list.post(bench, client)) != 0);
        client = bench.dial();
    }
}
