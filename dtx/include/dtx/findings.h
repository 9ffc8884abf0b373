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

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
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
    void rule(std::string_view name, const std::string &about)
    {
        of(name).about = about;
    }
    /* Adds a violation of @rule; @what: where and how. */
    void add(std::string_view rule, const std::string &what)
    {
        add_if(true, rule, what);
    }
    /* Counts one check of @rule, and if @wrong, a violation. */
    void add_if(bool wrong, std::string_view rule, const std::string &what)
    {
        add_if(wrong, rule, [&what] { return what; });
    }
    /* The same; @what is called for the text, if it is needed: a check of many rows makes none of
     * those that are right. */
    template <std::invocable What> void add_if(bool wrong, std::string_view rule, What what)
    {
        Finding &finding = of(rule);

        finding.checked++;
        if (!wrong)
            return;
        finding.broken++;
        if (finding.first.size() < kTextsMax)
            finding.first.push_back(what());
    }
    /* Counts @many more checks, without violations. */
    void checked(std::string_view rule, uint64_t many)
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
    Finding &of(std::string_view rule)
    {
        if (last_ < all_.size() && all_[last_].rule == rule)
            return all_[last_];
        for (last_ = 0; last_ < all_.size(); last_++)
            if (all_[last_].rule == rule)
                return all_[last_];
        all_.push_back({ std::string(rule), "", 0, 0, {} });
        return all_.back();
    }

    std::vector<Finding> all_;
    size_t last_ = 0;
};

} // namespace dtx
#endif
