// SPDX-License-Identifier: BSD-3-Clause
// format_test.cpp: the bytes of FORMAT.md. Each golden file, made by a script without the library,
// is decoded to the values that it was made from, and these values are encoded to the same bytes.
extern "C" {
#include "base/bytes.h"
#include "wire/call.h"
#include "wire/decision.h"
#include "wire/frame.h"
#include "wire/guard.h"
#include "wire/handshake.h"
#include "wire/head.h"
#include "wire/hello.h"
#include "wire/layout.h"
#include "wire/liveness.h"
#include "wire/message.h"
#include "wire/ring.h"
#include "wire/start.h"
#include "wire/steps.h"
#include "wire/stream.h"
#include "wire/super.h"
}
#include "golden/golden.h"

#include <cstddef>

static const uint64_t LOG_ID = 0xfedcba9876543210ull;

TEST_CASE("golden: a superblock is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("super");
    Bytes made(RPMI_SUPER_BYTES);
    rpmi_super super = {};

    REQUIRE(expected.size() == RPMI_SUPER_BYTES);
    REQUIRE(rpmi_super_get(expected.data(), 1 << 20, &super) == 0);
    REQUIRE(super.version == 4);
    REQUIRE(super.pool_id == 0x0123456789abcdefull);
    REQUIRE(super.pool_bytes == 1 << 20);
    REQUIRE(super.dir_offset == 4096);
    REQUIRE(super.data_offset == 36864);
    REQUIRE(super.entries == 128);
    rpmi_store64(made.data(), rpmi_super_put(made.data(), &super));
    REQUIRE(made == expected);
}

TEST_CASE("golden: a start counter is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("start");
    Bytes made(RPMI_START_BYTES);
    rpmi_start_count start = {};

    REQUIRE(RPMI_START_COPIES == 2);
    REQUIRE(RPMI_START_AT == 2048);
    REQUIRE(RPMI_START_STRIDE == 1024);
    REQUIRE(expected.size() == RPMI_START_BYTES);
    REQUIRE(rpmi_start_get(expected.data(), &start) == 0);
    REQUIRE(start.starts == 7);
    rpmi_start_put(made.data(), &start);
    REQUIRE(made == expected);
}

TEST_CASE("golden: a directory entry is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("dirent");
    Bytes made(RPMI_DIRENT_BYTES);
    rpmi_dirent entry = {};

    REQUIRE(expected.size() == RPMI_DIRENT_BYTES);
    REQUIRE(rpmi_dirent_get(expected.data(), 1 << 20, &entry) == 1);
    REQUIRE(entry.kind == RPM_KIND_LOG);
    REQUIRE(entry.offset == 36864);
    REQUIRE(entry.bytes == 69632);
    REQUIRE(entry.id == LOG_ID);
    REQUIRE(std::string(entry.name) == "orders/2024.log");
    rpmi_dirent_put(made.data(), &entry);
    for (uint32_t at : { 0u, RPMI_DIRENT_STATE_2 })
        rpmi_store64(&made[at], rpmi_dirent_used());
    REQUIRE(made == expected);
}

TEST_CASE("golden: a head slot is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("head");
    Bytes made(RPMI_HEAD_BYTES);
    rpmi_head head = {};

    REQUIRE(expected.size() == RPMI_HEAD_BYTES);
    REQUIRE(rpmi_head_get(expected.data(), &head) == 0);
    REQUIRE(head.turn == 7);
    REQUIRE(head.log_id == LOG_ID);
    REQUIRE(head.capacity_bytes == 65536);
    REQUIRE(head.trim_lsn == 640);
    REQUIRE(head.base_lsn == 1280);
    REQUIRE(head.epoch == 3);
    REQUIRE(head.flags == RPMI_HEAD_DURABLE);
    REQUIRE(head.life.run == 0x1122334455667788ull);
    REQUIRE(head.life.boot == 0x99aabbccddeeff01ull);
    REQUIRE(head.set.copies == 3);
    REQUIRE(head.set.acks == 2);
    REQUIRE(head.set.member == 1);
    REQUIRE(head.set.members == 0x2468ace013579bdfull);
    rpmi_head_put(made.data(), &head);
    REQUIRE(made == expected);
}

