// SPDX-License-Identifier: BSD-3-Clause
// media_tables.cpp: the tables of what lies in a pool, of segments and of decisions.
extern "C" {
#include "base/bytes.h"
#include "base/sum.h"
#include "wire/decision.h"
#include "wire/head.h"
#include "wire/segment.h"
#include "wire/start.h"
#include "wire/super.h"
}
#include "golden/tables.h"

static const uint64_t POOL_BYTES = 1 << 20;

static int recode_super(const Bytes &in, Bytes &out)
{
    rpmi_super super;
    int err = rpmi_super_get(in.data(), POOL_BYTES, &super);

    if (err == 0)
        rpmi_store64(out.data(), rpmi_super_put(out.data(), &super));
    return err;
}

// The golden entry is in use.
static int recode_dirent(const Bytes &in, Bytes &out)
{
    rpmi_dirent entry;
    int err = rpmi_dirent_get(in.data(), POOL_BYTES, &entry);

    if (err != RPMI_DIRENT_USED)
        return err < 0 ? err : RPM_E_NOENT;
    rpmi_dirent_put(out.data(), &entry);
    rpmi_store64(out.data(), rpmi_dirent_used());
    rpmi_store64(out.data() + RPMI_DIRENT_STATE_2, rpmi_dirent_used());
    return err;
}

// The checksum at @at, of the bytes from @from up to @to.
static auto sum_at(size_t at, size_t from, size_t to)
{
    return [=](Bytes &bytes) { rpmi_store64(&bytes[at], rpmi_sum(&bytes[from], to - from)); };
}

std::vector<Format> media_formats()
{
    return {
        { TABLE(super),
          "super",
          0,
          0,
          recode_super,
          { { "version", { 0, 3, 5, UINT32_MAX } },
            { "pool_id", {} },
            { "pool_bytes", { 0, 61440, POOL_BYTES - 1, POOL_BYTES + 4096, UINT64_MAX } },
            { "dir_offset", { 0, 4095, 4096 - 256, 4096 + 256, UINT64_MAX - 255 } },
            { "data_offset", { 0, 32768, 36865, POOL_BYTES + 4096, UINT64_MAX - 4095 } },
            { "entries", { 0, 127, 129, 4097, UINT32_MAX } } },
          false,
          sum_at(2040, 8, 2040) },
        { TABLE(start),
          "start",
          0,
          0,
          recode_by(rpmi_start_get, rpmi_start_put),
          { { "starts", {} } },
          false,
          [](Bytes &bytes) { rpmi_store32(&bytes[4], ~rpmi_load32(&bytes[0])); } },
        { TABLE(dirent),
          "dirent",
          0,
          0,
          recode_dirent,
          { { "kind", { 0, 3, 4, UINT32_MAX } },
            { "offset", { 0, 4032, 36865, POOL_BYTES, UINT64_MAX - 63 } },
            { "bytes", { 0, 8191, POOL_BYTES - 36864 + 1, UINT64_MAX } },
            { "id", {} } },
          false,
          sum_at(248, 8, 240) },
        { TABLE(head),
          "head",
          0,
          0,
          recode_by(rpmi_head_get, rpmi_head_put),
          { { "turn", { 1ull << 63, UINT64_MAX } },
            { "log_id", {} },
            { "capacity_bytes", { 0, 4095, 4097, 65535, UINT64_MAX } },
            { "trim_lsn", { 1, 641, 1ull << 63, UINT64_MAX } },
            { "base_lsn", { 63, 1281, 1ull << 63, UINT64_MAX } },
            { "epoch", {} },
            { "flags", { 2, 3, 1u << 31, UINT32_MAX } },
            { "life.run", {} },
            { "life.boot", {} },
            { "set.copies", { 0, 1, 17, UINT8_MAX } },
            { "set.acks", { 0, 4, UINT8_MAX } },
            { "set.member", { 3, UINT8_MAX } },
            { "set.members", {} } },
          false,
          sum_at(120, 0, 120) },
    };
}

std::vector<Format> tier_formats()
{
    return {
        { TABLE(segment),
          "segment",
          0,
          RPMI_SEGMENT_HEADER_BYTES,
          recode_by(rpmi_segment_get, rpmi_segment_put),
          { { "log_id", {} },
            { "first_lsn", { 1281, 1472, UINT64_MAX } },
            { "end_lsn", { 1408, 1473, 1344 + (1ull << 27), 1ull << 63, UINT64_MAX } },
            { "last_lsn", { 1216, 1409, 1472, UINT64_MAX } },
            { "last_sum", {} },
            { "first_epoch", { 5, UINT32_MAX } },
            { "last_epoch", { 0, 2 } },
            { "records", { 0, 3, UINT32_MAX } },
            { "codec", { 1, 2, 3, UINT32_MAX } },
            { "raw_bytes", { 0, 56, 71, 80, (1u << 27) + 8, UINT64_MAX } },
            { "stored_bytes", { 0, 71, 73, UINT64_MAX } },
            { "stored_sum", {} } },
          false,
          sum_at(248, 0, 248) },
        { TABLE(decision),
          "decision",
          0,
          0,
          recode_by(rpmi_decision_get, rpmi_decision_put),
          { { "epoch", { 0 } },
            { "log_id", {} },
            { "head_lsn", { 641, 1472, 1ull << 63, UINT64_MAX } },
            { "trim_lsn", { 0, 1408, 1473, 1ull << 63, UINT64_MAX } },
            { "last_lsn", { 576, 1409, 1472, UINT64_MAX } },
            { "last_sum", {} },
            { "number", { 0 } } },
          false,
          sum_at(56, 0, 56) },
    };
}
