// SPDX-License-Identifier: BSD-3-Clause
// How a stream listener greets: whoever does not know the words, or the secret, stays outside, and
// nobody else notices.
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

    CHECK(good.greet(secret) == 0);
    CHECK(good.region("check", 4096) != 0);
}

uint64_t refused(const Server &server)
{
    return server.stats().refused;
}

} // namespace

TEST_CASE("greet: who knows the secret is welcome, and told what it gets", "[unit]")
{
    Server server(raw::at_port("", SECRET));
    Client client(server);

    REQUIRE(client.greet(SECRET, "pool") == 0);
    CHECK(client.welcome.client != 0);
    CHECK(client.welcome.depth == 64);
    CHECK(client.welcome.facts.ddio == RPM_NO);
    CHECK((client.welcome.facts.methods & 1u << RPM_METHOD_COPY) != 0);
    CHECK((client.welcome.facts.methods & 1u << RPM_METHOD_STORE) == 0);
    CHECK(server.stats().clients == 1);
}

TEST_CASE("greet: a wrong secret, a missing one, one too many", "[unit]")
{
    Server server(raw::at_port("", SECRET));
    Server open_to_all(raw::at_port());
    Client wrong(server);
    Client missing(server);
    Client surplus(open_to_all);

    CHECK(wrong.greet("open barley") == RPM_E_DENIED);
    CHECK(wrong.dropped());
    CHECK(missing.greet() == RPM_E_DENIED);
    CHECK(surplus.greet(SECRET) == RPM_E_DENIED);
    CHECK(refused(server) == 2);
    CHECK(server.stats().clients == 0);
    check_served(server, SECRET);
}

TEST_CASE("greet: another pool than the one served there", "[unit]")
{
    Server server(raw::at_port());
    Client client(server);

    CHECK(client.greet("", "other") == RPM_E_NOENT);
    CHECK(std::string(client.welcome.text).find("other") != std::string::npos);
    CHECK(client.dropped());
    check_served(server, "");
}

TEST_CASE("greet: a greeting cut short at every byte lets nobody in", "[unit]")
{
    Server server(raw::at_port("", SECRET));

    for (size_t cut = 0; cut < RPMI_OPENING_BYTES + RPMI_ENTRY_BYTES; cut++) {
        Client client(server);

        CAPTURE(cut);
        if (cut < RPMI_OPENING_BYTES) {
            REQUIRE(rpmi_opening_make(&client.talk) == 0);
            REQUIRE((cut == 0 || client.send(client.talk.opening, cut)));
        } else {
            REQUIRE(client.open() == 0);
            client.make_entry(SECRET);
            size_t rest = cut - RPMI_OPENING_BYTES;
            REQUIRE((rest == 0 || client.send(client.talk.entry, rest)));
        }
        shutdown(client.pipe.fd, SHUT_WR);
        REQUIRE(client.dropped());
    }
    CHECK(server.stats().accepted == 0);
    check_served(server, SECRET);
}

TEST_CASE("greet: another version is told that it is another version", "[unit]")
{
    Server server(raw::at_port());
    Client client(server);
    int32_t status;

    REQUIRE(rpmi_opening_make(&client.talk) == 0);
    client.talk.opening[8] = 2;
    REQUIRE(client.send(client.talk.opening, sizeof(client.talk.opening)));
    REQUIRE(client.receive(client.talk.challenge, sizeof(client.talk.challenge)) == 0);
    memcpy(&status, client.talk.challenge + 12, sizeof(status));
    CHECK(status == RPM_E_VERSION);
    CHECK(client.dropped());
    check_served(server, "");
}

