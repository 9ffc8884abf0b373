// SPDX-License-Identifier: BSD-3-Clause
// process.h: a child process, started with its standard output in a pipe; dies with the suite.
#ifndef TESTS_KILL_PROCESS_H
#define TESTS_KILL_PROCESS_H

#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace kill_suite
{

inline uint64_t now_ns()
{
    timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

class Process
{
  public:
    Process() = default;
    Process(const Process &) = delete;
    Process &operator=(const Process &) = delete;
    ~Process()
    {
        end();
    }

    void start(const std::vector<std::string> &words)
    {
        int ends[2];

        end();
        if (pipe2(ends, O_CLOEXEC) != 0 || (pid_ = fork()) < 0)
            throw std::runtime_error("cannot start a process");
        if (pid_ == 0)
            exec(words, ends[1]);
        close(ends[1]);
        out_ = ends[0];
        fcntl(out_, F_SETFL, O_NONBLOCK);
    }
    bool runs() const
    {
        return pid_ > 0;
    }
    void signal(int which) const
    {
        if (pid_ > 0)
            ::kill(pid_, which);
    }
    // Exit code, or 128 + signal; -1 if it still runs after @ns.
    int wait(uint64_t ns)
    {
        uint64_t until = now_ns() + ns;
        int status = 0;

        while (pid_ > 0 && waitpid(pid_, &status, WNOHANG) != pid_) {
            if (now_ns() >= until)
                return -1;
            timespec nap = { 0, 200000 };
            nanosleep(&nap, nullptr);
        }
        if (pid_ > 0)
            code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        pid_ = -1;
        return code_;
    }
    // Kills the process and reaps it; its output can still be read.
    int kill()
    {
        signal(SIGKILL);
        return wait(60000000000u);
    }
    void end()
    {
        if (pid_ > 0)
            kill();
        if (out_ >= 0)
            close(out_);
        out_ = -1;
    }
    int output() const
    {
        return out_;
    }

  private:
    [[noreturn]] static void exec(const std::vector<std::string> &words, int out)
    {
        std::vector<char *> argv;

        for (const auto &word : words)
            argv.push_back(const_cast<char *>(word.c_str()));
        argv.push_back(nullptr);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out, STDOUT_FILENO);
        execv(argv[0], argv.data());
        _exit(127);
    }

    pid_t pid_ = -1;
    int out_ = -1;
    int code_ = 0;
};

} // namespace kill_suite

#endif
