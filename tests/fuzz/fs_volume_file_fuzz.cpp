// SPDX-License-Identifier: BSD-3-Clause
// fs_volume_file_fuzz.cpp: /etc/librpm/fs/NAME.conf, which rpm-fs reads. What the parser accepts,
// printed and parsed again, is the same; what it refuses, it refuses with its own exception and the
// file's name.
#include "fuzz.h"

#include "program/volume_file.h"

#include <optional>
#include <stdexcept>

// nullopt: refused.
static std::optional<rfs::VolumePlace> parse(const std::string &text)
{
    try {
        return rfs::parse_volume_file("the file", text);
    } catch (const std::runtime_error &error) {
        FUZZ_CHECK(strncmp(error.what(), "the file:", 9) == 0);
        return std::nullopt;
    }
}

static std::string line(const char *key, const std::string &value)
{
    FUZZ_CHECK(value.find('\0') == value.npos && value.find('\n') == value.npos);
    return std::string(key) + " = " + value + "\n";
}

static std::string printed(const rfs::VolumePlace &place)
{
    std::string text = "# again\n";
    char seconds[64];

    for (const std::string &server : place.servers)
        text += line("server", server);
    if (!place.secret_file.empty())
        text += line("secret-file", place.secret_file);
    snprintf(seconds, sizeof(seconds), "%.17g", place.patience_s);
    return text + (place.patience_s != 0 ? line("patience", seconds) : "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string text(reinterpret_cast<const char *>(data), size);
    std::optional<rfs::VolumePlace> place = parse(text);

    if (!place)
        return 0;
    FUZZ_CHECK(!place->servers.empty());
    FUZZ_CHECK(place->patience_s >= 0 && place->patience_s < 1e9);

    std::optional<rfs::VolumePlace> again = parse(printed(*place));

    FUZZ_CHECK(again);
    FUZZ_CHECK(again->servers == place->servers && again->secret_file == place->secret_file);
    FUZZ_CHECK(again->patience_s == place->patience_s);
    // A misspelt key must be an error, not a default.
    FUZZ_CHECK(!parse("secret_file = /s\n" + text));
    return 0;
}
