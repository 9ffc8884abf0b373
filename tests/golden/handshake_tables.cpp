// SPDX-License-Identifier: BSD-3-Clause
// handshake_tables.cpp: the tables of FORMAT.md sections 6 and 9.
extern "C" {
#include "base/bytes.h"
#include "wire/handshake.h"
#include "wire/hello.h"
}
#include "golden/tables.h"

static const uint64_t BAD_STATUS[] = { 1, INT32_MAX, static_cast<uint32_t>(-4096), 1u << 31 };

// A nonce is random: the one that was read is put where another one was made.
static int recode_net_hello(const Bytes &in, Bytes &out)
{
    rpmi_transcript transcript;
    int err = rpmi_net_hello_get(in.data(), in.size());

    if (err != 0)
        return err;
    REQUIRE(rpmi_net_hello_make(&transcript) == 0);
    memcpy(transcript.hello + 16, &in[16], RPMI_NONCE_BYTES);
    out.assign(transcript.hello, transcript.hello + sizeof(transcript.hello));
    return 0;
}

static int recode_challenge(const Bytes &in, Bytes &out)
{
    rpmi_transcript transcript;
    int err = rpmi_challenge_get(in.data(), in.size());

    if (err != 0)
        return err;
    REQUIRE(rpmi_challenge_make(&transcript, 0) == 0);
    memcpy(transcript.challenge + 16, &in[16], RPMI_NONCE_BYTES);
    out.assign(transcript.challenge, transcript.challenge + sizeof(transcript.challenge));
    return 0;
}

static int recode_auth(const Bytes &in, Bytes &out)
{
    rpmi_transcript transcript = golden_transcript();
    rpmi_auth auth;
    int err;

    memcpy(transcript.auth, in.data(), RPMI_AUTH_BYTES);
    err = rpmi_auth_get(&transcript, SECRET, &auth);
    if (err != 0)
        return err;
    REQUIRE(rpmi_auth_make(&transcript, SECRET, &auth) == 0);
    out.assign(transcript.auth, transcript.auth + sizeof(transcript.auth));
    return 0;
}

static void prove_auth(Bytes &auth)
{
    static const char who[] = "librpm client";
    rpmi_transcript transcript = golden_transcript();
    const rpmi_chunk chunks[] = {
        { who, sizeof(who) },
        { transcript.hello, sizeof(transcript.hello) },
        { transcript.challenge, sizeof(transcript.challenge) },
        { auth.data(), 160 },
    };

    REQUIRE(rpmi_mac(SECRET, chunks, 4, &auth[160]) == 0);
}

static std::map<std::string, std::vector<uint64_t>> refused_accept()
{
    const uint32_t below = static_cast<uint32_t>(-2);

    return { { "version", { 0, 2, 4, UINT32_MAX } },
             { "status", { std::begin(BAD_STATUS), std::end(BAD_STATUS) } },
             { "mode", { 0, 3, UINT32_MAX } },
             { "client", { 0 } },
             { "server_epoch", { 0 } },
             { "depth", {} },
             { "staging_bytes", {} },
             { "pool_bytes", {} },
             { "dram_bytes", {} },
             { "facts.medium", { 7, UINT32_MAX } },
             { "facts.domain", { 4, UINT32_MAX } },
             { "facts.domain_declared", { 2, UINT32_MAX } },
             { "facts.ddio", { 3, UINT32_MAX } },
             { "facts.native_flush", { 3, UINT32_MAX } },
             { "facts.atomic_write", { 3, UINT32_MAX } },
             { "facts.memory_window", { 3, UINT32_MAX } },
             { "facts.granularity_bytes", {} },
             { "facts.line_bytes", {} },
             { "facts.methods", { 1u << 9, UINT32_MAX } },
             { "facts.memory_node", { below, 1u << 31 } },
             { "facts.port_node", { below, 1u << 31 } },
             { "facts.modelled", { 2, UINT32_MAX } },
             { "facts.pool_starts", {} },
             { "steps", {} } };
}

std::vector<Format> handshake_formats()
{
    const std::vector<uint64_t> bad_status(std::begin(BAD_STATUS), std::end(BAD_STATUS));

    return {
        { TABLE(hello),
          "hello",
          0,
          0,
          recode_sized(rpmi_hello_get, rpmi_hello_put),
          { { "version", { 0, 2, 4, UINT32_MAX } },
            { "mode", { 3, UINT32_MAX } },
            { "depth", {} },
            { "staging_bytes", {} } },
          true },
        { TABLE(accept), "accept", 0, 0, recode_sized(rpmi_accept_get, rpmi_accept_put),
          refused_accept(), true },
        { TABLE(net_hello), "net_hello", 0, 0, recode_net_hello, {}, true },
        { TABLE(challenge),
          "challenge",
          0,
          0,
          recode_challenge,
          { { "status", bad_status } },
          true },
        { TABLE(auth),
          "auth",
          0,
          0,
          recode_auth,
          { { "depth", { 0, 4097, UINT32_MAX } }, { "staging_bytes", {} } },
          false,
          prove_auth },
    };
}
