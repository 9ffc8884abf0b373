/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backoff.h: how long a session waits after a conflict (randomised, doubling up to a limit), and
 * how many of its transactions may be under way: both follow from the share of its latest attempts
 * that failed. Also the deadline of retries while servers do not answer.
 *
 * Source: SMART (ASPLOS 2024), conflict avoidance. The first wait t0 is 1.7 us, the limit between
 * t0 and 1024 t0. Every 20 ms the session adapts. If more than half of the attempts failed, it
 * halves the number of transactions under way; if that is 1 already, it doubles the limit. If fewer
 * than a tenth failed, it doubles that number; if that is at its maximum already, it halves the
 * limit.
 *
 * A conflict with a lock that one attempt has held for about 10 ms (Lease::is_long()) does not
 * count, and the session waits 1024 t0 before the next attempt: the owner is probably dead or
 * stopped. Fewer transactions under way would not free the lock, but would keep out those that need
 * other rows.
 *
 * Tests: tests/unit/dtx/engine/base/backoff_test.cpp
 */
#ifndef DTX_ENGINE_BACKOFF_H
#define DTX_ENGINE_BACKOFF_H

#include "engine/base/assert.h"
#include <dtx/scheduler.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <utility>

namespace dtx
{

class Backoff
{
  public:
    static constexpr uint64_t kFirstNs = 1700;
    static constexpr uint64_t kLastNs = kFirstNs << 10;
    static constexpr uint64_t kEpochNs = 20000000;
    static constexpr uint32_t kDepthMost = 64;

    /* Without @waits all waits are 0; without @narrows, kDepthMost transactions may always be under
     * way. */
    explicit Backoff(bool waits = true, bool narrows = true) : waits_(waits), narrows_(narrows) {}

    /* A transaction ended without a conflict. @now: may be 0 unless is_narrow(). */
    void done(uint64_t now)
    {
        done_++;
        if (is_narrow() && now - epoch_ns_ >= kEpochNs)
            adapt(now);
    }

    /* Attempt @nth of a transaction, counted from 1, ended in a conflict; @is_stuck:
     * Lease::is_long() of the lock. Returns how long to wait before the next attempt. */
    uint64_t wait_ns(uint32_t nth, bool is_stuck, uint64_t now, SplitMix64 &random)
    {
        DTX_ASSERT(nth >= 1);
        retries_ += is_stuck ? 0 : 1;
        if (now - epoch_ns_ >= kEpochNs)
            adapt(now);
        if (!waits_)
            return 0;

        uint64_t base =
            is_stuck ? kLastNs : std::min(kFirstNs << std::min(nth - 1, 10u), limit_ns_);

        return base + random.below(kFirstNs);
    }
    uint64_t limit_ns() const
    {
        return limit_ns_;
    }
    /* How many transactions may be under way. */
    uint32_t depth() const
    {
        return depth_;
    }
    bool is_narrow() const
    {
        return depth_ < kDepthMost;
    }

  private:
    void adapt(uint64_t now)
    {
        uint64_t all = retries_ + done_;

        if (retries_ * 2 > all) {
            if (narrows_ && depth_ > 1)
                depth_ /= 2;
            else
                limit_ns_ = std::min(limit_ns_ * 2, kLastNs);
        } else if (retries_ * 10 < all) {
            if (is_narrow())
                depth_ *= 2;
            else
                limit_ns_ = std::max(limit_ns_ / 2, kFirstNs);
        }
        DTX_ASSERT(depth_ >= 1 && depth_ <= kDepthMost);
        DTX_ASSERT(limit_ns_ >= kFirstNs && limit_ns_ <= kLastNs);
        retries_ = 0;
        done_ = 0;
        epoch_ns_ = now;
    }

    bool waits_;
    bool narrows_;
    uint32_t depth_ = kDepthMost;
    uint64_t limit_ns_ = kFirstNs;
    uint64_t epoch_ns_ = 0;
    uint64_t retries_ = 0;
    uint64_t done_ = 0;
};

/* Retries end at a deadline; the waits between them double up to a limit. */
class RetryDeadline
{
  public:
    static constexpr uint64_t kFirstNs = 2000000;
    static constexpr uint64_t kLastNs = 200000000;
    static constexpr uint64_t kNoticeNs = 1000000000;

    explicit RetryDeadline(uint64_t ns)
        : notice_ns_(now_ns() + kNoticeNs), half_ns_(now_ns() + ns / 2), end_ns_(now_ns() + ns),
          random_(end_ns_)
    {
    }

    bool is_over() const
    {
        return now_ns() >= end_ns_;
    }
    bool is_half_over() const
    {
        return now_ns() >= half_ns_;
    }
    /* True once, when the session has waited for so long that the operator should get a notice. */
    bool is_notice_due()
    {
        return !std::exchange(noticed_, noticed_ || now_ns() >= notice_ns_) && noticed_;
    }
    uint64_t left_ns() const
    {
        return end_ns_ - std::min(now_ns(), end_ns_);
    }
    /* The time of the next try: after a randomised pause, at most at the deadline. */
    uint64_t next_ns()
    {
        uint64_t ns = pause_ns_ / 2 + random_.below(pause_ns_);

        pause_ns_ = std::min(2 * pause_ns_, kLastNs);
        return std::min(now_ns() + ns, end_ns_);
    }
    /* Sleeps until then. */
    void wait()
    {
        uint64_t until = next_ns();
        timespec time{ static_cast<time_t>(until / 1000000000),
                       static_cast<long>(until % 1000000000) };

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR)
            ;
    }

  private:
    uint64_t notice_ns_;
    bool noticed_ = false;
    uint64_t half_ns_;
    uint64_t end_ns_;
    uint64_t pause_ns_ = kFirstNs;
    SplitMix64 random_;
};

} // namespace dtx
#endif
