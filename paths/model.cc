/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.cc: opens a preset, runs flows on it, and names paths and operations.
 */
#include "model.h"

#include <algorithm>

namespace paths
{

namespace
{

uint32_t place_of(const std::vector<std::string> &names, const std::string &name)
{
    auto found = std::find(names.begin(), names.end(), name);

    if (found == names.end())
        throw cli::Failure("no path or operation is called \"" + name + "\"");
    return static_cast<uint32_t>(found - names.begin());
}

} // namespace

OpenModel::OpenModel(const std::string &preset)
{
    rpm_model *opened = nullptr;

    cli::check("preset " + preset, rpm_model_open(preset.c_str(), &opened));
    model_.reset(opened);
}

Costs run(const std::string &preset, const Flows &flows, uint64_t seed)
{
    rpm_path_load load = rpm_path_load_init();
    Costs costs(flows.size());
    OpenModel model(preset);

    load.flows = flows.data();
    load.count = static_cast<uint32_t>(flows.size());
    load.seed = seed;
    cli::check("preset " + preset, rpm_model_run_paths(model.get(), &load, costs.data()));
    return costs;
}

const std::vector<std::string> &path_names()
{
    static const std::vector<std::string> names = { "1", "2", "3R", "3D", "4" };

    return names;
}

const std::vector<std::string> &op_names()
{
    static const std::vector<std::string> names = { "read", "write", "send" };

    return names;
}

uint32_t path_of(const std::string &name)
{
    return place_of(path_names(), name) + RPM_PATH_HOST;
}

uint32_t op_of(const std::string &name)
{
    return place_of(op_names(), name);
}

const std::string &path_name(uint32_t path)
{
    return path_names().at(path - RPM_PATH_HOST);
}

double param_ns(const std::string &preset, const std::string &name)
{
    OpenModel model(preset);
    rpm_model_number number;

    for (uint32_t i = 0; rpm_model_param(model.get(), i, &number) == 0; i++) {
        std::string value = number.value;
        size_t end = 0;

        if (name != number.name)
            continue;
        double amount = std::stod(value, &end);
        std::string unit = value.substr(end);
        if (unit == " ns" || unit == " us")
            return unit == " ns" ? amount : amount * 1000;
        throw cli::Failure(name + " of preset " + preset + " is " + value + ", expected a time");
    }
    throw cli::Failure("preset " + preset + " has no number " + name);
}

double mops(const rpm_path_cost &cost)
{
    return static_cast<double>(cost.ops) * 1e6 / static_cast<double>(cost.duration_ps);
}

double gbs(const rpm_path_cost &cost)
{
    return static_cast<double>(cost.bytes) * 1e3 / static_cast<double>(cost.duration_ps);
}

double ns(uint64_t ps)
{
    return static_cast<double>(ps) * 1e-3;
}

} // namespace paths
