// SPDX-License-Identifier: BSD-3-Clause
// host.h: a running server at a socket of its own, for fuzz targets that are its clients.
#ifndef TESTS_FUZZ_HOST_H
#define TESTS_FUZZ_HOST_H

#include "fuzz.h"

#include <cstring>
#include <librpm.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

static const unsigned CLIENTS = 3;
static const unsigned STEPS_MAX = 48;
static const uint64_t SOON_NS = 8000000000ull; // far above what a healthy server needs

// One server for all inputs.
class Host
{
  public:
    // Listens at @scheme, the socket, @options.
    Host(const std::string &scheme, const std::string &options)
    {
        rpm_server_opts opts = rpm_server_opts_init();

        FUZZ_CHECK(mkdtemp(&dir_[0]) != nullptr);
        std::string listen = scheme + path() + options;
        opts.listen = listen.c_str();
        opts.pool_bytes = 256 << 10;
        opts.clients_max = CLIENTS + 1;
        FUZZ_CHECK(rpm_server_open(&opts, &server_) == 0);
        control_ = std::thread([this] { FUZZ_CHECK(rpm_server_run(server_) == 0); });
        engine_ = std::thread([this] { FUZZ_CHECK(rpm_server_engine(server_) == 0); });
    }
    ~Host()
    {
        rpm_server_stop(server_);
        control_.join();
        engine_.join();
        rpm_server_close(&server_);
        (void)!unlink((path() + ".lock").c_str()); // of a shm: server
        (void)!rmdir(dir_.c_str());
    }
    Host(const Host &) = delete;
    Host &operator=(const Host &) = delete;

    std::string path() const
    {
        return dir_ + "/socket";
    }
    // A socket of @type, connected to the server.
    int dial(int type) const
    {
        sockaddr_un address = {};
        int sock = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

        address.sun_family = AF_UNIX;
        strcpy(address.sun_path, path().c_str());
        FUZZ_CHECK(sock >= 0);
        FUZZ_CHECK(connect(sock, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
        return sock;
    }

  private:
    std::string dir_ = "/tmp/rpm_fuzz_XXXXXX";
    rpm_server *server_ = nullptr;
    std::thread control_;
    std::thread engine_;
};

struct Input : FuzzBytes {
    // Change some of these.
    void change(unsigned char *bytes, size_t len)
    {
        for (uint8_t n = byte() % 4; n > 0; n--) {
            size_t at = (byte() | byte() << 8) % len;

            bytes[at] = byte();
        }
    }
};

#endif
