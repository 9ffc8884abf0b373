// SPDX-License-Identifier: BSD-3-Clause
#include "engine/store/operation_batch.h"

#include "engine/store/store.h"
#include "unit/dtx/engine/database.h"
#include <dtx/error.h>

#include <librpm/sim.h>

namespace
{

// A store that coroutines of one thread share.
struct StoreFixture {
    explicit StoreFixture(const dtx::Cluster &cluster, uint32_t interleave = 0)
        : scheduler(1, interleave), store(cluster, scheduler)
    {
        store.servers.open(0, dtx::Claim::join);
    }
    ~StoreFixture()
    {
        store.close();
    }
    template <class Body> void run(Body body, int many = 1)
    {
        std::vector<dtx::Task<void>> tasks;

        for (int i = 0; i < many; i++)
            tasks.push_back(body(i));
        scheduler.run(std::move(tasks), [this](uint64_t idle) { store.poll(idle); });
    }

    dtx::Scheduler scheduler;
    dtx::Store store;
};

dtx::Address account(const Database &db, uint32_t shard, uint64_t slot)
{
    return dtx::Address::of(shard, db.tables.accounts.number, slot);
}

} // namespace

TEST_CASE("operation batch: operations are under way together, stages one after the other",
          "[unit]")
{
    std::string mode = GENERATE("", ",mode=ring");
    auto via = GENERATE(dtx::Via::one_sided, dtx::Via::call);
    Database db(2, {}, Tables(), mode);
    StoreFixture fixture(*db.cluster);

    CAPTURE(mode, via == dtx::Via::call);
    fixture.run([&](int) -> dtx::Task<void> {
        dtx::OperationBatch batch(fixture.store.servers, via);
        uint32_t bytes = fixture.store.servers.layout().table(db.tables.accounts.number).slot_bytes;
        std::vector<uint64_t> image(bytes / 8, 7), seen(bytes / 8);
        rpm_patch patch{ fixture.store.servers.layout().row_offset(account(db, 1, 5)), image.data(),
                         bytes, 0 };
        uint64_t found[4] = { 9, 9, 9, 9 };
        uint64_t version = 0;

        batch.compare_and_swap(account(db, 0, 3), 0, 41, &found[0]);
        batch.compare_and_swap(account(db, 1, 3), 5, 42, &found[1]);
        batch.write(1, 0, { &patch, 1 });
        batch.then();
        batch.lock_word(account(db, 0, 3), &found[2]);
        batch.compare_and_swap(account(db, 0, 3), 41, 0, &found[3]);
        batch.read(account(db, 1, 5), reinterpret_cast<unsigned char *>(seen.data()), bytes);
        batch.version(account(db, 1, 5), &version);
        co_await batch.run();
        CHECK(found[0] == 0);
        CHECK(found[1] == 0);
        CHECK(found[2] == 41);
        CHECK(found[3] == 41);
        CHECK(version == 7);
        CHECK(seen == image);
    });
    CHECK(fixture.store.servers.remote() == 7);
}

