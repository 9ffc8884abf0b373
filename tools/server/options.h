/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h: the options of rpm-server, on its command line or in its configuration file. A
 * separate header, so that a fuzzer can parse such a file without the program.
 *
 * Tests: tests/fuzz/server_config_fuzz.cpp, tests/tools/
 */
#ifndef RPM_TOOLS_SERVER_OPTIONS_H
#define RPM_TOOLS_SERVER_OPTIONS_H

#include "cli.h"

#include <string>
#include <vector>

namespace server
{

struct Options {
    std::string pool;
    std::vector<std::string> listen;
    std::vector<std::string> agents;
    std::string secret_file;
    std::string tls_cert;
    std::string tls_key;
    std::string ddio;
    std::string json_stats;
    std::string fence;
    std::string socket_mode = "0600";
    uint64_t size = 0;
    uint64_t dram = 0;
    uint32_t domain = 0;
    uint32_t clients = 0;
    uint64_t fence_us = 0;
    int numa = -1;
    bool no_direct = false;
    bool no_create = false;
    bool huge = false;
    bool no_spin = false;
    bool syslog = false;
    bool verbose = false;
    bool quiet = false;
};

/* "0600" as a number; throws CLI::ValidationError if it is not a mode. */
inline uint32_t parse_mode(const std::string &text)
{
    size_t used = 0;
    unsigned long mode = 0;

    try {
        mode = std::stoul(text, &used, 8);
    } catch (const std::exception &) {
        used = 0;
    }
    if (used != text.size() || text.empty() || mode == 0 || mode > 0777)
        throw CLI::ValidationError("--socket-mode", "not a mode such as 0600: " + text);
    return static_cast<uint32_t>(mode);
}

/* Addresses or names as the library takes them: separated by blanks. */
inline std::string joined(const std::vector<std::string> &words)
{
    std::string text;

    for (const std::string &word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

inline std::string listen_text(const Options &options)
{
    return joined(options.listen);
}

inline void add_agents(CLI::App &app, Options &options)
{
    app.add_option("--agent", options.agents,
                   "Name of an agent that may carry records of writers (rpm-agent --name); several "
                   "may be given")
        ->check([](const std::string &name) {
            return name.empty() || name.size() > RPM_NAME_MAX ||
                           name.find_first_of(" ,") != std::string::npos
                       ? "not a name of 1 to 63 characters without blanks and commas: " + name
                       : std::string();
        })
        ->type_name("NAME");
}

/* Add every option, and the constraints between them. @options outlives @app. */
inline void add_options(CLI::App &app, Options &options)
{
    app.add_option("--pool", options.pool, "File or device that backs the pool; none: anonymous")
        ->type_name("PATH");
    CLI::Option *size =
        cli::size_option(&app, "--size", options.size,
                         "Size of the pool when it is created; creates a pool that does not exist");
    app.add_option("--listen", options.listen,
                   "Where to listen, one or more: shm:NAME, unix:NAME, tcp://HOST:PORT/POOL, "
                   "verbs://HOST:PORT/POOL")
        ->required()
        ->type_name("URL");
    app.set_config("--config", "", "Read options from a TOML or INI file")->type_name("FILE");
    app.allow_config_extras(false); /* a misspelt key is an error, not ignored */
    cli::enum_option(
        &app, "--domain", options.domain, RPM_DOMAIN_EADR + 1,
        [](uint32_t i) { return rpm_domain_name(static_cast<rpm_domain>(i)); },
        "Declare where this memory's bytes survive a power loss");
    cli::size_option(&app, "--dram", options.dram, "Memory for volatile words and lock tables; 1M");
    app.add_option("--clients", options.clients, "Connections at once; 64")
        ->check(CLI::Range(1, 1024));
    app.add_option("--socket-mode", options.socket_mode, "Permissions of the socket; 0600");
    app.add_option("--secret-file", options.secret_file,
                   "File with the secret that clients must know")
        ->type_name("FILE");
    add_agents(app, options);
    app.add_option("--tls-cert", options.tls_cert,
                   "Certificate chain, PEM, of addresses that end in ,tls=on")
        ->type_name("FILE");
    app.add_option("--tls-key", options.tls_key, "Key of the certificate, PEM")->type_name("FILE");
    app.add_option(
           "--ddio", options.ddio,
           "Whether a NIC's writes go to the CPU's cache, if no probe can find out: on or off")
        ->check(CLI::IsMember({ "on", "off" }));
    app.add_option(
           "--fence", options.fence,
           "If a fenced writer does not stop in time: refuse the new writer, or kill the old one")
        ->check(CLI::IsMember({ "refuse", "kill" }));
    app.add_option("--fence-us", options.fence_us,
                   "Microseconds that a fenced writer has to stop; 1000000");
    app.add_option("--numa", options.numa, "NUMA node that holds the pool")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--json-stats", options.json_stats,
                   "Write the counters to this file at SIGUSR1 and at the end")
        ->type_name("FILE");
    app.add_flag("--no-direct", options.no_direct, "Never let a client map the pool: rings only");
    app.add_flag("--no-create", options.no_create, "With --size: fail if there is no pool");
    app.add_flag("--huge", options.huge, "Anonymous pool on huge pages");
    app.add_flag("--no-spin", options.no_spin,
                 "Sleep as soon as no request waits, instead of polling for 50 us first");
    app.add_flag("--syslog", options.syslog, "Log to syslog instead of standard error");
    app.add_flag("--verbose", options.verbose, "Log debug messages too");
    app.add_flag("--quiet", options.quiet, "Log warnings and errors only");
    app.final_callback([&options, size] {
        (void)parse_mode(options.socket_mode);
        if (size->count() > 0 && options.size == 0)
            throw CLI::ValidationError("--size", "0 bytes: a pool has at least 64K");
        if (options.pool.empty() && options.size == 0)
            throw CLI::ValidationError("--size", "required for an anonymous pool (without --pool)");
        if (options.tls_cert.empty() != options.tls_key.empty())
            throw CLI::ValidationError("--tls-cert",
                                       "requires --tls-key, and --tls-key requires it");
    });
}

} /* namespace server */
#endif
