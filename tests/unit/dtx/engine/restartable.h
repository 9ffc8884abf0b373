// SPDX-License-Identifier: BSD-3-Clause
// restartable.h: a small database on three servers that a test can stop and start again.
#ifndef TESTS_UNIT_DTX_ENGINE_RESTARTABLE_H
#define TESTS_UNIT_DTX_ENGINE_RESTARTABLE_H

#include "unit/dtx/engine/database.h"

#include <memory>
#include <string>
#include <vector>

inline constexpr uint32_t kServers = 3;

// Each server has its pool in a file, and is started again on that file.
struct RestartableDatabase {
    explicit RestartableDatabase(uint32_t replicas, uint32_t canary = 0, uint64_t rows = 200)
        : RestartableDatabase(replicas, canary, Tables(rows))
    {
    }
    RestartableDatabase(uint32_t replicas, uint32_t canary, const Tables &all) : tables(all)
    {
        support::ServerOpts opts;
        dtx::Options options;

        opts.bytes = 16 << 20;
        opts.clients_max = 64;
        opts.flags = RPM_SERVER_NO_SPIN;
        for (uint32_t i = 0; i < kServers; i++) {
            servers.push_back(std::make_unique<support::Server>(opts));
            options.urls.push_back(servers.back()->url());
        }
        options.replicas = replicas;
        options.canary = canary;
        options.log_bytes = 256 << 10;
        options.guesses = 1000;
        options.retry_us = 20000000;
        cluster = std::make_unique<dtx::Cluster>(tables.schema, options);
        cluster->create();
    }
    void fill(dtx::Session &session)
    {
        REQUIRE(now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                    for (uint32_t shard = 0; shard < kServers; shard++)
                        (void)co_await txn.insert(tables.accounts, in_partition(shard, 1),
                                                  Account{ 100 });
                    co_return true;
                }) == dtx::Status::committed);
    }
    // The balance of a shard's account; -1: its copies differ; -2: there is no such row.
    int64_t cents(uint32_t shard)
    {
        int64_t found = -2;

        for (uint32_t copy = 0; copy < cluster->options().replicas; copy++)
            cluster->each_row(tables.accounts.number, copy,
                              [&](uint64_t key, const void *row, size_t) {
                                  int64_t here = static_cast<const Account *>(row)->cents;

                                  if (key == in_partition(shard, 1))
                                      found = found == -2 || found == here ? here : -1;
                              });
        return found;
    }

    Tables tables;
    std::vector<std::unique_ptr<support::Server>> servers;
    std::unique_ptr<dtx::Cluster> cluster;
};

inline std::string why_of(const std::function<void()> &act)
{
    try {
        act();
    } catch (const dtx::Error &error) {
        return error.what();
    }
    return "";
}

inline bool contains(const std::string &text, const std::string &part)
{
    UNSCOPED_INFO(text);
    return text.find(part) != std::string::npos;
}

inline dtx::Status add(RestartableDatabase &db, dtx::Session &session, uint32_t shard,
                       int64_t cents)
{
    return now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
        uint64_t key = in_partition(shard, 1);
        auto row = co_await txn.read(db.tables.accounts, key);

        row->cents += cents;
        co_return co_await txn.write(db.tables.accounts, key, *row);
    });
}

#endif
