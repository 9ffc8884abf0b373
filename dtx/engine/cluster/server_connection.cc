/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server_connection.cc: operations by calls of librpm, whose error codes become Fenced and Error.
 *
 * Tests: tests/unit/dtx/engine/recovery/recover_test.cpp
 */
#include "engine/cluster/server_connection.h"

#include "engine/base/assert.h"
#include "engine/cluster/advice.h"
#include "engine/cluster/replica.h"
#include "engine/format/txn_number.h"
#include <dtx/error.h>
#include <dtx/object.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dtx
{

static constexpr uint32_t kPollMany = 32;
static constexpr uint64_t kRecoveryLogBytes = 64 << 10;
static constexpr uint64_t kOwnerCheckStaging = 64 << 10;

std::string server_name(const Cluster &cluster, uint32_t server)
{
    return "server " + std::to_string(server) + " (" + cluster.options().urls[server] + ")";
}

/* If the server does not answer or refuses, throws Fenced, so that the session tries again: the
 * server may come back, or an operator may start it. Throws other errors at once. */
[[noreturn]] static void fail_connecting(const Cluster &cluster, uint32_t server, int err)
{
    bool away = err == RPM_E_LOST || err == RPM_E_TIMEDOUT || err == RPM_E_REFUSED;

    if (!away)
        fail(err, "connecting to " + server_name(cluster, server));

    std::string why = rpm_last_error();
    std::string advice = err == RPM_E_REFUSED ? refusal_advice(why) : "";

    if (!advice.empty())
        throw Fenced(err, "connecting to " + server_name(cluster, server) + ": " + why + advice);
    throw Away(err, server_name(cluster, server) + " does not answer: " + why);
}

void fail_opening(const Cluster &cluster, uint32_t server, uint32_t shard, int err)
{
    const std::string &name = cluster.schema().name();

    if (err != RPM_E_NOENT)
        fail(err, "opening shard " + std::to_string(shard) + " on " + server_name(cluster, server));
    throw Error(
        err, server_name(cluster, server) + " has no shard " + std::to_string(shard) +
                 " of the database '" + name +
                 "': its pool is empty, or that of another server. Start it with its own pool; or, "
                 "if that is lost, rebuild it from the other copies: " +
                 operator_command(cluster, "promote", { server }) + ", then " +
                 operator_command(cluster, "restore", { server }));
}

ShardHeaderRegion::~ShardHeaderRegion()
{
    rpm_region_close(&region_);
}

int ShardHeaderRegion::open(rpm_conn *conn, const std::string &database, uint32_t shard)
{
    rpm_region_opts opts = rpm_region_opts_init();

    opts.level = RPM_VISIBLE;
    return rpm_region_open(conn, shard_name(database, shard).c_str(), &opts, &region_);
}

void ShardHeaderRegion::read(uint64_t offset, void *into, uint64_t bytes) const
{
    if (rpm_region_bytes(region_) >= offset + bytes)
        check(rpm_region_read(region_, offset, into, bytes), "reading the header of a shard");
}

RawConnection::RawConnection(const Cluster &cluster, uint32_t server)
{
    const Options &options = cluster.options();
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.timeout_us = options.timeout_us;
    opts.hints = options.hints.c_str();
    opts.secret = options.secret.empty() ? nullptr : options.secret.c_str();
    opts.pace = (options.techniques.throttle ? RPM_PACE_THROTTLE : 0) | RPM_PACE_GATHER;
    int err = options.dial ? options.dial(server, &opts, &conn_)
                           : rpm_conn_open(options.urls[server].c_str(), &opts, &conn_);

    if (err != 0)
        fail_connecting(cluster, server, err);
}

RawConnection::~RawConnection()
{
    rpm_conn_close(&conn_);
}

ServerConnection::ServerConnection(const Cluster &cluster, uint32_t server)
    : cluster_(cluster), server_(server), rows_(cluster.shards()), locks_(cluster.shards())
{
}

ServerConnection::~ServerConnection()
{
    close();
}

void ServerConnection::claim_log(uint32_t coordinator, Claim claim)
{
    const Options &options = cluster_.options();
    std::string name = log_name(cluster_.schema().name(), coordinator);
    rpm_log_opts opts = rpm_log_opts_init();
    struct rpm_log_info info = rpm_log_info_init();
    bool creates = claim == Claim::join || claim == Claim::rejoin || coordinator == kRecoverer;
    int err;

    DTX_ASSERT(coordinator < kCoordinatorsMax || coordinator == kRecoverer);
    DTX_ASSERT(claim != Claim::none); /* the flags below would claim the log */
    /* Positions of records that were written under an earlier claim would be used for this one. */
    DTX_ASSERT(kept_.empty() && retired_lsn_ == 0);
    opts.flags = RPM_LOG_WRITE;
    opts.flags |= claim == Claim::rejoin || claim == Claim::takeover ? RPM_LOG_TAKEOVER : 0;
    opts.flags |= creates ? RPM_LOG_CREATE : 0;
    opts.capacity_bytes = coordinator == kRecoverer ? kRecoveryLogBytes : options.log_bytes;
    opts.level = options.durable ? RPM_DURABLE : RPM_VISIBLE;
    if (options.phases.log == Via::call && !mapped_)
        opts.method = RPM_METHOD_COPY;
    coordinator_ = coordinator;
    err = rpm_log_open(conn(), name.c_str(), &opts, &log_);
    if (!creates && err == RPM_E_NOENT)
        return;
    if (err == RPM_E_CORRUPT)
        fail_damaged_log(cluster_, server_, rpm_last_error());
    check(err, "claiming a coordinator's log");
    check(rpm_log_info(log_, &info), "reading the state of a coordinator's log");
    epoch_ = info.epoch;
    trim_bytes_ = info.capacity_bytes / 4;
}

void ServerConnection::open_shards(const Placement &placement, bool guarded)
{
    const Options &options = cluster_.options();
    const std::string &name = cluster_.schema().name();

    for (uint32_t copy = 0; copy < options.replicas; copy++) {
        uint32_t shard = shard_of_copy(cluster_, server_, copy);
        rpm_region_opts opts = rpm_region_opts_init();

        /* Locks of an earlier view may be at a server that is not the primary any more. */
        DTX_ASSERT(rows_[shard].region == nullptr && locks_[shard].region == nullptr);
        opts.level =
            options.durable && options.canary != kCanaryVisible ? RPM_DURABLE : RPM_VISIBLE;
        opts.claim = guarded ? log_ : nullptr;
        int err =
            rpm_region_open(conn(), shard_name(name, shard).c_str(), &opts, &rows_[shard].region);

        if (err != 0)
            fail_opening(cluster_, server_, shard, err);
        if (placement.server_of(shard, 0) != server_)
            continue;
        opts.level = 0;
        opts.flags = RPM_REGION_DRAM | RPM_REGION_CREATE;
        opts.bytes = cluster_.layout().lock_bytes();
        check(
            rpm_region_open(conn(), locks_name(name, shard).c_str(), &opts, &locks_[shard].region),
            "opening the locks of a shard");
    }
}

void ServerConnection::connect(const View &without)
{
    rpm_facts facts = rpm_facts_init();

    if (conn_)
        return;
    DTX_ASSERT(log_ == nullptr && outstanding_ == 0); /* close() ended the previous connection's */
    try {
        conn_.emplace(cluster_, server_);
    } catch (const Away &away) {
        throw Fenced(away.code(), away.what() + away_advice(cluster_, server_, without));
    }
    check(rpm_conn_facts(conn(), &facts), "asking a server for its facts");
    mapped_ = (facts.methods & 1u << RPM_METHOD_STORE) != 0;
    modelled_ = facts.modelled != 0;
    in_order_ = mapped_ || facts.methods == (1u << RPM_METHOD_COPY | 1u << RPM_METHOD_MESSAGE);
}

void ServerConnection::open(const Placement &placement, uint32_t coordinator, Claim claim)
{
    DTX_ASSERT(conn_ && log_ == nullptr);
    DTX_ASSERT(placement.view.alive(server_)); /* a dead server has old rows */
    if (claim != Claim::none)
        claim_log(coordinator, claim);
    /* Without a claim, writes would go on after another session has taken the log over. */
    DTX_ASSERT(
        owns(coordinator) || claim == Claim::none ||
        ((claim == Claim::takeover || claim == Claim::inherit) && coordinator != kRecoverer));
    open_shards(placement, log_ != nullptr);
}

Traffic ServerConnection::traffic() const
{
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    Traffic all = before_;

    if (!conn_)
        return all;
    (void)!rpm_conn_stats(conn(), &stats); /* cannot fail: the struct is of this version */
    all.add({ stats.messages, stats.sent_bytes, stats.received_bytes });
    return all;
}

void ServerConnection::count_before(const Traffic &traffic)
{
    before_.add(traffic);
}

void ServerConnection::drop()
{
    if (conn_)
        rpm_conn_drop(conn());
}

void ServerConnection::close()
{
    before_ = traffic();
    for (auto *all : { &rows_, &locks_ })
        for (Remote &remote : *all) {
            rpm_region_close(&remote.region);
            remote.outstanding = 0;
        }
    rpm_log_close(&log_);
    conn_.reset();
    kept_.clear();
    kept_first_ = 0;
    retired_lsn_ = 0;
    note_.clear();
    outstanding_ = 0;
    log_outstanding_ = 0;
    appended_ = 0;
}

[[gnu::cold]] void fail_closed()
{
    throw Fenced(RPM_E_LOST, "the connection to a server was closed after an error");
}

size_t ServerConnection::record_max() const
{
    return rpm_log_record_max(require_open(log_));
}

void ServerConnection::read_locks(uint32_t shard, uint64_t offset, uint64_t *words, uint64_t bytes)
{
    DTX_ASSERT(offset >= kClaimsOffset && offset % sizeof(uint64_t) == 0);
    check(rpm_region_read(require_open(locks_[shard].region), offset, words, bytes),
          "reading locks");
}

void ServerConnection::set_claim_word(uint32_t shard, uint32_t coordinator, uint64_t claim)
{
    DTX_ASSERT(owns(coordinator) && coordinator_of(claim) == coordinator);
    check(rpm_region_write(require_open(locks_[shard].region), claim_offset(coordinator), &claim,
                           sizeof(claim)),
          "writing a claim word");
}

void ServerConnection::set_ready_word(uint32_t shard, uint64_t word)
{
    DTX_ASSERT(owns(kRecoverer));
    for (uint64_t found = lock_word(shard, kReadyOffset), was = found + 1; was != found;) {
        was = found;
        found = compare_and_swap(shard, kReadyOffset, was, word);
    }
}

void ServerConnection::fill_locks(uint32_t shard, uint64_t offset, const uint64_t *words,
                                  uint64_t bytes)
{
    DTX_ASSERT(owns(kRecoverer));
    DTX_ASSERT(offset >= kLocksOffset && offset % sizeof(uint64_t) == 0);
    check(rpm_region_write(require_open(locks_[shard].region), offset, words, bytes),
          "filling locks");
}

ServerConnection::Remote &ServerConnection::remote_of(const Operation &op)
{
    bool row = op.kind != Operation::read_lock && op.kind != Operation::swap_lock;

    return row ? rows_[op.shard] : locks_[op.shard];
}

/* Counts an operation that librpm accepted. */
int ServerConnection::sent(Remote &remote, int err, Pending *pending)
{
    DTX_ASSERT(pending != nullptr);
    if (err != 0)
        return err;
    remote.outstanding++;
    outstanding_++;
    pending->remaining++;
    return 0;
}

int ServerConnection::send(const Operation &op, Pending *pending)
{
    Remote &remote = remote_of(op);
    int err = 0;

    if (remote.region == nullptr)
        return RPM_E_LOST;
    /* Only the log's owner locks and writes: the next owner finishes or undoes that. */
    DTX_ASSERT(has_log() || op.kind == Operation::read || op.kind == Operation::read_lock);
    switch (op.kind) {
    case Operation::read:
    case Operation::read_lock:
        err = rpm_region_read_async(remote.region, op.offset, op.bytes, op.count, pending);
        break;
    case Operation::write:
        err = rpm_region_write_async(remote.region, op.offset, op.bytes, op.count, pending);
        break;
    case Operation::swap_lock:
        err = rpm_region_cas_async(remote.region, op.offset, op.expect, op.desired,
                                   static_cast<uint64_t *>(op.bytes), pending);
        break;
    case Operation::sum:
        DTX_ASSERT(op.kind != Operation::sum); /* only a list of steps has it */
    }
    return sent(remote, err, pending);
}

int ServerConnection::send_writes(uint32_t shard, std::span<const rpm_patch> patches,
                                  Pending *pending)
{
    if (rows_[shard].region == nullptr)
        return RPM_E_LOST;
    DTX_ASSERT(has_log());
    return sent(rows_[shard],
                rpm_region_writev_async(rows_[shard].region, patches.data(),
                                        static_cast<uint32_t>(patches.size()), pending),
                pending);
}

rpm_step ServerConnection::step_of(const Operation &op)
{
    rpm_step step{};

    step.region = remote_of(op).region;
    step.offset = op.offset;
    step.len = op.count;
    switch (op.kind) {
    case Operation::read:
    case Operation::read_lock:
        step.kind = RPM_STEP_READ;
        step.into = op.bytes;
        break;
    case Operation::write:
        step.kind = RPM_STEP_WRITE;
        step.data = op.bytes;
        break;
    case Operation::swap_lock:
        step.kind = RPM_STEP_CAS;
        step.into = op.bytes;
        step.expect = op.expect;
        step.operand = op.desired;
        break;
    case Operation::sum:
        step.kind = RPM_STEP_SUM;
        step.into = op.bytes;
        step.operand = op.desired;
        break;
    }
    return step;
}

/* librpm reports the completion on the region that the call names: here the first open one. */
int ServerConnection::send_steps(std::span<const rpm_step> steps, Pending *pending)
{
    auto anchor = std::find_if(rows_.begin(), rows_.end(),
                               [](const Remote &remote) { return remote.region != nullptr; });

    if (anchor == rows_.end())
        return RPM_E_LOST;
    DTX_ASSERT(has_log());
    return sent(
        *anchor,
        rpm_steps_async(anchor->region, steps.data(), static_cast<uint32_t>(steps.size()), pending),
        pending);
}

void ServerConnection::keep(uint64_t lsn, size_t bytes)
{
    DTX_ASSERT(kept_.empty() || kept_.back().lsn < lsn);
    DTX_ASSERT(retired_lsn_ == 0 || retired_lsn_ < lsn); /* trim() goes up to the retired one */
    kept_.push_back({ lsn, false });
    appended_ += bytes + kLineBytes; /* about a line for the frame's header and padding */
}

bool ServerConnection::append(const void *record, size_t bytes, Pending *pending, uint64_t *lsn)
{
    int err = pending == nullptr
                  ? rpm_log_append(require_open(log_), record, bytes, lsn)
                  : rpm_log_append_async(require_open(log_), record, bytes, 0, pending, lsn);

    if (err == RPM_E_FULL || err == RPM_E_BUSY)
        return false;
    check(err, "writing a redo record");
    if (pending != nullptr) {
        outstanding_++;
        log_outstanding_++;
        pending->remaining++;
    }
    keep(*lsn, bytes);
    return true;
}

/* Reaps one completion queue, for which @outstanding operations have not ended. Returns how many
 * ended. */
template <class Poll>
uint32_t ServerConnection::reap(uint32_t &outstanding, Poll poll,
                                const std::function<void(std::coroutine_handle<>)> &wake)
{
    std::array<rpm_completion, kPollMany> done;
    uint32_t ended = 0;

    while (outstanding > 0) {
        int n = poll(done.data(), kPollMany);

        for (int i = 0; i < n; i++) {
            const rpm_completion &one = done[static_cast<size_t>(i)];
            std::coroutine_handle<> handle = static_cast<Pending *>(one.context)->ended(one.status);

            if (handle)
                wake(handle);
        }
        if (n <= 0)
            break;
        DTX_ASSERT(static_cast<uint32_t>(n) <= outstanding);
        outstanding -= static_cast<uint32_t>(n);
        ended += static_cast<uint32_t>(n);
    }
    return ended;
}

uint32_t ServerConnection::poll(const std::function<void(std::coroutine_handle<>)> &wake)
{
    uint32_t ended;

    if (outstanding_ == 0)
        return 0;
    DTX_ASSERT(conn_);            /* close() ends all operations */
    (void)!rpm_conn_turn(conn()); /* completions report each error */
    ended = reap(
        log_outstanding_,
        [this](rpm_completion *done, uint32_t n) { return rpm_log_poll(log_, done, n); }, wake);
    for (auto *all : { &rows_, &locks_ })
        for (Remote &remote : *all)
            ended += reap(
                remote.outstanding,
                [&remote](rpm_completion *done, uint32_t n) {
                    return rpm_region_poll(remote.region, done, n);
                },
                wake);
    DTX_ASSERT(ended <= outstanding_);
    outstanding_ -= ended;
    return ended;
}

void ServerConnection::retire(uint64_t lsn)
{
    /* From the end: mostly one of the newest records. */
    size_t i = kept_.size();

    while (i > kept_first_ && kept_[i - 1].lsn != lsn)
        i--;
    DTX_ASSERT(i > kept_first_ && !kept_[i - 1].retired); /* each record once */
    kept_[i - 1].retired = true;
    while (kept_first_ < kept_.size() && kept_[kept_first_].retired)
        retired_lsn_ = kept_[kept_first_++].lsn;
    if (kept_first_ == kept_.size()) {
        /* The usual case: reuse memory that is still in the cache. */
        kept_.clear();
        kept_first_ = 0;
    } else if (kept_first_ > 1024 && kept_first_ * 2 > kept_.size()) {
        kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(kept_first_));
        kept_first_ = 0;
    }
}

