// SPDX-License-Identifier: BSD-3-Clause
// Streams under TLS: which certificates a client accepts, and its error if the two sides disagree.
#include "support/catch.h"
#include "support/cert.h"
#include "support/server.h"

extern "C" {
#include "base/clock.h"
#include "transport/stream/tls.h"
#include "transport/transport.h"
}
#include <cstring>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

using support::Authority;
using support::Dir;
using support::Server;

namespace
{

support::ServerOpts encrypted(const Dir &dir, const std::string &name)
{
    support::ServerOpts opts;

    opts.listen = "tcp://127.0.0.1:0/pool,tls=on";
    opts.tls_cert = dir / (name + ".pem");
    opts.tls_key = dir / (name + ".key");
    return opts;
}

int dial(const std::string &url, std::string *why = nullptr, rpmi_link **kept = nullptr)
{
    rpmi_link_opts opts = {};
    rpmi_link *link = nullptr;

    opts.timeout_us = 30000000;
    opts.depth = 64;
    opts.staging_bytes = 1 << 20;
    int err = rpmi_link_open(url.c_str(), &opts, &link);
    if (err != 0 && why != nullptr)
        *why = rpm_last_error();
    if (err == 0 && kept != nullptr)
        *kept = link;
    else if (err == 0)
        link->ops->close(link);
    return err;
}

bool contains(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("tls: a server with a certificate of the trusted authority is accepted", "[unit]")
{
    Dir dir;
    Authority ca(dir / "");
    ca.issue("server", "IP:127.0.0.1,DNS:localhost");
    Server server(encrypted(dir, "server"));
    rpmi_link *link = nullptr;

    REQUIRE(dial(server.listener_url() + ",tls=" + ca.trusted(), nullptr, &link) == 0);
    rpmi_call call = {};
    rpmi_reply reply = {};
    call.kind = RPMI_CALL_OPEN;
    call.flags = RPMI_CALL_CREATE;
    call.object = RPM_KIND_REGION;
    call.bytes = 4 << 20;
    strcpy(call.name, "region");
    REQUIRE(link->ops->call(link, &call, &reply, rpmi_clock_ns() + 3000000000ull) == 0);
    CHECK(reply.status == 0);
    link->ops->close(link);
}

TEST_CASE("tls: a certificate of another host or authority, or an expired one, is refused",
          "[unit]")
{
    Dir dir;
    Authority ca(dir / "");
    Authority other(dir / "", "other");
    ca.issue("server", "IP:127.0.0.1");
    ca.issue("elsewhere", "IP:192.0.2.1,DNS:example.org");
    ca.issue("old", "IP:127.0.0.1", -60);
    Server good(encrypted(dir, "server"));
    Server elsewhere(encrypted(dir, "elsewhere"));
    Server old(encrypted(dir, "old"));
    std::string why;

    REQUIRE(dial(good.listener_url() + ",tls=" + ca.trusted()) == 0);
    CHECK(dial(good.listener_url() + ",tls=" + other.trusted(), &why) == RPM_E_DENIED);
    CHECK(contains(why, "not to be trusted"));
    CHECK(dial(good.listener_url() + ",tls=on", &why) == RPM_E_DENIED); // not the system's either
    CHECK(dial(elsewhere.listener_url() + ",tls=" + ca.trusted(), &why) == RPM_E_DENIED);
    CHECK(contains(why, "IP address mismatch"));
    CHECK(dial(old.listener_url() + ",tls=" + ca.trusted(), &why) == RPM_E_DENIED);
    CHECK(contains(why, "expired"));
}

TEST_CASE("tls: a certificate may name the host or its address", "[unit]")
{
    Dir dir;
    Authority ca(dir / "");
    ca.issue("server", "DNS:localhost");
    Server server(encrypted(dir, "server"));
    std::string port = server.listener_url().substr(strlen("tcp://127.0.0.1"));
    std::string why;

    CHECK(dial("tcp://localhost" + port + ",tls=" + ca.trusted(), &why) == 0);
    CHECK(dial("tcp://127.0.0.1" + port + ",tls=" + ca.trusted()) == RPM_E_DENIED);
}

TEST_CASE("tls: if only one side uses TLS, the error says how to change the URL", "[unit]")
{
    Dir dir;
    Authority ca(dir / "");
    ca.issue("server", "IP:127.0.0.1");
    Server under_tls(encrypted(dir, "server"));
    support::ServerOpts clear_opts;
    clear_opts.listen = "tcp://127.0.0.1:0/pool";
    Server in_the_clear(clear_opts);
    std::string why;

    CHECK(dial(under_tls.listener_url(), &why) == RPM_E_PROTO);
    CHECK(contains(why, "tls=CAFILE"));
    CHECK(dial(in_the_clear.listener_url() + ",tls=" + ca.trusted(), &why) == RPM_E_PROTO);
    CHECK(contains(why, "without tls=on?"));
    CHECK(dial(in_the_clear.listener_url()) == 0); // and both go on serving
    CHECK(dial(under_tls.listener_url() + ",tls=" + ca.trusted()) == 0);
}

TEST_CASE("tls: the URL of an agent may have options, each after a plus sign", "[unit]")
{
    Dir dir;
    Authority ca(dir / "");
    Authority other(dir / "", "other");
    ca.issue("front", "IP:127.0.0.1");
    support::ServerOpts plain;
    plain.listen = "unix:" + (dir / "server");
    Server server(plain);
    Server front(encrypted(dir, "front")); // any server answers as an agent's does
    const std::string both = plain.listen + ",agent=" + front.listener_url();
    std::string why;
    rpmi_link *link = nullptr;

    REQUIRE(dial(both + "+tls=" + ca.trusted(), nullptr, &link) == 0);
    CHECK(link->stats.agent_setup_ns > 0);
    link->ops->close(link);

    CHECK(dial(both + "+tls=" + other.trusted(), &why) == RPM_E_DENIED);
    CHECK(dial(both, &why) == RPM_E_PROTO);
    CHECK(contains(why, "tls=CAFILE"));
    CHECK(dial(both + "+tls=" + ca.trusted() + "+agent=unix:other", &why) == RPM_E_INVAL);
    CHECK(contains(why, "names an agent of the agent"));
}

TEST_CASE("tls: invalid certificate and key files are refused", "[unit]")
{
    Dir dir;
    Authority ca(dir / "");
    ca.issue("one", "IP:127.0.0.1");
    ca.issue("two", "IP:127.0.0.1");
    ssl_ctx_st *ctx = nullptr;
    std::string one = dir / "one.pem";

    CHECK(rpmi_tls_client_ctx((dir / "none").c_str(), &ctx) == RPM_E_INVAL);
    CHECK(rpmi_tls_client_ctx((dir / "one.key").c_str(), &ctx) == RPM_E_INVAL);
    CHECK(rpmi_tls_server_ctx((dir / "none").c_str(), (dir / "one.key").c_str(), &ctx) ==
          RPM_E_INVAL);
    CHECK(rpmi_tls_server_ctx(one.c_str(), (dir / "none").c_str(), &ctx) == RPM_E_INVAL);
    CHECK(rpmi_tls_server_ctx(one.c_str(), (dir / "two.key").c_str(), &ctx) == RPM_E_INVAL);
    CHECK(ctx == nullptr);
    CHECK(rpmi_tls_server_ctx(one.c_str(), (dir / "one.key").c_str(), &ctx) == 0);
    rpmi_tls_ctx_free(&ctx);
    rpmi_tls_ctx_free(&ctx);
    CHECK(ctx == nullptr);
    CHECK(dial("tcp://127.0.0.1:1,tls=" + dir / "none") == RPM_E_INVAL);
}

TEST_CASE("tls: a key that others can read is refused, with the mode that is expected", "[unit]")
{
    Dir dir;
    Authority ca(dir / "");
    ca.issue("one", "IP:127.0.0.1");
    std::string cert = dir / "one.pem";
    std::string key = dir / "one.key";
    ssl_ctx_st *ctx = nullptr;

    for (mode_t mode : { 0644, 0604, 0620, 0601, 0660, 0666 }) {
        CAPTURE(mode);
        REQUIRE(chmod(key.c_str(), mode) == 0);
        CHECK(rpmi_tls_server_ctx(cert.c_str(), key.c_str(), &ctx) == RPM_E_INVAL);
        CHECK(contains(rpm_last_error(), key + " has mode 06"));
        CHECK(contains(rpm_last_error(), "expected 0600, or 0640 where root owns it"));
        CHECK(ctx == nullptr);
    }
    for (mode_t mode : { 0600, 0400 }) {
        REQUIRE(chmod(key.c_str(), mode) == 0);
        REQUIRE(rpmi_tls_server_ctx(cert.c_str(), key.c_str(), &ctx) == 0);
        rpmi_tls_ctx_free(&ctx);
    }
    // Only a file of root may be readable for its group.
    REQUIRE(chmod(key.c_str(), 0640) == 0);
    CHECK(rpmi_tls_server_ctx(cert.c_str(), key.c_str(), &ctx) ==
          (geteuid() == 0 ? 0 : RPM_E_INVAL));
    rpmi_tls_ctx_free(&ctx);
    if (geteuid() == 0) {
        REQUIRE(chown(key.c_str(), 1, 1) == 0);
        CHECK(rpmi_tls_server_ctx(cert.c_str(), key.c_str(), &ctx) == RPM_E_INVAL);
    }
    // Nothing waits for the writer of a pipe.
    REQUIRE(mkfifo((dir / "fifo").c_str(), 0600) == 0);
    CHECK(rpmi_tls_server_ctx(cert.c_str(), (dir / "fifo").c_str(), &ctx) == RPM_E_INVAL);
    CHECK(contains(rpm_last_error(), "is not a regular file"));
}

TEST_CASE("tls: versions before 1.2 are refused", "[unit]")
{
    Dir dir;
    Authority ca(dir / "");
    ca.issue("server", "IP:127.0.0.1");
    ssl_ctx_st *show = nullptr;
    ssl_ctx_st *trust = nullptr;

    REQUIRE(rpmi_tls_server_ctx((dir / "server.pem").c_str(), (dir / "server.key").c_str(),
                                &show) == 0);
    REQUIRE(rpmi_tls_client_ctx(ca.trusted().c_str(), &trust) == 0);
    CHECK(SSL_CTX_get_min_proto_version(show) == TLS1_2_VERSION);
    CHECK(SSL_CTX_get_min_proto_version(trust) == TLS1_2_VERSION);
    CHECK((SSL_CTX_get_verify_mode(trust) & SSL_VERIFY_PEER) != 0);
    rpmi_tls_ctx_free(&show);
    rpmi_tls_ctx_free(&trust);
}
