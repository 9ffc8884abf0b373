/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpm_explain.cc: print the plan of a request on a platform, with the rule behind each operation;
 * or the legality matrix: which method proves which level. The platform is that of a server, a
 * preset of the device model, or described by options.
 */
#include "cli.h"
#include "facts.h"

#include <algorithm>
#include <sstream>

namespace
{

constexpr const char *kExamples =
    "Examples:\n"
    "  rpm-explain --preset adr --request append --bytes 40\n"
    "  rpm-explain --url shm:demo --request batch --count 32 --bytes 4K\n"
    "  rpm-explain --domain adr --ddio off --methods write,read --hints -H9\n"
    "  rpm-explain --preset adr --diff none        (what the hints change)\n"
    "  rpm-explain --preset adr --method read      (refused, with the reason: exit code 1)\n"
    "  rpm-explain --matrix                        (which method proves which level, by "
    "platform)\n";

struct Options {
    std::string url;
    std::string preset;
    std::string methods;
    std::string hints = "all";
    std::string diff; /* hints to compare with; empty: do not compare */
    uint32_t medium = 0;
    uint32_t domain = 0;
    uint32_t ddio = 0;
    uint32_t line_bytes = 64;
    uint32_t kind = RPM_REQUEST_APPEND;
    uint32_t level = 0;
    uint32_t method = 0;
    uint32_t count = 1;
    uint32_t slot = 0;
    uint64_t bytes = 64;
    uint64_t offset = 0;
    bool native_flush = false;
    bool declared = false;
    bool matrix = false;
    bool reasons = false;
    bool json = false;
};

const char *request_name(uint32_t kind)
{
    static const char *const names[] = { "", "append", "batch", "write", "atomic" };

    return names[kind];
}

const char *ddio_name(uint32_t answer)
{
    static const char *const names[] = { "", "unknown", "off", "on" };

    return names[answer];
}

const char *domain_name(uint32_t i)
{
    return rpm_domain_name(static_cast<rpm_domain>(i - 1));
}

std::vector<std::string> method_names()
{
    std::vector<std::string> names;

    for (uint32_t m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++)
        names.push_back(rpm_method_name(static_cast<rpm_method>(m)));
    return names;
}

/* The error text, or "": the form that CLI11 expects. */
std::string check_methods(const std::string &list)
{
    const std::vector<std::string> names = method_names();
    std::istringstream words(list);
    std::string word;

    while (std::getline(words, word, ','))
        if (std::find(names.begin(), names.end(), word) == names.end())
            return "no method \"" + word + "\"";
    return "";
}

/* Parse a list that was checked. */
uint32_t parse_methods(const std::string &list)
{
    std::istringstream words(list);
    std::string word;
    uint32_t bits = 0;

    while (std::getline(words, word, ','))
        for (uint32_t m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++)
            if (word == rpm_method_name(static_cast<rpm_method>(m)))
                bits |= 1u << m;
    return bits;
}

rpm_facts facts_of_options(const Options &options)
{
    rpm_facts facts = rpm_facts_init();

    facts.domain = RPM_DOMAIN_ADR;
    if (options.domain != 0)
        facts.domain = options.domain - 1;
    facts.medium = options.medium;
    if (facts.medium == 0)
        facts.medium = facts.domain == RPM_DOMAIN_MSYNC  ? RPM_MEDIUM_FILE
                       : facts.domain == RPM_DOMAIN_NONE ? RPM_MEDIUM_TMPFS
                                                         : RPM_MEDIUM_DEVDAX;
    if (options.ddio != 0)
        facts.ddio = options.ddio - 1;
    facts.native_flush = options.native_flush ? RPM_YES : RPM_NO;
    facts.domain_declared = options.declared;
    facts.line_bytes = options.line_bytes;
    facts.methods = 1u << RPM_METHOD_WRITE | 1u << RPM_METHOD_READ | 1u << RPM_METHOD_MESSAGE |
                    1u << RPM_METHOD_IMMEDIATE | 1u << RPM_METHOD_COPY;
    if (options.native_flush)
        facts.methods |= 1u << RPM_METHOD_FLUSH;
    if (!options.methods.empty())
        facts.methods = parse_methods(options.methods);
    return facts;
}

rpm_facts facts_of(const Options &options)
{
    bool put_together =
        options.domain != 0 || options.medium != 0 || options.ddio != 0 || !options.methods.empty();
    rpm_facts facts = rpm_facts_init();
    std::string url = options.url;

    if (url.empty() && put_together)
        return facts_of_options(options);
    if (url.empty())
        url = "sim:preset=" + (options.preset.empty() ? "adr" : options.preset);
    cli::Conn conn = cli::connect(url);
    cli::check(url, rpm_conn_facts(conn.get(), &facts));
    return facts;
}

rpm_request request_of(const Options &options)
{
    rpm_request request = rpm_request_init();

    request.kind = options.kind;
    request.level = options.level;
    if (options.bytes == 0 && request.kind != RPM_REQUEST_ATOMIC)
        throw cli::Failure("--bytes 0: a record has at least one byte");
    if (options.count != 1 && request.kind != RPM_REQUEST_BATCH)
        throw cli::Failure("--count " + std::to_string(options.count) +
                           " goes with --request batch only");
    request.bytes = options.bytes;
    request.offset = options.offset;
    request.count = options.count;
    request.slot_bytes = options.slot;
    request.method = options.method;
    cli::check("--hints", rpm_hints_parse(options.hints.c_str(), &request.hints));
    return request;
}

/* "name: text" lines as an array, in their order. */
facts::Json lines_json(const std::string &text)
{
    facts::Json lines = facts::Json::array();
    std::istringstream in(text);
    std::string line;

    while (std::getline(in, line)) {
        size_t colon = line.find(": ");

        lines.push_back({ { "name", line.substr(0, colon) },
                          { "text", colon == std::string::npos ? "" : line.substr(colon + 2) } });
    }
    return lines;
}

/* The plan as text, or the reason for a refusal. Returns whether there is a plan. */
bool explained(const rpm_facts &facts, const rpm_request &request, std::string &out)
{
    char text[8192] = "";
    int n = rpm_explain(&facts, &request, text, sizeof(text));

    if (n < 0 && n != RPM_E_NOCAP)
        cli::check("plan", n);
    out = text;
    return n >= 0;
}

int explain(const Options &options)
{
    rpm_facts facts = facts_of(options);
    std::string text;
    bool planned = explained(facts, request_of(options), text);
    facts::AgentAdvice agent = facts::agent_advice(facts);

    if (options.json) {
        facts::Json out;

        out["planned"] = planned;
        out["facts"] = facts::json(facts);
        out["lines"] = lines_json(text);
        out["agent"] = { { "worth", agent.worth }, { "why", agent.text } };
        printf("%s\n", out.dump(2).c_str());
    } else {
        printf("%sagent: %s\n", text.c_str(), agent.text.c_str());
    }
    return planned ? cli::kDone : cli::kFailed;
}

/* "H5" of "H5 on", else the whole name: the key by which lines of two plans are compared. */
std::string key_of(const facts::Json &line)
{
    std::string name = line["name"];

    return name[0] == 'H' ? name.substr(0, name.find(' ')) : name;
}

const facts::Json *find_line(const facts::Json &lines, const std::string &key)
{
    for (const facts::Json &line : lines)
        if (key_of(line) == key)
            return &line;
    return nullptr;
}

std::string shown(const facts::Json *line)
{
    if (line == nullptr)
        return "nothing";
    return line->at("name").get<std::string>() + ": " + line->at("text").get<std::string>();
}

/* Lines of one plan that the other plan does not have, side by side, in their order. A hint that
 * is on in one plan and off in the other, and had no effect in both, is no difference. */
facts::Json differences(const facts::Json &from, const facts::Json &to)
{
    facts::Json rows = facts::Json::array();
    std::vector<std::string> keys;

    for (const facts::Json *lines : { &from, &to })
        for (const facts::Json &line : *lines)
            if (std::find(keys.begin(), keys.end(), key_of(line)) == keys.end())
                keys.push_back(key_of(line));
    for (const std::string &key : keys) {
        const facts::Json *a = find_line(from, key);
        const facts::Json *b = find_line(to, key);

        if (a == nullptr || b == nullptr || a->at("text") != b->at("text"))
            rows.push_back({ { "name", key }, { "from", shown(a) }, { "to", shown(b) } });
    }
    return rows;
}

int diff(const Options &options)
{
    rpm_facts facts = facts_of(options);
    rpm_request request = request_of(options);
    rpm_request other = request;
    std::string from;
    std::string to;

    cli::check("--diff", rpm_hints_parse(options.diff.c_str(), &other.hints));
    bool planned = explained(facts, request, from);
    planned = explained(facts, other, to) && planned;
    facts::Json rows = differences(lines_json(from), lines_json(to));
    if (options.json) {
        facts::Json out;

        out["planned"] = planned;
        out["hints"] = { options.hints, options.diff };
        out["differences"] = rows;
        printf("%s\n", out.dump(2).c_str());
    } else {
        printf("differences between hints %s and %s: %zu\n", options.hints.c_str(),
               options.diff.c_str(), rows.size());
        for (const facts::Json &row : rows)
            printf("- %s\n+ %s\n", row["from"].get<std::string>().c_str(),
                   row["to"].get<std::string>().c_str());
    }
    return planned ? cli::kDone : cli::kFailed;
}

struct Column {
    const char *name;
    rpm_domain domain;
    rpm_answer ddio;
    rpm_medium medium;
};

const Column kColumns[] = {
    { "adr, ddio on", RPM_DOMAIN_ADR, RPM_YES, RPM_MEDIUM_DEVDAX },
    { "adr, ddio off", RPM_DOMAIN_ADR, RPM_NO, RPM_MEDIUM_DEVDAX },
    { "eadr", RPM_DOMAIN_EADR, RPM_UNKNOWN, RPM_MEDIUM_DEVDAX },
    { "msync", RPM_DOMAIN_MSYNC, RPM_UNKNOWN, RPM_MEDIUM_FILE },
    { "none", RPM_DOMAIN_NONE, RPM_UNKNOWN, RPM_MEDIUM_TMPFS },
};

/* "yes", "no", or "reported": only if the device reports native FLUSH for the region. */
const char *verdict(const Column &column, rpm_method method, rpm_level level, const char **reason)
{
    rpm_facts facts = rpm_facts_init();

    facts.domain = column.domain;
    facts.ddio = column.ddio;
    facts.medium = column.medium;
    if (rpm_legal(&facts, method, level, reason))
        return "yes";
    facts.native_flush = RPM_YES;
    return rpm_legal(&facts, method, level, reason) ? "reported" : "no";
}

/* One row, in columns; no blanks at its end. */
void print_row(const std::string &head, const std::vector<std::string> &cells)
{
    std::string line = head;

    for (size_t i = 0; i < cells.size(); i++) {
        line.resize(12 + 15 * i, ' ');
        line += cells[i];
    }
    printf("%s\n", line.c_str());
}

void matrix_text(rpm_level level, bool reasons)
{
    std::vector<std::string> names;

    printf("Which method proves level %s on which platform:\n\n", rpm_level_name(level));
    for (const Column &column : kColumns)
        names.push_back(column.name);
    print_row("", names);
    for (int m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++) {
        rpm_method method = static_cast<rpm_method>(m);
        std::vector<std::string> cells;
        std::string why;

        for (const Column &column : kColumns) {
            const char *reason = "";

            cells.push_back(verdict(column, method, level, &reason));
            why += std::string("    ") + column.name + ": " + cells.back() + ": " + reason + "\n";
        }
        print_row(rpm_method_name(method), cells);
        if (reasons)
            printf("%s", why.c_str());
    }
    printf("\nreported: where native FLUSH(persistence) is reported for the region.\n"
           "Unknown facts count as the worse case: ddio unknown is ddio on.\n");
}

int matrix(const Options &options)
{
    rpm_level level = RPM_DURABLE;
    facts::Json rows = facts::Json::array();

    if (options.level != 0)
        level = static_cast<rpm_level>(options.level);
    if (!options.json) {
        matrix_text(level, options.reasons);
        return cli::kDone;
    }
    for (int m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++)
        for (const Column &column : kColumns) {
            const char *reason = "";
            const char *answer = verdict(column, static_cast<rpm_method>(m), level, &reason);

            rows.push_back({ { "method", rpm_method_name(static_cast<rpm_method>(m)) },
                             { "platform", column.name },
                             { "level", rpm_level_name(level) },
                             { "legal", answer },
                             { "reason", reason } });
        }
    printf("%s\n", rows.dump(2).c_str());
    return cli::kDone;
}

void platform_options(CLI::App &app, Options &options)
{
    const std::string group = "Platform (default: --preset adr)";

    CLI::Option *url = app.add_option("--url", options.url, "Take the facts of this server");
    CLI::Option *secret = cli::secret_option(&app)->needs(url);
    CLI::Option *preset = app.add_option("--preset", options.preset,
                                         "Of the device model: adr, adr-noddio, eadr, hints,\n"
                                         "hints-1dimm, msync, or a preset file")
                              ->type_name("FILE");
    CLI::Option *own[] = {
        cli::enum_option(&app, "--domain", options.domain, RPM_DOMAIN_EADR + 2, domain_name,
                         "Persistence domain (default adr)"),
        cli::enum_option(
            &app, "--medium", options.medium, RPM_MEDIUM_DEVDAX + 1,
            [](uint32_t i) { return rpm_medium_name(static_cast<rpm_medium>(i)); },
            "Kind of memory (default: by domain)"),
        cli::enum_option(&app, "--ddio", options.ddio, 4, ddio_name,
                         "Whether inbound writes go to the CPU cache (default unknown)"),
        cli::offer(app.add_option("--methods", options.methods,
                                  "Methods that the link can carry out (default all but flush, "
                                  "store, order and carry)"),
                   method_names(), cli::Value::kList)
            ->check(check_methods),
        app.add_option("--line", options.line_bytes, "Media line in bytes: 64 or 256"),
        app.add_flag("--native-flush", options.native_flush,
                     "The device reports FLUSH to persistence"),
        app.add_flag("--declared", options.declared, "The operator declared the domain"),
    };

    url->group(group)->excludes(preset);
    secret->group(group);
    preset->group(group);
    for (CLI::Option *option : own)
        option->group(group)->excludes(url)->excludes(preset);
}

void request_options(CLI::App &app, Options &options)
{
    const std::string group = "Request";

    cli::enum_option(&app, "--request", options.kind, RPM_REQUEST_ATOMIC + 1, request_name,
                     "Kind (default append)")
        ->group(group);
    cli::size_option(&app, "--bytes", options.bytes, "Payload of one record (default 64)")
        ->group(group);
    cli::size_option(&app, "--offset", options.offset, "Region write: offset in the region")
        ->group(group);
    app.add_option("--count", options.count, "Batch: number of records")->group(group);
    app.add_option("--slot", options.slot, "Region write: slot size, multiple of 64")->group(group);
    cli::level_option(&app, options.level, "What an acknowledgement promises (default durable)")
        ->group(group);
    cli::method_option(&app, options.method, "Use this method only")->group(group);
    cli::hints_option(
        app.add_option("--hints", options.hints, "Hints in force: all, none, H6,H9 or -H3"))
        ->group(group);
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Print the plan of a request on a platform, with the rule behind each operation",
                 "rpm-explain");
    Options options;

    app.footer(kExamples);
    app.add_option_function<std::string>("URL",
                                         [](const std::string &word) {
                                             throw CLI::ValidationError(
                                                 word, "an argument that is no option; name the "
                                                       "server by --url " +
                                                           word);
                                         })
        ->group("");
    platform_options(app, options);
    request_options(app, options);
    CLI::Option *matrix_only =
        app.add_flag("--matrix", options.matrix,
                     "Print which method proves which level on which platform, instead of a plan");
    cli::hints_option(
        app.add_option("--diff", options.diff, "Print what differs with these hints instead"))
        ->excludes(matrix_only);
    app.add_flag("--reasons", options.reasons, "With --matrix: the reason of every cell");
    app.add_flag("--json", options.json, "As JSON");
    return cli::run(app, argc, argv, [&options] {
        return options.matrix         ? matrix(options)
               : options.diff.empty() ? explain(options)
                                      : diff(options);
    });
}
