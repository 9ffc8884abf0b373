// SPDX-License-Identifier: BSD-3-Clause
// A server that exits or misbehaves, at every point of connect.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "base/clock.h"
#include "pmem/cpu_copy.h"
#include "transport/shm/liveness.h"
#include "transport/shm/sock.h"
#include "transport/transport.h"
#include "wire/hello.h"
#include "wire/ring.h"
}
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <future>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace
{

// Listens, and runs the function of the test on its first connection.
class FakeServer
{
  public:
    explicit FakeServer(std::function<void(int)> serve)
    {
        sockaddr_un address = {};

        address.sun_family = AF_UNIX;
        strcpy(address.sun_path, (dir_ / "socket").c_str());
        listen_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        REQUIRE(bind(listen_, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
        REQUIRE(listen(listen_, 4) == 0);
        thread_ = std::thread([this, serve] {
            int sock = accept(listen_, nullptr, nullptr);

            if (sock >= 0) {
                serve(sock);
                close(sock);
            }
        });
    }
    ~FakeServer()
    {
        shutdown(listen_, SHUT_RDWR);
        thread_.join();
        close(listen_);
    }
    // @use: called with the link before it is closed.
    int connect(uint64_t timeout_us = 20000000, const std::function<void(rpmi_link *)> &use = {})
    {
        rpmi_link_opts opts = {};
        rpmi_link *link = nullptr;
        std::string url = "shm:" + dir_ / "socket";

        opts.timeout_us = timeout_us;
        opts.depth = 64;
        opts.staging_bytes = 1 << 20;
        int err = rpmi_link_open(url.c_str(), &opts, &link);
        if (err == 0 && use)
            use(link);
        if (err == 0)
            link->ops->close(link);
        return err;
    }

  private:
    support::Dir dir_;
    int listen_;
    std::thread thread_;
};

void take_hello(int sock)
{
    char bytes[RPMI_HELLO_BYTES];

    (void)!read(sock, bytes, sizeof(bytes));
}

void send_accept(int sock, const std::function<void(rpmi_accept *)> &change)
{
    rpmi_accept accepted = {};
    unsigned char bytes[RPMI_ACCEPT_BYTES];

    accepted.version = RPMI_PROTOCOL_VERSION;
    accepted.mode = RPMI_MODE_RING;
    accepted.client = 1;
    accepted.server_epoch = 1;
    accepted.depth = 64;
    accepted.staging_bytes = 1 << 20;
    accepted.facts = rpm_facts_init();
    change(&accepted);
    rpmi_accept_put(bytes, &accepted);
    (void)!write(sock, bytes, sizeof(bytes));
}

// A ring as a server would lend it, except for what the test changes.
struct Lent {
    rpmi_liveness *liveness = nullptr;
    int fds[3] = { -1, -1, -1 }; // liveness page, ring, eventfd

    Lent(int seals, int notify_fd)
    {
        REQUIRE(rpmi_liveness_open(&liveness, &fds[0]) == 0);
        rpmi_liveness_begin(liveness);
        fds[1] = memfd_create("lent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        REQUIRE(ftruncate(fds[1], static_cast<off_t>(rpmi_ring_bytes(64, 1 << 20))) == 0);
        REQUIRE(fcntl(fds[1], F_ADD_SEALS, seals) == 0);
        fds[2] = notify_fd;
    }
    Lent(const Lent &) = delete;
    ~Lent()
    {
        rpmi_liveness_end(liveness);
        rpmi_liveness_close(liveness, fds[0]);
        close(fds[1]);
    }
    void send(int sock) const
    {
        rpmi_accept accepted = {};
        unsigned char bytes[RPMI_ACCEPT_BYTES];

        accepted.version = RPMI_PROTOCOL_VERSION;
        accepted.mode = RPMI_MODE_RING;
        accepted.client = accepted.server_epoch = 1;
        accepted.depth = 64;
        accepted.staging_bytes = 1 << 20;
        accepted.facts = rpm_facts_init();
        rpmi_accept_put(bytes, &accepted);
        (void)rpmi_sock_send(sock, bytes, sizeof(bytes), fds, 3, 0);
    }
};

} // namespace

TEST_CASE("dial: no socket, a plain file, or no permission is refused", "[unit]")
{
    support::Dir dir;
    rpmi_link_opts opts = {};
    rpmi_link *link = nullptr;

    opts.timeout_us = 20000000;
    opts.depth = 64;
    opts.staging_bytes = 1 << 20;
    CHECK(rpmi_link_open(("shm:" + dir / "none").c_str(), &opts, &link) == RPM_E_REFUSED);
    close(open((dir / "file").c_str(), O_CREAT | O_WRONLY, 0600));
    CHECK(rpmi_link_open(("shm:" + dir / "file").c_str(), &opts, &link) == RPM_E_REFUSED);
    CHECK(rpmi_link_open("shm:", &opts, &link) == RPM_E_INVAL);
    CHECK(rpmi_link_open("shm:x,mode=warp", &opts, &link) == RPM_E_INVAL);
    CHECK(rpmi_link_open("shm:x,color=blue", &opts, &link) == RPM_E_INVAL);
    CHECK(link == nullptr);
}

TEST_CASE("dial: a server that closes at once, or after the hello", "[unit]")
{
    FakeServer at_once([](int) {});
    FakeServer after_hello([](int sock) { take_hello(sock); });

    CHECK(at_once.connect() == RPM_E_LOST);
    CHECK(after_hello.connect() == RPM_E_LOST);
    CHECK(std::string(rpm_last_error()) == "the server closed the connection");
}

TEST_CASE("dial: with a silent server, connect returns at its deadline", "[unit]")
{
    FakeServer silent([](int sock) {
        char byte;

        take_hello(sock);
        (void)!read(sock, &byte, 1); // until the client gives up
    });
    uint64_t start = rpmi_clock_ns();

    CHECK(silent.connect(100000) == RPM_E_TIMEDOUT);
    CHECK(rpmi_clock_ns() - start < 20000000000);
}

TEST_CASE("dial: garbage, a short accept message or another version is refused", "[unit]")
{
    FakeServer garbage([](int sock) {
        take_hello(sock);
        std::string bytes(RPMI_ACCEPT_BYTES, 'g');
        (void)!write(sock, bytes.data(), bytes.size());
    });
    FakeServer shorter([](int sock) {
        take_hello(sock);
        (void)!write(sock, "RPM", 3);
    });
    FakeServer longer([](int sock) {
        take_hello(sock);
        std::string bytes(4 * RPMI_ACCEPT_BYTES, 'g');
        (void)!write(sock, bytes.data(), bytes.size());
    });
    FakeServer version([](int sock) {
        take_hello(sock);
        send_accept(sock, [](rpmi_accept *accepted) { accepted->version++; });
    });

    CHECK(garbage.connect() == RPM_E_PROTO);
    CHECK(shorter.connect() == RPM_E_PROTO);
    CHECK(longer.connect() == RPM_E_PROTO);
    CHECK(version.connect() == RPM_E_VERSION);
}

TEST_CASE("dial: a refusal says why", "[unit]")
{
    FakeServer refusing([](int sock) {
        take_hello(sock);
        send_accept(sock, [](rpmi_accept *accepted) {
            accepted->status = RPM_E_DENIED;
            strcpy(accepted->text, "not you");
        });
    });

    CHECK(refusing.connect() == RPM_E_DENIED);
    CHECK(std::string(rpm_last_error()) == "not you");
}

TEST_CASE("dial: a grant without its descriptors is refused", "[unit]")
{
    FakeServer nothing([](int sock) {
        take_hello(sock);
        send_accept(sock, [](rpmi_accept *) {});
    });
    FakeServer odd([](int sock) {
        take_hello(sock);
        send_accept(sock, [](rpmi_accept *accepted) { accepted->depth = 65; });
    });

    CHECK(nothing.connect() == RPM_E_PROTO);
    CHECK(odd.connect() == RPM_E_PROTO);
}

TEST_CASE("dial: memory that the server could shrink is not mapped", "[unit]")
{
    int notify_fd = eventfd(0, EFD_CLOEXEC);

    for (int seals : { F_SEAL_SHRINK, F_SEAL_GROW }) {
        bool kept = seals == F_SEAL_SHRINK;
        std::promise<void> over;
        FakeServer server([&](int sock) {
            Lent lent(seals, notify_fd);
            take_hello(sock);
            lent.send(sock);
            over.get_future().wait();
        });

        CAPTURE(kept);
        CHECK(server.connect() == (kept ? 0 : RPM_E_PROTO));
        CHECK((std::string(rpm_last_error()).find("take away") != std::string::npos) == !kept);
        over.set_value();
    }
    close(notify_fd);
}

TEST_CASE("dial: a full eventfd does not block a client", "[unit]")
{
    int pipe_fds[2];
    char byte = 0;

    REQUIRE(pipe(pipe_fds) == 0);
    REQUIRE(fcntl(pipe_fds[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(pipe_fds[1], &byte, 1) == 1)
        ;
    REQUIRE(fcntl(pipe_fds[1], F_SETFL, 0) == 0);
    std::promise<void> over;
    FakeServer server([&](int sock) {
        Lent lent(F_SEAL_SHRINK, pipe_fds[1]);
        lent.liveness->engine_sleeps = 1;
        take_hello(sock);
        lent.send(sock);
        over.get_future().wait();
    });
    int posted = 0;

    CHECK(server.connect(20000000, [&](rpmi_link *link) {
        rpmi_op op = {};

        op.kind = RPMI_OP_PERSIST;
        op.flags = RPMI_OP_SIGNALED;
        op.len = 1;
        posted = link->ops->post(link, &op, 1);
    }) == 0);
    CHECK(posted == 1);
    over.set_value();
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

TEST_CASE("dial: a client that cannot flush is lent no pool in the domain ADR", "[unit]")
{
    support::Server server;
    rpmi_link_opts opts = {};
    rpmi_link *link = nullptr;
    const struct rpmi_cpu before = rpmi_cpu;

    opts.timeout_us = 3000000;
    opts.depth = 8;
    opts.staging_bytes = 1 << 16;
    rpmi_cpu.can_flush = false; // the server sends no request of its own here
    int err = rpmi_link_open((server.url() + ",mode=direct").c_str(), &opts, &link);
    std::string why = rpm_last_error();
    rpmi_cpu = before;
    if (err == 0)
        link->ops->close(link);
    CHECK(err == RPM_E_NOCAP);
    CHECK(why.find("connect with mode=ring") != std::string::npos);
    REQUIRE(rpmi_link_open((server.url() + ",mode=direct").c_str(), &opts, &link) == 0);
    link->ops->close(link);
}
