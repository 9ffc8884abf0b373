/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * findings.h: what a check found, a sentence each. The first few of a kind are told, the others
 * counted: a wrong rule finds something in every row.
 */
#ifndef DTX_WORKLOAD_FINDINGS_H
#define DTX_WORKLOAD_FINDINGS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dtx
{

class Findings
{
  public:
    /* @rule: what is not kept; @what: where and how. */
    void add(const std::string &rule, const std::string &what)
    {
        uint64_t times = ++times_[rule];

        if (times <= kTold)
            texts_.push_back(rule + ": " + what);
    }
    void add_if(bool wrong, const std::string &rule, const std::string &what)
    {
        if (wrong)
            add(rule, what);
    }
    std::vector<std::string> texts() const
    {
        std::vector<std::string> all = texts_;

        for (const auto &[rule, times] : times_)
            if (times > kTold)
                all.push_back(rule + ": " + std::to_string(times - kTold) + " more");
        return all;
    }

  private:
    static constexpr uint64_t kTold = 3;

    std::map<std::string, uint64_t> times_;
    std::vector<std::string> texts_;
};

} // namespace dtx
#endif
