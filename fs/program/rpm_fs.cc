/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpm_fs.cc: rpm-fs, which makes, mounts and checks volumes. Under the name mount.rpmfs or
 * mount.fuse.rpmfs it takes the arguments that mount(8) gives to such a program.
 *
 * Tests: tests/tools/fs_test
 */
#include "program/command.h"

#include "cli.h"

#include <map>

namespace
{

const char *const kExamples =
    "A volume is found by /etc/librpm/fs/NAME.conf, or by --url for each of its servers.\n"
    "Examples:\n"
    "  rpm-fs mkfs home --replicas 2 --size 10G\n"
    "  rpm-fs mount home /mnt/home\n"
    "  rpm-fs df home\n"
    "  rpm-fs cp -r src home:/src\n"
    "  rpm-fs check --data home\n";

struct Command {
    const char *name;
    const char *about;
    rfs::Body (*add)(CLI::App &app);
};

const Command kCommands[] = {
    { "mkfs", "Make a volume on servers", rfs::add_make },
    { "mount", "Mount a volume at a directory", rfs::add_mount },
    { "check", "Check a volume, mounted or not, or repair it", rfs::add_check },
    { "df", "Show how full a volume is", rfs::add_usage },
    { "stat", "Show the attributes of files", rfs::add_stat },
    { "ls", "List directories", rfs::add_list },
    { "cat", "Print the contents of files", rfs::add_print },
    { "promote", "Continue without servers that are permanently lost", rfs::add_promote },
    { "restore", "Use a server again that was promoted away", rfs::add_restore },
    { "cp", "Copy files into a volume, out of it, or within it", rfs::add_copy },
    { "bench", "Measure reads, writes and names on a volume", rfs::add_bench },
};

/* As a mount helper: SOURCE DIR [-sfnvrw] [-t TYPE] [-o OPTIONS] becomes mount SOURCE DIR -o
 * OPTIONS; with -f, which asks to mount nothing, no words. --help shows that of mount. */
std::vector<std::string> helper_arguments(int argc, char **argv)
{
    std::vector<std::string> words = { "rpm-fs", "mount" };
    std::string options;
    bool fakes = false;

    for (int i = 1; i < argc; i++) {
        std::string word = argv[i];

        if (word == "-o" && i + 1 < argc)
            options += (options.empty() ? "" : ",") + std::string(argv[++i]);
        else if (word == "-t" && i + 1 < argc)
            i++;
        else if (word == "-r")
            options += options.empty() ? "ro" : ",ro";
        else if (word == "-f")
            fakes = true;
        else if (word == "-h" || word == "--help")
            return { "rpm-fs", "mount", "--help" };
        else if (word[0] != '-')
            words.push_back(word);
    }
    if (!options.empty())
        words.insert(words.end(), { "-o", options });
    return fakes ? std::vector<std::string>() : words;
}

bool is_helper(const char *name)
{
    const char *slash = strrchr(name, '/');

    return strncmp(slash != nullptr ? slash + 1 : name, "mount.", 6) == 0;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Make, mount and check volumes of files on librpm servers.", "rpm-fs");
    std::map<const CLI::App *, rfs::Body> bodies;
    std::vector<std::string> words(argv, argv + argc);
    std::vector<char *> pointers;

    app.footer(kExamples);
    app.require_subcommand(1);
    for (const Command &command : kCommands) {
        CLI::App *sub = app.add_subcommand(command.name, command.about);

        bodies[sub] = command.add(*sub);
    }
    if (argc > 0 && is_helper(argv[0]))
        words = helper_arguments(argc, argv);
    if (words.empty())
        return 0;
    for (std::string &word : words)
        pointers.push_back(word.data());
    return cli::run(app, static_cast<int>(pointers.size()), pointers.data(),
                    [&] { return bodies.at(app.get_subcommands().front())(); });
}
