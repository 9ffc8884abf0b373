// SPDX-License-Identifier: BSD-3-Clause
// fence_test.cpp: a fenced direct writer adds no record any more, whether it runs, sleeps inside
// its guarded section, was killed there, or outlived the server that it was connected to.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "base/clock.h"
#include "transport/shm/shm.h"
}
#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{

using support::Server;
using support::ServerOpts;

const uint64_t kSecond = 1000000000;

// A direct link that claims the log "log" and writes whole lines into its ring.
class Writer
{
  public:
    explicit Writer(const std::string &url)
    {
        rpmi_link_opts opts = {};

        opts.timeout_us = 30000000;
        opts.depth = 64;
        opts.staging_bytes = 1 << 16;
        err = rpmi_link_open(url.c_str(), &opts, &link);
        if (err != 0)
            return;
        rpmi_call call = {};
        call.kind = RPMI_CALL_OPEN;
        call.flags = RPMI_CALL_CREATE;
        call.object = RPM_KIND_LOG;
        call.bytes = 1 << 20;
        strcpy(call.name, "log");
        err = ask(call);
        opened = reply.key;
    }
    Writer(const Writer &) = delete;
    Writer &operator=(const Writer &) = delete;
    ~Writer()
    {
        if (link != nullptr)
            link->ops->close(link);
    }
    int ask(const rpmi_call &call)
    {
        int failed = link->ops->call(link, &call, &reply, rpmi_clock_ns() + 10 * kSecond);

        return failed != 0 ? failed : reply.status;
    }
    int claim()
    {
        rpmi_call call = {};

        call.kind = RPMI_CALL_CLAIM;
        call.flags = RPMI_CALL_TAKEOVER;
        call.key = opened;
        int failed = ask(call);
        if (failed == 0) {
            claimed = reply.key;
            epoch = reply.epoch;
        }
        return failed;
    }
    int write(uint64_t at, const void *bytes, uint64_t len)
    {
        rpmi_op ops[2] = {};

        ops[0].kind = RPMI_OP_WRITE;
        ops[0].key = claimed;
        ops[0].offset = RPMI_LOG_HEADER_BYTES + at;
        ops[0].len = len;
        ops[0].body = bytes;
        ops[0].body_bytes = len;
        ops[1].kind = RPMI_OP_DRAIN;
        int done = link->ops->post(link, ops, 2);
        return done == 2 ? 0 : done;
    }
    uint64_t *busy() const
    {
        rpmi_shm *shm = rpmi_shm_of(link);

        return &shm->direct.key[claimed].guard->busy[epoch % RPMI_GUARD_SLOTS];
    }
    const void *ring(uint64_t len) const
    {
        return link->ops->peek(link, opened, RPMI_LOG_HEADER_BYTES, len);
    }

    rpmi_link *link = nullptr;
    rpmi_reply reply = {};
    uint32_t opened = 0;
    uint32_t claimed = 0;
    uint32_t epoch = 0;
    int err = 0;
};

// A process that is forked before any thread runs, and gets the URL later through a pipe.
class Child
{
  public:
    explicit Child(std::function<void(Writer *)> body)
    {
        REQUIRE(pipe(to_) == 0);
        REQUIRE(pipe(from_) == 0);
        pid_ = fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0)
            run(body);
    }
    ~Child()
    {
        end();
        for (int fd : { to_[0], to_[1], from_[0], from_[1] })
            close(fd);
    }
    // Lets it connect and claim; true if it has done so and is in its guarded section.
    bool go(const std::string &url)
    {
        char byte = 0;
        ssize_t sent = ::write(to_[1], url.c_str(), url.size() + 1);

        return sent > 0 && ::read(from_[0], &byte, 1) == 1 && byte == 'y';
    }
    void signal(int which)
    {
        ::kill(pid_, which);
    }
    // How the process ended: the signal, or 0.
    int end()
    {
        int status = 0;

        if (pid_ <= 0)
            return 0;
        ::kill(pid_, SIGKILL);
        waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    bool ended_by_itself()
    {
        for (int i = 0; i < 2000; i++) {
            if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
                pid_ = -1;
                return true;
            }
            rpmi_clock_sleep_ns(1000000);
        }
        return false;
    }

  private:
    void run(const std::function<void(Writer *)> &body)
    {
        char url[512] = {};

        alarm(60);
        if (::read(to_[0], url, sizeof(url) - 1) <= 0)
            _exit(1);
        Writer writer(url);
        char answer = writer.err == 0 && writer.claim() == 0 ? 'y' : 'n';
        if (answer == 'y')
            __atomic_store_n(writer.busy(), 1, __ATOMIC_SEQ_CST); // as in the middle of a post
        if (::write(from_[1], &answer, 1) != 1)
            _exit(1);
        body(&writer);
        _exit(0);
    }

    int to_[2];
    int from_[2];
    pid_t pid_;
};

