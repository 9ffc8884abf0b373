// SPDX-License-Identifier: BSD-3-Clause
// advice_test.cpp: the commands in the advice are those of the program that keeps the database, and
// a promotion is advised only while other servers have copies.
#include "engine/cluster/advice.h"
#include "support/catch.h"
#include <dtx/cluster.h>

namespace
{

dtx::Cluster cluster_of(uint32_t servers, uint32_t replicas, const std::string &comment = "")
{
    dtx::Schema schema("home", 1);
    dtx::Options options;

    schema.set_comment(comment);
    options.replicas = replicas;
    for (uint32_t i = 0; i < servers; i++)
        options.urls.push_back("shm:/tmp/no-such-" + std::to_string(i));
    return dtx::Cluster(std::move(schema), std::move(options));
}

dtx::View without(const std::vector<uint32_t> &dead)
{
    dtx::View view;

    for (uint32_t server : dead)
        view.kill(server);
    return view;
}

const std::string kContinue =
    "; first check its URL; if that is right, start the server again. Only if it is lost for good, "
    "continue without it: ";
const std::string kStart = "; first check its URL; if that is right, start the server again";
const std::string kPlace = " [--conf FILE or --url URL...]"; // of commands about a volume

} // namespace

TEST_CASE("advice: the commands of a volume are those of rpm-fs", "[unit]")
{
    dtx::Cluster volume = cluster_of(3, 2, "rpmfs inodes=64 slabs=1");
    dtx::Cluster database = cluster_of(3, 2, "warehouses=2");

    CHECK(operator_command(volume, "promote", { 1 }) == "rpm-fs promote home --server 1" + kPlace);
    CHECK(operator_command(volume, "restore", { 0, 2 }) ==
          "rpm-fs restore home --server 0 --server 2" + kPlace);
    CHECK(operator_command(database, "promote", { 1 }) == "dtx-check promote --server 1 URL...");
    CHECK(operator_command(database, "promote", {}) == "dtx-check promote --server N URL...");
    CHECK(away_advice(volume, 1, {}) == kContinue + "rpm-fs promote home --server 1" + kPlace);
    CHECK(rebuild_advice(volume, 1) ==
          "; if other servers have copies of all its shards, rebuild it from them: stop the "
          "server, rpm-fs promote home --server 1" +
              kPlace + ", start it with an empty pool, rpm-fs restore home --server 1" + kPlace);
}

TEST_CASE("advice: a promotion names all servers that are lost, and leaves a copy of all rows",
          "[unit]")
{
    dtx::Cluster three = cluster_of(4, 3);
    dtx::Cluster two = cluster_of(4, 2);
    dtx::Cluster one = cluster_of(2, 1);

    CHECK(away_advice(three, 1, without({ 0 })) ==
          kContinue + "dtx-check promote --server 0 --server 1 URL...");
    CHECK(away_advice(two, 2, without({ 0 })) ==
          kContinue + "dtx-check promote --server 0 --server 2 URL...");
    CHECK(away_advice(two, 1, without({ 0 })) ==
          kStart + ": without server 0 and server 1, shard 0 would have no copy left of its rows");
    CHECK(away_advice(one, 1, {}) ==
          kStart + ": without server 1, shard 1 would have no copy left of its rows");
}

TEST_CASE("advice: servers that were promoted away before need no promotion", "[unit]")
{
    dtx::Cluster three = cluster_of(4, 3);
    dtx::View view = without({ 0 });

    view.number = 2;
    three.remember(view);
    CHECK(away_advice(three, 1, {}) == kContinue + "dtx-check promote --server 1 URL...");
    CHECK(away_advice(three, 1, view) == kContinue + "dtx-check promote --server 1 URL...");
    CHECK(away_advice(three, 1, without({ 3 })) ==
          kStart +
              ": without server 0 and server 1 and server 3, shard 3 would have no copy left of "
              "its rows");
}

TEST_CASE("advice: a refusal by a server that is there, or by the resolver, has its own", "[unit]")
{
    CHECK(dtx::refusal_advice("the server has 64 clients, its maximum (rpm-server --clients)") ==
          "; end one of its clients, or start it with a larger --clients");
    CHECK(dtx::refusal_advice("the address of host x was not found: unknown") ==
          dtx::refusal_advice("no address of 'x' is known: unknown"));
    CHECK(!dtx::refusal_advice("no address of 'x' is known: unknown").empty());
    CHECK(dtx::refusal_advice("no server listens at /tmp/a (Connection refused)").empty());
}
