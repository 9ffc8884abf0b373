// SPDX-License-Identifier: BSD-3-Clause
// Sessions of clients at a listener, without a transport.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "serve/serve.h"
}
#include <cstring>

namespace
{

struct Listener : rpmi_listener {
    explicit Listener(const support::Server &from) : rpmi_listener{}
    {
        server = from.get();
        strcpy(pool, "main");
        facts = rpm_facts_init();
    }
};

// The test does what the control thread does otherwise.
support::ServerOpts without_threads()
{
    support::ServerOpts opts;

    opts.threads = support::ServerOpts::kNone;
    return opts;
}

rpmi_auth wish(const char *pool)
{
    rpmi_auth auth = {};

    auth.depth = 16;
    strcpy(auth.pool, pool);
    return auth;
}

rpmi_reply ask(Listener &listener, rpmi_session &session, uint32_t kind, uint32_t key = 0)
{
    rpmi_call call = {};
    rpmi_reply reply = {};

    call.kind = kind;
    call.key = key;
    call.object = RPM_KIND_REGION;
    if (kind == RPMI_CALL_OPEN) {
        call.flags = RPMI_CALL_CREATE;
        call.bytes = 4096;
        strcpy(call.name, "region");
    }
    rpmi_call_put(session.call, &call);
    REQUIRE(rpmi_session_serve(&listener, &session, &call, &reply));
    return reply;
}

} // namespace

TEST_CASE("session: a client names the pool of the listener, or none", "[serve]")
{
    support::Server server(without_threads());
    Listener listener(server);
    rpmi_accept accepted;

    for (const char *pool : { "", "main" }) {
        rpmi_session session = {};
        rpmi_auth auth = wish(pool);

        REQUIRE(rpmi_session_enter(&listener, &session, &listener.facts, &auth, &accepted) == 0);
        CHECK(accepted.client == session.client);
        CHECK(accepted.client != 0);
        CHECK(server.stats().clients == 1);
        rpmi_session_leave(&listener, &session);
        CHECK(session.client == 0);
        CHECK(server.stats().clients == 0);
    }
    rpmi_session session = {};
    rpmi_auth auth = wish("other");
    CHECK(rpmi_session_enter(&listener, &session, &listener.facts, &auth, &accepted) ==
          RPM_E_NOENT);
    CHECK(accepted.status == RPM_E_NOENT);
    CHECK(std::string(accepted.text).find("other") != std::string::npos);
    CHECK(session.client == 0);
    CHECK(server.stats().refused == 1);
}

TEST_CASE("session: one client more than the server takes is refused with a reason", "[serve]")
{
    support::ServerOpts opts = without_threads();
    opts.clients_max = 1;
    support::Server server(opts);
    Listener listener(server);
    rpmi_session first = {};
    rpmi_session second = {};
    rpmi_auth auth = wish("");
    rpmi_accept accepted;

    REQUIRE(rpmi_session_enter(&listener, &first, &listener.facts, &auth, &accepted) == 0);
    CHECK(rpmi_session_enter(&listener, &second, &listener.facts, &auth, &accepted) ==
          RPM_E_REFUSED);
    CHECK(std::string(accepted.text).find("1 clients") != std::string::npos);
    rpmi_session_leave(&listener, &first);
    CHECK(rpmi_session_enter(&listener, &second, &listener.facts, &auth, &accepted) == 0);
    rpmi_session_leave(&listener, &second);
}

TEST_CASE("session: a client that leaves with live keys counts as dead", "[serve]")
{
    support::Server server(without_threads());
    Listener listener(server);
    rpmi_auth auth = wish("");
    rpmi_accept accepted;
    rpmi_session session = {};

    REQUIRE(rpmi_session_enter(&listener, &session, &listener.facts, &auth, &accepted) == 0);
    rpmi_reply reply = ask(listener, session, RPMI_CALL_OPEN);
    REQUIRE(reply.status == 0);
    CHECK(ask(listener, session, RPMI_CALL_CLOSE, reply.key).status == 0);
    rpmi_session_leave(&listener, &session);
    CHECK(server.stats().died == 0);

    REQUIRE(rpmi_session_enter(&listener, &session, &listener.facts, &auth, &accepted) == 0);
    REQUIRE(ask(listener, session, RPMI_CALL_OPEN).status == 0);
    rpmi_session_leave(&listener, &session);
    CHECK(server.stats().died == 1);
}

TEST_CASE("session: bytes that are not a call end the session", "[serve]")
{
    support::Server server(without_threads());
    Listener listener(server);
    rpmi_auth auth = wish("");
    rpmi_accept accepted;
    rpmi_session session = {};
    rpmi_call call;
    rpmi_reply reply;

    REQUIRE(rpmi_session_enter(&listener, &session, &listener.facts, &auth, &accepted) == 0);
    memset(session.call, 0xff, sizeof(session.call));
    CHECK_FALSE(rpmi_session_serve(&listener, &session, &call, &reply));
    rpmi_session_leave(&listener, &session);
}
