// SPDX-License-Identifier: BSD-3-Clause
// host.h: a running server at a socket of its own, and raw sockets of its clients, for fuzz
// targets.
#ifndef TESTS_FUZZ_HOST_H
#define TESTS_FUZZ_HOST_H

#include "../support/server.h"
#include "fuzz.h"

extern "C" {
#include "wire/call.h"
}

#include <cstring>
#include <openssl/crypto.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const unsigned CLIENTS = 3;
static const unsigned STEPS_MAX = 48;
static const uint64_t SOON_NS = 8000000000ull; // far above what a healthy server needs

// One server for all inputs.
class Host
{
  public:
    // Listens at shm:, or at unix: with @options.
    explicit Host(const std::string &scheme, const std::string &options = "")
        : path_(dir_ / "socket"), server_(opts_of(scheme, options))
    {
        if (scheme == "shm:")
            path_ = server_.socket();
    }

    const std::string &path() const
    {
        return path_;
    }
    // A socket of @type, connected to the server.
    int dial(int type) const
    {
        sockaddr_un address = {};
        int sock = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

        address.sun_family = AF_UNIX;
        strcpy(address.sun_path, path_.c_str());
        FUZZ_CHECK(sock >= 0);
        FUZZ_CHECK(connect(sock, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
        return sock;
    }

  private:
    support::ServerOpts opts_of(const std::string &scheme, const std::string &options) const
    {
        support::ServerOpts opts;

        // Before the server starts, so that OpenSSL's handler of exit() runs after the server's
        // thread has ended: a thread that outlives it cannot free its error queue.
        FUZZ_CHECK(OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CRYPTO_STRINGS, nullptr) == 1);
        opts.anonymous = true;
        opts.bytes = 256 << 10;
        opts.domain = 0;
        opts.clients_max = CLIENTS + 1;
        opts.shm = scheme == "shm:";
        if (!opts.shm)
            opts.listen = scheme + path_ + options;
        return opts;
    }

    support::Dir dir_;
    std::string path_;
    support::Server server_;
};

struct Input : FuzzBytes {
    // Changes some of these bytes, as the input says.
    void change(unsigned char *bytes, size_t len)
    {
        for (uint8_t n = byte() % 4; n > 0; n--) {
            size_t at = (byte() | byte() << 8) % len;

            bytes[at] = byte();
        }
    }
    // A control message in the right format, of any kind.
    rpmi_call call()
    {
        rpmi_call call = {};

        call.kind = 1 + byte() % (RPMI_CALL_KINDS - 1);
        call.flags = byte() % 8;
        call.key = byte() % 4;
        call.object = 1 + byte() % 4;
        call.bytes = 4096u * (byte() % 16);
        call.lsn = 64u * byte();
        call.name[0] = static_cast<char>('a' + byte() % 4);
        return call;
    }
};

#endif
