// SPDX-License-Identifier: BSD-3-Clause
// ask_test.cpp: one end of a pair of sockets is the link's, the other one a server that answers
// what the test says.
#include "support/catch.h"

extern "C" {
#include "base/clock.h"
#include "transport/shm/shm.h"
}
#include <sys/socket.h>
#include <unistd.h>

namespace
{

struct Asked {
    int pair[2];
    rpmi_shm shm = {};
    rpmi_reply reply = {};

    Asked()
    {
        REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
        shm.sock = pair[0];
    }
    Asked(const Asked &) = delete;
    ~Asked()
    {
        close(pair[0]);
        close(pair[1]);
    }
    void answer(const void *bytes, size_t len) const
    {
        REQUIRE(send(pair[1], bytes, len, 0) == static_cast<ssize_t>(len));
    }
    int ask(uint64_t wait_ns = 5000000000)
    {
        rpmi_call call = {};

        call.kind = RPMI_CALL_CLOSE;
        call.key = 7;
        return rpmi_shm_ask(&shm, &call, &reply, rpmi_clock_ns() + wait_ns);
    }
};

} // namespace

TEST_CASE("ask: the call is sent, and the answer taken behind events", "[unit]")
{
    Asked asked;
    unsigned char bytes[RPMI_REPLY_BYTES];
    const unsigned char event[RPMI_EVENT_BYTES] = {};
    rpmi_reply reply = {};
    rpmi_call call;

    reply.value = 99;
    rpmi_reply_put(bytes, &reply);
    asked.answer(event, sizeof(event));
    asked.answer(event, sizeof(event));
    asked.answer(bytes, sizeof(bytes));
    REQUIRE(asked.ask() == 0);
    CHECK(asked.reply.value == 99);
    REQUIRE(recv(asked.pair[1], bytes, sizeof(bytes), 0) == RPMI_CALL_BYTES);
    REQUIRE(rpmi_call_get(bytes, &call) == 0);
    CHECK(call.key == 7);
}

TEST_CASE("ask: an answer that is none, comes late, or never", "[unit]")
{
    Asked asked;
    const unsigned char bytes[RPMI_REPLY_BYTES - 1] = {};

    asked.answer(bytes, sizeof(bytes));
    CHECK(asked.ask() == RPM_E_PROTO);
    CHECK(asked.ask(1000000) == RPM_E_TIMEDOUT);
    shutdown(asked.pair[1], SHUT_RDWR);
    CHECK(asked.ask() == RPM_E_LOST);
}
