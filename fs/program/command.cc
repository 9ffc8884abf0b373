/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.cc: find the volume of a command.
 *
 * Tests: tests/tools/fs_test
 */
#include "program/command.h"

#include "cli.h"

#include <cstring>

namespace rfs
{

void add_place(CLI::App &app, PlaceOptions &options)
{
    app.add_option("--url", options.urls,
                   "URL of a server; once for each, in the order that mkfs was given")
        ->allow_extra_args(false)
        ->type_name("URL");
    app.add_option("--conf", options.conf, "the volume's file (/etc/librpm/fs/NAME.conf)")
        ->type_name("FILE");
    cli::secret_option(&app);
    app.add_option("--patience", options.patience_s,
                   "seconds that a call waits for servers that do not answer (30; mount: no limit)")
        ->check(CLI::Range(0.001, 1e9));
}

dtx::Options servers_of(const PlaceOptions &options, const std::string &volume, double patience_s)
{
    VolumePlace place;
    dtx::Options servers;
    std::string secret_file = cli::secret_file();

    if (options.urls.empty())
        place = read_volume_file(options.conf.empty() ? volume_file(volume) : options.conf);
    else
        place.servers = options.urls;
    if (secret_file.empty())
        secret_file = place.secret_file;
    if (options.patience_s != 0)
        patience_s = options.patience_s;
    else if (place.patience_s != 0)
        patience_s = place.patience_s;
    servers.urls = place.servers;
    servers.retry_us = static_cast<uint64_t>(patience_s * 1e6);
    if (!secret_file.empty())
        servers.secret = cli::read_secret(secret_file);
    return servers;
}

int64_t checked(const std::string &what, int64_t result, const std::string &advice)
{
    std::string text = rfs_last_error();

    if (result < 0)
        throw cli::Failure(what + ": " +
                           (text.empty() ? strerror(static_cast<int>(-result)) : text) + advice);
    return result;
}

rfs_opts library_options(const dtx::Options &servers, const std::string &volume,
                         std::vector<const char *> &urls)
{
    rfs_opts opts = rfs_opts_init();

    for (const std::string &url : servers.urls)
        urls.push_back(url.c_str());
    opts.name = volume.c_str();
    opts.urls = urls.data();
    opts.url_count = static_cast<uint32_t>(urls.size());
    opts.secret = servers.secret.empty() ? nullptr : servers.secret.c_str();
    opts.patience_us = servers.retry_us;
    return opts;
}

ClientHandle open_client(const PlaceOptions &options, const std::string &volume)
{
    dtx::Options servers = servers_of(options, volume);
    std::vector<const char *> urls;
    rfs_opts opts = library_options(servers, volume, urls);
    rfs_client *client = nullptr;

    checked(volume, rfs_mount(&opts, &client));
    return ClientHandle(client);
}

} // namespace rfs
