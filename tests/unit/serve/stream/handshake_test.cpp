// SPDX-License-Identifier: BSD-3-Clause
// Handshakes of a stream listener: it refuses a client that sends other bytes or lacks the secret,
// and serves the other clients on.
#include "raw.h"

#include <memory>

using raw::Client;
using support::Server;

namespace
{

const char *const SECRET = "open sesame";

// A client that behaves is served.
void check_served(const Server &server, const std::string &secret)
{
    Client good(server);

    CHECK(good.handshake(secret) == 0);
    CHECK(good.region("check", 4096) != 0);
}

uint64_t refused(const Server &server)
{
    return server.stats().refused;
}

} // namespace

TEST_CASE("handshake: a client with the secret is accepted with its grant", "[unit]")
{
    Server server(raw::at_port("", SECRET));
    Client client(server);

    REQUIRE(client.handshake(SECRET, "pool") == 0);
    CHECK(client.accepted.client != 0);
    CHECK(client.accepted.depth == 64);
    CHECK(client.accepted.facts.ddio == RPM_NO);
    CHECK((client.accepted.facts.methods & 1u << RPM_METHOD_COPY) != 0);
    CHECK((client.accepted.facts.methods & 1u << RPM_METHOD_STORE) == 0);
    CHECK(server.stats().clients == 1);
}

TEST_CASE("handshake: a wrong secret, a missing one, one too many", "[unit]")
{
    Server server(raw::at_port("", SECRET));
    Server open_to_all(raw::at_port());
    Client wrong(server);
    Client missing(server);
    Client surplus(open_to_all);

    CHECK(wrong.handshake("open barley") == RPM_E_DENIED);
    CHECK(wrong.dropped());
    CHECK(missing.handshake() == RPM_E_DENIED);
    CHECK(surplus.handshake(SECRET) == RPM_E_DENIED);
    CHECK(refused(server) == 2);
    CHECK(server.stats().clients == 0);
    check_served(server, SECRET);
}

TEST_CASE("handshake: a request for another pool is refused", "[unit]")
{
    Server server(raw::at_port());
    Client client(server);

    CHECK(client.handshake("", "other") == RPM_E_NOENT);
    CHECK(std::string(client.accepted.text).find("other") != std::string::npos);
    CHECK(client.dropped());
    check_served(server, "");
}

TEST_CASE("handshake: a handshake cut short at any byte is refused", "[unit]")
{
    Server server(raw::at_port("", SECRET));

    for (size_t cut = 0; cut < RPMI_NET_HELLO_BYTES + RPMI_AUTH_BYTES; cut++) {
        Client client(server);

        CAPTURE(cut);
        if (cut < RPMI_NET_HELLO_BYTES) {
            REQUIRE(rpmi_net_hello_make(&client.transcript) == 0);
            REQUIRE((cut == 0 || client.send(client.transcript.hello, cut)));
        } else {
            REQUIRE(client.open() == 0);
            client.make_entry(SECRET);
            size_t rest = cut - RPMI_NET_HELLO_BYTES;
            REQUIRE((rest == 0 || client.send(client.transcript.auth, rest)));
        }
        shutdown(client.pipe.fd, SHUT_WR);
        REQUIRE(client.dropped());
    }
    CHECK(server.stats().accepted == 0);
    check_served(server, SECRET);
}

TEST_CASE("handshake: another version is refused by its version", "[unit]")
{
    unsigned char other = GENERATE(RPMI_HANDSHAKE_VERSION - 1, RPMI_HANDSHAKE_VERSION + 1);
    Server server(raw::at_port());
    Client client(server);
    int32_t status;

    REQUIRE(rpmi_net_hello_make(&client.transcript) == 0);
    client.transcript.hello[8] = other;
    REQUIRE(client.send(client.transcript.hello, sizeof(client.transcript.hello)));
    REQUIRE(client.receive(client.transcript.challenge, sizeof(client.transcript.challenge)) == 0);
    memcpy(&status, client.transcript.challenge + 12, sizeof(status));
    CHECK(status == RPM_E_VERSION);
    CHECK(client.dropped());
    check_served(server, "");
}

