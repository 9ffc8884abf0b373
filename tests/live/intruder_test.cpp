// SPDX-License-Identifier: BSD-3-Clause
// intruder_test.cpp: attacks by a client: a wrong secret, a forged key, an access outside its
// object, another client's key, writing on after being fenced. Every check of the client library is
// bypassed, so that the server and its NIC are what refuses.
#include "live/live.h"

extern "C" {
#include "serve/serve.h"
}
#include <arpa/inet.h>
#include <deque>
#include <memory>
#include <rdma/rdma_cma.h>
#include <vector>

using namespace live;

namespace
{

const uint32_t kBytes = 8192;

// A region filled with one byte, and an honest client that reads it.
struct Target {
    explicit Target(const Server &server) : honest(server)
    {
        REQUIRE(honest.err == 0);
        REQUIRE(honest.ask(RPMI_CALL_OPEN, "region", RPM_KIND_REGION, kBytes) == 0);
        key = honest.reply.key;
        std::memset(honest.bytes, 0x11, 4096);
        REQUIRE(honest.run(honest.op(RPMI_OP_WRITE, key, 0, 4096)) == 0);
        REQUIRE(honest.run(honest.op(RPMI_OP_WRITE, key, 4096, 4096)) == 0);
    }
    bool unchanged()
    {
        for (uint64_t at : { 0, 4096 }) {
            REQUIRE(honest.run(honest.op(RPMI_OP_READ, key, at, 4096)) == 0);
            for (int i = 0; i < 4096; i++)
                if (honest.bytes[4096 + i] != 0x11)
                    return false;
        }
        return true;
    }

    Link honest;
    uint32_t key;
};

} // namespace

TEST_CASE("intruder: a client with a wrong secret, or none, is refused", "[live]")
{
    NEEDS(!support::is_remote() || support::test_secret() != nullptr,
          "LIBRPM_TEST_SECRET_FILE names no secret of that server");
    ServerOpts opts;
    opts.secret = support::is_remote() ? support::test_secret() : "open sesame";
    Server server(opts);

    for (const std::string &secret :
         { std::string(), opts.secret.substr(0, opts.secret.size() - 1), opts.secret + "!" }) {
        Link link(server.url(), secret.c_str());
        CHECK(link.err == RPM_E_DENIED);
    }
    for (int i = 0; i < 20; i++) // each gets the reason, however soon the server disconnects it
        CHECK(Link(server.url()).err == RPM_E_DENIED);
    CHECK(Link(server.url(), opts.secret.c_str()).err == 0);
}

TEST_CASE("intruder: a forged key changes and shows nothing", "[live]")
{
    NEEDS_VERBS("keys are bent below verbs: alone");
    Server server;
    Target target(server);

    for (uint32_t forge : { 1u, 0x100u, 0x80000000u })
        for (uint8_t kind : { RPMI_OP_WRITE, RPMI_OP_READ }) {
            Link link(server);

            REQUIRE(link.err == 0);
            REQUIRE(link.ask(RPMI_CALL_OPEN, "region", RPM_KIND_REGION, kBytes) == 0);
            rpmi_grant_key *key = &link.verbs()->key[link.reply.key];
            key->write_rkey ^= forge;
            key->read_rkey ^= forge;
            std::memset(link.bytes, 0x22, 8192);
            CHECK(link.run(link.op(kind, link.reply.key, 0, 4096)) < 0);
            CHECK(link.bytes[4096] == 0x22); // the buffer has not changed
        }
    CHECK(target.unchanged());
}

TEST_CASE("intruder: an access outside its object is refused by the remote NIC", "[live]")
{
    NEEDS_VERBS("keys are bent below verbs: alone");
    Server server;
    Target target(server);

    for (int64_t shift : { -64, 4096 + 64, 1 << 20 }) {
        Link link(server);

        REQUIRE(link.err == 0);
        REQUIRE(link.ask(RPMI_CALL_OPEN, "other", RPM_KIND_REGION, 4096) == 0);
        rpmi_grant_key *key = &link.verbs()->key[link.reply.key];
        key->address += static_cast<uint64_t>(shift);
        std::memset(link.bytes, 0x22, 4096);
        CHECK(link.run(link.op(RPMI_OP_WRITE, link.reply.key, 0, 4096)) == RPM_E_LOST);
    }
    CHECK(target.unchanged());
}

