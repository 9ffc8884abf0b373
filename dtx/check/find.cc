/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * find.cc: list the databases on the servers, then read the header of a shard.
 *
 * Tests: tests/tools/dtx_check_test
 */
#include "check/find.h"

#include "engine/cluster/server_connection.h"
#include "workload/registry/known.h"
#include <dtx/error.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <set>

namespace dtx::checks
{

namespace
{

using Shards = std::map<std::string, std::vector<uint32_t>>;

/* The databases on each server, by server number; empty for an absent or unreachable server. */
struct ServerContents {
    std::vector<std::optional<Shards>> shards;
    std::exception_ptr unreachable; /* the last connection error */
};

dtx::Options options_of(const Wanted &wanted)
{
    dtx::Options options;

    options.urls = wanted.urls;
    options.secret = wanted.secret;
    options.canary = wanted.canary;
    options.retry_us = wanted.retry_us;
    return options;
}

std::string listed(const std::set<std::string> &names)
{
    std::string text;

    for (const std::string &name : names)
        text += (text.empty() ? "'" : ", '") + name + "'";
    return text.empty() ? "no database" : text;
}

std::set<std::string> names_of(const Shards &shards)
{
    std::set<std::string> names;

    for (const auto &[name, numbers] : shards)
        names.insert(name);
    return names;
}

/* The name of the database to check: the wanted one or the only one in @contents. */
std::string choose(const Wanted &wanted, const ServerContents &contents)
{
    std::set<std::string> all;

    for (const auto &shards : contents.shards)
        if (shards)
            all.merge(names_of(*shards));
    if (all.empty() || (!wanted.name.empty() && all.count(wanted.name) == 0))
        throw Error(RPM_E_NOENT, "no database " +
                                     (wanted.name.empty() ? "" : "'" + wanted.name + "' ") +
                                     "is on these servers; there is " + listed(all));
    if (wanted.name.empty() && all.size() > 1)
        throw Error(RPM_E_INVAL,
                    "there are several databases, " + listed(all) + ": choose one with --name");
    return wanted.name.empty() ? *all.begin() : wanted.name;
}

void expect(bool good, int code, const std::string &what)
{
    if (!good)
        throw Error(code, what);
}

std::string count_differs(const char *one, const char *many, uint64_t have, uint64_t given)
{
    return "the database has " + std::to_string(have) + " " + (have == 1 ? one : many) + ", and " +
           std::to_string(given) + (given == 1 ? " was" : " were") + " given";
}

std::string command(const char *what, uint32_t server)
{
    return std::string("dtx-check ") + what + " --server " + std::to_string(server) + " URL...";
}

/* Throws Error unless @server has the shard of its own number: server N is the primary of shard N
 * when the database is created. */
void check_place(const std::string &url, uint32_t server, const std::vector<uint32_t> &shards)
{
    std::string text;

    for (uint32_t shard : shards)
        text += (text.empty() ? "" : ", ") + std::to_string(shard);
    expect(std::find(shards.begin(), shards.end(), server) != shards.end(), RPM_E_INVAL,
           url + " is given as server " + std::to_string(server) +
               ", but has no shard of that number" + (text.empty() ? "" : ", only " + text) +
               ": give the URLs in the order of the run that made the database");
}

ServerContents ask_servers(const Cluster &any, const Wanted &wanted)
{
    const std::vector<uint32_t> &absent = wanted.absent;
    ServerContents contents;

    contents.shards.resize(wanted.urls.size());
    for (uint32_t server = 0; server < wanted.urls.size(); server++) {
        if (std::find(absent.begin(), absent.end(), server) != absent.end())
            continue;
        try {
            RawConnection connection(any, server);

            contents.shards[server] = shards_on(connection.get());
        } catch (const Fenced &) {
            contents.unreachable = std::current_exception();
        }
    }
    if (std::none_of(contents.shards.begin(), contents.shards.end(),
                     [](auto &shards) { return shards.has_value(); })) {
        expect(contents.unreachable != nullptr, RPM_E_INVAL,
               "no server is left besides those of --server; give the URLs of all servers");
        std::rethrow_exception(contents.unreachable);
    }
    return contents;
}

/* The first shard header that is undamaged. */
ShardHeader first_header(const Cluster &any, const std::string &name,
                         const ServerContents &contents)
{
    std::exception_ptr damage;

    for (uint32_t server = 0; server < contents.shards.size(); server++) {
        if (!contents.shards[server] || contents.shards[server]->count(name) == 0)
            continue;
        RawConnection connection(any, server);

        for (uint32_t shard : contents.shards[server]->at(name)) {
            try {
                return read_shard_header(connection.get(), name, any, { shard, server });
            } catch (const Error &error) {
                if (error.code() != RPM_E_CORRUPT && error.code() != RPM_E_FOREIGN)
                    throw;
                damage = damage ? damage : std::current_exception();
            }
        }
    }
    std::rethrow_exception(damage);
}

bool is_dead(const Cluster &cluster, uint32_t server)
{
    try {
        std::vector<uint32_t> dead = cluster.dead();

        return std::find(dead.begin(), dead.end(), server) != dead.end();
    } catch (const Error &) {
        return false; /* no server has a view, so none is marked dead */
    }
}

/* Throws Error if a server lacks its shard, unless it was promoted away: then its pool may be
 * empty. */
void check_places(const Cluster &cluster, const ServerContents &contents)
{
    const std::string &name = cluster.schema().name();
    const std::vector<std::string> &urls = cluster.options().urls;

    for (uint32_t server = 0; server < contents.shards.size(); server++) {
        if (!contents.shards[server])
            continue;
        if (contents.shards[server]->count(name) != 0)
            check_place(urls[server], server, contents.shards[server]->at(name));
        else
            expect(is_dead(cluster, server), RPM_E_NOENT,
                   urls[server] + " has no shard of the database '" + name + "'; there is " +
                       listed(names_of(*contents.shards[server])) +
                       ". Start it with its own pool; or, if the pool is lost, run " +
                       command("promote", server) + ", then " + command("restore", server));
    }
}

/* Throws Error unless all servers of the view have their shards. Unless @settled, the view may be
 * in the middle of a change, which the command will complete. */
void verify(Found &found, bool settled)
{
    try {
        found.cluster->verify();
        found.dead = found.cluster->dead();
    } catch (const Fenced &failure) {
        if (settled || failure.code() != RPM_E_FENCED)
            throw;
    }
}

/* The schema of the workload that the user named, or the one in the shards. */
Schema schema_of(Found &found, const std::string &name, bool workload)
{
    const ShardHeader &header = found.header;

    if (!workload)
        return Schema::of_description(name, header.schema_version, header.description);
    found.workload = workload_of_database(name, header.comment, header.shards);
    return found.workload->schema();
}

} // namespace

Found find_database(const Wanted &wanted)
{
    dtx::Options options = options_of(wanted);
    Cluster any(Schema("any", 0), options);
    ServerContents contents = ask_servers(any, wanted);
    std::string name = choose(wanted, contents);
    Found found;

    found.header = first_header(any, name, contents);
    expect(found.header.shards == wanted.urls.size(), RPM_E_INVAL,
           count_differs("server", "servers", found.header.shards, wanted.urls.size()));
    expect(wanted.replicas == 0 || wanted.replicas == found.header.replicas, RPM_E_INVAL,
           count_differs("copy", "copies", found.header.replicas, wanted.replicas));
    options.replicas = found.header.replicas;
    options.durable = found.header.durable;

    Schema schema = schema_of(found, name, wanted.workload);

    schema.set_comment(found.header.comment);
    found.cluster = std::make_unique<Cluster>(std::move(schema), options);
    check_places(*found.cluster, contents);
    if (!wanted.absent.empty())
        return found;
    verify(found, wanted.settled);
    return found;
}

} // namespace dtx::checks
