// SPDX-License-Identifier: BSD-3-Clause
// volume_file_test.cpp: the file that says where a volume is.
#include "program/volume_file.h"
#include "support/catch.h"

#include <stdexcept>

static std::string wrong_with(const std::string &text)
{
    try {
        (void)rfs::parse_volume_file("home.conf", text);
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return "";
}

TEST_CASE("fs: a volume's file names servers in their order, a secret and a patience")
{
    rfs::VolumePlace place = rfs::parse_volume_file("home.conf", "# two servers\n"
                                                                 "server = tcp://a:1/pool?x=y\n"
                                                                 "\n"
                                                                 "  server=shm:/run/b  \r\n"
                                                                 "secret-file = /etc/a secret\n"
                                                                 "patience\t=\t2.5");

    CHECK(place.servers == std::vector<std::string>{ "tcp://a:1/pool?x=y", "shm:/run/b" });
    CHECK(place.secret_file == "/etc/a secret");
    CHECK(place.patience_s == 2.5);
    CHECK(rfs::parse_volume_file("f", "server = a").secret_file.empty());
    CHECK(rfs::parse_volume_file("f", "server = a").patience_s == 0);
}

TEST_CASE("fs: an error in a volume's file names its line")
{
    CHECK(wrong_with("server = a\nserver b\n") == "home.conf:2: expected \"key = value\"");
    CHECK(wrong_with("server =\n") == "home.conf:1: 'server' has no value");
    CHECK(wrong_with("\n\nservers = a\n") ==
          "home.conf:3: there is no key 'servers'; there are: server, secret-file, patience");
    CHECK(wrong_with(std::string("server = a\0b\n", 13)) ==
          "home.conf:1: the line has a zero byte");
    for (const char *bad : { "0", "-1", "1s", "nan", "1e9", "x" })
        CHECK(wrong_with("patience = " + std::string(bad)) ==
              "home.conf:1: patience: '" + std::string(bad) +
                  "' is not a number of seconds above 0 and below 10^9");
    CHECK(wrong_with("# nothing\n").find("names no server") != std::string::npos);
}

TEST_CASE("fs: a volume's file that is not there is named, with what to do")
{
    CHECK(rfs::volume_file("home") == "/etc/librpm/fs/home.conf");
    CHECK_THROWS_WITH(rfs::read_volume_file("/nonexistent/x.conf"),
                      Catch::Contains("/nonexistent/x.conf: No such file") &&
                          Catch::Contains("--url"));
}
