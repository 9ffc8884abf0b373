/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.cc: measure points on the performance model, <librpm/model.h>.
 */
#include "platform.h"

#include <algorithm>
#include <cstdlib>

namespace hints
{

namespace
{

struct ModelClose {
    void operator()(rpm_model *model) const
    {
        rpm_model_close(&model);
    }
};
using Model = std::unique_ptr<rpm_model, ModelClose>;

class Modelled : public Platform
{
  public:
    Modelled(const SimUrl &url, const std::string &set) : url_(url), set_(set)
    {
        model_of(""); /* fails at once if the preset cannot be read */
    }

    rpm_facts facts(const Point &point) override
    {
        rpm_facts facts = rpm_facts_init();

        rpm_model_facts(model_of(point.set), &facts);
        return facts;
    }

    Row measure(const Point &point) override
    {
        rpm_model *model = model_of(point.set);
        Row row;

        row.point = point;
        row.point.load.seed = url_.seed + point.load.seed;
        row.preset = url_.preset;
        row.set = set_ + (set_.empty() || point.set.empty() ? "" : ",") + point.set;
        row.note = short_run(point.load);
        row.dimms =
            static_cast<uint32_t>(std::strtoul(value_of(model, "dimms").c_str(), nullptr, 10));
        row.ddio = point.load.ddio != 0 ? point.load.ddio : facts(point).ddio;
        row.durable = is_durable(facts(point), point);
        row.counted = true;
        cli::check(point.label, rpm_model_run(model, &row.point.load, &row.cost));
        row.measured = true;
        return row;
    }

  private:
    /* With few operations, a large share runs while the load starts or ends. */
    static std::string short_run(const rpm_load &load)
    {
        uint64_t under_way = std::max(load.threads, 1u) * uint64_t{ std::max(load.depth, 1u) };

        if (load.ops == 0 || load.ops >= 10 * under_way)
            return "";
        return "a short run: " + std::to_string(load.ops) + " operations, " +
               std::to_string(under_way) + " under way";
    }

    rpm_model *model_of(const std::string &set)
    {
        std::string all =
            url_.preset + (set_.empty() ? "" : "," + set_) + (set.empty() ? "" : "," + set);
        rpm_model *model = nullptr;

        if (models_.find(all) == models_.end()) {
            cli::check("preset " + all, rpm_model_open(all.c_str(), &model));
            models_[all] = Model(model);
        }
        return models_[all].get();
    }

    static std::string value_of(const rpm_model *model, const std::string &name)
    {
        rpm_model_number param;

        for (uint32_t i = 0; rpm_model_param(model, i, &param) == 0; i++)
            if (name == param.name)
                return param.value;
        return "";
    }

    SimUrl url_;
    std::string set_;
    std::map<std::string, Model> models_;
};

} // namespace

bool is_sim(const std::string &url)
{
    return url.compare(0, 4, "sim:") == 0;
}

SimUrl parse_sim(const std::string &url)
{
    SimUrl out;
    size_t at = 4;

    while (at < url.size()) {
        size_t end = std::min(url.find(',', at), url.size());
        std::string word = url.substr(at, end - at);
        size_t equals = word.find('=');
        std::string name = word.substr(0, equals);
        std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);

        if (url.find("," + name + "=", end) != std::string::npos)
            throw cli::Failure(url + ": " + name + " is given twice");
        if (name == "preset" && !value.empty()) {
            out.preset = value;
        } else if (name == "seed" && !value.empty() && value.size() < 20 &&
                   value.find_first_not_of("0123456789") == std::string::npos) {
            out.seed = std::strtoull(value.c_str(), nullptr, 10);
        } else {
            throw cli::Failure(url + ": \"" + word + "\" is neither preset=NAME nor seed=NUMBER");
        }
        at = end + 1;
    }
    return out;
}

std::unique_ptr<Platform> open_model(const SimUrl &url, const std::string &set)
{
    return std::make_unique<Modelled>(url, set);
}

std::unique_ptr<Platform> open_platform(const std::string &url, const std::string &set)
{
    if (is_sim(url))
        return open_model(parse_sim(url), set);
    if (!set.empty())
        throw cli::Failure("--set replaces numbers of a preset: " + url +
                           " has none, only sim: URLs have one");
    return open_live(url);
}

} // namespace hints
