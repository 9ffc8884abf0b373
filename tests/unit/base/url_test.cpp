// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/err.h"
#include "base/url.h"
}
#include "support/catch.h"

#include <string>

TEST_CASE("url: scheme, address and options come apart", "[unit]")
{
    rpmi_url url;

    REQUIRE(rpmi_url_parse("shm:pool/one,mode=ring,wrap=trace+count", &url) == 0);
    REQUIRE(std::string(url.scheme) == "shm");
    REQUIRE(std::string(url.address) == "pool/one");
    REQUIRE(url.options == 2);
    REQUIRE(std::string(rpmi_url_get(&url, "mode", "auto")) == "ring");
    REQUIRE(std::string(rpmi_url_get(&url, "wrap", "")) == "trace+count");
    REQUIRE(std::string(rpmi_url_get(&url, "depth", "256")) == "256");
    REQUIRE(rpmi_url_get(&url, "depth", nullptr) == nullptr);
}

TEST_CASE("url: a first part that is an option leaves the address empty", "[unit]")
{
    rpmi_url url;

    REQUIRE(rpmi_url_parse("sim:seed=7,preset=adr", &url) == 0);
    REQUIRE(std::string(url.address) == "");
    REQUIRE(std::string(rpmi_url_get(&url, "seed", "")) == "7");
    REQUIRE(rpmi_url_parse("sim:", &url) == 0);
    REQUIRE(std::string(url.address) == "");
    REQUIRE(url.options == 0);
}

TEST_CASE("url: a network address keeps its slashes and colons", "[unit]")
{
    rpmi_url url;

    REQUIRE(rpmi_url_parse("verbs://host:7471/pool,key=a=b", &url) == 0);
    REQUIRE(std::string(url.address) == "//host:7471/pool");
    REQUIRE(std::string(rpmi_url_get(&url, "key", "")) == "a=b");
    REQUIRE(rpmi_url_parse("x2+y-z:", &url) == 0);
    REQUIRE(std::string(url.scheme) == "x2+y-z");
}

TEST_CASE("url: a malformed URL is refused with the reason", "[unit]")
{
    static const struct {
        const char *text;
        const char *reason;
    } CASES[] = {
        { "", "scheme" },
        { ":", "scheme" },
        { "shm", "scheme" },
        { "Shm:x", "scheme" },
        { "7:x", "scheme" },
        { "sh m:x", "scheme" },
        { "shm:x,mode", "not key=value" },
        { "shm:x,", "not key=value" },
        { "shm:x,,a=b", "not key=value" },
        { "shm:x,=b", "without a name" },
        { "shm:x,a=1,a=2", "twice" },
        { "shm:x\n", "control byte" },
        { "shm:x\x7f", "control byte" },
    };

    for (const auto &test : CASES) {
        rpmi_url url;

        CAPTURE(test.text);
        REQUIRE(rpmi_url_parse(test.text, &url) == RPM_E_INVAL);
        CAPTURE(rpm_last_error());
        REQUIRE(std::string(rpm_last_error()).find(test.reason) != std::string::npos);
    }
}

TEST_CASE("url: length and number of options are bounded", "[unit]")
{
    rpmi_url url;
    std::string text = "shm:" + std::string(RPMI_URL_BYTES_MAX - 5, 'x');

    REQUIRE(rpmi_url_parse(text.c_str(), &url) == 0);
    REQUIRE(std::string(url.address).size() == RPMI_URL_BYTES_MAX - 5);
    text += "x";
    REQUIRE(rpmi_url_parse(text.c_str(), &url) == RPM_E_INVAL);
    REQUIRE(rpmi_url_parse(std::string(100000, 'a').c_str(), &url) == RPM_E_INVAL);

    text = "shm:x";
    for (unsigned i = 0; i < RPMI_URL_OPTIONS_MAX; i++)
        text += ",k" + std::to_string(i) + "=v";
    REQUIRE(rpmi_url_parse(text.c_str(), &url) == 0);
    REQUIRE(url.options == RPMI_URL_OPTIONS_MAX);
    text += ",one=more";
    REQUIRE(rpmi_url_parse(text.c_str(), &url) == RPM_E_INVAL);
}

TEST_CASE("url: an unknown option is refused by name", "[unit]")
{
    static const char *const KNOWN[] = { "mode", "wrap" };
    rpmi_url url;

    REQUIRE(rpmi_url_parse("shm:x,wrap=a,mode=b", &url) == 0);
    REQUIRE(rpmi_url_known(&url, KNOWN, 2) == 0);
    REQUIRE(rpmi_url_known(&url, KNOWN, 1) == RPM_E_INVAL);
    REQUIRE(std::string(rpm_last_error()) == "URL: shm: has no option 'wrap'; its options: mode");
    REQUIRE(rpmi_url_known(&url, nullptr, 0) == RPM_E_INVAL);
}

TEST_CASE("url: sizes have suffixes of 1024", "[unit]")
{
    uint64_t bytes = 0;

    REQUIRE(rpmi_parse_bytes("0", &bytes) == 0);
    REQUIRE(bytes == 0);
    REQUIRE(rpmi_parse_bytes("64K", &bytes) == 0);
    REQUIRE(bytes == 65536);
    REQUIRE(rpmi_parse_bytes("3m", &bytes) == 0);
    REQUIRE(bytes == 3145728);
    REQUIRE(rpmi_parse_bytes("17179869183G", &bytes) == 0);
    REQUIRE(bytes == 17179869183ull << 30);
    REQUIRE(rpmi_parse_bytes("18446744073709551615", &bytes) == 0);
    REQUIRE(bytes == UINT64_MAX);
    bytes = 5;
    for (const char *text : { "", "K", "-1", "+1", " 1", "1 ", "1KB", "1T", "0x10", "1.5G",
                              "18446744073709551616", "17179869184G", "99999999999999999999" }) {
        CAPTURE(text);
        REQUIRE(rpmi_parse_bytes(text, &bytes) == RPM_E_INVAL);
        REQUIRE(bytes == 5);
    }
}
