/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * note.cc: names and numbers as text, and back.
 *
 * Tests: tests/unit/dtx/workload/note_test.cpp
 */
#include "workload/note.h"

#include <dtx/error.h>

#include <librpm.h>

#include <charconv>
#include <sstream>

namespace dtx
{

std::string write_note(const std::vector<std::pair<std::string, uint64_t>> &values)
{
    std::string text;

    for (const auto &[name, value] : values)
        text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
    return text;
}

Note::Note(const std::string &workload, const std::string &text) : workload_(workload)
{
    std::istringstream words(text);

    if (text.empty())
        throw Error(RPM_E_FOREIGN, "the database '" + workload +
                                       "' was made by a program that left no note of "
                                       "its size");
    for (std::string word; words >> word;) {
        size_t equals = word.find('=');
        const char *end = word.data() + word.size();
        uint64_t value = 0;

        if (equals == std::string::npos ||
            std::from_chars(word.data() + equals + 1, end, value).ptr != end ||
            equals + 1 == word.size())
            throw Error(RPM_E_FOREIGN, "the note of the database '" + workload + "' has '" + word +
                                           "' in it: another program has made it");
        values_[word.substr(0, equals)] = value;
    }
}

uint64_t Note::value(const std::string &name) const
{
    auto found = values_.find(name);

    if (found == values_.end())
        throw Error(RPM_E_FOREIGN, "the note of the database '" + workload_ + "' does not tell '" +
                                       name + "': another program has made it");
    return found->second;
}

uint32_t Note::number(const std::string &name) const
{
    uint64_t found = value(name);

    if (found > UINT32_MAX)
        throw Error(RPM_E_FOREIGN, "the note of the database '" + workload_ + "' has " + name +
                                       "=" + std::to_string(found));
    return static_cast<uint32_t>(found);
}

} // namespace dtx