TEST_CASE("greet: every changed bit of an entry is found out", "[unit]")
{
    Server server(raw::at_port("", SECRET));

    for (size_t at = 0; at < RPMI_ENTRY_BYTES; at += 5) {
        Client client(server);
        unsigned char sealed[RPMI_SEALED_BYTES];

        CAPTURE(at);
        REQUIRE(client.open() == 0);
        client.make_entry(SECRET);
        client.talk.entry[at] ^= 4;
        REQUIRE(client.send(client.talk.entry, sizeof(client.talk.entry)));
        if (client.receive(sealed, sizeof(sealed)) == 0)
            REQUIRE(rpmi_welcome_get(sealed, RPMI_WELCOME_BYTES, &client.welcome) == 0);
        else
            client.welcome.status = RPM_E_LOST;
        REQUIRE(client.welcome.status < 0);
        REQUIRE(client.dropped());
    }
    CHECK(server.stats().accepted == 0);
}

TEST_CASE("greet: a recorded entry opens no door", "[unit]")
{
    Server server(raw::at_port("", SECRET));
    Client first(server);
    Client second(server);
    unsigned char sealed[RPMI_SEALED_BYTES];

    REQUIRE(first.greet(SECRET) == 0);
    REQUIRE(second.send(first.talk.opening, sizeof(first.talk.opening)));
    REQUIRE(second.receive(second.talk.challenge, sizeof(second.talk.challenge)) == 0);
    REQUIRE(second.send(first.talk.entry, sizeof(first.talk.entry)));
    REQUIRE(second.receive(sealed, sizeof(sealed)) == 0);
    REQUIRE(rpmi_welcome_get(sealed, RPMI_WELCOME_BYTES, &second.welcome) == 0);
    CHECK(second.welcome.status == RPM_E_DENIED);
    CHECK(second.dropped());
    CHECK(server.stats().accepted == 1);
}

TEST_CASE("greet: noise, and other protocols, are shown out", "[unit]")
{
    Server server(raw::at_port());
    std::string get = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: somebody\r\n\r\n";

    for (const std::string &noise : { get, std::string(4096, 'x'), std::string(33, '\0') }) {
        Client client(server);

        REQUIRE(client.send(noise.data(), noise.size()));
        CHECK(client.dropped());
    }
    CHECK(refused(server) == 3);
    check_served(server, "");
}

TEST_CASE("greet: who takes too long is shown out after two seconds", "[unit]")
{
    Server server(raw::at_port());
    Client silent(server);
    Client slow(server);
    uint64_t start = rpmi_clock_ns();

    REQUIRE(rpmi_opening_make(&slow.talk) == 0);
    for (size_t i = 0; i < 12 && rpmi_clock_ns() - start < 2900000000ull; i++) {
        if (!slow.send(slow.talk.opening + i, 1)) // one byte now and then
            break;
        rpmi_clock_sleep_ns(200000000);
    }
    CHECK(slow.dropped(1500));
    CHECK(silent.dropped(1500));
    CHECK(rpmi_clock_ns() - start < 4000000000ull);
    CHECK(refused(server) == 2);
    check_served(server, "");
}

TEST_CASE("greet: silent connections keep no client out", "[unit]")
{
    support::ServerOpts opts = raw::at_port();
    opts.clients_max = 2;
    Server server(opts);
    std::vector<std::unique_ptr<Client>> silent;

    for (int i = 0; i < 40; i++)
        silent.push_back(std::make_unique<Client>(server));
    check_served(server, "");
}

TEST_CASE("greet: one client more than the server takes is refused with a reason", "[unit]")
{
    support::ServerOpts opts = raw::at_port();
    opts.clients_max = 2;
    Server server(opts);
    Client one(server);
    Client two(server);
    Client three(server);

    REQUIRE(one.greet() == 0);
    REQUIRE(two.greet() == 0);
    CHECK(three.greet() == RPM_E_REFUSED);
    CHECK(std::string(three.welcome.text).find("2 clients") != std::string::npos);
    one.leave();
    for (int i = 0; i < 2000 && server.stats().clients != 1; i++)
        rpmi_clock_sleep_ns(1000000);
    Client four(server);
    CHECK(four.greet() == 0);
}
