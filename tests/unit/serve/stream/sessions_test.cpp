// SPDX-License-Identifier: BSD-3-Clause
// Clients that stall, stop in the middle or leave: their sessions end, and no other client waits.
#include "raw.h"

#include <functional>

using raw::Bytes;
using raw::Client;
using raw::request;
using support::Server;

namespace
{

bool comes_true(const std::function<bool()> &what)
{
    for (int i = 0; i < 4000; i++) {
        if (what())
            return true;
        rpmi_clock_sleep_ns(1000000);
    }
    return false;
}

} // namespace

TEST_CASE("sessions: a client that does not read its answers is dropped, others are served",
          "[unit]")
{
    // Over TCP the kernel gives up on it after the same time.
    support::Dir dir;
    support::ServerOpts opts;
    opts.listen = "unix:" + dir / "stream" + ",timeout_ms=300";
    Server server(opts);
    Client deaf(server);
    Client good(server);

    REQUIRE(deaf.handshake() == 0);
    REQUIRE(good.handshake() == 0);
    uint32_t key = deaf.region("region", 1 << 20);
    Bytes read = request(RPMI_OP_READ, key, 0, 1 << 20);
    int small = 4096;
    setsockopt(deaf.pipe.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    for (int i = 0; i < 64; i++)
        REQUIRE(deaf.send(read));           // 64 MiB, never read
    CHECK(good.region("other", 4096) != 0); // served meanwhile
    CHECK(comes_true([&] { return server.stats().clients == 1; }));
    CHECK(server.stats().died == 1);
    CHECK(good.region("third", 4096) != 0);
}

TEST_CASE("sessions: a slow reader that continues to read stays connected", "[unit]")
{
    Server server(raw::at_port(",timeout_ms=1000"));
    Client slow(server);
    std::vector<char> sink(32768);
    const uint64_t total = 16u << 20;
    uint64_t got = 0;

    REQUIRE(slow.handshake() == 0);
    uint32_t key = slow.region("region", 1 << 20);
    Bytes read = request(RPMI_OP_READ, key, 0, 1 << 20);
    for (int i = 0; i < 16; i++)
        REQUIRE(slow.send(read));
    for (int i = 0; i < 14; i++) { // longer than the timeout of a client that reads nothing
        rpmi_clock_sleep_ns(100000000);
        for (int k = 0; k < 32; k++, got += sink.size())
            REQUIRE(slow.receive(sink.data(), sink.size()) == 0);
    }
    while (got < total) {
        REQUIRE(slow.receive(sink.data(), sink.size()) == 0);
        got += sink.size();
    }
    CHECK(server.stats().clients == 1);
}

TEST_CASE("sessions: a client that stops in the middle of a request harms no other", "[unit]")
{
    Server server(raw::at_port());
    Client half(server);
    Client good(server);

    REQUIRE(half.handshake() == 0);
    uint32_t key = half.region("region", 1 << 20);
    Bytes write = request(RPMI_OP_COPY, key, 0, 100000, 100000);
    REQUIRE(half.send(write.data(), write.size() / 2));
    REQUIRE(good.handshake() == 0);
    CHECK(good.region("region", 1 << 20) != 0);
    CHECK(server.stats().clients == 2);
    half.leave();
    CHECK(comes_true([&] { return server.stats().clients == 1; }));
    CHECK(server.stats().died == 1);
    Bytes probe = request(RPMI_OP_COPY, 1, 0, 64, 64);
    REQUIRE(good.send(probe));
    CHECK(good.answer().kind == RPMI_ANSWER_DONE);
}

TEST_CASE("sessions: sessions are reused", "[unit]")
{
    support::ServerOpts opts = raw::at_port();
    opts.clients_max = 1;
    Server server(opts);

    for (int i = 0; i < 100; i++) {
        Client client(server);
        int err = i % 3 == 0 ? client.open() : client.handshake();

        CAPTURE(i);
        REQUIRE(err == 0);
        client.leave();
        REQUIRE(comes_true([&] { return server.stats().clients == 0; }));
    }
    CHECK(server.stats().accepted > 50);
}

TEST_CASE("sessions: a server that ends disconnects every client", "[unit]")
{
    Server server(raw::at_port());
    Client client(server);
    Client in_handshake(server);

    REQUIRE(client.handshake() == 0);
    REQUIRE(in_handshake.open() == 0);
    server.stop();
    CHECK(client.dropped());
    CHECK(in_handshake.dropped());
}
