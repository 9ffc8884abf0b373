// SPDX-License-Identifier: BSD-3-Clause
#include "support/cuts_report.h"

#include "support/liar.h"

#include "base/canary.h"

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <unistd.h>

namespace cuts
{

static const unsigned RUN_SECONDS_MAX = 60; // in real time; a run takes well below a millisecond

static const char *const FAULTS[] = { "none", "drop", "tear", "reorder", "kill", "client" };
static const Setup *now_setup;
static const Plan *now_plan;

const char *fault_name(Fault fault)
{
    return FAULTS[static_cast<int>(fault)];
}

static bool fault_from(const std::string &name, Fault *fault)
{
    for (int i = 0; i < 6; i++)
        if (name == FAULTS[i]) {
            *fault = static_cast<Fault>(i);
            return true;
        }
    return false;
}

std::string to_text(const Setup &setup, const Plan &plan)
{
    std::string text =
        "scenario=" + setup.scenario + " preset=" + setup.preset + " hints=" + setup.hints +
        " native=" + std::to_string(setup.native_flush) +
        " method=" + rpm_method_name(static_cast<rpm_method>(setup.method)) +
        " level=" + rpm_level_name(static_cast<rpm_level>(setup.level)) +
        " canary=" + std::to_string(setup.canary) + (setup.agent ? " agent=1" : "") +
        (setup.soc ? " soc=1" : "") +
        (setup.lie == 0 ? std::string()
                        : std::string(" lie=") + lie_name(static_cast<Lie>(setup.lie))) +
        " seed=" + std::to_string(setup.seed) + " cuts=";

    for (size_t i = 0; i < plan.size(); i++)
        text +=
            (i == 0 ? "" : "+") + std::to_string(plan[i].event) + ":" + fault_name(plan[i].fault);
    return text;
}

static bool read_plan(const std::string &text, Plan *plan)
{
    for (size_t at = 0; at < text.size();) {
        size_t colon = text.find(':', at);
        size_t end = text.find('+', at);
        Cut cut = {};

        if (colon == std::string::npos)
            return false;
        if (end == std::string::npos)
            end = text.size();
        cut.event = strtoull(text.c_str() + at, nullptr, 10);
        if (!fault_from(text.substr(colon + 1, end - colon - 1), &cut.fault))
            return false;
        plan->push_back(cut);
        at = end + 1;
    }
    return true;
}

template <typename Name> static uint32_t number_of(const std::string &value, Name name, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (value == name(i))
            return i;
    return 0;
}

static bool read_pair(const std::string &key, const std::string &value, Setup *setup, Plan *plan)
{
    if (key == "scenario")
        setup->scenario = value;
    else if (key == "preset")
        setup->preset = value;
    else if (key == "hints")
        setup->hints = value;
    else if (key == "native")
        setup->native_flush = static_cast<uint32_t>(atoi(value.c_str()));
    else if (key == "canary")
        setup->canary = atoi(value.c_str());
    else if (key == "agent")
        setup->agent = atoi(value.c_str()) != 0;
    else if (key == "soc")
        setup->soc = atoi(value.c_str()) != 0;
    else if (key == "lie")
        setup->lie = static_cast<int>(number_of(
            value, [](uint32_t k) { return std::string(lie_name(static_cast<Lie>(k))); }, LIES));
    else if (key == "seed")
        setup->seed = strtoull(value.c_str(), nullptr, 10);
    else if (key == "method")
        setup->method = number_of(
            value, [](uint32_t i) { return rpm_method_name(static_cast<rpm_method>(i)); },
            RPM_METHOD_COUNT);
    else if (key == "level")
        setup->level = number_of(
            value, [](uint32_t i) { return rpm_level_name(static_cast<rpm_level>(i)); },
            RPM_DURABLE + 1);
    else if (key == "cuts")
        return read_plan(value, plan);
    else
        return false;
    return true;
}

bool from_text(const std::string &text, Setup *setup, Plan *plan)
{
    for (size_t at = 0; at < text.size();) {
        size_t end = text.find(' ', at);
        size_t equals = text.find('=', at);

        if (end == std::string::npos)
            end = text.size();
        if (equals == std::string::npos || equals > end)
            return false;
        if (!read_pair(text.substr(at, equals - at), text.substr(equals + 1, end - equals - 1),
                       setup, plan))
            return false;
        at = end + 1;
    }
    return true;
}

void report(const Setup &setup, const Plan &plan, const std::string &what)
{
    fflush(stdout);
    fprintf(stderr, "violation: %s\n  replay: LIBRPM_REPLAY=\"%s\" %s\n", what.c_str(),
            to_text(setup, plan).c_str(), program_invocation_name);
}

static void last_words(int signal)
{
    static const char text[] = "the program ended in the middle of a run\n";

    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
        _exit(3);
    if (now_setup != nullptr)
        report(*now_setup, *now_plan, signal == SIGALRM ? "the run does not end" : "aborted");
    ::signal(signal, SIG_DFL);
    raise(signal);
}

Watch::Watch(const Setup &setup, const Plan &plan)
{
    now_setup = &setup;
    now_plan = &plan;
    signal(SIGABRT, last_words);
    signal(SIGSEGV, last_words);
    signal(SIGALRM, last_words);
    alarm(RUN_SECONDS_MAX);
    rpmi_canary_now = static_cast<rpmi_canary>(setup.canary);
}

Watch::~Watch()
{
    alarm(0);
    rpmi_canary_now = RPMI_CANARY_NONE;
    now_setup = nullptr;
}

bool replaying()
{
    static const bool set = getenv("LIBRPM_REPLAY") != nullptr;

    return set;
}

uint64_t scaled(uint64_t runs)
{
    const char *percent = getenv("LIBRPM_CRASH_BUDGET");

    return percent == nullptr ? runs : runs * strtoull(percent, nullptr, 10) / 100;
}

bool wanted(const Scenario &scenario)
{
    const char *name = getenv("LIBRPM_CRASH_SCENARIO");

    return name == nullptr || strcmp(name, scenario.name) == 0;
}

static void last_line()
{
    printf("cuts %" PRIu64 " violations %" PRIu64 "\n", total().cuts, total().violations);
    fflush(stdout);
    if (total().violations > 0 || total().cuts == 0)
        _exit(1);
}

void print_total_at_end()
{
    static bool done;

    if (done)
        return;
    done = true;
    // Hundreds of thousands of worlds are opened and closed: let malloc keep their memory.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    atexit(last_line);
}

} // namespace cuts
