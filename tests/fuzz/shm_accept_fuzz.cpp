// SPDX-License-Identifier: BSD-3-Clause
// shm_accept_fuzz.cpp: untrusted clients at the shm: socket of a running server: connections that
// come and go, packets of any length with any descriptors, hellos and calls with changed bytes,
// random requests in a ring. Afterwards the server serves a well-behaved client at once, and has no
// more open descriptors than before.
//
// Input: steps; the first byte of each says which client does what.
extern "C" {
#include "base/clock.h"
#include "transport/shm/shm.h"
}
#include "../support/descriptors.h"
#include "host.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static const int FDS_SENT_MAX = 12;

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
        sock_ = host.dial(SOCK_SEQPACKET);
    }
    void leave()
    {
        if (base_ != nullptr)
            munmap(base_, ring_.bytes);
        base_ = nullptr;
        if (sock_ >= 0)
            close(sock_);
        sock_ = -1;
    }
    bool here() const
    {
        return sock_ >= 0;
    }

    // As many as the kernel takes from a client without limits.
    void send(const void *bytes, size_t len, int fds)
    {
        union {
            cmsghdr align;
            char bytes[CMSG_SPACE(FDS_SENT_MAX * sizeof(int))];
        } space = {};
        iovec iov = { const_cast<void *>(bytes), len };
        msghdr msg = {};
        int sent[FDS_SENT_MAX];

        for (int i = 0; i < fds; i++)
            sent[i] = sock_;
        msg.msg_iov = &iov;
        msg.msg_iovlen = 1;
        if (fds > 0) {
            msg.msg_control = space.bytes;
            msg.msg_controllen = CMSG_SPACE(static_cast<size_t>(fds) * sizeof(int));
            space.align.cmsg_level = SOL_SOCKET;
            space.align.cmsg_type = SCM_RIGHTS;
            space.align.cmsg_len = CMSG_LEN(static_cast<size_t>(fds) * sizeof(int));
            memcpy(CMSG_DATA(&space.align), sent, static_cast<size_t>(fds) * sizeof(int));
        }
        (void)!sendmsg(sock_, &msg, MSG_DONTWAIT | MSG_NOSIGNAL); // it may have failed
    }

    // Receives a packet, and maps the ring of an accept message. Its length, or an error.
    int receive(unsigned char *bytes, size_t room, uint64_t wait_ns)
    {
        int fds[RPMI_SOCK_FDS_MAX];
        rpmi_accept accepted;
        int n = 0;
        int got = rpmi_sock_recv(sock_, bytes, room, fds, &n, rpmi_clock_ns() + wait_ns);

        if (got == RPMI_ACCEPT_BYTES && n == RPMI_FDS && base_ == nullptr &&
            rpmi_accept_get(bytes, RPMI_ACCEPT_BYTES, &accepted) == 0 &&
            accepted.mode == RPMI_MODE_RING) {
            uint64_t ring_bytes = rpmi_ring_bytes(accepted.depth, accepted.staging_bytes);
            base_ =
                mmap(nullptr, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[RPMI_FD_RING], 0);
            FUZZ_CHECK(base_ != MAP_FAILED);
            rpmi_ring_layout(&ring_, static_cast<unsigned char *>(base_), accepted.depth,
                             accepted.staging_bytes);
        }
        for (int i = 0; i < n; i++) {
            if (i == RPMI_FD_NOTIFY && got == RPMI_ACCEPT_BYTES)
                (void)!eventfd_write(fds[i], 1); // the server has taken earlier requests
            close(fds[i]);
        }
        return got;
    }

    void scribble(Input &input)
    {
        if (base_ == nullptr)
            return;
        if (input.byte() % 2 == 0) {
            rpmi_slot *slot = &ring_.slot[input.byte() % ring_.slots];
            unsigned char bytes[sizeof(rpmi_slot)] = {};

            for (unsigned i = 0; i < 40; i++)
                bytes[i] = input.byte();
            memcpy(static_cast<void *>(slot), bytes, sizeof(bytes));
        } else {
            unsigned char *to = static_cast<unsigned char *>(base_);

            input.change(to, 128);
        }
    }

  private:
    int sock_ = -1;
    rpmi_ring ring_ = {};
    void *base_ = nullptr;
};

