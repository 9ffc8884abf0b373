/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load_parameters.cc: formats load parameters as text, and parses that text.
 *
 * Tests: tests/unit/dtx/workload/load_parameters_test.cpp
 */
#include "workload/load_parameters.h"

#include <dtx/error.h>

#include <librpm.h>

#include <charconv>
#include <sstream>

namespace dtx
{

namespace
{

const char *const kForeign = "another program or version made it; check it with that one";

} // namespace

std::string write_load_parameters(const std::vector<std::pair<std::string, uint64_t>> &values)
{
    std::string text;

    for (const auto &[name, value] : values)
        text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
    return text;
}

LoadParameters::LoadParameters(const std::string &workload, const std::string &text)
    : workload_(workload)
{
    std::istringstream words(text);

    if (text.empty())
        throw Error(RPM_E_FOREIGN, "database '" + workload +
                                       "' holds no load parameters; run the program that made it "
                                       "to check it");
    for (std::string word; words >> word;) {
        size_t equals = word.find('=');
        const char *end = word.data() + word.size();
        uint64_t value = 0;

        if (equals == std::string::npos ||
            std::from_chars(word.data() + equals + 1, end, value).ptr != end ||
            equals + 1 == word.size())
            throw Error(RPM_E_FOREIGN, "load parameters of database '" + workload + "' have '" +
                                           word + "', expected NAME=NUMBER: " + kForeign);
        values_[word.substr(0, equals)] = value;
    }
}

uint64_t LoadParameters::value(const std::string &name) const
{
    auto found = values_.find(name);

    if (found == values_.end())
        throw Error(RPM_E_FOREIGN, "load parameters of database '" + workload_ + "' lack '" + name +
                                       "': " + kForeign);
    return found->second;
}

uint32_t LoadParameters::number(const std::string &name) const
{
    uint64_t found = value(name);

    if (found > UINT32_MAX)
        throw Error(RPM_E_FOREIGN, "load parameters of database '" + workload_ + "' have " + name +
                                       "=" + std::to_string(found) + ", maximum " +
                                       std::to_string(UINT32_MAX) + ": " + kForeign);
    return static_cast<uint32_t>(found);
}

} // namespace dtx
