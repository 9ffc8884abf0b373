/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair.cc: scan, repair what the first step can, and scan again, until nothing is left to repair.
 *
 * Tests: tests/unit/fs/check/repair_test.cpp
 */
#include "core/check/repair.h"

#include "core/check/mend.h"
#include "core/check/scan.h"
#include "core/format/keys.h"
#include "core/tree/mounts.h"
#include <dtx/checks.h>

#include <algorithm>
#include <set>

namespace rfs
{

static constexpr uint64_t kRepairKeep = 100000; /* of each rule, in one pass */
static constexpr int kPassesMax = 1000;

namespace
{

class Repair
{
  public:
    Repair(const OpenVolume &open, Client &alone, const TellRepair &told)
        : open_(open), told_(told), mender_(open, alone)
    {
    }

    uint64_t run()
    {
        ScanOptions options;

        options.keep = kRepairKeep;
        for (int pass = 0; pass < kPassesMax; pass++) {
            dtx::Cluster::Reading reading(*open_.cluster);

            if (!mend(Scan(open_, options).run()))
                break;
        }
        return done_;
    }

  private:
    /* Repairs what belongs to the first step that can do anything. False: there is none. */
    bool mend(const Results &found)
    {
        uint64_t before = done_;

        if (found.broken[static_cast<size_t>(Rule::rows)] != 0)
            return false;
        learn(found);
        for (Step step = Step::rows; step != Step::never && done_ == before;
             step = static_cast<Step>(static_cast<int>(step) + 1))
            for (const Wrong &wrong : found.wrongs)
                if (step_of(wrong.kind) == step && !is_undecided(wrong))
                    mend_one(wrong);
        return done_ != before;
    }

    /* Which inodes are damaged, and which blocks are lost. */
    void learn(const Results &found)
    {
        std::vector<std::pair<uint32_t, uint64_t>> lost;
        bool frees = true;

        bad_.clear();
        for (const Wrong &wrong : found.wrongs) {
            if (wrong.kind == Kind::bad_inode)
                bad_.insert(wrong.key);
            if (wrong.kind == Kind::lost_block)
                lost.emplace_back(upper_half(wrong.key), wrong.more);
            frees = frees && wrong.kind != Kind::bad_inode && wrong.kind != Kind::bad_pointer;
        }
        mender_.set_lost(std::move(lost), frees);
    }

    /* Does it concern a file whose inode is damaged? */
    bool is_undecided(const Wrong &wrong) const
    {
        bool names = rule_of(wrong.kind) == Rule::names || rule_of(wrong.kind) == Rule::long_names;

        return (names && bad_.count(wrong.more) != 0) ||
               std::any_of(wrong.witnesses.begin(), wrong.witnesses.end(),
                           [this](const Witness &each) {
                               return each.table == open_.volume.tables.inodes.number &&
                                      bad_.count(each.key) != 0;
                           });
    }

    void mend_one(const Wrong &wrong)
    {
        std::string action;

        try {
            action = mender_.mend(wrong);
        } catch (const Failure &) { /* no room for lost+found */
        } catch (const dtx::Error &error) {
            if (error.code() != RPM_E_CORRUPT)
                throw;
        }
        if (action.empty())
            return;
        done_++;
        told_(text_of(wrong) + ": " + action);
    }

    const OpenVolume &open_;
    const TellRepair &told_;
    Mender mender_;
    std::set<uint64_t> bad_; /* numbers of files */
    uint64_t done_ = 0;
};

} // namespace

uint64_t repair_tables(const OpenVolume &open, Client &alone, const TellRepair &told)
{
    return Repair(open, alone, told).run();
}

uint64_t repair_copies(const OpenVolume &open, Client &alone, const TellRepair &told)
{
    uint64_t repaired = 0;

    (void)dtx::checks::make_copies_equal(*open.cluster, [&](const std::string &text) {
        bool has_it = alone.call_now(kSelf, [](Call &call) { return is_alone(call); });

        if (!has_it)
            throw dtx::Error(RPM_E_FENCED, "another client has opened the volume while this one "
                                           "repaired it: unmount it everywhere, and repair again");
        repaired++;
        told(text);
    });
    return repaired;
}

} // namespace rfs
