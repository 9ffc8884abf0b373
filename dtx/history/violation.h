/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * violation.h: what a check found, by kind; the first of each kind are kept in words.
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
    kAbortedRead,  /* a version that an aborted transaction says it made: G1a */
    kWrongWriter,  /* a version whose writer made another, or none */
    kUnwritten,    /* a version that no transaction made */
    kGap,          /* versions between two that are there */
    kDropped,      /* the final state lacks what a committed transaction wrote */
    kTorn,         /* a transaction of unknown outcome that happened in part */
    kCycle,        /* no serial order explains it */
    kRealTimeCycle /* a serial order does, but none that time allows */
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
    std::vector<std::string> steps; /* of a cycle */
};

class Violations
{
  public:
    explicit Violations(uint64_t limit) : limit_(limit) {}

    /* @make: () -> Violation, called only if it will be kept. */
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
