/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cli.h: the command line of a program: options, --help, --version and --completion. Includes
 * output.h and tool.h.
 */
#ifndef RPM_TOOLS_CLI_H
#define RPM_TOOLS_CLI_H

#include "completion.h"
#include "output.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstring>
#include <functional>
#include <iostream>
#include <sstream>
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
                    throw CLI::ValidationError(name, "not a size: " + value + "; " + size_form());
            },
            text)
        ->type_name("SIZE");
}

/* An enum of the library by its printed name; @count values from 1 on. */
template <typename Name>
CLI::Option *enum_option(CLI::App *app, const std::string &name, uint32_t &value, uint32_t count,
                         Name name_of, const std::string &text)
{
    std::vector<std::string> words;

    for (uint32_t i = 1; i < count; i++)
        words.push_back(name_of(i));
    std::string choices = completion::joined(words, "|");
    CLI::Option *option = app->add_option_function<std::string>(
        name,
        [&value, name, words, choices](const std::string &word) {
            auto found = std::find(words.begin(), words.end(), word);

            if (found == words.end())
                throw CLI::ValidationError(name, word + " is none of " + choices);
            value = static_cast<uint32_t>(found - words.begin()) + 1;
        },
        text);

    return offer(option, words)->type_name(choices);
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

/* An option whose value switches hints. */
inline CLI::Option *hints_option(CLI::Option *option)
{
    std::vector<std::string> words = { "all", "none" };

    for (uint32_t hint = 1; RPM_HINTS_ALL >> hint != 0; hint++)
        words.push_back("H" + std::to_string(hint));
    for (uint32_t hint = 1; RPM_HINTS_ALL >> hint != 0; hint++)
        words.push_back("-H" + std::to_string(hint));
    return offer(option, words, Value::kList)
        ->check(
            [](const std::string &text) {
                uint32_t hints;

                return std::string(rpm_hints_parse(text.c_str(), &hints) == 0 ? ""
                                                                              : rpm_last_error());
            },
            "");
}

/* --secret-file of a program whose connections are all made by connect(). */
inline CLI::Option *secret_option(CLI::App *app)
{
    return app->add_option("--secret-file", secret_file(), "file with the shared secret")
        ->type_name("FILE");
}

inline char bus_error_text[160];

/* Handler for SIGBUS: mapped memory cannot be accessed, because the file was truncated or its
 * medium failed. The program ends with a line on standard error. */
inline void on_bus_error(int, siginfo_t *info, void *)
{
    if (info->si_code != BUS_ADRERR && info->si_code != BUS_MCEERR_AR)
        return; /* the handler is reset: the signal is raised again and ends the process */
    (void)!write(STDERR_FILENO, bus_error_text, strlen(bus_error_text));
    _exit(kFailed);
}

inline void report_bus_errors(const std::string &name)
{
    struct sigaction action = {};

    snprintf(bus_error_text, sizeof(bus_error_text),
             "%s: the pool's memory is gone: its file was truncated, or its medium failed\n",
             name.c_str());
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
    sigaction(SIGBUS, &action, nullptr);
}

/* Is the command missing or unknown? */
inline bool is_about_command(const CLI::App &app, const CLI::ParseError &error)
{
    return app.get_require_subcommand_min() > 0 && app.get_subcommands().empty() &&
           (error.get_name() == "RequiredError" || error.get_name() == "ExtrasError");
}

/* The error text for a command that is unknown or missing. */
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

/* The error text for a key of the configuration file, or a value, that cannot be parsed. CLI11
 * reports an unknown key or section of a file as "not able to parse", and a value that is not a
 * number as "Could not convert". */
inline std::string wrong_word(const CLI::ParseError &error)
{
    const std::string unknown = CLI::ConfigError::Extras("").what();
    const std::string opened = ".++";                   /* how CLI11 names a section */
    const std::string converts = "Could not convert: "; /* OPTION = VALUE */
    std::string text = error.what();
    size_t equals = text.find(" = ");

    if (text.compare(0, converts.size(), converts) == 0 && equals != std::string::npos)
        return text.substr(converts.size(), equals - converts.size()) + ": '" +
               text.substr(equals + 3) + "' is not a number, or out of range";
    if (text.compare(0, unknown.size(), unknown) != 0)
        return text;
    text.erase(0, unknown.size());
    if (text.size() > opened.size() &&
        text.compare(text.size() - opened.size(), std::string::npos, opened) == 0)
        text = "[" + text.substr(0, text.size() - opened.size()) + "]";
    return "--config: '" + text + "' is no option, or no option of that section";
}

/* Print the help or version text that ended the parsing. */
inline int print_exit(const CLI::App &app, const CLI::Success &success)
{
    std::ostringstream text;
    int code = app.exit(success, text, std::cerr);

    print(text.str());
    return code;
}

/* Parse and run. Returns the exit code, without regard to errors of standard output. */
inline int parse_and_run(CLI::App &app, int argc, char **argv, const std::function<int()> &body)
{
    std::string name = app.get_name();
    std::string shell;

    app.set_version_flag("--version", name + " " + rpm_version() + " (librpm)");
    app.set_help_all_flag("--help-all", "Help of every subcommand");
    app.add_option_function<std::string>(
           "--completion",
           [&shell](const std::string &word) {
               shell = word;
               throw CLI::Success();
           },
           "Print the completion script for that shell")
        ->check(CLI::IsMember({ "bash", "zsh" }))
        ->configurable(false);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success &success) {
        if (shell.empty()) /* --help, or an option of the program that ends it */
            return print_exit(app, success);
        print(completion_text(app, shell));
        return kDone;
    } catch (const CLI::ParseError &error) {
        std::string wrong = is_about_command(app, error) ? wrong_command(app) : wrong_word(error);

        fprintf(stderr, "%s: %s\nTry '%s --help'.\n", name.c_str(), wrong.c_str(), name.c_str());
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

/* The return value of main(). Without arguments the help is shown as wrong usage. */
inline int run(CLI::App &app, int argc, char **argv, const std::function<int()> &body)
{
    open_standard();
    return close_standard(app.get_name(), parse_and_run(app, argc, argv, body));
}

} // namespace cli
#endif