/* The oldest record that is still needed may be unsent. Then the server does not know yet that a
 * record begins there, and refuses to trim up to it. So trim up to retired_lsn_, where the newest
 * record begins that is not needed: that record was sent. */
bool ServerConnection::trim()
{
    struct rpm_log_info info = rpm_log_info_init();
    uint64_t until;

    check(rpm_log_info(require_open(log_), &info), "reading the state of a coordinator's log");
    DTX_ASSERT(kept_first_ <= kept_.size());
    until = kept_first_ < kept_.size() ? retired_lsn_ : info.tail_lsn;
    DTX_ASSERT(kept_first_ == kept_.size() || until <= kept_[kept_first_].lsn);
    if (until <= info.head_lsn)
        return false;
    check(rpm_log_trim(log_, until), "trimming a coordinator's log");
    appended_ = 0;
    return true;
}

bool ServerConnection::note(std::span<const Spare> spares)
{
    auto lsns = append_note(require_open(log_), coordinator_, spares);

    if (!lsns)
        return false;
    for (uint64_t lsn : *lsns)
        keep(lsn, 0);
    for (uint64_t lsn : std::exchange(note_, std::move(*lsns)))
        retire(lsn);
    return true;
}

bool ServerConnection::trim_note()
{
    for (uint64_t lsn : std::exchange(note_, {}))
        retire(lsn);
    if (!trim())
        return false;
    appended_ = trim_bytes_; /* wants_trim(): the caller appends a note before it trims again */
    return true;
}

