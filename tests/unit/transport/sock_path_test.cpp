// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "support/dir.h"

extern "C" {
#include "transport/sock_path.h"
}
#include <cstdlib>
#include <librpm.h>
#include <sys/stat.h>
#include <unistd.h>

namespace
{

// An environment variable for the length of a case.
class Env
{
  public:
    Env(const char *name, const char *value) : name_(name)
    {
        const char *old = getenv(name);

        had_ = old != nullptr;
        old_ = had_ ? old : "";
        if (value != nullptr)
            setenv(name, value, 1);
        else
            unsetenv(name);
    }
    ~Env()
    {
        if (had_)
            setenv(name_, old_.c_str(), 1);
        else
            unsetenv(name_);
    }

  private:
    const char *name_;
    bool had_;
    std::string old_;
};

} // namespace

TEST_CASE("socket path: a name with a slash is a path", "[unit]")
{
    char path[RPMI_SOCK_PATH_BYTES];
    bool ours = true;

    REQUIRE(rpmi_sock_path("/some/where", false, path, &ours) == 0);
    CHECK(std::string(path) == "/some/where");
    CHECK_FALSE(ours);
}

TEST_CASE("socket path: a bare name lies in the runtime directory", "[unit]")
{
    Env given("LIBRPM_RUNTIME_DIR", "/given");
    Env session("XDG_RUNTIME_DIR", "/session");
    char path[RPMI_SOCK_PATH_BYTES];
    bool ours = true;

    REQUIRE(rpmi_sock_path("n", false, path, &ours) == 0);
    CHECK(std::string(path) == "/given/n.sock");
    CHECK_FALSE(ours);
    Env none("LIBRPM_RUNTIME_DIR", nullptr);
    REQUIRE(rpmi_sock_path("n", false, path, &ours) == 0);
    CHECK(std::string(path) == "/session/librpm/n.sock");
    CHECK(ours);
    Env neither("XDG_RUNTIME_DIR", nullptr);
    REQUIRE(rpmi_sock_path("n", false, path, &ours) == 0);
    CHECK(std::string(path) == (geteuid() == 0
                                    ? "/run/librpm/n.sock"
                                    : "/tmp/librpm-" + std::to_string(geteuid()) + "/n.sock"));
}

TEST_CASE("socket path: no name, and one too long for a socket", "[unit]")
{
    Env given("LIBRPM_RUNTIME_DIR", "/given");
    char path[RPMI_SOCK_PATH_BYTES];

    CHECK(rpmi_sock_path("", false, path, nullptr) == RPM_E_INVAL);
    CHECK(rpmi_sock_path(std::string(120, 'n').c_str(), false, path, nullptr) == RPM_E_INVAL);
    CHECK(rpmi_sock_path(("/" + std::string(107, 'n')).c_str(), false, path, nullptr) ==
          RPM_E_INVAL);
    CHECK(rpmi_sock_path(("/" + std::string(106, 'n')).c_str(), false, path, nullptr) == 0);
}

TEST_CASE("socket path: a directory is made for its user alone, and one open to others is refused",
          "[unit]")
{
    support::Dir dir;
    Env given("LIBRPM_RUNTIME_DIR", (dir / "run").c_str());
    char path[RPMI_SOCK_PATH_BYTES];
    struct stat st;

    REQUIRE(rpmi_sock_path("n", true, path, nullptr) == 0);
    REQUIRE(stat((dir / "run").c_str(), &st) == 0);
    CHECK((st.st_mode & 0777) == 0700);
    REQUIRE(chmod((dir / "run").c_str(), 0777) == 0);
    CHECK(rpmi_sock_path("n", true, path, nullptr) == RPM_E_DENIED);
    REQUIRE(rmdir((dir / "run").c_str()) == 0);
    REQUIRE(symlink("/tmp", (dir / "run").c_str()) == 0);
    CHECK(rpmi_sock_path("n", true, path, nullptr) == RPM_E_DENIED);
}