// An acknowledged commit holds its lock until its row is installed: a later read of that row alone
// must not be settled with the version before it.
TEST_CASE("dtx: a settled read is not older than commits acknowledged before it", "[unit]")
{
    Database db;
    StoreFixture fixture(*db.cluster, 128);
    dtx::Address address = account(db, 0, 3);
    uint32_t bytes = fixture.store.servers.layout().table(db.tables.accounts.number).slot_bytes;
    std::vector<unsigned char> rows[2];
    uint32_t reads[2] = {}; /* not settled, settled */
    auto change = [&](uint64_t version, uint64_t lock, uint64_t next) -> dtx::Task<void> {
        rpm_patch patch{ fixture.store.servers.layout().row_offset(address),
                         rows[version - 1].data(), bytes, 0 };
        dtx::OperationBatch row(fixture.store.servers), unlock(fixture.store.servers);
        uint64_t found = 0;

        row.write(0, 0, { &patch, 1 });
        co_await row.run();
        unlock.compare_and_swap(address, lock, next, &found);
        co_await unlock.run();
        CHECK(found == lock);
    };

    for (uint64_t version : { 1, 2 }) {
        rows[version - 1].resize(bytes);
        dtx::header_of(rows[version - 1].data()) = { version, 1, version + 40, 1, 0 };
        dtx::seal(rows[version - 1].data(), bytes);
    }
    for (int i = 0; i < 200; i++) {
        fixture.run([&](int) { return change(1, 0, 42); });
        fixture.run(
            [&](int who) -> dtx::Task<void> {
                if (who == 0) {
                    co_await change(2, 42, 0);
                    co_return;
                }
                dtx::ReadWriteSet set;
                const dtx::Access *row = co_await fixture.store.objects.fetch(set, address);
                bool is_old = row->version == 1;

                reads[row->settled]++;
                CHECK_FALSE((row->settled && is_old));
            },
            2);
    }
    CHECK(reads[0] > 10);
    CHECK(reads[1] > 10);
}

TEST_CASE("dtx: a stage is sent after the stage before has ended", "[unit]")
{
    rpm_sim_opts world = rpm_sim_opts_init();
    dtx::Options options;
    Tables tables;
    rpm_sim *sim = nullptr;
    bool first = true;

    world.pool_bytes = 2 << 20;
    world.dram_bytes = 256 << 10;
    REQUIRE(rpm_sim_open(&world, &sim) == 0);
    options.urls = { "sim:0" };
    options.log_bytes = 64 << 10;
    options.dial = [sim](uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn) {
        return rpm_sim_connect(sim, server, opts, conn);
    };
    {
        dtx::Cluster cluster(tables.schema, options);

        cluster.create();

        StoreFixture fixture(cluster);
        std::vector<dtx::Task<void>> tasks;
        struct rpm_conn_stats before = rpm_conn_stats_init();
        struct rpm_conn_stats now = rpm_conn_stats_init();
        dtx::Address address = dtx::Address::of(0, tables.accounts.number, 1);
        auto body = [&]() -> dtx::Task<void> {
            dtx::OperationBatch batch(fixture.store.servers, dtx::Via::one_sided);
            uint64_t found[3];

            batch.compare_and_swap(address, 0, 41, &found[0]);
            batch.then();
            batch.lock_word(address, &found[1]);
            batch.version(address, &found[2]);
            co_await batch.run();
            CHECK(found[1] == 41);
        };

        REQUIRE(rpm_conn_stats(fixture.store.servers.connection(0).conn(), &before) == 0);
        tasks.push_back(body());
        fixture.scheduler.run(std::move(tasks), [&](uint64_t idle) {
            if (std::exchange(first, false)) {
                REQUIRE(rpm_conn_stats(fixture.store.servers.connection(0).conn(), &now) == 0);
                CHECK(now.atomics == before.atomics + 1);
                CHECK(now.reads == before.reads);
            }
            fixture.store.poll(idle);
        });
        REQUIRE(rpm_conn_stats(fixture.store.servers.connection(0).conn(), &now) == 0);
        CHECK(now.reads == before.reads + 2);
    }
    rpm_sim_close(&sim);
}

TEST_CASE("dtx: more operations than a queue takes are sent as there is room", "[unit]")
{
    auto via = GENERATE(dtx::Via::one_sided, dtx::Via::call);
    Database db(1, {}, Tables(), ",mode=ring");
    StoreFixture fixture(*db.cluster);
    uint64_t sum = 0;

    fixture.run(
        [&](int i) -> dtx::Task<void> {
            dtx::OperationBatch batch(fixture.store.servers, via);
            std::vector<uint64_t> found(300, 1);

            for (uint64_t &word : found)
                batch.lock_word(account(db, 0, static_cast<uint64_t>(i)), &word);
            co_await batch.run();
            for (uint64_t word : found)
                sum += word;
        },
        8);
    CHECK(sum == 0);
    CHECK(fixture.store.servers.remote() == 2400);
}

