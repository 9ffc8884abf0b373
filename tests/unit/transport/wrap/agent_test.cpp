// SPDX-License-Identifier: BSD-3-Clause
// The conversation with an agent: when it is asked, what counts as an answer, and how long it is
// left alone.
#include "unit/transport/wrap/ordered.h"

namespace
{

const uint64_t TIMEOUT_US = 1000;

struct Talk {
    FakeAgent fake;
    rpmi_agent agent = {};
    uint64_t now_ns = 1000;

    Talk()
    {
        open(0);
        learn(RPMI_CALL_OPEN, 0, READ_KEY);
        learn(RPMI_CALL_CLAIM, READ_KEY, WRITE_KEY);
    }
    Talk(const Talk &) = delete;
    ~Talk()
    {
        rpmi_agent_close(&agent);
    }
    void open(int refuse)
    {
        rpmi_agent_address address = fake.address();

        rpmi_agent_close(&agent);
        fake.refuse = refuse;
        REQUIRE(rpmi_agent_open(&agent, &address, -1, now_ns, TIMEOUT_US) == 0);
        fake.refuse = 0;
    }
    void learn(uint32_t kind, uint32_t key, uint32_t granted, int status = 0)
    {
        rpmi_call call = {};
        rpmi_reply reply = {};

        call.kind = kind;
        call.key = key;
        call.object = RPM_KIND_LOG;
        reply.status = status;
        reply.key = granted;
        reply.id = 99;
        reply.epoch = 3;
        reply.certificate_key[0] = KEY[0];
        reply.certificate_key[1] = KEY[1];
        rpmi_agent_learn(&agent, &call, &reply);
    }
    void send(uint64_t first_lsn, uint64_t end_lsn)
    {
        rpmi_ask ask = { WRITE_KEY, 0, first_lsn, end_lsn };

        rpmi_agent_send(&agent, &ask, 1, now_ns);
        fake.fake.late = INT32_MAX;
    }
    bool take(rpm_level level = RPM_DURABLE, uint32_t server_epoch = 77)
    {
        return rpmi_agent_take(&agent, server_epoch, level, now_ns);
    }
    uint64_t certified()
    {
        return rpmi_agent_claim(&agent, WRITE_KEY)->certified_lsn;
    }
    bool is_away()
    {
        return rpmi_agent_is_away(&agent, now_ns, RPMI_ORDER_NS);
    }
};

} // namespace

TEST_CASE("agent: what the server certifies advances the claim, and never back", "[unit]")
{
    Talk talk;

    talk.send(0, 128);
    CHECK_FALSE(talk.take());
    talk.fake.answer(0, KEY);
    CHECK(talk.take());
    CHECK(talk.certified() == 128);
    talk.send(128, 256);
    talk.fake.answer(128, KEY); // nothing more has arrived
    CHECK(talk.take());
    CHECK(talk.certified() == 128);
    talk.send(64, 128);
    talk.fake.answer(0, KEY);
    CHECK(talk.take());
    CHECK(talk.certified() == 128);
    CHECK_FALSE(talk.is_away());
    CHECK(talk.agent.stats.refused == 0);
}

TEST_CASE("agent: a certificate of anything else is none", "[unit]")
{
    static const uint64_t other[] = { KEY[0], KEY[1] + 1 };

    struct {
        const char *what;
        void (*answer)(Talk &);
        rpm_level level;
        uint32_t server_epoch;
    } rows[] = {
        { "another key", [](Talk &t) { t.fake.answer(0, other); }, RPM_DURABLE, 77 },
        { "another claim", [](Talk &t) { t.fake.answer(0, KEY, 4); }, RPM_DURABLE, 77 },
        { "another run", [](Talk &t) { t.fake.answer(0, KEY); }, RPM_DURABLE, 78 },
        { "a refusal", [](Talk &t) { t.fake.refuse_all(RPM_E_FENCED); }, RPM_DURABLE, 77 },
    };

    for (const auto &row : rows) {
        Talk talk;

        CAPTURE(row.what);
        talk.send(0, 128);
        row.answer(talk);
        CHECK(talk.take(row.level, row.server_epoch));
        CHECK(talk.certified() == 0);
        CHECK(talk.agent.stats.refused == 1);
        CHECK(talk.is_away());
    }
}

TEST_CASE("agent: a server with too much to certify is asked again", "[unit]")
{
    Talk talk;

    talk.send(0, 128);
    talk.fake.refuse_all(RPM_E_BUSY);
    CHECK(talk.take());
    CHECK(talk.certified() == 0);
    CHECK_FALSE(talk.is_away());
    CHECK(rpmi_agent_is_free(&talk.agent, talk.now_ns, 0));
}

TEST_CASE("agent: a certificate that begins behind the records says nothing of them", "[unit]")
{
    Talk talk;
    unsigned char *to = talk.agent.answer + RPMI_STEPS_ANSWER_HEAD;
    rpmi_certificate later = {};

    talk.send(0, 256);
    talk.fake.answer(0, KEY);
    later.level = RPM_DURABLE;
    later.log_id = 99;
    later.first_lsn = 64;
    later.end_lsn = 256;
    later.epoch = 3;
    later.server_epoch = 77;
    REQUIRE(rpmi_certificate_put(to, &later, KEY) == 0);
    CHECK(talk.take());
    CHECK(talk.certified() == 0);
}

