// SPDX-License-Identifier: BSD-3-Clause
// The lines that an agent keeps: one of a log, replaced as a whole, written at once or on demand.
#include "support/catch.h"
#include "support/dir.h"

extern "C" {
#include "agent/decisions.h"
}

#include <cstring>
#include <memory>

namespace
{

struct DecisionsFront {
    support::Dir dir{ support::Dir::kMemory };
    rpm_server *server = nullptr;
    std::unique_ptr<rpmi_decisions> decisions{ new rpmi_decisions() };

    DecisionsFront()
    {
        rpm_server_opts opts = rpm_server_opts_init();
        std::string listen = "unix:" + (dir / "front");

        opts.listen = listen.c_str();
        opts.pool_bytes = RPMI_POOL_BYTES_MIN;
        opts.clients_max = 2;
        REQUIRE(rpm_server_open(&opts, &server) == 0);
        REQUIRE(rpmi_decisions_open(decisions.get(), server) == 0);
    }
    DecisionsFront(const DecisionsFront &) = delete;
    ~DecisionsFront()
    {
        rpm_server_close(&server);
    }
    bool stage(uint64_t log_id, uint64_t trim_lsn)
    {
        rpmi_decision wanted = { 1, log_id, 0, trim_lsn, trim_lsn - 64, 5, 1 };

        return rpmi_decisions_stage(decisions.get(), &wanted);
    }
    // The lines of a log, as a client of the front reads them.
    std::vector<rpmi_decision> lines(uint64_t log_id)
    {
        std::vector<rpmi_decision> all;
        rpmi_decision line;

        for (uint32_t way = 0; way < RPMI_DECISION_WAYS; way++)
            if (rpmi_decision_get(decisions->base +
                                      rpmi_decision_set(log_id) * RPMI_DECISION_SET_BYTES +
                                      way * RPMI_DECISION_BYTES,
                                  &line) == 0 &&
                line.log_id == log_id)
                all.push_back(line);
        return all;
    }
    void ask(uint64_t log_id, uint64_t word)
    {
        memcpy(decisions->base + RPMI_DECISION_WORDS_AT + rpmi_decision_set(log_id) * sizeof(word),
               &word, sizeof(word));
    }
};

} // namespace

TEST_CASE("decisions: a log has one line, whose number grows with each decision", "[unit][agent]")
{
    DecisionsFront front;

    CHECK(front.stage(7, 640));
    CHECK_FALSE(front.stage(7, 640)); // the same
    CHECK(front.stage(9, 640));
    CHECK(front.stage(7, 1280));
    REQUIRE(front.lines(7).size() == 1);
    CHECK(front.lines(7)[0].trim_lsn == 1280);
    CHECK(front.lines(7)[0].number == 3);
    CHECK(front.lines(9)[0].number == 2);
    CHECK(front.decisions->staged == 3);
}

TEST_CASE("decisions: a full set gives up its oldest line", "[unit][agent]")
{
    DecisionsFront front;

    for (uint64_t i = 0; i <= RPMI_DECISION_WAYS; i++)
        CHECK(front.stage(3 + i * RPMI_DECISION_SETS, 640));
    CHECK(front.lines(3).empty());
    for (uint64_t i = 1; i <= RPMI_DECISION_WAYS; i++)
        CHECK(front.lines(3 + i * RPMI_DECISION_SETS).size() == 1);
    CHECK(front.stage(3, 640)); // not the same: it has none
    CHECK(front.lines(3).size() == 1);
    CHECK(front.lines(3 + RPMI_DECISION_SETS).empty());
}

TEST_CASE("decisions: on demand a line is written once after each question", "[unit][agent]")
{
    DecisionsFront front;

    front.decisions->on_demand = true;
    CHECK_FALSE(front.stage(7, 640));
    CHECK(front.lines(7).empty());
    front.ask(7, 5);
    CHECK(front.stage(7, 640));
    CHECK_FALSE(front.stage(7, 1280));
    CHECK(front.lines(7)[0].trim_lsn == 640);
    front.ask(7, 6);
    CHECK(front.stage(7, 1280));
}

TEST_CASE("decisions: the agent stays a client of its front, so its region is not removed",
          "[unit][agent]")
{
    DecisionsFront front;
    rpmi_call call = {};
    rpmi_reply reply;
    uint32_t client;

    rpmi_serve_lock(front.server);
    REQUIRE(rpmi_service_attach(front.server->service, &client) == 0);
    call.kind = RPMI_CALL_REMOVE;
    strcpy(call.name, RPMI_DECISIONS_NAME);
    rpmi_service_call(front.server->service, client, &call, &reply);
    CHECK(reply.status < 0);
    CHECK(rpmi_service_attach(front.server->service, &client) == RPM_E_LIMIT);
    rpmi_serve_unlock(front.server);
}
