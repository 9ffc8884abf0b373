// SPDX-License-Identifier: BSD-3-Clause
// READs of decisions on an agent's link, between lists of PROVEs.
#include "unit/transport/wrap/ordered.h"

#include <librpm/diag.h>

namespace
{

const uint64_t FETCH_LOG = 3 + 5 * RPMI_DECISION_SETS;
const uint32_t FETCH_KEY = 9;

// An agent whose front has the region, or not.
struct FetchFront {
    Fake fake{ RPMI_LINK_STEPS };
    std::vector<unsigned char> region = std::vector<unsigned char>(RPMI_DECISIONS_BYTES);
    std::vector<std::vector<unsigned char>> staged;
    rpmi_transport_ops ops = *fake_ops();
    rpmi_agent agent = {};
    uint64_t now_ns = 1000;
    int status = 0;      // of opening the region
    bool silent = false; // it does not answer that
    uint64_t bytes = RPMI_DECISIONS_BYTES;

    FetchFront()
    {
        rpmi_agent_address address = {};

        staged.reserve(64); // their memory stays
        ops.stage = [](rpmi_link *link, uint64_t wanted) -> void * {
            FetchFront *ours = reinterpret_cast<FetchFront *>(link);

            ours->staged.emplace_back(wanted);
            return ours->staged.back().data();
        };
        ops.call = [](rpmi_link *link, const rpmi_call *call, rpmi_reply *reply, uint64_t) {
            FetchFront *ours = reinterpret_cast<FetchFront *>(link);

            CHECK(call->kind == RPMI_CALL_OPEN);
            CHECK(call->object == RPM_KIND_DRAM);
            CHECK(call->flags == 0);
            CHECK(std::string(call->name) == RPMI_DECISIONS_NAME);
            ours->fake.calls++;
            if (ours->silent)
                return static_cast<int>(RPM_E_TIMEDOUT);
            *reply = {};
            reply->status = ours->status;
            reply->key = FETCH_KEY;
            reply->bytes = ours->bytes;
            return 0;
        };
        ops.post = [](rpmi_link *link, const rpmi_op *posted, uint32_t n) {
            FetchFront *ours = reinterpret_cast<FetchFront *>(link);

            for (uint32_t i = 0; i < n; i++) {
                if (posted[i].kind == RPMI_OP_READ)
                    memcpy(posted[i].into, &ours->region[posted[i].offset], posted[i].len);
                if (posted[i].kind == RPMI_OP_WRITE)
                    memcpy(&ours->region[posted[i].offset], posted[i].body, posted[i].len);
            }
            return fake_post(link, posted, n);
        };
        fake.link.ops = &ops;
        REQUIRE(rpmi_agent_set_address(&address, "fake:agent", nullptr) == 0);
        address.context = this;
        address.dial = [](void *context, const char *, const rpmi_link_opts *, rpmi_link **link) {
            FetchFront *ours = static_cast<FetchFront *>(context);

            ours->fake.link.lost = 0;
            ours->fake.done.clear();
            ours->fake.outstanding = 0;
            *link = &ours->fake.link;
            return 0;
        };
        REQUIRE(rpmi_agent_open(&agent, &address, -1, now_ns, 1000) == 0);
    }
    FetchFront(const FetchFront &) = delete;
    ~FetchFront()
    {
        rpmi_agent_close(&agent);
    }
    void write(uint64_t log_id, uint64_t number, uint32_t way)
    {
        rpmi_decision line = { 1, log_id, 0, 640, 576, 5, number };

        rpmi_decision_put(&region[rpmi_decision_set(log_id) * RPMI_DECISION_SET_BYTES +
                                  way * RPMI_DECISION_BYTES],
                          &line);
    }
    void send(uint64_t log_id = FETCH_LOG, uint64_t ask = 0)
    {
        rpmi_agent_fetch(&agent, log_id, ask, now_ns, 0);
    }
    rpmi_fetched take(uint64_t log_id = FETCH_LOG)
    {
        return rpmi_agent_fetched(&agent, log_id, now_ns, &found, &run);
    }
    void send_list()
    {
        rpmi_call call = {};
        rpmi_reply reply = {};
        rpmi_ask ask = { WRITE_KEY, 0, 0, 64 };

        call.kind = RPMI_CALL_OPEN;
        call.object = RPM_KIND_LOG;
        reply.key = READ_KEY;
        rpmi_agent_learn(&agent, &call, &reply);
        call.kind = RPMI_CALL_CLAIM;
        call.key = READ_KEY;
        reply.key = WRITE_KEY;
        reply.epoch = 3;
        rpmi_agent_learn(&agent, &call, &reply);
        rpmi_agent_send(&agent, &ask, 1, now_ns);
        rpmi_certificate_refuse(agent.answer + RPMI_STEPS_ANSWER_HEAD, RPM_E_BUSY);
        rpmi_steps_answer_put(agent.answer, 1);
    }
    rpmi_decision found = {};
    uint32_t run = 0;
};

static_assert(offsetof(FetchFront, fake) == 0, "its link is that of the fake");

} // namespace

