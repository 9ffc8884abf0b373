/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover.cc: redo from the logs.
 *
 * A record that is in all logs it was to be in, of those on servers that live, is a commit: its
 * transaction held all its locks and had looked at its reads when the first log got it. One that is
 * in some of them only was never acknowledged, and no row of it was written: it is dropped. If it
 * were finished, the servers with the others might die over it, and its rows be there in part.
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

#include "engine/descriptor.h"
#include "engine/redo.h"
#include <dtx/error.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <map>

namespace dtx
{

static constexpr size_t kLocksAtOnce = 8192;
static constexpr uint64_t kRecoveryStaging = 64 << 10; /* for each log: many are open at once */

namespace
{

using Servers = std::bitset<kShardsMax>;

/* Which servers' logs have the record of a transaction. */
class Logged
{
  public:
    void take(const Layout &layout, uint32_t server, const void *record, size_t bytes)
    {
        RedoHeader header{};

        if (!decode_redo(layout, record, bytes, [](Address, const unsigned char *, uint32_t) {}))
            throw Error(RPM_E_CORRUPT, "a coordinator's log has a record that is no redo record");
        std::memcpy(&header, record, sizeof(header));
        servers_[header.txn].set(server);
    }
    /* Is one that was taken in all of these? */
    bool has_all(const void *record, const Servers &servers) const
    {
        RedoHeader header{};

        std::memcpy(&header, record, sizeof(header));
        auto found = servers_.find(header.txn); /* if not, others are at work by now */

        return found != servers_.end() && (found->second & servers) == servers;
    }

  private:
    std::map<uint64_t, Servers> servers_; /* by transaction */
};

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

        (void)decode_redo(layout, record, bytes, keep);
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

uint64_t number_prefix(const Store &store, uint32_t coordinator, uint64_t epoch)
{
    uint64_t view = store.placement().view.number & ((1u << kViewBits) - 1);
    uint64_t claim = epoch & ((1u << kClaimBits) - 1);

    return uint64_t{ coordinator } << (kEpochBits + kSequenceBits) |
           view << (kClaimBits + kSequenceBits) | claim << kSequenceBits;
}

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
                port.compare_and_swap(shard, offset + 8 * i, words[i], 0) == words[i] &&
                words[i] != kMoved) /* that nobody held */
                recovery.locks++;
        offset += bytes;
    }
}

/* Where records of a coordinator have to be: where it put them in the view @written_in, of servers
 * that live now. */
static Servers log_servers(const Store &store, const View &written_in, uint32_t coordinator)
{
    Placement written = store.placement();
    Servers servers;

    written.view = written_in;
    for (uint32_t server : written.log_servers(coordinator))
        if (store.placement().view.alive(server))
            servers.set(server);
    return servers;
}

