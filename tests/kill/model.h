// SPDX-License-Identifier: BSD-3-Clause
// model.h: which records a log must hold after a recovery, and which it may hold.
#ifndef TESTS_KILL_MODEL_H
#define TESTS_KILL_MODEL_H

#include "kill/payload.h"

#include <librpm.h>
#include <map>
#include <string>
#include <vector>

namespace kill_suite
{

struct Entry {
    uint32_t life;
    uint32_t seq;
    uint64_t lsn;
    bool whole; // every byte is as its writer made it

    bool operator==(const Entry &other) const
    {
        return life == other.life && seq == other.seq && lsn == other.lsn && whole == other.whole;
    }
};

struct Verdict {
    uint64_t lost = 0;
    uint64_t invented = 0;
    uint64_t acked = 0;
    std::string text; // of the first record that is wrong
};

// The records of one log over many rounds. In each round at most one new writer process appends.
class Model
{
  public:
    void begin(uint32_t life)
    {
        life_ = life;
        acks_.clear();
    }
    void hear(const Message &message)
    {
        if (message.kind == kAck)
            acks_[message.seq] = message.lsn;
        else if (message.kind == kTrim && message.lsn > trimmed_)
            trimmed_ = message.lsn;
    }

    // Judges what a recovery found, then takes it as the expected content.
    Verdict judge(const std::vector<Entry> &found, uint64_t head_lsn)
    {
        Verdict verdict;

        verdict.acked = acks_.size();
        if (head_lsn > trimmed_)
            blame(&verdict.lost, &verdict,
                  "the head is at " + std::to_string(head_lsn) + ", and the furthest trim was to " +
                      std::to_string(trimmed_));
        size_t at = match_known(found, head_lsn, &verdict);
        match_new(found, at, &verdict);
        match_acks(found, at, head_lsn, &verdict);
        known_ = found;
        return verdict;
    }

  private:
    static void blame(uint64_t *counter, Verdict *verdict, const std::string &text)
    {
        ++*counter;
        if (verdict->text.empty())
            verdict->text = text;
    }
    static std::string name(const Entry &entry)
    {
        return std::to_string(entry.life) + "/" + std::to_string(entry.seq) + " at " +
               std::to_string(entry.lsn);
    }

    // Records of earlier recoveries must be there, in front. Returns how many of them were found.
    size_t match_known(const std::vector<Entry> &found, uint64_t head_lsn, Verdict *verdict) const
    {
        size_t at = 0;

        for (const Entry &entry : known_) {
            if (entry.lsn < head_lsn)
                continue;
            if (at < found.size() && found[at] == entry)
                at++;
            else
                blame(&verdict->lost, verdict, "known record " + name(entry) + " is gone");
        }
        return at;
    }
    // New records must be of this round's writer, whole, from its first one on, without gap or
    // repetition.
    void match_new(const std::vector<Entry> &found, size_t at, Verdict *verdict) const
    {
        bool any = false;
        uint32_t seq = 0;

        for (; at < found.size(); at++) {
            const Entry &entry = found[at];
            bool trimmed_into = at == 0 && !any;

            if (!entry.whole || entry.life != life_ ||
                (entry.seq != seq && !(trimmed_into && !acks_.empty())))
                blame(&verdict->invented, verdict,
                      "record " + name(entry) + " where " + std::to_string(life_) + "/" +
                          std::to_string(seq) + " could be");
            any = true;
            seq = entry.seq + 1;
        }
    }
    void match_acks(const std::vector<Entry> &found, size_t at, uint64_t head_lsn,
                    Verdict *verdict) const
    {
        std::map<uint32_t, uint64_t> present;

        for (; at < found.size(); at++)
            if (found[at].life == life_)
                present[found[at].seq] = found[at].lsn;
        for (const auto &ack : acks_) {
            auto it = present.find(ack.first);

            if (ack.second < head_lsn)
                continue;
            if (it == present.end() || it->second != ack.second)
                blame(&verdict->lost, verdict,
                      "acknowledged record " + std::to_string(life_) + "/" +
                          std::to_string(ack.first) + " at " + std::to_string(ack.second) +
                          " is gone");
        }
    }

    uint32_t life_ = 0;
    uint64_t trimmed_ = 0;
    std::vector<Entry> known_;
    std::map<uint32_t, uint64_t> acks_;
};

} // namespace kill_suite

#endif
