// SPDX-License-Identifier: BSD-3-Clause
// pipeline.h: outstanding appends, each with its number as context.
#ifndef TESTS_KILL_PIPELINE_H
#define TESTS_KILL_PIPELINE_H

#include <cstddef>
#include <cstdint>
#include <librpm.h>

namespace kill_suite
{

inline void *context_of(uint32_t seq)
{
    return reinterpret_cast<void *>(uintptr_t{ seq } + 1);
}

// Calls ack(seq, lsn) for each append that has completed. Returns 0, or the error of one.
template <typename Ack> int reap(rpm_log *log, Ack ack)
{
    rpm_completion found[64];
    const uint32_t room = sizeof(found) / sizeof(found[0]);
    int n;

    while ((n = rpm_log_poll(log, found, room)) > 0)
        for (int i = 0; i < n; i++) {
            if (found[i].status != 0)
                return found[i].status;
            ack(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(found[i].context)) - 1,
                found[i].lsn);
        }
    return n;
}

// Waits until nothing is outstanding.
template <typename Ack> int settle(rpm_log *log, Ack ack)
{
    int err = rpm_log_persist(log);

    return err != 0 ? err : reap(log, ack);
}

} // namespace kill_suite

#endif
