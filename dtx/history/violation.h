/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * violation.h: violations, counted by kind; the first ones of each kind with a text.
 */
#ifndef DTX_HISTORY_VIOLATION_H
#define DTX_HISTORY_VIOLATION_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dtx::history
{

enum class Kind {
    kLostUpdate,   /* two transactions made one version */
    kAbortedRead,  /* a read of a version by an aborted transaction: G1a */
    kWrongWriter,  /* the named writer made another version, or none */
    kUnwritten,    /* no transaction made the version that was read */
    kGap,          /* no transaction made the versions between two others */
    kDropped,      /* the final state lacks what a committed transaction wrote */
    kTorn,         /* a transaction of unknown outcome that happened in part */
    kCycle,        /* no serial order explains the history */
    kRealTimeCycle /* a serial order does, but none in real-time order */
};

inline constexpr size_t kKinds = 9;

inline const char *kind_name(Kind kind)
{
    static const char *const names[kKinds] = {
        "lost update",    "aborted read", "wrong writer", "unwritten version", "gap",
        "dropped commit", "torn commit",  "cycle",        "real-time cycle"
    };

    return names[static_cast<size_t>(kind)];
}

struct Violation {
    Kind kind;
    std::string text;
    std::vector<std::string> steps; /* hops of a cycle */
};

class Violations
{
  public:
    explicit Violations(uint64_t limit) : limit_(limit) {}

    /* @make: () -> Violation, called only if the violation will be kept. */
    template <typename Make> void add(Kind kind, Make make)
    {
        if (counts_[static_cast<size_t>(kind)]++ < limit_)
            kept_.push_back(make());
    }

    uint64_t count(Kind kind) const
    {
        return counts_[static_cast<size_t>(kind)];
    }

    uint64_t total() const
    {
        uint64_t sum = 0;

        for (uint64_t count : counts_)
            sum += count;
        return sum;
    }

    const std::vector<Violation> &kept() const
    {
        return kept_;
    }

  private:
    uint64_t limit_;
    std::array<uint64_t, kKinds> counts_ = {};
    std::vector<Violation> kept_;
};

} // namespace dtx::history
#endif