TEST_CASE("golden: the parts of a log's header have their places", "[golden]")
{
    REQUIRE(RPMI_LOG_HEADER_BYTES == 4096);
    REQUIRE(RPMI_HEAD_SLOTS == 4);
    REQUIRE(rpmi_head_slot(6, 0) == 0);
    REQUIRE(rpmi_head_slot(6, 1) == 2);
    REQUIRE(rpmi_head_slot(7, 0) == 1);
    REQUIRE(rpmi_head_slot(7, 1) == 3);
    REQUIRE(RPMI_HEAD_SLOT_STRIDE == 256);
    REQUIRE(RPMI_GUARD_OFFSET == 1024);
    REQUIRE(RPMI_COMMIT_OFFSET == 4032);
    REQUIRE(RPMI_LOG_GUARDED_BYTES == 4032);
    REQUIRE(offsetof(rpmi_guard, claim) == 0);
    REQUIRE(offsetof(rpmi_guard, since) == 16);
    REQUIRE(offsetof(rpmi_guard, token) == 24);
    REQUIRE(offsetof(rpmi_guard, busy) == 64);
    REQUIRE(sizeof(rpmi_guard) == 64 + 8 * 64);
}

TEST_CASE("golden: the descriptors of an accept message have their order", "[golden]")
{
    REQUIRE(RPMI_FDS == 3);
    REQUIRE(RPMI_FD_LIVENESS == 0);
    REQUIRE(RPMI_FD_POOL == 1);
    REQUIRE(RPMI_FD_DRAM == 2);
    REQUIRE(RPMI_FD_RING == 1);
    REQUIRE(RPMI_FD_NOTIFY == 2);
}

TEST_CASE("golden: the words of the liveness page have their places and meanings", "[golden]")
{
    alignas(rpmi_liveness) unsigned char page[sizeof(rpmi_liveness)] = {};
    auto liveness = reinterpret_cast<rpmi_liveness *>(page);
    Bytes dead = { 0x00, 0x00, 0x00, 0x40 };  // bit 30: its thread died
    Bytes alive = { 0x34, 0x12, 0x00, 0x00 }; // thread 0x1234

    REQUIRE(offsetof(rpmi_liveness, holder) == 0);
    REQUIRE(offsetof(rpmi_liveness, engine_sleeps) == 64);
    REQUIRE(offsetof(rpmi_liveness, engine_cpu) == 68);
    REQUIRE(offsetof(rpmi_liveness, membarrier) == 72);
    REQUIRE(offsetof(rpmi_liveness, events) == 76);
    REQUIRE_FALSE(rpmi_liveness_alive(liveness));
    memcpy(page, alive.data(), alive.size());
    REQUIRE(rpmi_liveness_alive(liveness));
    memcpy(page, dead.data(), dead.size());
    REQUIRE_FALSE(rpmi_liveness_alive(liveness));
    REQUIRE(rpmi_liveness_word(liveness) == 1u << 30);
}

TEST_CASE("golden: the parts of a shared ring have their places", "[golden]")
{
    const uint32_t slots = 4;
    alignas(64) static unsigned char memory[3 * 4096];
    rpmi_ring ring = {};

    rpmi_ring_layout(&ring, memory, slots, 100);
    REQUIRE(offsetof(rpmi_ring_head, done) == 0);
    REQUIRE(offsetof(rpmi_ring_head, failures) == 8);
    REQUIRE(offsetof(rpmi_ring_head, waits) == 64);
    REQUIRE(offsetof(rpmi_ring_head, fences) == 68);
    REQUIRE(offsetof(rpmi_ring_head, cpu) == 72);
    REQUIRE(reinterpret_cast<unsigned char *>(ring.slot) - memory == 4096);
    REQUIRE(ring.heads - memory == 4096 + 64 * slots);
    REQUIRE(reinterpret_cast<unsigned char *>(ring.status) - memory == 4096 + 128 * slots);
    REQUIRE(ring.staging - memory == 8192);
    REQUIRE(ring.bytes == sizeof(memory));
    REQUIRE(offsetof(rpmi_slot, turn) == 0);
    REQUIRE(offsetof(rpmi_slot, kind) == 4);
    REQUIRE(offsetof(rpmi_slot, flags) == 5);
    REQUIRE(offsetof(rpmi_slot, head_bytes) == 6);
    REQUIRE(offsetof(rpmi_slot, offset) == 8);
    REQUIRE(offsetof(rpmi_slot, len) == 16);
    REQUIRE(offsetof(rpmi_slot, key) == 24);
    REQUIRE(offsetof(rpmi_slot, body) == 28);
    REQUIRE(offsetof(rpmi_slot, body_bytes) == 32);
    REQUIRE(offsetof(rpmi_slot, head) == 36);
}

