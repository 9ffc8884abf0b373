// SPDX-License-Identifier: BSD-3-Clause
// The check finds each kind of damage, and nothing in a whole volume.
#include "core/check/check.h"

#include "support/old_server.h"
#include "unit/fs/check/damages.h"
#include "unit/fs/check/saved.h"

#include <algorithm>
#include <cstdio>
#include <set>

using rfs::Call;
using rfs::kBlockBytes;

namespace
{

// The rules that are broken.
std::set<std::string> broken_rules(const dtx::Findings &findings)
{
    std::set<std::string> rules;

    for (const dtx::Finding &finding : findings.all()) {
        if (finding.broken > 0)
            rules.insert(finding.rule);
        for (const std::string &text : finding.first)
            UNSCOPED_INFO(finding.rule + ": " + text);
    }
    return rules;
}

} // namespace

TEST_CASE("fs: the check finds nothing in a whole volume", "[unit]")
{
    Filled volume;

    for (uint32_t copy : { 0, 1 })
        CHECK(broken_rules(rfs::check_tables(*volume.open, copy)).empty());
    CHECK(broken_rules(rfs::check_data(*volume.open)).empty());

    dtx::Findings tables = rfs::check_tables(*volume.open);
    dtx::Findings data = rfs::check_data(*volume.open);

    for (const dtx::Finding &finding : tables.all()) {
        CAPTURE(finding.rule);
        CHECK(finding.checked > 0);
        CHECK(finding.about != "");
    }
    CHECK(data.all().at(0).checked == 2 * 41); // blocks, on two copies
}

TEST_CASE("fs: the check finds each kind of damage by its rule", "[unit]")
{
    std::vector<Damage> all = all_damage();
    Filled volume;
    dtx::Cluster::Reading reading(*volume.open->cluster); // to connect for each table takes longest
    SavedVolume whole(volume);
    size_t found = 0;

    for (const Damage &damage : all) {
        volume.as_root([&](Call &call) { return damage.make(volume, call); });

        std::set<std::string> rules = broken_rules(rfs::check_tables(*volume.open));

        CAPTURE(damage.what, damage.rule);
        CHECK(rules.count(damage.rule) == 1);
        (void)rfs::check_data(*volume.open); // goes through all pointers
        found += rules.count(damage.rule);
        whole.put_back(volume);
    }
    CHECK(broken_rules(rfs::check_tables(*volume.open)).empty());
    CHECK(all.size() == 65);
    printf("damage %zu of %zu found\n", found, all.size());
}

namespace
{

// Options to open a volume at servers that are too old to compute a checksum.
dtx::Options without_sums(const TestVolume &volume)
{
    dtx::Options options = volume.options;

    options.dial = support::dial_without_sums(options.urls);
    return options;
}

// What a check of the blocks receives. One whose session first asks for a coordinator number that
// another session has joins twice, and so receives more: the least of several counts.
uint64_t least_received(rfs::OpenVolume &volume)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        dtx::Counters counters;

        CHECK(broken_rules(rfs::check_data(volume, &counters)).empty());
        least = std::min(least, counters.received_bytes);
    }
    return least;
}

} // namespace

TEST_CASE("fs: a check of blocks receives their checksums from the servers, else the blocks",
          "[unit]")
{
    auto mode = GENERATE(std::string("tcp"), std::string(",mode=ring"));
    TestVolume volume(2, 2, mode);
    rfs::OpenVolume old = rfs::open_volume("home", without_sums(volume));
    const uint64_t count = 300; // more than are compared at once

    CAPTURE(mode);
    volume.client->finish(rfs::mount(*volume.client));
    uint32_t file = make_file(volume, rfs::kRootIno, "file");
    uint64_t joined = least_received(*volume.open); // of no blocks
    for (uint64_t at = 0; at < count; at += 100)
        (void)write_at(volume, file, at * kBlockBytes,
                       text_of(100 * kBlockBytes, static_cast<uint32_t>(at)));
    uint64_t begin = dtx::now_ns();
    uint64_t sums = least_received(*volume.open);
    uint64_t middle = dtx::now_ns();
    uint64_t blocks = least_received(old);
    uint64_t end = dtx::now_ns();
    REQUIRE(sums > joined);
    CHECK(sums - joined < 2 * count * 30); // of both copies
    CHECK(blocks - joined > 2 * count * kBlockBytes);
    printf("check --data over %s: %llu bytes and not %llu for %llu blocks, time %.2f\n",
           mode.c_str(), static_cast<unsigned long long>(sums - joined),
           static_cast<unsigned long long>(blocks - joined),
           static_cast<unsigned long long>(2 * count),
           static_cast<double>(middle - begin) / static_cast<double>(end - middle));
}

TEST_CASE("fs: the check finds a block that is damaged on one copy", "[unit]")
{
    bool computed = GENERATE(true, false);
    Filled volume;
    dtx::Options options = volume.options;
    rfs::Pointer pointer = inode_of(volume, volume.file).pointers[5];

    options.canary = dtx::kCanarySpanPrimary; // writes the first copy alone

    rfs::OpenVolume one_copy = rfs::open_volume("home", options);
    rfs::Client client(one_copy);

    client.call_now(volume.root, [&](Call &call) -> dtx::Task<> {
        dtx::SpanWrite piece{ call.tables().blocks, pointer.shard(),
                              pointer.block() * kBlockBytes + 4095, "!", 1 };

        co_await call.txn.write_span({ &piece, 1 });
    });

    rfs::OpenVolume old = rfs::open_volume("home", without_sums(volume));
    dtx::Findings found = rfs::check_data(computed ? *volume.open : old);

    CAPTURE(computed);
    CHECK(found.all().at(0).checked == 2 * 41);
    CHECK(broken_rules(found) == std::set<std::string>{ "data" });
    CHECK(found.all().at(0).broken == 1);
    CHECK(found.all().at(0).first.at(0) ==
          "block 5 of file " + std::to_string(volume.file) + " is damaged on copy 0");
    CHECK(broken_rules(rfs::check_tables(*volume.open)).empty());
}
