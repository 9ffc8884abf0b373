/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * note.h: what a database keeps of the parameters that it was loaded with: "name=number ...".
 *
 * Tests: tests/unit/dtx/workload/note_test.cpp
 */
#ifndef DTX_WORKLOAD_NOTE_H
#define DTX_WORKLOAD_NOTE_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dtx
{

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