static void hello(Client &client, Input &input, bool sound)
{
    unsigned char bytes[RPMI_HELLO_BYTES];
    rpmi_hello hello = {};

    hello.version = RPMI_PROTOCOL_VERSION;
    hello.mode = input.byte() % 3;
    hello.depth = 1u + input.byte();
    hello.staging_bytes = 4096;
    rpmi_hello_put(bytes, &hello);
    if (!sound)
        input.change(bytes, sizeof(bytes));
    client.send(bytes, sizeof(bytes), 0);
}

static void call(Client &client, Input &input)
{
    unsigned char bytes[RPMI_CALL_BYTES];
    rpmi_call call = input.call();

    rpmi_call_put(bytes, &call);
    input.change(bytes, sizeof(bytes));
    client.send(bytes, sizeof(bytes), input.byte() % 64 == 0 ? 1 : 0);
}

static void garbage(Client &client, Input &input)
{
    size_t len = input.byte() % 4 == 0 ? input.byte() * 256u : input.byte() * 2u;
    auto bytes = fuzz_copy(input.data, input.left, len + 1);
    int fds = input.byte() % FDS_SENT_MAX;

    client.send(bytes.get(), len, fds);
}

static void step(const Host &host, Client *clients, Input &input)
{
    unsigned char answer[1024];
    uint8_t what = input.byte();
    Client &client = clients[what % CLIENTS];

    if (!client.here())
        client.arrive(host);
    switch (what / CLIENTS % 8) {
    case 0:
        client.leave();
        break;
    case 1:
        hello(client, input, false);
        break;
    case 2:
        garbage(client, input);
        break;
    case 3:
        (void)client.receive(answer, sizeof(answer), 0);
        break;
    case 4:
        client.scribble(input);
        break;
    case 5: // give the server time to carry them out
        hello(client, input, true);
        (void)client.receive(answer, sizeof(answer), SOON_NS);
        break;
    default:
        call(client, input);
    }
}

// A well-behaved client gets its answers, while the server still closes others.
static void check_served(const Host &host)
{
    const uint64_t until = rpmi_clock_ns() + SOON_NS;
    unsigned char bytes[RPMI_HELLO_BYTES] = {};
    unsigned char answer[1024];
    rpmi_hello hello = {};
    rpmi_accept accepted = {};
    rpmi_call call = {};
    rpmi_reply reply;
    Client client;

    hello.version = RPMI_PROTOCOL_VERSION;
    hello.mode = RPMI_MODE_RING;
    hello.depth = 8;
    hello.staging_bytes = 4096;
    do {
        FUZZ_CHECK(rpmi_clock_ns() < until);
        client.arrive(host);
        rpmi_hello_put(bytes, &hello);
        client.send(bytes, RPMI_HELLO_BYTES, 0);
        FUZZ_CHECK(client.receive(answer, sizeof(answer), SOON_NS) == RPMI_ACCEPT_BYTES);
        FUZZ_CHECK(rpmi_accept_get(answer, RPMI_ACCEPT_BYTES, &accepted) == 0);
    } while (accepted.status == RPM_E_REFUSED);
    FUZZ_CHECK(accepted.status == 0);
    call.kind = RPMI_CALL_NEXT;
    memset(call.name, 'z', sizeof(call.name) - 1); // past the end
    rpmi_call_put(bytes, &call);
    client.send(bytes, RPMI_CALL_BYTES, 0);
    FUZZ_CHECK(client.receive(answer, sizeof(answer), SOON_NS) == RPMI_REPLY_BYTES);
    FUZZ_CHECK(rpmi_reply_get(answer, &reply) == 0 && reply.status == RPM_E_RANGE);
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
    static Host host("shm:");
    static int least = open_descriptors(); // of a server without clients
    Input input = { data, size };

    {
        Client clients[CLIENTS];

        for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++)
            step(host, clients, input);
    }
    check_served(host);
    check_descriptors(&least);
    return 0;
}
