// SPDX-License-Identifier: BSD-3-Clause
// live.h: a server in this process on the laboratory's first device, and links to it from the
// second, with a way to look at what really happened on the wire; or the user's server,
// LIBRPM_TEST_URL, for cases that need none of a certain kind.
#ifndef TESTS_LIVE_LIVE_H
#define TESTS_LIVE_LIVE_H

#include "support/catch.h"
#include "support/remote.h"

extern "C" {
#include "base/clock.h"
#include "base/err.h"
#include "conn/conn.h"
#include "transport/verbs/verbs.h"
}
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <librpm.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace live
{

const uint64_t kSecond = 1000000000;

inline std::string env(const char *name)
{
    const char *value = std::getenv(name);

    return value != nullptr ? value : "";
}

// Whatever is special about a connection over RDMA can be looked at.
inline bool is_verbs()
{
    return !support::is_remote() || support::test_url().compare(0, 6, "verbs:") == 0;
}

#define NEEDS_VERBS(why) NEEDS(live::is_verbs(), why)

inline rpm_conn_opts conn_opts()
{
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.secret = support::test_secret();
    return opts;
}

struct ServerOpts {
    std::string pool; // "": anonymous
    uint64_t bytes = 16 << 20;
    uint32_t domain = RPM_DOMAIN_ADR;
    uint32_t ddio = RPM_NO;
    uint32_t clients_max = 0;
    std::string secret;
    std::string host = env("LIBRPM_LAB_SERVER");
};

// 0 and a server, or why there is none.
inline int open_server(const ServerOpts &wanted, rpm_server **server)
{
    rpm_server_opts opts = rpm_server_opts_init();
    std::string listen = "verbs://" + wanted.host + ":0/main";

    opts.pool = wanted.pool.empty() ? nullptr : wanted.pool.c_str();
    opts.listen = listen.c_str();
    opts.pool_bytes = wanted.bytes;
    opts.flags = RPM_SERVER_CREATE;
    opts.domain = wanted.domain;
    opts.ddio = wanted.ddio;
    opts.clients_max = wanted.clients_max;
    opts.secret = wanted.secret.empty() ? nullptr : wanted.secret.c_str();
    return rpm_server_open(&opts, server);
}

class Server
{
  public:
    // Who asks for anything in @opts says NEEDS_OWN_SERVER() before.
    explicit Server(const ServerOpts &opts = {})
    {
        char url[512];

        if (support::is_remote()) {
            REQUIRE(opts.bytes <= ServerOpts().bytes);
            REQUIRE(opts.clients_max == 0);
            url_ = support::test_url();
            names_ = std::make_unique<support::Names>();
            return;
        }
        INFO(rpm_last_error());
        REQUIRE(open_server(opts, &server_) == 0);
        REQUIRE(rpm_server_url(server_, 0, url, sizeof(url)) == 0);
        url_ = std::string(url) + ",from=" +
               env(opts.host.find(':') != std::string::npos ? "LIBRPM_LAB_CLIENT6"
                                                            : "LIBRPM_LAB_CLIENT");
        control_ = std::thread([this] { (void)!rpm_server_run(server_); });
        engine_ = std::thread([this] { (void)!rpm_server_engine(server_); });
    }
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    ~Server()
    {
        if (server_ == nullptr)
            return;
        rpm_server_stop(server_);
        control_.join();
        engine_.join();
        rpm_server_close(&server_);
    }
    const std::string &url() const
    {
        return url_;
    }
    // What an object that a test calls @name is called there.
    std::string name(const std::string &name) const
    {
        return names_ != nullptr ? (*names_)(name) : name;
    }
    // Nobody's but this process's.
    rpm_server *get() const
    {
        REQUIRE(server_ != nullptr);
        return server_;
    }

  private:
    rpm_server *server_ = nullptr;
    std::string url_;
    std::unique_ptr<support::Names> names_;
    std::thread control_;
    std::thread engine_;
};

// A character device of persistent memory, with no pool on it.
inline std::string blank_devdax()
{
    const size_t bytes = 2 << 20; // its pages are so large
    std::string path = env("LIBRPM_LAB_DEVDAX");
    int fd = open(path.c_str(), O_RDWR);
    void *front = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    REQUIRE(front != MAP_FAILED);
    std::memset(front, 0, bytes);
    munmap(front, bytes);
    close(fd);
    return path;
}

// A server of that memory: of the domain that it really has.
inline ServerOpts on_devdax(uint32_t ddio)
{
    ServerOpts opts;

    opts.pool = blank_devdax();
    opts.bytes = 0;
    opts.domain = 0;
    opts.ddio = ddio;
    return opts;
}

// Has the server's message come that a newer writer claimed a log of this client? Its queue pair is
// not that of the answer to the claim, so it can come later. Polling takes it in.
inline bool was_told_of_fence(rpmi_link *link)
{
    const bool *fenced = rpmi_verbs_of(link)->fenced;
    uint64_t deadline = rpmi_clock_ns() + 20 * kSecond;
    rpmi_done done = {};

    while (std::find(fenced, fenced + RPMI_KEYS_MAX, true) == fenced + RPMI_KEYS_MAX) {
        if (rpmi_clock_ns() > deadline || link->ops->poll(link, &done, 1) != 0)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

// One below the connection: keys as the server granted them can be bent here.
class Link
{
  public:
    explicit Link(const Server &server) : Link(server.url(), support::test_secret())
    {
        server_ = &server;
    }
    explicit Link(const std::string &url, const char *secret = nullptr)
    {
        rpmi_link_opts opts = {};

        opts.timeout_us = 5000000;
        opts.depth = 64;
        opts.staging_bytes = 1 << 20;
        opts.secret = secret;
        err = rpmi_link_open(url.c_str(), &opts, &link);
        if (err == 0)
            bytes = static_cast<unsigned char *>(link->ops->stage(link, 8192));
    }
    Link(const Link &) = delete;
    Link &operator=(const Link &) = delete;
    ~Link()
    {
        if (link != nullptr)
            link->ops->close(link);
    }
    rpmi_verbs *verbs() const
    {
        return rpmi_verbs_of(link);
    }
    int ask(uint32_t kind, const char *name, rpm_kind object, uint32_t key_or_bytes)
    {
        rpmi_call call = {};

        call.kind = kind;
        call.object = object;
        if (kind == RPMI_CALL_OPEN) {
            call.flags = RPMI_CALL_CREATE;
            call.bytes = key_or_bytes;
            REQUIRE((server_ != nullptr || !support::is_remote())); // else nobody removes it
            std::string there = server_ != nullptr ? server_->name(name) : name;
            there.copy(call.name, RPM_NAME_MAX);
        } else {
            call.key = key_or_bytes;
            call.flags = kind == RPMI_CALL_CLAIM ? RPMI_CALL_TAKEOVER : 0;
        }
        int failed = link->ops->call(link, &call, &reply, rpmi_clock_ns() + 10 * kSecond);
        return failed != 0 ? failed : reply.status;
    }
    // Carry one op out. Its outcome.
    int run(rpmi_op op)
    {
        rpmi_done done = {};
        uint64_t deadline = rpmi_clock_ns() + 10 * kSecond;

        op.flags |= RPMI_OP_SIGNALED;
        int taken = link->ops->post(link, &op, 1);
        if (taken < 0)
            return taken;
        REQUIRE(taken == 1);
        for (;;) {
            REQUIRE(link->ops->wait(link, deadline) == 0);
            int n = link->ops->poll(link, &done, 1);
            if (n != 0)
                return n < 0 ? n : done.status;
        }
    }
    rpmi_op op(uint8_t kind, uint32_t key, uint64_t offset, uint64_t len) const
    {
        rpmi_op op = {};

        op.kind = kind;
        op.key = key;
        op.offset = offset;
        op.len = len;
        op.body = kind == RPMI_OP_WRITE || kind == RPMI_OP_COPY || kind == RPMI_OP_WRITE_IMM
                      ? bytes
                      : nullptr;
        op.body_bytes = op.body != nullptr ? len : 0;
        op.into = bytes + 4096;
        return op;
    }

    rpmi_link *link = nullptr;
    unsigned char *bytes = nullptr; // staged: 4096 to write from, 4096 to read into
    rpmi_reply reply = {};
    int err = 0;

  private:
    const Server *server_ = nullptr;
};

} // namespace live

#endif
