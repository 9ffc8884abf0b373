// SPDX-License-Identifier: BSD-3-Clause
// The server disconnects a client that misbehaves on its socket, and serves the other clients on.
#include "support/catch.h"
#include "support/descriptors.h"
#include "unit/serve/client.h"

#include <arpa/inet.h>
#include <atomic>
#include <memory>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <vector>

namespace
{

using support::Server;
using support::ServerOpts;

// A well-behaved client is served.
bool serves(const Server &server)
{
    RawClient client(server);

    return client.hello(RPMI_MODE_RING) == 0 &&
           client.open("probe", RPM_KIND_LOG, 4096).status == 0;
}

int try_connect(int sock, int port)
{
    sockaddr_in to = {};

    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(port));
    return connect(sock, reinterpret_cast<sockaddr *>(&to), sizeof(to));
}

int try_connect(int sock, const std::string &path)
{
    sockaddr_un to = {};

    to.sun_family = AF_UNIX;
    path.copy(to.sun_path, sizeof(to.sun_path) - 1);
    return connect(sock, reinterpret_cast<sockaddr *>(&to), sizeof(to));
}

} // namespace

TEST_CASE("accept: garbage instead of a hello ends that connection only", "[unit]")
{
    Server server;
    RawClient good(server);
    REQUIRE(good.hello(RPMI_MODE_RING) == 0);
    size_t len = GENERATE(size_t{ 1 }, size_t{ 255 }, size_t{ 256 }, size_t{ 257 }, size_t{ 4096 },
                          size_t{ 60000 });
    RawClient bad(server);

    REQUIRE(bad.send(std::string(len, 'g').data(), len));
    CHECK(bad.dropped());
    CHECK(good.open("still", RPM_KIND_LOG, 4096).status == 0);
    CHECK(serves(server));
}

TEST_CASE("accept: garbage instead of a call ends that connection only", "[unit]")
{
    Server server;
    size_t len =
        GENERATE(size_t{ 1 }, size_t{ 127 }, size_t{ 128 }, size_t{ 129 }, size_t{ 30000 });
    RawClient bad(server);

    REQUIRE(bad.hello(RPMI_MODE_DIRECT) == 0);
    REQUIRE(bad.send(std::string(len, 'g').data(), len));
    CHECK(bad.dropped());
    CHECK(serves(server));
}

TEST_CASE("accept: a hello of another version is refused by its version", "[unit]")
{
    Server server;
    RawClient client(server);
    rpmi_hello hello = {};
    unsigned char bytes[RPMI_HELLO_BYTES];

    hello.version = RPMI_PROTOCOL_VERSION;
    rpmi_hello_put(bytes, &hello);
    bytes[8]++; // the version
    REQUIRE(client.send(bytes, sizeof(bytes)));
    unsigned char answer[RPMI_ACCEPT_BYTES];
    REQUIRE(recv(client.sock(), answer, sizeof(answer), 0) == sizeof(answer));
    rpmi_accept accepted;
    REQUIRE(rpmi_accept_get(answer, sizeof(answer), &accepted) == 0);
    CHECK(accepted.status == RPM_E_VERSION);
    CHECK(client.dropped());
}

TEST_CASE("accept: a client that connects and sends nothing is disconnected after two seconds",
          "[unit]")
{
    Server server;
    RawClient silent(server);
    uint64_t start = rpmi_clock_ns();

    CHECK(serves(server));
    CHECK(silent.dropped());
    CHECK(rpmi_clock_ns() - start > 1900000000u);
    CHECK(rpmi_clock_ns() - start < 20000000000u);
    CHECK(serves(server));
}

TEST_CASE("accept: descriptors sent along are not kept, and end the connection", "[unit]")
{
    Server server;
    CHECK(serves(server));
    int before = open_descriptors();
    for (int round = 0; round < 20; round++) {
        RawClient bad(server);
        int fds[] = { 0, 0, 0 };

        REQUIRE(bad.hello(RPMI_MODE_RING) == 0);
        char byte[RPMI_CALL_BYTES] = { 1 };
        REQUIRE(bad.send(byte, sizeof(byte), fds, 3));
        CHECK(bad.dropped());
    }
    CHECK(serves(server));
    CHECK(eventually([&] { return open_descriptors() <= before; })); // the engine retires rings
}

