/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer.cc: code that peers share: a process for the server, its memory, an address, a ring of
 * records.
 */
#include "bench/peer/peer.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

namespace bench
{

static constexpr uint64_t kTimeoutNs = 5000000000;

static int ready_fd;

static void report_ready()
{
    if (write(ready_fd, "r", 1) != 1)
        _exit(cli::kFailed);
}

[[noreturn]] static void serve(const Peer &peer, const PeerSetup &setup)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* timeout(1) and a terminal signal a whole process group. In a group of its own this process
     * ends after its parent. */
    (void)setpgid(0, 0);
    signal(SIGTERM, SIG_DFL);
    try {
        peer.serve(setup, report_ready);
    } catch (const std::exception &failure) {
        fprintf(stderr, "rpm-bench: server of %s: %s\n", peer.name, failure.what());
    }
    _exit(cli::kFailed);
}

PeerServer::PeerServer(const Peer &peer, const PeerSetup &setup) : setup_(setup)
{
    int ready[2];
    int control[2];
    char byte;
    ssize_t n;

    if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(control, O_CLOEXEC) != 0)
        throw cli::Failure(std::string("pipe: ") + strerror(errno));
    fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0)
        throw cli::Failure(std::string("fork: ") + strerror(errno));
    if (pid_ == 0) {
        close(ready[0]);
        close(control[1]);
        ready_fd = ready[1];
        setup_.control = control[0];
        serve(peer, setup_);
    }
    close(ready[1]);
    close(control[0]);
    setup_.control = control[1];
    do {
        n = read(ready[0], &byte, 1);
    } while (n < 0 && errno == EINTR && !cli::stopped());
    close(ready[0]);
    if (n == 1)
        return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    end_if_stopped();
    throw cli::Failure(std::string("the server of ") + peer.name +
                       " did not start: see its error above");
}

/* The server has no state that outlives it, so SIGKILL is safe. */
PeerServer::~PeerServer()
{
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(setup_.control);
}

static uint64_t device_bytes(const struct stat &st)
{
    std::ifstream file("/sys/dev/char/" + std::to_string(major(st.st_rdev)) + ":" +
                       std::to_string(minor(st.st_rdev)) + "/size");
    uint64_t bytes = 0;

    file >> bytes;
    return bytes;
}

unsigned char *map_memory(const PeerSetup &setup)
{
    int fd = open(setup.memory.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int flags = MAP_SHARED | MAP_POPULATE;
    void *found = MAP_FAILED;
    uint64_t offset = 0;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        throw cli::Failure(setup.memory + ": " + strerror(errno));
    if (S_ISCHR(st.st_mode)) {
        if (device_bytes(st) < setup.bytes)
            throw cli::Failure(setup.memory +
                               ": not a device of persistent memory, or smaller than " +
                               cli::size_text(static_cast<double>(setup.bytes)));
        offset = device_bytes(st) - setup.bytes;
        flags = MAP_SHARED_VALIDATE | MAP_SYNC;
    } else if (ftruncate(fd, static_cast<off_t>(setup.bytes)) != 0) {
        throw cli::Failure(setup.memory + ": " + strerror(errno));
    }
    found =
        mmap(nullptr, setup.bytes, PROT_READ | PROT_WRITE, flags, fd, static_cast<off_t>(offset));
    if (found == MAP_FAILED)
        throw cli::Failure(setup.memory + ": " + strerror(errno));
    close(fd);
    memset(found, 1, setup.bytes);
    return static_cast<unsigned char *>(found);
}

/* Names of the network interfaces that RDMA devices are on. */
static std::vector<std::string> rdma_interfaces()
{
    namespace fs = std::filesystem;
    std::vector<std::string> names;
    std::error_code ignored;

    for (const auto &device : fs::directory_iterator("/sys/class/infiniband", ignored))
        for (const auto &port : fs::directory_iterator(device.path() / "ports", ignored)) {
            std::ifstream file(port.path() / "gid_attrs/ndevs/0");
            std::string name;

            if (file >> name)
                names.push_back(name);
        }
    return names;
}

std::string rdma_address()
{
    std::vector<std::string> names = rdma_interfaces();
    struct ifaddrs *all = nullptr;
    std::string found;

    if (getifaddrs(&all) != 0)
        throw cli::Failure(std::string("getifaddrs: ") + strerror(errno));
    for (struct ifaddrs *at = all; at != nullptr && found.empty(); at = at->ifa_next) {
        char text[INET_ADDRSTRLEN];

        if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET ||
            (at->ifa_flags & IFF_UP) == 0)
            continue;
        for (const std::string &name : names)
            if (name == at->ifa_name)
                found = inet_ntop(AF_INET,
                                  &reinterpret_cast<struct sockaddr_in *>(at->ifa_addr)->sin_addr,
                                  text, sizeof(text));
    }
    freeifaddrs(all);
    if (found.empty())
        throw cli::Failure(names.empty() ? "there is no RDMA device here"
                                         : "no RDMA device here has an IPv4 address: --address");
    return found;
}

PeerClient::PeerClient(const PeerSetup &setup, Shape shape, FlushMode mode)
    : shape_(shape), mode_(mode), bytes_(setup.bytes)
{
}

/* The offset of @records consecutive records. */
uint64_t PeerClient::next(uint64_t records)
{
    uint64_t offset = position_ + records * stride() <= bytes_ ? position_ : 0;

    position_ = offset + records * stride();
    return offset;
}

/* A dead server does not always cause a completion, so every 4096 calls check the time. */
uint64_t PeerClient::reap_in_time()
{
    uint64_t n = reap();

    if (n > 0) {
        idle_ = 0;
        return n;
    }
    if (idle_++ % 4096 == 0) {
        end_if_stopped();
        if (idle_ == 1)
            idle_since_ = now_ns();
        else if (now_ns() - idle_since_ > kTimeoutNs)
            throw cli::Failure(
                "no completion within 5 s: the server of the peer is stuck or has ended");
    }
    return 0;
}

void PeerClient::append(uint64_t n)
{
    uint64_t posted = 0;
    uint64_t done = 0;

    if (mode_ == FlushMode::kGroup) {
        for (; done < n; done += shape_.depth) {
            post_group(next(shape_.depth));
            while (reap_in_time() == 0)
                ;
        }
        return;
    }
    while (done < n) {
        while (posted < n && posted - done < shape_.depth && post(next(1)))
            posted++;
        done += reap_in_time();
    }
}

} // namespace bench
