// SPDX-License-Identifier: BSD-3-Clause
// stream_answer_fuzz.cpp: an untrusted server of a client of a stream. Each request completes once,
// in order; results are stored in the request's buffer and nowhere else; then the link is lost,
// because the server disconnects.
//
// Input: number of requests, how the answers are cut into packets, then the answers.
extern "C" {
#include "transport/stream/stream.h"
}
#include "fuzz.h"

#include <librpm/error.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

static const uint32_t SLOTS = 16;
static const uint64_t STAGED = 4096;

// A client after its handshake, which was left out.
struct Client {
    rpmi_stream stream = {};
    std::vector<rpmi_stream_sent> slots{ SLOTS };
    std::vector<unsigned char> pieces;
    std::unique_ptr<unsigned char[]> in{ new unsigned char[RPMI_STREAM_IN_BYTES] };
    std::unique_ptr<unsigned char[]> staged{ new unsigned char[STAGED] };

    explicit Client(int fd)
    {
        stream.pipe.fd = fd;
        stream.slot = slots.data();
        stream.slots = SLOTS;
        stream.piece_room = (SLOTS + 2) * RPMI_STREAM_PIECE_MAX;
        pieces.resize(stream.piece_room);
        stream.piece = pieces.data();
        stream.in = in.get();
        stream.stage.base = staged.get();
        stream.stage.bytes = STAGED;
        memset(staged.get(), 0xee, STAGED);
    }
    // Request i wants its result at 128 * i: 64 bytes, a word, or nothing.
    void post(uint64_t i)
    {
        rpmi_op op = {};

        op.kind = i % 3 == 0 ? RPMI_OP_READ : i % 3 == 1 ? RPMI_OP_COPY : RPMI_OP_CAS;
        op.flags = RPMI_OP_SIGNALED;
        op.len = op.kind == RPMI_OP_CAS ? 8 : 64;
        op.into = staged.get() + 128 * i;
        op.id = i;
        FUZZ_CHECK(rpmi_stream_post(&stream.link, &op, 1) == 1);
    }
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzBytes input = { data, size };
    uint32_t posted = 1 + input.byte() % SLOTS;
    size_t packet = 1 + input.byte();
    uint64_t next = 0;
    uint64_t turns = 0;
    int pair[2];
    int n;

    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    Client client(pair[0]);
    for (uint64_t i = 0; i < posted; i++)
        client.post(i);
    FUZZ_CHECK(rpmi_stream_flush(&client.stream) == 0);
    do {
        FUZZ_CHECK(turns++ < size + posted + 16); // the list ends
        size_t len = packet < input.left ? packet : input.left;
        rpmi_done done[4];

        if (len > 0)
            (void)!write(pair[1], input.data, len);
        else
            shutdown(pair[1], SHUT_WR);
        input.data += len;
        input.left -= len;
        n = rpmi_stream_poll(&client.stream.link, done, 4);
        for (int i = 0; i < n; i++, next++) {
            FUZZ_CHECK(done[i].id == next);
            FUZZ_CHECK(done[i].status <= 0);
        }
    } while (n >= 0);
    FUZZ_CHECK(n == RPM_E_LOST);
    FUZZ_CHECK(next == posted);
    for (uint64_t at = 0; at < STAGED; at++) {
        uint64_t i = at / 128;
        uint64_t wanted = i >= posted || i % 3 == 1 ? 0 : i % 3 == 0 ? 64 : 8;

        FUZZ_CHECK(at % 128 < wanted || client.staged[at] == 0xee);
    }
    close(pair[0]);
    close(pair[1]);
    return 0;
}
