/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * takeover.cc: a thread that recovers for one coordinator, and an eventfd that becomes readable
 * when it has ended.
 *
 * Tests: tests/unit/dtx/engine/recovery/takeover_test.cpp
 */
#include "engine/recovery/takeover.h"

#include "engine/base/assert.h"
#include <dtx/error.h>

#include <cerrno>
#include <csignal>
#include <cstring>
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
        throw Error(RPM_E_NOMEM,
                    std::string("cannot take over from a dead session: no free descriptor (") +
                        strerror(errno) + "); allow this process more of them (ulimit -n)");
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
        throw Error(
            RPM_E_NOMEM,
            std::string("cannot take over from a dead session: no thread could be started (") +
                error.what() + "); allow this user more of them (ulimit -u, TasksMax)");
    }
}

Takeover::Takeover(const Cluster &cluster, uint32_t coordinator, Claim claim)
    : ended_(new_eventfd())
{
    try {
        thread_ = start_without_signals([this, &cluster, coordinator, claim] {
            try {
                (void)recover_one(cluster, coordinator, claim);
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

Takeover::~Takeover()
{
    if (thread_.joinable())
        thread_.join();
    close(ended_);
}

void Takeover::finish()
{
    DTX_ASSERT(thread_.joinable());
    thread_.join();
    if (thrown_)
        std::rethrow_exception(std::exchange(thrown_, nullptr));
}

} // namespace dtx
