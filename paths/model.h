/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.h: flows on a preset of the performance model.
 */
#ifndef RPM_PATHS_MODEL_H
#define RPM_PATHS_MODEL_H

#include "tool.h"

#include <librpm/path.h>
#include <memory>
#include <string>
#include <vector>

namespace paths
{

using Flows = std::vector<rpm_path_flow>;
using Costs = std::vector<rpm_path_cost>;

struct ModelClose {
    void operator()(rpm_model *model) const
    {
        rpm_model_close(&model);
    }
};

/* A preset, open. */
class OpenModel
{
  public:
    explicit OpenModel(const std::string &preset);

    const rpm_model *get() const
    {
        return model_.get();
    }

  private:
    std::unique_ptr<rpm_model, ModelClose> model_;
};

Costs run(const std::string &preset, const Flows &flows, uint64_t seed);

/* As users name them: 1, 2, 3R, 3D, 4; read, write, send. */
const std::vector<std::string> &path_names();
const std::vector<std::string> &op_names();
uint32_t path_of(const std::string &name);
uint32_t op_of(const std::string &name);
const std::string &path_name(uint32_t path);

/* A number of a preset that is a time. */
double param_ns(const std::string &preset, const std::string &name);

double mops(const rpm_path_cost &cost);
double gbs(const rpm_path_cost &cost);
double ns(uint64_t ps);

} // namespace paths

#endif
