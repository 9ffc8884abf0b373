/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * find.cc: list what is on the servers, then take the word of a shard for the rest.
 *
 * Tests: tests/tools/dtx_check_test
 */
#include "check/find.h"

#include "engine/error.h"
#include "engine/port.h"
#include "workload/known.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>

namespace dtx::checks
{

namespace
{

using Shards = std::map<std::string, std::vector<uint32_t>>;

/* What servers have, by number; nothing of those that were not asked, or are away. */
struct There {
    std::vector<std::optional<Shards>> shards;
    std::optional<uint32_t> away; /* one of them */
    std::exception_ptr why;
};

dtx::Options options_of(const Wanted &wanted, uint32_t replicas)
{
    dtx::Options options;

    options.urls = wanted.urls;
    options.replicas = replicas;
    options.secret = wanted.secret;
    options.canary = wanted.canary;
    options.patience_us = wanted.patience_us;
    return options;
}

std::string listed(const std::set<std::string> &names)
{
    std::string text;

    for (const std::string &name : names)
        text += (text.empty() ? "'" : ", '") + name + "'";
    return text.empty() ? "no database at all" : text;
}

std::set<std::string> names_of(const Shards &shards)
{
    std::set<std::string> names;

    for (const auto &[name, numbers] : shards)
        names.insert(name);
    return names;
}

/* Why there is none to choose. */
[[noreturn]] void none_fits(const std::string &asked, const std::set<std::string> &all)
{
    const std::vector<std::string> &known = known_workloads();
    bool ours = std::find(known.begin(), known.end(), asked) != known.end();

    if (ours || (asked.empty() && all.empty()))
        throw Error(RPM_E_NOENT, "no database '" + (ours ? asked : "of a workload") +
                                     "' is on these servers; there is " + listed(all));
    throw Error(RPM_E_NOENT,
                "only databases of dtx-bench are known here, " +
                    listed({ known.begin(), known.end() }) + ", not " +
                    listed(asked.empty() ? all : std::set{ asked }) +
                    ": its own program calls Cluster::recover, promote, restore or vacuum");
}

/* The name of the database to look at, as @there has those of each server. */
std::string choose(const Wanted &wanted, const There &there)
{
    const std::vector<std::string> &known = known_workloads();
    std::set<std::string> all;
    std::vector<std::string> fit;

    for (const auto &shards : there.shards)
        if (shards)
            all.merge(names_of(*shards));
    for (const std::string &name : known)
        if (all.count(name) != 0 && (wanted.workload.empty() || name == wanted.workload))
            fit.push_back(name);
    if (fit.empty())
        none_fits(wanted.workload, all);
    if (fit.size() > 1)
        throw Error(RPM_E_INVAL,
                    "there are several databases, " + listed(all) + ": name the one that is meant");
    return fit.front();
}

void expect(bool good, int code, const std::string &what)
{
    if (!good)
        throw Error(code, what);
}

std::string of_them(const char *what, uint64_t have, uint64_t given)
{
    return std::string("the database has ") + std::to_string(have) + " " + what + ", and " +
           std::to_string(given) + " were given";
}

/* Shard s has its primary on server s. */
void check_place(const std::string &url, uint32_t server, const std::vector<uint32_t> &shards)
{
    std::string text;

    for (uint32_t shard : shards)
        text += (text.empty() ? "" : ", ") + std::to_string(shard);
    expect(std::find(shards.begin(), shards.end(), server) != shards.end(), RPM_E_INVAL,
           url + " has shards " + text + " and not " + std::to_string(server) +
               ": the URLs are to be in the order of the run that made the database");
}

There ask_all(const Cluster &any, const Wanted &wanted)
{
    const std::vector<uint32_t> &absent = wanted.absent;
    There there;

    there.shards.resize(wanted.urls.size());
    for (uint32_t server = 0; server < wanted.urls.size(); server++) {
        if (std::find(absent.begin(), absent.end(), server) != absent.end())
            continue;
        try {
            Connection connection(any, server);

            there.shards[server] = shards_on(connection.get());
        } catch (const Fenced &) {
            there.away = server;
            there.why = std::current_exception();
        }
    }
    if (std::none_of(there.shards.begin(), there.shards.end(), [](auto &one) { return one; })) {
        expect(there.away.has_value(), RPM_E_INVAL, "no server is left to ask");
        std::rethrow_exception(there.why);
    }
    return there;
}

Cover cover_there(const Cluster &any, const std::string &name, const There &there)
{
    for (uint32_t server = 0; server < there.shards.size(); server++) {
        if (!there.shards[server] || there.shards[server]->count(name) == 0)
            continue;
        Connection connection(any, server);

        return read_cover(connection.get(), name, there.shards[server]->at(name).front());
    }
    throw Error(RPM_E_NOENT, "no shard of '" + name + "'");
}

bool is_dead(const Cluster &cluster, uint32_t server)
{
    try {
        std::vector<uint32_t> dead = cluster.dead();

        return std::find(dead.begin(), dead.end(), server) != dead.end();
    } catch (const Error &) {
        return false; /* nobody says so */
    }
}

/* A server that was promoted away may have become an empty one. */
void check_places(const Cluster &cluster, const There &there)
{
    const std::string &name = cluster.schema().name();
    const std::vector<std::string> &urls = cluster.options().urls;

    for (uint32_t server = 0; server < there.shards.size(); server++) {
        if (!there.shards[server])
            continue;
        if (there.shards[server]->count(name) != 0)
            check_place(urls[server], server, there.shards[server]->at(name));
        else
            expect(is_dead(cluster, server), RPM_E_NOENT,
                   urls[server] + " has nothing of the database '" + name + "'; there is " +
                       listed(names_of(*there.shards[server])));
    }
}

/* That all servers which live are there. Who is going to recover may find it interrupted. */
void verify(Found &found, const There &there, bool settled)
{
    try {
        found.cluster->verify();
        found.dead = found.cluster->dead();
    } catch (const Fenced &failure) {
        if (!settled && failure.code() == RPM_E_FENCED)
            return;
        if (!there.away)
            throw;
        throw Error(failure.code(), failure.what() + std::string(": to go on without server ") +
                                        std::to_string(*there.away) +
                                        ", if it is gone for good, there is dtx-check promote");
    }
}

} // namespace

Found find_database(const Wanted &wanted)
{
    Cluster any(Schema("any", 0), options_of(wanted, 1));
    There there = ask_all(any, wanted);
    std::string name = choose(wanted, there);
    Found found;

    found.cover = cover_there(any, name, there);
    expect(found.cover.shards == wanted.urls.size(), RPM_E_INVAL,
           of_them("servers", found.cover.shards, wanted.urls.size()));
    expect(wanted.replicas == 0 || wanted.replicas == found.cover.replicas, RPM_E_INVAL,
           of_them("copies", found.cover.replicas, wanted.replicas));
    found.workload = workload_of_note(name, found.cover.note, found.cover.shards);
    found.cluster = std::make_unique<Cluster>(found.workload->schema(),
                                              options_of(wanted, found.cover.replicas));
    check_places(*found.cluster, there);
    if (!wanted.absent.empty())
        return found;
    verify(found, there, wanted.settled);
    return found;
}

} // namespace dtx::checks
