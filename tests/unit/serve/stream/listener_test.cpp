// SPDX-License-Identifier: BSD-3-Clause
// Stream listeners from opening to closing: names, addresses, and the URLs that clients use.
#include "raw.h"

#include <fcntl.h>
#include <sys/stat.h>

using support::Server;

namespace
{

int open_at(const std::string &listen, const char *secret = nullptr, std::string *url = nullptr)
{
    rpm_server_opts opts = rpm_server_opts_init();

    opts.listen = listen.c_str();
    opts.pool_bytes = 1 << 20;
    opts.domain = RPM_DOMAIN_ADR;
    opts.secret = secret;
    return support::try_server(opts, url);
}

int dial(const std::string &url)
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_conn *conn = nullptr;

    opts.secret = "open sesame";
    int err = rpm_conn_open(url.c_str(), &opts, &conn);
    rpm_conn_close(&conn);
    return err;
}

// Can this machine listen there?
bool has_address(const std::string &host)
{
    return open_at("tcp://[" + host + "]:0", "open sesame") == 0;
}

std::string said;

void note(void *, rpm_diag_level, const char *text)
{
    said += text;
    said += "\n";
}

} // namespace

TEST_CASE("listener: port 0 is chosen, and can be asked for", "[unit]")
{
    std::string url;

    REQUIRE(open_at("tcp://127.0.0.1:0/pool", nullptr, &url) == 0);
    CHECK(url.compare(0, 16, "tcp://127.0.0.1:") == 0);
    CHECK(url.compare(0, 18, "tcp://127.0.0.1:0/") != 0);
    CHECK(url.substr(url.size() - 5) == "/pool");
    REQUIRE(open_at("tcp://[::1]:0", nullptr, &url) == 0);
    CHECK(url.compare(0, 12, "tcp://[::1]:") == 0);
}

TEST_CASE("listener: each of several addresses is reported, and none after the last", "[unit]")
{
    support::ServerOpts opts = raw::at_port();
    support::Dir dir;
    char url[512];

    opts.listen += " unix:" + dir / "stream";
    Server server(opts);
    CHECK(server.listener_url(0).compare(0, 4, "tcp:") == 0);
    CHECK(server.listener_url(1) == "unix:" + dir / "stream");
    CHECK(rpm_server_url(server.get(), 0, url, sizeof(url)) == 0);
    CHECK(std::string(url).compare(0, 4, "shm:") == 0);
    CHECK(rpm_server_url(server.get(), 3, url, sizeof(url)) == RPM_E_RANGE);
    CHECK(rpm_server_url(server.get(), 1, url, 8) == RPM_E_TOOBIG);
}

TEST_CASE("listener: an address that is taken, and one that is not ours", "[unit]")
{
    Server server(raw::at_port());
    support::Dir dir;

    CHECK(open_at(server.listener_url()) == RPM_E_OWNED);
    CHECK(open_at("tcp://192.0.2.1:0") == RPM_E_INVAL); // reserved for documentation
    CHECK(open_at("tcp://no.such.host.invalid:0") == RPM_E_INVAL);
    CHECK(open_at("tcp://127.0.0.1:0,tls=on") == RPM_E_INVAL); // without a certificate
    CHECK(open_at("tcp://127.0.0.1:0,tls=perhaps") == RPM_E_INVAL);
    CHECK(open_at("tcp://127.0.0.1:0,mode=ring") == RPM_E_INVAL);
    CHECK(open_at("unix:" + dir / "none/socket") == RPM_E_INVAL);
    close(open((dir / "file").c_str(), O_CREAT | O_WRONLY, 0600));
    CHECK(open_at("unix:" + dir / "file") == RPM_E_INVAL);
    CHECK(access((dir / "file").c_str(), F_OK) == 0); // left alone
}

TEST_CASE("listener: a Unix socket is its owner's, and is owned by one server", "[unit]")
{
    support::ServerOpts opts;
    support::Dir dir;
    struct stat st;

    opts.listen = "unix:" + dir / "stream";
    {
        Server server(opts);

        REQUIRE(stat((dir / "stream").c_str(), &st) == 0);
        CHECK((st.st_mode & 0777) == 0600);
        CHECK(open_at("unix:" + dir / "stream") == RPM_E_OWNED);
    }
    CHECK(access((dir / "stream").c_str(), F_OK) != 0);
    CHECK(open_at("unix:" + dir / "stream") == 0);
}

TEST_CASE("listener: an address that other machines reach without a secret gives a warning",
          "[unit]")
{
    rpm_diag_sink(note, nullptr, RPM_DIAG_WARNING);
    said.clear();
    REQUIRE(open_at("tcp://127.0.0.1:0") == 0);
    CHECK(said.empty());
    REQUIRE(open_at("tcp://0.0.0.0:0", "open sesame") == 0);
    CHECK(said.empty());
    REQUIRE(open_at("tcp://0.0.0.0:0") == 0);
    CHECK(said.find("without a secret") != std::string::npos);
    rpm_diag_sink(nullptr, nullptr, RPM_DIAG_WARNING);
}

TEST_CASE("listener: all addresses of this machine share one port", "[unit]")
{
    std::string url;

    for (const char *all : { "*", "0.0.0.0" }) {
        REQUIRE(open_at(("tcp://" + std::string(all) + ":0/pool").c_str(), "open sesame", &url) ==
                0);
        CHECK(url.find("localhost") == std::string::npos);
        CHECK(url.find(all) == std::string::npos);
    }

    support::ServerOpts opts = raw::at_port("", "open sesame");
    opts.listen = "tcp://*:0/pool";
    Server server(opts);
    CHECK(dial(server.listener_url()) == 0); // what it says is what a client can use
    std::string port = server.listener_url();
    port = port.substr(port.rfind(':'));
    CHECK(dial("tcp://127.0.0.1" + port) == 0);
    if (has_address("::1"))
        CHECK(dial("tcp://[::1]" + port) == 0);
    else
        WARN("no IPv6 here: only IPv4 was tried");
}
