/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seen_beats.h: for how long the heartbeats of other clients have stood still.
 *
 * A mount that has locks counts its heartbeat up about once a second (LockedFileRow). A client that
 * waits for such a lock reads it, and takes the mount for dead when it has stood still for
 * kLeaseNs. Two looks that are far apart count as kGapNs: this client may have been stopped as
 * well, together with the machine that both run on.
 *
 * Tests: tests/unit/fs/client/seen_beats_test.cpp
 */
#ifndef FS_CORE_CLIENT_SEEN_BEATS_H
#define FS_CORE_CLIENT_SEEN_BEATS_H

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace rfs
{

class SeenBeats
{
  public:
    static constexpr uint64_t kLeaseNs = 10000000000;
    static constexpr uint64_t kGapNs = 5000000000;

    /* @beat: of a client, read now. 0: it has none, and never stands still. */
    bool has_stood_still(uint32_t coordinator, uint64_t beat, uint64_t now_ns)
    {
        Seen &seen = seen_[coordinator];

        if (beat == 0 || seen.beat != beat)
            seen = { beat, now_ns, 0 };
        seen.still_ns += std::min(now_ns - seen.at_ns, kGapNs);
        seen.at_ns = now_ns;
        return beat != 0 && seen.still_ns >= kLeaseNs;
    }

  private:
    struct Seen {
        uint64_t beat = 0;
        uint64_t at_ns = 0; /* of the last look */
        uint64_t still_ns = 0;
    };

    std::unordered_map<uint32_t, Seen> seen_;
};

} // namespace rfs
#endif
