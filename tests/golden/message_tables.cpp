// SPDX-License-Identifier: BSD-3-Clause
// message_tables.cpp: the tables of FORMAT.md section 11.
extern "C" {
#include "base/limits.h"
#include "wire/message.h"
}
#include "golden/tables.h"

static bool is_message(const Bytes &in, uint32_t kind)
{
    return rpmi_msg_kind(in.data(), static_cast<uint32_t>(in.size())) == kind;
}

// The head of a call: what follows it is copied.
static int recode_head(const Bytes &in, Bytes &out)
{
    if (!is_message(in, RPMI_MSG_CALL))
        return RPM_E_PROTO;
    std::copy(in.begin() + RPMI_MSG_HEAD, in.end(), out.begin() + RPMI_MSG_HEAD);
    rpmi_msg_head(out.data(), RPMI_MSG_CALL, rpmi_msg_bytes(in.data()));
    return 0;
}

static int recode_accept(const Bytes &in, Bytes &out)
{
    rpmi_transcript transcript = golden_transcript();
    rpmi_accept accepted;
    rpmi_grant_key scratch;
    uint32_t messages;
    int err = is_message(in, RPMI_MSG_ACCEPT) ? 0 : RPM_E_PROTO;

    if (err != 0)
        return err;
    transcript.beside_bytes = RPMI_ACCEPT_BESIDE;
    std::copy(in.end() - RPMI_ACCEPT_BESIDE, in.end(), transcript.beside);
    err = rpmi_sealed_get(&transcript, SECRET, &in[RPMI_MSG_HEAD], &accepted);
    if (err == 0)
        err = accepted.status;
    if (err == 0)
        err = rpmi_accept_msg_get(in.data(), &messages, &scratch);
    if (err != 0)
        return err;
    rpmi_accept_msg_put(out.data(), messages, &scratch);
    REQUIRE(rpmi_sealed_make(&transcript, SECRET, &accepted, &out[RPMI_MSG_HEAD]) == 0);
    return 0;
}

static void prove_accept(Bytes &message)
{
    static const char who[] = "librpm server";
    rpmi_transcript transcript = golden_transcript();
    const rpmi_chunk chunks[] = {
        { who, sizeof(who) },
        { transcript.hello, sizeof(transcript.hello) },
        { transcript.challenge, sizeof(transcript.challenge) },
        { transcript.auth, sizeof(transcript.auth) },
        { &message[RPMI_MSG_HEAD], RPMI_ACCEPT_BYTES },
        { &message[RPMI_ACCEPT_AT_MESSAGES], RPMI_ACCEPT_BESIDE },
    };

    REQUIRE(rpmi_mac(SECRET, chunks, 6, &message[RPMI_MSG_HEAD + RPMI_ACCEPT_BYTES]) == 0);
}

// The body is copied.
static int recode_rpc(const Bytes &in, Bytes &out)
{
    rpmi_rpc rpc;

    if (!is_message(in, RPMI_MSG_RPC) ||
        rpmi_rpc_get(in.data(), static_cast<uint32_t>(in.size()), &rpc) != 0)
        return RPM_E_PROTO;
    std::copy(in.begin() + RPMI_RPC_BYTES, in.end(), out.begin() + RPMI_RPC_BYTES);
    rpmi_rpc_put(out.data(), &rpc);
    return 0;
}

static int recode_done(const Bytes &in, Bytes &out)
{
    uint64_t done;
    int32_t status;

    if (!is_message(in, RPMI_MSG_DONE) || rpmi_done_get(in.data(), &done, &status) != 0)
        return RPM_E_PROTO;
    rpmi_done_put(out.data(), done, status);
    return 0;
}

static int recode_fenced(const Bytes &in, Bytes &out)
{
    uint32_t key;

    if (!is_message(in, RPMI_MSG_FENCED) || rpmi_fenced_get(in.data(), &key) != 0)
        return RPM_E_PROTO;
    rpmi_fenced_put(out.data(), key);
    return 0;
}

// The answer is copied.
static int recode_result(const Bytes &in, Bytes &out)
{
    uint64_t done;

    if (!is_message(in, RPMI_MSG_RESULT) || rpmi_result_get(in.data(), &done) != 0)
        return RPM_E_PROTO;
    std::copy(in.begin() + RPMI_RESULT_BYTES, in.end(), out.begin() + RPMI_RESULT_BYTES);
    rpmi_result_put(out.data(), done, static_cast<uint32_t>(in.size() - RPMI_RESULT_BYTES));
    return 0;
}

// A COPY of 24 bytes to a place of 256, and a list of 160 bytes.
static std::vector<Format> rpc_formats()
{
    return {
        { TABLE(rpc),
          "message_rpc",
          0,
          0,
          recode_rpc,
          { { "kind", { 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 255 } },
            { "flags", { 1, 2, 8, 16, 64, 128, 255 } },
            { "key", {} },
            { "offset", {} },
            { "len", { 0, 23 } },
            { "body_bytes", { 0, 23, 25, UINT32_MAX } } },
          true },
        { TABLE(rpc),
          "message_steps",
          0,
          0,
          recode_rpc,
          { { "kind", { 0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 255 } },
            { "flags", { 1, 2, 8, 16, 64, 128, 255 } },
            { "key", { 1, UINT32_MAX } },
            { "offset", { 1, UINT64_MAX } },
            { "len", { 0, 7, 4097, UINT64_MAX } },
            { "body_bytes", { 0, 159, 161, UINT32_MAX } } },
          true },
    };
}

std::vector<Format> message_formats()
{
    std::vector<Format> all = rpc_formats();
    const std::vector<Format> others = {
        { TABLE(msg_head),
          "message_call",
          0,
          0,
          recode_head,
          { { "kind", { 0, 1, 2, 4, 5, 6, 7, 8, 9, UINT32_MAX } },
            { "bytes", { 0, 8, 128, 135, 137, UINT32_MAX } } },
          true },
        { TABLE(accept_msg),
          "message_accept",
          0,
          0,
          recode_accept,
          { { "messages", { 0, 1, 65, UINT32_MAX } } },
          true,
          prove_accept },
        { TABLE(grant),
          "message_reply",
          RPMI_REPLY_AT_GRANT,
          RPMI_GRANT_BYTES,
          recode_by(rpmi_grant_get, rpmi_grant_put),
          { { "address", { UINT64_MAX, UINT64_MAX - 69631 } },
            { "bytes", { 0, 4095, UINT64_MAX } },
            { "guarded_bytes", { 69633, UINT64_MAX } },
            { "read_rkey", {} },
            { "write_rkey", {} },
            { "rights", { 8, UINT32_MAX } } } },
        { TABLE(done),
          "message_done",
          0,
          0,
          recode_done,
          { { "done", {} },
            { "status", { 1, INT32_MAX, static_cast<uint32_t>(-4096), 1u << 31 } } },
          true },
        { TABLE(fenced),
          "message_fenced",
          0,
          0,
          recode_fenced,
          { { "key", { RPMI_KEYS_MAX, UINT32_MAX } } },
          true },
        { TABLE(result), "message_result", 0, 0, recode_result, { { "done", { 0 } } }, true },
    };

    all.insert(all.end(), others.begin(), others.end());
    return all;
}
