// SPDX-License-Identifier: BSD-3-Clause
// world.h: random histories of a strictly serialisable store. Each transaction takes effect at one
// moment between its begin and its end; the lines are then shuffled.
#ifndef TESTS_UNIT_DTX_HISTORY_WORLD_H
#define TESTS_UNIT_DTX_HISTORY_WORLD_H

extern "C" {
#include "base/rng.h"
}
#include "story.h"

#include <algorithm>
#include <map>

namespace world
{

using namespace story;

class World
{
  public:
    explicit World(uint64_t seed)
    {
        rpmi_rng_seed(&rng_, seed);
    }

    uint64_t below(uint64_t bound)
    {
        return rpmi_rng_below(&rng_, bound);
    }

    // Rows 0 and up were loaded, rows 1000 and up are inserted; most writers read first.
    Story history()
    {
        Story story;

        sessions_ = 1 + below(6);
        objects_ = 2 + below(8);
        uint64_t each = 2 + below(10);
        for (uint32_t session = 0; session < sessions_; session++)
            for (uint64_t i = 0, now = below(20); i < each; i++) {
                Moment moment = next_moment(session, now);
                now = moment.line.end_ns + below(3);
                moments_.push_back(moment);
            }
        std::stable_sort(moments_.begin(), moments_.end(),
                         [](const Moment &a, const Moment &b) { return a.at_ns < b.at_ns; });
        for (Moment &moment : moments_) {
            happen(moment.line);
            story.lines.push_back(moment.line);
        }
        for (size_t i = story.lines.size(); i > 1; i--)
            std::swap(story.lines[i - 1], story.lines[below(i)]);
        for (const auto &[object, access] : rows_)
            story.final_state.push_back(access);
        story.fresh = true;
        return story;
    }

  private:
    struct Moment {
        uint64_t at_ns;
        Line line;
    };

    Moment next_moment(uint32_t session, uint64_t now)
    {
        Moment moment;

        moment.line.txn = ++txns_;
        moment.line.session = session;
        moment.line.begin_ns = now;
        moment.at_ns = now + below(30);
        moment.line.end_ns = moment.at_ns + below(30);
        return moment;
    }

    Access &row(uint64_t object)
    {
        auto [at, is_new] = rows_.try_emplace(object);

        if (is_new)
            at->second = { object, object < 1000 ? 1u : 0u, 0 };
        return at->second;
    }

    uint64_t some_object()
    {
        return below(objects_) + (below(4) == 0 ? 1000 : 0);
    }

    void happen(Line &line)
    {
        uint64_t luck = below(20);
        bool applied = luck >= 4;
        uint64_t count = 1 + below(4);
        uint64_t written = below(count + 1);
        std::map<uint64_t, Access> seen;

        line.status = luck < 2   ? Status::kAborted
                      : luck < 7 ? Status::kUnknown
                                 : Status::kCommitted;
        while (seen.size() < count && seen.size() < objects_) {
            uint64_t object = some_object();
            seen.emplace(object, row(object));
        }
        for (const auto &[object, access] : seen) {
            bool blind = false;
            if (line.writes.size() < written) {
                line.writes.push_back({ object, access.version + 1, 0 });
                blind = below(8) == 0 && access.version > 1; // versions of the load need no proof
            }
            if (!blind)
                line.reads.push_back(access);
        }
        if (!applied)
            return;
        for (const Access &made : line.writes)
            row(made.object) = { made.object, made.version, line.txn };
    }

    rpmi_rng rng_;
    uint64_t sessions_ = 1;
    uint64_t objects_ = 1;
    uint64_t txns_ = 0;
    std::vector<Moment> moments_;
    std::map<uint64_t, Access> rows_;
};

} // namespace world
#endif