TEST_CASE("operation batch: a batch from before the session joined again sends no operation",
          "[unit]")
{
    auto via = GENERATE(dtx::Via::one_sided, dtx::Via::call);
    Database db(1, {}, Tables(), ",mode=ring");
    StoreFixture fixture(*db.cluster);
    uint64_t found = 0;
    bool fenced = false;

    fixture.run([&](int) -> dtx::Task<void> {
        dtx::OperationBatch batch(fixture.store.servers, via);

        batch.compare_and_swap(account(db, 0, 3), 0, 41, &found);
        fixture.store.close();
        fixture.store.servers.open(0, dtx::Claim::takeover);
        try {
            co_await batch.run();
        } catch (const dtx::Fenced &) {
            fenced = true;
        }
    });
    CHECK(fenced);
    CHECK(fixture.store.servers.lock_word(account(db, 0, 3)) == 0);
}

TEST_CASE("operation batch: a batch that waits for room ends when its session joins again",
          "[unit]")
{
    auto via = GENERATE(dtx::Via::one_sided, dtx::Via::call);
    Database db(1, {}, Tables(), ",mode=ring");
    StoreFixture fixture(*db.cluster);
    bool fenced = false;

    fixture.run(
        [&](int i) -> dtx::Task<void> {
            dtx::OperationBatch batch(fixture.store.servers, via);
            std::vector<uint64_t> found(3000);

            if (i == 1) {
                fixture.store.close();
                fixture.store.servers.open(0, dtx::Claim::takeover);
                co_return;
            }
            for (uint64_t &word : found)
                batch.lock_word(account(db, 0, 3), &word);
            try {
                co_await batch.run();
            } catch (const dtx::Fenced &) {
                fenced = true;
            }
        },
        2);
    CHECK(fenced);
}

TEST_CASE("operation batch: a batch ends when its server is lost", "[unit]")
{
    auto via = GENERATE(dtx::Via::one_sided, dtx::Via::call);
    Database db(2, {}, Tables(), ",mode=ring");
    StoreFixture fixture(*db.cluster);
    int fenced = 0;

    db.stop();
    fixture.run(
        [&](int) -> dtx::Task<void> {
            dtx::OperationBatch batch(fixture.store.servers, via);
            uint64_t words[2];

            batch.lock_word(account(db, 0, 1), &words[0]);
            batch.lock_word(account(db, 1, 1), &words[1]);
            try {
                co_await batch.run();
            } catch (const dtx::Fenced &) {
                fenced++;
            }
        },
        3);
    CHECK(fenced == 3);
}

TEST_CASE("dtx: rows that do not fit into a message are written one-sided", "[unit]")
{
    struct Page {
        unsigned char bytes[6000];
    };
    struct Pages : Tables {
        dtx::Table<Page> pages = schema.hash_table<Page>("pages", 100, partition_of);
    };
    std::string mode = GENERATE("", ",mode=ring");
    dtx::Options options = replicated(2);
    Pages tables;

    options.phases = dtx::Phases::parse("call");
    Database db(2, options, tables, mode);
    dtx::Session session(*db.cluster, 0);
    Page page{};

    for (uint64_t i = 0; i < 20; i++)
        CHECK(now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                  page.bytes[5999] = static_cast<unsigned char>(i + 1);
                  co_return co_await txn.insert(tables.pages, in_partition(i % 2, i), page);
              }) == dtx::Status::committed);
    for (uint32_t copy = 0; copy < 2; copy++) {
        uint64_t rows = 0;

        db.cluster->each_row(tables.pages.number, copy, [&](uint64_t key, const void *row, size_t) {
            rows++;
            CHECK(static_cast<const Page *>(row)->bytes[5999] == (key & 0xff) + 1);
        });
        CHECK(rows == 20);
    }
}