void stay(Writer *)
{
    for (;;)
        pause();
}

} // namespace

TEST_CASE("fence: an older writer's post fails and stores nothing", "[conform]")
{
    Server server;
    Writer old(server.url("direct"));
    Writer fresh(server.url("direct"));
    unsigned char line[64];

    REQUIRE(old.err == 0);
    REQUIRE(old.claim() == 0);
    memset(line, 1, sizeof(line));
    CHECK(old.write(0, line, 64) == 0);
    REQUIRE(fresh.claim() == 0);
    memset(line, 2, sizeof(line));
    CHECK(old.write(0, line, 64) == RPM_E_FENCED);
    CHECK(static_cast<const unsigned char *>(fresh.ring(64))[0] == 1);
    CHECK(*old.busy() == 0);
    CHECK(fresh.write(0, line, 64) == 0);
}

TEST_CASE("fence: each op of a post is judged by the claim that guards it", "[conform]")
{
    Server server;
    Writer old(server.url("direct"));
    Writer fresh(server.url("direct"));
    unsigned char line[64] = { 1 };
    rpmi_call call = {};
    rpmi_op ops[3] = {};

    REQUIRE(old.claim() == 0);
    call.kind = RPMI_CALL_OPEN;
    call.flags = RPMI_CALL_CREATE | RPMI_CALL_GUARDED;
    call.object = RPM_KIND_REGION;
    call.key = old.claimed;
    call.bytes = 4096;
    strcpy(call.name, "region");
    REQUIRE(old.ask(call) == 0);
    ops[2].key = old.reply.key; // guarded by the log that will be taken over
    ops[1].key = old.reply.key;
    call.flags = RPMI_CALL_CREATE;
    call.object = RPM_KIND_LOG;
    call.bytes = 8192;
    strcpy(call.name, "other");
    REQUIRE(old.ask(call) == 0);
    call.kind = RPMI_CALL_CLAIM;
    call.flags = 0;
    call.key = old.reply.key;
    REQUIRE(old.ask(call) == 0);
    ops[0].key = old.reply.key; // a claim that is kept
    for (rpmi_op &op : ops) {
        op.kind = RPMI_OP_WRITE;
        op.offset = RPMI_LOG_HEADER_BYTES;
        op.len = sizeof(line);
        op.body = line;
        op.body_bytes = sizeof(line);
    }
    ops[1].offset = 0;
    ops[2].offset = 64;
    REQUIRE(old.link->ops->post(old.link, ops, 3) == 3);
    REQUIRE(fresh.claim() == 0);
    line[0] = 2;
    CHECK(old.link->ops->post(old.link, ops, 3) == RPM_E_FENCED);
    CHECK(static_cast<const unsigned char *>(old.link->ops->peek(old.link, ops[1].key, 0, 1))[0] ==
          1);
    CHECK(old.link->ops->post(old.link, ops, 1) == 1);
    CHECK(*old.busy() == 0);
}

TEST_CASE("fence: a ring client's claim fences a direct writer", "[conform]")
{
    Server server;
    Writer old(server.url("direct"));
    Writer fresh(server.url("ring"));
    unsigned char line[64] = { 1 };

    REQUIRE(old.claim() == 0);
    REQUIRE(fresh.claim() == 0);
    CHECK(old.write(0, line, 64) == RPM_E_FENCED);
}

TEST_CASE("fence: a writer killed in its guarded section does not block the next claim",
          "[conform]")
{
    Child child(stay);
    Server server;

    REQUIRE(child.go(server.url("direct")));
    CHECK(child.end() == SIGKILL);
    Writer fresh(server.url("direct"));
    REQUIRE(fresh.claim() == 0);
    unsigned char line[64] = { 1 };
    CHECK(fresh.write(0, line, 64) == 0);
}

TEST_CASE("fence: a writer stopped in its guarded section is not passed over", "[conform]")
{
    Child child(stay);
    ServerOpts opts;
    opts.fence_us = 100000;
    Server server(opts);

    REQUIRE(child.go(server.url("direct")));
    child.signal(SIGSTOP);
    Writer fresh(server.url("direct"));
    CHECK(fresh.claim() == RPM_E_OWNED);
    CHECK(fresh.claim() == RPM_E_OWNED);
    child.end();
    CHECK(fresh.claim() == 0);
}

