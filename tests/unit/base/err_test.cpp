// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/err.h"
}
#include "support/catch.h"

#include <climits>
#include <set>
#include <string>
#include <thread>

static const int CODES[] = { RPM_E_INVAL,   RPM_E_FULL,    RPM_E_NOSPACE, RPM_E_LIMIT,
                             RPM_E_TORN,    RPM_E_FENCED,  RPM_E_LOST,    RPM_E_TIMEDOUT,
                             RPM_E_BUSY,    RPM_E_NOCAP,   RPM_E_RANGE,   RPM_E_TRIMMED,
                             RPM_E_TOOBIG,  RPM_E_NOENT,   RPM_E_EXISTS,  RPM_E_NAME,
                             RPM_E_OWNED,   RPM_E_DENIED,  RPM_E_VERSION, RPM_E_PROTO,
                             RPM_E_FOREIGN, RPM_E_CORRUPT, RPM_E_OPTS,    RPM_E_REFUSED,
                             RPM_E_NOMEM,   RPM_E_IO };

TEST_CASE("err: every code has a name and a sentence of its own", "[unit]")
{
    std::set<int> codes;
    std::set<std::string> names;
    std::set<std::string> sentences;

    for (int code : CODES) {
        CAPTURE(code);
        REQUIRE(code < 0);
        REQUIRE(std::string(rpm_error_name(code)).rfind("RPM_E_", 0) == 0);
        codes.insert(code);
        names.insert(rpm_error_name(code));
        sentences.insert(rpm_strerror(code));
    }
    REQUIRE(codes.size() == std::size(CODES));
    REQUIRE(names.size() == std::size(CODES));
    REQUIRE(sentences.size() == std::size(CODES));
}

TEST_CASE("err: a code with the name of an errno has its value", "[unit]")
{
    // strerror() of RPM_E_BUSY must not be that of EAGAIN, and no other code may be EBUSY.
    static const std::pair<int, int> same[] = {
        { RPM_E_INVAL, EINVAL },   { RPM_E_BUSY, EBUSY },   { RPM_E_TIMEDOUT, ETIMEDOUT },
        { RPM_E_RANGE, ERANGE },   { RPM_E_NOENT, ENOENT }, { RPM_E_NOMEM, ENOMEM },
        { RPM_E_NOSPACE, ENOSPC }, { RPM_E_PROTO, EPROTO }, { RPM_E_IO, EIO },
    };

    for (const auto &[ours, theirs] : same)
        CHECK(ours == -theirs);
}

TEST_CASE("err: codes that are not ours still give a string", "[unit]")
{
    REQUIRE(std::string(rpm_strerror(0)) == "success");
    REQUIRE(std::string(rpm_error_name(0)) == "success");
    REQUIRE(std::string(rpm_error_name(3)) == "success"); // a count
    REQUIRE(std::string(rpm_error_name(-EXDEV)) == "E" + std::to_string(EXDEV));
    REQUIRE(std::string(rpm_error_name(INT_MIN)) == "E2147483648");
    REQUIRE(std::string(rpm_strerror(-EXDEV)) != "");
    REQUIRE(std::string(rpm_strerror(INT_MAX)) != "");
}

TEST_CASE("err: fail keeps the text and passes the code on", "[unit]")
{
    REQUIRE(rpmi_fail(RPM_E_FULL, "no room for %d bytes", 12) == RPM_E_FULL);
    REQUIRE(std::string(rpm_last_error()) == "no room for 12 bytes");
    REQUIRE(rpmi_fail(RPM_E_IO, "%s", std::string(4000, 'y').c_str()) == RPM_E_IO);
    REQUIRE(std::string(rpm_last_error()) == std::string(383, 'y'));
}

TEST_CASE("err: a text can quote the one before it", "[unit]")
{
    rpmi_fail(RPM_E_IO, "disk gone");
    rpmi_fail(RPM_E_NOCAP, "cannot open: %s", rpm_last_error());
    REQUIRE(std::string(rpm_last_error()) == "cannot open: disk gone");
}

TEST_CASE("err: the text belongs to one thread", "[unit]")
{
    std::string elsewhere = "not run";

    rpmi_fail(RPM_E_FULL, "here");
    std::thread([&] { elsewhere = rpm_last_error(); }).join();
    REQUIRE(elsewhere == "");
    REQUIRE(std::string(rpm_last_error()) == "here");
}

TEST_CASE("err: a call that begins clears the text of the call before", "[unit]")
{
    rpmi_fail(RPM_E_FULL, "of the call before");
    rpmi_begin();
    REQUIRE(std::string(rpm_last_error()) == "");
    rpmi_fail(RPM_E_IO, "its own");
    REQUIRE(std::string(rpm_last_error()) == "its own");
}
