// SPDX-License-Identifier: BSD-3-Clause
// admission_test.cpp: which unauthenticated connection the server evicts for a new one.
#include "support/catch.h"

extern "C" {
#include "serve/admission.h"
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

struct Queue : rpmi_admission {
    explicit Queue(uint32_t entries)
    {
        REQUIRE(rpmi_admission_open(this, entries) == 0);
    }
    Queue(const Queue &) = delete;
    ~Queue()
    {
        rpmi_admission_close(this);
    }
    void enter(uint32_t at, uint64_t net, uint64_t host)
    {
        const rpmi_origin origin = { net, host };

        rpmi_admission_enter(this, at, &origin);
    }
    int victim(uint64_t net, uint64_t host)
    {
        const rpmi_origin origin = { net, host };
        uint32_t at = 0;

        return rpmi_admission_victim(this, &origin, &at) ? static_cast<int>(at) : -1;
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

TEST_CASE("admission: the oldest connection of the busiest origin is evicted", "[unit]")
{
    Queue queue(8);

    CHECK(queue.victim(1, 1) == -1);
    queue.enter(5, 1, 1);
    CHECK(queue.victim(2, 2) == 5);
    queue.enter(0, 2, 2);
    queue.enter(7, 2, 2);
    CHECK(queue.victim(3, 3) == 0); // not 5, which is older
    CHECK(queue.victim(1, 1) == 5); // two of each then, and it is the oldest
    rpmi_admission_leave(&queue, 0);
    rpmi_admission_leave(&queue, 0); // free already
    CHECK(queue.victim(3, 3) == 5);
    queue.enter(0, 2, 2);
    CHECK(queue.victim(3, 3) == 7); // what left and came again is young
}

TEST_CASE("admission: of the busiest network, the busiest host loses a connection", "[unit]")
{
    Queue queue(8);

    queue.enter(0, 1, 1); // the oldest, alone on its host
    queue.enter(1, 2, 7);
    queue.enter(2, 2, 7);
    queue.enter(3, 1, 2);
    queue.enter(4, 1, 2);
    CHECK(queue.victim(3, 3) == 3);
    CHECK(queue.victim(2, 8) == 1);
}

TEST_CASE("admission: a flood from one origin evicts its own connections only", "[unit]")
{
    Queue queue(16);
    uint32_t at = 0;

    for (at = 0; at < 16; at++)
        queue.enter(at, 1, 1);
    int honest = queue.victim(2, 2);
    REQUIRE(honest >= 0);
    rpmi_admission_leave(&queue, static_cast<uint32_t>(honest));
    queue.enter(static_cast<uint32_t>(honest), 2, 2);
    for (int i = 0; i < 10000; i++) {
        int out = queue.victim(1, 1);

        REQUIRE(out >= 0);
        REQUIRE(out != honest);
        rpmi_admission_leave(&queue, static_cast<uint32_t>(out));
        queue.enter(static_cast<uint32_t>(out), 1, 1);
    }
}

TEST_CASE("admission: the counts are right after every arrival and departure", "[unit]")
{
    Queue queue(12);
    std::mt19937 rng(7);

    for (int i = 0; i < 20000; i++) {
        uint32_t at = static_cast<uint32_t>(rng() % 12);

        if (queue.entry[at].taken)
            rpmi_admission_leave(&queue, at);
        else
            queue.enter(at, rng() % 3, rng() % 2);
        for (uint32_t k = 0; k < 12; k++) {
            uint32_t net = 0;
            uint32_t host = 0;

            if (!queue.entry[k].taken)
                continue;
            REQUIRE(k < queue.high);
            for (uint32_t j = 0; j < 12; j++) {
                const rpmi_admission_entry &entry = queue.entry[j];

                net += entry.taken && entry.origin.net == queue.entry[k].origin.net;
                host += entry.taken && same(entry.origin, queue.entry[k].origin);
            }
            REQUIRE(queue.entry[k].same_net == net);
            REQUIRE(queue.entry[k].same_host == host);
        }
    }
}

TEST_CASE("admission: addresses are grouped by network and host", "[unit]")
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

TEST_CASE("admission: the origin of a Unix connection is a user and a process", "[unit]")
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
