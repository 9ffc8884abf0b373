// SPDX-License-Identifier: BSD-3-Clause
// histories.h: runs small random transactions that conflict, records their history, and has the
// checker of histories check it.
#ifndef TESTS_UNIT_DTX_ENGINE_HISTORIES_H
#define TESTS_UNIT_DTX_ENGINE_HISTORIES_H

#include "history/check.h"
#include "history/history.h"
#include "unit/dtx/engine/database.h"
#include <dtx/object.h>
#include <dtx/scheduler.h>

#include <mutex>

// Records the attempts of all sessions in one history in memory.
class Recorder : public dtx::Listener
{
  public:
    Recorder()
    {
        dtx::history::Header header;

        header.fresh = true;
        history.header(header);
    }

    void ended(const dtx::Attempt &attempt) override
    {
        std::lock_guard lock(mutex_);
        std::vector<dtx::history::Access> reads;
        std::vector<dtx::history::Access> writes;
        dtx::history::Entry entry;
        /* The reads of a body that gave up were validated: it counts as committed, without writes.
         * */
        bool gave_up = attempt.status == dtx::Status::aborted && attempt.holds;

        for (const dtx::Access *access : attempt.accesses) {
            if (access->seen)
                reads.push_back({ access->address.word, access->version, access->writer });
            if (access->written && !gave_up)
                writes.push_back({ access->address.word,
                                   attempt.status == dtx::Status::aborted
                                       ? access->version + 1
                                       : access->header().version,
                                   0 });
        }
        entry.txn = attempt.txn;
        entry.session = attempt.coordinator * 1024 + attempt.set;
        entry.begin_ns = attempt.begin_ns;
        entry.end_ns = attempt.end_ns;
        entry.status = gave_up ? dtx::history::Status::kCommitted
                               : static_cast<dtx::history::Status>(attempt.status);
        entry.reads = reads;
        entry.writes = writes;
        refused += history.entry(entry);
    }

    // Adds the versions in all slots of each copy to the history.
    void add_final_state(const dtx::Cluster &cluster)
    {
        for (uint32_t copy = 0; copy < cluster.options().replicas; copy++)
            for (uint32_t table = 0; table < cluster.layout().tables(); table++)
                cluster.each_object(
                    table, copy, [&](dtx::Address address, const unsigned char *image, uint32_t) {
                        const dtx::ObjectHeader &header = dtx::header_of(image);
                        dtx::history::Access access{ address.word, header.version, header.writer };

                        if (header.version != 0)
                            refused += history.final_state({ &access, 1 });
                    });
    }

    // The violations that the checker finds; empty: none.
    std::string verdict(bool partial = false) const
    {
        dtx::history::CheckOptions options;

        options.partial = partial;

        dtx::history::CheckResult result = dtx::history::check(history, options);
        std::string words = refused;

        for (const dtx::history::Violation &violation : result.violations.kept())
            words += std::string(kind_name(violation.kind)) + ": " + violation.text + "\n";
        return words;
    }

    dtx::history::History history;
    std::string refused;

  private:
    std::mutex mutex_;
};

// One operation on a random key of twelve: six in each of two partitions.
template <class Table> dtx::Task<void> random_step(dtx::Txn &txn, Table table, dtx::SplitMix64 &rng)
{
    uint32_t partition = static_cast<uint32_t>(rng.below(2));
    uint64_t key = in_partition(partition, rng.below(6));

    switch (rng.below(6)) {
    case 0:
        (void)co_await txn.insert(table, key, Account{ 1 });
        break;
    case 1:
        (void)co_await txn.erase(table, key);
        break;
    case 2:
    case 3: {
        std::optional<Account> row;

        if (rng.below(2) == 0)
            row = co_await txn.read(table, key);
        else
            row = co_await txn.read_for_update(table, key);
        if (row)
            (void)co_await txn.write(table, key, Account{ row->cents + 1 });
        break;
    }
    default:
        (void)co_await txn.read(table, key);
    }
}

inline dtx::Task<bool> random_body(dtx::Txn &txn, const Tables &tables, dtx::SplitMix64 &rng)
{
    uint64_t steps = rng.below(2) == 0 ? 1 : 1 + rng.below(4);

    if (rng.below(4) == 0)
        co_await txn.prefetch(tables.accounts.at(rng.below(6)), tables.sorted.at(rng.below(6)),
                              tables.sorted.at(in_partition(1, rng.below(6))));
    for (uint64_t i = 0; i < steps; i++) {
        if (rng.below(5) == 0)
            (void)co_await txn.scan(tables.sorted, in_partition(1, 0), in_partition(1, 3));
        else if (rng.below(2) == 0)
            co_await random_step(txn, tables.accounts, rng);
        else
            co_await random_step(txn, tables.sorted, rng);
    }
    co_return rng.below(4) != 0;
}

// Runs @coroutines of one session, each with @rounds transactions.
inline void run_random(dtx::Session &session, const Tables &tables, uint64_t seed, int coroutines,
                       int rounds)
{
    std::vector<dtx::Task<void>> tasks;
    auto worker = [&](uint64_t own) -> dtx::Task<void> {
        dtx::SplitMix64 rng(own);

        for (int i = 0; i < rounds; i++)
            (void)co_await session.transact(
                [&](dtx::Txn &txn) -> dtx::Task<bool> { return random_body(txn, tables, rng); });
    };

    for (int c = 0; c < coroutines; c++)
        tasks.push_back(worker(seed * 64 + static_cast<uint64_t>(c)));
    session.run(std::move(tasks));
}

#endif
