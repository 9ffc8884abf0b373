/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.h: the expected contents of a log, against which swarm checks the real log: every record
 * that was submitted, acknowledged, or settled.
 *
 * Checked at each walk, a read of the whole log
 *   every record of the log was submitted to it, has the submitted bytes, and is there at most once
 *   every record that is settled as present is in the log, at the LSN of its acknowledgement
 *   no record that is settled as absent is in the log
 *   after a claim every unknown record of a dead writer is settled: it is in the log, or never will
 *     be
 */
#ifndef RPM_TOOLS_SWARM_MODEL_H
#define RPM_TOOLS_SWARM_MODEL_H

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace swarm
{

/* An acknowledgement or an invariant was violated. */
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* A seeded random number generator, the same on every machine. */
class Random
{
  public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next()
    {
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }

    uint64_t below(uint64_t bound)
    {
        return bound == 0 ? 0 : next() % bound;
    }

    bool chance(uint32_t percent)
    {
        return below(100) < percent;
    }

  private:
    uint64_t state_;
};

enum class Outcome { kUnknown, kPresent, kAbsent };

constexpr uint64_t kNoLsn = UINT64_MAX; /* no client learned an LSN */

struct Submitted {
    uint64_t lsn = kNoLsn;
    Outcome outcome = Outcome::kUnknown;
    uint32_t writer = 0;
};

/* The bytes of a record: its number, then a pattern made from it. */
std::string payload_of(uint64_t number, size_t len);

class LogModel
{
  public:
    explicit LogModel(std::string name) : name_(std::move(name)) {}

    const std::string &name() const
    {
        return name_;
    }

    /* Add a record that is about to be submitted. Returns its number. */
    uint64_t submit(uint32_t writer);
    void forget(uint64_t number); /* the append was refused */
    void place(uint64_t number, uint64_t lsn);
    void settle(uint64_t number, bool present, uint64_t lsn);
    void trim_begin(uint64_t lsn);
    void trim_done(uint64_t lsn);

    /* A walk over the whole log: start, each record in order, end. @settles: the walking client
     * claimed the log, so no other client writes: an unknown record that the walk does not find is
     * settled as absent. */
    void walk_begin(uint64_t first_lsn);
    void walk_record(uint64_t lsn, const void *data, size_t len);
    void walk_end(bool settles);

    /* The LSN of a random record that is settled as present, for a trim. 0: there is none. */
    uint64_t some_present(Random &random) const;
    uint64_t count(Outcome outcome) const;

  private:
    [[noreturn]] void violation(const std::string &text) const;

    std::string name_;
    std::map<uint64_t, Submitted> records_;
    std::map<uint64_t, uint64_t> walked_; /* number -> LSN in this walk */
    uint64_t next_ = 1;
    uint64_t head_min_ = 0; /* the head is at least at this LSN */
    uint64_t head_max_ = 0; /* a trim to this LSN was requested */
    uint64_t walk_first_ = 0;
};

} // namespace swarm
#endif
