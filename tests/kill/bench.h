// SPDX-License-Identifier: BSD-3-Clause
// bench.h: the setups of the kill suite (where a log is and by which address), and a server that
// can be killed.
#ifndef TESTS_KILL_BENCH_H
#define TESTS_KILL_BENCH_H

#include "kill/model.h"
#include "kill/process.h"
#include "support/devdax.h"

#include <arpa/inet.h>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace kill_suite
{

const uint64_t kMs = 1000000;

struct Options {
    std::string server;
    std::string worker;
    uint64_t seed = 1;
    uint64_t rounds = 500;
    uint64_t first = 0;
    uint64_t seconds = 150; // no new round after that, but at least the rounds asked for
    std::string only;       // only setups with this in their name
    bool here = false;      // the setup has no network namespace of its own
    bool verbose = false;
};

// Where a log is and how clients reach it.
struct Setup {
    const char *name;
    const char *dir;
    const char *mode;
    const char *domain; // declared; "": none
    uint32_t level;
    bool slow; // each acknowledgement waits for a disk
};

inline const Setup kSetups[] = {
    { "tmpfs direct", "/dev/shm", "direct", "adr", RPM_DURABLE, false },
    { "tmpfs ring", "/dev/shm", "ring", "adr", RPM_DURABLE, false },
    { "file ring", "/var/tmp", "ring", "", RPM_DURABLE, true },
    { "file direct", "/var/tmp", "direct", "", RPM_PROCESS, false },
    { "tmpfs tcp", "/dev/shm", "tcp", "adr", RPM_DURABLE, false },
    { "tmpfs unix", "/dev/shm", "unix", "adr", RPM_DURABLE, false },
    { "file tcp", "/var/tmp", "tcp", "", RPM_DURABLE, true },
    // In the laboratory only. DDIO is declared off on DRAM, so that READ is a legal method there.
    { "verbs dram", "/dev/shm", "verbs", "adr", RPM_DURABLE, false },
    { "verbs devdax", "/tmp", "devdax", "", RPM_DURABLE, false },
};

inline bool is_verbs(const std::string &mode)
{
    return mode == "verbs" || mode == "devdax";
}

// The setups of the laboratory: with LIBRPM_CONFORM=verbs only those over verbs:.
inline bool is_here(const Setup &setup)
{
    return is_verbs(setup.mode) == (std::getenv("LIBRPM_CONFORM") != nullptr);
}

// A free port, below those that the kernel gives to programs that ask for any (32768 and up):
// another program could take such a port while a killed server is started again.
inline std::string free_port()
{
    static uint16_t next = static_cast<uint16_t>(20000 + getpid() % 750 * 16);

    for (int i = 0; i < 1000; i++) {
        sockaddr_in address = {};
        int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        uint16_t port = next;

        next = port < 32000 ? static_cast<uint16_t>(port + 1) : 20000;
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        int err = bind(sock, reinterpret_cast<sockaddr *>(&address), sizeof(address));
        close(sock);
        if (err == 0)
            return std::to_string(port);
    }
    throw std::runtime_error("no port to listen at");
}

// A pool with its server, kept over all rounds of a setup.
class Bench
{
  public:
    Bench(const Setup &setup, const Options &options) : setup(setup), options_(options)
    {
        std::string form = std::string(setup.dir) + "/rpm_kill_XXXXXX";

        if (mkdtemp(&form[0]) == nullptr)
            throw std::runtime_error("cannot make a directory in " + std::string(setup.dir));
        dir_ = form;
        port_ = free_port();
        pool_ = dir_ + "/pool";
        if (std::string(setup.mode) == "devdax") {
            pool_ = std::getenv("LIBRPM_LAB_DEVDAX");
            support::wipe_device(pool_);
        }
    }
    ~Bench()
    {
        server.end();
        std::error_code ignored;
        std::filesystem::remove_all(dir_, ignored);
    }
    void serve()
    {
        std::vector<std::string> words = { options_.server, "--pool",     pool_,
                                           "--size",        "4M",         "--listen",
                                           listen(),        "--fence-us", "200000",
                                           "--quiet" };

        if (server.runs())
            return;
        if (setup.domain[0] != '\0') {
            words.push_back("--domain");
            words.push_back(setup.domain);
        }
        if (std::string(setup.mode) == "verbs") {
            words.push_back("--ddio");
            words.push_back("off");
        }
        server.start(words);
    }
    std::string url(const std::string &mode) const
    {
        if (is_verbs(mode))
            return std::string("verbs://") + std::getenv("LIBRPM_LAB_SERVER") + ":" + port_ +
                   "/pool,from=" + std::getenv("LIBRPM_LAB_CLIENT");
        if (mode == "tcp")
            return "tcp://127.0.0.1:" + port_ + "/pool";
        return mode == "unix" ? "unix:" + dir_ + "/u" : "shm:" + dir_ + "/s,mode=" + mode;
    }

    const Setup &setup;
    Process server;
    Model model;

  private:
    // The server always listens at the shm: name too: the recovery reads the log through it.
    std::string listen() const
    {
        std::string mode = setup.mode;
        std::string shm = "shm:" + dir_ + "/s";

        if (is_verbs(mode))
            return shm + " " + url(mode).substr(0, url(mode).find(','));
        return mode == "tcp" || mode == "unix" ? shm + " " + url(mode) : shm;
    }
    const Options &options_;
    std::string dir_;
    std::string port_;
    std::string pool_;
};

} // namespace kill_suite

#endif
