// SPDX-License-Identifier: BSD-3-Clause
// Lists of steps on the server CPU: it checks the whole list first, carries out the steps in order,
// and makes them durable at the end of the batch.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "base/sum.h"
#include "serve/request.h"
#include "serve/serve.h"
#include "wire/carry.h"
#include "wire/frame.h"
}
#include <cstring>

namespace
{

struct Words {
    uint64_t expect;
    uint64_t operand;
};

// A server, with one client and its objects, and without threads.
struct StepsBench {
    StepsBench()
    {
        REQUIRE(rpmi_service_attach(server->service, &client) == 0);
        rows = open(client, "rows", RPM_KIND_REGION, &rows_at);
        words = open(client, "words", RPM_KIND_DRAM, &words_at);
        rpmi_batch_begin(&batch);
    }
    StepsBench(const StepsBench &) = delete;
    static support::ServerOpts without_threads()
    {
        support::ServerOpts opts;

        opts.bytes = 1 << 20;
        opts.agents = "carrier";
        opts.threads = support::ServerOpts::kNone;
        return opts;
    }
    uint32_t open(uint32_t who, const char *name, uint32_t object, uint64_t *at)
    {
        rpmi_call call = {};
        rpmi_reply reply = {};

        call.kind = RPMI_CALL_OPEN;
        call.flags = RPMI_CALL_CREATE;
        call.object = object;
        call.bytes = 8192;
        strcpy(call.name, name);
        rpmi_serve_lock(server);
        rpmi_service_call(server->service, who, &call, &reply);
        rpmi_serve_unlock(server);
        REQUIRE(reply.status == 0);
        *at = reply.offset;
        return reply.key;
    }
    void add(uint8_t kind, uint32_t key, uint64_t offset, uint16_t len, uint8_t flags = 0,
             Words words_of = {})
    {
        rpmi_step step = {};
        size_t at = list.size();

        step.kind = kind;
        step.flags = flags;
        step.len = len;
        step.key = key;
        step.offset = offset;
        step.expect = words_of.expect;
        step.operand = words_of.operand;
        step.data = "twelve bytes";
        list.resize(at + rpmi_step_bytes(&step));
        rpmi_step_put(&list[at], &step);
        answer.resize(answer.size() + rpmi_step_result_bytes(&step), 0xee);
    }
    int run(uint8_t flags = RPMI_OP_DURABLE)
    {
        rpmi_op op = {};
        rpmi_part part = {};

        op.kind = RPMI_OP_STEPS;
        op.flags = flags;
        op.body = list.data();
        op.body_bytes = list.size();
        op.into = answer.data();
        op.len = answer.size();
        rpmi_serve_lock(server);
        int err = rpmi_request_do(server, client, &op, &part, &batch);
        rpmi_serve_unlock(server);
        return err;
    }
    void renew()
    {
        list.clear();
        answer.assign(RPMI_STEPS_ANSWER_HEAD, 0xee);
    }
    uint64_t word() const
    {
        uint64_t word;

        memcpy(&word, server->dram.base + words_at, sizeof(word));
        return word;
    }
    std::string row(uint64_t offset, size_t len) const
    {
        return std::string(reinterpret_cast<char *>(server->pool.base + rows_at + offset), len);
    }
    uint32_t done() const
    {
        uint32_t done = 99;

        REQUIRE(rpmi_steps_answer_get(answer.data(), RPMI_STEPS_MAX, &done) == 0);
        return done;
    }

    support::Server fixture{ without_threads() };
    rpm_server *server = fixture.get();
    uint32_t client = 0;
    uint32_t rows = 0;
    uint32_t words = 0;
    uint64_t rows_at = 0;
    uint64_t words_at = 0;
    std::vector<unsigned char> list;
    std::vector<unsigned char> answer = std::vector<unsigned char>(RPMI_STEPS_ANSWER_HEAD, 0xee);
    rpmi_batch batch;
};

} // namespace