// Decode, compare, encode again.
static void frame_both_ways(const std::string &name, const rpmi_frame &wanted)
{
    Bytes expected = golden(name);
    Bytes made = expected;
    rpmi_frame frame = {};
    bool pad = (wanted.flags & RPMI_FRAME_PAD) != 0;

    CAPTURE(name);
    REQUIRE(expected.size() == rpmi_frame_stride(wanted.len, wanted.flags));
    REQUIRE(rpmi_frame_get(expected.data(), wanted.lsn, expected.size(), &frame) ==
            RPMI_FRAME_VALID);
    REQUIRE(frame.lsn == wanted.lsn);
    REQUIRE(frame.len == wanted.len);
    REQUIRE(frame.epoch == wanted.epoch);
    REQUIRE(frame.flags == wanted.flags);
    REQUIRE(frame.lag == wanted.lag);
    REQUIRE(rpmi_frame_check(&frame, LOG_ID, &expected[24]) == RPMI_FRAME_VALID);
    std::fill(made.begin(), made.begin() + 24, 0xff);
    rpmi_frame_put(made.data(), &wanted, LOG_ID, pad ? nullptr : &made[24]);
    REQUIRE(made == expected);
}

TEST_CASE("golden: frames are encoded to and decoded from the golden bytes", "[golden]")
{
    frame_both_ways("frame_line", { 1280, 40, 3, 0, 1, 0 });
    frame_both_ways("frame_media", { 1536, 300, 3, RPMI_FRAME_XPLINE, 0, 0 });
    frame_both_ways("frame_pad", { 65344, 168, 3, RPMI_FRAME_PAD, 5, 0 });
}

TEST_CASE("golden: a hello is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("hello");
    Bytes made(RPMI_HELLO_BYTES);
    rpmi_hello hello = {};

    REQUIRE(rpmi_hello_get(expected.data(), expected.size(), &hello) == 0);
    REQUIRE(hello.version == 3);
    REQUIRE(hello.mode == RPMI_MODE_RING);
    REQUIRE(hello.depth == 256);
    REQUIRE(hello.staging_bytes == 8 << 20);
    REQUIRE(std::string(hello.secret) == "open sesame");
    rpmi_hello_put(made.data(), &hello);
    REQUIRE(made == expected);
}

TEST_CASE("golden: an accept message is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("accept");
    Bytes made(RPMI_ACCEPT_BYTES);
    rpmi_accept accepted = {};

    REQUIRE(rpmi_accept_get(expected.data(), expected.size(), &accepted) == 0);
    REQUIRE(accepted.status == 0);
    REQUIRE(accepted.mode == RPMI_MODE_DIRECT);
    REQUIRE(accepted.client == 11);
    REQUIRE(accepted.server_epoch == 12);
    REQUIRE(accepted.depth == 256);
    REQUIRE(accepted.staging_bytes == 8 << 20);
    REQUIRE(accepted.pool_bytes == 1 << 30);
    REQUIRE(accepted.dram_bytes == 1 << 20);
    REQUIRE(accepted.facts.medium == RPM_MEDIUM_TMPFS);
    REQUIRE(accepted.facts.domain == RPM_DOMAIN_ADR);
    REQUIRE(accepted.facts.domain_declared == 1);
    REQUIRE(accepted.facts.ddio == RPM_UNKNOWN);
    REQUIRE(accepted.facts.native_flush == RPM_NO);
    REQUIRE(accepted.facts.atomic_write == RPM_YES);
    REQUIRE(accepted.facts.memory_window == RPM_NO);
    REQUIRE(accepted.facts.granularity_bytes == 64);
    REQUIRE(accepted.facts.line_bytes == 256);
    REQUIRE(accepted.facts.methods == (1u << RPM_METHOD_WRITE | 1u << RPM_METHOD_STORE));
    REQUIRE(accepted.facts.memory_node == 0);
    REQUIRE(accepted.facts.port_node == -1);
    REQUIRE(accepted.facts.modelled == 1);
    REQUIRE(accepted.facts.pool_starts == 7);
    REQUIRE(accepted.steps == 0xfe);
    rpmi_accept_put(made.data(), &accepted);
    REQUIRE(made == expected);
}

