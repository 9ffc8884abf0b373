// SPDX-License-Identifier: BSD-3-Clause
// server.h: a server in this process, on a socket and a pool of its own, for as long as the object
// lives. It can end and start again on the same pool.
#ifndef TESTS_SUPPORT_SERVER_H
#define TESTS_SUPPORT_SERVER_H

#include "support/catch.h"

#include <cstdlib>
#include <librpm.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace support
{

// A fresh directory in memory (tmpfs) or on the disk, removed with what is in it.
class Dir
{
  public:
    enum Place { kMemory, kDisk };

    explicit Dir(Place place = kMemory)
        : path_(place == kMemory ? "/dev/shm/rpm_test_XXXXXX" : "/var/tmp/rpm_test_XXXXXX")
    {
        REQUIRE(mkdtemp(&path_[0]) != nullptr);
    }
    Dir(const Dir &) = delete;
    Dir &operator=(const Dir &) = delete;
    ~Dir()
    {
        std::string command = "rm -rf '" + path_ + "'";
        int ignored = std::system(command.c_str());
        (void)ignored;
    }
    std::string operator/(const std::string &name) const
    {
        return path_ + "/" + name;
    }

  private:
    std::string path_;
};

struct ServerOpts {
    Dir::Place place = Dir::kMemory;
    bool anonymous = false;           // no file at all
    uint64_t bytes = 8 << 20;         // of the pool
    uint64_t dram_bytes = 0;          // 0: the server's own choice
    uint32_t domain = RPM_DOMAIN_ADR; // declared; ignored for a pool on the disk
    uint32_t flags = 0;               // besides RPM_SERVER_CREATE
    uint32_t clients_max = 0;
    uint64_t fence_us = 0;
    std::string secret;
    std::string listen; // addresses besides shm:, such as "tcp://127.0.0.1:0/pool"
    std::string tls_cert;
    std::string tls_key;
};

class Server
{
  public:
    explicit Server(const ServerOpts &opts = {}) : opts_(opts), dir_(opts.place)
    {
        start();
    }
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    ~Server()
    {
        stop();
    }

    // "shm:/.../socket,mode=direct"; an empty mode leaves the choice to both sides.
    std::string url(const std::string &mode = "") const
    {
        std::string text = "shm:" + dir_ / "socket";

        return mode.empty() ? text : text + ",mode=" + mode;
    }
    // As a client dials the @index-th address of listen.
    std::string port_url(uint32_t index = 0) const
    {
        char text[512];

        REQUIRE(rpm_server_url(server_, index + 1, text, sizeof(text)) == 0);
        return text;
    }
    std::string pool() const
    {
        return dir_ / "pool";
    }
    rpm_server *get() const
    {
        return server_;
    }

    void start()
    {
        rpm_server_opts opts = rpm_server_opts_init();
        std::string listen = "shm:" + dir_ / "socket" + " " + opts_.listen;
        std::string path = pool();

        opts.pool = opts_.anonymous ? nullptr : path.c_str();
        opts.listen = listen.c_str();
        opts.pool_bytes = opts_.bytes;
        opts.dram_bytes = opts_.dram_bytes;
        opts.flags = opts_.flags | RPM_SERVER_CREATE;
        opts.domain = opts_.place == Dir::kDisk && !opts_.anonymous ? 0 : opts_.domain;
        opts.clients_max = opts_.clients_max;
        opts.fence_us = opts_.fence_us;
        opts.secret = opts_.secret.empty() ? nullptr : opts_.secret.c_str();
        opts.tls_cert = opts_.tls_cert.empty() ? nullptr : opts_.tls_cert.c_str();
        opts.tls_key = opts_.tls_key.empty() ? nullptr : opts_.tls_key.c_str();
        INFO("server: " << rpm_last_error());
        REQUIRE(rpm_server_open(&opts, &server_) == 0);
        engine_ = std::thread([this] { engine_err_ = rpm_server_engine(server_); });
        control_ = std::thread([this] { control_err_ = rpm_server_run(server_); });
    }

    // End cleanly. Clients see it at once.
    void stop()
    {
        if (server_ == nullptr)
            return;
        rpm_server_stop(server_);
        control_.join();
        engine_.join();
        CHECK(control_err_ == 0);
        CHECK(engine_err_ == 0);
        rpm_server_close(&server_);
    }

    struct rpm_server_stats stats() const
    {
        struct rpm_server_stats found = {};

        found.size = sizeof(found);
        CHECK(rpm_server_stats_of(server_, &found) == 0);
        return found;
    }

  private:
    static int rpm_server_stats_of(rpm_server *server, struct rpm_server_stats *stats)
    {
        return ::rpm_server_stats(server, stats);
    }

    ServerOpts opts_;
    Dir dir_;
    rpm_server *server_ = nullptr;
    std::thread control_;
    std::thread engine_;
    int control_err_ = 0;
    int engine_err_ = 0;
};

} // namespace support

#endif
