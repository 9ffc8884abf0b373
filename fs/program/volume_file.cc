/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_file.cc: parse the file of a volume.
 *
 * Tests: tests/unit/fs/program/volume_file_test.cpp, tests/fuzz/fs_volume_file_fuzz.cpp
 */
#include "program/volume_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rfs
{

static const char *const kBlanks = " \t\r";

static std::string trimmed(const std::string &text)
{
    size_t first = text.find_first_not_of(kBlanks);

    if (first == text.npos)
        return "";
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

static constexpr size_t kFileBytesMax = 256 << 10; /* lines of 256 servers, and more */

double seconds_of(const std::string &text)
{
    char *end = nullptr;
    double seconds = strtod(text.c_str(), &end);

    return *end == '\0' && seconds > 0 && seconds < 1e9 ? seconds : 0;
}

/* Returns what is wrong with the line; "": nothing. */
static std::string take_line(const std::string &line, VolumePlace &place)
{
    size_t equals = line.find('=');

    if (line.find('\0') != line.npos)
        return "the line has a zero byte";
    if (line.empty() || line[0] == '#')
        return "";
    if (equals == line.npos)
        return "expected \"key = value\"";

    std::string key = trimmed(line.substr(0, equals));
    std::string value = trimmed(line.substr(equals + 1));

    if (value.empty())
        return "'" + key + "' has no value";
    if (key == "server") {
        place.servers.push_back(value);
    } else if (key == "secret-file") {
        place.secret_file = value;
    } else if (key == "patience") {
        place.patience_s = seconds_of(value);
        if (place.patience_s == 0)
            return "patience: '" + value + "' is not a number of seconds above 0 and below 10^9";
    } else {
        return "there is no key '" + key + "'; there are: server, secret-file, patience";
    }
    return "";
}

VolumePlace parse_volume_file(const std::string &path, const std::string &text)
{
    std::istringstream lines(text);
    VolumePlace place;
    uint64_t number = 0;

    for (std::string line; std::getline(lines, line);) {
        std::string wrong = take_line(trimmed(line), place);

        number++;
        if (!wrong.empty())
            throw std::runtime_error(path + ":" + std::to_string(number) + ": " + wrong);
    }
    if (place.servers.empty())
        throw std::runtime_error(path + ": names no server: add a line \"server = URL\" for each");
    return place;
}

VolumePlace read_volume_file(const std::string &path)
{
    std::error_code ignored;
    std::ifstream file(path);
    std::string text(kFileBytesMax + 1, '\0');

    if (std::filesystem::is_directory(path, ignored))
        throw std::runtime_error(path + " is a directory; expected is the file of a volume, with a "
                                        "line \"server = URL\" for each server");
    if (file) {
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<size_t>(file.gcount()));
        if (text.size() > kFileBytesMax)
            throw std::runtime_error(path + " has more than " + std::to_string(kFileBytesMax) +
                                     " bytes: it is not the file of a volume, with a line "
                                     "\"server = URL\" for each server");
        if (file.eof())
            file.clear();
    }
    if (!file)
        throw std::runtime_error(path + ": " + strerror(errno) +
                                 ": the file of the volume, with a line \"server = URL\" for each "
                                 "server, cannot be read; give another one with --conf, or --url "
                                 "for each server");
    return parse_volume_file(path, text);
}

std::string volume_file(const std::string &name)
{
    return "/etc/librpm/fs/" + name + ".conf";
}

} // namespace rfs
