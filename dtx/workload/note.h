/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * note.h: parameters of a workload: refused when they are out of range, and what a database keeps
 * of those that it was loaded with: "name=number ...".
 *
 * Tests: tests/unit/dtx/workload/note_test.cpp
 */
#ifndef DTX_WORKLOAD_NOTE_H
#define DTX_WORKLOAD_NOTE_H

#include <dtx/error.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dtx
{

/* A function that, called with true and a text, throws Error, code 0: "WORKLOAD: TEXT". */
inline auto refusals_of(const char *workload)
{
    return [workload](bool wrong, const char *text) {
        if (wrong)
            throw Error(0, std::string(workload) + ": " + text);
    };
}

std::string write_note(const std::vector<std::pair<std::string, uint64_t>> &values);

class Note
{
  public:
    /* Throws Error, RPM_E_FOREIGN, as all below: a text that is no note, or has no such name. */
    Note(const std::string &workload, const std::string &text);

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
