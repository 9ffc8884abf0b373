/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover.cc: read the redo records of dead coordinators and install their rows.
 *
 * A record that is in all of its logs on live servers is a commit: the transaction held all
 * its locks and had validated its reads before it sent the record. A record that is in only some of
 * these logs was never acknowledged, and no row of it was written: recovery drops it. If recovery
 * installed its rows instead, the servers that have the record might die meanwhile, and only some
 * of the rows would be installed.
 *
 * Invariants
 *   logs are read after their writers are fenced, all of them before the first row is written
 *   recovery of one coordinator writes only rows whose lock the record's transaction still holds:
 *   another session may be writing the other rows
 *   logs are trimmed after the rows are durable, and locks are freed after that
 *
 * Tests: tests/unit/dtx/engine/recovery/recover_test.cpp
 */
#include "engine/recovery/recover.h"

#include "engine/base/assert.h"
#include "engine/cluster/advice.h"
#include "engine/cluster/objects.h"
#include "engine/cluster/replica.h"
#include "engine/format/names.h"
#include "engine/format/redo.h"
#include "engine/recovery/slot_returns.h"
#include <dtx/error.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <map>
#include <optional>

namespace dtx
{

static constexpr size_t kLocksAtOnce = 8192;
static constexpr uint64_t kRecoveryStaging = 64 << 10; /* of each log: many are open at once */
static constexpr size_t kLogsOfConnection = 100;       /* a claimed log takes two of its 255 keys */

namespace
{

using ServerSet = std::bitset<kShardsMax>;

/* Which servers' logs have the record of a transaction. */
class Logged
{
  public:
    void take(const Cluster &cluster, uint32_t server, const void *record, size_t bytes)
    {
        RedoHeader header{};

        if (!decode_redo(cluster.layout(), cluster.shards(), record, bytes,
                         [](Address, const unsigned char *, uint32_t) {}))
            throw Error(RPM_E_CORRUPT,
                        "a coordinator's log on " + server_name(cluster, server) +
                            " has a record of " + std::to_string(bytes) +
                            " bytes that is not a redo record: the log is damaged or belongs to "
                            "another program" +
                            rebuild_advice(cluster, server));
        std::memcpy(&header, record, sizeof(header));
        holders_[header.txn].set(server);
    }
    /* Is the record of a transaction in the logs of all @servers? A note counts in one of them. */
    bool has_all(const void *record, size_t bytes, const ServerSet &servers) const
    {
        RedoHeader header{};

        DTX_ASSERT(servers.any());  /* else every record would count as committed */
        if (bytes < sizeof(header)) /* not what take() has read: the server sends other bytes now */
            return false;
        if (is_note(record))
            return true;
        std::memcpy(&header, record, sizeof(header));
        auto found = holders_.find(header.txn); /* none: another recovery has trimmed the record */

        return found != holders_.end() && (found->second & servers) == servers;
    }

  private:
    std::map<uint64_t, ServerSet> holders_; /* by transaction */
};

/* The newest image of each object in the logs. */
class Images
{
  public:
    void take(const Cluster &cluster, const void *record, size_t bytes, Spares &spares,
              Recovery &recovery)
    {
        auto keep = [this](Address address, const unsigned char *image, uint32_t size) {
            std::vector<unsigned char> &newest = images_[address.word];

            if (newest.empty() || header_of(newest.data()).version < header_of(image).version)
                newest.assign(image, image + size);
        };

        (void)decode_redo(cluster.layout(), cluster.shards(), record, bytes, keep,
                          [&spares](const Spare &spare) { spares.take(spare); });
        recovery.records += is_note(record) ? 0 : 1;
    }
    const std::map<uint64_t, std::vector<unsigned char>> &all() const
    {
        return images_;
    }

