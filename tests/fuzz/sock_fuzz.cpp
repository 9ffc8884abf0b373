// SPDX-License-Identifier: BSD-3-Clause
// sock_fuzz.cpp: an untrusted server of a client of shm:. It sends packets of any length with any
// number of descriptors of any kind, or closes the socket. The client's packet layer returns the
// packet or an error, in time; every descriptor that arrives is handed over or closed.
//
// Input, for each packet: number of descriptors, their kind, room at the receiver, length, bytes.
extern "C" {
#include "base/clock.h"
#include "transport/shm/sock.h"
#include "wire/hello.h"
}
#include "../support/descriptors.h"
#include "fuzz.h"

#include <fcntl.h>
#include <librpm/error.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

static const int FDS_SENT_MAX = 3 * RPMI_SOCK_FDS_MAX;
static const uint64_t WAIT_NS = 2000000; // if no packet arrives

static int descriptor(unsigned kind)
{
    switch (kind % 3) {
    case 0:
        return eventfd(0, EFD_CLOEXEC);
    case 1:
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    default:
        return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    }
}

// Sends as an untrusted server does: directly through the kernel.
static void send_packet(int sock, const uint8_t *bytes, size_t len, int fds, unsigned kind)
{
    union {
        cmsghdr align;
        char bytes[CMSG_SPACE(FDS_SENT_MAX * sizeof(int))];
    } space = {};
    iovec iov = { const_cast<uint8_t *>(bytes), len };
    msghdr msg = {};
    std::vector<int> sent;

    for (int i = 0; i < fds; i++)
        sent.push_back(descriptor(kind + static_cast<unsigned>(i)));
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    if (fds > 0) {
        msg.msg_control = space.bytes;
        msg.msg_controllen = CMSG_SPACE(sent.size() * sizeof(int));
        space.align.cmsg_level = SOL_SOCKET;
        space.align.cmsg_type = SCM_RIGHTS;
        space.align.cmsg_len = CMSG_LEN(sent.size() * sizeof(int));
        memcpy(CMSG_DATA(&space.align), sent.data(), sent.size() * sizeof(int));
    }
    FUZZ_CHECK(sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0);
    for (int fd : sent)
        close(fd);
}

static void receive(int sock, const uint8_t *sent, size_t len, size_t room, int fds_sent)
{
    std::unique_ptr<uint8_t[]> bytes(new uint8_t[room]);
    int fds[RPMI_SOCK_FDS_MAX];
    rpmi_accept accepted;
    int n = 0;
    int got = rpmi_sock_recv(sock, bytes.get(), room, fds, &n, rpmi_clock_ns() + WAIT_NS);

    if (got < 0) {
        FUZZ_CHECK(got == RPM_E_LOST || got == RPM_E_PROTO);
        FUZZ_CHECK((got == RPM_E_LOST) == (len == 0));
        FUZZ_CHECK(len == 0 || len > room || fds_sent > RPMI_SOCK_FDS_MAX);
        return;
    }
    FUZZ_CHECK(static_cast<size_t>(got) == len && len <= room);
    FUZZ_CHECK(n == fds_sent && n <= RPMI_SOCK_FDS_MAX);
    FUZZ_CHECK(memcmp(bytes.get(), sent, len) == 0);
    for (int i = 0; i < n; i++) {
        FUZZ_CHECK((fcntl(fds[i], F_GETFD) & FD_CLOEXEC) != 0);
        close(fds[i]);
    }
    (void)rpmi_accept_get(bytes.get(), len, &accepted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int before = open_descriptors();
    int pair[2];
    int n = 0;
    int fds[RPMI_SOCK_FDS_MAX];
    uint8_t byte;

    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    while (size >= 4) {
        int fds_sent = data[0] % FDS_SENT_MAX;
        unsigned kind = data[1];
        size_t room = 1 + (data[2] % 8 == 0 ? data[2] : 2u * RPMI_ACCEPT_BYTES - data[2]);
        size_t len = data[3] % 4 == 0 ? data[3] / 4u : data[3] * 2u;

        data += 4;
        size -= 4;
        len = len < size ? len : size;
        send_packet(pair[0], data, len, fds_sent, kind);
        receive(pair[1], data, len, room, fds_sent);
        data += len;
        size -= len;
    }
    close(pair[0]);
    FUZZ_CHECK(rpmi_sock_recv(pair[1], &byte, 1, fds, &n, rpmi_clock_ns() + WAIT_NS) == RPM_E_LOST);
    close(pair[1]);
    FUZZ_CHECK(open_descriptors() == before);
    return 0;
}