TEST_CASE("fetch: one READ brings the log's line of its set", "[unit][agent]")
{
    FetchFront front;

    CHECK(front.fake.calls == 0); // not before a log wants it
    rpmi_fetch_want(&front.agent);
    rpmi_fetch_want(&front.agent);
    CHECK(front.fake.calls == 1);
    CHECK(front.take() == RPMI_FETCH_IDLE);
    front.write(FETCH_LOG + RPMI_DECISION_SETS, 1, 0);
    front.write(FETCH_LOG, 2, 5);
    front.fake.late = 2;
    front.send();
    front.send(); // it is on its way
    CHECK(front.take() == RPMI_FETCH_SENT);
    CHECK(front.take(FETCH_LOG + 1) == RPMI_FETCH_IDLE);
    CHECK(front.take() == RPMI_FETCH_LINE);
    CHECK(front.found.number == 2);
    CHECK(front.found.log_id == FETCH_LOG);
    CHECK(front.run == 77);
    CHECK(front.take() == RPMI_FETCH_IDLE); // once
    REQUIRE(front.fake.posted.size() == 1);
    CHECK(front.fake.posted[0].key == FETCH_KEY);
    CHECK(front.fake.posted[0].len == 512);
}

TEST_CASE("fetch: a set without the log's line, or with a damaged one, has nothing",
          "[unit][agent]")
{
    FetchFront front;

    rpmi_fetch_want(&front.agent);
    front.send();
    CHECK(front.take() == RPMI_FETCH_NOTHING);
    front.write(FETCH_LOG, 2, 5);
    front.region[3 * RPMI_DECISION_SET_BYTES + 5 * RPMI_DECISION_BYTES + 9] ^= 1;
    front.send();
    CHECK(front.take() == RPMI_FETCH_NOTHING);
}

TEST_CASE("fetch: a question is a WRITE of the set's word in front of the READ", "[unit][agent]")
{
    FetchFront front;
    uint64_t word;

    rpmi_fetch_want(&front.agent);
    front.send(FETCH_LOG, 55);
    memcpy(&word, &front.region[RPMI_DECISION_WORDS_AT + 3 * sizeof(word)], sizeof(word));
    CHECK(word == 55);
    REQUIRE(front.fake.posted.size() == 2);
    CHECK(front.fake.posted[0].kind == RPMI_OP_WRITE);
    CHECK(front.fake.posted[1].kind == RPMI_OP_READ);
    CHECK(front.take() == RPMI_FETCH_NOTHING);
}

TEST_CASE("fetch: what came for one log is dropped for the READ of another", "[unit][agent]")
{
    FetchFront front;

    rpmi_fetch_want(&front.agent);
    front.write(FETCH_LOG, 2, 0);
    front.send();
    CHECK(front.take(FETCH_LOG + 1) == RPMI_FETCH_IDLE);
    front.send(FETCH_LOG + 1);
    CHECK(front.take() == RPMI_FETCH_IDLE);
    CHECK(front.take(FETCH_LOG + 1) == RPMI_FETCH_NOTHING);
}

