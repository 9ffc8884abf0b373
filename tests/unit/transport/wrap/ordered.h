// SPDX-License-Identifier: BSD-3-Clause
// ordered.h: a link with an agent over two fake links, whose answers the test decides.
#ifndef TESTS_UNIT_TRANSPORT_WRAP_ORDERED_H
#define TESTS_UNIT_TRANSPORT_WRAP_ORDERED_H

#include "unit/transport/fake.h"

extern "C" {
#include "transport/wrap/carry.h"
#include "transport/wrap/order_link.h"
}

// The agent: it keeps each list that it is sent, and answers when it is told to.
struct FakeAgent {
    Fake fake{ RPMI_LINK_STEPS };
    unsigned char memory[2][RPMI_STEPS_BYTES]; // of the list and of the answer
    int dialled = 0;
    int refuse = 0; // what dialling returns
    rpmi_transport_ops ops = *fake_ops();

    FakeAgent()
    {
        ops.stage = [](rpmi_link *link, uint64_t bytes) -> void * {
            FakeAgent *ours = reinterpret_cast<FakeAgent *>(link);

            CHECK(bytes == RPMI_STEPS_BYTES);
            return ours->memory[ours->staged++ % 2];
        };
        fake.link.ops = &ops;
    }
    FakeAgent(const FakeAgent &) = delete;

    // The steps of the last list of one kind.
    std::vector<rpmi_step> asked(uint8_t kind = RPMI_STEP_PROVE) const
    {
        std::vector<rpmi_step> all;
        rpmi_steps steps;
        rpmi_step step;

        if (fake.posted.empty())
            return all;
        rpmi_steps_begin(&steps, fake.posted.back().body,
                         static_cast<uint32_t>(fake.posted.back().body_bytes));
        while (rpmi_steps_next(&steps, &step) == 1)
            if (step.kind == kind)
                all.push_back(step);
        return all;
    }
    // Answers the last list: each PROVE up to @end_lsn, 0: all of it, under @key.
    void answer(uint64_t end_lsn, const uint64_t *key, uint32_t epoch = 3)
    {
        unsigned char *to = static_cast<unsigned char *>(fake.posted.back().into);
        uint32_t at = RPMI_STEPS_ANSWER_HEAD;

        for (const rpmi_step &step : asked()) {
            rpmi_certificate made = {};

            made.level = RPM_DURABLE;
            made.log_id = step.log_id;
            made.first_lsn = step.offset;
            made.end_lsn = end_lsn != 0 ? end_lsn : step.end_lsn;
            made.epoch = epoch;
            made.server_epoch = 77;
            REQUIRE(rpmi_certificate_put(to + at, &made, key) == 0);
            at += RPMI_CERTIFICATE_BYTES;
        }
        finish();
    }
    void refuse_all(int status)
    {
        unsigned char *to = static_cast<unsigned char *>(fake.posted.back().into);

        for (size_t i = 0; i < asked().size(); i++)
            rpmi_certificate_refuse(to + RPMI_STEPS_ANSWER_HEAD + i * RPMI_CERTIFICATE_BYTES,
                                    status);
        finish();
    }
    void finish()
    {
        rpmi_steps_answer_put(
            fake.posted.back().into,
            static_cast<uint32_t>(asked().size() + asked(RPMI_STEP_CARRY).size()));
        fake.late = 0;
    }
    rpmi_agent_address address()
    {
        rpmi_agent_address made = {};

        REQUIRE(rpmi_agent_set_address(&made, "fake:agent", nullptr) == 0);
        made.context = this;
        made.dial = [](void *context, const char *, const rpmi_link_opts *, rpmi_link **link) {
            FakeAgent *ours = static_cast<FakeAgent *>(context);

            ours->dialled++;
            ours->fake.link.lost = 0;
            ours->fake.done.clear();
            ours->fake.outstanding = 0;
            ours->fake.late = INT32_MAX; // until it is told to answer
            *link = &ours->fake.link;
            return ours->refuse;
        };
        return made;
    }
    uint32_t staged = 0;
};