Recovery finish_one(Store &store, uint32_t coordinator)
{
    Recovery recovery;
    Images images;
    Logged logged;
    Servers servers = log_servers(store, store.placement().view, coordinator);

    recovery.coordinators = 1;
    for (uint32_t server = 0; server < store.ports(); server++)
        if (store.port(server).has_log())
            store.port(server).each_record([&](const void *record, size_t bytes) {
                logged.take(store.layout(), server, record, bytes);
            });
    for (uint32_t server = 0; server < store.ports(); server++)
        if (store.port(server).has_log())
            store.port(server).each_record([&](const void *record, size_t bytes) {
                if (logged.has_all(record, servers))
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

AllLogs::~AllLogs()
{
    for (auto &[coordinator, log] : logs_)
        rpm_log_close(&log);
}

/* @create_bytes: 0: there may be none. */
bool AllLogs::take(uint32_t coordinator, uint64_t create_bytes)
{
    std::string name = log_name(store_.cluster().schema().name(), coordinator);
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;
    int err;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_TAKEOVER;
    opts.flags |= create_bytes != 0 ? RPM_LOG_CREATE : 0;
    opts.capacity_bytes = create_bytes;
    opts.level = store_.cluster().options().durable ? RPM_DURABLE : RPM_VISIBLE;
    opts.staging_bytes = kRecoveryStaging;
    opts.inflight_max = 1;
    err = rpm_log_open(port_.conn(), name.c_str(), &opts, &log);
    if (err == RPM_E_NOENT)
        return false;
    check(err, "taking over a coordinator's log");
    logs_[coordinator] = log;
    return true;
}

uint32_t AllLogs::take_over()
{
    uint32_t coordinators = 0;

    for (uint32_t c = 0; c < kCoordinatorsMax; c++)
        if (take(c, 0))
            coordinators = c + 1;
    return coordinators;
}

void AllLogs::create_as(const AllLogs &others)
{
    struct rpm_log_info info = rpm_log_info_init();

    for (const auto &[coordinator, log] : others.logs_) {
        if (logs_.count(coordinator) != 0)
            continue;
        check(rpm_log_info(log, &info), "a coordinator's log");
        (void)take(coordinator, info.capacity_bytes);
    }
}

void AllLogs::each_record(
    const std::function<void(uint32_t coordinator, const void *, size_t)> &heard)
{
    bool skip = store_.canary(kCanarySkipLog);

    for (auto &[coordinator, log] : logs_) {
        auto of = [&heard, c = coordinator](const void *record, size_t bytes) {
            heard(c, record, bytes);
        };

        if (!skip)
            dtx::each_record(log, of);
        skip = false;
    }
}

size_t AllLogs::record_max(uint32_t coordinator) const
{
    return rpm_log_record_max(logs_.at(coordinator));
}

void AllLogs::append(uint32_t coordinator, const std::vector<unsigned char> &record)
{
    uint64_t lsn;

    check(rpm_log_append(logs_.at(coordinator), record.data(), record.size(), &lsn),
          "writing a redo record");
}

void AllLogs::trim(uint32_t coordinator)
{
    trim_all(logs_.at(coordinator));
}

void AllLogs::trim()
{
    for (auto &[coordinator, log] : logs_)
        trim_all(log);
}

void Everything::fence()
{
    const Placement &placement = store_.placement();

    /* Nobody joins from here on without recovering everything himself, which fences us. */
    for (uint32_t shard = 0; shard < store_.cluster().shards(); shard++)
        store_.port(placement.server_of(shard, 0)).set_lock_word(shard, kReadyOffset, 0);
    for (uint32_t server = 0; server < store_.ports(); server++) {
        if (!placement.view.alive(server))
            continue;
        logs_.push_back(std::make_unique<AllLogs>(store_, store_.port(server)));
        recovery_.coordinators = std::max(recovery_.coordinators, logs_.back()->take_over());
    }
}

void Everything::redo(const View &written_in)
{
    Images images;
    Logged logged;

    for (auto &there : logs_)
        there->each_record([&](uint32_t, const void *record, size_t bytes) {
            logged.take(store_.layout(), there->server(), record, bytes);
        });
    for (auto &there : logs_)
        there->each_record([&](uint32_t coordinator, const void *record, size_t bytes) {
            if (logged.has_all(record, log_servers(store_, written_in, coordinator)))
                images.take(store_.layout(), record, bytes, recovery_);
        });
    for (const auto &[word, image] : images.all())
        dtx::redo(store_, Address{ word }, image, recovery_);
}

void Everything::clear()
{
    for (auto &there : logs_)
        there->trim();
    for (uint32_t shard = 0; shard < store_.cluster().shards(); shard++)
        break_locks(store_, shard, kRecoverer, recovery_);
}

void Everything::make_ready()
{
    for (uint32_t shard = 0; shard < store_.cluster().shards(); shard++)
        store_.port(store_.server_of(shard, 0)).set_lock_word(shard, kReadyOffset, kReady);
}

void reserve_locks(Store &store)
{
    for (uint32_t server = 0; server < store.ports(); server++)
        if (store.placement().view.alive(server))
            create_all_locks(store.cluster(), store.port(server).conn(), server);
}

Recovery finish_all(Store &store)
{
    Everything all(store);

    reserve_locks(store);
    all.fence();
    all.redo(store.placement().view);
    all.clear();
    all.make_ready();
    return all.recovery();
}

void recover_unready(const Cluster &cluster, Claim claim)
{
    Scheduler scheduler(cluster.options().seed, 0);
    Store store(cluster, scheduler);

    store.open(kRecoverer, claim);
    if (!is_ready(store))
        (void)finish_all(store);
    store.close();
}

} // namespace dtx
