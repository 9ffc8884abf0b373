/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * findings.h: the results of a check, by rule: how many things it checked, and the violations. The
 * first few of each rule have a text, the others are counted: a broken rule may be violated by
 * every row.
 *
 * Tests: tests/unit/dtx/workload/findings_test.cpp
 */
#ifndef DTX_FINDINGS_H
#define DTX_FINDINGS_H

#include <cstdint>
#include <string>
#include <vector>

namespace dtx
{

struct Finding {
    std::string rule;
    std::string about; /* what the rule demands */
    uint64_t checked = 0;
    uint64_t broken = 0;
    std::vector<std::string> first; /* texts of the first violations */
};

class Findings
{
  public:
    /* Declares a rule and what it demands. Rules are reported in the order of these calls. */
    void rule(const std::string &name, const std::string &about)
    {
        of(name).about = about;
    }
    /* Adds a violation of @rule; @what: where and how. */
    void add(const std::string &rule, const std::string &what)
    {
        add_if(true, rule, what);
    }
    /* Counts one check of @rule, and if @wrong, a violation. */
    void add_if(bool wrong, const std::string &rule, const std::string &what)
    {
        Finding &finding = of(rule);

        finding.checked++;
        finding.broken += wrong ? 1 : 0;
        if (wrong && finding.first.size() < kTextsMax)
            finding.first.push_back(what);
    }
    /* Counts @many more checks, without violations. */
    void checked(const std::string &rule, uint64_t many)
    {
        of(rule).checked += many;
    }
    /* Adds the results of another check. */
    void append(const Findings &other)
    {
        all_.insert(all_.end(), other.all_.begin(), other.all_.end());
    }
    const std::vector<Finding> &all() const
    {
        return all_;
    }
    /* The violations, a sentence each. */
    std::vector<std::string> texts() const
    {
        std::vector<std::string> texts;

        for (const Finding &finding : all_) {
            for (const std::string &what : finding.first)
                texts.push_back(finding.rule + ": " + what);
            if (finding.broken > finding.first.size())
                texts.push_back(finding.rule + ": " +
                                std::to_string(finding.broken - finding.first.size()) + " more");
        }
        return texts;
    }

  private:
    static constexpr size_t kTextsMax = 3;

    /* Finds a rule by linear search: there are at most about twenty, and most calls name the last
     * one again. */
    Finding &of(const std::string &rule)
    {
        if (last_ < all_.size() && all_[last_].rule == rule)
            return all_[last_];
        for (last_ = 0; last_ < all_.size(); last_++)
            if (all_[last_].rule == rule)
                return all_[last_];
        all_.push_back({ rule, "", 0, 0, {} });
        return all_.back();
    }

    std::vector<Finding> all_;
    size_t last_ = 0;
};

} // namespace dtx
#endif