TEST_CASE("accept: one client too many is refused with a reason, and accepted when one leaves",
          "[unit]")
{
    ServerOpts opts;
    opts.clients_max = 3;
    Server server(opts);
    std::vector<std::unique_ptr<RawClient>> clients;

    for (int i = 0; i < 3; i++) {
        clients.push_back(std::make_unique<RawClient>(server));
        REQUIRE(clients.back()->hello(RPMI_MODE_AUTO) == 0);
    }
    RawClient late(server);
    CHECK(late.hello(RPMI_MODE_AUTO) == RPM_E_REFUSED);
    CHECK(std::string(late.accepted.text).find("3 clients") != std::string::npos);
    clients.pop_back();
    CHECK(eventually([&] { return RawClient(server).hello(RPMI_MODE_AUTO) == 0; }));
}

TEST_CASE("accept: a flood of silent connections does not keep clients from being served", "[unit]")
{
    ServerOpts opts;
    opts.clients_max = 2;
    Server server(opts);
    RawClient good(server);
    std::vector<std::unique_ptr<RawClient>> silent;

    REQUIRE(good.hello(RPMI_MODE_RING) == 0);
    for (int i = 0; i < 40; i++)
        silent.push_back(std::make_unique<RawClient>(server));
    CHECK(good.open("a", RPM_KIND_LOG, 4096).status == 0);
    silent.clear();
    CHECK(eventually([&] { return RawClient(server).hello(RPMI_MODE_AUTO) == 0; }));
}

TEST_CASE("accept: a flood of silent connections does not prevent new clients from connecting",
          "[unit]")
{
    ServerOpts opts;
    opts.clients_max = 2;
    Server server(opts);
    std::vector<std::unique_ptr<RawClient>> silent;

    for (int i = 0; i < 100; i++)
        silent.push_back(std::make_unique<RawClient>(server));
    RawClient good(server);
    CHECK(good.hello(RPMI_MODE_RING) == 0);
    CHECK(good.open("a", RPM_KIND_LOG, 4096).status == 0);
    CHECK(silent.front()->dropped());
    for (int i = 0; i < 100; i++)
        silent.push_back(std::make_unique<RawClient>(server));
    CHECK(good.open("a", RPM_KIND_LOG, 4096).status == 0); // an authenticated client is not evicted
}

TEST_CASE("accept: only a client with the secret is accepted", "[unit]")
{
    ServerOpts opts;
    opts.secret = "open sesame";
    Server server(opts);
    RawClient right(server);
    RawClient wrong(server);
    RawClient longer(server);
    RawClient none(server);

    CHECK(right.hello(RPMI_MODE_AUTO, "open sesame") == 0);
    CHECK(wrong.hello(RPMI_MODE_AUTO, "open sesamf") == RPM_E_DENIED);
    CHECK(longer.hello(RPMI_MODE_AUTO, "open sesame!") == RPM_E_DENIED);
    CHECK(none.hello(RPMI_MODE_AUTO) == RPM_E_DENIED);
    CHECK(none.fd(0) == -1);
    CHECK(wrong.dropped());
}

TEST_CASE("accept: a server that never lends its mapping grants a ring", "[unit]")
{
    ServerOpts opts;
    opts.flags = RPM_SERVER_NO_DIRECT;
    Server server(opts);
    RawClient insists(server);
    RawClient any(server);

    CHECK(insists.hello(RPMI_MODE_DIRECT) == RPM_E_NOCAP);
    REQUIRE(any.hello(RPMI_MODE_AUTO) == 0);
    CHECK(any.accepted.mode == RPMI_MODE_RING);
}

TEST_CASE("accept: by default memory is mapped directly, and a disk is served by the ring",
          "[unit]")
{
    ServerOpts disk;
    disk.place = support::Dir::kDisk;
    Server memory;
    Server file(disk);
    RawClient fast(memory);
    RawClient safe(file);

    REQUIRE(fast.hello(RPMI_MODE_AUTO) == 0);
    CHECK(fast.accepted.mode == RPMI_MODE_DIRECT);
    CHECK(fast.accepted.facts.methods == 1u << RPM_METHOD_STORE);
    REQUIRE(safe.hello(RPMI_MODE_AUTO) == 0);
    if (safe.accepted.facts.domain == RPM_DOMAIN_MSYNC)
        CHECK(safe.accepted.mode == RPMI_MODE_RING);
}

