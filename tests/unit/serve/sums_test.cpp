// SPDX-License-Identifier: BSD-3-Clause
// SUMs and COMPAREs, carried out by the server CPU.
#include "unit/serve/steps.h"

extern "C" {
#include "base/sum.h"
}

namespace
{

// A step alone, carried out: its result, of 8 bytes, or what the list fails with.
int word_of(StepsBench &bench, const rpmi_step &step, uint64_t *word)
{
    bench.renew();
    bench.list.resize(rpmi_step_bytes(&step));
    rpmi_step_put(bench.list.data(), &step);
    bench.answer.resize(16, 0xee);
    int err = bench.run();
    memcpy(word, &bench.answer[8], sizeof(*word));
    return err;
}

// One SUM, carried out: its result, or what the list fails with.
int sum_at(StepsBench &bench, uint32_t key, uint64_t offset, uint64_t range, uint64_t *sum)
{
    rpmi_step step = {};

    step.kind = RPMI_STEP_SUM;
    step.len = 8;
    step.key = key;
    step.offset = offset;
    step.range = range;
    step.operand = 77;
    return word_of(bench, step, sum);
}

} // namespace

TEST_CASE("steps: a SUM is that of the bytes in the pool or in DRAM, and changes nothing", "[unit]")
{
    StepsBench bench;
    const unsigned char *rows = bench.server->pool.base + bench.rows_at;
    const unsigned char *words = bench.server->dram.base + bench.words_at;
    uint64_t sum = 0;

    for (size_t i = 0; i < 8192; i++) {
        bench.server->pool.base[bench.rows_at + i] = static_cast<unsigned char>(i * 7 + i / 251);
        bench.server->dram.base[bench.words_at + i] = static_cast<unsigned char>(i * 3 + i / 241);
    }
    for (auto [offset, range] : { std::pair<uint64_t, uint64_t>{ 0, 8192 },
                                  { 1, 8191 },
                                  { 5, 1 },
                                  { 8191, 1 },
                                  { 100, 241 },
                                  { 3, 4096 } }) {
        CAPTURE(offset, range);
        REQUIRE(sum_at(bench, bench.rows, offset, range, &sum) == 0);
        CHECK(sum == XXH3_64bits_withSeed(rows + offset, range, 77));
        CHECK(bench.done() == 1);
        REQUIRE(sum_at(bench, bench.words, offset, range, &sum) == 0);
        CHECK(sum == XXH3_64bits_withSeed(words + offset, range, 77));
    }
    CHECK_FALSE(bench.batch.unfenced);
    CHECK_FALSE(bench.batch.changed);
}

TEST_CASE("steps: a SUM of bytes that the client may not read is refused", "[unit]")
{
    StepsBench bench;
    uint64_t sum = 0;

    CHECK(sum_at(bench, bench.rows, 0, 8193, &sum) == RPM_E_RANGE);
    CHECK(sum_at(bench, bench.rows, 8192, 1, &sum) == RPM_E_RANGE);
    CHECK(sum_at(bench, bench.rows, UINT64_MAX, 2, &sum) == RPM_E_RANGE);
    CHECK(sum_at(bench, bench.rows, 0, RPMI_SUM_BYTES_MAX, &sum) == RPM_E_RANGE);
    CHECK(sum_at(bench, 77, 0, 8, &sum) == RPM_E_DENIED);
    CHECK(sum == 0xeeeeeeeeeeeeeeee); // nothing was returned
}

TEST_CASE("steps: a pass ends a client's turn when 1 MiB has been summed for it", "[unit]")
{
    StepsBench bench;
    uint64_t sum = 0;
    int taken = 0;

    REQUIRE(sum_at(bench, bench.rows, 0, 5000, &sum) == 0); // of another client
    uint64_t before = bench.batch.summed;
    CHECK(before == 5000);
    for (; taken < 1000 && rpmi_batch_may_take(&bench.batch, before); taken++)
        REQUIRE(sum_at(bench, bench.rows, 0, 8192, &sum) == 0);
    CHECK(taken == 128);
    rpmi_batch_begin(&bench.batch);
    CHECK(rpmi_batch_may_take(&bench.batch, bench.batch.summed));
}

namespace
{

struct Ranges {
    uint32_t key;
    uint64_t offset;
    uint32_t other_key;
    uint64_t other_offset;
    uint64_t range;
};

// One COMPARE, carried out: its result, or what the list fails with.
int compare_at(StepsBench &bench, const Ranges &ranges, uint64_t *at)
{
    rpmi_step step = {};

    step.kind = RPMI_STEP_COMPARE;
    step.len = 8;
    step.key = ranges.key;
    step.offset = ranges.offset;
    step.other_key = ranges.other_key;
    step.other_offset = ranges.other_offset;
    step.range = ranges.range;
    return word_of(bench, step, at);
}

} // namespace

