/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * completion.h: make the completion scripts of bash and zsh from a program's options: they complete
 * its commands, their options, and values that are words of a set.
 *
 * The words of a set come from CLI::IsMember, as --help shows them, or from offer(). A value of
 * type FILE, PATH or DIR is completed by names of files or folders. Other values are not completed.
 *
 * Tests: tests/tools/completion_test
 */
#ifndef RPM_TOOLS_COMPLETION_H
#define RPM_TOOLS_COMPLETION_H

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace cli
{

/* How the value of an option, or one argument, is completed. */
struct Value {
    enum Kind { kNone, kOther, kFile, kFolder, kWord, kList };

    Kind kind = kNone;
    std::vector<std::string> words; /* of kWord and kList */
};

inline std::map<const CLI::Option *, Value> &offered()
{
    static std::map<const CLI::Option *, Value> values;

    return values;
}

/* A value of @option is one of @words; with kList, a list of them separated by commas. */
inline CLI::Option *offer(CLI::Option *option, const std::vector<std::string> &words,
                          Value::Kind kind = Value::kWord)
{
    offered()[option] = { kind, words };
    return option;
}

namespace completion
{

struct Entry {
    std::vector<std::string> names; /* none: an argument */
    std::string text;
    std::string what; /* name of the value in --help */
    Value value;
    bool repeats = false; /* given more than once, or with more than one value */
};

struct Command {
    std::string name; /* "": the program itself */
    std::string text;
    std::vector<Entry> options;
    std::vector<Entry> arguments;
};

inline std::vector<std::string> split(const std::string &text, char at)
{
    std::vector<std::string> words;
    size_t from = 0, to;

    while ((to = text.find(at, from)) != std::string::npos) {
        words.push_back(text.substr(from, to - from));
        from = to + 1;
    }
    words.push_back(text.substr(from));
    return words;
}

inline std::string joined(const std::vector<std::string> &words, const std::string &between)
{
    std::string text;

    for (const std::string &word : words)
        text += (text.empty() ? "" : between) + word;
    return text;
}

inline Value value_of(const CLI::Option &option)
{
    auto known = offered().find(&option);
    std::string type = option.get_type_name();
    size_t open = type.find('{'), close = type.find('}');

    if (option.get_items_expected_max() == 0)
        return {};
    if (known != offered().end())
        return known->second;
    if (open < close && close != std::string::npos)
        return { option.get_delimiter() == ',' ? Value::kList : Value::kWord,
                 split(type.substr(open + 1, close - open - 1), ',') };
    type = type.substr(0, type.find(':'));
    return { type == "FILE" || type == "PATH" ? Value::kFile
             : type == "DIR"                  ? Value::kFolder
                                              : Value::kOther,
             {} };
}

inline Entry entry_of(const CLI::Option &option)
{
    Entry entry;

    for (const std::string &name : option.get_snames())
        entry.names.push_back("-" + name);
    for (const std::string &name : option.get_lnames())
        entry.names.push_back("--" + name);
    entry.text = joined(split(option.get_description(), '\n'), " ");
    entry.what = option.get_lnames().empty() ? option.get_name(true) : option.get_lnames().back();
    entry.value = value_of(option);
    entry.repeats = option.get_items_expected_max() > 1;
    return entry;
}

inline std::vector<const CLI::App *> parts_of(const CLI::App *app)
{
    return app->get_subcommands([](const CLI::App *) { return true; });
}

/* The options of @app that --help shows, and those of its option groups, which have no name. */
inline void collect(const CLI::App *app, Command &command)
{
    for (const CLI::Option *option : app->get_options()) {
        Entry entry = entry_of(*option);
        std::vector<Entry> &all = entry.names.empty() ? command.arguments : command.options;
        bool known = !entry.names.empty() &&
                     std::any_of(all.begin(), all.end(), [&entry](const Entry &other) {
                         return other.names == entry.names;
                     });

        if (!known && !option->get_group().empty())
            all.push_back(entry);
    }
    for (const CLI::App *part : parts_of(app))
        if (part->get_name().empty())
            collect(part, command);
}

inline Command command_of(const CLI::App *app, const std::string &name)
{
    Command command;

    command.name = name;
    command.text = app->get_description();
    collect(app, command);
    if (app->get_fallthrough() && app->get_parent() != nullptr)
        collect(app->get_parent(), command);
    return command;
}

/* The program itself comes first. */
inline std::vector<Command> commands_of(const CLI::App &app)
{
    std::vector<Command> commands = { command_of(&app, "") };

    for (const CLI::App *part : parts_of(&app))
        if (!part->get_name().empty())
            commands.push_back(command_of(part, part->get_name()));
    return commands;
}

inline void replace_all(std::string &text, const std::string &what, const std::string &by)
{
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
        text.replace(at, what.size(), by);
}

/* @text with @F@ replaced by the prefix of the shell functions, and @P@ by the program's name. */
inline std::string named(std::string text, const std::string &program)
{
    std::string function = "_" + program;

    std::replace(function.begin(), function.end(), '-', '_');
    replace_all(text, "@F@", function);
    replace_all(text, "@P@", program);
    return text;
}

/* @text quoted for a shell, in single quotes. */
inline std::string quoted(std::string text)
{
    replace_all(text, "'", "'\\''");
    return "'" + text + "'";
}

/* The lines of a shell case; patterns with the same action share one line. */
struct Cases {
    std::vector<std::pair<std::string, std::string>> lines; /* action, patterns */

    void add(const std::string &where, const std::string &what)
    {
        for (auto &line : lines)
            if (line.first == what) {
                line.second += " | " + where;
                return;
            }
        lines.emplace_back(what, where);
    }
    std::string text() const
    {
        std::string all;

        for (const auto &line : lines)
            all += "    " + line.second + ") " + line.first + " ;;\n";
        return all;
    }
};

/* Reads the words before the cursor, some of which readline has broken at = or :, and calls the
 * functions @F@_has and @F@_value, which are generated for the program. */
constexpr const char *kBash = R"sh(
# Parse the words before the cursor: a command, arguments, or an option that takes a value.
@F@_before()
{
    local i word broken=
    @F@_has ''
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == [=:]* ]]; then
            [ -n "$kind" ] || broken=yes
        elif [ -n "$broken" ]; then
            broken=
        elif [ -n "$kind" ]; then
            kind=
        elif [[ $word == -* ]]; then
            @F@_value "$command $word"
        elif [ -z "$command" ] && [[ " $commands " == *" $word "* ]]; then
            command=$word place=0
            @F@_has "$command"
        else
            place=$((place + 1))
        fi
    done
    [ -z "$broken" ] || kind=other
}

