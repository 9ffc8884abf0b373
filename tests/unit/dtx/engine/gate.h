// SPDX-License-Identifier: BSD-3-Clause
// gate.h: an address in front of a server that a test shuts, cuts or freezes, as if the server were
// lost or stopped.
#ifndef TESTS_UNIT_DTX_ENGINE_GATE_H
#define TESTS_UNIT_DTX_ENGINE_GATE_H

#include "support/catch.h"

#include <arpa/inet.h>
#include <atomic>
#include <cstdlib>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

// A tcp: address that passes bytes on to a server. While it is shut, it accepts no connection, so a
// client that connects waits for the server's first message.
class Gate
{
  public:
    explicit Gate(const std::string &url)
    {
        size_t begin = url.find("://") + 3;
        size_t colon = url.find(':', begin);
        size_t slash = url.find('/', colon);

        server_.sin_family = AF_INET;
        server_.sin_port = htons(static_cast<uint16_t>(std::stoi(url.substr(colon + 1))));
        server_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        own_ = server_;
        own_.sin_port = 0;
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        socklen_t bytes = sizeof(own_);
        auto *address = reinterpret_cast<sockaddr *>(&own_);

        REQUIRE(bind(listener_, address, bytes) == 0);
        REQUIRE(listen(listener_, 64) == 0);
        REQUIRE(getsockname(listener_, address, &bytes) == 0);
        url_ = "tcp://127.0.0.1:" + std::to_string(ntohs(own_.sin_port)) + url.substr(slash);
        thread_ = std::thread([this] { pass_on(); });
    }
    Gate(const Gate &) = delete;
    ~Gate()
    {
        ends_ = true;
        thread_.join();
        for (const pollfd &end : sockets_)
            close(end.fd);
        close(listener_);
    }
    const std::string &url() const
    {
        return url_;
    }
    void shut(bool is_shut)
    {
        is_shut_ = is_shut;
    }
    // Does a connection wait at the gate?
    bool is_awaited() const
    {
        pollfd waiting = { listener_, POLLIN, 0 };

        return is_shut_ && poll(&waiting, 1, 0) == 1;
    }
    // Closes all connections that it passes on. When this returns, they are closed.
    void cut()
    {
        cuts_ = true;
        while (cuts_)
            std::this_thread::yield();
    }
    // Passes no bytes on, as if the server were stopped.
    void freeze(bool is_frozen)
    {
        is_frozen_ = is_frozen;
    }

  private:
    void pass_on()
    {
        while (!ends_) {
            pollfd waiting = { listener_, POLLIN, 0 };

            if (!is_shut_ && poll(&waiting, 1, 0) == 1)
                connect_one();
            if (cuts_)
                close_all();
            if (poll(sockets_.data(), is_frozen_ ? 0 : sockets_.size(), 1) <= 0)
                continue;
            for (size_t i = 0; i < sockets_.size(); i++)
                if (sockets_[i].revents != 0)
                    pass(i);
        }
    }
    void connect_one()
    {
        int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (client < 0 ||
            connect(server, reinterpret_cast<sockaddr *>(&server_), sizeof(server_)) != 0)
            abort();
        sockets_.push_back({ client, POLLIN, 0 });
        sockets_.push_back({ server, POLLIN, 0 });
    }
    void close_all()
    {
        for (const pollfd &end : sockets_)
            close(end.fd);
        sockets_.clear();
        cuts_ = false;
    }
    // The other end of a connection is its neighbour.
    void pass(size_t i)
    {
        char bytes[65536];
        ssize_t got = recv(sockets_[i].fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        size_t other = i ^ 1;

        sockets_[i].revents = 0;
        for (ssize_t sent = 0; sent < got;) {
            ssize_t n = send(sockets_[other].fd, bytes + sent, static_cast<size_t>(got - sent),
                             MSG_NOSIGNAL);

            if (n <= 0)
                break;
            sent += n;
        }
        if (got <= 0) {
            (void)shutdown(sockets_[other].fd, SHUT_WR);
            sockets_[i].events = 0;
        }
    }

    std::string url_;
    sockaddr_in server_{};
    sockaddr_in own_{};
    int listener_ = -1;
    std::vector<pollfd> sockets_; // of the gate's thread: a client's, its server's, and so on
    std::atomic<bool> is_shut_ = false;
    std::atomic<bool> is_frozen_ = false;
    std::atomic<bool> cuts_ = false;
    std::atomic<bool> ends_ = false;
    std::thread thread_;
};

#endif