TEST_CASE("golden: a refusing accept message is encoded to and decoded from the golden bytes",
          "[golden]")
{
    Bytes expected = golden("accept_refused");
    Bytes made(RPMI_ACCEPT_BYTES);
    rpmi_accept accepted = {};

    REQUIRE(rpmi_accept_get(expected.data(), expected.size(), &accepted) == 0);
    REQUIRE(accepted.status == RPM_E_DENIED);
    REQUIRE(std::string(accepted.text) == "wrong secret");
    rpmi_accept_put(made.data(), &accepted);
    REQUIRE(made == expected);
}

TEST_CASE("golden: a call is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("call");
    Bytes made(RPMI_CALL_BYTES);
    rpmi_call call = {};

    REQUIRE(expected.size() == RPMI_CALL_BYTES);
    REQUIRE(rpmi_call_get(expected.data(), &call) == 0);
    REQUIRE(call.kind == RPMI_CALL_OPEN);
    REQUIRE(call.flags == (RPMI_CALL_CREATE | RPMI_CALL_EXCL));
    REQUIRE(call.key == 9);
    REQUIRE(call.object == RPM_KIND_REGION);
    REQUIRE(call.bytes == 1ull << 33);
    REQUIRE(call.lsn == 1ull << 44);
    REQUIRE(std::string(call.name) == "accounts");
    rpmi_call_put(made.data(), &call);
    REQUIRE(made == expected);
}

TEST_CASE(
    "golden: a call that opens a guarded region is encoded to and decoded from the golden bytes",
    "[golden]")
{
    Bytes expected = golden("call_guarded");
    Bytes made(RPMI_CALL_BYTES);
    rpmi_call call = {};

    REQUIRE(rpmi_call_get(expected.data(), &call) == 0);
    REQUIRE(call.kind == RPMI_CALL_OPEN);
    REQUIRE(call.flags == (RPMI_CALL_CREATE | RPMI_CALL_GUARDED));
    REQUIRE(call.key == 9);
    REQUIRE(call.object == RPM_KIND_DRAM);
    REQUIRE(call.bytes == 4096);
    REQUIRE(std::string(call.name) == "words");
    rpmi_call_put(made.data(), &call);
    REQUIRE(made == expected);
}

TEST_CASE("golden: a claim that resumes is encoded to and decoded from the golden bytes",
          "[golden]")
{
    Bytes expected = golden("call_resume");
    Bytes made(RPMI_CALL_BYTES);
    rpmi_call call = {};

    REQUIRE(rpmi_call_get(expected.data(), &call) == 0);
    REQUIRE(call.kind == RPMI_CALL_CLAIM);
    REQUIRE(call.flags == RPMI_CALL_RESUME);
    REQUIRE(call.key == 9);
    REQUIRE(call.lsn == 7);
    rpmi_call_put(made.data(), &call);
    REQUIRE(made == expected);
}

TEST_CASE("golden: a claim of an epoch once more is encoded to and decoded from the golden bytes",
          "[golden]")
{
    Bytes expected = golden("call_claim");
    Bytes made(RPMI_CALL_BYTES);
    rpmi_call call = {};

    REQUIRE(rpmi_call_get(expected.data(), &call) == 0);
    REQUIRE(call.kind == RPMI_CALL_CLAIM);
    REQUIRE(call.flags == 0);
    REQUIRE(call.key == 9);
    REQUIRE(call.epoch == 12);
    REQUIRE(call.token == 0x0f1e2d3c4b5a6978ull);
    rpmi_call_put(made.data(), &call);
    REQUIRE(made == expected);
}

