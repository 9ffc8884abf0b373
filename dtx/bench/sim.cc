/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim.cc: make a trace on local servers, then run it on the performance model, here without
 * conflicts between transactions.
 */
#include "bench/sim.h"

#include "bench/options.h"
#include <dtx/error.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <unistd.h>

namespace dtx::bench
{

namespace
{

constexpr const char *kScheme = "sim:";
constexpr uint64_t kTraced = 2000;
constexpr uint32_t kModelledMax = 64; /* of a modelled thread */

std::string empty_file()
{
    std::string path = "/dev/shm/dtx-bench-trace-XXXXXX";
    int fd = mkstemp(&path[0]);

    if (fd < 0)
        throw Error(0, path + ": " + strerror(errno));
    close(fd);
    return path;
}

} // namespace

bool is_sim(const std::string &url)
{
    return url.rfind(kScheme, 0) == 0;
}

/* Sets preset and seed from "sim:preset=P,seed=N". */
void Sim::take_url(const std::string &url)
{
    std::istringstream words(url.substr(strlen(kScheme)));
    std::string word;

    while (std::getline(words, word, ',')) {
        size_t at = word.find('=');
        std::string value = at == std::string::npos ? "" : word.substr(at + 1);

        if (word.rfind("preset=", 0) == 0)
            common_.preset = value;
        else if (word.rfind("seed=", 0) == 0 &&
                 value.find_first_not_of("0123456789") == std::string::npos && !value.empty() &&
                 value.size() < 20)
            common_.seed = std::stoull(value);
        else
            throw Error(0, "sim: \"" + word + "\" is neither preset=NAME nor seed=NUMBER");
    }
}

/* Replaces the points to model by one without hints and one with the hints @text. For "all", there
 * are points between the two, each with one more hint than the point before. */
void Sim::add_hints(const std::string &text)
{
    model::Point point = points_.back();
    auto add = [&](std::string name, uint32_t hints) {
        std::replace(name.begin(), name.end(), ',', '+');
        point.hints_name = name;
        point.hints = hints;
        points_.push_back(point);
    };

    points_.clear();
    if (text == "all") {
        for (const auto &[name, hints] : model::cumulative_hints())
            add(name, hints);
    } else {
        add("none", model::parse_hints("none"));
    }
    add(text, model::parse_hints(text));
}

Sim::Sim(Options &options)
{
    take_url(options.urls.front());
    if (options.coroutines > kModelledMax)
        throw Error(0, "--coroutines " + std::to_string(options.coroutines) +
                           ": the performance model runs at most " + std::to_string(kModelledMax) +
                           " in a thread");
    if (options.phases == "fewest")
        options.phases = "one-sided"; /* the model's default: it has no "fewest" */
    (void)model::parse_phases(options.phases);
    (void)model::open_model(common_.preset);
    points_.push_back(
        { nullptr, "", 0, options.phases, options.durable, options.threads, options.coroutines });
    add_hints(options.hints);
    ours_ = options.trace.empty();
    trace_ = ours_ ? empty_file() : options.trace;

    options.urls.clear();
    options.trace = trace_;
    options.transactions = options.transactions != 0 ? options.transactions : kTraced;
    options.threads = options.coroutines = 1;
    options.phases = "one-sided";
    options.hints = "all";
    options.durable = true;
    options.check = false;
    options.quiet = true;
}

Sim::~Sim()
{
    if (ours_)
        unlink(trace_.c_str());
}

void Sim::carry_out() const
{
    model::Trace trace = model::read_trace(trace_);
    model::Model model = model::open_model(common_.preset);

    printf("%s on the performance model, preset %s, %u servers, without conflicts; more with "
           "--trace and dtx-model\n",
           trace.workload.c_str(), common_.preset.c_str(), trace.servers);
    for (model::Point point : points_) {
        point.trace = &trace;
        printf("%s\n",
               model::line_of(
                   model::columns_of(common_, point, model::cost_of(model.get(), common_, point)))
                   .c_str());
        fflush(stdout);
    }
}

} // namespace dtx::bench
