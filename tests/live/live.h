// SPDX-License-Identifier: BSD-3-Clause
// live.h: a server in this process on the laboratory's first device, and links to it from the
// second one, whose completions a test can inspect; or the user's server, LIBRPM_TEST_URL, for
// cases that do not need a server of a certain kind.
#ifndef TESTS_LIVE_LIVE_H
#define TESTS_LIVE_LIVE_H

#include "support/catch.h"
#include "support/devdax.h"
#include "support/remote.h"
#include "support/server.h"

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
#include <librpm.h>
#include <memory>
#include <string>
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

// Gives tests access to the queue pair of a connection.
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

// A server on the laboratory's first device alone, at its IPv4 address or at @host, on a free port,
// with a pool in ordinary memory and DDIO declared off.
struct ServerOpts : support::ServerOpts {
    explicit ServerOpts(const std::string &host = env("LIBRPM_LAB_SERVER"))
    {
        anonymous = true;
        bytes = 16 << 20;
        ddio = RPM_NO;
        shm = false;
        listen = "verbs://" + host + ":0/main";
    }
};

// On persistent memory, with the domain that the server finds.
inline ServerOpts on_devdax(uint32_t ddio)
{
    ServerOpts opts;

    opts.anonymous = false;
    opts.pool = env("LIBRPM_LAB_DEVDAX");
    opts.bytes = 0;
    opts.domain = 0;
    opts.ddio = ddio;
    support::wipe_device(opts.pool);
    return opts;
}

// The reason if there is no such server.
inline int open_error(const ServerOpts &opts)
{
    rpm_server *server = nullptr;
    int err = support::open_server(opts, "", opts.pool, &server);

    rpm_server_close(&server);
    return err;
}

class Server
{
  public:
    // A test with @opts must call NEEDS_OWN_SERVER() before.
    explicit Server(const ServerOpts &opts = ServerOpts())
    {
        if (support::is_remote()) {
            REQUIRE(opts.bytes <= ServerOpts().bytes);
            REQUIRE(opts.clients_max == 0);
            url_ = support::test_url();
            names_ = std::make_unique<support::Names>();
            return;
        }
        server_ = std::make_unique<support::Server>(opts);
        url_ = server_->listener_url();
        url_ += ",from=" + env(url_.find('[') != std::string::npos ? "LIBRPM_LAB_CLIENT6"
                                                                   : "LIBRPM_LAB_CLIENT");
    }
    const std::string &url() const
    {
        return url_;
    }
    // The name at this server of the object that a test calls @name.
    std::string name(const std::string &name) const
    {
        return names_ != nullptr ? (*names_)(name) : name;
    }
    // Only if the server is in this process.
    rpm_server *get() const
    {
        REQUIRE(server_ != nullptr);
        return server_->get();
    }

  private:
    std::unique_ptr<support::Server> server_;
    std::string url_;
    std::unique_ptr<support::Names> names_;
};

// Whether the server's message has arrived that a newer writer claimed a log of this client. It may
// arrive later than the answer to the claim, which uses another queue pair. Polling receives it.
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

// A link without a connection object: tests can change keys after the server has granted them.
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
            REQUIRE((server_ != nullptr || !support::is_remote())); // Names removes it at the end
            std::string there = server_ != nullptr ? server_->name(name) : name;
            there.copy(call.name, RPM_NAME_MAX);
        } else {
            call.key = key_or_bytes;
            call.flags = kind == RPMI_CALL_CLAIM ? RPMI_CALL_TAKEOVER : 0;
        }
        int failed = link->ops->call(link, &call, &reply, rpmi_clock_ns() + 10 * kSecond);
        return failed != 0 ? failed : reply.status;
    }
    // Carries out one op. Returns its status.
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