  private:
    std::map<uint64_t, std::vector<unsigned char>> images_; /* by address */
};

} // namespace

bool is_ready(Servers &servers)
{
    for (uint32_t shard = 0; shard < servers.cluster().shards(); shard++)
        if (servers.primary(shard).lock_word(shard, kReadyOffset) != kReady)
            return false;
    return true;
}

/* Write an image from a log to each copy that has an older version or is torn. */
static void redo(Servers &servers, Address address, const std::vector<unsigned char> &image,
                 Recovery &recovery)
{
    const Cluster &cluster = servers.cluster();
    uint32_t bytes = static_cast<uint32_t>(image.size());
    std::vector<unsigned char> found(bytes);
    rpm_patch patch{ cluster.layout().row_offset(address), image.data(), bytes, 0 };

    /* decode_redo() has verified that: a longer image would overwrite the next object. */
    DTX_ASSERT(bytes == cluster.layout().table(address.table()).slot_bytes);
    for (uint32_t copy = 0; copy < servers.placement().copies(address.shard()); copy++) {
        ServerConnection &connection = servers.connection(servers.server_of(address.shard(), copy));

        connection.read(address.shard(), patch.offset, found.data(), bytes);
        if (is_whole(found.data(), bytes) &&
            header_of(found.data()).version >= header_of(image.data()).version)
            continue;
        connection.write(address.shard(), { &patch, 1 });
        recovery.rows++;
    }
}

/* Free all locks of a shard, and clear its claim words: all sessions are fenced. */
static void free_locks(Servers &servers, uint32_t shard, Recovery &recovery)
{
    ServerConnection &connection = servers.primary(shard);
    uint64_t end = servers.layout().lock_bytes();
    std::vector<uint64_t> words(kLocksAtOnce);

    DTX_ASSERT(servers.owns(kRecoverer));
    for (uint64_t offset = kClaimsOffset; offset < end;) {
        uint64_t bytes = std::min<uint64_t>(end - offset, kLocksAtOnce * sizeof(uint64_t));

        connection.read_locks(shard, offset, words.data(), bytes);
        for (uint64_t i = 0; i < bytes / sizeof(uint64_t); i++)
            if (words[i] != 0 &&
                connection.compare_and_swap(shard, offset + 8 * i, words[i], 0) == words[i] &&
                words[i] != kMoved && /* which is not a session's lock */
                offset + 8 * i >= kLocksOffset)
                recovery.locks++;
        offset += bytes;
    }
}

/* The live servers whose logs must have a coordinator's records, which it wrote in the view
 * @written_in. */
static ServerSet log_servers(const Servers &servers, const View &written_in, uint32_t coordinator)
{
    Placement written = servers.placement();
    ServerSet live;

    DTX_ASSERT(coordinator < kCoordinatorsMax); /* no record has been written by kRecoverer */
    written.view = written_in;
    for (uint32_t server : written.log_servers(coordinator))
        if (servers.placement().view.alive(server))
            live.set(server);
    return live;
}

/* Let no lock count that the coordinator took before the claim of @servers. */
static void free_earlier_locks(Servers &servers, uint32_t coordinator)
{
    ServerConnection &first = servers.connection(servers.placement().first());

    if (!first.has_log()) /* no session ever joined */
        return;

    uint64_t claim = number_prefix(coordinator, servers.placement().view.number, first.epoch());

    for (uint32_t shard = 0; shard < servers.cluster().shards(); shard++)
        if (servers.primary(shard).has_log())
            servers.primary(shard).set_claim_word(shard, coordinator, claim);
}

/* Leave only a note of the spare slots in each log. */
static void keep_note(Servers &servers, std::span<const Spare> spares)
{
    for (uint32_t server = 0; server < servers.count(); server++)
        if (servers.connection(server).has_log())
            servers.connection(server).keep_note(spares);
}

Finished finish_one(Servers &servers, uint32_t coordinator)
{
    Finished finished;
    Recovery &recovery = finished.recovery;
    Images images;
    Spares spares;
    Logged logged;
    ServerSet logs = log_servers(servers, servers.placement().view, coordinator);

    DTX_ASSERT(servers.is_open() && logs.any());
    recovery.coordinators = 1;
    for (uint32_t server = 0; server < servers.count(); server++) {
        ServerConnection &connection = servers.connection(server);

        /* The owner of any other log may still be writing rows. */
        DTX_ASSERT(!connection.has_log() || connection.owns(coordinator));
        if (connection.has_log())
            connection.each_record([&](const void *record, size_t bytes) {
                logged.take(servers.cluster(), server, record, bytes);
            });
    }
    for (uint32_t server = 0; server < servers.count(); server++)
        if (servers.connection(server).has_log())
            servers.connection(server).each_record([&](const void *record, size_t bytes) {
                if (logged.has_all(record, bytes, logs))
                    images.take(servers.cluster(), record, bytes, spares, recovery);
            });
    for (const auto &[word, image] : images.all())
        if (servers.lock_word(Address{ word }) == header_of(image.data()).writer)
            redo(servers, Address{ word }, image, recovery);
    finished.spares = spares.unused(servers);
    keep_note(servers, finished.spares);
    free_earlier_locks(servers, coordinator);
    return finished;
}

AllLogs::~AllLogs()
{
    for (auto &[coordinator, log] : logs_)
        rpm_log_close(&log);
}

/* The connection on which the next log is opened: that of the shards, or another. */
rpm_conn *AllLogs::next_connection()
{
    size_t wanted = logs_.size() / kLogsOfConnection;

    if (wanted == 0)
        return connection_.conn();
    if (more_.size() < wanted)
        more_.push_back(std::make_unique<RawConnection>(servers_.cluster(), server()));
    DTX_ASSERT(more_.size() >= wanted);
    return more_[wanted - 1]->get();
}

/* Claims a coordinator's log. @create_bytes: its capacity if there is no such log; 0: do not create
 * it. False: there is none. */
bool AllLogs::take(uint32_t coordinator, uint64_t create_bytes)
{
    DTX_ASSERT(!has(coordinator));
    DTX_ASSERT(connection_.owns(kRecoverer)); /* else two commands could take the logs over */

    std::string name = log_name(servers_.cluster().schema().name(), coordinator);
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;
    int err;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_TAKEOVER;
    opts.flags |= create_bytes != 0 ? RPM_LOG_CREATE : 0;
    opts.capacity_bytes = create_bytes;
    opts.level = servers_.cluster().options().durable ? RPM_DURABLE : RPM_VISIBLE;
    opts.staging_bytes = kRecoveryStaging;
    opts.inflight_max = 1;
    err = rpm_log_open(next_connection(), name.c_str(), &opts, &log);
    if (err == RPM_E_NOENT)
        return false;
    if (err == RPM_E_CORRUPT)
        fail_damaged_log(servers_.cluster(), server(), rpm_last_error());
    check(err, "taking over a coordinator's log");
    logs_[coordinator] = log;
    return true;
}

uint32_t AllLogs::take_over()
{
    uint32_t coordinators = 0;

    for (uint32_t c : coordinators_on(connection_.conn(), servers_.cluster().schema().name()))
        if (take(c, 0))
            coordinators = c + 1;
    return coordinators;
}

void AllLogs::create_as(const AllLogs &others)
{
    struct rpm_log_info info = rpm_log_info_init();

    DTX_ASSERT(server() != others.server());
    for (const auto &[coordinator, log] : others.logs_) {
        if (logs_.count(coordinator) != 0)
            continue;
        check(rpm_log_info(log, &info), "a coordinator's log");
        (void)take(coordinator, info.capacity_bytes);
    }
}

void AllLogs::each_record(
    const std::function<void(uint32_t coordinator, const void *, size_t)> &callback)
{
    bool skip = servers_.canary(kCanarySkipLog);

    for (auto &[coordinator, log] : logs_) {
        auto of = [&callback, c = coordinator](const void *record, size_t bytes) {
            callback(c, record, bytes);
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

void AllLogs::keep_notes(const std::map<uint32_t, std::vector<Spare>> &spares)
{
    for (auto &[coordinator, log] : logs_) {
        auto found = spares.find(coordinator);

        (void)keep_note(log, coordinator,
                        found == spares.end() ? std::span<const Spare>() : found->second);
    }
}

void AllLogs::trim()
{
    for (auto &[coordinator, log] : logs_)
        trim_all(log);
}

void FullRecovery::fence()
{
    const Placement &placement = servers_.placement();

    DTX_ASSERT(servers_.owns(kRecoverer) && logs_.empty());
    /* From here on, a session that joins finds the database not ready and recovers it first, which
     * fences this recovery. */
    for (uint32_t shard = 0; shard < servers_.cluster().shards(); shard++)
        servers_.connection(placement.server_of(shard, 0)).set_ready_word(shard, 0);
    for (uint32_t server = 0; server < servers_.count(); server++) {
        if (!placement.view.alive(server))
            continue;
        logs_.push_back(std::make_unique<AllLogs>(servers_, servers_.connection(server)));
        recovery_.coordinators = std::max(recovery_.coordinators, logs_.back()->take_over());
    }
}

void FullRecovery::redo(const View &written_in)
{
    Images images;
    Logged logged;

    DTX_ASSERT(!logs_.empty() && !cleared_);
    for (auto &there : logs_) {
        /* A server that was dead then may have records of commits that did not happen. */
        DTX_ASSERT(written_in.alive(there->server()));
        there->each_record([&](uint32_t, const void *record, size_t bytes) {
            logged.take(servers_.cluster(), there->server(), record, bytes);
        });
    }
    for (auto &there : logs_)
        there->each_record([&](uint32_t coordinator, const void *record, size_t bytes) {
            if (logged.has_all(record, bytes, log_servers(servers_, written_in, coordinator)))
                images.take(servers_.cluster(), record, bytes, spares_[coordinator], recovery_);
        });
    for (const auto &[word, image] : images.all())
        dtx::redo(servers_, Address{ word }, image, recovery_);
    redone_ = true;
}

void FullRecovery::clear()
{
    DTX_ASSERT(!logs_.empty());
    DTX_ASSERT(redone_ || servers_.canary(kCanaryNoRedo)); /* else commits would be lost */

    std::map<uint32_t, std::vector<Spare>> unused;

    for (const auto &[coordinator, spares] : spares_)
        unused[coordinator] = spares.unused(servers_);
    for (auto &there : logs_)
        there->keep_notes(unused);
    for (uint32_t shard = 0; shard < servers_.cluster().shards(); shard++)
        free_locks(servers_, shard, recovery_);
    cleared_ = true;
}

void FullRecovery::make_ready()
{
    DTX_ASSERT(cleared_); /* a session that joins must find no lock of a fenced one */
    for (uint32_t shard = 0; shard < servers_.cluster().shards(); shard++)
        servers_.primary(shard).set_ready_word(shard, kReady);
}

void reserve_locks(Servers &servers)
{
    for (uint32_t server = 0; server < servers.count(); server++)
        if (servers.placement().view.alive(server))
            create_all_locks(servers.cluster(), servers.connection(server).conn(), server);
}

Recovery finish_all(Servers &servers)
{
    FullRecovery all(servers);

    reserve_locks(servers);
    all.fence();
    all.redo(servers.placement().view);
    all.clear();
    DTX_ASSERT(all.is_cleared()); /* a record that stayed would be installed over newer rows */
    all.make_ready();
    return all.recovery();
}

Recovery recover_one(const Cluster &cluster, uint32_t coordinator, Claim claim)
{
    Scheduler scheduler(cluster.options().seed, 0);
    Servers servers(cluster, scheduler);

    DTX_ASSERT(coordinator < kCoordinatorsMax);
    DTX_ASSERT(claim == Claim::inherit || claim == Claim::takeover); /* others create logs */
    servers.open(coordinator, claim);
    if (!is_ready(servers)) {
        /* A server has lost its locks, from which finish_one() knows which rows to install. */
        servers.close();
        recover_unready(cluster, Claim::join);
        servers.open(coordinator, claim);
    }

    Finished finished = finish_one(servers, coordinator);

    finished.recovery.slots = return_spares(servers, coordinator, std::move(finished.spares));
    servers.close();
    return finished.recovery;
}

static void expect_coordinator(uint32_t coordinator)
{
    if (coordinator >= kCoordinatorsMax)
        throw Error(RPM_E_INVAL, "coordinator " + std::to_string(coordinator) + ", expected 0 to " +
                                     std::to_string(kCoordinatorsMax - 1));
}

/* The epoch of a coordinator's log on the first live server. Nothing: no session ever joined. */
static std::optional<uint64_t> epoch_of(Servers &servers, uint32_t coordinator)
{
    std::string name = log_name(servers.cluster().schema().name(), coordinator);
    struct rpm_log_info info = rpm_log_info_init();
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;

    opts.staging_bytes = kRecoveryStaging;

    int err = rpm_log_open(servers.connection(servers.placement().first()).conn(), name.c_str(),
                           &opts, &log);

    if (err == RPM_E_NOENT)
        return std::nullopt;
    check(err, "opening a coordinator's log");
    err = rpm_log_info(log, &info);
    rpm_log_close(&log);
    check(err, "reading the state of a coordinator's log");
    return info.epoch;
}

/* May the session of a coordinator be about to join again, after a recovery of all coordinators has
 * fenced it? That recovery has cleared its claim words, or left those of an earlier view. A session
 * that joins, or takes over from it, writes them. */
static bool may_return(const Cluster &cluster, uint32_t coordinator)
{
    constexpr unsigned kBelowView = kSequenceBits + kClaimBits;
    Scheduler scheduler(cluster.options().seed, 0);
    Servers servers(cluster, scheduler);
    bool joined = true;

    servers.open(coordinator, Claim::none);

    std::optional<uint64_t> epoch = epoch_of(servers, coordinator);
    uint64_t claim = number_prefix(coordinator, servers.placement().view.number, 0);

    for (uint32_t shard = 0; epoch && shard < cluster.shards(); shard++) {
        uint64_t word = servers.primary(shard).lock_word(shard, claim_offset(coordinator));

        joined &= word != 0 && word >> kBelowView == claim >> kBelowView;
    }
    servers.close();
    return !joined && cluster.may_return(coordinator, *epoch);
}

Life Cluster::inherit(uint32_t coordinator) const
{
    expect_coordinator(coordinator);
    DTX_ASSERT(coordinator != kRecoverer); /* which no session is */
    try {
        if (dtx::may_return(*this, coordinator))
            return Life::away;
        (void)recover_one(*this, coordinator, Claim::inherit);
        return Life::died;
    } catch (const Error &error) {
        if (error.code() != RPM_E_OWNED)
            throw;
        return Life::alive;
    }
}

Recovery Cluster::recover(uint32_t coordinator) const
{
    expect_coordinator(coordinator);
    return recover_one(*this, coordinator, Claim::takeover);
}

void recover_unready(const Cluster &cluster, Claim claim)
{
    Scheduler scheduler(cluster.options().seed, 0);
    Servers servers(cluster, scheduler);

    servers.open(kRecoverer, claim);
    if (!is_ready(servers))
        (void)finish_all(servers);
    servers.close();
}

} // namespace dtx
