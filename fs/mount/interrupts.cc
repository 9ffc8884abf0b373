/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interrupts.cc: poll whether a process is being killed. The kernel sends one interrupt for a
 * request, at the first signal, so the daemon hears of no SIGKILL that follows.
 *
 * Tests: tests/fs/interrupt
 */
#include "mount/interrupts.h"

#include <dtx/scheduler.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace rfs
{

static constexpr uint64_t kGraceNs = 50000000; /* for a call that servers answer: it ends first */
static constexpr uint64_t kLookNs = 10000000;

/* Is SIGKILL pending? The kernel makes it of each signal that ends a process. */
static bool is_being_killed(pid_t thread)
{
    char path[64];
    char line[256];
    uint64_t pending = ~uint64_t{ 0 }; /* a process that is not visible here counts as killed */

    snprintf(path, sizeof(path), "/proc/%d/status", static_cast<int>(thread));

    FILE *status = fopen(path, "re");

    if (status == nullptr)
        return true;
    while (fgets(line, sizeof(line), status) != nullptr)
        if (strncmp(line, "SigPnd:", 7) == 0)
            pending = strtoull(line + 7, nullptr, 16);
    (void)fclose(status);
    return (pending >> (SIGKILL - 1) & 1) != 0;
}

Interrupts::Watch::Watch(Interrupts &interrupts, Request &request)
    : interrupts_(interrupts), request_(request)
{
    fuse_req_interrupt_func(request.handle(), came, this);
}

/* Called by libfuse, which holds a lock of the request: it cannot be answered here. */
void Interrupts::Watch::came(fuse_req_t, void *watch)
{
    auto self = static_cast<Watch *>(watch);

    self->interrupts_.waiting_.try_emplace(&self->request_, Wait{ dtx::now_ns() + kGraceNs, true });
    self->interrupts_.begin();
}

void Interrupts::answer_at(Request &request, uint64_t at_ns)
{
    waiting_.insert_or_assign(&request, Wait{ at_ns, false });
    begin();
}

void Interrupts::begin()
{
    if (!std::exchange(works_, true))
        session_.start(work());
}

dtx::Task<> Interrupts::work()
{
    while (!waiting_.empty()) {
        uint64_t now = dtx::now_ns();

        std::erase_if(waiting_, [now](const auto &each) {
            auto [request, wait] = each;

            if (request->is_answered())
                return true;
            if (now < wait.until_ns || (wait.if_killed && !is_being_killed(request->thread())))
                return false;
            request->give_up(wait.if_killed ? EINTR : 0);
            return true;
        });
        co_await session_.sleep_until(now + kLookNs);
    }
    works_ = false;
}

} // namespace rfs