TEST_CASE("fetch: it and a list of PROVEs do not take each other's completions", "[unit][agent]")
{
    for (bool list_first : { false, true })
        for (bool fetch_takes : { false, true }) {
            FetchFront front;

            CAPTURE(list_first, fetch_takes);
            rpmi_fetch_want(&front.agent);
            front.write(FETCH_LOG, 2, 0);
            if (list_first)
                front.send_list();
            front.send();
            if (!list_first)
                front.send_list();
            CHECK(front.agent.asks == 1);
            if (fetch_takes)
                for (int turn = 0; turn < 4 && front.take() != RPMI_FETCH_LINE; turn++)
                    ;
            CHECK(rpmi_agent_take(&front.agent, 77, RPM_DURABLE, front.now_ns));
            CHECK(front.agent.asks == 0);
            if (!fetch_takes)
                for (int turn = 0; turn < 4 && front.take() != RPMI_FETCH_LINE; turn++)
                    ;
            CHECK(front.found.number == 2);
            CHECK_FALSE(rpmi_agent_is_away(&front.agent, front.now_ns, RPMI_ORDER_NS));
        }
}

TEST_CASE("fetch: an agent that does not answer a READ is left alone, and dialled again",
          "[unit][agent]")
{
    FetchFront front;

    rpmi_fetch_want(&front.agent);
    front.fake.late = INT32_MAX;
    front.send();
    front.now_ns += RPMI_FETCH_LOST_NS;
    CHECK(front.take() == RPMI_FETCH_SENT);
    front.now_ns++;
    CHECK(front.take() == RPMI_FETCH_LOST);
    CHECK(front.take() == RPMI_FETCH_IDLE);
    CHECK(front.agent.link == nullptr);
    front.send();
    CHECK(front.fake.posted.size() == 1);
    front.now_ns += 2 * RPMI_AGENT_PAUSE_NS;
    front.fake.late = 0;
    front.write(FETCH_LOG, 2, 0);
    rpmi_agent_fetch(&front.agent, FETCH_LOG, 0, front.now_ns, 1000);
    CHECK(front.fake.calls == 2); // the region of the new connection
    CHECK(front.take() == RPMI_FETCH_LINE);
    CHECK(front.agent.pause_ns == RPMI_AGENT_PAUSE_NS);
}

TEST_CASE("fetch: a connection that is lost, and a READ that is refused", "[unit][agent]")
{
    FetchFront front;

    rpmi_fetch_want(&front.agent);
    front.fake.late = INT32_MAX;
    front.send();
    front.fake.link.lost = RPM_E_LOST;
    CHECK(front.take() == RPMI_FETCH_LOST);
    CHECK(front.agent.link == nullptr);

    FetchFront other;
    rpmi_fetch_want(&other.agent);
    other.send();
    other.fake.done.back().status = RPM_E_DENIED;
    CHECK(other.take() == RPMI_FETCH_IDLE);
    other.send();
    CHECK(other.fake.posted.size() == 1); // there is no region
}

TEST_CASE("fetch: an agent without the region, or with a smaller one, has no decisions",
          "[unit][agent]")
{
    for (int status : { static_cast<int>(RPM_E_NOENT), 0 }) {
        FetchFront front;

        front.status = status;
        front.bytes = status == 0 ? RPMI_DECISIONS_BYTES - 64 : RPMI_DECISIONS_BYTES;
        rpmi_fetch_want(&front.agent);
        front.send();
        CHECK(front.fake.posted.empty());
        CHECK(front.take() == RPMI_FETCH_IDLE);
    }
}

TEST_CASE("fetch: an agent that is stopped while its region is opened is dialled again",
          "[unit][agent]")
{
    FetchFront front;

    front.silent = true;
    rpmi_fetch_want(&front.agent);
    CHECK(front.fake.link.lost == RPM_E_TIMEDOUT);
    front.silent = false;
    front.write(FETCH_LOG, 2, 0);
    rpmi_agent_fetch(&front.agent, FETCH_LOG, 0, front.now_ns, 1000);
    CHECK(front.take() == RPMI_FETCH_LINE);
}
