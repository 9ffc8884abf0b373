// SPDX-License-Identifier: BSD-3-Clause
// step_tables.cpp: the tables of FORMAT.md section 12.
extern "C" {
#include "wire/carry.h"
#include "wire/steps.h"
}
#include "golden/tables.h"

// A list of one step.
static int recode_step(const Bytes &in, Bytes &out)
{
    rpmi_steps steps;
    rpmi_step step;

    memset(static_cast<void *>(&step), 0xff, sizeof(step));
    rpmi_steps_begin(&steps, in.data(), static_cast<uint32_t>(in.size()));
    if (rpmi_steps_next(&steps, &step) != 1 || steps.at != steps.end)
        return RPM_E_PROTO;
    rpmi_step_put(out.data(), &step);
    return 0;
}

// The answer to the golden list, which has six steps.
static int recode_answer(const Bytes &in, Bytes &out)
{
    uint32_t done;
    int err = rpmi_steps_answer_get(in.data(), 6, &done);

    if (err == 0)
        rpmi_steps_answer_put(out.data(), done);
    return err;
}

static const uint64_t GOLDEN_KEY[RPMI_CERTIFICATE_KEY_WORDS] = { 8ull << 32, 9ull << 32 };

static int recode_certificate(const Bytes &in, Bytes &out)
{
    rpmi_certificate found;
    int err = rpmi_certificate_get(in.data(), GOLDEN_KEY, &found);

    return err < 0 ? err : rpmi_certificate_put(out.data(), &found, GOLDEN_KEY);
}

// Prove whatever the bytes say.
static void seal_certificate(Bytes &bytes)
{
    rpmi_certificate found;
    Bytes proved(bytes.size());

    if (rpmi_layout_get(&rpmi_certificate_layout, bytes.data(), &found) != nullptr ||
        found.status != 0 || found.first_lsn > found.end_lsn || found.epoch == 0 ||
        found.server_epoch == 0 || rpmi_certificate_put(proved.data(), &found, GOLDEN_KEY) != 0)
        return;
    bytes = proved;
}

// The WATCH at the front of its golden list.
static std::vector<Format> watch_formats()
{
    return {
        { TABLE(step), // a WATCH
          "watch",
          0,
          32,
          recode_step,
          { { "kind", { 0, 1, 2, 4, 5, 7, 255 } },
            { "flags", { 1, 2, 4, 32, 128, 255 } },
            { "len", { 0, 7, 9, UINT16_MAX } },
            { "key", {} },
            { "offset", { 1, 4, UINT64_MAX } } },
          true },
        { TABLE(watch),
          "watch",
          0,
          32,
          recode_step,
          { { "expect", {} }, { "operand", { 0, 1000001, UINT64_MAX } } },
          true },
    };
}

static std::vector<Format> sum_formats()
{
    return {
        { TABLE(step), // a SUM
          "sum",
          0,
          32,
          recode_step,
          { { "kind", { 0, 1, 2, 4, 5, 6, 9, 255 } },
            { "flags", { 1, 2, 4, 32, 128, 255 } },
            { "len", { 0, 7, 9, UINT16_MAX } },
            { "key", {} },
            { "offset", {} } },
          true },
        { TABLE(sum),
          "sum",
          0,
          32,
          recode_step,
          { { "range", { 0, 1048577, UINT32_MAX, 1ull << 32, UINT64_MAX } }, { "operand", {} } },
          true },
    };
}

static std::vector<Format> compare_formats()
{
    return {
        { TABLE(step), // a COMPARE
          "compare",
          0,
          40,
          recode_step,
          { { "kind", { 0, 1, 2, 4, 5, 6, 7, 8, 10, 255 } },
            { "flags", { 1, 2, 4, 32, 128, 255 } },
            { "len", { 0, 7, 9, UINT16_MAX } },
            { "key", {} },
            { "offset", {} } },
          true },
        { TABLE(compare),
          "compare",
          0,
          40,
          recode_step,
          { { "range", { 0, 524289, UINT32_MAX, 1ull << 32, 1ull << 63, UINT64_MAX } },
            { "other_offset", {} },
            { "other_key", {} } },
          true },
    };
}

