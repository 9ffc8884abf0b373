// SPDX-License-Identifier: BSD-3-Clause
// server.h: a server that runs in the test's process, on a pool and at addresses of its own, as
// long as the object exists. It can stop and start again on the same pool.
//
// It throws if the server cannot start, which Catch2 and the fuzz targets count as a failure.
#ifndef TESTS_SUPPORT_SERVER_H
#define TESTS_SUPPORT_SERVER_H

#include "dir.h"

#include <cstdio>
#include <librpm.h>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace support
{

struct ServerOpts {
    enum Threads {
        kAll,     // the server serves
        kControl, // no engine: it accepts connections and carries out no request
        kNone,    // the test calls the server's functions itself
    };

    Dir::Place place = Dir::kMemory; // of the server's directory, which has its socket and its pool
    bool anonymous = false;          // a pool without a file
    std::string pool;                // another file or device; "": "pool" in the directory
    uint64_t bytes = 8 << 20;        // of the pool; 0: as many as the device has
    uint64_t dram_bytes = 0;         // 0: the server's default
    uint32_t domain = RPM_DOMAIN_ADR; // declared, except for a file on the disk; 0: probed
    uint32_t ddio = 0;
    uint32_t flags = 0; // besides RPM_SERVER_CREATE; RPM_SERVER_NO_SPIN for many servers at once
    uint32_t clients_max = 0;
    uint64_t fence_us = 0;
    std::string secret;
    std::string agents; // declared ones, separated by blanks
    bool shm = true;    // listens at shm:, at "socket" in the directory
    std::string listen; // other addresses, such as "tcp://127.0.0.1:0/pool"
    std::string tls_cert;
    std::string tls_key;
    Threads threads = kAll;
};

// Opens a server with @opts at the paths @shm and @pool. Returns what rpm_server_open() returns.
inline int open_server(const ServerOpts &opts, const std::string &shm, const std::string &pool,
                       rpm_server **server)
{
    rpm_server_opts wanted = rpm_server_opts_init();
    std::string listen = (opts.shm ? "shm:" + shm + " " : "") + opts.listen;

    wanted.pool = opts.anonymous ? nullptr : pool.c_str();
    wanted.listen = listen.c_str();
    wanted.pool_bytes = opts.bytes;
    wanted.dram_bytes = opts.dram_bytes;
    wanted.flags = opts.flags;
    wanted.domain = opts.domain;
    wanted.ddio = opts.ddio;
    wanted.clients_max = opts.clients_max;
    wanted.fence_us = opts.fence_us;
    wanted.secret = opts.secret.empty() ? nullptr : opts.secret.c_str();
    wanted.agents = opts.agents.empty() ? nullptr : opts.agents.c_str();
    wanted.tls_cert = opts.tls_cert.empty() ? nullptr : opts.tls_cert.c_str();
    wanted.tls_key = opts.tls_key.empty() ? nullptr : opts.tls_key.c_str();
    return rpm_server_open(&wanted, server);
}

// Opens a server and closes it at once; the URL of its first address goes to @url. Returns what
// rpm_server_open() returns.
inline int try_server(const rpm_server_opts &opts, std::string *url = nullptr)
{
    rpm_server *server = nullptr;
    char text[512];
    int err = rpm_server_open(&opts, &server);

    if (err == 0 && url != nullptr && (err = rpm_server_url(server, 0, text, sizeof(text))) == 0)
        *url = text;
    rpm_server_close(&server);
    return err;
}

class Server
{
  public:
    explicit Server(const ServerOpts &opts = {}) : opts_(opts), dir_(opts.place)
    {
        if (opts_.place == Dir::kDisk && !opts_.anonymous)
            opts_.domain = 0; // a disk has another domain than the one declared for memory
        opts_.flags |= RPM_SERVER_CREATE;
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
        std::string text = "shm:" + socket();

        return mode.empty() ? text : text + ",mode=" + mode;
    }
    // The URL by which clients reach the @index-th address of ServerOpts::listen.
    std::string listener_url(uint32_t index = 0) const
    {
        char text[512];

        if (rpm_server_url(server_, index + (opts_.shm ? 1 : 0), text, sizeof(text)) != 0)
            throw_error("no address " + std::to_string(index));
        return text;
    }
    bool is_shm() const
    {
        return opts_.shm;
    }
    std::string socket() const
    {
        return dir_ / "socket";
    }
    std::string pool() const
    {
        return opts_.pool.empty() ? dir_ / "pool" : opts_.pool;
    }
    rpm_server *get() const
    {
        return server_;
    }

    // Starts the server, at the same addresses if it ran before.
    void start()
    {
        if (open_server(opts_, socket(), pool(), &server_) != 0)
            throw_error("the test's server does not open");
        opts_.flags &= ~RPM_SERVER_CREATE; // it starts again only on an existing pool
        keep_ports();
        if (opts_.threads != ServerOpts::kNone)
            control_ = std::thread([this] { control_err_ = rpm_server_run(server_); });
        if (opts_.threads == ServerOpts::kAll)
            engine_ = std::thread([this] { engine_err_ = rpm_server_engine(server_); });
    }

    // Stops the server in an orderly way: its clients notice at once.
    void stop()
    {
        if (server_ == nullptr)
            return;
        rpm_server_stop(server_);
        if (control_.joinable())
            control_.join();
        if (engine_.joinable())
            engine_.join();
        rpm_server_close(&server_);
        if (control_err_ != 0 || engine_err_ != 0) {
            fprintf(stderr, "the test's server ended with %s (control), %s (engine)\n",
                    rpm_error_name(control_err_), rpm_error_name(engine_err_));
            abort(); // destructors call this, so it must not throw
        }
    }

    // The pool of a stopped server is lost; the next start makes an empty one.
    void lose_pool()
    {
        if (unlink(pool().c_str()) != 0)
            throw_error("the pool is not there to be removed");
        opts_.flags |= RPM_SERVER_CREATE;
    }

    struct rpm_server_stats stats() const
    {
        struct rpm_server_stats found = rpm_server_stats_init();

        if (::rpm_server_stats(server_, &found) != 0)
            throw_error("no counters");
        return found;
    }

  private:
    [[noreturn]] static void throw_error(const std::string &what)
    {
        throw std::runtime_error(what + ": " + rpm_last_error());
    }
    // Writes the port that the system chose for "HOST:0/NAME" into the address, for the next start.
    void keep_ports()
    {
        std::istringstream list(opts_.listen);
        std::string kept;
        std::string address;

        for (uint32_t i = 0; list >> address; i++) {
            size_t zero = address.find(":0/");

            if (zero != std::string::npos) {
                std::string url = listener_url(i);
                size_t end = url.find('/', url.find("://") + 3);
                size_t colon = url.rfind(':', end);

                address.replace(zero, 2, url.substr(colon, end - colon));
            }
            kept += address + " ";
        }
        opts_.listen = kept;
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
