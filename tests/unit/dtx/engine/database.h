// SPDX-License-Identifier: BSD-3-Clause
// database.h: small databases on servers in this process, or in a world of the device model.
#ifndef TESTS_UNIT_DTX_ENGINE_DATABASE_H
#define TESTS_UNIT_DTX_ENGINE_DATABASE_H

#include "engine/cluster.h"
#include "engine/session.h"
#include "support/server.h"

#include <memory>
#include <vector>

// Catch's own macros name what they check twice, and GCC awaits it twice.
#define AWAIT_CHECK(...)                                                                           \
    do {                                                                                           \
        bool holds = static_cast<bool>(__VA_ARGS__);                                               \
        CHECK(holds);                                                                              \
    } while (0)
#define AWAIT_REQUIRE(...)                                                                         \
    do {                                                                                           \
        bool holds = static_cast<bool>(__VA_ARGS__);                                               \
        REQUIRE(holds);                                                                            \
    } while (0)

struct Account {
    int64_t cents;
};

inline uint32_t partition_of(uint64_t key)
{
    return static_cast<uint32_t>(key >> 32);
}

// A key of a partition.
inline uint64_t in_partition(uint32_t partition, uint64_t key)
{
    return uint64_t{ partition } << 32 | key;
}

// Tables that all tests use.
struct Tables {
    dtx::Schema schema{ "test", 1 };
    dtx::Table<Account> accounts;
    dtx::Table<Account> sorted;

    explicit Tables(uint64_t rows_max = 2000)
        : accounts(schema.hash_table<Account>("accounts", rows_max, partition_of)),
          sorted(schema.ordered_table<Account>("sorted", rows_max, partition_of))
    {
    }
};

inline dtx::Options replicated(uint32_t replicas)
{
    dtx::Options options;

    options.replicas = replicas;
    return options;
}

// Servers over shm:, and a database on them.
class Database
{
  public:
    // @mode: of the URLs: "" the servers' memory is mapped; ",mode=ring" it is asked for.
    explicit Database(uint32_t servers = 1, dtx::Options options = {}, const Tables &all = Tables(),
                      const std::string &mode = "")
        : tables(all)
    {
        support::ServerOpts opts;

        opts.anonymous = true;
        opts.bytes = 16 << 20;
        opts.clients_max = 64;
        for (uint32_t i = 0; i < servers; i++) {
            servers_.push_back(std::make_unique<support::Server>(opts));
            options.urls.push_back(servers_.back()->url() + mode);
        }
        options.log_bytes = 256 << 10;
        options.guesses = 1000;
        cluster = std::make_unique<dtx::Cluster>(tables.schema, options);
        cluster->create();
    }

    // All servers are gone for good.
    void stop()
    {
        servers_.clear();
    }

    Tables tables;
    std::unique_ptr<dtx::Cluster> cluster;

  private:
    std::vector<std::unique_ptr<support::Server>> servers_;
};

// The outcome of one transaction, which must not be in anybody's way.
template <class Body> dtx::Status now(dtx::Session &session, Body body)
{
    return session.transact_now(std::move(body)).status;
}

#endif