// Prove the CARRY, whatever its bytes say.
static void seal_carry(Bytes &bytes)
{
    rpmi_steps steps;
    rpmi_step step;
    Bytes proved(bytes.size());
    uint32_t len = 0;

    rpmi_steps_begin(&steps, bytes.data(), static_cast<uint32_t>(bytes.size()));
    if (rpmi_steps_next(&steps, &step) != 1 || steps.at != steps.end || step.epoch == 0)
        return;
    step.proof = nullptr;
    if (rpmi_carry_put(proved.data(), &step, GOLDEN_KEY, &len) == 0)
        bytes = proved;
}

// A list of one step that is a CARRY with the right proof.
static int recode_carry(const Bytes &in, Bytes &out)
{
    rpmi_steps steps;
    rpmi_step step;

    rpmi_steps_begin(&steps, in.data(), static_cast<uint32_t>(in.size()));
    if (rpmi_steps_next(&steps, &step) != 1 || steps.at != steps.end)
        return RPM_E_PROTO;
    rpmi_step_put(out.data(), &step);
    return rpmi_carry_check(&step, GOLDEN_KEY);
}

static std::vector<Format> carry_formats()
{
    return {
        { TABLE(step), // a CARRY
          "carry",
          0,
          56,
          recode_carry,
          { { "kind", { 0, 1, 2, 3, 4, 5, 6, 7, 9, 255 } },
            { "flags", { 1, 2, 4, 32, 128, 255 } },
            { "len", { 0, 4, 9, UINT16_MAX } },
            { "key", { 1, UINT32_MAX } },
            { "offset", {} } },
          true,
          seal_carry },
        { TABLE(carry),
          "carry",
          0,
          56,
          recode_carry,
          { { "log_id", {} }, { "epoch", { 0 } } },
          true,
          seal_carry },
    };
}

// The steps of the golden list, in their order.
std::vector<Format> step_formats()
{
    std::vector<Format> all = {
        { TABLE(step), // a READ of 100 bytes
          "steps",
          0,
          16,
          recode_step,
          { { "kind", { 0, 2, 3, 4, 5, 6, 255 } },
            { "flags", { 1, 2, 4, 32, 128, 255 } },
            { "len", { 0 } },
            { "key", {} },
            { "offset", {} } },
          true },
        { TABLE(must_read), "steps", 16, 24, recode_step, { { "expect", {} } }, true },
        { TABLE(step), // a WRITE of 5 bytes
          "steps",
          40,
          24,
          recode_step,
          { { "kind", { 0, 1, 3, 4, 5, 6, 255 } },
            { "flags", { 1, 2, 8, 128, 255 } },
            { "len", { 0, 4, 9, UINT16_MAX } },
            { "key", {} },
            { "offset", {} } },
          true },
        { TABLE(cas), "steps", 64, 32, recode_step, { { "expect", {} }, { "operand", {} } }, true },
        { TABLE(faa), "steps", 96, 24, recode_step, { { "operand", {} } }, true },
        { TABLE(prove),
          "steps",
          120,
          40,
          recode_step,
          { { "log_id", {} }, { "end_lsn", {} }, { "epoch", {} } },
          true },
        { TABLE(steps_answer),
          "steps_answer",
          0,
          8,
          recode_answer,
          { { "done", { 7, UINT32_MAX } } } },
        { TABLE(certificate),
          "certificate",
          0,
          64,
          recode_certificate,
          { { "status", { 1, INT32_MAX, static_cast<uint32_t>(-4096), 1u << 31 } },
            { "level", {} },
            { "log_id", {} },
            { "first_lsn", { (1ull << 40) + 129, UINT64_MAX } },
            { "end_lsn", { 0, (1ull << 40) - 1 } },
            { "epoch", { 0 } },
            { "server_epoch", { 0 } } },
          false,
          seal_certificate },
    };

    for (const Format &format : watch_formats())
        all.push_back(format);
    for (const Format &format : sum_formats())
        all.push_back(format);
    for (const Format &format : compare_formats())
        all.push_back(format);
    for (const Format &format : carry_formats())
        all.push_back(format);
    return all;
}