void ServerConnection::keep_note(std::span<const Spare> spares)
{
    DTX_ASSERT(log_outstanding_ == 0);
    kept_.clear();
    kept_first_ = 0;
    note_ = dtx::keep_note(require_open(log_), coordinator_, spares);
    for (uint64_t lsn : note_)
        keep(lsn, 0);
    appended_ = 0;
}

void ServerConnection::each_record(const std::function<void(const void *, size_t)> &callback)
{
    DTX_ASSERT(log_outstanding_ == 0); /* a record that is not written yet would be missed */
    dtx::each_record(log_, callback);
}

bool ServerConnection::is_unowned(uint32_t coordinator)
{
    std::string name = log_name(cluster_.schema().name(), coordinator);
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;
    int err;

    /* A claim, even for a moment, would refuse a command that changes the view. */
    DTX_ASSERT(conn_ && coordinator != kRecoverer);
    opts.flags = RPM_LOG_WRITE;
    opts.level = cluster_.options().durable ? RPM_DURABLE : RPM_VISIBLE;
    opts.staging_bytes = kOwnerCheckStaging;
    opts.inflight_max = 1;
    err = rpm_log_open(conn(), name.c_str(), &opts, &log);
    rpm_log_close(&log);
    return err == 0;
}

} // namespace dtx