TEST_CASE("steps: a COMPARE tells where ranges of the pool or DRAM differ, and changes nothing",
          "[unit]")
{
    StepsBench bench;
    unsigned char *rows = bench.server->pool.base + bench.rows_at;
    unsigned char *words = bench.server->dram.base + bench.words_at;
    uint64_t at = 0;

    for (size_t i = 0; i < 8192; i++)
        rows[i] = words[i] = static_cast<unsigned char>(i * 7 + i / 251);
    REQUIRE(compare_at(bench, { bench.rows, 0, bench.words, 0, 8192 }, &at) == 0);
    CHECK(at == 8192);
    CHECK(bench.done() == 1);
    words[5000] ^= 1;
    REQUIRE(compare_at(bench, { bench.rows, 0, bench.words, 0, 8192 }, &at) == 0);
    CHECK(at == 5000);
    REQUIRE(compare_at(bench, { bench.words, 4990, bench.rows, 4990, 3000 }, &at) == 0);
    CHECK(at == 10);
    REQUIRE(compare_at(bench, { bench.words, 5001, bench.rows, 5001, 3191 }, &at) == 0);
    CHECK(at == 3191);
    memcpy(rows + 4000, rows + 100, 700);
    REQUIRE(compare_at(bench, { bench.rows, 4000, bench.rows, 100, 700 }, &at) == 0);
    CHECK(at == 700);
    REQUIRE(compare_at(bench, { bench.rows, 4000, bench.rows, 101, 700 }, &at) == 0);
    CHECK(at == 0);
    CHECK_FALSE(bench.batch.unfenced);
    CHECK_FALSE(bench.batch.changed);
}

TEST_CASE("steps: a COMPARE of bytes that the client may not read is refused", "[unit]")
{
    StepsBench bench;
    const uint32_t rows = bench.rows;
    const uint32_t words = bench.words;
    uint64_t at = 0;

    CHECK(compare_at(bench, { rows, 0, words, 0, 8193 }, &at) == RPM_E_RANGE);
    CHECK(compare_at(bench, { rows, 1, words, 0, 8192 }, &at) == RPM_E_RANGE);
    CHECK(compare_at(bench, { rows, 0, words, 1, 8192 }, &at) == RPM_E_RANGE);
    CHECK(compare_at(bench, { rows, UINT64_MAX, words, 0, 2 }, &at) == RPM_E_RANGE);
    CHECK(compare_at(bench, { rows, 0, words, UINT64_MAX, 2 }, &at) == RPM_E_RANGE);
    CHECK(compare_at(bench, { 77, 0, words, 0, 8 }, &at) == RPM_E_DENIED);
    CHECK(compare_at(bench, { rows, 0, 77, 0, 8 }, &at) == RPM_E_DENIED);
    CHECK(at == 0xeeeeeeeeeeeeeeee); // nothing was returned
}

TEST_CASE("steps: both ranges of a COMPARE count towards a client's turn in a pass", "[unit]")
{
    StepsBench bench;
    uint64_t at = 0;
    int taken = 0;

    for (; taken < 1000 && rpmi_batch_may_take(&bench.batch, 0); taken++)
        REQUIRE(compare_at(bench, { bench.rows, 0, bench.words, 0, 8192 }, &at) == 0);
    CHECK(taken == 64);
}

TEST_CASE("steps: a SUM sees what the steps before it wrote", "[unit]")
{
    StepsBench bench;
    rpmi_step step = {};
    uint64_t sum = 0;

    step.kind = RPMI_STEP_SUM;
    step.len = 8;
    step.key = bench.rows;
    step.range = 12;
    bench.add(RPMI_STEP_WRITE, bench.rows, 0, 12, RPMI_STEP_DURABLE);
    bench.list.resize(bench.list.size() + rpmi_step_bytes(&step));
    rpmi_step_put(&bench.list[bench.list.size() - rpmi_step_bytes(&step)], &step);
    bench.answer.resize(16, 0xee);
    REQUIRE(bench.run() == 0);
    memcpy(&sum, &bench.answer[8], sizeof(sum));
    CHECK(bench.done() == 2);
    CHECK(sum == XXH3_64bits("twelve bytes", 12));
}
