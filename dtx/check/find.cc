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
#include <set>

namespace dtx::checks
{

namespace
{

using Shards = std::map<std::string, std::vector<uint32_t>>;

dtx::Options options_of(const Wanted &wanted, uint32_t replicas)
{
    dtx::Options options;

    options.urls = wanted.urls;
    options.replicas = replicas;
    options.secret = wanted.secret;
    options.canary = wanted.canary;
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

/* The name of the database to look at, as @there has those of each server. */
std::string choose(const Wanted &wanted, const std::vector<Shards> &there)
{
    const std::vector<std::string> &known = known_workloads();
    std::set<std::string> all;
    std::vector<std::string> fit;

    for (const Shards &shards : there)
        for (const auto &[name, numbers] : shards)
            all.insert(name);
    for (const std::string &name : known)
        if (all.count(name) != 0 && (wanted.workload.empty() || name == wanted.workload))
            fit.push_back(name);
    if (fit.empty())
        throw Error(RPM_E_NOENT, "no database '" +
                                     (wanted.workload.empty() ? "of a workload" : wanted.workload) +
                                     "' is on these servers; there is " + listed(all));
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

Cover cover_there(const Cluster &any, const std::string &name, const std::vector<Shards> &there)
{
    for (uint32_t server = 0; server < there.size(); server++) {
        auto at = there[server].find(name);

        if (at == there[server].end())
            continue;
        Connection connection(any, server);

        return read_cover(connection.get(), name, at->second.front());
    }
    throw Error(RPM_E_NOENT, "no shard of '" + name + "'");
}

} // namespace

Found find_database(const Wanted &wanted)
{
    Cluster any(Schema("any", 0), options_of(wanted, 1));
    std::vector<Shards> there;
    Found found;

    for (uint32_t server = 0; server < wanted.urls.size(); server++) {
        Connection connection(any, server);

        there.push_back(shards_on(connection.get()));
    }
    std::string name = choose(wanted, there);

    found.cover = cover_there(any, name, there);
    expect(found.cover.shards == wanted.urls.size(), RPM_E_INVAL,
           of_them("servers", found.cover.shards, wanted.urls.size()));
    expect(wanted.replicas == 0 || wanted.replicas == found.cover.replicas, RPM_E_INVAL,
           of_them("copies", found.cover.replicas, wanted.replicas));
    for (uint32_t server = 0; server < there.size(); server++) {
        expect(there[server].count(name) != 0, RPM_E_NOENT,
               wanted.urls[server] + " has nothing of the database '" + name + "'; there is " +
                   listed(names_of(there[server])));
        check_place(wanted.urls[server], server, there[server].at(name));
    }
    found.workload = workload_of_note(name, found.cover.note, found.cover.shards);
    found.cluster = std::make_unique<Cluster>(found.workload->schema(),
                                              options_of(wanted, found.cover.replicas));
    found.cluster->verify();
    return found;
}

} // namespace dtx::checks
