// SPDX-License-Identifier: BSD-3-Clause
// fake.h: a stream server that runs the function of a test on its only client.
#ifndef TESTS_UNIT_TRANSPORT_STREAM_FAKE_H
#define TESTS_UNIT_TRANSPORT_STREAM_FAKE_H

#include "support/catch.h"

extern "C" {
#include "base/clock.h"
#include "transport/stream/pipe.h"
#include "transport/transport.h"
#include "wire/handshake.h"
#include "wire/stream.h"
}
#include <arpa/inet.h>
#include <cstring>
#include <functional>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace fake
{

using Bytes = std::vector<unsigned char>;

inline uint64_t soon(uint64_t ms = 3000)
{
    return rpmi_clock_ns() + ms * 1000000;
}

// The server's end of a connection.
struct Session {
    rpmi_pipe pipe;
    rpmi_transcript transcript = {};
    rpmi_accept accepted = {};

    explicit Session(int fd) : pipe{ fd, nullptr }
    {
        accepted.version = RPMI_PROTOCOL_VERSION;
        accepted.mode = RPMI_MODE_RING;
        accepted.client = 1;
        accepted.server_epoch = 1;
        accepted.depth = 64;
        accepted.staging_bytes = 1 << 20;
        accepted.facts = rpm_facts_init();
        accepted.facts.methods = 1u << RPM_METHOD_COPY;
    }
    Session(const Session &) = delete;
    ~Session()
    {
        rpmi_pipe_close(&pipe);
    }
    bool send(const void *bytes, size_t len)
    {
        return rpmi_pipe_send_all(&pipe, bytes, len, soon()) == 0;
    }
    bool receive(void *bytes, size_t len)
    {
        return rpmi_pipe_recv_all(&pipe, bytes, len, soon()) == 0;
    }
    Bytes challenge(int status = 0)
    {
        if (!receive(transcript.hello, sizeof(transcript.hello)) ||
            rpmi_challenge_make(&transcript, status) != 0)
            return {};
        return { transcript.challenge, transcript.challenge + sizeof(transcript.challenge) };
    }
    Bytes sealed(const char *secret = "")
    {
        Bytes bytes(RPMI_SEALED_BYTES);

        if (!receive(transcript.auth, sizeof(transcript.auth)) ||
            rpmi_sealed_make(&transcript, secret, &accepted, bytes.data()) != 0)
            return {};
        return bytes;
    }
    bool handshake()
    {
        Bytes bytes = challenge();
        bool ok = !bytes.empty() && send(bytes.data(), bytes.size());

        bytes = ok ? sealed() : Bytes();
        return !bytes.empty() && send(bytes.data(), bytes.size());
    }
    void say(uint8_t kind, uint32_t value, uint64_t request)
    {
        unsigned char bytes[RPMI_ANSWER_BYTES] = { kind };

        memcpy(bytes + 4, &value, sizeof(value));
        memcpy(bytes + 8, &request, sizeof(request));
        (void)send(bytes, sizeof(bytes));
    }
    // Receive requests until the other side disconnects.
    void drain()
    {
        char bytes[4096];

        while (rpmi_pipe_recv_all(&pipe, bytes, 1, soon()) == 0)
            ;
    }
};

class Server
{
  public:
    // At 127.0.0.1.
    explicit Server(std::function<void(Session &)> serve)
    {
        sockaddr_in address = {};
        socklen_t bytes = sizeof(address);

        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        listen_at(reinterpret_cast<sockaddr *>(&address), bytes);
        REQUIRE(getsockname(listen_, reinterpret_cast<sockaddr *>(&address), &bytes) == 0);
        url_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/pool";
        start(serve);
    }
    // At a Unix socket.
    Server(const std::string &path, std::function<void(Session &)> serve) : url_("unix:" + path)
    {
        sockaddr_un address = {};

        address.sun_family = AF_UNIX;
        strcpy(address.sun_path, path.c_str());
        listen_at(reinterpret_cast<sockaddr *>(&address), sizeof(address));
        start(serve);
    }
    Server(const Server &) = delete;
    ~Server()
    {
        shutdown(listen_, SHUT_RDWR);
        thread_.join();
        close(listen_);
    }
    std::string url() const
    {
        return url_;
    }
    int dial(rpmi_link **link, uint64_t timeout_us = 60000000, const char *secret = nullptr)
    {
        rpmi_link_opts opts = {};

        opts.timeout_us = timeout_us;
        opts.depth = 64;
        opts.staging_bytes = 1 << 20;
        opts.secret = secret;
        return rpmi_link_open(url_.c_str(), &opts, link);
    }
    // Connects, closes the link if there is one, and returns the result.
    int try_dial(uint64_t timeout_us = 60000000, const char *secret = nullptr)
    {
        rpmi_link *link = nullptr;
        int err = dial(&link, timeout_us, secret);

        if (err == 0)
            link->ops->close(link);
        return err;
    }

  private:
    void listen_at(const sockaddr *address, socklen_t bytes)
    {
        listen_ = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        REQUIRE(bind(listen_, address, bytes) == 0);
        REQUIRE(listen(listen_, 4) == 0);
    }
    void start(std::function<void(Session &)> serve)
    {
        thread_ = std::thread([this, serve] {
            int sock = accept(listen_, nullptr, nullptr);

            if (sock < 0)
                return;
            Session session(sock);
            serve(session);
        });
    }

    int listen_;
    std::string url_;
    std::thread thread_;
};

} // namespace fake

#endif
