// SPDX-License-Identifier: BSD-3-Clause
// stream_session_fuzz.cpp: untrusted clients at the stream listener of a running server: handshakes
// and requests with changed bytes, bodies that never end, answers that the client does not read,
// lists that are held, connections that come and go. Afterwards the server serves a well-behaved
// client at once, and has no more open descriptors than before.
//
// Input: steps; the first byte of each says which client does what.
extern "C" {
#include "base/clock.h"
#include "transport/op.h"
#include "transport/stream/pipe.h"
#include "transport/transport.h"
#include "wire/handshake.h"
#include "wire/steps.h"
#include "wire/stream.h"
}
#include "../support/descriptors.h"
#include "host.h"

#include <sys/socket.h>
#include <unistd.h>

class Client
{
  public:
    ~Client()
    {
        leave();
    }
    void arrive(const Host &host)
    {
        leave();
        sock_ = host.dial(SOCK_STREAM);
    }
    void leave()
    {
        if (sock_ >= 0)
            close(sock_);
        sock_ = -1;
    }
    bool here() const
    {
        return sock_ >= 0;
    }
    void send(const void *bytes, size_t len) const
    {
        (void)!::send(sock_, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL); // it may have failed
    }
    // Reads some of its answers.
    void read_some() const
    {
        char bytes[1024];

        (void)!recv(sock_, bytes, sizeof(bytes), MSG_DONTWAIT);
    }
    // Reads exactly @len bytes, soon. False: the server disconnected.
    bool read_all(void *bytes, size_t len) const
    {
        rpmi_pipe pipe = { sock_, nullptr };

        return rpmi_pipe_recv_all(&pipe, bytes, len, rpmi_clock_ns() + SOON_NS) == 0;
    }

  private:
    int sock_ = -1;
};

// A whole handshake, with some bytes changed if it is not @sound.
static void handshake(const Client &client, Input &input, bool sound)
{
    unsigned char sealed[RPMI_SEALED_BYTES];
    rpmi_auth auth = {};
    rpmi_transcript transcript;

    auth.depth = 1u + input.byte();
    auth.staging_bytes = 4096;
    FUZZ_CHECK(rpmi_net_hello_make(&transcript) == 0);
    if (!sound && input.byte() % 2 == 0)
        input.change(transcript.hello, sizeof(transcript.hello));
    client.send(transcript.hello, sizeof(transcript.hello));
    if (!sound && input.byte() % 2 == 0)
        return;
    if (!client.read_all(transcript.challenge, sizeof(transcript.challenge)))
        return;
    FUZZ_CHECK(rpmi_auth_make(&transcript, "", &auth) == 0);
    if (!sound)
        input.change(transcript.auth, sizeof(transcript.auth));
    client.send(transcript.auth, sizeof(transcript.auth));
    if (sound)
        (void)client.read_all(sealed, sizeof(sealed));
}

static void call(const Client &client, Input &input)
{
    unsigned char bytes[RPMI_REQUEST_BYTES + RPMI_CALL_BYTES];
    rpmi_request request = {};
    rpmi_call call = input.call();

    request.kind = RPMI_REQUEST_CALL;
    request.body_bytes = RPMI_CALL_BYTES;
    rpmi_request_put(bytes, &request);
    rpmi_call_put(bytes + RPMI_REQUEST_BYTES, &call);
    if (input.byte() % 4 == 0)
        input.change(bytes, sizeof(bytes));
    client.send(bytes, sizeof(bytes));
}

// A request in the right format with any numbers in it, and some of its body.
static void ask(const Client &client, Input &input)
{
    static const uint8_t kinds[] = { RPMI_OP_WRITE, RPMI_OP_READ, RPMI_OP_PERSIST,
                                     RPMI_OP_COPY,  RPMI_OP_CAS,  RPMI_OP_FAA };
    unsigned char bytes[RPMI_REQUEST_BYTES + 64 + 70000] = {};
    rpmi_request request = {};
    bool writes;

    request.kind = kinds[input.byte() % sizeof(kinds)];
    writes = request.kind == RPMI_OP_WRITE || request.kind == RPMI_OP_COPY;
    request.flags =
        static_cast<uint8_t>(input.byte() & (RPMI_OP_DURABLE | RPMI_OP_CACHED | RPMI_REQUEST_LAST));
    request.key = input.byte() % 4;
    request.offset = input.byte() * 64u;
    request.body_bytes = writes ? input.byte() * 273u : 0;
    request.head_bytes = request.kind == RPMI_OP_CAS || request.kind == RPMI_OP_FAA ? 16
                         : writes ? input.byte() % 65
                                  : 0;
    request.len = request.kind == RPMI_OP_CAS || request.kind == RPMI_OP_FAA ? 8
                  : writes ? request.head_bytes + request.body_bytes + input.byte() * 100u
                           : input.byte() * 300u;
    rpmi_request_put(bytes, &request);
    if (input.byte() % 4 == 0)
        input.change(bytes, RPMI_REQUEST_BYTES);
    size_t whole = RPMI_REQUEST_BYTES + request.head_bytes + request.body_bytes;
    client.send(bytes, input.byte() % 4 == 0 ? whole * input.byte() / 256 : whole);
}

