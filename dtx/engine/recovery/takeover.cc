/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * takeover.cc: a thread that recovers for one coordinator, and an eventfd that tells its end.
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
                    std::string("no descriptor is left to take over from a dead session: ") +
                        strerror(errno) + "; raise this process's limit of open files");
    return fd;
}

/* Starts a thread that gets no signals: they are for the program's own threads. */
template <class Body> static std::thread start_without_signals(Body body)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
        std::thread thread(std::move(body));

        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return thread;
    } catch (const std::system_error &error) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw Error(RPM_E_NOMEM,
                    std::string("no thread is left to take over from a dead session: ") +
                        error.what() + "; raise this user's limit of processes");
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
