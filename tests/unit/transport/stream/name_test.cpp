// SPDX-License-Identifier: BSD-3-Clause
// Names of stream servers in URLs.
#include "support/catch.h"

extern "C" {
#include "transport/stream/name.h"
}
#include <cstdlib>
#include <librpm/error.h>
#include <string>

namespace
{

int parse(const std::string &text, rpmi_stream_name *name)
{
    static rpmi_url url;

    REQUIRE(rpmi_url_parse(text.c_str(), &url) == 0);
    return rpmi_stream_name_get(&url, false, name);
}

// Sets the runtime directory of sockets for its lifetime.
class RuntimeDir
{
  public:
    explicit RuntimeDir(const char *dir)
    {
        const char *before = getenv("LIBRPM_RUNTIME_DIR");

        had_ = before != nullptr;
        before_ = had_ ? before : "";
        setenv("LIBRPM_RUNTIME_DIR", dir, 1);
    }
    ~RuntimeDir()
    {
        if (had_)
            setenv("LIBRPM_RUNTIME_DIR", before_.c_str(), 1);
        else
            unsetenv("LIBRPM_RUNTIME_DIR");
    }

  private:
    bool had_;
    std::string before_;
};

} // namespace

TEST_CASE("name: a host, a port and a pool", "[unit]")
{
    rpmi_stream_name name;

    REQUIRE(parse("tcp://example.org:7000/logs", &name) == 0);
    CHECK_FALSE(name.local);
    CHECK(std::string(name.endpoint.host) == "example.org");
    CHECK(std::string(name.endpoint.port) == "7000");
    CHECK(std::string(name.endpoint.pool) == "logs");
    CHECK(name.timeout_ms == RPMI_STREAM_TIMEOUT_MS);
    REQUIRE(parse("tcp://[::1]:7000,timeout_ms=250,tls=ca.pem", &name) == 0);
    CHECK(std::string(name.endpoint.host) == "::1");
    CHECK(name.timeout_ms == 250);
    CHECK(parse("tcp:example.org", &name) == RPM_E_INVAL);
    CHECK(parse("tcp://example.org", &name) == RPM_E_INVAL);
}

TEST_CASE("name: a Unix socket is in the same directory as that of shm:, with another name",
          "[unit]")
{
    RuntimeDir dir("/dir");
    rpmi_stream_name name;
    char shm[RPMI_SOCK_PATH_BYTES];
    bool ours;

    REQUIRE(parse("unix:demo", &name) == 0);
    CHECK(name.local);
    CHECK(std::string(name.path) == "/dir/demo.stream.sock");
    REQUIRE(rpmi_sock_path("demo", false, shm, &ours) == 0);
    CHECK(std::string(shm) != name.path);
    REQUIRE(parse("unix:/tmp/a.sock", &name) == 0);
    CHECK(std::string(name.path) == "/tmp/a.sock");
    CHECK_FALSE(name.same_user);
    CHECK(parse("unix:", &name) == RPM_E_INVAL);
    CHECK(parse("unix:" + std::string(200, 'n'), &name) == RPM_E_INVAL);
    CHECK(parse("unix:" + std::string(103, 'n'), &name) == RPM_E_INVAL); // its path is too long
}

TEST_CASE("name: invalid options are refused", "[unit]")
{
    rpmi_stream_name name;

    for (const char *bad : { "99", "3600001", "-1", "1s", "", "99999999999999999999" })
        CHECK(parse(std::string("tcp://h:1,timeout_ms=") + bad, &name) == RPM_E_INVAL);
    CHECK(parse("tcp://h:1,timeout_ms=100", &name) == 0);
    CHECK(parse("tcp://h:1,colour=blue", &name) == RPM_E_INVAL);
    CHECK(parse("unix:demo,tls=ca.pem", &name) == RPM_E_INVAL); // a Unix socket needs no TLS
}