// A list that begins with a WATCH, which the server holds if the client may read the word.
static void watch(const Client &client, Input &input)
{
    unsigned char bytes[RPMI_REQUEST_BYTES + 64] = {};
    rpmi_request request = {};
    rpmi_step step = {};

    step.kind = RPMI_STEP_WATCH;
    step.len = sizeof(uint64_t);
    step.key = input.byte() % 4;
    step.offset = input.byte() * 8u;
    step.expect = input.byte() / 128;
    step.operand = 1 + input.byte() * 3000u;
    request.kind = RPMI_OP_STEPS;
    request.len = RPMI_STEPS_ANSWER_HEAD + rpmi_step_result_bytes(&step);
    request.body_bytes = rpmi_step_put(bytes + RPMI_REQUEST_BYTES, &step);
    rpmi_request_put(bytes, &request);
    if (input.byte() % 4 == 0)
        input.change(bytes + RPMI_REQUEST_BYTES, request.body_bytes);
    client.send(bytes, RPMI_REQUEST_BYTES + request.body_bytes);
}

static void step(const Host &host, Client *clients, Input &input)
{
    uint8_t what = input.byte();
    Client &client = clients[what % CLIENTS];

    if (!client.here()) {
        client.arrive(host);
        handshake(client, input, what / CLIENTS % 4 != 0);
    }
    switch (what / CLIENTS % 8) {
    case 0:
        client.leave();
        break;
    case 1: {
        auto bytes = fuzz_copy(input.data, input.left, 256);

        client.send(bytes.get(), input.byte());
        break;
    }
    case 2:
        client.read_some();
        break;
    case 3:
        call(client, input);
        break;
    case 7:
        watch(client, input);
        break;
    default:
        ask(client, input);
    }
}

// A well-behaved client gets its answers, while the server still closes others.
static void check_served(const Host &host)
{
    const uint64_t until = rpmi_clock_ns() + SOON_NS;
    rpmi_link_opts opts = {};
    rpmi_link *link = nullptr;
    rpmi_call call = {};
    rpmi_reply reply;
    int err;

    opts.timeout_us = SOON_NS / 1000;
    opts.depth = 8;
    opts.staging_bytes = 4096;
    do {
        FUZZ_CHECK(rpmi_clock_ns() < until);
        err = rpmi_link_open(("unix:" + host.path()).c_str(), &opts, &link);
    } while (err == RPM_E_REFUSED);
    FUZZ_CHECK(err == 0);
    call.kind = RPMI_CALL_NEXT;
    memset(call.name, 'z', sizeof(call.name) - 1); // past the end
    FUZZ_CHECK(link->ops->call(link, &call, &reply, until) == 0);
    FUZZ_CHECK(reply.status == RPM_E_RANGE);
    link->ops->close(link);
}

static void check_descriptors(int *least)
{
    const uint64_t until = rpmi_clock_ns() + SOON_NS;
    int now;

    while ((now = open_descriptors()) > *least) {
        FUZZ_CHECK(rpmi_clock_ns() < until);
        std::this_thread::yield();
    }
    *least = now;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Host host("unix:", ",timeout_ms=100");
    static int least = open_descriptors(); // of a server without clients
    Input input = { data, size };

    rpm_diag_sink([](void *, rpm_diag_level, const char *) {}, nullptr, RPM_DIAG_ERROR);
    {
        Client clients[CLIENTS];

        for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++)
            step(host, clients, input);
    }
    check_served(host);
    check_descriptors(&least);
    return 0;
}
