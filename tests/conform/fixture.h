// SPDX-License-Identifier: BSD-3-Clause
// fixture.h: the fixture of the conformance suite: for every transport, bare and wrapped, a server
// that can be killed and restarted, and a link to it; or the user's own server, LIBRPM_TEST_URL.
#ifndef TESTS_CONFORM_FIXTURE_H
#define TESTS_CONFORM_FIXTURE_H

extern "C" {
#include "base/mem.h"
#include "conn/conn.h"
#include "plan/plan.h"
#include "transport/sim/sim.h"
#include "transport/wrap/wrap.h"
#include "wire/steps.h"
}
#include "support/catch.h"
#include "support/cert.h"
#include "support/devdax.h"
#include "support/remote.h"
#include "support/server.h"

#include <librpm/server.h>
#include <librpm/sim.h>

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace conform
{

const uint64_t SECOND = 1000000000;
const uint64_t PATIENCE = 30 * SECOND; // a busy machine stretches a millisecond
const uint32_t DEPTH = 16;
const uint64_t STAGING = 256 << 10;
const uint64_t REGION = 64 << 10;

struct Server {
    virtual ~Server() = default;
    virtual int connect(const std::string &wrap, rpmi_link **link, const rpmi_link_opts &opts) = 0;
    int connect(const std::string &wrap, rpmi_link **link);
    // The same, as a connection with @opts. Fails the test where the server cannot be reached.
    rpm_conn *connect(const std::string &wrap, const rpm_conn_opts &opts);
    virtual void kill() = 0;
    virtual void restart() = 0;
    // Flips all bits of a byte of the server's pool, without a message to the processes that map
    // it.
    virtual void damage(uint64_t offset)
    {
        FAIL("this pool is not ours to damage: byte " << offset);
    }
    // The name at this server of the object that a test calls @name.
    virtual std::string name(const std::string &name)
    {
        return name;
    }
};

inline rpmi_link_opts link_opts()
{
    rpmi_link_opts opts = {};

    opts.timeout_us = 2000000;
    opts.depth = DEPTH;
    opts.staging_bytes = STAGING;
    return opts;
}

inline int Server::connect(const std::string &wrap, rpmi_link **link)
{
    return connect(wrap, link, link_opts());
}

inline rpm_conn *Server::connect(const std::string &wrap, const rpm_conn_opts &opts)
{
    rpmi_link_opts of_link;
    rpmi_link *link = nullptr;
    rpm_conn *conn = nullptr;

    REQUIRE(rpmi_conn_link_opts(&opts, &of_link) == 0);
    int err = connect(wrap, &link, of_link);
    INFO(rpm_last_error());
    REQUIRE(err == 0);
    REQUIRE(rpmi_conn_wrap(link, &opts, &conn) == 0);
    return conn;
}

// The payloads of all records of a log.
inline std::vector<std::string> records_of(rpm_log *log)
{
    std::vector<std::string> all;
    rpm_reader *reader = nullptr;
    rpm_record record;
    int more;

    REQUIRE(rpm_reader_open(log, nullptr, &reader) == 0);
    while ((more = rpm_reader_next(reader, &record)) > 0)
        all.emplace_back(static_cast<const char *>(record.data), record.len);
    rpm_reader_close(&reader);
    REQUIRE(more == 0);
    return all;
}

// A machine of the device model.
class SimServer : public Server
{
  public:
    explicit SimServer(const std::string &preset)
    {
        rpm_sim_opts opts = rpm_sim_opts_init();

        opts.seed = 1;
        opts.preset = preset.c_str();
        opts.native_flush = 1;
        REQUIRE(rpm_sim_open(&opts, &sim_) == 0);
    }
    ~SimServer() override
    {
        rpm_sim_close(&sim_);
    }
    using Server::connect;
    int connect(const std::string &wrap, rpmi_link **link, const rpmi_link_opts &opts) override
    {
        rpmi_url url;

        REQUIRE(rpmi_url_parse(("sim:seed=1" + wrap).c_str(), &url) == 0);
        int err = rpmi_sim_link_open(sim_, 0, &opts, link);
        return err != 0 ? err : rpmi_link_wrap(&url, link);
    }
    void kill() override
    {
        rpm_sim_kill_server(sim_, 0);
    }
    void restart() override
    {
        REQUIRE(rpm_sim_restart(sim_, 0) == 0);
    }
    void damage(uint64_t offset) override
    {
        sim_->world->machine[0].media.pool[offset] ^= 0xff;
    }

  private:
    rpm_sim *sim_ = nullptr;
};

// A server on this machine, with a pool in a file in memory: "shm direct", "shm ring", "tcp plain",
// "unix plain", "tcp tls"; in the laboratory "verbs dram", with DDIO declared off, so that READ is
// a legal method, and "verbs devdax", with native FLUSH.
class LocalServer : public Server
{
  public:
    explicit LocalServer(const std::string &what)
        : server_(opts_of(what)), options_(options_of(what))
    {
    }
    using Server::connect;
    int connect(const std::string &wrap, rpmi_link **link, const rpmi_link_opts &opts) override
    {
        return rpmi_link_open((url() + options_ + wrap).c_str(), &opts, link);
    }
    void kill() override
    {
        url(); // before the server stops, for connects after it
        server_.stop();
    }
    void restart() override
    {
        server_.start();
    }
    void damage(uint64_t offset) override
    {
        int fd = open(server_.pool().c_str(), O_RDWR);
        void *front = mmap(nullptr, offset + 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        REQUIRE(front != MAP_FAILED);
        static_cast<unsigned char *>(front)[offset] ^= 0xff;
        munmap(front, offset + 1);
        close(fd);
    }

  private:
    support::ServerOpts opts_of(const std::string &what)
    {
        support::ServerOpts opts;

        opts.bytes = 1 << 20;
        opts.shm = what.compare(0, 4, "shm ") == 0;
        if (what == "tcp plain")
            opts.listen = "tcp://127.0.0.1:0/pool";
        if (what == "unix plain")
            opts.listen = "unix:" + dir_ / "socket";
        if (what == "tcp tls") {
            opts.listen = "tcp://127.0.0.1:0/pool,tls=on";
            authority_ = std::make_unique<support::Authority>(dir_ / "");
            authority_->issue("server", "IP:127.0.0.1");
            opts.tls_cert = dir_ / "server.pem";
            opts.tls_key = dir_ / "server.key";
        }
        if (what.compare(0, 6, "verbs ") == 0) {
            opts.listen = std::string("verbs://") + std::getenv("LIBRPM_LAB_SERVER") + ":0/pool";
            opts.ddio = RPM_NO;
        }
        if (what == "verbs devdax") {
            opts.pool = std::getenv("LIBRPM_LAB_DEVDAX");
            opts.bytes = 0;
            opts.domain = 0;
            opts.ddio = 0;
            support::wipe_device(opts.pool);
        }
        return opts;
    }
    // Options of a client's URL.
    std::string options_of(const std::string &what) const
    {
        if (what.compare(0, 4, "shm ") == 0)
            return ",mode=" + what.substr(4);
        if (what == "tcp tls")
            return ",tls=" + authority_->trusted();
        if (what.compare(0, 6, "verbs ") == 0)
            return std::string(",from=") + std::getenv("LIBRPM_LAB_CLIENT");
        return "";
    }
    const std::string &url()
    {
        if (server_.get() != nullptr)
            url_ = server_.is_shm() ? server_.url() : server_.listener_url();
        return url_;
    }

    support::Dir dir_; // certificates for TLS, and the path of a unix: socket
    std::unique_ptr<support::Authority> authority_;
    support::Server server_;
    std::string options_;
    std::string url_;
};

// The user's own server, at LIBRPM_TEST_URL. NEEDS_OWN_SERVER() skips cases that would kill it.
class RemoteServer : public Server
{
  public:
    using Server::connect;
    int connect(const std::string &wrap, rpmi_link **link, const rpmi_link_opts &opts) override
    {
        rpmi_link_opts known = opts;

        known.secret = support::test_secret();
        return rpmi_link_open((support::test_url() + wrap).c_str(), &known, link);
    }
    void kill() override
    {
        FAIL("this server is not ours to kill");
    }
    void restart() override
    {
        FAIL("this server is not ours to start");
    }
    std::string name(const std::string &name) override
    {
        return names_(name);
    }

  private:
    support::Names names_;
};

// A server ("shm direct", "sim adr", ...) and the wrappers of a link to it.
struct Setup {
    std::string server;
    std::string wrap;
};

// The setups that this machine has; in the laboratory those of LIBRPM_CONFORM, "verbs".
inline std::vector<std::string> servers()
{
    const char *wanted = std::getenv("LIBRPM_CONFORM");

    if (support::is_remote())
        return { support::test_url() };
    if (wanted == nullptr) {
        std::vector<std::string> all = {
            "sim adr",    "sim adr-noddio", "sim eadr",  "sim msync",
            "shm direct", "shm ring",       "tcp plain", "unix plain"
        };
        if (RPMI_WITH_TLS)
            all.push_back("tcp tls");
        return all;
    }
    REQUIRE(std::string(wanted) == "verbs");
    return { "verbs dram", "verbs devdax" };
}

// One setup for each carrier of ops.
inline std::vector<std::string> one_of_each()
{
    if (support::is_remote())
        return servers();
    if (std::getenv("LIBRPM_CONFORM") != nullptr)
        return { servers().front() };
    return { "sim adr", "shm direct", "shm ring", "tcp plain" };
}

// Where connecting takes long, all wrappers are put on at once.
inline std::vector<std::string> wraps()
{
    if (support::is_remote() || std::getenv("LIBRPM_CONFORM") != nullptr)
        return { "", ",wrap=trace+count+fault+delay,delay_ns=500" };
    return { "", ",wrap=trace+count", ",wrap=fault+delay,delay_ns=500" };
}

inline std::vector<Setup> all_setups()
{
    std::vector<Setup> all;

    for (const std::string &server : servers())
        for (const std::string &wrap : wraps())
            all.push_back({ server, wrap });
    return all;
}

inline std::unique_ptr<Server> start_server(const std::string &what)
{
    if (support::is_remote())
        return std::make_unique<RemoteServer>();
    if (what.compare(0, 4, "sim ") == 0)
        return std::make_unique<SimServer>(what.substr(4));
    return std::make_unique<LocalServer>(what);
}

inline rpmi_op make(uint8_t kind, uint32_t key, uint64_t offset, uint64_t len)
{
    rpmi_op op = {};

    op.kind = kind;
    op.flags = RPMI_OP_SIGNALED;
    op.key = key;
    op.offset = offset;
    op.len = len;
    return op;
}

// A client of the library; what a derived struct opens on the connection, it closes before.
struct Connected {
    rpm_conn *conn = nullptr;

    explicit Connected(Server *server, const std::string &wrap = "")
    {
        rpm_conn_opts opts = rpm_conn_opts_init();

        opts.timeout_us = 30000000;
        conn = server->connect(wrap, opts);
    }
    Connected(const Connected &) = delete;
    ~Connected()
    {
        rpm_conn_close(&conn);
    }
    uint64_t now() const
    {
        return rpmi_conn_link(conn)->ops->now_ns(rpmi_conn_link(conn));
    }
    struct rpm_conn_stats stats() const
    {
        struct rpm_conn_stats found = rpm_conn_stats_init();

        REQUIRE(rpm_conn_stats(conn, &found) == 0);
        return found;
    }
};

// A link with staging memory, a persistent region and a DRAM region behind it.
class Context
{
  public:
    explicit Context(const Setup &setup) : server(start_server(setup.server))
    {
        int err = server->connect(setup.wrap, &link);
        INFO(rpm_last_error());
        REQUIRE(err == 0);
        ops = link->ops;
        bytes = static_cast<unsigned char *>(ops->stage(link, REGION));
        into = static_cast<unsigned char *>(ops->stage(link, REGION));
        REQUIRE(bytes != nullptr);
        REQUIRE(into != nullptr);
        open_objects();
    }
    Context(const Context &) = delete;
    ~Context()
    {
        if (link != nullptr)
            ops->close(link);
    }

    bool synchronous() const
    {
        return (link->flags & RPMI_LINK_COMPLETES_ON_POST) != 0;
    }
    uint64_t now() const
    {
        return ops->now_ns(link);
    }
    int open(const std::string &name, rpm_kind kind, uint64_t size, uint32_t *key)
    {
        rpmi_call call = {};
        rpmi_reply reply = {};

        call.kind = RPMI_CALL_OPEN;
        call.flags = size != 0 ? RPMI_CALL_CREATE : 0;
        call.object = kind;
        call.bytes = size;
        server->name(name).copy(call.name, RPM_NAME_MAX);
        int err = ops->call(link, &call, &reply, now() + SECOND);
        if (err != 0)
            return err;
        *key = reply.key;
        return reply.status;
    }
    void open_objects()
    {
        REQUIRE(open("region", RPM_KIND_REGION, REGION, &region) == 0);
        REQUIRE(open("words", RPM_KIND_DRAM, 4096, &words) == 0);
    }

    rpmi_op write(uint64_t offset, uint64_t len, uint64_t from = 0) const
    {
        rpmi_op op = make(RPMI_OP_WRITE, region, offset, len);

        op.body = bytes + from;
        op.body_bytes = len;
        return op;
    }
    rpmi_op read(uint64_t offset, uint64_t len, uint64_t to = 0) const
    {
        rpmi_op op = make(RPMI_OP_READ, region, offset, len);

        op.into = into + to;
        return op;
    }

    // Posts all and waits for every signalled one. The first failure, or 0.
    int exec(std::vector<rpmi_op> list)
    {
        uint32_t sent = 0;
        uint32_t want = 0;
        uint64_t deadline = now() + PATIENCE;
        int failed = 0;

        for (const rpmi_op &op : list)
            want += (op.flags & RPMI_OP_SIGNALED) != 0;
        while (sent < list.size()) {
            int taken =
                ops->post(link, list.data() + sent, static_cast<uint32_t>(list.size()) - sent);

            if (taken < 0)
                return taken;
            sent += static_cast<uint32_t>(taken);
            // The queue may be full of unsignalled ops, for which no wait would end.
            if (sent < list.size())
                reap(&want, &failed);
            REQUIRE(now() < deadline);
        }
        while (!synchronous() && want > 0 && failed == 0) {
            REQUIRE(ops->wait(link, deadline) == 0);
            reap(&want, &failed);
        }
        return failed;
    }

    // Runs a list of two steps: an atomic one on a word, and @step.
    int exec_behind_atomic(const rpmi_step &step)
    {
        rpmi_op op = make(RPMI_OP_STEPS, 0, 0, RPMI_STEPS_ANSWER_HEAD + 2 * sizeof(uint64_t));
        rpmi_step add = {};

        add.kind = RPMI_STEP_FAA;
        add.len = sizeof(uint64_t);
        add.key = words;
        add.operand = 1;
        op.body_bytes = rpmi_step_put(bytes, &add);
        op.body_bytes += rpmi_step_put(bytes + op.body_bytes, &step);
        op.body = bytes;
        op.into = into;
        return exec({ op });
    }

    std::unique_ptr<Server> server;
    rpmi_link *link = nullptr;
    const rpmi_transport_ops *ops = nullptr;
    unsigned char *bytes = nullptr; // staged, to write from
    unsigned char *into = nullptr;  // staged, to read into
    uint32_t region = 0;
    uint32_t words = 0;

  private:
    void reap(uint32_t *want, int *failed)
    {
        rpmi_done done[DEPTH];
        int n = ops->poll(link, done, DEPTH);

        if (n < 0)
            *failed = n;
        for (int i = 0; i < n; i++) {
            (*want)--;
            if (done[i].status != 0 && *failed == 0)
                *failed = done[i].status;
        }
    }
};

} // namespace conform
#endif
