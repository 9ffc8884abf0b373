/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * servers.cc: each server is a child process with two threads. The kernel ends it when its parent
 * ends, also if the parent is killed.
 */
#include "bench/servers.h"

#include "tool.h"

#include <chrono>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <thread>

namespace dtx::bench
{

namespace
{

constexpr const char *kMemory = "/dev/shm";
constexpr size_t kUrlBytes = 512;
constexpr uint64_t kSlack = 8 << 20; /* bytes of a pool for its directory and for rounding */

rpm_server *lent; /* in a child: the server that its signal handler stops */

struct Lending {
    std::string pool;
    std::string listen;
    uint64_t pool_bytes;
    uint64_t dram_bytes;
    uint32_t clients;
    uint32_t domain;
};

/* In the child: serve until a signal stops it. Reports its address when clients may connect. */
[[noreturn]] void serve(const Lending &lending, int ready)
{
    rpm_server_opts opts = rpm_server_opts_init();
    char url[kUrlBytes];
    int err = 0;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    /* timeout(1) and a terminal send signals to the whole process group, but the server must not
     * end before its parent: give it a group of its own. */
    (void)setpgid(0, 0);
    opts.pool = lending.pool.c_str();
    opts.listen = lending.listen.c_str();
    opts.pool_bytes = lending.pool_bytes;
    opts.dram_bytes = lending.dram_bytes;
    opts.clients_max = lending.clients;
    opts.flags = RPM_SERVER_CREATE;
    opts.domain = lending.domain;
    err = rpm_server_open(&opts, &lent);
    if (err != 0) {
        fprintf(stderr, "dtx-bench: server: %s: %s\n", rpm_error_name(err), rpm_last_error());
        _exit(cli::kFailed);
    }
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, [](int) { rpm_server_stop(lent); });
    std::thread engine([] { (void)!rpm_server_engine(lent); });
    err = rpm_server_url(lent, 0, url, sizeof(url));
    if (err != 0 || write(ready, url, strlen(url) + 1) < 1)
        rpm_server_stop(lent);
    err = rpm_server_run(lent);
    engine.join();
    rpm_server_close(&lent);
    _exit(err == 0 ? cli::kDone : cli::kFailed);
}

/* Wait for the child's report, which ends with a zero byte; empty: the child has ended. */
std::string wait_ready(int fd)
{
    std::string url;
    char byte = 0;
    ssize_t n = 0;

    while ((n = read(fd, &byte, 1)) == 1 || (n < 0 && errno == EINTR)) {
        if (n == 1 && byte == 0)
            return url;
        if (n == 1)
            url += byte;
    }
    return "";
}

/* @url: where it serves. */
pid_t start_one(const Lending &lending, std::string &url)
{
    int ends[2];
    pid_t pid = 0;

    if (pipe2(ends, O_CLOEXEC) != 0)
        throw cli::Failure(std::string("pipe: ") + strerror(errno));
    fflush(nullptr);
    pid = fork();
    if (pid < 0)
        throw cli::Failure(std::string("fork: ") + strerror(errno));
    if (pid == 0) {
        close(ends[0]);
        serve(lending, ends[1]);
    }
    close(ends[1]);
    url = wait_ready(ends[0]);
    close(ends[0]);
    if (url.empty()) {
        waitpid(pid, nullptr, 0);
        throw cli::Failure("a server did not start; it has printed the reason");
    }
    return pid;
}

void check_room(uint64_t need)
{
    struct statvfs found = {};
    uint64_t free = 0;

    if (statvfs(kMemory, &found) == 0)
        free = static_cast<uint64_t>(found.f_bavail) * found.f_frsize;
    if (need > free)
        throw cli::Failure("the pools need " + cli::size_text(static_cast<double>(need)) +
                           ", and " + kMemory + " has " +
                           cli::size_text(static_cast<double>(free)) +
                           " free: use fewer rows, less --room or fewer --replicas");
}

} // namespace

Servers::Servers(const Options &options, const Schema &schema) : keep_(options.keep)
{
    Layout layout(schema);
    uint64_t logs = (uint64_t{ options.threads } + 4) * (options.log_bytes + (1 << 20));
    uint64_t pool = whole_pages(layout.region_bytes() * options.replicas + logs + kSlack);

    check_room(pool * options.servers);
    folder_ = std::string(kMemory) + "/dtx-bench-XXXXXX";
    if (mkdtemp(&folder_[0]) == nullptr)
        throw cli::Failure(folder_ + ": " + strerror(errno));
    try {
        start(options, pool, whole_pages(layout.lock_bytes() * options.replicas + kSlack));
    } catch (...) {
        keep_ = false;
        stop();
        throw;
    }
}

void Servers::start(const Options &options, uint64_t pool_bytes, uint64_t dram_bytes)
{
    for (uint32_t i = 0; i < options.servers; i++) {
        std::string place = folder_ + "/" + std::to_string(i);
        std::string address = options.link == "tcp"    ? std::string("tcp://127.0.0.1:0")
                              : options.link == "unix" ? "unix:" + place
                                                       : "shm:" + place;
        std::string url;
        Lending lending{
            place + ".pool",      address,
            pool_bytes,           dram_bytes,
            options.threads + 64, options.domain == "eadr" ? RPM_DOMAIN_EADR : RPM_DOMAIN_ADR
        };

        pids_.push_back(start_one(lending, url));
        if (options.link == "direct" || options.link == "ring")
            url = address + ",mode=" + options.link;
        urls_.push_back(url);
    }
}

void Servers::stop()
{
    constexpr auto kPatience = std::chrono::seconds(5);
    auto deadline = std::chrono::steady_clock::now() + kPatience;
    std::error_code ignored;

    for (pid_t pid : pids_)
        kill(pid, SIGTERM);
    for (pid_t pid : pids_)
        while (waitpid(pid, nullptr, WNOHANG) == 0) {
            if (std::chrono::steady_clock::now() > deadline)
                kill(pid, SIGKILL);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    if (!keep_)
        std::filesystem::remove_all(folder_, ignored);
}

Servers::~Servers()
{
    stop();
}

} // namespace dtx::bench
