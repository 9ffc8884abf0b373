// SPDX-License-Identifier: BSD-3-Clause
// More connections than the server admits, from another address: a client is still accepted.
#include "raw.h"

#include <atomic>
#include <csignal>
#include <deque>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>

using raw::Client;
using support::Server;
using support::ServerOpts;

namespace
{

const size_t kHeld = 100; // connections of a flood at once, more than the server admits

// Opens one more silent connection. -1: impossible now.
int try_connect(const sockaddr *to, socklen_t bytes, const sockaddr *from)
{
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if ((from != nullptr && bind(fd, from, bytes) != 0) ||
        (connect(fd, to, bytes) != 0 && errno != EINPROGRESS)) {
        close(fd);
        return -1;
    }
    return fd;
}

// Opens connections from 127.0.0.2, one after the other, until it is destroyed.
class Flood
{
  public:
    explicit Flood(const Server &server)
    {
        std::string url = server.listener_url();

        to_.sin_family = from_.sin_family = AF_INET;
        to_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to_.sin_port = htons(static_cast<uint16_t>(std::stoul(url.substr(url.rfind(':') + 1))));
        from_.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
        thread_ = std::thread([this] { run(); });
    }
    ~Flood()
    {
        over_ = true;
        thread_.join();
    }
    uint64_t tries() const
    {
        return tries_;
    }

  private:
    void run()
    {
        std::deque<int> held;

        while (!over_) {
            int fd = try_connect(reinterpret_cast<sockaddr *>(&to_), sizeof(to_),
                                 reinterpret_cast<sockaddr *>(&from_));

            if (fd >= 0) {
                held.push_back(fd);
                tries_++;
            }
            if (held.size() > kHeld || (fd < 0 && !held.empty())) {
                // Closes with a reset, so that no port stays in TIME_WAIT.
                linger now = { 1, 0 };
                setsockopt(held.front(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
                close(held.front());
                held.pop_front();
            }
        }
        for (int fd : held)
            close(fd);
    }

    sockaddr_in to_ = {};
    sockaddr_in from_ = {};
    std::atomic<bool> over_{ false };
    std::atomic<uint64_t> tries_{ 0 };
    std::thread thread_;
};

// Another process, which ends with this object or the test.
struct Child {
    template <typename Body> explicit Child(Body body) : pid(fork())
    {
        REQUIRE(pid >= 0);
        if (pid != 0)
            return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        body();
        _exit(0);
    }
    Child(const Child &) = delete;
    ~Child()
    {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
    }
    pid_t pid;
};

// A distant client: some time passes between its hello and its auth.
void check_comes_in(const Server &server, int times)
{
    for (int i = 0; i < times; i++) {
        Client honest(server);

        CAPTURE(i);
        REQUIRE(honest.open() == 0);
        rpmi_clock_sleep_ns(20000000);
        REQUIRE(honest.enter() == 0);
        REQUIRE(honest.region("region" + std::to_string(i), 4096) != 0);
    }
}

} // namespace

TEST_CASE("flood: connections from another address do not keep a client out", "[unit]")
{
    ServerOpts opts = raw::at_port();
    opts.clients_max = 2;
    Server server(opts);
    Flood flood(server);

    while (flood.tries() < 2 * kHeld)
        rpmi_clock_sleep_ns(1000000);
    check_comes_in(server, 10);
    CHECK(server.stats().refused > kHeld); // the flood did reach the limit
    CHECK(server.stats().accepted == 10);
}

TEST_CASE("flood: another process at the same Unix socket does not keep a client out", "[unit]")
{
    support::Dir dir;
    ServerOpts opts;
    sockaddr_un to = {};
    opts.listen = "unix:" + dir / "stream";
    opts.clients_max = 2;
    Server server(opts);

    to.sun_family = AF_UNIX;
    strcpy(to.sun_path, (dir / "stream").c_str());
    Child flood([&] {
        int held[kHeld];

        memset(held, -1, sizeof(held));
        for (size_t i = 0;; i++) {
            int *fd = &held[i % kHeld];

            if (*fd >= 0)
                close(*fd);
            *fd = try_connect(reinterpret_cast<sockaddr *>(&to), sizeof(to), nullptr);
        }
    });
    while (server.stats().refused < 2 * kHeld)
        rpmi_clock_sleep_ns(1000000);
    check_comes_in(server, 10);
    CHECK(server.stats().accepted == 10);
}
