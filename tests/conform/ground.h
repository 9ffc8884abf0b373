// SPDX-License-Identifier: BSD-3-Clause
// ground.h: where the conformance suite runs: a server that can be killed and restarted, and a link
// to it, for every transport, bare and wrapped; or a server of the user's, LIBRPM_TEST_URL.
#ifndef TESTS_CONFORM_GROUND_H
#define TESTS_CONFORM_GROUND_H

extern "C" {
#include "base/mem.h"
#include "plan/plan.h"
#include "transport/sim/sim.h"
#include "transport/wrap/wrap.h"
}
#include "support/catch.h"
#include "support/cert.h"
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
const uint64_t PATIENCE = 30 * SECOND; // a busy machine stretches what takes a millisecond
const uint32_t DEPTH = 16;
const uint64_t STAGING = 256 << 10;
const uint64_t REGION = 64 << 10;

struct Server {
    virtual ~Server() = default;
    virtual int connect(const std::string &wrap, rpmi_link **link, const rpmi_link_opts &opts) = 0;
    int connect(const std::string &wrap, rpmi_link **link);
    virtual void kill() = 0;
    virtual void restart() = 0;
    // All bits of a byte of its pool change, behind the back of whoever has it mapped.
    virtual void damage(uint64_t offset)
    {
        FAIL("this pool is not ours to damage: byte " << offset);
    }
    // What an object that a test calls @name is called there.
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

// A machine of the device model.
class Model : public Server
{
  public:
    explicit Model(const std::string &preset)
    {
        rpm_sim_opts opts = rpm_sim_opts_init();

        opts.seed = 1;
        opts.preset = preset.c_str();
        opts.native_flush = 1;
        REQUIRE(rpm_sim_open(&opts, &sim_) == 0);
    }
    ~Model() override
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

// A character device of persistent memory starts anew, as a file that is made does.
inline void wipe(const char *device)
{
    const size_t bytes = 2 << 20; // its pages are so large
    int fd = open(device, O_RDWR);
    void *front = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    REQUIRE(front != MAP_FAILED);
    std::memset(front, 0, bytes);
    munmap(front, bytes);
    close(fd);
}

// A server on this machine, with a pool in a file in memory: "shm direct", "shm ring", "tcp plain",
// "unix plain", "tcp tls"; in the laboratory "verbs dram", whose DDIO counts as off, so that a READ
// is proof enough, and "verbs devdax", with native FLUSH.
class Local : public Server
{
  public:
    explicit Local(const std::string &what)
    {
        static int number;
        std::string scheme = what.substr(0, what.find(' '));

        name_ = "conform-" + std::to_string(getpid()) + "-" + std::to_string(number++);
        pool_ = "/dev/shm/" + name_;
        listen_ = scheme == "tcp" ? "tcp://127.0.0.1:0/pool" : scheme + ":" + name_;
        if (scheme == "shm")
            options_ = ",mode=" + what.substr(4);
        if (what == "tcp tls")
            encrypt();
        if (scheme == "verbs") {
            listen_ = std::string("verbs://") + std::getenv("LIBRPM_LAB_SERVER") + ":0/pool";
            options_ = std::string(",from=") + std::getenv("LIBRPM_LAB_CLIENT");
            ddio_ = RPM_NO;
        }
        if (what == "verbs devdax") {
            pool_ = std::getenv("LIBRPM_LAB_DEVDAX");
            bytes_ = 0;
            ddio_ = 0;
            wipe(pool_.c_str());
        }
        start(RPM_SERVER_CREATE);
    }
    ~Local() override
    {
        kill();
        if (bytes_ != 0)
            unlink(pool_.c_str());
    }
    using Server::connect;
    int connect(const std::string &wrap, rpmi_link **link, const rpmi_link_opts &opts) override
    {
        return rpmi_link_open((url_ + options_ + wrap).c_str(), &opts, link);
    }
    void kill() override
    {
        if (server_ == nullptr)
            return;
        rpm_server_stop(server_);
        run_.join();
        engine_.join();
        rpm_server_close(&server_);
    }
    void restart() override
    {
        start(0);
    }
    void damage(uint64_t offset) override
    {
        int fd = open(pool_.c_str(), O_RDWR);
        void *front = mmap(nullptr, offset + 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        REQUIRE(front != MAP_FAILED);
        static_cast<unsigned char *>(front)[offset] ^= 0xff;
        munmap(front, offset + 1);
        close(fd);
    }

  private:
    void encrypt()
    {
        dir_ = std::make_unique<support::Dir>();
        support::Authority ca(*dir_ / "");

        ca.issue("server", "IP:127.0.0.1");
        cert_ = *dir_ / "server.pem";
        key_ = *dir_ / "server.key";
        listen_ += ",tls=on";
        options_ = ",tls=" + ca.trusted();
    }
    void start(uint32_t flags)
    {
        rpm_server_opts opts = rpm_server_opts_init();
        char url[512];

        opts.pool = pool_.c_str();
        opts.listen = listen_.c_str();
        opts.pool_bytes = bytes_;
        opts.flags = flags;
        opts.domain = bytes_ != 0 ? RPM_DOMAIN_ADR : 0;
        opts.ddio = ddio_;
        opts.tls_cert = cert_.empty() ? nullptr : cert_.c_str();
        opts.tls_key = key_.empty() ? nullptr : key_.c_str();
        INFO(rpm_last_error());
        REQUIRE(rpm_server_open(&opts, &server_) == 0);
        REQUIRE(rpm_server_url(server_, 0, url, sizeof(url)) == 0);
        url_ = url;
        if (listen_.find("://") != std::string::npos)
            listen_ = url_ + (cert_.empty() ? "" : ",tls=on"); // the same port after a restart
        run_ = std::thread([this] { run_result_ = rpm_server_run(server_); });
        engine_ = std::thread([this] { engine_result_ = rpm_server_engine(server_); });
    }

    std::string name_;
    std::string listen_;
    std::string url_;
    std::string options_;
    std::unique_ptr<support::Dir> dir_; // of what TLS needs
    std::string cert_;
    std::string key_;
    std::string pool_;
    uint64_t bytes_ = 1 << 20; // 0: a device
    uint32_t ddio_ = 0;
    rpm_server *server_ = nullptr;
    std::thread run_;
    std::thread engine_;
    int run_result_ = 0;
    int engine_result_ = 0;
};

// The user's, at LIBRPM_TEST_URL. Cases that would kill it leave before: NEEDS_OWN_SERVER().
class Remote : public Server
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

// One of: "shm direct", "sim adr", ... and what is wrapped around it.
struct Where {
    std::string server;
    std::string wrap;
};

// What this machine has; what the environment asks for, where it does: in the laboratory "verbs".
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

// One for each way that ops travel.
inline std::vector<std::string> one_of_each()
{
    if (support::is_remote())
        return servers();
    if (std::getenv("LIBRPM_CONFORM") != nullptr)
        return { servers().front() };
    return { "sim adr", "shm direct", "shm ring", "tcp plain" };
}

// Where connecting takes long all wrappers are put on at once.
inline std::vector<std::string> wraps()
{
    if (support::is_remote() || std::getenv("LIBRPM_CONFORM") != nullptr)
        return { "", ",wrap=trace+count+fault+delay,delay_ns=500" };
    return { "", ",wrap=trace+count", ",wrap=fault+delay,delay_ns=500" };
}

inline std::vector<Where> everywhere()
{
    std::vector<Where> all;

    for (const std::string &server : servers())
        for (const std::string &wrap : wraps())
            all.push_back({ server, wrap });
    return all;
}

inline std::unique_ptr<Server> serve(const std::string &what)
{
    if (support::is_remote())
        return std::make_unique<Remote>();
    if (what.compare(0, 4, "sim ") == 0)
        return std::make_unique<Model>(what.substr(4));
    return std::make_unique<Local>(what);
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

// A link with staging memory, a persistent region and a DRAM region behind it.
class Ground
{
  public:
    explicit Ground(const Where &where) : server(serve(where.server))
    {
        int err = server->connect(where.wrap, &link);
        INFO(rpm_last_error());
        REQUIRE(err == 0);
        ops = link->ops;
        bytes = static_cast<unsigned char *>(ops->stage(link, REGION));
        into = static_cast<unsigned char *>(ops->stage(link, REGION));
        REQUIRE(bytes != nullptr);
        REQUIRE(into != nullptr);
        open_objects();
    }
    Ground(const Ground &) = delete;
    ~Ground()
    {
        if (link != nullptr)
            ops->close(link);
    }

    bool places() const
    {
        return (link->flags & RPMI_LINK_PLACES_ON_POST) != 0;
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

    // Post all and wait for every signalled one. The first failure, or 0.
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
            // Full: of silent ops perhaps, for which no wait would end.
            if (sent < list.size())
                reap(&want, &failed);
            REQUIRE(now() < deadline);
        }
        while (!places() && want > 0 && failed == 0) {
            REQUIRE(ops->wait(link, deadline) == 0);
            reap(&want, &failed);
        }
        return failed;
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