TEST_CASE("agent: it is left alone for longer and longer, and asked as before once it answers",
          "[unit]")
{
    Talk talk;
    uint64_t pause = RPMI_AGENT_PAUSE_NS;

    for (int failures = 0; failures < 8; failures++) {
        talk.open(failures == 0 ? 0 : RPM_E_REFUSED);
        if (failures == 0)
            rpmi_agent_late(&talk.agent, talk.now_ns);
        CHECK(talk.is_away());
        talk.now_ns += RPMI_AGENT_PAUSE_NS;
        CHECK_FALSE(talk.is_away());
    }
    talk.open(0);
    for (int late = 0; late < 10; late++) {
        rpmi_agent_late(&talk.agent, talk.now_ns);
        rpmi_agent_late(&talk.agent, talk.now_ns); // counts once
        talk.now_ns += pause - 1;
        CHECK(talk.is_away());
        talk.now_ns += 1;
        CHECK_FALSE(talk.is_away());
        pause = pause < RPMI_AGENT_PAUSE_MAX_NS ? 2 * pause : pause;
    }
    CHECK(pause >= RPMI_AGENT_PAUSE_MAX_NS);
    talk.learn(RPMI_CALL_OPEN, 0, READ_KEY);
    talk.learn(RPMI_CALL_CLAIM, READ_KEY, WRITE_KEY);
    talk.send(0, 128);
    talk.fake.answer(0, KEY);
    CHECK(talk.take());
    CHECK(talk.agent.pause_ns == RPMI_AGENT_PAUSE_NS);
}

TEST_CASE("agent: a lost one is dialled again, by a post alone", "[unit]")
{
    Talk talk;

    talk.send(0, 128);
    talk.fake.fake.late = 0;
    talk.fake.fake.done.clear();
    talk.fake.fake.link.lost = RPM_E_LOST;
    CHECK(talk.take()); // the list has ended without an answer
    CHECK(talk.is_away());
    CHECK_FALSE(rpmi_agent_is_free(&talk.agent, talk.now_ns, 1000000));
    talk.now_ns += RPMI_AGENT_PAUSE_NS;
    CHECK_FALSE(rpmi_agent_is_free(&talk.agent, talk.now_ns, 0));
    CHECK(talk.fake.dialled == 1);
    CHECK(rpmi_agent_is_free(&talk.agent, talk.now_ns, 1000000));
    CHECK(talk.fake.dialled == 2);
}

TEST_CASE("agent: only what is plainly another address fails to open", "[unit]")
{
    FakeAgent fake;
    rpmi_agent_address address = fake.address();
    rpmi_agent agent = {};

    for (int err : std::initializer_list<int>{ RPM_E_DENIED, RPM_E_VERSION, RPM_E_INVAL }) {
        fake.refuse = err;
        CHECK(rpmi_agent_open(&agent, &address, -1, 0, TIMEOUT_US) == err);
    }
    fake.refuse = 0;
    fake.fake.link.flags = 0;
    CHECK(rpmi_agent_open(&agent, &address, -1, 0, TIMEOUT_US) == RPM_E_NOCAP);
    CHECK(rpmi_agent_set_address(&address, std::string(RPMI_URL_BYTES_MAX, 'x').c_str(), nullptr) ==
          RPM_E_INVAL);
    CHECK(rpmi_agent_set_address(&address, "tcp://h:1+tls=f+agent=unix:a", nullptr) == RPM_E_INVAL);
    REQUIRE(rpmi_agent_set_address(&address, "tcp://h:1+tls=f+mode=ring", nullptr) == 0);
    CHECK(std::string(address.url) == "tcp://h:1,tls=f,mode=ring");
}

TEST_CASE("agent: claims are known by their keys, until these end", "[unit]")
{
    Talk talk;

    CHECK(rpmi_agent_claim(&talk.agent, READ_KEY) == nullptr);
    CHECK(rpmi_agent_claim(&talk.agent, RPMI_KEYS_MAX) == nullptr);
    REQUIRE(rpmi_agent_claim(&talk.agent, WRITE_KEY) != nullptr);
    CHECK(rpmi_agent_claim(&talk.agent, WRITE_KEY)->log_id == 99);
    talk.learn(RPMI_CALL_CLAIM, READ_KEY, 9, RPM_E_OWNED);
    CHECK(rpmi_agent_claim(&talk.agent, 9) == nullptr);
    talk.learn(RPMI_CALL_CLOSE, WRITE_KEY, 0);
    CHECK(rpmi_agent_claim(&talk.agent, WRITE_KEY) == nullptr);
    talk.learn(RPMI_CALL_CLAIM, READ_KEY, WRITE_KEY);
    rpmi_agent_forget(&talk.agent);
    CHECK(rpmi_agent_claim(&talk.agent, WRITE_KEY) == nullptr);
}
