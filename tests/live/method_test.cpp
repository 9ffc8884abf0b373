// SPDX-License-Identifier: BSD-3-Clause
// method_test.cpp: every method that proves durability, checked by the completions that it causes:
// an emulated CPU has no cache, so the bytes alone would not show that a flush was left out.
#include "live/live.h"

#include <atomic>
#include <iostream>
#include <set>
#include <vector>

using namespace live;

namespace
{

const unsigned kFlush = 8;       // IBV_WC_FLUSH, which older headers lack
const unsigned kAtomicWrite = 9; // IBV_WC_ATOMIC_WRITE

struct Opcodes {
    explicit Opcodes(const rpm_conn *conn)
    {
        if (!is_verbs())
            return;
        const rpmi_verbs *verbs = rpmi_verbs_of(conn->link);

        for (unsigned i = 0; i < 16; i++)
            count[i] = verbs->by_opcode[i];
        rpcs = verbs->rpcs_done;
    }
    uint64_t count[16] = {};
    uint64_t rpcs = 0;
};

struct Session {
    Session(const Server &server, uint32_t method)
    {
        rpm_conn_opts opts = conn_opts();
        rpm_log_opts log_opts = rpm_log_opts_init();

        opts.method = method;
        REQUIRE(rpm_conn_open(server.url().c_str(), &opts, &conn) == 0);
        log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        log_opts.capacity_bytes = 1 << 20;
        err = rpm_log_open(conn, server.name("log").c_str(), &log_opts, &log);
    }
    ~Session()
    {
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    int err;
};

// Appends @count records, one by one; another connection reads all of them back.
void append_and_read(const Server &server, Session *session, unsigned n)
{
    std::vector<std::string> sent;

    for (unsigned i = 0; i < n; i++) {
        sent.push_back(std::string(1 + i * 37 % 900, static_cast<char>('a' + i % 26)));
        int err = rpm_log_append(session->log, sent.back().data(), sent.back().size(), nullptr);
        INFO("record " << i << ": " << rpm_last_error());
        REQUIRE(err == 0);
    }
    rpm_conn_opts opts = conn_opts();
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    rpm_reader *reader = nullptr;
    REQUIRE(rpm_conn_open(server.url().c_str(), &opts, &conn) == 0);
    REQUIRE(rpm_log_open(conn, server.name("log").c_str(), nullptr, &log) == 0);
    REQUIRE(rpm_reader_open(log, nullptr, &reader) == 0);
    for (const std::string &want : sent) {
        rpm_record record = {};
        REQUIRE(rpm_reader_next(reader, &record) == 1);
        CHECK(std::string(static_cast<const char *>(record.data), record.len) == want);
    }
    rpm_reader_close(&reader);
    rpm_log_close(&log);
    rpm_conn_close(&conn);
}

// Checks the completions of these appends. @opcode: of the one that acknowledges; 0: a message from
// the server CPU does.
void check_method(const Server &server, Session *session, unsigned opcode)
{
    Opcodes before(session->conn);
    append_and_read(server, session, 20);
    Opcodes after(session->conn);

    if (!is_verbs())
        return;
    if (opcode != 0)
        CHECK(after.count[opcode] - before.count[opcode] == 20);
    else
        CHECK(after.rpcs - before.rpcs >= 20);
    if (opcode != kFlush)
        CHECK(after.count[kFlush] == before.count[kFlush]);
}

} // namespace

TEST_CASE("method: the user's server carries out each method that it offers", "[live]")
{
    NEEDS(support::is_remote(), "LIBRPM_TEST_URL is not set");
    Server server;
    struct {
        uint32_t method;
        unsigned opcode;
    } const all[] = { { RPM_METHOD_WRITE, IBV_WC_RDMA_WRITE },
                      { RPM_METHOD_READ, IBV_WC_RDMA_READ },
                      { RPM_METHOD_FLUSH, kFlush },
                      { RPM_METHOD_MESSAGE, 0 },
                      { RPM_METHOD_IMMEDIATE, 0 },
                      { RPM_METHOD_COPY, 0 },
                      { RPM_METHOD_STORE, 0 } };
    int tried = 0;

    for (const auto &one : all) {
        const char *name = rpm_method_name(static_cast<rpm_method>(one.method));
        Session session(server, one.method);

        CAPTURE(name, rpm_last_error());
        if (session.err == RPM_E_NOCAP) {
            std::cerr << "not durable there: " << name << ": " << rpm_last_error() << '\n';
            continue;
        }
        REQUIRE(session.err == 0);
        check_method(server, &session, one.opcode);
        tried++;
    }
    Session cheapest(server, 0);
    CHECK(cheapest.err == (tried > 0 ? 0 : RPM_E_NOCAP));
}

TEST_CASE("method: each legal method is carried out by its own operations", "[live]")
{
    NEEDS_OWN_SERVER("each case has a server of its own kind");
    struct {
        uint32_t method;
        unsigned opcode;
        bool devdax;
    } const all[] = {
        { RPM_METHOD_READ, IBV_WC_RDMA_READ, false },
        { RPM_METHOD_MESSAGE, 0, false },
        { RPM_METHOD_IMMEDIATE, 0, false },
        { RPM_METHOD_COPY, 0, false },
        { RPM_METHOD_FLUSH, kFlush, true },
        { RPM_METHOD_MESSAGE, 0, true },
        { RPM_METHOD_IMMEDIATE, 0, true },
        { RPM_METHOD_COPY, 0, true },
    };

    for (const auto &one : all) {
        Server server(one.devdax ? on_devdax(0) : ServerOpts());
        Session session(server, one.method);

        CAPTURE(rpm_method_name(static_cast<rpm_method>(one.method)), one.devdax);
        INFO(rpm_last_error());
        REQUIRE(session.err == 0);
        check_method(server, &session, one.opcode);
    }
}

TEST_CASE("method: the cheapest legal method is chosen from facts", "[live]")
{
    NEEDS_OWN_SERVER("each case has a server of its own kind");
    struct {
        bool devdax;
        uint32_t ddio;
        uint32_t method;
    } const all[] = {
        { false, RPM_NO, RPM_METHOD_READ },
        { false, RPM_UNKNOWN, RPM_METHOD_COPY }, // Soft-RoCE's CPU writes through its caches
        { true, RPM_UNKNOWN, RPM_METHOD_FLUSH },
    };

    for (const auto &one : all) {
        ServerOpts opts = one.devdax ? on_devdax(one.ddio) : ServerOpts();
        opts.ddio = one.ddio;
        Server server(opts);
        Session session(server, 0);
        struct rpm_log_info info = rpm_log_info_init();

        CAPTURE(one.devdax, one.ddio);
        REQUIRE(session.err == 0);
        REQUIRE(rpm_log_info(session.log, &info) == 0);
        CHECK(info.method == one.method);
        CHECK(info.level == RPM_DURABLE);
    }
}

TEST_CASE("method: a method that proves nothing here is refused with a reason", "[live]")
{
    NEEDS_OWN_SERVER("each case has a server of its own kind");
    struct {
        uint32_t ddio;
        uint32_t domain;
        uint32_t method;
        const char *reason;
    } const all[] = {
        { RPM_YES, RPM_DOMAIN_ADR, RPM_METHOD_READ, "DDIO" },
        { RPM_NO, RPM_DOMAIN_ADR, RPM_METHOD_FLUSH, "FLUSH" },
        { RPM_NO, RPM_DOMAIN_ADR, RPM_METHOD_WRITE, "completion" },
        { RPM_NO, 0, RPM_METHOD_READ, "domain" },
    };

    for (const auto &one : all) {
        ServerOpts opts;
        opts.ddio = one.ddio;
        opts.domain = one.domain;
        Server server(opts);
        Session session(server, one.method);

        CAPTURE(rpm_method_name(static_cast<rpm_method>(one.method)), one.ddio, one.domain);
        CHECK(session.err == RPM_E_NOCAP);
        CHECK(std::string(rpm_last_error()).find(one.reason) != std::string::npos);
    }
}

TEST_CASE("method: a COPY of many passes does not block other clients", "[live]")
{
    NEEDS_OWN_SERVER("it asks its server for counters all along, and for 64 MiB");
    const uint64_t bytes = 64 << 20;
    ServerOpts opts;
    opts.bytes = 128 << 20;
    Server server(opts);
    Link link(server);
    std::atomic<bool> over{ false };
    std::set<uint64_t> seen;

    REQUIRE(link.err == 0);
    REQUIRE(link.ask(RPMI_CALL_OPEN, "region", RPM_KIND_REGION, bytes) == 0);
    uint32_t key = link.reply.key;
    std::memset(link.bytes, 0x11, 4096);
    REQUIRE(link.run(link.op(RPMI_OP_WRITE, key, bytes - 4096, 4096)) == 0);
    // Reading the counters takes the lock that a pass of the engine holds: if the COPY were one
    // pass, the test would see none or all of its bytes.
    rpm_server *asked = server.get();
    std::thread watcher([&] {
        struct rpm_server_stats stats = rpm_server_stats_init();

        while (!over)
            if (rpm_server_stats(asked, &stats) == 0)
                seen.insert(stats.bytes);
    });
    rpmi_op op = link.op(RPMI_OP_COPY, key, 0, bytes);
    op.body_bytes = 4096; // one message, padded with zeros
    int err = link.run(op);
    over = true;
    watcher.join();
    CHECK(err == 0);
    seen.erase(0);
    seen.erase(bytes);
    CHECK(!seen.empty());
    for (uint64_t at : { uint64_t{ 0 }, bytes - 4096 }) {
        std::memset(link.bytes + 4096, 0x22, 4096);
        REQUIRE(link.run(link.op(RPMI_OP_READ, key, at, 4096)) == 0);
        CHECK(link.bytes[4096] == (at == 0 ? 0x11 : 0));
        CHECK(std::memcmp(link.bytes + 4096, link.bytes + 4097, 4095) == 0);
    }
}

// A word with no write behind it, whose completion would be reported instead.
TEST_CASE("method: an aligned word is an ATOMIC WRITE, anything else a WRITE", "[live]")
{
    Server server;
    rpm_conn_opts connecting = conn_opts();
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_facts facts = rpm_facts_init();
    rpm_conn *conn = nullptr;
    rpm_region *region = nullptr;
    unsigned char bytes[16];

    REQUIRE(rpm_conn_open(server.url().c_str(), &connecting, &conn) == 0);
    REQUIRE(rpm_conn_facts(conn, &facts) == 0);
    CHECK(facts.pool_starts > 0);
    if (!support::is_remote())
        CHECK(facts.atomic_write == RPM_YES);
    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 4096;
    opts.level = RPM_POSTED;
    REQUIRE(rpm_region_open(conn, server.name("words").c_str(), &opts, &region) == 0);
    for (uint64_t i = 1; i <= 20; i++) {
        for (size_t len : { 8u, 4u, 16u }) {
            uint64_t offset = 64 * i + (len == 4 ? 4 : 0);
            unsigned char found[16] = {};
            Opcodes before(conn);

            std::memset(bytes, static_cast<int>(i + len), sizeof(bytes));
            INFO(rpm_last_error());
            REQUIRE(rpm_region_write(region, offset, bytes, len) == 0);
            Opcodes after(conn);
            bool word = len == 8 && facts.atomic_write == RPM_YES;
            unsigned one = is_verbs() ? 1 : 0; // only the laboratory's completions can be inspected
            CHECK(after.count[kAtomicWrite] - before.count[kAtomicWrite] == (word ? one : 0));
            CHECK(after.count[IBV_WC_RDMA_WRITE] - before.count[IBV_WC_RDMA_WRITE] ==
                  (word ? 0 : one));
            REQUIRE(rpm_region_read(region, offset, found, len) == 0);
            CHECK(std::memcmp(found, bytes, len) == 0);
        }
    }
    rpm_region_close(&region);
    rpm_conn_close(&conn);
}

// A record, and behind it the word that commits it. With FLUSH it needs no fence.
TEST_CASE("method: a commit word lands after the bytes that it commits", "[live]")
{
    NEEDS_OWN_SERVER("each case has a server of its own kind");
    struct {
        bool devdax;
        uint32_t method;
    } const all[] = { { true, RPM_METHOD_FLUSH },
                      { false, RPM_METHOD_READ },
                      { true, RPM_METHOD_MESSAGE } };

    for (const auto &one : all) {
        Server server(one.devdax ? on_devdax(0) : ServerOpts());
        rpm_conn_opts conn_opts = rpm_conn_opts_init();
        rpm_region_opts region_opts = rpm_region_opts_init();
        rpm_conn *conn = nullptr;
        rpm_region *region = nullptr;
        std::string data(300, 'd');

        CAPTURE(one.devdax, rpm_method_name(static_cast<rpm_method>(one.method)));
        conn_opts.method = one.method;
        REQUIRE(rpm_conn_open(server.url().c_str(), &conn_opts, &conn) == 0);
        region_opts.flags = RPM_REGION_CREATE;
        region_opts.bytes = 65536;
        REQUIRE(rpm_region_open(conn, "records", &region_opts, &region) == 0);
        for (uint64_t i = 1; i <= 20; i++) {
            uint64_t word = 0x0101010101010101 * i;
            uint64_t found = 0;
            rpm_patch patches[] = { { i * 512, data.data(), data.size(), 0 },
                                    { i * 8, &word, sizeof(word), RPM_PATCH_AFTER } };
            int err = rpm_region_writev(region, patches, 2);
            INFO("record " << i << ": " << rpm_last_error());
            REQUIRE(err == 0);
            REQUIRE(rpm_region_read(region, i * 8, &found, sizeof(found)) == 0);
            REQUIRE(found == word);
            std::string back(data.size(), 0);
            REQUIRE(rpm_region_read(region, i * 512, &back[0], back.size()) == 0);
            REQUIRE(back == data);
        }
        rpm_region_close(&region);
        rpm_conn_close(&conn);
    }
}
