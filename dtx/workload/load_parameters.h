/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load_parameters.h: the parameters that a workload was loaded with, as the text "name=number ..."
 * that each shard of its database keeps; and the refusal of parameters that are out of range.
 *
 * Tests: tests/unit/dtx/workload/load_parameters_test.cpp
 */
#ifndef DTX_WORKLOAD_LOAD_PARAMETERS_H
#define DTX_WORKLOAD_LOAD_PARAMETERS_H

#include <dtx/error.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dtx
{

/* Returns a function that, called with true and a text, throws Error, code 0: "WORKLOAD: TEXT". */
inline auto refusals_of(const char *workload)
{
    return [workload](bool wrong, const char *text) {
        if (wrong)
            throw Error(0, std::string(workload) + ": " + text);
    };
}

/* Returns a function that throws Error, code 0, if a parameter is not from @least to @most. */
inline auto ranges_of(const char *workload)
{
    return [workload](const char *name, uint64_t found, uint64_t least, uint64_t most) {
        if (found < least || found > most)
            throw Error(0, std::string(workload) + ": " + name + " is " + std::to_string(found) +
                               ", expected " + std::to_string(least) + " to " +
                               std::to_string(most));
    };
}

std::string write_load_parameters(const std::vector<std::pair<std::string, uint64_t>> &values);

class LoadParameters
{
  public:
    /* These throw Error, RPM_E_FOREIGN: @text is not of that form, lacks the name, or its number is
     * too large. */
    LoadParameters(const std::string &workload, const std::string &text);

    uint64_t value(const std::string &name) const;
    uint32_t number(const std::string &name) const;
    const std::map<std::string, uint64_t> &all() const
    {
        return values_;
    }

  private:
    std::string workload_;
    std::map<std::string, uint64_t> values_;
};

} // namespace dtx
#endif
