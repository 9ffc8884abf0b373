// SPDX-License-Identifier: BSD-3-Clause
// steps.h: a server without threads, and lists of steps that it carries out.
#ifndef TESTS_UNIT_SERVE_STEPS_H
#define TESTS_UNIT_SERVE_STEPS_H

#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "serve/request.h"
#include "serve/serve.h"
}
#include <cstring>

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

#endif