TEST_CASE("fence: an epoch refused for a stopped writer is granted once that writer has ended",
          "[conform]")
{
    Child child(stay);
    ServerOpts opts;
    opts.fence_us = 100000;
    Server server(opts);
    rpmi_call call = {};

    REQUIRE(child.go(server.url("direct")));
    child.signal(SIGSTOP);
    Writer fresh(server.url("ring"));
    call.kind = RPMI_CALL_CLAIM;
    call.flags = RPMI_CALL_TAKEOVER;
    call.key = fresh.opened;
    call.epoch = 9;
    for (int i = 0; i < 2; i++)
        CHECK(fresh.ask(call) == RPM_E_OWNED);
    child.end();
    CHECK(fresh.ask(call) == 0);
    CHECK(fresh.reply.epoch == 9);
}

TEST_CASE("fence: a client that claims again does not wait, and delays no other client",
          "[conform]")
{
    Child child(stay);
    ServerOpts opts;
    opts.fence_us = 1000000;
    Server server(opts);

    REQUIRE(child.go(server.url("direct")));
    child.signal(SIGSTOP);
    Writer fresh(server.url("direct"));
    uint64_t start = rpmi_clock_ns();
    CHECK(fresh.claim() == RPM_E_OWNED);
    CHECK(rpmi_clock_ns() - start >= kSecond);
    for (int i = 0; i < 60; i++)
        CHECK(fresh.claim() == RPM_E_OWNED);
    CHECK(rpmi_clock_ns() - start < 30 * kSecond);
    child.end();
    CHECK(fresh.claim() == 0);
}

TEST_CASE("fence: a writer stopped in its guarded section is killed, where the operator allows it",
          "[conform]")
{
    Child child(stay);
    ServerOpts opts;
    opts.fence_us = 100000;
    opts.flags = RPM_SERVER_FENCE_KILL;
    Server server(opts);

    REQUIRE(child.go(server.url("direct")));
    child.signal(SIGSTOP);
    Writer fresh(server.url("direct"));
    CHECK(fresh.claim() == 0);
    CHECK(child.ended_by_itself());
}

TEST_CASE("fence: a new server on the pool waits for the old one's direct writers too", "[conform]")
{
    Child child(stay);
    ServerOpts opts;
    opts.fence_us = 100000;
    Server server(opts);

    REQUIRE(child.go(server.url("direct")));
    child.signal(SIGSTOP);
    server.stop();
    server.start();
    Writer fresh(server.url("direct"));
    CHECK(fresh.claim() == RPM_E_OWNED);
    child.end();
    CHECK(fresh.claim() == 0);
}

namespace
{

int remove_object(const Server &server, const char *name)
{
    rpm_conn *conn = nullptr;
    int err = rpm_conn_open(server.url("ring").c_str(), nullptr, &conn);

    if (err == 0)
        err = rpm_conn_remove(conn, name);
    rpm_conn_close(&conn);
    return err;
}

struct Region {
    rpm_conn *conn = nullptr;
    rpm_region *region = nullptr;

    explicit Region(const Server &server)
    {
        rpm_region_opts opts = rpm_region_opts_init();

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = 65536;
        REQUIRE(rpm_conn_open(server.url("direct").c_str(), nullptr, &conn) == 0);
        REQUIRE(rpm_region_open(conn, "region", &opts, &region) == 0);
    }
    ~Region()
    {
        rpm_region_close(&region);
        rpm_conn_close(&conn);
    }
};

} // namespace

TEST_CASE("fence: an object that a client of an earlier server still maps is not removed",
          "[conform]")
{
    Child child(stay);
    Server server;

    REQUIRE(child.go(server.url("direct")));
    child.signal(SIGSTOP);
    CHECK(remove_object(server, "log") == RPM_E_OWNED);
    server.stop();
    server.start();
    CHECK(remove_object(server, "log") == RPM_E_OWNED);
    {
        Writer still(server.url("ring"));

        CHECK(still.err == 0); // and nothing has changed
        CHECK((still.reply.flags & RPMI_CALL_CREATE) == 0);
    }
    child.end();
    CHECK(remove_object(server, "log") == 0);
}

TEST_CASE("fence: a region's memory is not reused until its last user has learnt of the removal",
          "[conform]")
{
    Server server;
    {
        Region idle(server);

        server.stop();
        server.start();
        CHECK(remove_object(server, "region") == RPM_E_OWNED);
        REQUIRE(rpm_conn_reconnect(idle.conn) == 0);
        CHECK(remove_object(server, "region") == 0);
    }
    for (int i = 0; i < 50; i++) {
        Region again(server);

        CHECK(remove_object(server, "region") == RPM_E_OWNED);
        rpm_region_close(&again.region);
        CHECK(remove_object(server, "region") == 0);
    }
    {
        Region one(server);
        Region other(server);

        rpm_region_close(&one.region);
        server.stop();
        server.start();
        CHECK(remove_object(server, "region") == RPM_E_OWNED);
    }
    CHECK(remove_object(server, "region") == 0);
}