TEST_CASE("steps: in order, and the stores are fenced before a word is changed", "[unit]")
{
    StepsBench bench;

    bench.add(RPMI_STEP_WRITE, bench.rows, 100, 12, RPMI_STEP_DURABLE);
    REQUIRE(bench.run() == 0);
    CHECK(bench.batch.unfenced); // till the end of the batch
    CHECK(bench.row(100, 12) == "twelve bytes");
    bench.renew();
    bench.add(RPMI_STEP_WRITE, bench.rows, 200, 12, RPMI_STEP_DURABLE);
    bench.add(RPMI_STEP_FAA, bench.words, 0, 8, 0, { 0, 3 });
    REQUIRE(bench.run() == 0);
    CHECK_FALSE(bench.batch.unfenced);
    CHECK(bench.done() == 2);
    CHECK(bench.word() == 3);
    bench.renew();
    bench.add(RPMI_STEP_WRITE, bench.rows, 200, 12, RPMI_STEP_DURABLE);
    bench.add(RPMI_STEP_WRITE, bench.words, 8, 8);
    REQUIRE(bench.run() == 0);
    CHECK_FALSE(bench.batch.unfenced); // a lock can be freed so too
    bench.renew();
    bench.add(RPMI_STEP_WRITE, bench.rows, 0, 12, RPMI_STEP_DURABLE);
    REQUIRE(bench.run(0) == 0); // a request that promises nothing
    CHECK_FALSE(bench.batch.unfenced);
}

TEST_CASE("steps: a list that is invalid or lacks rights changes nothing", "[unit]")
{
    struct {
        int err;
        void (*spoil)(StepsBench *);
    } rows[] = {
        { RPM_E_RANGE, [](StepsBench *b) { b->add(RPMI_STEP_READ, b->rows, 8190, 3); } },
        { RPM_E_RANGE, [](StepsBench *b) { b->add(RPMI_STEP_WRITE, b->rows, UINT64_MAX, 12); } },
        { RPM_E_DENIED, [](StepsBench *b) { b->add(RPMI_STEP_FAA, b->rows, 0, 8); } },
        { RPM_E_DENIED, [](StepsBench *b) { b->add(RPMI_STEP_READ, 77, 0, 8); } },
        { RPM_E_DENIED, [](StepsBench *b) { b->add(RPMI_STEP_WRITE, 0, 0, 8); } },
        { RPM_E_INVAL, [](StepsBench *b) { b->add(RPMI_STEP_FAA, b->words, 4, 8); } },
        { RPM_E_PROTO, [](StepsBench *b) { b->list[0] = 9; } },
        { RPM_E_PROTO, [](StepsBench *b) { b->list.pop_back(); } },
        { RPM_E_PROTO, [](StepsBench *b) { b->list.resize(RPMI_STEPS_BYTES + 8); } },
        { RPM_E_PROTO, [](StepsBench *b) { b->list.clear(); } },
        { RPM_E_PROTO, [](StepsBench *b) { b->answer.push_back(0); } },
        { RPM_E_PROTO, [](StepsBench *b) { b->answer.resize(RPMI_STEPS_BYTES + 1); } },
        { RPM_E_PROTO, [](StepsBench *b) { b->answer.clear(); } },
    };

    for (const auto &row : rows) {
        StepsBench bench;

        CAPTURE(&row - rows);
        bench.add(RPMI_STEP_FAA, bench.words, 0, 8, 0, { 0, 1 });
        bench.add(RPMI_STEP_WRITE, bench.rows, 0, 12, RPMI_STEP_DURABLE);
        row.spoil(&bench);
        CHECK(bench.run() == row.err);
        CHECK(bench.word() == 0);
        CHECK(bench.row(0, 12) == std::string(12, '\0'));
        CHECK_FALSE(bench.batch.unfenced);
    }
}

TEST_CASE("steps: a word is read once, even if the client changes the answer's memory", "[unit]")
{
    StepsBench bench;

    bench.add(RPMI_STEP_FAA, bench.words, 0, 8, 0, { 0, 5 });
    bench.add(RPMI_STEP_READ, bench.words, 0, 8, RPMI_STEP_MUST, { 5, 0 });
    bench.add(RPMI_STEP_CAS, bench.words, 0, 8, RPMI_STEP_MUST, { 4, 9 });
    bench.add(RPMI_STEP_FAA, bench.words, 0, 8, 0, { 0, 100 });
    REQUIRE(bench.run() == 0);
    CHECK(bench.done() == 2);
    CHECK(bench.word() == 5);
    CHECK(bench.answer.size() == 40);
    CHECK(rpmi_load64(&bench.answer[8]) == 0);
    CHECK(rpmi_load64(&bench.answer[16]) == 5);
    CHECK(rpmi_load64(&bench.answer[24]) == 5);
    CHECK(rpmi_load64(&bench.answer[32]) == 0);
}

