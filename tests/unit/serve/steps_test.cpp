// SPDX-License-Identifier: BSD-3-Clause
// Lists of steps on the server CPU: it checks the whole list first, carries out the steps in order,
// and makes them durable at the end of the batch.
#include "unit/serve/steps.h"

extern "C" {
#include "wire/carry.h"
#include "wire/frame.h"
}

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
        { RPM_E_PROTO, [](StepsBench *b) { b->list[0] = 10; } },
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
