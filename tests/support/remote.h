// SPDX-License-Identifier: BSD-3-Clause
// remote.h: a server of the user's own, named by LIBRPM_TEST_URL, which tests may use and must
// leave as they found it.
#ifndef TESTS_SUPPORT_REMOTE_H
#define TESTS_SUPPORT_REMOTE_H

#include "support/catch.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <librpm.h>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>

namespace support
{

// "": tests start their own servers.
inline std::string test_url()
{
    const char *url = std::getenv("LIBRPM_TEST_URL");

    return url != nullptr ? url : "";
}

inline bool is_remote()
{
    return !test_url().empty();
}

// The content of the file LIBRPM_TEST_SECRET_FILE, as rpm-log and rpm-server read it. nullptr: not
// set.
inline const char *test_secret()
{
    static std::string secret;
    const char *path = std::getenv("LIBRPM_TEST_SECRET_FILE");

    if (path == nullptr || *path == '\0')
        return nullptr;
    if (secret.empty()) {
        std::ifstream file(path);

        INFO("LIBRPM_TEST_SECRET_FILE=" << path);
        REQUIRE(std::getline(file, secret));
        if (!secret.empty() && secret.back() == '\r')
            secret.pop_back();
    }
    return secret.c_str();
}

// Counts the cases that were skipped and reports them at the end.
class Skipped
{
  public:
    ~Skipped()
    {
        if (!titles_.empty())
            fprintf(stderr, "%zu test cases skipped: LIBRPM_TEST_URL cannot show them\n",
                    titles_.size());
    }
    void add(const std::string &title, const char *why)
    {
        if (titles_.insert(title).second)
            fprintf(stderr, "skipped: %s: %s\n", title.c_str(), why);
    }

  private:
    std::set<std::string> titles_;
};

inline Skipped skipped;

// Names of objects that are unique to this process, on a server that other clients use too. The
// objects are removed at the end.
class Names
{
  public:
    Names()
    {
        static int number;

        prefix_ = "test-" + std::to_string(getpid()) + "-" + std::to_string(number++) + "-";
    }
    Names(const Names &) = delete;
    Names &operator=(const Names &) = delete;
    ~Names()
    {
        rpm_conn_opts opts = rpm_conn_opts_init();
        rpm_conn *conn = nullptr;

        if (names_.empty())
            return;
        opts.secret = test_secret();
        CHECK(rpm_conn_open(test_url().c_str(), &opts, &conn) == 0);
        for (const std::string &name : names_) {
            int err = conn != nullptr ? remove(conn, name) : RPM_E_LOST;

            CAPTURE(name, rpm_last_error());
            CHECK((err == 0 || err == RPM_E_NOENT));
        }
        rpm_conn_close(&conn);
    }
    std::string operator()(const std::string &name)
    {
        return *names_.insert(prefix_ + name).first;
    }

  private:
    // The server may still count the object as in use: its clients have only just disconnected.
    static int remove(rpm_conn *conn, const std::string &name)
    {
        int err = RPM_E_OWNED;

        for (int i = 0; i < 3000 && err == RPM_E_OWNED; i++) {
            err = rpm_conn_remove(conn, name.c_str());
            if (err == RPM_E_OWNED)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return err;
    }

    std::string prefix_;
    std::set<std::string> names_;
};

} // namespace support

// Ends this case if the server is the user's own, or if @possible is false.
#define NEEDS(possible, why)                                                                       \
    do {                                                                                           \
        if (!(possible)) {                                                                         \
            support::skipped.add(Catch::getResultCapture().getCurrentTestName(), why);             \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define NEEDS_OWN_SERVER(why) NEEDS(!support::is_remote(), why)

#endif
