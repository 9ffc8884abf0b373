// SPDX-License-Identifier: BSD-3-Clause
// A server that does not exist, exits or misbehaves, at every point of connect.
#include "fake.h"

#include <dlfcn.h>
#include <netdb.h>

using fake::Bytes;
using fake::Server;
using fake::Session;

// The system's getaddrinfo(), and one name with two addresses, the first without a listener.
extern "C" int getaddrinfo(const char *host, const char *port, const addrinfo *wanted,
                           addrinfo **found)
{
    using Lookup = int(const char *, const char *, const addrinfo *, addrinfo **);
    auto *real = reinterpret_cast<Lookup *>(dlsym(RTLD_NEXT, "getaddrinfo"));

    if (host == nullptr || strcmp(host, "two.test") != 0)
        return real(host, port, wanted, found);
    int err = real("127.0.0.2", port, wanted, found);
    return err != 0 ? err : real("127.0.0.1", port, wanted, &(*found)->ai_next);
}

namespace
{

int dial(const std::string &url, uint64_t timeout_us = 20000000)
{
    rpmi_link_opts opts = {};
    rpmi_link *link = nullptr;

    opts.timeout_us = timeout_us;
    opts.depth = 64;
    opts.staging_bytes = 1 << 20;
    int err = rpmi_link_open(url.c_str(), &opts, &link);
    if (err == 0)
        link->ops->close(link);
    return err;
}

} // namespace

TEST_CASE("dial: a port without a listener, an unknown host or a malformed URL is an error",
          "[unit]")
{
    CHECK(dial("tcp://127.0.0.1:1/pool") == RPM_E_REFUSED);
    CHECK(std::string(rpm_last_error()).find("127.0.0.1 port 1") != std::string::npos);
    CHECK(dial("tcp://[::1]:1/pool") == RPM_E_REFUSED);
    CHECK(dial("tcp://no.such.host.invalid:7000/pool") == RPM_E_REFUSED);
    CHECK(dial("tcp://127.0.0.1/pool") == RPM_E_INVAL);
    CHECK(dial("tcp:") == RPM_E_INVAL);
    CHECK(dial("unix:/tmp/no/such/socket") == RPM_E_REFUSED);
    CHECK(dial("unix:") == RPM_E_INVAL);
    CHECK(dial("tcp://127.0.0.1:1,colour=blue") == RPM_E_INVAL);
}

TEST_CASE("dial: of several addresses each is tried", "[unit]")
{
    Server server([](Session &session) { session.handshake(); });
    std::string url = server.url();

    CHECK(dial("tcp://two.test" + url.substr(url.rfind(':'))) == 0);
    CHECK(dial("tcp://two.test:1/pool") == RPM_E_REFUSED); // at neither
}

TEST_CASE("dial: a server that closes at once, or stops at every byte", "[unit]")
{
    const size_t total = RPMI_CHALLENGE_BYTES + RPMI_SEALED_BYTES;

    for (size_t cut = 0; cut < total; cut += cut < 40 ? 1 : 13) {
        Server server([cut](Session &session) {
            Bytes bytes = session.challenge();

            if (cut < bytes.size()) {
                session.send(bytes.data(), cut);
                return;
            }
            session.send(bytes.data(), bytes.size());
            bytes = session.sealed();
            session.send(bytes.data(), cut - RPMI_CHALLENGE_BYTES);
        });

        CAPTURE(cut);
        REQUIRE(server.try_dial() == RPM_E_LOST);
    }
}

TEST_CASE("dial: with a silent stream server, connect returns at its deadline", "[unit]")
{
    for (int step = 0; step < 2; step++) {
        Server server([step](Session &session) {
            Bytes bytes = session.challenge();

            if (step == 1)
                session.send(bytes.data(), bytes.size());
            session.drain();
        });
        uint64_t start = rpmi_clock_ns();

        CHECK(server.try_dial(100000) == RPM_E_TIMEDOUT);
        CHECK(rpmi_clock_ns() - start < 20000000000ull);
    }
}

TEST_CASE("dial: random bytes, another version or a refusal is an error", "[unit]")
{
    Server noise([](Session &session) {
        Bytes bytes(64, 'x');

        session.send(bytes.data(), bytes.size());
        session.drain();
    });
    Server newer([](Session &session) {
        Bytes bytes = session.challenge();

        bytes[8] = RPMI_HANDSHAKE_VERSION + 1;
        session.send(bytes.data(), bytes.size());
    });
    Server refuses([](Session &session) {
        Bytes bytes = session.challenge(RPM_E_REFUSED);

        session.send(bytes.data(), bytes.size());
    });
    Server explains([](Session &session) {
        session.accepted.status = RPM_E_DENIED;
        strcpy(session.accepted.text, "not on a Sunday");
        session.handshake();
    });

    CHECK(noise.try_dial() == RPM_E_PROTO);
    CHECK(newer.try_dial() == RPM_E_VERSION);
    CHECK(refuses.try_dial() == RPM_E_REFUSED);
    CHECK(explains.try_dial() == RPM_E_DENIED);
    CHECK(std::string(rpm_last_error()) == "not on a Sunday");
}

TEST_CASE("dial: a server that does not know the secret is refused", "[unit]")
{
    Server impostor([](Session &session) { session.handshake(); });
    Server replay([](Session &session) {
        Bytes bytes = session.challenge();

        session.send(bytes.data(), bytes.size());
        session.receive(session.transcript.auth, sizeof(session.transcript.auth));
        bytes.assign(RPMI_SEALED_BYTES, 0);
        rpmi_accept_put(bytes.data(), &session.accepted);
        // the proof of the client, sent back to it
        memcpy(bytes.data() + RPMI_ACCEPT_BYTES, session.transcript.auth + RPMI_AUTH_BYTES - 32,
               32);
        session.send(bytes.data(), bytes.size());
    });

    CHECK(impostor.try_dial(60000000, "open sesame") == RPM_E_DENIED);
    CHECK(replay.try_dial(60000000, "open sesame") == RPM_E_DENIED);
}

TEST_CASE("dial: an impossible accept message is refused", "[unit]")
{
    const std::function<void(rpmi_accept *)> changes[] = {
        [](rpmi_accept *accepted) { accepted->mode = RPMI_MODE_DIRECT; },
        [](rpmi_accept *accepted) { accepted->depth = 63; },
        [](rpmi_accept *accepted) { accepted->depth = 32; },
        [](rpmi_accept *accepted) { accepted->depth = 96; },
        [](rpmi_accept *accepted) { accepted->depth = 1u << 31; },
    };

    for (const auto &change : changes) {
        Server server([&change](Session &session) {
            change(&session.accepted);
            session.handshake();
        });

        CHECK(server.try_dial() == RPM_E_PROTO);
    }
}
