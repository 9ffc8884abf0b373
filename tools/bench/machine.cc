/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine.cc: the CPUs, memory and child server of a benchmark.
 */
#include "bench/bench.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <thread>

namespace bench
{

std::vector<int> allowed_cpus()
{
    std::vector<int> cpus;
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            cpus.push_back(cpu);
    return cpus;
}

void pin(int cpu)
{
    cpu_set_t set;

    if (cpu < 0)
        return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
}

double median(std::vector<double> values)
{
    size_t middle = values.size() / 2;

    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void end_if_stopped()
{
    if (cli::stopped())
        throw cli::Failure("stopped by a signal");
}

cli::Progress &progress()
{
    static cli::Progress line;

    return line;
}

nlohmann::ordered_json description()
{
    struct utsname host = {};
    char when[32] = "";
    std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    struct tm parts;

    uname(&host);
    if (gmtime_r(&now, &parts) != nullptr)
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return { { "program", "rpm-bench" },
             { "version", rpm_version() },
             { "time", when },
             { "host", host.nodename },
             { "system", std::string(host.sysname) + " " + host.release + " " + host.machine },
             { "cpus", sysconf(_SC_NPROCESSORS_ONLN) } };
}

MemoryDir::MemoryDir(const std::string &parent) : path_(parent + "/rpm-bench-XXXXXX")
{
    if (mkdtemp(&path_[0]) == nullptr)
        throw cli::Failure(parent + ": " + strerror(errno));
}

/* Also removes files that a killed server left. */
MemoryDir::~MemoryDir()
{
    std::error_code ignored;

    std::filesystem::remove_all(path_, ignored);
}

uint64_t MemoryDir::free_bytes() const
{
    struct statvfs found;

    return statvfs(path_.c_str(), &found) == 0
               ? static_cast<uint64_t>(found.f_bavail) * found.f_frsize
               : 0;
}

Mapping::Mapping(const std::string &path, uint64_t bytes, bool create) : bytes_(bytes)
{
    int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600);
    void *found = MAP_FAILED;

    if (fd >= 0 && (!create || ftruncate(fd, static_cast<off_t>(bytes)) == 0))
        found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (found == MAP_FAILED)
        throw cli::Failure(path + ": " + strerror(errno));
    close(fd);
    data_ = static_cast<unsigned char *>(found);
    if (create)
        memset(data_, 1, bytes);
}

Mapping::~Mapping()
{
    munmap(data_, bytes_);
}

std::string program_beside(const std::string &name)
{
    std::array<char, 4096> own = {};
    ssize_t n = readlink("/proc/self/exe", own.data(), own.size() - 1);
    std::string path(own.data(), n > 0 ? static_cast<size_t>(n) : 0);

    return path.substr(0, path.rfind('/') + 1) + name;
}

static constexpr uint64_t kServerEndNs = 2000000000;

static rpm_server *child_server;

/* In the child: serve until SIGTERM. Writes one byte to @ready when clients can connect. */
[[noreturn]] static void serve(const ServerOptions &options, int ready)
{
    rpm_server_opts opts = rpm_server_opts_init();
    int err;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    /* timeout(1) and a terminal signal a whole process group. In a group of its own this process
     * ends after its parent. */
    (void)setpgid(0, 0);
    opts.pool = options.pool.c_str();
    opts.listen = options.listen.c_str();
    opts.pool_bytes = options.pool_bytes;
    opts.flags = RPM_SERVER_CREATE;
    opts.domain = RPM_DOMAIN_ADR;
    opts.ddio = options.ddio;
    opts.dram_bytes = options.dram_bytes;
    opts.agents = options.agents.empty() ? nullptr : options.agents.c_str();
    err = rpm_server_open(&opts, &child_server);
    if (err != 0) {
        fprintf(stderr, "rpm-bench: server: %s: %s\n", rpm_error_name(err), rpm_last_error());
        _exit(cli::kFailed);
    }
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, [](int) { rpm_server_stop(child_server); });
    std::thread engine([&options] {
        pin(options.engine_cpu);
        (void)!rpm_server_engine(child_server);
    });
    if (write(ready, "r", 1) != 1)
        rpm_server_stop(child_server);
    err = rpm_server_run(child_server);
    engine.join();
    rpm_server_close(&child_server);
    _exit(err == 0 ? cli::kDone : cli::kFailed);
}

ChildServer::ChildServer(const ServerOptions &options)
{
    int ends[2];
    ssize_t n;
    char byte;

    if (pipe2(ends, O_CLOEXEC) != 0)
        throw cli::Failure(std::string("pipe: ") + strerror(errno));
    fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0)
        throw cli::Failure(std::string("fork: ") + strerror(errno));
    if (pid_ == 0) {
        close(ends[0]);
        serve(options, ends[1]);
    }
    close(ends[1]);
    do {
        n = read(ends[0], &byte, 1);
    } while (n < 0 && errno == EINTR && !cli::stopped());
    close(ends[0]);
    if (n == 1)
        return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    end_if_stopped();
    throw cli::Failure("the server did not start: see its error above");
}

/* SIGTERM ends the server; SIGKILL follows if it is stopped and does not react. */
ChildServer::~ChildServer()
{
    uint64_t deadline = now_ns() + kServerEndNs;

    kill(pid_, SIGTERM);
    while (waitpid(pid_, nullptr, WNOHANG) == 0) {
        if (now_ns() > deadline)
            kill(pid_, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

} // namespace bench