TEST_CASE("fence: other clients' rings go on while a claimer waits", "[conform]")
{
    Child child(stay);
    ServerOpts opts;
    opts.fence_us = 500000;
    Server server(opts);
    Writer reader(server.url("ring"));
    unsigned char *into = static_cast<unsigned char *>(reader.link->ops->stage(reader.link, 64));
    std::atomic<bool> waiting{ true };
    uint64_t reads = 0;

    REQUIRE(child.go(server.url("direct")));
    std::thread claimer([&] {
        Writer fresh(server.url("direct"));

        CHECK(fresh.claim() == RPM_E_OWNED);
        waiting = false;
    });
    while (waiting) {
        rpmi_op op = {};
        rpmi_done done;

        op.kind = RPMI_OP_READ;
        op.flags = RPMI_OP_SIGNALED;
        op.key = reader.opened;
        op.len = 64;
        op.into = into;
        REQUIRE(reader.link->ops->post(reader.link, &op, 1) == 1);
        REQUIRE(reader.link->ops->wait(reader.link, rpmi_clock_ns() + 5 * kSecond) == 0);
        REQUIRE(reader.link->ops->poll(reader.link, &done, 1) == 1);
        REQUIRE(done.status == 0);
        reads++;
    }
    claimer.join();
    CHECK(reads > 50);
}

TEST_CASE("fence: more claims than guard slots by one client, and by many", "[conform]")
{
    Server server;
    Writer one(server.url("direct"));
    Writer other(server.url("direct"));
    unsigned char line[64] = { 1 };
    int fenced = 0;

    for (uint32_t i = 0; i < 3 * RPMI_GUARD_SLOTS; i++) {
        Writer *writer = i % 3 == 0 ? &other : &one;
        int err = writer->claim();

        // A claim keeps its guard slot locked until its key is given back; until then a claim whose
        // epoch leads to the same slot is refused.
        if (err == RPM_E_OWNED) {
            fenced++;
            continue;
        }
        REQUIRE(err == 0);
        REQUIRE(writer->write(0, line, 64) == 0);
        rpmi_call give_back = {};
        give_back.kind = RPMI_CALL_CLOSE;
        give_back.key = writer->claimed;
        if (i % 2 == 0)
            REQUIRE(writer->ask(give_back) == 0);
    }
    CHECK(fenced < static_cast<int>(2 * RPMI_GUARD_SLOTS));
}

TEST_CASE("fence: writers that take the log from each other never write after they lost it",
          "[conform]")
{
    const uint64_t lines = 64;
    Server server;
    Writer judge(server.url("direct"));
    std::atomic<bool> stop{ false };
    std::atomic<uint64_t> writes{ 0 };
    std::vector<std::thread> threads;
    int violations = 0;

    for (int t = 0; t < 2; t++)
        threads.emplace_back([&] {
            while (!stop) {
                Writer writer(server.url("direct"));
                uint64_t stamp[8];

                if (writer.err != 0 || writer.claim() != 0)
                    continue;
                std::fill_n(stamp, 8, uint64_t{ writer.epoch });
                for (uint64_t i = 0; !stop; i = (i + 1) % lines) {
                    if (writer.write(i * 64, stamp, 64) != 0)
                        break;
                    writes++;
                }
            }
        });
    uint64_t until = rpmi_clock_ns() + 2 * kSecond;
    for (int round = 0; rpmi_clock_ns() < until; round++) {
        if (judge.claim() != 0)
            continue;
        // The lines were written under older claims; they must not change while this one is held.
        std::vector<uint64_t> first(lines * 8);
        std::vector<uint64_t> second(lines * 8);
        memcpy(first.data(), judge.ring(lines * 64), lines * 64);
        unsigned char probe[64] = {};
        if (round % 2 == 0)
            rpmi_clock_sleep_ns(200000);
        memcpy(second.data(), judge.ring(lines * 64), lines * 64);
        // Only meaningful if no other client took the claim meanwhile.
        if (judge.write(lines * 64, probe, 64) == 0 && first != second)
            violations++;
        rpmi_call give_back = {};
        give_back.kind = RPMI_CALL_CLOSE;
        give_back.key = judge.claimed;
        REQUIRE(judge.ask(give_back) == 0);
        rpmi_clock_sleep_ns(500000);
    }
    stop = true;
    for (auto &thread : threads)
        thread.join();
    CHECK(violations == 0);
    CHECK(writes > 1000);
}
