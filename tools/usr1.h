/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usr1.h: a program that runs until it is stopped prints its counters on SIGUSR1. The signal is
 * blocked in every thread and received by sigwait in one of its own, so that any function may be
 * called there.
 *
 * Tests: tests/tools/server_test, tests/tools/agent_test
 */
#ifndef RPM_TOOLS_USR1_H
#define RPM_TOOLS_USR1_H

#include "tool.h"

#include <atomic>
#include <functional>
#include <pthread.h>
#include <signal.h>
#include <system_error>
#include <thread>

namespace cli
{

/* Before the first thread is started, so that all threads inherit it. */
inline void block_usr1()
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

/* Calls a function at each SIGUSR1, until it is destroyed. */
class OnUsr1
{
  public:
    explicit OnUsr1(std::function<void()> print) : print_(std::move(print))
    {
        try {
            thread_ = std::thread([this] { serve(); });
        } catch (const std::system_error &error) {
            throw Failure(std::string("cannot start a thread: ") + error.what());
        }
    }
    OnUsr1(const OnUsr1 &) = delete;
    ~OnUsr1()
    {
        done_ = true;
        pthread_kill(thread_.native_handle(), SIGUSR1);
        thread_.join();
    }

  private:
    void serve()
    {
        sigset_t set;
        int signal = 0;

        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        while (sigwait(&set, &signal) == 0 && !done_)
            print_();
    }

    std::function<void()> print_;
    std::atomic<bool> done_{ false };
    std::thread thread_;
};

} // namespace cli
#endif