@F@()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prefix= command= commands= options= place=0 kind= words= word
    COMPREPLY=()
    @F@_before
    if [ -n "$kind" ]; then
        [ "$cur" != = ] || cur=
    elif [[ $cur == --*=* ]]; then
        @F@_value "$command ${cur%%=*}"
        prefix=${cur%%=*}= cur=${cur#*=}
    elif [[ $cur != -* ]]; then
        @F@_value "$command @$place"
        [ -n "$command" ] || [ -z "$commands" ] || kind=word words=$commands
    fi
    case $kind in
    '') words=$options ;;
    list)
        prefix+=${cur%"${cur##*,}"}
        for word in ${prefix//[,=]/ }; do
            words=" $words "
            words=${words/ $word / }
        done
        cur=${cur##*,}
        ;;
    esac
    case $kind in
    file) mapfile -t COMPREPLY < <(compgen -f -P "$prefix" -- "$cur") ;;
    folder) mapfile -t COMPREPLY < <(compgen -d -P "$prefix" -- "$cur") ;;
    other) ;;
    *) mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$words" -- "$cur") ;;
    esac
    [[ $kind != f* ]] || compopt -o filenames 2>/dev/null
    return 0
}
complete -F @F@ @P@
)sh";

inline std::string bash_kind(const Value &value)
{
    static const char *const names[] = { "", "other", "file", "folder", "word", "list" };
    std::string text = std::string("kind=") + names[value.kind];

    return value.words.empty() ? text : text + " words=" + quoted(joined(value.words, " "));
}

/* The values of each option and of each argument. */
inline void bash_values(const Command &command, Cases &values)
{
    for (const Entry &entry : command.options)
        for (const std::string &name : entry.names)
            if (entry.value.kind != Value::kNone)
                values.add(quoted(command.name + " " + name), bash_kind(entry.value));
    for (size_t i = 0; i < command.arguments.size(); i++) {
        const Entry &entry = command.arguments[i];
        std::string place = entry.repeats ? "" : std::to_string(i);

        values.add(quoted(command.name + " @" + place) + (entry.repeats ? "*" : ""),
                   bash_kind(entry.value));
    }
}

