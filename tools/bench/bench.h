/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.h: helpers of rpm-bench run, compare and agent: time, CPUs, memory to write to, child
 * servers.
 */
#ifndef RPM_TOOLS_BENCH_BENCH_H
#define RPM_TOOLS_BENCH_BENCH_H

#include "progress.h"
#include "tool.h"

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace bench
{

inline uint64_t now_ns()
{
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                 std::chrono::nanoseconds(1));
}

/* The CPUs on which this process may run. */
std::vector<int> allowed_cpus();
/* Bind the calling thread to this CPU; -1: do nothing. */
void pin(int cpu);

double median(std::vector<double> values);

/* Fail if the user asked to stop: an incomplete comparison has no result. */
void end_if_stopped();

/* The line of progress on a terminal, which is cleared before other output. */
cli::Progress &progress();

/* A description of the machine and the program, for result files. */
nlohmann::ordered_json description();

/* The path of a program in the folder of this one. */
std::string program_beside(const std::string &name);

/* A directory in memory, which is removed with its files. */
class MemoryDir
{
  public:
    explicit MemoryDir(const std::string &parent);
    ~MemoryDir();
    MemoryDir(const MemoryDir &) = delete;
    MemoryDir &operator=(const MemoryDir &) = delete;

    std::string operator/(const std::string &name) const
    {
        return path_ + "/" + name;
    }
    uint64_t free_bytes() const;

  private:
    std::string path_;
};

/* A file of that directory, mapped and written to once, so that no page fault happens while a burst
 * is timed. */
class Mapping
{
  public:
    Mapping(const std::string &path, uint64_t bytes, bool create);
    ~Mapping();
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;

    unsigned char *data() const
    {
        return data_;
    }
    uint64_t bytes() const
    {
        return bytes_;
    }

  private:
    unsigned char *data_;
    uint64_t bytes_;
};

struct ServerOptions {
    std::string pool;
    std::string listen; /* "shm:..." */
    uint64_t pool_bytes = 0;
    int engine_cpu = -1;
    uint32_t ddio = 0;       /* enum rpm_answer, declared */
    std::string agents = {}; /* declared */
    uint64_t dram_bytes = 0; /* 0: the default */
};

/* A server in its own process, which ends with this object or with this process. */
class ChildServer
{
  public:
    explicit ChildServer(const ServerOptions &options);
    ~ChildServer();
    ChildServer(const ChildServer &) = delete;
    ChildServer &operator=(const ChildServer &) = delete;

  private:
    pid_t pid_;
};

struct RunOptions {
    std::string url;
    std::vector<uint64_t> sizes = { 64, 256, 4096, 65536 };
    std::vector<uint32_t> depths = { 1 };
    std::vector<uint32_t> threads = { 1 };
    uint32_t batch = 1;
    uint32_t method = 0;
    uint32_t level = 0;
    uint32_t mix = 70;  /* percentage of reads in mixed */
    uint32_t locks = 1; /* in the table that all threads share */
    uint32_t pace = 0;  /* enum rpm_pace */
    std::string wait;   /* poll, block; empty: block at depth 1 */
    std::string hints = "all";
    std::string op = "append"; /* append, write, read, mixed, cas, lock */
    std::string json;
    std::string csv;
    double seconds = 1;
    /* Seconds of operations before the measurement; negative: a fifth of it, at most 0.2. */
    double ramp = -1;
    double timeout = 5;
};

struct CompareOptions {
    std::string json;
    std::string dir = "/dev/shm";
    std::string only; /* rows whose name contains this */
    uint32_t rounds = 9;
    uint64_t scan_bytes = 1ull << 30;
    std::string peer;             /* compare librpm with this peer only */
    std::string scheme = "verbs"; /* scheme of the link, for a comparison of librpm with itself */
    std::string address;          /* address at which both servers listen; empty: found */
    uint32_t port = 7204;         /* of the peer's server; librpm's server uses the next */
    std::string memory;           /* device of which both servers lend a part; empty: files in
                                     dir */
    uint32_t method = 0;          /* of librpm, enum rpm_method */
};

int run(const RunOptions &options);
int compare(const CompareOptions &options);
int compare_peer(const CompareOptions &options);
int compare_self(const CompareOptions &options);
int compare_agent(const CompareOptions &options);

} // namespace bench
#endif