TEST_CASE("intruder: the server's CPU checks the bounds of a request, too", "[live]")
{
    NEEDS_VERBS("keys are bent below verbs: alone");
    Server server;
    Target target(server);

    for (uint8_t kind : { RPMI_OP_COPY, RPMI_OP_PERSIST }) {
        Link link(server);

        REQUIRE(link.err == 0);
        REQUIRE(link.ask(RPMI_CALL_OPEN, "other", RPM_KIND_REGION, 4096) == 0);
        link.verbs()->key[link.reply.key].bytes = UINT64_MAX / 2;
        std::memset(link.bytes, 0x22, 4096);
        CHECK(link.run(link.op(kind, link.reply.key, 4096, 64)) == RPM_E_RANGE);
    }
    CHECK(target.unchanged());
}

TEST_CASE("intruder: another client's key is refused", "[live]")
{
    NEEDS_VERBS("keys are bent below verbs: alone");
    Server server;
    Target target(server);
    Link link(server);

    REQUIRE(link.err == 0);
    REQUIRE(link.ask(RPMI_CALL_OPEN, "other", RPM_KIND_REGION, 4096) == 0);
    link.verbs()->key[link.reply.key] = target.honest.verbs()->key[target.key];
    std::memset(link.bytes, 0x22, 4096);
    CHECK(link.run(link.op(RPMI_OP_WRITE, link.reply.key, 0, 4096)) == RPM_E_LOST);
    CHECK(target.unchanged());
}

TEST_CASE("intruder: a key is refused once its object was closed", "[live]")
{
    NEEDS_VERBS("keys are bent below verbs: alone");
    Server server;
    Link link(server);

    REQUIRE(link.err == 0);
    REQUIRE(link.ask(RPMI_CALL_OPEN, "region", RPM_KIND_REGION, 4096) == 0);
    uint32_t key = link.reply.key;
    rpmi_grant_key kept = link.verbs()->key[key];
    REQUIRE(link.run(link.op(RPMI_OP_WRITE, key, 0, 64)) == 0);
    REQUIRE(link.ask(RPMI_CALL_CLOSE, "", RPM_KIND_REGION, key) == 0);
    link.verbs()->key[key] = kept;
    CHECK(link.run(link.op(RPMI_OP_WRITE, key, 0, 64)) == RPM_E_LOST);
}

TEST_CASE("intruder: a fenced writer that goes on writing cannot change a byte", "[live]")
{
    NEEDS_VERBS("keys are bent below verbs: alone");
    std::vector<ServerOpts> pools = { ServerOpts() };

    if (!support::is_remote())
        pools.push_back(on_devdax(RPM_NO));
    for (const ServerOpts &opts : pools) {
        Server server(opts);
        Link old(server);
        Link fresh(server);

        CAPTURE(opts.pool);
        for (Link *link : { &old, &fresh }) {
            REQUIRE(link->err == 0);
            REQUIRE(link->ask(RPMI_CALL_OPEN, "log", RPM_KIND_LOG, 1 << 20) == 0);
            REQUIRE(link->ask(RPMI_CALL_CLAIM, "", RPM_KIND_LOG, link->reply.key) == 0);
            std::memset(link->bytes, link == &old ? 0x11 : 0x33, 4096);
            if (link == &old)
                REQUIRE(link->run(link->op(RPMI_OP_WRITE, link->reply.key, RPMI_LOG_HEADER_BYTES,
                                           4096)) == 0);
        }
        REQUIRE(fresh.run(fresh.op(RPMI_OP_WRITE, fresh.reply.key, RPMI_LOG_HEADER_BYTES, 64)) ==
                0);
        REQUIRE(live::was_told_of_fence(old.link));
        std::memset(old.bytes, 0x22, 4096);
        CHECK(old.run(old.op(RPMI_OP_WRITE, old.reply.key, RPMI_LOG_HEADER_BYTES, 4096)) ==
              RPM_E_FENCED);
        REQUIRE(fresh.run(fresh.op(RPMI_OP_READ, fresh.reply.key, RPMI_LOG_HEADER_BYTES, 4096)) ==
                0);
        CHECK(fresh.bytes[4096] == 0x33);
        CHECK(fresh.bytes[4096 + 64] == 0x11);
        CHECK(fresh.bytes[8191] == 0x11);
    }
}

