/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * advice.cc: choose the advice by the database's comment, its copies and librpm's reason.
 *
 * Tests: tests/unit/dtx/engine/cluster/advice_test.cpp
 */
#include "engine/cluster/advice.h"

#include "engine/base/assert.h"

namespace dtx
{

/* With this the comment of a database begins that rpm-fs made (fs/FORMAT.md). */
static constexpr const char *kVolumeMark = "rpmfs ";

/* Reasons for RPM_E_REFUSED, by words of librpm's texts, because it has no other code for them. */
static constexpr const char *kFull = "(rpm-server --clients)";
static constexpr const char *kNoAddress[] = { "no address of '", "the address of host " };

static std::string options_of(const std::vector<uint32_t> &servers)
{
    std::string text;

    for (uint32_t server : servers)
        text += " --server " + std::to_string(server);
    return text.empty() ? " --server N" : text;
}

std::string operator_command(const Cluster &cluster, const char *what,
                             const std::vector<uint32_t> &servers)
{
    if (cluster.schema().comment().starts_with(kVolumeMark))
        return std::string("rpm-fs ") + what + " " + cluster.schema().name() + options_of(servers) +
               " [--conf FILE or --url URL...]";
    return std::string("dtx-check ") + what + options_of(servers) + " URL...";
}

static std::string listed(const View &view, uint32_t servers)
{
    std::string text;

    for (uint32_t server = 0; server < servers; server++)
        if (!view.alive(server))
            text += (text.empty() ? "server " : " and server ") + std::to_string(server);
    return text;
}

/* The URL first: if it is wrong, no server answers there, and a promotion would take a live server
 * out. */
std::string away_advice(const Cluster &cluster, uint32_t server, const View &without)
{
    View promoted = cluster.last_view();
    Placement left{ cluster.shards(), cluster.options().replicas, without };
    std::vector<uint32_t> lost;
    std::string advice = "; first check its URL; if that is right, start the server again";

    DTX_ASSERT(server < cluster.shards());
    left.view.kill(server);
    for (uint32_t other = 0; other < cluster.shards(); other++)
        if (!promoted.alive(other))
            left.view.kill(other);
        else if (!left.view.alive(other))
            lost.push_back(other);
    for (uint32_t shard = 0; shard < cluster.shards(); shard++)
        if (left.copies(shard) == 0)
            return advice + ": without " + listed(left.view, cluster.shards()) + ", shard " +
                   std::to_string(shard) + " would have no copy left of its rows";
    return advice + ". Only if it is lost for good, continue without it: " +
           operator_command(cluster, "promote", lost);
}

std::string rebuild_advice(const Cluster &cluster, uint32_t server)
{
    return "; if other servers have copies of all its shards, rebuild it from them: stop the "
           "server, " +
           operator_command(cluster, "promote", { server }) + ", start it with an empty pool, " +
           operator_command(cluster, "restore", { server });
}

std::string refusal_advice(const std::string &why)
{
    if (why.find(kFull) != why.npos)
        return "; end one of its clients, or start it with a larger --clients";
    for (const char *words : kNoAddress)
        if (why.find(words) != why.npos)
            return "; correct the host's name in the URL, or have the system know its address";
    return "";
}

} // namespace dtx
