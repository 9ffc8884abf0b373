// SPDX-License-Identifier: BSD-3-Clause
// database.h: small databases on servers in this process, or in a world of the device model.
#ifndef TESTS_UNIT_DTX_ENGINE_DATABASE_H
#define TESTS_UNIT_DTX_ENGINE_DATABASE_H

#include "support/catch.h"
#include "support/servers.h"
#include <dtx/cluster.h>
#include <dtx/error.h>
#include <dtx/session.h>

#include <algorithm>
#include <functional>
#include <librpm/sim.h>
#include <memory>
#include <utility>
#include <vector>

// CHECK and REQUIRE for an awaited expression: Catch's macros repeat their argument, and GCC would
// await it twice.
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
constexpr uint64_t in_partition(uint32_t partition, uint64_t key)
{
    return uint64_t{ partition } << 32 | key;
}

// A schema with a hash table and an ordered table.
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

// Servers, and a database on them.
class Database
{
  public:
    // @mode: "": shm: URLs, the servers' memory is mapped; ",mode=ring": shm: URLs, the servers
    // serve rings; "tcp": tcp: URLs; "sim": a world of the device model, for this thread alone.
    explicit Database(uint32_t servers = 1, dtx::Options options = {}, const Tables &all = Tables(),
                      const std::string &mode = "")
        : tables(all)
    {
        if (mode == "sim")
            open_world(servers, options);
        else
            open_servers(servers, options, mode);
        options.log_bytes = std::min<uint64_t>(options.log_bytes, 256 << 10);
        options.guesses = 1000;
        cluster = std::make_unique<dtx::Cluster>(tables.schema, options);
        cluster->create();
    }

    Database(Database &&other) noexcept
        : tables(other.tables), cluster(std::move(other.cluster)),
          servers_(std::move(other.servers_)), sim_(std::exchange(other.sim_, nullptr))
    {
    }
    Database(const Database &) = delete;
    Database &operator=(const Database &) = delete;
    ~Database()
    {
        rpm_sim_close(&sim_);
    }

    // All servers are lost for good.
    void stop()
    {
        servers_.stop();
    }

    Tables tables;
    std::unique_ptr<dtx::Cluster> cluster;

  private:
    void open_servers(uint32_t servers, dtx::Options &options, const std::string &mode)
    {
        servers_ = support::Servers(servers, 16 << 20, mode);
        options.urls = servers_.urls;
    }
    void open_world(uint32_t servers, dtx::Options &options)
    {
        rpm_sim_opts world = rpm_sim_opts_init();

        world.servers = servers;
        world.pool_bytes = 8 << 20;
        world.dram_bytes = 1 << 20;
        REQUIRE(rpm_sim_open(&world, &sim_) == 0);
        options.urls.resize(servers, "sim:");
        options.dial = [sim = sim_](uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn) {
            return rpm_sim_connect(sim, server, opts, conn);
        };
    }

    support::Servers servers_;
    rpm_sim *sim_ = nullptr;
};

// Runs one transaction. Returns its outcome.
template <class Body> dtx::Status now(dtx::Session &session, Body body)
{
    return session.transact_now(std::move(body)).status;
}

// The code of the error that @act ends with; 0 if it ends well.
inline int code_of(const std::function<void()> &act)
{
    try {
        act();
    } catch (const dtx::Error &error) {
        UNSCOPED_INFO(error.what());
        return error.code();
    }
    return 0;
}

#endif
