// SPDX-License-Identifier: BSD-3-Clause
// One end of a byte stream that never blocks.
#include "support/catch.h"

extern "C" {
#include "base/clock.h"
#include "transport/stream/pipe.h"
}
#include <librpm/error.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace
{

struct Pair {
    rpmi_pipe pipe = { -1, nullptr };
    int other = -1;

    Pair()
    {
        int ends[2];

        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        pipe.fd = ends[0];
        other = ends[1];
    }
    Pair(const Pair &) = delete;
    ~Pair()
    {
        rpmi_pipe_close(&pipe);
        if (other >= 0)
            close(other);
    }
};

uint64_t in_ms(uint64_t ms)
{
    return rpmi_clock_ns() + ms * 1000000;
}

} // namespace

TEST_CASE("pipe: bytes are sent gathered and received as they arrive", "[unit]")
{
    Pair pair;
    char one[] = "abc";
    char two[] = "defg";
    iovec iov[] = { { one, 3 }, { two, 4 } };
    char got[16] = {};

    CHECK(rpmi_pipe_send(&pair.pipe, iov, 2) == 7);
    REQUIRE(read(pair.other, got, sizeof(got)) == 7);
    CHECK(std::string(got) == "abcdefg");
    CHECK(rpmi_pipe_recv(&pair.pipe, got, sizeof(got)) == 0); // nothing yet
    REQUIRE(write(pair.other, "xy", 2) == 2);
    CHECK(rpmi_pipe_recv(&pair.pipe, got, sizeof(got)) == 2);
    CHECK_FALSE(rpmi_pipe_pending(&pair.pipe));
}

TEST_CASE("pipe: a full socket takes no bytes, and waiting for it ends at the deadline", "[unit]")
{
    Pair pair;
    std::vector<char> bytes(1 << 16);
    iovec iov = { bytes.data(), bytes.size() };
    uint64_t deadline;

    while (rpmi_pipe_send(&pair.pipe, &iov, 1) > 0)
        ;
    CHECK(rpmi_pipe_send(&pair.pipe, &iov, 1) == 0);
    deadline = in_ms(30);
    CHECK(rpmi_pipe_send_all(&pair.pipe, bytes.data(), bytes.size(), deadline) == RPM_E_TIMEDOUT);
    CHECK(rpmi_clock_ns() >= deadline);
    deadline = in_ms(30);
    CHECK(rpmi_pipe_recv_all(&pair.pipe, bytes.data(), 1, deadline) == RPM_E_TIMEDOUT);
    CHECK(rpmi_clock_ns() >= deadline);
}

TEST_CASE("pipe: what was sent before the end is still received, then the end", "[unit]")
{
    Pair pair;
    char got[4];
    iovec iov = { got, 1 };

    REQUIRE(write(pair.other, "bye", 3) == 3);
    close(pair.other);
    pair.other = -1;
    CHECK(rpmi_pipe_recv(&pair.pipe, got, 2) == 2);
    CHECK(rpmi_pipe_recv(&pair.pipe, got, sizeof(got)) == 1);
    CHECK(rpmi_pipe_recv(&pair.pipe, got, sizeof(got)) == RPM_E_LOST);
    CHECK(rpmi_pipe_send(&pair.pipe, &iov, 1) == RPM_E_LOST); // and no SIGPIPE
    CHECK(rpmi_pipe_recv_all(&pair.pipe, got, 1, in_ms(1000)) == RPM_E_LOST);
    CHECK(rpmi_pipe_send_all(&pair.pipe, got, 1, in_ms(1000)) == RPM_E_LOST);
}

TEST_CASE("pipe: closing twice is safe", "[unit]")
{
    Pair pair;

    rpmi_pipe_close(&pair.pipe);
    CHECK(pair.pipe.fd == -1);
    rpmi_pipe_close(&pair.pipe);
}
