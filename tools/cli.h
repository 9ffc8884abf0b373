/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cli.h: options of a program, with --help and --version; and output.h, tool.h.
 */
#ifndef RPM_TOOLS_CLI_H
#define RPM_TOOLS_CLI_H

#include "output.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstring>
#include <functional>
#include <unistd.h>

namespace cli
{

/* An option whose value is a size. */
inline CLI::Option *size_option(CLI::App *app, const std::string &name, uint64_t &bytes,
                                const std::string &text)
{
    return app
        ->add_option_function<std::string>(
            name,
            [&bytes, name](const std::string &value) {
                if (!parse_size(value, &bytes))
                    throw CLI::ValidationError(name, "not a size: " + value);
            },
            text)
        ->type_name("SIZE");
}

/* An enum of the library by its printed name; @count values from 1 on. */
template <typename Name>
CLI::Option *enum_option(CLI::App *app, const std::string &name, uint32_t &value, uint32_t count,
                         Name name_of, const std::string &text)
{
    std::string choices;

    for (uint32_t i = 1; i < count; i++)
        choices += (i > 1 ? "|" : "") + std::string(name_of(i));
    return app
        ->add_option_function<std::string>(
            name,
            [&value, name, count, name_of, choices](const std::string &word) {
                for (uint32_t i = 1; i < count; i++)
                    if (word == name_of(i)) {
                        value = i;
                        return;
                    }
                throw CLI::ValidationError(name, word + " is none of " + choices);
            },
            text)
        ->type_name(choices);
}

inline CLI::Option *level_option(CLI::App *app, uint32_t &level, const std::string &text)
{
    return enum_option(
        app, "--level", level, RPM_DURABLE + 1,
        [](uint32_t i) { return rpm_level_name(static_cast<rpm_level>(i)); }, text);
}

inline CLI::Option *method_option(CLI::App *app, uint32_t &method, const std::string &text)
{
    return enum_option(
        app, "--method", method, RPM_METHOD_COUNT,
        [](uint32_t i) { return rpm_method_name(static_cast<rpm_method>(i)); }, text);
}

/* --secret-file of a program whose connections are all made by connect(). */
inline CLI::Option *secret_option(CLI::App *app)
{
    return app->add_option("--secret-file", secret_file(), "file with the shared secret")
        ->type_name("FILE");
}

inline char bus_error_text[160];

/* Mapped memory that is no longer there: the file was cut short, or its medium failed. There is
 * nothing to go on with, but whoever started us should hear why. */
inline void on_bus_error(int, siginfo_t *info, void *)
{
    if (info->si_code != BUS_ADRERR && info->si_code != BUS_MCEERR_AR)
        return; /* the handler is gone: it happens again and ends us the usual way */
    (void)!write(STDERR_FILENO, bus_error_text, strlen(bus_error_text));
    _exit(kFailed);
}

inline void report_bus_errors(const std::string &name)
{
    struct sigaction action = {};

    snprintf(bus_error_text, sizeof(bus_error_text),
             "%s: the pool's memory is gone: its file was cut short, or its medium failed\n",
             name.c_str());
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
    sigaction(SIGBUS, &action, nullptr);
}

/* What is wrong with a program's command: not one of those it has, or none. */
inline std::string wrong_command(const CLI::App &app)
{
    std::string text = "a command is required:";

    for (const std::string &word : app.remaining())
        if (word.empty() || word[0] != '-') {
            text = "there is no command '" + word + "'; there are:";
            break;
        }
    for (const CLI::App *sub : app.get_subcommands([](const CLI::App *) { return true; }))
        text += " " + sub->get_name();
    return text;
}

/* What is wrong with a configuration file, or with any other word. The parser says of a key that it
 * does not know, and of a section, that it was "not able to parse" it. */
inline std::string wrong_word(const CLI::ParseError &error)
{
    const std::string unknown = CLI::ConfigError::Extras("").what();
    const std::string opened = ".++"; /* a section */
    std::string text = error.what();

    if (text.compare(0, unknown.size(), unknown) != 0)
        return text;
    text.erase(0, unknown.size());
    if (text.size() > opened.size() &&
        text.compare(text.size() - opened.size(), std::string::npos, opened) == 0)
        text = "[" + text.substr(0, text.size() - opened.size()) + "]";
    return "--config: '" + text + "' is no option, or not of that section";
}

/* Parse and run: the exit code, but for what became of standard output. */
inline int parse_and_run(CLI::App &app, int argc, char **argv, const std::function<int()> &body)
{
    std::string name = app.get_name();

    app.set_version_flag("--version", name + " " + rpm_version() + " (librpm)");
    app.set_help_all_flag("--help-all", "Help of every subcommand");
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success &success) {
        return app.exit(success);
    } catch (const CLI::ParseError &error) {
        bool command = app.get_require_subcommand_min() == 0 || !app.get_subcommands().empty();

        fprintf(stderr, "%s: %s\nTry '%s --help'.\n", name.c_str(),
                command ? wrong_word(error).c_str() : wrong_command(app).c_str(), name.c_str());
        return kUsage;
    }
    report_bus_errors(name);
    try {
        return body();
    } catch (const std::exception &failure) {
        fflush(stdout);
        fprintf(stderr, "%s: %s\n", name.c_str(), failure.what());
        return kFailed;
    }
}

/* What main() returns. Without arguments the help is shown as wrong usage. */
inline int run(CLI::App &app, int argc, char **argv, const std::function<int()> &body)
{
    open_standard();
    return close_standard(app.get_name(), parse_and_run(app, argc, argv, body));
}

} // namespace cli
#endif