TEST_CASE("accept: invalid ring sizes are refused", "[unit]")
{
    Server server;
    RawClient shallow(server);
    RawClient deep(server);
    RawClient bare(server);
    RawClient vast(server);

    CHECK(shallow.hello(RPMI_MODE_RING, "", 0) == RPM_E_PROTO);
    CHECK(deep.hello(RPMI_MODE_RING, "", RPMI_DEPTH_MAX + 1) == RPM_E_PROTO);
    CHECK(bare.hello(RPMI_MODE_RING, "", 64, 0) == RPM_E_PROTO);
    CHECK(vast.hello(RPMI_MODE_RING, "", 64, RPMI_STAGING_MAX + 1) == RPM_E_PROTO);
    CHECK(serves(server));
}

TEST_CASE("accept: a client that never reads its answers is dropped", "[unit]")
{
    Server server;
    RawClient deaf(server);
    rpmi_call call = {};
    unsigned char bytes[RPMI_CALL_BYTES];
    bool gone = false;

    REQUIRE(deaf.hello(RPMI_MODE_DIRECT) == 0);
    call.kind = RPMI_CALL_NEXT;
    rpmi_call_put(bytes, &call);
    for (int i = 0; i < 20000 && !gone; i++)
        gone = !deaf.send(bytes, sizeof(bytes));
    CHECK(gone);
    CHECK(serves(server));
}

TEST_CASE("accept: a client that disappears is counted, and its locks are freed", "[unit]")
{
    Server server;
    RawClient client(server);

    REQUIRE(client.hello(RPMI_MODE_RING) == 0);
    REQUIRE(client.open("locks", RPM_KIND_LOCKS, 64).status == 0);
    client.map_ring();
    rpmi_slot take = {};
    uint64_t word = uint64_t{ client.accepted.client } << 32 | client.accepted.server_epoch;
    take.kind = RPMI_OP_CAS;
    take.key = 1;
    memcpy(take.head + 8, &word, sizeof(word));
    client.post(take);
    REQUIRE(client.outcome() == 0);
    client.leave();
    CHECK(eventually([&] { return server.stats().died == 1; }));
    CHECK(server.stats().locks_freed == 1);
    CHECK(server.stats().clients == 0);
}

TEST_CASE("accept: the server survives a lack of descriptors, and serves other clients meanwhile",
          "[unit]")
{
    ServerOpts opts;
    opts.listen = "tcp://127.0.0.1:0/pool";
    Server server(opts);
    bool tcp = GENERATE(false, true);
    std::string url = tcp ? server.listener_url() : server.url("ring");
    rpm_conn_opts conn_opts = rpm_conn_opts_init();
    rpm_conn *busy = nullptr;
    std::atomic<bool> calling{ false };
    std::atomic<bool> over{ false };
    rlimit limit;

    CAPTURE(url);
    conn_opts.timeout_us = 20000000;
    REQUIRE(rpm_conn_open(url.c_str(), &conn_opts, &busy) == 0);
    std::thread caller([&] {
        rpm_entry entry = rpm_entry_init();
        int err;

        do {
            err = rpm_conn_next(busy, &entry);
            calling = true;
        } while (!over && err >= 0);
    });
    while (!calling) // the first call may need a descriptor
        std::this_thread::yield();
    // A client connects while the server cannot open a descriptor.
    std::string word = tcp ? url : server.url();
    int late_sock = tcp ? socket(AF_INET, SOCK_STREAM, 0) : socket(AF_UNIX, SOCK_SEQPACKET, 0);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    int next_free = dup(late_sock);
    rlimit none = { static_cast<rlim_t>(next_free), limit.rlim_max };
    close(next_free);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    int connected = tcp ? try_connect(late_sock, std::stoi(url.substr(url.rfind(':') + 1)))
                        : try_connect(late_sock, word.substr(word.find(':') + 1));
    rpmi_clock_sleep_ns(150000000);
    int lifted = setrlimit(RLIMIT_NOFILE, &limit);
    rpm_conn *late = nullptr;
    int err = rpm_conn_open(url.c_str(), &conn_opts, &late);

    over = true;
    caller.join();
    CHECK(connected == 0);
    CHECK(lifted == 0);
    CHECK(err == 0);
    rpm_conn_close(&late);
    rpm_conn_close(&busy);
    close(late_sock);
}
