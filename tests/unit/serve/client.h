// SPDX-License-Identifier: BSD-3-Clause
// client.h: a client that sends raw messages to a server's socket, so that it can misbehave.
#ifndef TESTS_UNIT_SERVE_CLIENT_H
#define TESTS_UNIT_SERVE_CLIENT_H

#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "base/clock.h"
#include "transport/shm/shm.h"
}
#include <cstring>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// How long a test waits for an action that a server takes at once, unless the machine is busy.
inline const uint64_t kPatienceNs = 20000000000u;

// Waits until the condition holds; false: it does not in time.
template <class Holds> bool eventually(Holds holds)
{
    uint64_t until = rpmi_clock_ns() + kPatienceNs;

    while (!holds()) {
        if (rpmi_clock_ns() > until)
            return false;
        rpmi_clock_sleep_ns(1000000);
    }
    return true;
}

class RawClient
{
  public:
    explicit RawClient(const support::Server &server)
    {
        sockaddr_un address = {};
        std::string path = server.url().substr(4);

        address.sun_family = AF_UNIX;
        strcpy(address.sun_path, path.c_str());
        sock_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        REQUIRE(sock_ >= 0);
        REQUIRE(::connect(sock_, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
    }
    RawClient(const RawClient &) = delete;
    RawClient &operator=(const RawClient &) = delete;
    ~RawClient()
    {
        leave();
    }
    void leave()
    {
        if (sock_ >= 0)
            close(sock_);
        sock_ = -1;
        for (int &fd : fds_) {
            if (fd >= 0)
                close(fd);
            fd = -1;
        }
        if (base_ != nullptr)
            munmap(base_, ring.bytes);
        base_ = nullptr;
    }

    bool send(const void *bytes, size_t len, const int *fds = nullptr, int n = 0)
    {
        return rpmi_sock_send(sock_, bytes, len, fds, n, soon()) == 0;
    }

    // Has the server closed this connection?
    bool dropped()
    {
        char bytes[512];
        pollfd entry = { sock_, POLLIN, 0 };

        while (poll(&entry, 1, static_cast<int>(kPatienceNs / 1000000)) == 1)
            if (recv(sock_, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
                return true;
        return false;
    }

    // Status of the accept message, or of the failure before it.
    int hello(uint32_t mode, const std::string &secret = "", uint32_t depth = 64,
              uint64_t staging = 1 << 16)
    {
        rpmi_hello hello = {};
        unsigned char bytes[RPMI_ACCEPT_BYTES];
        int n = 0;

        hello.version = RPMI_PROTOCOL_VERSION;
        hello.mode = mode;
        hello.depth = depth;
        hello.staging_bytes = staging;
        strcpy(hello.secret, secret.c_str());
        rpmi_hello_put(bytes, &hello);
        if (!send(bytes, RPMI_HELLO_BYTES))
            return RPM_E_LOST;
        int fds[RPMI_SOCK_FDS_MAX];
        int got = rpmi_sock_recv(sock_, bytes, sizeof(bytes), fds, &n, soon());
        if (got < 0)
            return got;
        for (int i = 0; i < n; i++)
            fds_[i] = fds[i];
        int err = rpmi_accept_get(bytes, static_cast<size_t>(got), &accepted);
        return err != 0 ? err : accepted.status;
    }

    rpmi_reply call(const rpmi_call &call)
    {
        unsigned char bytes[RPMI_REPLY_BYTES];
        int fds[RPMI_SOCK_FDS_MAX];
        int n = 0;
        rpmi_reply reply = {};

        rpmi_call_put(bytes, &call);
        REQUIRE(send(bytes, RPMI_CALL_BYTES));
        REQUIRE(rpmi_sock_recv(sock_, bytes, sizeof(bytes), fds, &n, soon()) == RPMI_REPLY_BYTES);
        REQUIRE(n == 0);
        REQUIRE(rpmi_reply_get(bytes, &reply) == 0);
        return reply;
    }
    rpmi_reply open(const std::string &name, uint32_t kind, uint64_t bytes)
    {
        rpmi_call request = {};

        request.kind = RPMI_CALL_OPEN;
        request.flags = RPMI_CALL_CREATE;
        request.object = kind;
        request.bytes = bytes;
        strcpy(request.name, name.c_str());
        return call(request);
    }
    rpmi_reply claim(uint32_t key, uint32_t flags = 0)
    {
        rpmi_call request = {};

        request.kind = RPMI_CALL_CLAIM;
        request.flags = flags;
        request.key = key;
        return call(request);
    }

    void map_ring()
    {
        uint64_t ring_bytes = rpmi_ring_bytes(accepted.depth, accepted.staging_bytes);
        base_ =
            mmap(nullptr, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds_[RPMI_FD_RING], 0);
        REQUIRE(base_ != MAP_FAILED);
        rpmi_ring_layout(&ring, static_cast<unsigned char *>(base_), accepted.depth,
                         accepted.staging_bytes);
        ring.head->fences = 1;
    }
    // Posts a single request.
    void post(rpmi_slot slot)
    {
        rpmi_slot *to = &ring.slot[posted % ring.slots];
        uint64_t one = 1;

        slot.turn = 0;
        slot.flags |= RPMI_SLOT_LAST;
        memcpy(static_cast<void *>(to), &slot, sizeof(slot));
        posted++;
        __atomic_store_n(&to->turn, static_cast<uint32_t>(posted), __ATOMIC_SEQ_CST);
        (void)!write(fds_[RPMI_FD_NOTIFY], &one, sizeof(one));
    }
    // Status of the oldest request that was not waited for.
    int outcome()
    {
        uint64_t until = soon();

        while (__atomic_load_n(&ring.head->done, __ATOMIC_ACQUIRE) <= waited)
            if (rpmi_clock_ns() > until)
                return RPM_E_TIMEDOUT;
        return ring.status[waited++ % ring.slots];
    }

    int fd(int which) const
    {
        return fds_[which];
    }
    int sock() const
    {
        return sock_;
    }

    rpmi_accept accepted = {};
    rpmi_ring ring = {};
    uint64_t posted = 0;
    uint64_t waited = 0;

  private:
    static uint64_t soon()
    {
        return rpmi_clock_ns() + kPatienceNs;
    }

    int sock_ = -1;
    int fds_[RPMI_SOCK_FDS_MAX] = { -1, -1, -1, -1 };
    void *base_ = nullptr;
};

#endif
