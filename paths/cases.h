/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cases.h: named runs: those that published figures are about, and each rule's experiment with the
 * rule on and off.
 */
#ifndef RPM_PATHS_CASES_H
#define RPM_PATHS_CASES_H

#include "model.h"

namespace paths
{

struct Case {
    std::string label;
    std::string preset;
    Flows flows;
};

/* A rule for users of a DPU: the number that it improves, with it and without. */
struct Rule {
    std::string id;
    std::string what;
    std::string number; /* what is compared, with its unit */
    std::string metric; /* see measure() */
    std::string on;     /* labels of cases */
    std::string off;
    bool less; /* a smaller number is better */
};

const std::vector<Case> &cases();
const std::vector<Rule> &rules();

/* Of flows: "p50_ns", "p99_ns", "gbs0" of the first; "mops", "gbs" of all. Of chains: see
 * chain_metric(). Of what numbers() lists: "number". */
double measure(const std::string &label, const std::string &metric, uint64_t seed);

} // namespace paths

#endif
