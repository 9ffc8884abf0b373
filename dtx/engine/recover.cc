/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover.cc: redo from the logs.
 *
 * A record that reached any of the logs is a commit: its transaction held all its locks and had
 * looked at its reads when the first log got it. Nobody can have been told otherwise.
 *
 * Invariants
 *   logs are read after their writers are fenced, all of them before the first row is written
 *   of one coordinator alone, only rows are touched whose lock it still has: another may be writing
 *   the others
 *   logs are trimmed after the rows are durable, locks broken after that
 *
 * Tests: tests/unit/dtx/engine/recover_test.cpp
 */
#include "engine/recover.h"

#include "engine/error.h"
#include "engine/redo.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace dtx
{

static constexpr size_t kLocksAtOnce = 8192;
static constexpr uint64_t kRecoveryStaging = 64 << 10; /* for each log: many are open at once */

namespace
{

/* The newest image of each object that logs speak of. */
class Images
{
  public:
    void take(const Layout &layout, const void *record, size_t bytes, Recovery &recovery)
    {
        auto keep = [this](Address address, const unsigned char *image, uint32_t size) {
            std::vector<unsigned char> &newest = images_[address.word];

            if (newest.empty() || header_of(newest.data()).version < header_of(image).version)
                newest.assign(image, image + size);
        };

        if (!decode_redo(layout, record, bytes, keep))
            throw Error(RPM_E_CORRUPT, "a coordinator's log has a record that is no redo record");
        recovery.records++;
    }
    const std::map<uint64_t, std::vector<unsigned char>> &all() const
    {
        return images_;
    }

  private:
    std::map<uint64_t, std::vector<unsigned char>> images_; /* by address */
};

} // namespace

bool is_ready(Store &store)
{
    for (uint32_t shard = 0; shard < store.cluster().shards(); shard++)
        if (store.port(store.server_of(shard, 0)).lock_word(shard, kReadyOffset) != kReady)
            return false;
    return true;
}

/* Bring every copy of an object to what the log says, unless it is newer. */
static void redo(Store &store, Address address, const std::vector<unsigned char> &image,
                 Recovery &recovery)
{
    const Cluster &cluster = store.cluster();
    uint32_t bytes = static_cast<uint32_t>(image.size());
    std::vector<unsigned char> found(bytes);
    rpm_patch patch{ cluster.layout().row_offset(address), image.data(), bytes, 0 };

    for (uint32_t copy = 0; copy < store.placement().copies(address.shard()); copy++) {
        Port &port = store.port(store.server_of(address.shard(), copy));

        port.read(address.shard(), patch.offset, found.data(), bytes);
        if (is_whole(found.data(), bytes) &&
            header_of(found.data()).version >= header_of(image.data()).version)
            continue;
        port.write(address.shard(), { &patch, 1 });
        recovery.rows++;
    }
}

/* Break the locks of a coordinator that holds none any more, or, kRecoverer, those of all. */
static void break_locks(Store &store, uint32_t shard, uint32_t coordinator, Recovery &recovery)
{
    Port &port = store.port(store.server_of(shard, 0));
    uint64_t end = store.layout().lock_bytes();
    std::vector<uint64_t> words(kLocksAtOnce);

    for (uint64_t offset = kLocksOffset; offset < end;) {
        uint64_t bytes = std::min<uint64_t>(end - offset, kLocksAtOnce * sizeof(uint64_t));

        port.read_locks(shard, offset, words.data(), bytes);
        for (uint64_t i = 0; i < bytes / sizeof(uint64_t); i++)
            if (words[i] != 0 &&
                (coordinator == kRecoverer || coordinator_of(words[i]) == coordinator) &&
                port.compare_and_swap(shard, offset + 8 * i, words[i], 0) == words[i])
                recovery.locks++;
        offset += bytes;
    }
}

Recovery finish_one(Store &store, uint32_t coordinator)
{
    Recovery recovery;
    Images images;

    recovery.coordinators = 1;
    for (uint32_t server = 0; server < store.ports(); server++)
        if (store.port(server).has_log())
            store.port(server).each_record([&](const void *record, size_t bytes) {
                images.take(store.layout(), record, bytes, recovery);
            });
    for (const auto &[word, image] : images.all()) {
        Address address{ word };
        uint64_t lock = store.lock_word(address);

        if (lock != 0 && coordinator_of(lock) == coordinator)
            redo(store, address, image, recovery);
    }
    for (uint32_t server = 0; server < store.ports(); server++)
        if (store.port(server).has_log())
            store.port(server).trim_all();
    for (uint32_t shard = 0; shard < store.cluster().shards(); shard++)
        break_locks(store, shard, coordinator, recovery);
    return recovery;
}

namespace
{

/* The logs of all coordinators on one server, taken over and held. */
class AllLogs
{
  public:
    AllLogs(Store &store, uint32_t server) : store_(store), port_(store.port(server)) {}
    ~AllLogs()
    {
        for (rpm_log *&log : logs_)
            rpm_log_close(&log);
    }

    void take_over(Recovery &recovery)
    {
        const Cluster &cluster = store_.cluster();

        for (uint32_t c = 0; c < kCoordinatorsMax; c++) {
            rpm_log_opts opts = rpm_log_opts_init();
            rpm_log *log = nullptr;
            int err;

            opts.flags = RPM_LOG_WRITE | RPM_LOG_TAKEOVER;
            opts.staging_bytes = kRecoveryStaging;
            opts.inflight_max = 1;
            err = rpm_log_open(port_.conn(), log_name(cluster.schema().name(), c).c_str(), &opts,
                               &log);
            if (err == RPM_E_NOENT)
                continue;
            check(err, "taking over a coordinator's log");
            logs_.push_back(log);
            recovery.coordinators = std::max(recovery.coordinators, c + 1);
        }
    }
    void read(Images &images, Recovery &recovery)
    {
        for (size_t i = store_.canary(kCanarySkipLog) ? 1 : 0; i < logs_.size(); i++)
            each_record(logs_[i], [&](const void *record, size_t bytes) {
                images.take(store_.layout(), record, bytes, recovery);
            });
    }
    void trim()
    {
        for (rpm_log *log : logs_)
            trim_all(log);
    }

  private:
    Store &store_;
    Port &port_;
    std::vector<rpm_log *> logs_;
};

} // namespace

Recovery finish_all(Store &store)
{
    const Cluster &cluster = store.cluster();
    std::vector<std::unique_ptr<AllLogs>> logs;
    Recovery recovery;
    Images images;

    /* Nobody joins from here on without recovering everything himself, which fences us. */
    for (uint32_t shard = 0; shard < cluster.shards(); shard++)
        store.port(store.server_of(shard, 0)).set_lock_word(shard, kReadyOffset, 0);
    for (uint32_t server = 0; server < store.ports(); server++) {
        logs.push_back(std::make_unique<AllLogs>(store, server));
        logs.back()->take_over(recovery);
    }
    for (auto &there : logs)
        there->read(images, recovery);
    for (const auto &[word, image] : images.all())
        redo(store, Address{ word }, image, recovery);
    for (auto &there : logs)
        there->trim();
    for (uint32_t shard = 0; shard < cluster.shards(); shard++)
        break_locks(store, shard, kRecoverer, recovery);
    for (uint32_t shard = 0; shard < cluster.shards(); shard++)
        store.port(store.server_of(shard, 0)).set_lock_word(shard, kReadyOffset, kReady);
    return recovery;
}

} // namespace dtx
