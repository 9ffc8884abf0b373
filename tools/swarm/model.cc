/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.cc: the records that a log must, may and must not have.
 */
#include "swarm/model.h"

#include <algorithm>
#include <cstring>

namespace swarm
{

std::string payload_of(uint64_t number, size_t len)
{
    std::string text(std::max(len, sizeof(number)), '\0');

    memcpy(&text[0], &number, sizeof(number));
    for (size_t i = sizeof(number); i < text.size(); i++)
        text[i] = static_cast<char>(number * 31 + i * 7);
    return text;
}

void LogModel::violation(const std::string &text) const
{
    throw Violation("log " + name_ + ": " + text);
}

uint64_t LogModel::submit(uint32_t writer)
{
    records_[next_].writer = writer;
    return next_++;
}

void LogModel::forget(uint64_t number)
{
    records_.erase(number);
}

void LogModel::place(uint64_t number, uint64_t lsn)
{
    records_.at(number).lsn = lsn;
}

void LogModel::settle(uint64_t number, bool present, uint64_t lsn)
{
    Submitted &record = records_.at(number);
    Outcome outcome = present ? Outcome::kPresent : Outcome::kAbsent;

    if (record.outcome != Outcome::kUnknown && record.outcome != outcome)
        violation("record " + std::to_string(number) + " was settled as " +
                  (present ? "absent" : "present") + " and is now reported as the contrary");
    if (present && record.lsn != kNoLsn && record.lsn != lsn)
        violation("record " + std::to_string(number) + " moved from " + std::to_string(record.lsn) +
                  " to " + std::to_string(lsn));
    record.outcome = outcome;
    record.lsn = lsn;
}

void LogModel::trim_begin(uint64_t lsn)
{
    head_max_ = std::max(head_max_, lsn);
}

void LogModel::trim_done(uint64_t lsn)
{
    head_min_ = std::max(head_min_, lsn);
}

void LogModel::walk_begin(uint64_t first_lsn)
{
    if (first_lsn < head_min_)
        violation("the head went back to " + std::to_string(first_lsn) + " from " +
                  std::to_string(head_min_));
    if (first_lsn > head_max_)
        violation("the head is at " + std::to_string(first_lsn) +
                  ", but no client trimmed beyond " + std::to_string(head_max_));
    head_min_ = first_lsn;
    walk_first_ = first_lsn;
    walked_.clear();
}

void LogModel::walk_record(uint64_t lsn, const void *data, size_t len)
{
    uint64_t number = 0;

    if (len >= sizeof(number))
        memcpy(&number, data, sizeof(number));
    auto found = records_.find(number);
    if (found == records_.end() || payload_of(number, len) != std::string((const char *)data, len))
        violation("a record at " + std::to_string(lsn) + " was never submitted");
    if (!walked_.emplace(number, lsn).second)
        violation("record " + std::to_string(number) + " is in the log twice");
    if (found->second.outcome == Outcome::kAbsent)
        violation("record " + std::to_string(number) + " was settled as absent and is at " +
                  std::to_string(lsn));
    if (found->second.outcome == Outcome::kPresent && found->second.lsn != lsn)
        violation("record " + std::to_string(number) + " is at " + std::to_string(lsn) +
                  ", not at " + std::to_string(found->second.lsn));
}

void LogModel::walk_end(bool settles)
{
    for (auto &[number, record] : records_) {
        bool walked = walked_.count(number) != 0;

        if (record.outcome == Outcome::kPresent && record.lsn >= walk_first_ && !walked)
            violation("record " + std::to_string(number) + ", acknowledged at " +
                      std::to_string(record.lsn) + ", is lost");
        if (!settles || record.outcome != Outcome::kUnknown)
            continue;
        /* Trimmed before a walk found it: its outcome stays unknown. */
        if (!walked && record.lsn < walk_first_)
            continue;
        record.outcome = walked ? Outcome::kPresent : Outcome::kAbsent;
        if (walked)
            record.lsn = walked_.at(number);
    }
}

uint64_t LogModel::some_present(Random &random) const
{
    std::vector<uint64_t> lsns;

    for (const auto &[number, record] : records_)
        if (record.outcome == Outcome::kPresent && record.lsn >= head_max_)
            lsns.push_back(record.lsn);
    return lsns.empty() ? 0 : lsns[random.below(lsns.size())];
}

uint64_t LogModel::count(Outcome outcome) const
{
    return static_cast<uint64_t>(
        std::count_if(records_.begin(), records_.end(),
                      [outcome](const auto &entry) { return entry.second.outcome == outcome; }));
}

} // namespace swarm
