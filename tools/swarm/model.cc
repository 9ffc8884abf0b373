/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.cc: the model of a log: which records it must, may and must not have.
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

void LogModel::broken(const std::string &text) const
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
    Fate fate = present ? Fate::kPresent : Fate::kAbsent;

    if (record.fate != Fate::kOpen && record.fate != fate)
        broken("record " + std::to_string(number) + " was settled as " +
               (present ? "absent" : "present") + " and is now reported as the contrary");
    if (present && record.lsn != kNowhere && record.lsn != lsn)
        broken("record " + std::to_string(number) + " moved from " + std::to_string(record.lsn) +
               " to " + std::to_string(lsn));
    record.fate = fate;
    record.lsn = lsn;
}

void LogModel::trim_begin(uint64_t lsn)
{
    head_maybe_ = std::max(head_maybe_, lsn);
}

void LogModel::trim_done(uint64_t lsn)
{
    head_sure_ = std::max(head_sure_, lsn);
}

void LogModel::walk_begin(uint64_t first_lsn)
{
    if (first_lsn < head_sure_)
        broken("the head went back to " + std::to_string(first_lsn) + " from " +
               std::to_string(head_sure_));
    if (first_lsn > head_maybe_)
        broken("the head is at " + std::to_string(first_lsn) + ", but no client trimmed beyond " +
               std::to_string(head_maybe_));
    head_sure_ = first_lsn;
    walk_first_ = first_lsn;
    met_.clear();
}

void LogModel::walk_meet(uint64_t lsn, const void *data, size_t len)
{
    uint64_t number = 0;

    if (len >= sizeof(number))
        memcpy(&number, data, sizeof(number));
    auto found = records_.find(number);
    if (found == records_.end() || payload_of(number, len) != std::string((const char *)data, len))
        broken("a record at " + std::to_string(lsn) + " was never submitted");
    if (!met_.emplace(number, lsn).second)
        broken("record " + std::to_string(number) + " is there twice");
    if (found->second.fate == Fate::kAbsent)
        broken("record " + std::to_string(number) + " was settled as absent and is at " +
               std::to_string(lsn));
    if (found->second.fate == Fate::kPresent && found->second.lsn != lsn)
        broken("record " + std::to_string(number) + " is at " + std::to_string(lsn) + ", not at " +
               std::to_string(found->second.lsn));
}

void LogModel::walk_end(bool settles)
{
    for (auto &[number, record] : records_) {
        bool met = met_.count(number) != 0;

        if (record.fate == Fate::kPresent && record.lsn >= walk_first_ && !met)
            broken("record " + std::to_string(number) + ", acknowledged at " +
                   std::to_string(record.lsn) + ", is lost");
        if (!settles || record.fate != Fate::kOpen)
            continue;
        /* Trimmed before a walk found it: its outcome stays unknown. */
        if (!met && record.lsn < walk_first_)
            continue;
        record.fate = met ? Fate::kPresent : Fate::kAbsent;
        if (met)
            record.lsn = met_.at(number);
    }
}

uint64_t LogModel::some_present(Dice &dice) const
{
    std::vector<uint64_t> lsns;

    for (const auto &[number, record] : records_)
        if (record.fate == Fate::kPresent && record.lsn >= head_maybe_)
            lsns.push_back(record.lsn);
    return lsns.empty() ? 0 : lsns[dice.below(lsns.size())];
}

uint64_t LogModel::count(Fate fate) const
{
    return static_cast<uint64_t>(
        std::count_if(records_.begin(), records_.end(),
                      [fate](const auto &entry) { return entry.second.fate == fate; }));
}

} // namespace swarm
