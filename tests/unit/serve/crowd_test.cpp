// SPDX-License-Identifier: BSD-3-Clause
// Who makes room when more knock than there are places for.
#include "support/catch.h"

extern "C" {
#include "serve/crowd.h"
}
#include <arpa/inet.h>
#include <netinet/in.h>
#include <random>
#include <string>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace
{

struct Crowd : rpmi_crowd {
    explicit Crowd(uint32_t seats)
    {
        REQUIRE(rpmi_crowd_open(this, seats) == 0);
    }
    Crowd(const Crowd &) = delete;
    ~Crowd()
    {
        rpmi_crowd_close(this);
    }
    void sit(uint32_t at, uint64_t net, uint64_t host)
    {
        const rpmi_origin origin = { net, host };

        rpmi_crowd_sit(this, at, &origin);
    }
    int pick(uint64_t net, uint64_t host)
    {
        const rpmi_origin origin = { net, host };
        uint32_t at = 0;

        return rpmi_crowd_pick(this, &origin, &at) ? static_cast<int>(at) : -1;
    }
};

rpmi_origin origin_of(int family, const std::string &text)
{
    sockaddr_storage address = {};

    address.ss_family = static_cast<sa_family_t>(family);
    void *to = family == AF_INET
                   ? static_cast<void *>(&reinterpret_cast<sockaddr_in *>(&address)->sin_addr)
                   : &reinterpret_cast<sockaddr_in6 *>(&address)->sin6_addr;
    REQUIRE(inet_pton(family, text.c_str(), to) == 1);
    return rpmi_origin_of_address(reinterpret_cast<sockaddr *>(&address));
}

bool same(const rpmi_origin &a, const rpmi_origin &b)
{
    return a.net == b.net && a.host == b.host;
}

} // namespace

TEST_CASE("crowd: room is made by the oldest of those from where most come", "[unit]")
{
    Crowd crowd(8);

    CHECK(crowd.pick(1, 1) == -1);
    crowd.sit(5, 1, 1);
    CHECK(crowd.pick(2, 2) == 5);
    crowd.sit(0, 2, 2);
    crowd.sit(7, 2, 2);
    CHECK(crowd.pick(3, 3) == 0); // not 5, which is older
    CHECK(crowd.pick(1, 1) == 5); // two of each then, and it is the oldest
    rpmi_crowd_rise(&crowd, 0);
    rpmi_crowd_rise(&crowd, 0); // nobody sits there any more
    CHECK(crowd.pick(3, 3) == 5);
    crowd.sit(0, 2, 2);
    CHECK(crowd.pick(3, 3) == 7); // what rose and came again is young
}

TEST_CASE("crowd: in the net from where most come, the host from where most come", "[unit]")
{
    Crowd crowd(8);

    crowd.sit(0, 1, 1); // the oldest, alone on its host
    crowd.sit(1, 2, 7);
    crowd.sit(2, 2, 7);
    crowd.sit(3, 1, 2);
    crowd.sit(4, 1, 2);
    CHECK(crowd.pick(3, 3) == 3);
    CHECK(crowd.pick(2, 8) == 1);
}

TEST_CASE("crowd: a flood from one place pushes out itself only", "[unit]")
{
    Crowd crowd(16);
    uint32_t at = 0;

    for (at = 0; at < 16; at++)
        crowd.sit(at, 1, 1);
    int honest = crowd.pick(2, 2);
    REQUIRE(honest >= 0);
    rpmi_crowd_rise(&crowd, static_cast<uint32_t>(honest));
    crowd.sit(static_cast<uint32_t>(honest), 2, 2);
    for (int i = 0; i < 10000; i++) {
        int out = crowd.pick(1, 1);

        REQUIRE(out >= 0);
        REQUIRE(out != honest);
        rpmi_crowd_rise(&crowd, static_cast<uint32_t>(out));
        crowd.sit(static_cast<uint32_t>(out), 1, 1);
    }
}

TEST_CASE("crowd: the counts are those of the seats, whoever comes and goes", "[unit]")
{
    Crowd crowd(12);
    std::mt19937 rng(7);

    for (int i = 0; i < 20000; i++) {
        uint32_t at = static_cast<uint32_t>(rng() % 12);

        if (crowd.seat[at].taken)
            rpmi_crowd_rise(&crowd, at);
        else
            crowd.sit(at, rng() % 3, rng() % 2);
        for (uint32_t k = 0; k < 12; k++) {
            uint32_t net = 0;
            uint32_t host = 0;

            if (!crowd.seat[k].taken)
                continue;
            REQUIRE(k < crowd.high);
            for (uint32_t j = 0; j < 12; j++) {
                const rpmi_seat &seat = crowd.seat[j];

                net += seat.taken && seat.origin.net == crowd.seat[k].origin.net;
                host += seat.taken && same(seat.origin, crowd.seat[k].origin);
            }
            REQUIRE(crowd.seat[k].of_net == net);
            REQUIRE(crowd.seat[k].of_host == host);
        }
    }
}

TEST_CASE("crowd: addresses are told apart by net and host", "[unit]")
{
    rpmi_origin one = origin_of(AF_INET, "192.0.2.1");

    CHECK(same(one, origin_of(AF_INET6, "::ffff:192.0.2.1")));
    CHECK(one.net != origin_of(AF_INET, "192.0.2.2").net);
    rpmi_origin six = origin_of(AF_INET6, "2001:db8:0:1::1");
    rpmi_origin beside = origin_of(AF_INET6, "2001:db8:0:1::2");
    CHECK(six.net == beside.net);
    CHECK(six.host != beside.host);
    CHECK(six.net != origin_of(AF_INET6, "2001:db8:0:2::1").net);
}

TEST_CASE("crowd: the other end of a Unix socket is a user and a process", "[unit]")
{
    int pair[2];

    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    rpmi_origin origin = rpmi_origin_of_socket(pair[0]);
    CHECK(origin.net == geteuid());
    CHECK(origin.host == static_cast<uint64_t>(getpid()));
    close(pair[0]);
    close(pair[1]);
    origin = rpmi_origin_of_socket(-1);
    CHECK(origin.net == 0);
    CHECK(origin.host == 0);
}