TEST_CASE("handshake: every changed bit of an auth message is detected", "[unit]")
{
    Server server(raw::at_port("", SECRET));

    for (size_t at = 0; at < RPMI_AUTH_BYTES; at += 5) {
        Client client(server);
        unsigned char sealed[RPMI_SEALED_BYTES];

        CAPTURE(at);
        REQUIRE(client.open() == 0);
        client.make_entry(SECRET);
        client.transcript.auth[at] ^= 4;
        REQUIRE(client.send(client.transcript.auth, sizeof(client.transcript.auth)));
        if (client.receive(sealed, sizeof(sealed)) == 0)
            REQUIRE(rpmi_accept_get(sealed, RPMI_ACCEPT_BYTES, &client.accepted) == 0);
        else
            client.accepted.status = RPM_E_LOST;
        REQUIRE(client.accepted.status < 0);
        REQUIRE(client.dropped());
    }
    CHECK(server.stats().accepted == 0);
}

TEST_CASE("handshake: a replayed auth message is refused", "[unit]")
{
    Server server(raw::at_port("", SECRET));
    Client first(server);
    Client second(server);
    unsigned char sealed[RPMI_SEALED_BYTES];

    REQUIRE(first.handshake(SECRET) == 0);
    REQUIRE(second.send(first.transcript.hello, sizeof(first.transcript.hello)));
    REQUIRE(second.receive(second.transcript.challenge, sizeof(second.transcript.challenge)) == 0);
    REQUIRE(second.send(first.transcript.auth, sizeof(first.transcript.auth)));
    REQUIRE(second.receive(sealed, sizeof(sealed)) == 0);
    REQUIRE(rpmi_accept_get(sealed, RPMI_ACCEPT_BYTES, &second.accepted) == 0);
    CHECK(second.accepted.status == RPM_E_DENIED);
    CHECK(second.dropped());
    CHECK(server.stats().accepted == 1);
}

TEST_CASE("handshake: random bytes and other protocols are disconnected", "[unit]")
{
    Server server(raw::at_port());
    std::string get = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: browser\r\n\r\n";

    for (const std::string &noise : { get, std::string(4096, 'x'), std::string(33, '\0') }) {
        Client client(server);

        REQUIRE(client.send(noise.data(), noise.size()));
        CHECK(client.dropped());
    }
    CHECK(refused(server) == 3);
    check_served(server, "");
}

TEST_CASE("handshake: a slow client is disconnected after two seconds", "[unit]")
{
    Server server(raw::at_port());
    Client silent(server);
    Client slow(server);
    size_t sent = 0;

    REQUIRE(rpmi_net_hello_make(&slow.transcript) == 0);
    /* One byte at a time: the whole message would take eight seconds. */
    while (sent < RPMI_NET_HELLO_BYTES && slow.send(slow.transcript.hello + sent, 1)) {
        sent++;
        rpmi_clock_sleep_ns(200000000);
    }
    CHECK(sent < RPMI_NET_HELLO_BYTES - 1);
    CHECK(slow.dropped(20000));
    CHECK(silent.dropped(20000));
    CHECK(refused(server) == 2);
    check_served(server, "");
}

TEST_CASE("handshake: silent connections keep no client out", "[unit]")
{
    support::ServerOpts opts = raw::at_port();
    opts.clients_max = 2;
    Server server(opts);
    std::vector<std::unique_ptr<Client>> silent;

    for (int i = 0; i < 40; i++)
        silent.push_back(std::make_unique<Client>(server));
    check_served(server, "");
}

TEST_CASE("handshake: one client more than the server takes is refused with a reason", "[unit]")
{
    support::ServerOpts opts = raw::at_port();
    opts.clients_max = 2;
    Server server(opts);
    Client one(server);
    Client two(server);
    Client three(server);

    REQUIRE(one.handshake() == 0);
    REQUIRE(two.handshake() == 0);
    CHECK(three.handshake() == RPM_E_REFUSED);
    CHECK(std::string(three.accepted.text).find("2 clients") != std::string::npos);
    one.leave();
    for (int i = 0; i < 2000 && server.stats().clients != 1; i++)
        rpmi_clock_sleep_ns(1000000);
    Client four(server);
    CHECK(four.handshake() == 0);
}
