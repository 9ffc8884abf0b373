/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cost.cc: turn all attempts of a trace into scripts and let the performance model carry them
 * out.
 *
 * Tests: tests/tools/dtx_model_test
 */
#include "model/cost.h"

#include <algorithm>
#include <cstdio>
#include <librpm/script.h>
#include <stdexcept>

namespace dtx::model
{

namespace
{

/* The order in which the hints were published, without H2. */
constexpr const char *kCumulative[][2] = {
    { "none", "none" },
    { "+H1", "H1" },
    { "+H3", "H1,H3" },
    { "+H4", "H1,H3,H4" },
    { "+H5", "H1,H3,H4,H5" },
    { "+H6+H7", "H1,H3,H4,H5,H6,H7" },
    { "+H8", "H1,H3,H4,H5,H6,H7,H8" },
    { "+H9", "H1,H3,H4,H5,H6,H7,H8,H9" },
};

void check(int err, const std::string &what)
{
    if (err < 0)
        throw std::runtime_error(what + ": " + rpm_error_name(err) + ": " + rpm_last_error());
}

std::string fixed(double value)
{
    char text[64];

    std::snprintf(text, sizeof(text), "%.6f", value);
    return text;
}

double us(uint64_t ps)
{
    return static_cast<double>(ps) * 1e-6;
}

constexpr uint32_t kBackoffGrows = 1024; /* largest backoff over the first one, as in SMART */

/* Scripts of all attempts of the trace: one for each rotation of the servers, so that the load is
 * even. With conflicts one alone, as the same object must stay on its server for transactions to
 * conflict. */
std::vector<Script> scripts_of(const Trace &trace, const Setting &setting,
                               const HintEffects &effects)
{
    std::vector<Script> scripts;

    for (const Attempt &attempt : trace.attempts)
        for (uint32_t rotation = 0; rotation < (setting.conflicts ? 1 : trace.servers);
             rotation++) {
            Script script = script_of(attempt, trace, setting, effects, rotation);

            if (!script.empty())
                scripts.push_back(std::move(script));
        }
    return scripts;
}

} // namespace

Model open_model(const std::string &preset)
{
    rpm_model *model = nullptr;

    check(rpm_model_open(preset.c_str(), &model), "preset " + preset);
    return Model(model);
}

std::vector<std::pair<std::string, uint32_t>> cumulative_hints()
{
    std::vector<std::pair<std::string, uint32_t>> sets;

    for (const auto &[name, text] : kCumulative)
        sets.emplace_back(name, parse_hints(text));
    return sets;
}

uint32_t parse_hints(const std::string &text)
{
    uint32_t hints = 0;

    check(rpm_hints_parse(text.c_str(), &hints), "hints " + text);
    return hints;
}

std::string label_of(const Point &point)
{
    auto with = [](const char *name, double value) {
        char text[64];

        std::snprintf(text, sizeof(text), "/%s%g", name, value);
        return value > 0 ? std::string(text) : "";
    };

    return point.trace->workload + "/" + point.phases + "/" + point.hints_name + "/" +
           (point.durable ? "on" : "off") + "/" + std::to_string(point.threads) + "x" +
           std::to_string(point.coroutines) + with("", point.pause_us) +
           with("doorbells", point.doorbells) + with("outstanding", point.outstanding) +
           with("backoff", point.backoff_us);
}

rpm_cost cost_of(const rpm_model *model, const Common &common, const Point &point)
{
    rpm_facts facts = rpm_facts_init();
    rpm_script_load load = rpm_script_load_init();
    rpm_cost cost = rpm_cost_init();
    Setting setting{ point.hints, parse_phases(point.phases), point.durable, common.conflicts };

    rpm_model_facts(model, &facts);
    HintEffects effects = effects_of(facts, setting);
    std::vector<Script> scripts = scripts_of(*point.trace, setting, effects);
    std::vector<rpm_script> refs;
    uint64_t under_way = uint64_t{ point.threads } * point.coroutines;

    for (const Script &script : scripts)
        refs.push_back({ script.data(), static_cast<uint32_t>(script.size()), 1 });
    load.scripts = refs.data();
    load.count = static_cast<uint32_t>(refs.size());
    load.servers = point.trace->servers;
    load.threads = point.threads;
    load.coroutines = point.coroutines;
    load.machines = std::min(common.machines, point.threads);
    load.cores = common.cores;
    load.remote_socket = effects.other_socket ? 1 : 0;
    load.ddio = effects.ddio;
    load.writers_max = effects.writers_max;
    load.doorbells = point.doorbells;
    load.outstanding_max = point.outstanding;
    load.words = common.conflicts ? point.trace->objects : 0;
    load.backoff_ns = static_cast<uint64_t>(point.backoff_us * 1000);
    load.backoff_max_ns = load.backoff_ns * kBackoffGrows;
    load.pause_ns = static_cast<uint64_t>(point.pause_us * 1000);
    load.transactions =
        common.transactions != 0 ? common.transactions : std::max<uint64_t>(5000, 10 * under_way);
    load.seed = common.seed;
    check(rpm_model_run_scripts(model, &load, &cost), label_of(point));
    return cost;
}

/* The columns of dtx-bench; a transaction of the workload may consist of several of the database.
 */
std::vector<Column> columns_of(const Common &common, const Point &point, const rpm_cost &cost)
{
    const Trace &trace = *point.trace;
    double attempts = static_cast<double>(std::max<size_t>(trace.attempts.size(), 1));
    double each = attempts / static_cast<double>(std::max<uint64_t>(trace.transactions, 1));
    double seconds = static_cast<double>(std::max<uint64_t>(cost.duration_ps, 1)) * 1e-12;
    double mtxns = static_cast<double>(cost.ops) / seconds * 1e-6 / each;
    double given_up = static_cast<double>(
        std::count_if(trace.attempts.begin(), trace.attempts.end(),
                      [](const Attempt &attempt) { return !attempt.committed; }));
    double aborts = given_up / attempts;
    double ops = static_cast<double>(std::max<uint64_t>(cost.ops, 1));
    double requests = static_cast<double>(cost.requests) / ops * each;

    return {
        { "prefix", common.prefix },
        { "threads", std::to_string(point.threads) },
        { "coroutines", std::to_string(point.coroutines) },
        { "attempted_mtxns", fixed(mtxns) },
        { "committed_mtxns", fixed(mtxns * (1 - aborts)) },
        { "p50_us", fixed(us(cost.p50_ps)) },
        { "p99_us", fixed(us(cost.p99_ps)) },
        { "abort_rate", fixed(aborts) },
        { "remote_ops_per_attempt", fixed(requests) },
        { "remote_mops", fixed(requests * mtxns) },
        { "label", label_of(point) },
        { "workload", trace.workload },
        { "servers", std::to_string(trace.servers) },
        { "replicas", std::to_string(trace.replicas) },
        { "durability", point.durable ? "on" : "off" },
        { "hints", point.hints_name },
        { "phases", point.phases },
        { "machines", std::to_string(common.machines) },
        { "cores", std::to_string(common.cores) },
        { "pause_us", fixed(point.pause_us) },
        { "preset", "\"" + common.preset + "\"" },
        { "conflicts", common.conflicts ? "on" : "off" },
        { "doorbells", std::to_string(point.doorbells) },
        { "outstanding", std::to_string(point.outstanding) },
        { "backoff_us", fixed(point.backoff_us) },
        { "tries", fixed(1 + static_cast<double>(cost.failures) / ops) },
        { "seed", std::to_string(common.seed) },
        { "transactions", std::to_string(cost.ops) },
        { "mean_us", fixed(us(cost.mean_ps)) },
        { "p90_us", fixed(us(cost.p90_ps)) },
        { "p999_us", fixed(us(cost.p999_ps)) },
        { "max_us", fixed(us(cost.max_ps)) },
        { "media_read_bytes", fixed(static_cast<double>(cost.media_read_bytes) / ops * each) },
        { "media_write_bytes", fixed(static_cast<double>(cost.media_write_bytes) / ops * each) },
        { "partial_words", fixed(static_cast<double>(cost.partial_words) / ops * each) },
    };
}

std::string line_of(const std::vector<Column> &columns)
{
    char text[200];
    auto value = [&columns](const char *name) {
        auto named = [name](const Column &column) { return std::string(column.name) == name; };

        return std::find_if(columns.begin(), columns.end(), named)->value.c_str();
    };

    std::snprintf(text, sizeof(text),
                  "%-48s %10s M/s  p50 %s us  p99 %s us  %s requests each  modelled",
                  value("label"), value("attempted_mtxns"), value("p50_us"), value("p99_us"),
                  value("remote_ops_per_attempt"));
    return text;
}

} // namespace dtx::model
