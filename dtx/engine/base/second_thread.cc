/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * second_thread.cc: a thread, and an eventfd that becomes readable when it has ended.
 *
 * Tests: tests/unit/dtx/engine/base/second_thread_test.cpp
 */
#include "engine/base/second_thread.h"

#include "engine/base/assert.h"
#include <dtx/error.h>

#include <librpm.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace dtx
{

static int new_eventfd()
{
    int fd = eventfd(0, EFD_CLOEXEC);

    if (fd < 0)
        throw Error(RPM_E_NOMEM, std::string("cannot connect to servers on a second thread: no "
                                             "free descriptor (") +
                                     strerror(errno) +
                                     "); allow this process more of them (ulimit -n)");
    return fd;
}

/* While it exists, this thread and those that it starts get no signals but those of their own
 * faults. */
class NoSignals
{
  public:
    NoSignals()
    {
        sigset_t all;

        sigfillset(&all);
        for (int fault : { SIGSEGV, SIGBUS, SIGILL, SIGFPE })
            sigdelset(&all, fault);
        pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    ~NoSignals()
    {
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    NoSignals(const NoSignals &) = delete;
    NoSignals &operator=(const NoSignals &) = delete;

  private:
    sigset_t before_;
};

/* Signals are for the program's own threads. */
template <class Body> static std::thread start_without_signals(Body body)
{
    NoSignals none;

    try {
        return std::thread(std::move(body));
    } catch (const std::system_error &error) {
        throw Error(RPM_E_NOMEM, std::string("cannot connect to servers on a second thread: it "
                                             "could not be started (") +
                                     error.what() +
                                     "); allow this user more threads (ulimit -u, TasksMax)");
    }
}

SecondThread::SecondThread(std::function<void()> body)
    : body_(std::move(body)), ended_(new_eventfd())
{
    try {
        thread_ = start_without_signals([this] {
            try {
                body_();
            } catch (...) {
                thrown_ = std::current_exception();
            }
            (void)eventfd_write(ended_, 1);
        });
    } catch (...) {
        close(ended_);
        throw;
    }
}

SecondThread::~SecondThread()
{
    if (thread_.joinable())
        thread_.join();
    close(ended_);
}

void SecondThread::finish()
{
    DTX_ASSERT(thread_.joinable());
    thread_.join();
    if (thrown_)
        std::rethrow_exception(std::exchange(thrown_, nullptr));
}

} // namespace dtx