static_assert(offsetof(FakeAgent, fake) == 0, "its link is that of the fake");

const uint64_t KEY[RPMI_CERTIFICATE_KEY_WORDS] = { 11, 12 };
const uint32_t READ_KEY = 4;
const uint32_t WRITE_KEY = 5;

// The server has opened log 99 and granted a claim of epoch 3.
struct Ordered {
    FakeAgent agent;
    Fake server;
    rpmi_link *link = nullptr;

    bool always; // ORDERs are for the agent, else for the faster one of agent and server

    explicit Ordered(uint64_t timeout_us = 5000000, bool by_agent = true,
                     const char *carry = nullptr, const rpmi_calibration &calibration = {})
        : always(by_agent)
    {
        rpmi_agent_address address = agent.address();

        address.calibration = calibration;
        if (carry != nullptr) {
            REQUIRE(rpmi_carry_set_name(&address, carry) == 0);
            server.link.flags |= RPMI_LINK_CARRY;
        }
        server.link.facts.methods = 1u << RPM_METHOD_MESSAGE;
        server.link.facts.domain = RPM_DOMAIN_ADR;
        server.link.depth = 64;
        REQUIRE(rpmi_order_open(&server.link, &address, timeout_us, &link) == 0);
        learn(RPMI_CALL_OPEN, 0, READ_KEY);
        learn(RPMI_CALL_CLAIM, READ_KEY, WRITE_KEY);
        server.late = 0;
    }
    Ordered(const Ordered &) = delete;
    ~Ordered()
    {
        link->ops->close(link);
        CHECK(server.closed == 1);
    }
    rpmi_order *order()
    {
        return rpmi_order_of(link);
    }
    void learn(uint32_t kind, uint32_t key, uint32_t granted)
    {
        rpmi_call call = {};
        rpmi_reply reply = {};

        call.kind = kind;
        call.key = key;
        call.object = RPM_KIND_LOG;
        reply.key = granted;
        reply.id = 99;
        reply.epoch = 3;
        reply.certificate_key[0] = KEY[0];
        reply.certificate_key[1] = KEY[1];
        rpmi_agent_learn(&order()->agent, &call, &reply);
    }
    static rpmi_op write(uint64_t id, uint8_t flags = 0)
    {
        rpmi_op op = Wrapped::op(id, flags);

        op.key = WRITE_KEY;
        return op;
    }
    static rpmi_op order_of(uint64_t id, uint64_t first_lsn, uint64_t end_lsn,
                            uint8_t flags = RPMI_OP_SIGNALED)
    {
        rpmi_op op = Wrapped::op(id, flags, RPMI_OP_ORDER);

        op.key = WRITE_KEY;
        op.offset = RPMI_LOG_HEADER_BYTES + first_lsn % 4096;
        op.len = end_lsn - first_lsn;
        op.expect = first_lsn;
        op.operand = end_lsn;
        return op;
    }
    int post(std::vector<rpmi_op> ops)
    {
        for (rpmi_op &op : ops)
            if (always && (op.kind == RPMI_OP_ORDER || op.kind == RPMI_OP_CARRY))
                op.flags |= RPMI_OP_ALWAYS;
        return link->ops->post(link, ops.data(), static_cast<uint32_t>(ops.size()));
    }
    // The ids of the completions that there are.
    std::vector<uint64_t> poll()
    {
        rpmi_done done[16];
        std::vector<uint64_t> ids;
        int n = link->ops->poll(link, done, 16);

        for (int i = 0; i < n; i++) {
            CHECK(done[i].status == 0);
            ids.push_back(done[i].id);
        }
        return ids;
    }
    void pass(uint64_t ns)
    {
        server.now_ns += ns;
    }
    std::vector<uint8_t> kinds() const
    {
        std::vector<uint8_t> kinds;

        for (const rpmi_op &op : server.posted)
            kinds.push_back(op.kind);
        return kinds;
    }
};

#endif
