/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * platform.h: the platform on which points are measured: the performance model, or a live link.
 */
#ifndef RPM_HINTS_PLATFORM_H
#define RPM_HINTS_PLATFORM_H

#include "point.h"

#include <map>

namespace hints
{

class Platform
{
  public:
    virtual ~Platform() = default;

    /* The facts of the platform; of a modelled one, with the point's numbers replaced. */
    virtual rpm_facts facts(const Point &point) = 0;

    /* Carry the load out unchanged. A row without numbers has the reason in its note. */
    virtual Row measure(const Point &point) = 0;
};

/* The performance model for "sim:preset=P,seed=N", else a link to the server at @url. @set: numbers
 * of the preset that are replaced for all points. */
std::unique_ptr<Platform> open_platform(const std::string &url, const std::string &set);

/* The preset and the seed of a sim: URL. */
struct SimUrl {
    std::string preset = "hints";
    uint64_t seed = 1;
};

bool is_sim(const std::string &url);
SimUrl parse_sim(const std::string &url);

std::unique_ptr<Platform> open_model(const SimUrl &url, const std::string &set);
std::unique_ptr<Platform> open_live(const std::string &url);

} // namespace hints

#endif
