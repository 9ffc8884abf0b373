// SPDX-License-Identifier: BSD-3-Clause
// raw.h: a client that sends raw messages to a stream listener, so that it can misbehave.
#ifndef TESTS_UNIT_SERVE_STREAM_RAW_H
#define TESTS_UNIT_SERVE_STREAM_RAW_H

#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "base/clock.h"
#include "transport/op.h"
#include "transport/stream/pipe.h"
#include "wire/call.h"
#include "wire/handshake.h"
#include "wire/stream.h"
}
#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <vector>

namespace raw
{

using Bytes = std::vector<unsigned char>;

inline support::ServerOpts at_port(const std::string &options = "", const std::string &secret = "")
{
    support::ServerOpts opts;

    opts.listen = "tcp://127.0.0.1:0/pool" + options;
    opts.secret = secret;
    return opts;
}

inline uint64_t soon(uint64_t ms = 4000)
{
    return rpmi_clock_ns() + ms * 1000000;
}

class Client
{
  public:
    explicit Client(const support::Server &server)
    {
        std::string url = server.listener_url();

        if (url.compare(0, 5, "unix:") == 0)
            connect_local(url.substr(5));
        else
            connect_far(url);
        rpmi_pipe_tune(&pipe, 10000);
    }
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;
    ~Client()
    {
        leave();
    }
    void leave()
    {
        rpmi_pipe_close(&pipe);
    }

    void connect_local(const std::string &path)
    {
        sockaddr_un address = {};

        address.sun_family = AF_UNIX;
        strcpy(address.sun_path, path.c_str());
        pipe.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        REQUIRE(::connect(pipe.fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
    }
    void connect_far(const std::string &url)
    {
        sockaddr_in address = {};
        size_t colon = url.rfind(':');

        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<uint16_t>(std::stoul(url.substr(colon + 1))));
        pipe.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        REQUIRE(::connect(pipe.fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
    }
    bool send(const void *bytes, size_t len)
    {
        return rpmi_pipe_send_all(&pipe, bytes, len, soon()) == 0;
    }
    bool send(const Bytes &bytes)
    {
        return send(bytes.data(), bytes.size());
    }
    int receive(void *bytes, size_t len, uint64_t ms = 4000)
    {
        return rpmi_pipe_recv_all(&pipe, bytes, len, soon(ms));
    }
    // Has the server disconnected, after any last bytes?
    bool dropped(uint64_t ms = 4000)
    {
        char bytes[4096];
        uint64_t deadline = soon(ms);
        int err;

        do
            err = rpmi_pipe_recv_all(&pipe, bytes, 1, deadline);
        while (err == 0);
        return err == RPM_E_LOST;
    }

    // Performs the handshake up to the challenge; returns its status.
    int open()
    {
        REQUIRE(rpmi_net_hello_make(&transcript) == 0);
        REQUIRE(send(transcript.hello, sizeof(transcript.hello)));
        int err = receive(transcript.challenge, sizeof(transcript.challenge));
        return err != 0 ? err
                        : rpmi_challenge_get(transcript.challenge, sizeof(transcript.challenge));
    }
    void make_entry(const std::string &secret = "", const char *pool = "")
    {
        rpmi_auth auth = {};

        auth.depth = 64;
        auth.staging_bytes = 1 << 20;
        strcpy(auth.pool, pool);
        REQUIRE(rpmi_auth_make(&transcript, secret.c_str(), &auth) == 0);
    }
    // Status of the accept message, or of the failure before it.
    int enter(const std::string &secret = "", const char *pool = "")
    {
        unsigned char sealed[RPMI_SEALED_BYTES];

        make_entry(secret, pool);
        if (!send(transcript.auth, sizeof(transcript.auth)))
            return RPM_E_LOST;
        int err = receive(sealed, sizeof(sealed));
        if (err == 0)
            err = rpmi_sealed_get(&transcript, secret.c_str(), sealed, &accepted);
        return err != 0 ? err : accepted.status;
    }
    int handshake(const std::string &secret = "", const char *pool = "")
    {
        int err = open();

        return err != 0 ? err : enter(secret, pool);
    }

    rpmi_answer answer(uint64_t ms = 4000)
    {
        unsigned char bytes[RPMI_ANSWER_BYTES];
        rpmi_answer found = {};

        REQUIRE(receive(bytes, sizeof(bytes), ms) == 0);
        REQUIRE(rpmi_answer_get(bytes, &found) == 0);
        return found;
    }
    rpmi_reply call(const rpmi_call &call)
    {
        Bytes bytes = call_bytes(call);
        unsigned char reply[RPMI_REPLY_BYTES];
        rpmi_reply found = {};

        REQUIRE(send(bytes));
        REQUIRE(answer().kind == RPMI_ANSWER_REPLY);
        REQUIRE(receive(reply, sizeof(reply)) == 0);
        REQUIRE(rpmi_reply_get(reply, &found) == 0);
        return found;
    }
    // A key for a region of @bytes bytes.
    uint32_t region(const std::string &name, uint64_t bytes)
    {
        rpmi_call request = {};

        request.kind = RPMI_CALL_OPEN;
        request.flags = RPMI_CALL_CREATE;
        request.object = RPM_KIND_REGION;
        request.bytes = bytes;
        strcpy(request.name, name.c_str());
        rpmi_reply reply = call(request);
        REQUIRE(reply.status == 0);
        return reply.key;
    }
    static Bytes call_bytes(const rpmi_call &call)
    {
        Bytes bytes(RPMI_REQUEST_BYTES + RPMI_CALL_BYTES);
        rpmi_request request = {};

        request.kind = RPMI_REQUEST_CALL;
        request.body_bytes = RPMI_CALL_BYTES;
        rpmi_request_put(bytes.data(), &request);
        rpmi_call_put(bytes.data() + RPMI_REQUEST_BYTES, &call);
        return bytes;
    }

    rpmi_pipe pipe = { -1, nullptr };
    rpmi_transcript transcript = {};
    rpmi_accept accepted = {};
};

// A request's header, and a body of @body bytes behind it.
inline Bytes request(uint8_t kind, uint32_t key, uint64_t offset, uint64_t len, uint32_t body = 0,
                     uint8_t flags = RPMI_REQUEST_LAST)
{
    Bytes bytes(RPMI_REQUEST_BYTES + body);
    rpmi_request made = {};

    made.kind = kind;
    made.flags = flags;
    made.key = key;
    made.offset = offset;
    made.len = len;
    made.body_bytes = body;
    rpmi_request_put(bytes.data(), &made);
    for (uint32_t i = 0; i < body; i++)
        bytes[RPMI_REQUEST_BYTES + i] = static_cast<unsigned char>(i * 7 + i / 251 + 1);
    return bytes;
}

} // namespace raw

#endif
