/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpm_hints.cc: run an experiment, or a sweep, on the performance model or over a live link.
 */
#include "cli.h"
#include "harness/experiment.h"
#include "harness/platform.h"
#include "harness/report.h"
#include "headline.h"
#include "sweep.h"

#include <iostream>

namespace
{

constexpr const char *kSweepGroup = "Sweep";
constexpr const char *kExamples =
    "Runs: h1 .. h9 (one hint each), ablate (all together), points (the memory alone),\n"
    "octopus (the data path of a file system), sweep\n"
    "(combinations of the options below it), headline (the results in short), params (the numbers\n"
    "of the preset), list (the experiments).\n"
    "Examples:\n"
    "  rpm-hints h6 --url sim:preset=hints,seed=1 --csv -\n"
    "  rpm-hints ablate --json ablate.json\n"
    "  rpm-hints sweep --by core --op write --copy stream,clwb --bytes 64,256,4K --threads 1,4,16\n"
    "  rpm-hints sweep --by core --copy stream --fence never --pattern sequential --threads "
    "1,4,16\n"
    "  rpm-hints sweep --by nic --persist wait,chain --threads 30 --depth 8 --hints -H3\n"
    "  rpm-hints sweep --by nic --set \"media_write=90 ns\" --dimms 1,2,4,6\n"
    "  rpm-hints h9 --url shm:demo            (a server, in real time)\n";

constexpr int kNoNumbers = 3; /* exit status: every row was written, and none has numbers */

struct Options {
    std::string run;
    std::string url = "sim:preset=hints,seed=1";
    std::string hints = "all";
    std::string csv;
    std::string json;
    std::vector<std::string> set;
    std::vector<std::string> labels; /* empty: all points of the run */
    uint32_t repeats = 1;
    bool quiet = false;
    bool stats = false;
    hints::Sweep sweep;
};

void write_json(const Options &options, const hints::Json &json)
{
    cli::OutFile file(options.json.empty() ? "-" : options.json);

    file.write(json.dump(1) + "\n");
    file.close();
}

std::string joined(const std::vector<std::string> &words)
{
    std::string text;

    for (const std::string &word : words)
        text += (text.empty() ? "" : ",") + word;
    return text;
}

int list(const Options &options)
{
    hints::Json out = hints::Json::array();

    for (const hints::Experiment *experiment : hints::experiments())
        out.push_back(hints::experiment_json(*experiment));
    if (!options.json.empty()) {
        write_json(options, out);
        return cli::kDone;
    }
    for (const hints::Experiment *experiment : hints::experiments())
        std::cout << experiment->run << "\t" << experiment->title << "\n";
    return cli::kDone;
}

void model_only(const Options &options)
{
    if (!hints::is_sim(options.url))
        throw cli::Failure(options.run + " runs on the model only: " + options.url +
                           " is not a sim: URL");
}

int params(const Options &options)
{
    model_only(options);
    hints::SimUrl url = hints::parse_sim(options.url);
    std::string spec = url.preset + (options.set.empty() ? "" : "," + joined(options.set));
    hints::Json out = hints::Json::array();
    rpm_model_number param;
    rpm_model *model = nullptr;

    cli::check("preset " + spec, rpm_model_open(spec.c_str(), &model));
    for (uint32_t i = 0; rpm_model_param(model, i, &param) == 0; i++) {
        std::string value = param.value;
        size_t space = value.find(' ');

        out.push_back({ { "name", param.name },
                        { "value", value.substr(0, space) },
                        { "unit", space == std::string::npos ? "" : value.substr(space + 1) },
                        { "source", param.source },
                        { "what", param.what } });
    }
    rpm_model_close(&model);
    if (!options.json.empty()) {
        write_json(options, out);
        return cli::kDone;
    }
    for (const hints::Json &entry : out)
        std::cout << entry["name"].get<std::string>() << " = " << entry["value"].get<std::string>()
                  << " " << entry["unit"].get<std::string>() << "  # "
                  << entry["source"].get<std::string>() << "\n";
    return cli::kDone;
}

int headline(const Options &options)
{
    hints::Json results;

    model_only(options);
    hints::SimUrl url = hints::parse_sim(options.url);
    std::unique_ptr<hints::Platform> platform = hints::open_model(url, joined(options.set));

    for (const auto &result : hints::headline(platform.get()))
        results[result.first] = result.second;
    write_json(options, { { "origin", "model" },
                          { "preset", url.preset },
                          { "set", joined(options.set) },
                          { "seed", url.seed },
                          { "modelled", results } });
    return cli::kDone;
}

/* Print the expected result and its reason, before the measurement. */
void introduce(const Options &options, const hints::Experiment *experiment)
{
    if (options.quiet || experiment == nullptr)
        return;
    std::cerr << experiment->run << ": " << experiment->title << "\n"
              << experiment->question << "\n"
              << "Expected of the published platform: " << experiment->expect << "\n"
              << "Because: " << experiment->why << "\n"
              << (hints::is_sim(options.url) ? "Seen (modelled, not measured on hardware):\n"
                                             : "Seen (live):\n");
}

/* Keep the points that --labels names. */
std::vector<hints::Point> chosen(const Options &options, const std::vector<hints::Point> &points)
{
    std::vector<hints::Point> kept;

    for (const std::string &label : options.labels) {
        auto is_it = [&label](const hints::Point &point) { return point.label == label; };

        if (std::none_of(points.begin(), points.end(), is_it))
            throw cli::Failure("--labels: " + options.run + " has no point " + label);
    }
    std::copy_if(points.begin(), points.end(), std::back_inserter(kept), [&](const auto &point) {
        return std::count(options.labels.begin(), options.labels.end(), point.label) != 0;
    });
    return options.labels.empty() ? points : kept;
}

std::vector<hints::Point> points_of(const Options &options, const rpm_facts &facts, uint32_t bits)
{
    const hints::Experiment *experiment = hints::find_experiment(options.run);
    std::vector<hints::Point> points;

    if (options.run == "sweep")
        return chosen(options, hints::sweep_points(facts, bits, options.sweep));
    points = experiment->points(facts, bits, options.sweep.reduced);
    for (hints::Point &point : points)
        point.about = experiment->hint[0] == 'H' ? experiment->hint[1] - '0' : 0;
    return chosen(options, points);
}

/* A point of an experiment that is invalid on this platform gets a note; one that the caller
 * specified is an error. */
hints::Row measure_once(const Options &options, hints::Platform *platform,
                        const hints::Point &point)
{
    try {
        return platform->measure(point);
    } catch (const cli::RpmFailure &failure) {
        hints::Row row;

        if (failure.err != RPM_E_INVAL || options.run == "sweep")
            throw;
        row.point = point;
        row.modelled = hints::is_sim(options.url);
        row.note = failure.what();
        return row;
    }
}

/* Measure @point as often as requested; returns the run with the median rate. On the model each run
 * has its own seed. */
hints::Row measure(const Options &options, hints::Platform *platform, hints::Point point,
                   uint64_t *events)
{
    std::vector<hints::Row> rows;

    for (uint32_t i = 0; i < options.repeats && !cli::stopped(); i++) {
        point.load.seed = i;
        rows.push_back(measure_once(options, platform, point));
        *events += rows.back().cost.events;
        if (!rows.back().measured)
            return rows.back();
    }
    if (rows.size() < 2)
        return rows.empty() ? hints::Row() : rows[0];
    std::sort(rows.begin(), rows.end(),
              [](const hints::Row &a, const hints::Row &b) { return a.mops() < b.mops(); });
    hints::Row median = rows[rows.size() / 2];
    char spread[96];

    std::snprintf(spread, sizeof(spread), "median of %zu runs, %.4g to %.4g M/s", rows.size(),
                  rows.front().mops(), rows.back().mops());
    median.repeats = static_cast<uint32_t>(rows.size());
    median.note += (median.note.empty() ? "" : "; ") + std::string(spread);
    return median;
}

/* Rows are written one by one, so that an interrupted run keeps its rows. */
int run(const Options &options)
{
    std::unique_ptr<hints::Platform> platform =
        hints::open_platform(options.url, joined(options.set));
    std::unique_ptr<hints::Csv> csv;
    std::unique_ptr<cli::OutFile> json;
    hints::Json rows = hints::Json::array();
    uint64_t events = 0;
    bool measured = false;
    uint32_t bits;

    cli::check("--hints", rpm_hints_parse(options.hints.c_str(), &bits));
    std::vector<hints::Point> points = points_of(options, platform->facts(hints::Point()), bits);
    if (!options.csv.empty())
        csv = std::make_unique<hints::Csv>(options.csv);
    if (!options.json.empty())
        json = std::make_unique<cli::OutFile>(options.json);
    introduce(options, hints::find_experiment(options.run));
    std::clock_t start = std::clock();

    for (const hints::Point &point : points) {
        hints::Row row = measure(options, platform.get(), point, &events);

        if (cli::stopped()) /* a live row is incomplete */
            throw cli::Failure("interrupted: only the rows written so far are complete");
        if (csv != nullptr)
            csv->add(options.run, options.url, row);
        rows.push_back(hints::row_json(options.run, options.url, row));
        measured = measured || row.measured;
        if (!options.quiet && options.csv != "-" && options.json != "-")
            std::cout << hints::row_text(row) << "\n" << std::flush;
    }
    double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;

    if (csv != nullptr)
        csv->close();
    if (json != nullptr) {
        json->write(rows.dump(1) + "\n");
        json->close();
    }
    if (options.stats)
        std::cerr << events << " events in " << seconds
                  << " s of processor time: " << static_cast<double>(events) / seconds * 1e-6
                  << " M/s\n";
    if (measured)
        return cli::kDone;
    std::cerr << "rpm-hints: " << options.run << ": no point of it has numbers at " << options.url
              << "; the note of each row has the reason\n";
    return kNoNumbers;
}

/* An option that would have no effect is a mistake. */
void check_options(const CLI::App &app, const Options &options)
{
    bool rows = options.run == "sweep" || hints::find_experiment(options.run) != nullptr;

    for (const CLI::Option *option : app.get_options()) {
        std::string name = option->get_name();

        if (option->count() != 0 && option->get_group() == kSweepGroup && options.run != "sweep")
            throw cli::Failure(name + " is for sweep, not for " + options.run);
        if (option->count() != 0 && (name == "--csv" || name == "--labels") && !rows)
            throw cli::Failure(name + " is for runs with rows, not for " + options.run);
    }
    if (!options.csv.empty() && options.csv == options.json)
        throw cli::Failure("--csv and --json both go to " + options.csv);
}

int dispatch(const Options &options)
{
    if (options.run == "list")
        return list(options);
    if (options.run == "params")
        return params(options);
    if (options.run == "headline")
        return headline(options);
    return run(options);
}

std::vector<std::string> run_names()
{
    std::vector<std::string> names;

    for (const hints::Experiment *experiment : hints::experiments())
        names.push_back(experiment->run);
    for (const char *name : { "sweep", "headline", "params", "list" })
        names.push_back(name);
    return names;
}

std::string check_run(const std::string &name)
{
    const std::vector<std::string> names = run_names();

    return std::find(names.begin(), names.end(), name) != names.end()
               ? ""
               : "no run \"" + name + "\": " + cli::completion::joined(names, ", ");
}

void add_sweep(CLI::App *app, hints::Sweep *sweep)
{
    const char *group = kSweepGroup;
    auto list = [](CLI::Option *option) { return option->delimiter(',')->group(kSweepGroup); };

    auto word = [app, group](const char *name, std::string &value, const hints::Words &words,
                             const char *text) {
        app->add_option(name, value, text)->check(CLI::IsMember(words.all()))->group(group);
    };

    word("--by", sweep->by, hints::kByWords, "processor that carries the operation out");
    word("--op", sweep->op, hints::kOpWords, "operation");
    list(app->add_option("--bytes,--size", sweep->bytes, "bytes of one operation: 64,4K"));
    list(app->add_option("--threads", sweep->threads, "clients' threads, or cores")
             ->check(CLI::Range(1, 4096)));
    list(app->add_option("--pattern", sweep->patterns, "order of addresses")
             ->check(CLI::IsMember(hints::kPatternWords.all())));
    list(app->add_option("--persist", sweep->persists, "how one-sided writes are made persistent")
             ->check(CLI::IsMember(hints::kPersistWords.all())));
    list(app->add_option("--copy", sweep->copies, "how cores write; stream: ntstore")
             ->check(CLI::IsMember(hints::kCopyWords.all())));
    list(app->add_option("--dimms", sweep->dimms, "modules of the pool"));
    word("--memory", sweep->memory, hints::kMemoryWords, "memory of the bytes");
    word("--flush-memory", sweep->flush, hints::kMemoryWords,
         "memory that the READ of a persist reads");
    app->add_option("--fence", sweep->fence,
                    "a core fences after this many bytes, or never; default: after each operation")
        ->group(group);
    word("--ddio", sweep->ddio, hints::kDdioWords, "whether a NIC's writes go to the CPU's cache");
    word("--socket", sweep->socket, hints::kSocketWords,
         "socket of NIC and cores, seen from the memory");
    app->add_option("--align", sweep->align, "operations start at multiples of this")->group(group);
    app->add_option("--pad", sweep->pad, "a write's length is rounded up to this")->group(group);
    app->add_option("--region", sweep->region, "bytes of the memory that is accessed")
        ->group(group);
    app->add_option("--skew", sweep->skew, "operations start this many bytes later")->group(group);
    app->add_option("--depth", sweep->depth, "operations of a thread outstanding")
        ->check(CLI::Range(1, 64))
        ->group(group);
    app->add_option("--cores", sweep->cores, "server cores that serve calls")
        ->check(CLI::Range(1, 64))
        ->group(group);
    app->add_option("--write-percent", sweep->write_percent, "writes in a mix")->group(group);
    app->add_option("--use-dimms", sweep->use_dimms, "modules that a thread uses; default: all")
        ->check(CLI::Range(1, 8))
        ->group(group);
    app->add_flag("--own-dimms", sweep->own_dimms,
                  "each thread uses --use-dimms modules after those of the thread before")
        ->group(group);
    app->add_option("--passes", sweep->passes,
                    "a sequential thread passes over its area this often, and each pass accesses "
                    "the next bytes of each --align")
        ->check(CLI::Range(1, 1024))
        ->group(group);
    app->add_option("--words", sweep->words, "cas: words that are swapped; default: any")
        ->check(CLI::Range(1, 1 << 24))
        ->group(group);
    app->add_option("--interval", sweep->interval_ns,
                    "nanoseconds between the starts of a thread's operations, at least")
        ->check(CLI::Range(uint64_t{ 1 }, uint64_t{ 1000000000 }))
        ->group(group);
    app->add_option("--writers-max", sweep->writers_max,
                    "cores that stream to a module at a time, at most")
        ->group(group);
    app->add_option("--ops", sweep->ops, "operations of each point, beside those of the warm-up")
        ->check(CLI::Range(1, 16 << 20))
        ->group(group);
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Show the effect of the hints for RDMA and persistent memory", "rpm-hints");
    Options options;

    app.footer(kExamples);
    cli::offer(app.add_option("run", options.run, "What to run"), run_names())
        ->required()
        ->check(check_run);
    app.add_option("--url", options.url, "sim:preset=P,seed=N (the model), or a server's");
    cli::secret_option(&app);
    cli::hints_option(
        app.add_option("--hints", options.hints, "Hints in force: all, none, H6,H9 or -H3"));
    app.add_option("--csv", options.csv, "Write rows as CSV; -: to standard output")
        ->type_name("FILE");
    app.add_option("--json", options.json, "Write JSON; alone or -: to standard output")
        ->type_name("FILE")
        ->expected(0, 1)
        ->default_str("-");
    app.add_option("--labels", options.labels, "Run only the points with these labels")
        ->delimiter(',');
    app.add_option("--set", options.set, "Replace a number of the preset: \"NAME=VALUE UNIT\"");
    app.add_option("--repeat", options.repeats,
                   "Run each point this many times; the row is the median run")
        ->check(CLI::Range(1, 1000));
    app.add_flag("--reduced", options.sweep.reduced, "Run fewer points, with fewer operations");
    app.add_flag("--quiet", options.quiet, "Print no text");
    app.add_flag("--stats", options.stats,
                 "Print the model's events and the time taken, at the end");
    add_sweep(&app, &options.sweep);
    return cli::run(app, argc, argv, [&app, &options] {
        check_options(app, options);
        cli::catch_stop();
        return dispatch(options);
    });
}