inline std::string bash_text(const CLI::App &app)
{
    std::vector<Command> commands = commands_of(app);
    std::vector<std::string> subs;
    Cases has, values;

    for (size_t i = 1; i < commands.size(); i++)
        subs.push_back(commands[i].name);
    for (const Command &command : commands) {
        std::vector<std::string> names;

        for (const Entry &entry : command.options)
            names.insert(names.end(), entry.names.begin(), entry.names.end());
        has.add(quoted(command.name), "options=" + quoted(joined(names, " ")));
        bash_values(command, values);
    }
    return named("# Completion of @P@ in bash, made by: @P@ --completion bash\n"
                 "@F@_has()\n{\n    commands=" +
                     quoted(joined(subs, " ")) + "\n    case $1 in\n" + has.text() +
                     "    esac\n}\n\n@F@_value()\n{\n    kind= words=\n    case $1 in\n" +
                     values.text() + "    esac\n}\n" + kBash,
                 app.get_name());
}

/* Text of a specification of _arguments, where @special characters have a meaning. */
inline std::string escaped(const std::string &text, const std::string &special)
{
    std::string all;

    for (char c : text)
        all += (special.find(c) != std::string::npos ? "\\" : "") + std::string(1, c);
    return all;
}

inline std::string zsh_value(const Entry &entry)
{
    std::string action = "( )"; /* no words: a message alone would hide options */

    switch (entry.value.kind) {
    case Value::kNone:
        return "";
    case Value::kOther:
        break;
    case Value::kFile:
        action = "_files";
        break;
    case Value::kFolder:
        action = "_files -/";
        break;
    case Value::kWord:
        action = "(" + joined(entry.value.words, " ") + ")";
        break;
    case Value::kList:
        action = "_sequence compadd - " + joined(entry.value.words, " ");
        break;
    }
    return ":" + escaped(entry.what, ":\\") + ":" + action;
}

/* One word of _arguments for each name of an option; after one of them the others are not
 * offered. */
inline std::string zsh_option(const Entry &entry)
{
    std::string text;

    for (const std::string &name : entry.names) {
        bool takes = entry.value.kind != Value::kNone, is_long = name[1] == '-';

        text += " \\\n    " +
                quoted((entry.repeats ? "*" : "(" + joined(entry.names, " ") + ")") + name +
                       (!takes    ? ""
                        : is_long ? "="
                                  : "+") +
                       "[" + escaped(entry.text, "[]\\") + "]" + zsh_value(entry));
    }
    return text;
}

inline std::string zsh_arguments(const Command &command)
{
    std::string text;

    for (const Entry &entry : command.options)
        text += zsh_option(entry);
    for (size_t i = 0; i < command.arguments.size(); i++)
        text += " \\\n    " + quoted((command.arguments[i].repeats ? "*" : std::to_string(i + 1)) +
                                     zsh_value(command.arguments[i]));
    return text;
}

inline std::string zsh_text(const CLI::App &app)
{
    std::vector<Command> commands = commands_of(app);
    std::string list, cases, first = zsh_arguments(commands[0]);

    for (size_t i = 1; i < commands.size(); i++) {
        list += "    " + quoted(commands[i].name + ":" + commands[i].text) + "\n";
        cases +=
            "  " + commands[i].name + ")\n  _arguments" + zsh_arguments(commands[i]) + "\n  ;;\n";
    }
    if (commands.size() > 1)
        first +=
            " \\\n    '1: :@F@_commands' \\\n    '*::: :->command' && result=0\n"
            "  [[ $state == command ]] || return result\n"
            "  words=(\"$line[1]\" \"${words[@]}\")\n  (( CURRENT += 1 ))\n  case $line[1] in\n" +
            cases + "  esac && result=0\n  return result";
    return named("#compdef @P@\n# Completion of @P@ in zsh, made by: @P@ --completion zsh\n" +
                     (list.empty() ? ""
                                   : "@F@_commands() {\n  local -a commands=(\n" + list +
                                         "  )\n  _describe command commands\n}\n") +
                     "@F@() {\n  local curcontext=$curcontext state line result=1\n"
                     "  typeset -A opt_args\n"
                     "  _arguments -C" +
                     first +
                     "\n}\nif [[ $funcstack[1] == _@P@ ]]; then\n  @F@ \"$@\"\nelse\n"
                     "  compdef @F@ @P@\nfi\n",
                 app.get_name());
}

} // namespace completion

/* @shell is "bash" or "zsh". */
inline std::string completion_text(const CLI::App &app, const std::string &shell)
{
    return shell == "bash" ? completion::bash_text(app) : completion::zsh_text(app);
}

} // namespace cli
#endif