TEST_CASE("intruder: a fenced writer that resumes gets RPM_E_FENCED", "[live]")
{
    Server server;
    rpm_conn_opts connecting = conn_opts();
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_conn *conn[2] = {};
    rpm_log *log[2] = {};
    rpm_outcome outcomes[256];
    uint32_t count = 0;

    opts.capacity_bytes = 1 << 20;
    opts.level = RPM_VISIBLE; // at the highest level that the user's server can prove
    for (int i = 0; i < 2; i++) {
        opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | (i == 1 ? RPM_LOG_TAKEOVER : 0);
        REQUIRE(rpm_conn_open(server.url().c_str(), &connecting, &conn[i]) == 0);
        REQUIRE(rpm_log_open(conn[i], server.name("log").c_str(), &opts, &log[i]) == 0);
        REQUIRE(rpm_log_append(log[i], "mine", 4, nullptr) == 0);
    }
    if (live::is_verbs())
        REQUIRE(live::was_told_of_fence(conn[0]->link));
    CHECK(rpm_log_append(log[0], "late", 4, nullptr) == RPM_E_FENCED);
    REQUIRE(rpm_conn_reconnect(conn[0]) == 0);
    CHECK(rpm_log_resume(log[0], outcomes, 256, &count) == RPM_E_FENCED);
    CHECK(count == 1);
    CHECK(outcomes[0].present == 0);
    CHECK(rpm_log_append(log[1], "mine too", 8, nullptr) == 0);
    for (int i = 0; i < 2; i++) {
        rpm_log_close(&log[i]);
        rpm_conn_close(&conn[i]);
    }
}

TEST_CASE("intruder: only the server can write a log's header", "[live]")
{
    NEEDS_VERBS("keys are bent below verbs: alone");
    Server server;
    Link link(server);

    REQUIRE(link.err == 0);
    REQUIRE(link.ask(RPMI_CALL_OPEN, "log", RPM_KIND_LOG, 1 << 20) == 0);
    REQUIRE(link.ask(RPMI_CALL_CLAIM, "", RPM_KIND_LOG, link.reply.key) == 0);
    link.verbs()->key[link.reply.key].guarded_bytes = 0;
    CHECK(link.run(link.op(RPMI_OP_WRITE, link.reply.key, 0, 64)) < 0);
}

namespace
{

// A client that sends any bytes in its connection request.
struct RawConnection {
    ~RawConnection()
    {
        if (id != nullptr) {
            if (id->qp != nullptr)
                rdma_destroy_qp(id);
            rdma_destroy_id(id);
        }
        if (events != nullptr)
            rdma_destroy_event_channel(events);
    }
    bool next(rdma_cm_event_type wanted)
    {
        rdma_cm_event *event;

        if (rdma_get_cm_event(events, &event) != 0)
            return false;
        got = event->event;
        len = event->param.conn.private_data_len;
        if (len > sizeof(said))
            len = sizeof(said);
        if (got == RDMA_CM_EVENT_REJECTED && event->param.conn.private_data != nullptr)
            std::memcpy(said, event->param.conn.private_data, len);
        rdma_ack_cm_event(event);
        return got == wanted;
    }
    void connect(const std::string &host, uint16_t port, const void *bytes, size_t n,
                 sockaddr *from = nullptr)
    {
        rdma_addrinfo hints = {};
        rdma_addrinfo *found = nullptr;
        ibv_qp_init_attr attr = {};
        rdma_conn_param param = {};

        hints.ai_port_space = RDMA_PS_TCP;
        REQUIRE(rdma_getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) == 0);
        events = rdma_create_event_channel();
        REQUIRE(rdma_create_id(events, &id, nullptr, RDMA_PS_TCP) == 0);
        REQUIRE(rdma_resolve_addr(id, from, found->ai_dst_addr, 2000) == 0);
        REQUIRE(next(RDMA_CM_EVENT_ADDR_RESOLVED));
        REQUIRE(rdma_resolve_route(id, 2000) == 0);
        REQUIRE(next(RDMA_CM_EVENT_ROUTE_RESOLVED));
        attr.qp_type = IBV_QPT_RC;
        attr.cap.max_send_wr = attr.cap.max_recv_wr = 4;
        attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
        REQUIRE(rdma_create_qp(id, nullptr, &attr) == 0);
        param.private_data = bytes;
        param.private_data_len = static_cast<uint8_t>(n);
        param.retry_count = 3;
        REQUIRE(rdma_connect(id, &param) == 0);
        (void)next(RDMA_CM_EVENT_REJECTED);
        rdma_freeaddrinfo(found);
    }

    rdma_event_channel *events = nullptr;
    rdma_cm_id *id = nullptr;
    rdma_cm_event_type got = RDMA_CM_EVENT_ADDR_RESOLVED;
    unsigned char said[256] = {};
    size_t len = 0;
};

