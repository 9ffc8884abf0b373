// SPDX-License-Identifier: BSD-3-Clause
// call_tables.cpp: the tables of FORMAT.md sections 7 and 10.
extern "C" {
#include "wire/call.h"
#include "wire/stream.h"
}
#include "golden/tables.h"

static Format call_format(const char *golden)
{
    return { TABLE(call),
             golden,
             0,
             0,
             recode_by(rpmi_call_get, rpmi_call_put),
             { { "kind", { 0, 14, UINT32_MAX } },
               { "flags", { 128, 1u << 31, UINT32_MAX } },
               { "key", {} },
               { "object", { 5, UINT32_MAX } },
               { "bytes", {} },
               { "lsn", {} },
               { "id", {} },
               { "epoch", {} },
               { "set.copies", {} },
               { "set.acks", {} },
               { "set.member", {} },
               { "set.members", {} },
               { "token", {} } } };
}

// One of the four answers in its golden file.
static Format answer_format(size_t which, std::vector<uint64_t> values,
                            std::vector<uint64_t> requests)
{
    return { TABLE(answer),
             "answers",
             which * RPMI_ANSWER_BYTES,
             RPMI_ANSWER_BYTES,
             recode_by(rpmi_answer_get, rpmi_answer_put),
             { { "kind", { 0, 5, 255 } }, { "value", values }, { "request", requests } } };
}

std::vector<Format> call_formats()
{
    const uint64_t body_max = RPMI_BODY_MAX;

    return {
        call_format("call"),
        call_format("call_guarded"),
        call_format("call_resume"),
        call_format("call_claim"),
        call_format("call_create"),
        { TABLE(reply),
          "reply",
          0,
          0,
          recode_by(rpmi_reply_get, rpmi_reply_put),
          { { "status", { 1, INT32_MAX, static_cast<uint32_t>(-4096), 1u << 31 } },
            { "key", {} },
            { "object", { 5, UINT32_MAX } },
            { "epoch", {} },
            { "writer", {} },
            { "flags", { 8, 9, UINT32_MAX } },
            { "bytes", {} },
            { "offset", {} },
            { "id", {} },
            { "value", {} },
            { "token", {} },
            { "certificate_key[0]", {} },
            { "certificate_key[1]", {} } } },
        { TABLE(request), // a COPY of 24 + 200 bytes to a place of 256
          "request",
          0,
          0,
          recode_by(rpmi_request_get, rpmi_request_put),
          { { "kind", { 0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 127, 128, 255 } },
            { "flags", { 1, 2, 8, 16, 64, 255 } },
            { "head_bytes", { 57, 65, 256, UINT16_MAX } },
            { "key", {} },
            { "offset", {} },
            { "len", { 0, 223 } },
            { "body_bytes", { 233, body_max, UINT32_MAX } } } },
        { TABLE(request),
          "request_call",
          0,
          0,
          recode_by(rpmi_request_get, rpmi_request_put),
          { { "kind", { 0, 1, 2, 3, 6, 8, 9, 10, 127, 129, 255 } },
            { "flags", { 1, 4, 32, 128, 255 } },
            { "head_bytes", { 1, 16, UINT16_MAX } },
            { "key", { 1, UINT32_MAX } },
            { "offset", { 1, UINT64_MAX } },
            { "len", { 1, 128, UINT64_MAX } },
            { "body_bytes", { 0, 127, 129, UINT32_MAX } } } },
        answer_format(0, { 1, UINT32_MAX }, {}),
        answer_format(1, { 0, 1, static_cast<uint32_t>(-4096), 1u << 31 }, {}),
        answer_format(2, { 0, body_max + 1, UINT32_MAX }, {}),
        answer_format(3, { 0, 319, 321, UINT32_MAX }, { 1, UINT64_MAX }),
    };
}
