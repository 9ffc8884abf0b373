// SPDX-License-Identifier: BSD-3-Clause
// server_config_fuzz.cpp: the file that rpm-server --config reads. It sets options, within the
// bounds of each, or the parser refuses it with its own exception: any other one would end the
// program.
#include "fuzz.h"

#include "server/options.h"

#include <sstream>

static void check(const server::Options &options)
{
    FUZZ_CHECK(options.clients <= 1024);
    FUZZ_CHECK(options.domain <= RPM_DOMAIN_EADR);
    FUZZ_CHECK(options.numa >= -1);
    FUZZ_CHECK(options.fence.empty() || options.fence == "refuse" || options.fence == "kill");
    FUZZ_CHECK(!options.pool.empty() || options.size != 0);
    uint32_t mode = server::parse_mode(options.socket_mode);
    FUZZ_CHECK(mode > 0 && mode <= 0777);
}

// Whether the parser accepts it.
static bool parse(const std::string &text, server::Options *options)
{
    std::istringstream file(text);
    CLI::App app("fuzzed", "rpm-server");

    server::add_options(app, *options);
    try {
        app.parse_from_stream(file);
    } catch (const CLI::Error &) {
        return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string text(reinterpret_cast<const char *>(data), size);
    server::Options options;
    server::Options other;

    if (!parse(text, &options))
        return 0;
    check(options);
    // A misspelt key must be an error, not a default.
    FUZZ_CHECK(!parse("secret_file = \"/s\"\n" + text, &other));
    return 0;
}