// The parts of "verbs://HOST:PORT...", where HOST may be "[...]".
std::string host_of(const Server &server)
{
    std::string rest = server.url().substr(8);

    return rest[0] == '[' ? rest.substr(1, rest.find(']') - 1) : rest.substr(0, rest.find(':'));
}

uint16_t port_of(const Server &server)
{
    std::string rest = server.url().substr(8);
    size_t at = rest.find(':', rest[0] == '[' ? rest.find(']') : 0);

    return static_cast<uint16_t>(std::stoi(rest.substr(at + 1)));
}

} // namespace

TEST_CASE("intruder: a handshake of another version, or truncated, is refused", "[live]")
{
    NEEDS_VERBS("it is one of RDMA connections");
    Server server;
    const std::string host = host_of(server);
    rpmi_transcript transcript;

    REQUIRE(rpmi_net_hello_make(&transcript) == 0);
    for (size_t n = 0; n < RPMI_NET_HELLO_BYTES; n++) {
        // The connection manager pads shorter data with zeros to the size of its field.
        RawConnection raw;

        CAPTURE(n);
        raw.connect(host, port_of(server), transcript.hello, n);
        CHECK(raw.got == RDMA_CM_EVENT_REJECTED);
        int err = rpmi_challenge_get(raw.said, raw.len);
        // Without its version field it counts as version 0.
        CHECK(err == (n == 7 || n == 8 ? RPM_E_VERSION : RPM_E_PROTO));
    }
    RawConnection raw;
    transcript.hello[8]++;
    raw.connect(host, port_of(server), transcript.hello, sizeof(transcript.hello));
    CHECK(raw.got == RDMA_CM_EVENT_REJECTED);
    CHECK(rpmi_challenge_get(raw.said, raw.len) == RPM_E_VERSION);
    CHECK(Link(server).err == 0); // other clients are still served
}

TEST_CASE("intruder: a client that connects and sends nothing is disconnected", "[live]")
{
    NEEDS_OWN_SERVER("its server has room for one client");
    ServerOpts opts;
    opts.clients_max = 1;
    Server server(opts);
    rpmi_transcript transcript;
    RawConnection silent;

    REQUIRE(rpmi_net_hello_make(&transcript) == 0);
    silent.connect(env("LIBRPM_LAB_SERVER"), port_of(server), transcript.hello,
                   sizeof(transcript.hello));
    CHECK(silent.got == RDMA_CM_EVENT_ESTABLISHED);
    CHECK(Link(server.url()).err == 0);
    CHECK(silent.next(RDMA_CM_EVENT_DISCONNECTED)); // within its two seconds
}

TEST_CASE("intruder: a flood from another address keeps no client out", "[live]")
{
    NEEDS_OWN_SERVER("its server has room for one client, and a device gets another address");
    ServerOpts opts;
    opts.clients_max = 1;
    Server server(opts);
    const std::string other = "10.9.0.77";
    sockaddr_in from = {};
    rpmi_transcript transcript;
    std::deque<std::unique_ptr<RawConnection>> held;
    unsigned established = 0;
    auto flood = [&] {
        auto raw = std::make_unique<RawConnection>();

        raw->connect(env("LIBRPM_LAB_SERVER"), port_of(server), transcript.hello,
                     sizeof(transcript.hello), reinterpret_cast<sockaddr *>(&from));
        established += raw->got == RDMA_CM_EVENT_ESTABLISHED;
        held.push_back(std::move(raw));
    };

    from.sin_family = AF_INET;
    REQUIRE(inet_pton(AF_INET, other.c_str(), &from.sin_addr) == 1);
    REQUIRE(std::system(("ip addr add " + other + "/24 dev lab1").c_str()) == 0);
    REQUIRE(rpmi_net_hello_make(&transcript) == 0);
    for (unsigned i = 0; i < RPMI_ADMISSION_SPARE + 1; i++) // as many as the server admits
        flood();
    REQUIRE(established == RPMI_ADMISSION_SPARE + 1);
    // All within the two seconds that each of them has.
    CHECK(Link(server.url()).err == 0);
    flood();
    CHECK(held.back()->got == RDMA_CM_EVENT_ESTABLISHED); // its own oldest was evicted
    CHECK(Link(server.url()).err == 0);
    held.clear();
    CHECK(std::system(("ip addr del " + other + "/24 dev lab1").c_str()) == 0);
}