TEST_CASE("golden: a call that creates a copy is encoded to and decoded from the golden bytes",
          "[golden]")
{
    Bytes expected = golden("call_create");
    Bytes made(RPMI_CALL_BYTES);
    rpmi_call call = {};

    REQUIRE(rpmi_call_get(expected.data(), &call) == 0);
    REQUIRE(call.kind == RPMI_CALL_OPEN);
    REQUIRE(call.flags == RPMI_CALL_CREATE);
    REQUIRE(call.object == RPM_KIND_LOG);
    REQUIRE(call.bytes == 65536);
    REQUIRE(call.lsn == 640);
    REQUIRE(call.id == LOG_ID);
    REQUIRE(call.epoch == 12);
    REQUIRE(call.set.copies == 3);
    REQUIRE(call.set.acks == 2);
    REQUIRE(call.set.member == 1);
    REQUIRE(call.set.members == 0x2468ace013579bdfull);
    REQUIRE(std::string(call.name) == "orders/2024.log");
    rpmi_call_put(made.data(), &call);
    REQUIRE(made == expected);
}

TEST_CASE("golden: a reply is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("reply");
    Bytes made(RPMI_REPLY_BYTES);
    rpmi_reply reply = {};

    REQUIRE(expected.size() == RPMI_REPLY_BYTES);
    REQUIRE(rpmi_reply_get(expected.data(), &reply) == 0);
    REQUIRE(reply.status == RPM_E_EXISTS);
    REQUIRE(reply.key == 1);
    REQUIRE(reply.object == RPM_KIND_LOG);
    REQUIRE(reply.epoch == 2);
    REQUIRE(reply.writer == 3);
    REQUIRE(reply.flags ==
            (uint32_t{ RPMI_CALL_CREATE } | RPMI_REPLY_RUN_LASTS | RPMI_REPLY_BOOT_LASTS));
    REQUIRE(reply.bytes == 4ull << 32);
    REQUIRE(reply.offset == 5ull << 32);
    REQUIRE(reply.id == 6ull << 32);
    REQUIRE(reply.value == 7ull << 32);
    REQUIRE(reply.token == 10ull << 32);
    REQUIRE(std::string(reply.name) == "accounts");
    REQUIRE(std::string(reply.text) == "the name is taken");
    rpmi_reply_put(made.data(), &reply);
    REQUIRE(made == expected);
}

TEST_CASE("golden: numbers that are part of the format stay", "[golden]")
{
    REQUIRE(RPMI_CALL_OPEN == 1);
    REQUIRE(RPMI_CALL_CLAIM == 2);
    REQUIRE(RPMI_CALL_SEAL == 3);
    REQUIRE(RPMI_CALL_TRIM == 4);
    REQUIRE(RPMI_CALL_CLOSE == 5);
    REQUIRE(RPMI_CALL_REMOVE == 6);
    REQUIRE(RPMI_CALL_OWNER == 8);
    REQUIRE(RPMI_CALL_ROOM == 9);
    REQUIRE(RPMI_CALL_NEXT == 10);
    REQUIRE(RPMI_CALL_TAKEOVER == 4);
    REQUIRE(RPMI_CALL_REPAIR == 16);
    REQUIRE(RPMI_CALL_RESUME == 32);
    REQUIRE(RPMI_CALL_DURABLE == 64);
    REQUIRE(RPMI_REPLY_RUN_LASTS == 2);
    REQUIRE(RPMI_REPLY_BOOT_LASTS == 4);
    REQUIRE(RPM_KIND_DRAM == 3);
    REQUIRE(RPM_KIND_LOCKS == 4);
    REQUIRE(RPM_MEDIUM_DEVDAX == 6);
    REQUIRE(RPM_DOMAIN_EADR == 3);
    REQUIRE(RPM_METHOD_ORDER == 9); // the first that is never sent
    REQUIRE(RPMI_RECORD_MAX == (1u << 24) - 1024);
    REQUIRE(rpmi_super_entries(1 << 20) == 128);
    REQUIRE(rpmi_super_entries(64 << 20) == 1024);
    REQUIRE(rpmi_super_entries(UINT64_MAX) == 4096);
}

