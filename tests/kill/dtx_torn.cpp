// SPDX-License-Identifier: BSD-3-Clause
// dtx_torn.cpp: a server is killed while commits without a redo log install their rows. Each
// coroutine increments a row on one server and a row on the other in one transaction. Afterwards
// the rows must match the outcomes: committed, both rows changed; an error, neither; only a
// transaction whose outcome is unknown may be torn.
//
// Exit code 0: passed, and some transaction was torn or unknown in time; 1: failed; 2: wrong usage.
#include "process.h"
#include <dtx/object.h>
#include <dtx/session.h>

#include <cstdio>
#include <cstdlib>
#include <dtx/error.h>
#include <map>
#include <memory>

using namespace kill_suite;

namespace
{

constexpr uint64_t kPairs = 16;
constexpr uint64_t kMs = 1000000;

struct Count {
    uint64_t value;
};

uint32_t partition_of(uint64_t key)
{
    return static_cast<uint32_t>(key / kPairs);
}

// The outcomes that one coroutine got.
struct Told {
    uint64_t committed = 0; // of the last transaction
    uint64_t unknown = 0;   // of the one after that; 0: none
};

class OperationBatch
{
  public:
    OperationBatch(const std::string &server, const std::string &mode, uint64_t seed)
        : server_(server), state_(seed)
    {
        if (mkdtemp(&dir_[0]) == nullptr)
            throw std::runtime_error("no directory in /dev/shm");
        options_.durable = false;
        options_.retry_us = 1;
        options_.timeout_us = 500000;
        options_.seed = seed;
        for (int i = 0; i < 2; i++)
            options_.urls.push_back("shm:" + dir_ + "/" + std::to_string(i) + ",mode=" + mode);
    }
    OperationBatch(const OperationBatch &) = delete;
    ~OperationBatch()
    {
        for (Process &process : servers_)
            process.end();
        if (std::system(("rm -rf '" + dir_ + "'").c_str()) != 0)
            perror(dir_.c_str());
    }

    // Returns how many pairs had a wrong outcome; counts torn pairs whose outcome was unknown.
    uint64_t run(uint64_t &unknown, uint64_t &torn)
    {
        serve(0);
        serve(1);

        dtx::Cluster cluster(schema_, options_);

        cluster.create();
        run_until_killed(cluster);
        serve(victim_);
        return judge(cluster, unknown, torn);
    }

  private:
    void serve(int which)
    {
        std::string name = dir_ + "/" + std::to_string(which);
        struct timespec pause = { 0, 5000000 };

        unlink(name.c_str());
        servers_[which].start({ server_, "--pool", name + ".pool", "--size", "16M", "--listen",
                                "shm:" + name, "--domain", "adr", "--dram", "4M", "--quiet",
                                "--no-spin" });
        // The socket's file appears before the server listens there.
        for (int i = 0; i < 12000 && !is_served("shm:" + name); i++)
            nanosleep(&pause, nullptr);
    }
    static bool is_served(const std::string &url)
    {
        rpm_conn *conn = nullptr;
        int err = rpm_conn_open(url.c_str(), nullptr, &conn);

        rpm_conn_close(&conn);
        return err == 0;
    }
    uint64_t chance(uint64_t below)
    {
        return dtx::SplitMix64(state_++).below(below);
    }

    void run_until_killed(const dtx::Cluster &cluster)
    {
        dtx::Session session(cluster, 0);
        std::vector<dtx::Task<void>> tasks;

        (void)session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
            for (uint64_t key = 0; key < 2 * kPairs; key++)
                (void)co_await txn.insert(table_, key, Count{ 0 });
            co_return true;
        });

        uint64_t end = now_ns() + 5 * kMs + chance(30 * kMs);