namespace
{

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
    bench.renew();
    bench.list.resize(rpmi_step_bytes(&step));
    rpmi_step_put(bench.list.data(), &step);
    bench.answer.resize(16, 0xee);
    int err = bench.run();
    memcpy(sum, &bench.answer[8], sizeof(*sum));
    return err;
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

TEST_CASE("steps: a durable write is in the batch's msync where that is the domain", "[unit]")
{
    StepsBench bench;

    bench.server->pool.facts.domain = RPM_DOMAIN_MSYNC;
    bench.add(RPMI_STEP_WRITE, bench.rows, 0, 12, RPMI_STEP_DURABLE);
    bench.add(RPMI_STEP_WRITE, bench.rows, 5000, 12);
    REQUIRE(bench.run() == 0);
    REQUIRE(bench.batch.dirty_n == 1);
    CHECK(bench.batch.dirty[0].first <= bench.rows_at);
    CHECK(bench.batch.dirty[0].end <= bench.rows_at + 4096 + RPMI_PAGE_BYTES);
    rpmi_batch_begin(&bench.batch);
    bench.server->pool.facts.domain = RPM_DOMAIN_ADR;
}

namespace
{

// The same server, with a log that the client has claimed, and records in it.
struct ProveBench : StepsBench {
    ProveBench()
    {
        rpmi_call call = {};

        call.kind = RPMI_CALL_OPEN;
        call.flags = RPMI_CALL_CREATE;
        call.object = RPM_KIND_LOG;
        call.bytes = 65536;
        strcpy(call.name, "log");
        opened = ask(call);
        call = {};
        call.kind = RPMI_CALL_CLAIM;
        call.key = opened.key;
        claimed = ask(call);
        call.kind = RPMI_CALL_SEAL;
        call.key = claimed.key;
        (void)ask(call);
        renew();
    }
    rpmi_reply ask(const rpmi_call &call)
    {
        rpmi_reply reply = {};

        rpmi_serve_lock(server);
        rpmi_service_call(server->service, client, &call, &reply);
        rpmi_serve_unlock(server);
        REQUIRE(reply.status == 0);
        return reply;
    }
    void write(uint64_t lsn)
    {
        unsigned char *to = server->pool.base + opened.offset + RPMI_LOG_HEADER_BYTES + lsn;
        rpmi_frame frame = {};

        frame.lsn = lsn;
        frame.len = 40;
        frame.epoch = claimed.epoch;
        rpmi_frame_put(to, &frame, opened.id, to + RPMI_FRAME_HEADER_BYTES);
    }
    void add_prove(uint64_t first, uint64_t end)
    {
        rpmi_step step = {};
        size_t at = list.size();

        step.kind = RPMI_STEP_PROVE;
        step.len = RPMI_CERTIFICATE_BYTES;
        step.offset = first;
        step.log_id = opened.id;
        step.end_lsn = end;
        step.epoch = claimed.epoch;
        list.resize(at + rpmi_step_bytes(&step));
        rpmi_step_put(&list[at], &step);
        answer.resize(answer.size() + RPMI_CERTIFICATE_BYTES, 0xee);
    }
    // A record at @lsn, by way of this client.
    void add_carry(uint64_t lsn)
    {
        unsigned char record[64] = {};
        rpmi_frame frame = {};
        rpmi_step step = {};
        size_t at = list.size();
        uint32_t bytes = 0;

        frame.lsn = lsn;
        frame.len = 40;
        frame.epoch = claimed.epoch;
        rpmi_frame_put(record, &frame, opened.id, record + RPMI_FRAME_HEADER_BYTES);
        step.kind = RPMI_STEP_CARRY;
        step.len = sizeof(record);
        step.offset = lsn;
        step.log_id = opened.id;
        step.epoch = claimed.epoch;
        step.data = record;
        list.resize(at + rpmi_step_bytes(&step));
        REQUIRE(rpmi_carry_put(&list[at], &step, claimed.certificate_key, &bytes) == 0);
    }
    void name_agent(uint32_t kind, uint32_t key)
    {
        rpmi_call call = {};

        call.kind = kind;
        call.key = key;
        strcpy(call.name, "carrier");
        (void)ask(call);
    }
    int certified(size_t which, rpmi_certificate *certificate)
    {
        return rpmi_certificate_get(
            &answer[RPMI_STEPS_ANSWER_HEAD + which * RPMI_CERTIFICATE_BYTES],
            claimed.certificate_key, certificate);
    }
    void end_batch()
    {
        rpmi_batch_fence(&batch);
        rpmi_batch_sync(server, &batch);
    }

