/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * access_times.cc: read the options of a mount.
 *
 * Tests: tests/fs/mount_test
 */
#include "mount/access_times.h"

#include <fstream>
#include <sstream>
#include <string_view>

namespace rfs
{

namespace
{

/* A line of /proc/self/mountinfo, as far as it matters here (proc(5)). */
struct MountLine {
    std::string number;
    std::string directory; /* blanks and such as \040 */
    std::string options;   /* of the mount, and behind them those of its file system */
};

} // namespace

static bool parse(const std::string &line, MountLine &into)
{
    std::istringstream words(line);
    std::string skipped;
    std::string word;

    words >> into.number >> skipped >> skipped >> skipped >> into.directory >> into.options;
    while (words >> word && word != "-") {
    }
    words >> skipped >> skipped >> word;
    into.options = "," + into.options + "," + word + ",";
    return !words.fail();
}

/* As the kernel shows a path there. */
static std::string shown(const std::string &path)
{
    std::string text;

    for (char c : path) {
        char octal[8];

        if (std::string_view(" \t\n\\").find(c) == std::string_view::npos) {
            text += c;
        } else {
            snprintf(octal, sizeof(octal), "\\%03o", static_cast<unsigned int>(c));
            text += octal;
        }
    }
    return text;
}

AccessTimes::AccessTimes(const std::string &directory)
{
    std::ifstream mounts("/proc/self/mountinfo");
    std::string wanted = shown(directory);
    MountLine found;

    for (std::string line; std::getline(mounts, line);)
        if (parse(line, found) && found.directory == wanted)
            mount_ = found.number; /* the last one there hides the others */
    look();
}

void AccessTimes::look()
{
    std::ifstream mounts("/proc/self/mountinfo");
    MountLine found;

    files_ = directories_ = false;
    for (std::string line; !mount_.empty() && std::getline(mounts, line);) {
        if (!parse(line, found) || found.number != mount_)
            continue;
        files_ = found.options.find(",ro,") == std::string::npos &&
                 found.options.find(",noatime,") == std::string::npos;
        directories_ = files_ && found.options.find(",nodiratime,") == std::string::npos;
    }
}

} // namespace rfs