        for (uint64_t pair = 0; pair < kPairs; pair++)
            tasks.push_back(count(session, pair, end));
        session.run(std::move(tasks));
    }
    dtx::Task<void> count(dtx::Session &session, uint64_t pair, uint64_t end)
    {
        for (uint64_t next = 1;; next++) {
            dtx::Status status = dtx::Status::aborted;

            try {
                status = (co_await session.transact([&](dtx::Txn &txn) -> dtx::Task<bool> {
                             if (now_ns() >= end && !std::exchange(killed_, true))
                                 servers_[victim_].signal(SIGKILL);
                             (void)co_await txn.write(table_, pair, Count{ next });
                             (void)co_await txn.write(table_, pair + kPairs, Count{ next });
                             co_return true;
                         })).status;
            } catch (const dtx::Error &) {
                co_return; // an error: the transaction had no effect
            }
            if (status == dtx::Status::unknown)
                told_[pair].unknown = next;
            if (status != dtx::Status::committed)
                co_return;
            told_[pair].committed = next;
            co_await session.turn();
        }
    }
    uint64_t judge(const dtx::Cluster &cluster, uint64_t &unknown, uint64_t &torn)
    {
        std::map<uint64_t, uint64_t> found; // by key; a row with a broken checksum is missing
        uint64_t wrong = 0;

        cluster.each_object(
            table_.number, 0, [&](dtx::Address, const unsigned char *image, uint32_t bytes) {
                const dtx::ObjectHeader &header = dtx::header_of(image);

                if (dtx::is_whole(image, bytes) && header.version != 0)
                    found[header.key] =
                        *reinterpret_cast<const uint64_t *>(image + sizeof(dtx::ObjectHeader));
            });
        for (uint64_t pair = 0; pair < kPairs; pair++) {
            const Told &told = told_[pair];
            uint64_t made = 0;

            for (uint64_t key : { pair, pair + kPairs }) {
                auto row = found.find(key);
                bool may = told.unknown != 0 && (row == found.end() || row->second == told.unknown);

                if (row != found.end() && row->second == told.unknown)
                    made++;
                if (may || (row != found.end() && row->second == told.committed))
                    continue;
                wrong++;
                printf("pair %llu: committed %llu, unknown %llu, but key %llu has %lld\n",
                       static_cast<unsigned long long>(pair),
                       static_cast<unsigned long long>(told.committed),
                       static_cast<unsigned long long>(told.unknown),
                       static_cast<unsigned long long>(key),
                       row == found.end() ? -1LL : static_cast<long long>(row->second));
            }
            unknown += told.unknown != 0 ? 1 : 0;
            torn += told.unknown != 0 && made == 1 ? 1 : 0;
        }
        return wrong;
    }

    std::string server_;
    uint64_t state_;
    std::string dir_ = "/dev/shm/dtx_torn_XXXXXX";
    dtx::Schema schema_{ "torn", 1 };
    dtx::Table<Count> table_ = schema_.hash_table<Count>("counts", 1000, partition_of);
    dtx::Options options_;
    Process servers_[2];
    int victim_ = 1;
    bool killed_ = false;
    std::map<uint64_t, Told> told_;
};

} // namespace

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 2 ? strtoull(argv[2], nullptr, 10) : 0;
    uint64_t seed = argc > 3 ? strtoull(argv[3], nullptr, 10) : 1;
    uint64_t wrong = 0, unknown = 0, torn = 0;

    if (rounds == 0) {
        fprintf(stderr, "usage: kill_dtx_torn SERVER ROUNDS [SEED]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    try {
        for (uint64_t round = 0; round < rounds; round++)
            wrong +=
                OperationBatch(argv[1], round % 4 == 0 ? "direct" : "ring", seed * 1000 + round)
                    .run(unknown, torn);
    } catch (const std::exception &failure) {
        fprintf(stderr, "kill_dtx_torn: %s\n", failure.what());
        return 1;
    }
    printf("seed %llu: %llu rounds, %llu pairs told wrong, %llu unknown, of which %llu torn\n",
           static_cast<unsigned long long>(seed), static_cast<unsigned long long>(rounds),
           static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(unknown),
           static_cast<unsigned long long>(torn));
    return wrong == 0 && unknown > 0 ? 0 : 1;
}