    rpmi_reply opened = {};
    rpmi_reply claimed = {};
};

} // namespace

TEST_CASE("steps: a certificate is made when the batch is durable, and not before", "[unit]")
{
    ProveBench bench;
    rpmi_certificate certificate = {};

    bench.write(0);
    bench.add_prove(0, 128);
    bench.add_prove(64, 128);
    REQUIRE(bench.run() == 0);
    CHECK(bench.batch.unfenced);
    CHECK(bench.batch.proofs_n == 2);
    CHECK(bench.certified(0, &certificate) == RPM_E_DENIED);
    bench.end_batch();
    REQUIRE(bench.certified(0, &certificate) == 0);
    CHECK(certificate.end_lsn == 64);
    CHECK(certificate.level == RPM_DURABLE);
    REQUIRE(bench.certified(1, &certificate) == 0);
    CHECK(certificate.end_lsn == 64);
    CHECK(bench.batch.proofs_n == 0);
    bench.renew();
    bench.add_prove(0, 64);
    REQUIRE(bench.run(0) == 0); // a request that asks for no flush
    CHECK_FALSE(bench.batch.unfenced);
    bench.end_batch();
    REQUIRE(bench.certified(0, &certificate) == 0);
    CHECK(certificate.level == RPM_VISIBLE);
}

TEST_CASE("steps: no certificate is made if the records could not be made durable", "[unit]")
{
    ProveBench bench;
    rpmi_certificate certificate = {};

    bench.write(0);
    bench.add_prove(0, 64);
    REQUIRE(bench.run() == 0);
    rpmi_batch_fence(&bench.batch);
    bench.batch.msync_status = RPM_E_IO;
    rpmi_batch_sync(bench.server, &bench.batch);
    CHECK(bench.certified(0, &certificate) == RPM_E_IO);
}

TEST_CASE("steps: what a batch has no room to certify is to be asked for again", "[unit]")
{
    ProveBench bench;
    rpmi_certificate certificate = {};

    bench.write(0);
    for (uint32_t i = 0; i < RPMI_PROOFS_MAX / 32 + 1; i++) {
        bench.renew();
        for (uint32_t k = 0; k < 32; k++)
            bench.add_prove(0, 64);
        REQUIRE(bench.run() == 0);
    }
    CHECK(bench.certified(31, &certificate) == RPM_E_BUSY);
    bench.batch.proofs_n = 0; // the answers of the first lists are gone
    bench.end_batch();
}

TEST_CASE("steps: what a declared agent carries is stored, and certified by the same list",
          "[unit][agent]")
{
    ProveBench bench;
    rpmi_certificate certificate = {};

    bench.name_agent(RPMI_CALL_DELEGATE, bench.claimed.key);
    bench.add_carry(0);
    bench.add_carry(64);
    bench.add_prove(0, 128);
    REQUIRE(bench.run() == 0); // by a client that is no agent: the CARRYs are left out
    bench.end_batch();
    REQUIRE(bench.certified(0, &certificate) == 0);
    CHECK(certificate.end_lsn == 0);
    CHECK(bench.server->stats.rejected == 2);
    bench.name_agent(RPMI_CALL_AGENT, 0);
    bench.renew();
    bench.add_carry(0);
    bench.add_carry(64);
    bench.add_prove(0, 128);
    REQUIRE(bench.run() == 0);
    CHECK(bench.batch.changed);
    bench.end_batch();
    REQUIRE(bench.certified(0, &certificate) == 0);
    CHECK(certificate.end_lsn == 128);
    CHECK(certificate.level == RPM_DURABLE);
    CHECK(bench.server->stats.carried == 2);
    CHECK(bench.server->stats.rejected == 2);
}