// The bytes that the tables under @title give to fields that are not "zero", row by row.
static std::vector<std::pair<uint32_t, uint32_t>> documented(const std::string &title)
{
    std::ifstream file(std::string(GOLDEN_DIR) + "/../../lib/FORMAT.md");
    std::vector<std::pair<uint32_t, uint32_t>> rows;
    std::string line;
    bool here = false;

    while (std::getline(file, line)) {
        std::istringstream cells(line);
        char bar;
        uint32_t at, bytes;
        std::string field;

        if (line.rfind(title, 0) == 0)
            here = true;
        else if (here && !rows.empty() && line.rfind("|", 0) != 0)
            break;
        if (here && cells >> bar >> at >> bar >> bytes >> bar >> field && field != "zero")
            rows.emplace_back(at, bytes);
    }
    INFO("FORMAT.md, " << title);
    REQUIRE_FALSE(rows.empty());
    return rows;
}

TEST_CASE("golden: FORMAT.md has the fields of the tables in the code, and no other", "[golden]")
{
    const std::pair<const char *, const rpmi_layout *> all[] = {
        { "## 2. Superblock", &rpmi_super_layout },
        { "The **start counter** says", &rpmi_start_layout },
        { "## 3. Directory", &rpmi_dirent_layout },
        { "A head slot:", &rpmi_head_layout },
        { "Hello, 256 bytes", &rpmi_hello_layout },
        { "Accept, 384 bytes", &rpmi_accept_layout },
        { "Auth, 192 bytes", &rpmi_auth_layout },
        { "Call, 128 bytes", &rpmi_call_layout },
        { "Reply, 320 bytes", &rpmi_reply_layout },
        { "Grant, 40 bytes", &rpmi_grant_layout },
        { "Hello, 40 bytes", &rpmi_net_hello_layout },
        { "Challenge, 32 bytes", &rpmi_challenge_layout },
        { "Request, 32 bytes", &rpmi_request_layout },
        { "Answer, 16 bytes", &rpmi_answer_layout },
        { "Head, the first 8 bytes", &rpmi_msg_head_layout },
        { "Accept message, 472 bytes", &rpmi_accept_msg_layout },
        { "RPC request, 40 bytes", &rpmi_rpc_layout },
        { "Done, 24 bytes", &rpmi_done_layout },
        { "Fenced, 16 bytes", &rpmi_fenced_layout },
        { "Result, 16 bytes", &rpmi_result_layout },
        { "Head of a step, 16 bytes", &rpmi_step_layout },
        { "READ with bit 0, 24 bytes", &rpmi_must_read_layout },
        { "CAS, 32 bytes", &rpmi_cas_layout },
        { "FAA, 24 bytes", &rpmi_faa_layout },
        { "PROVE, 40 bytes", &rpmi_prove_layout },
        { "CARRY, 48 bytes and then its own", &rpmi_carry_layout },
        { "COMPARE, 40 bytes", &rpmi_compare_layout },
        { "Certificate, 64 bytes", &rpmi_certificate_layout },
        { "Front of an answer, 8 bytes", &rpmi_steps_answer_layout },
        { "Decision, 64 bytes", &rpmi_decision_layout },
    };

    for (const auto &each : all) {
        const rpmi_layout &layout = *each.second;
        std::vector<std::pair<uint32_t, uint32_t>> rows;

        for (uint32_t i = 0; i < layout.fields; i++) {
            const rpmi_field &field = layout.field[i];

            if (std::string(field.name).rfind("facts.", 0) != 0 ||
                std::string(field.name) == "facts.pool_starts") // in a row of its own
                rows.emplace_back(field.at, field.bytes);
            else if (std::string(field.name) == "facts.medium") // one row for all of them
                rows.emplace_back(field.at, 4);
            else
                rows.back().second += 4;
        }
        CAPTURE(layout.name);
        CHECK(rows == documented(each.first));
    }
}
