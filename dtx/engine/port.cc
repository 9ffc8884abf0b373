/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port.cc: librpm's calls, with its codes turned into what is thrown.
 *
 * Tests: tests/unit/dtx/engine/recover_test.cpp
 */
#include "engine/port.h"

#include "engine/error.h"
#include "engine/object.h"

#include <array>
#include <utility>

namespace dtx
{

static constexpr uint32_t kPollMany = 32;
static constexpr uint64_t kRecoveryLogBytes = 64 << 10;

std::string shard_name(const std::string &database, uint32_t shard)
{
    return "dtx/" + database + "/shard" + std::to_string(shard);
}

std::string locks_name(const std::string &database, uint32_t shard)
{
    return "dtx/" + database + "/locks" + std::to_string(shard);
}

std::string log_name(const std::string &database, uint32_t coordinator)
{
    return "dtx/" + database + "/log" +
           (coordinator == kRecoverer ? "-recovery" : std::to_string(coordinator));
}

Connection::Connection(const Cluster &cluster, uint32_t server)
{
    const Options &options = cluster.options();
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.timeout_us = options.timeout_us;
    opts.hints = options.hints.c_str();
    opts.secret = options.secret.empty() ? nullptr : options.secret.c_str();
    opts.pace = RPM_PACE_THROTTLE;
    if (options.dial)
        check(options.dial(server, &opts, &conn_), "connecting");
    else
        check(rpm_conn_open(options.urls[server].c_str(), &opts, &conn_), "connecting");
}

Connection::~Connection()
{
    rpm_conn_close(&conn_);
}

Port::Port(const Cluster &cluster, uint32_t server)
    : cluster_(cluster), server_(server), rows_(cluster.shards()), locks_(cluster.shards())
{
}

Port::~Port()
{
    close();
}

void Port::claim_log(uint32_t coordinator, Claim claim)
{
    const Options &options = cluster_.options();
    std::string name = log_name(cluster_.schema().name(), coordinator);
    rpm_log_opts opts = rpm_log_opts_init();
    struct rpm_log_info info = rpm_log_info_init();
    int err;

    opts.flags = RPM_LOG_WRITE;
    opts.flags |= claim == Claim::takeover ? RPM_LOG_TAKEOVER : 0;
    opts.flags |= claim == Claim::join || coordinator == kRecoverer ? RPM_LOG_CREATE : 0;
    opts.capacity_bytes = coordinator == kRecoverer ? kRecoveryLogBytes : options.log_bytes;
    opts.level = options.durable ? RPM_DURABLE : RPM_VISIBLE;
    err = rpm_log_open(conn(), name.c_str(), &opts, &log_);
    if (claim == Claim::takeover && err == RPM_E_NOENT)
        return;
    check(err, "claiming a coordinator's log");
    check(rpm_log_info(log_, &info), "a coordinator's log");
    epoch_ = info.epoch;
    trim_bytes_ = info.capacity_bytes / 4;
}

void Port::open_shards(bool guarded)
{
    const Options &options = cluster_.options();
    const std::string &name = cluster_.schema().name();

    for (uint32_t copy = 0; copy < options.replicas; copy++) {
        uint32_t shard = (server_ + cluster_.shards() - copy) % cluster_.shards();
        rpm_region_opts opts = rpm_region_opts_init();

        opts.level = options.durable ? RPM_DURABLE : RPM_VISIBLE;
        opts.claim = guarded ? log_ : nullptr;
        check(rpm_region_open(conn(), shard_name(name, shard).c_str(), &opts, &rows_[shard]),
              "opening a shard");
        if (copy != 0)
            continue;
        opts.level = 0;
        opts.flags = RPM_REGION_DRAM | RPM_REGION_CREATE;
        opts.bytes = cluster_.layout().lock_bytes();
        check(rpm_region_open(conn(), locks_name(name, shard).c_str(), &opts, &locks_[shard]),
              "opening the locks of a shard");
    }
}

void Port::open(uint32_t coordinator, Claim claim)
{
    conn_.emplace(cluster_, server_);
    if (claim != Claim::none)
        claim_log(coordinator, claim);
    open_shards(log_ != nullptr);
}

void Port::close()
{
    for (rpm_region *&region : rows_)
        rpm_region_close(&region);
    for (rpm_region *&region : locks_)
        rpm_region_close(&region);
    rpm_log_close(&log_);
    conn_.reset();
    kept_.clear();
    kept_first_ = 0;
    outstanding_ = 0;
    appended_ = 0;
}

void Port::read(uint32_t shard, uint64_t offset, void *into, uint64_t bytes)
{
    check(rpm_region_read(rows_[shard], offset, into, bytes), "reading");
}

void Port::write(uint32_t shard, std::span<const rpm_patch> patches)
{
    check(rpm_region_writev(rows_[shard], patches.data(), static_cast<uint32_t>(patches.size())),
          "installing");
}

uint64_t Port::lock_word(uint32_t shard, uint64_t offset)
{
    uint64_t word;

    check(rpm_region_read(locks_[shard], offset, &word, sizeof(word)), "reading a lock");
    return word;
}

void Port::read_locks(uint32_t shard, uint64_t offset, uint64_t *words, uint64_t bytes)
{
    check(rpm_region_read(locks_[shard], offset, words, bytes), "reading locks");
}

void Port::set_lock_word(uint32_t shard, uint64_t offset, uint64_t word)
{
    for (uint64_t found = lock_word(shard, offset), was = found + 1; was != found;) {
        was = found;
        found = compare_and_swap(shard, offset, was, word);
    }
}

uint64_t Port::compare_and_swap(uint32_t shard, uint64_t offset, uint64_t expect, uint64_t desired)
{
    uint64_t found;

    check(rpm_region_cas(locks_[shard], offset, expect, desired, &found), "locking");
    return found;
}

void Port::note(uint64_t lsn, size_t bytes)
{
    kept_.push_back({ lsn, false });
    appended_ += bytes + kLineBytes; /* a frame's header and padding, roughly */
}

bool Port::append(const void *record, size_t bytes, Pending *pending, uint64_t *lsn)
{
    int err = rpm_log_append_async(log_, record, bytes, 0, pending, lsn);

    if (err == RPM_E_FULL || err == RPM_E_BUSY)
        return false;
    check(err, "writing a redo record");
    outstanding_++;
    note(*lsn, bytes);
    return true;
}

void Port::poll(const std::function<void(std::coroutine_handle<>)> &wake)
{
    std::array<rpm_completion, kPollMany> done;

    while (outstanding_ > 0) {
        int n = rpm_log_poll(log_, done.data(), kPollMany);

        for (int i = 0; i < n; i++) {
            Pending *pending = static_cast<Pending *>(done[static_cast<size_t>(i)].context);

            outstanding_--;
            if (pending->status == 0)
                pending->status = done[static_cast<size_t>(i)].status;
            if (--pending->remaining == 0 && pending->waiting)
                wake(std::exchange(pending->waiting, nullptr));
        }
        if (n <= 0)
            break;
    }
}

void Port::retire(uint64_t lsn)
{
    /* The last ones, mostly. */
    for (size_t i = kept_.size(); i-- > kept_first_;)
        if (kept_[i].lsn == lsn) {
            kept_[i].retired = true;
            break;
        }
    while (kept_first_ < kept_.size() && kept_[kept_first_].retired)
        kept_first_++;
    if (kept_first_ > 1024 && kept_first_ * 2 > kept_.size()) {
        kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(kept_first_));
        kept_first_ = 0;
    }
}

bool Port::trim()
{
    struct rpm_log_info info = rpm_log_info_init();
    uint64_t until;

    check(rpm_log_info(log_, &info), "a coordinator's log");
    until = kept_first_ < kept_.size() ? kept_[kept_first_].lsn : info.tail_lsn;
    if (until <= info.head_lsn)
        return false;
    check(rpm_log_trim(log_, until), "trimming a coordinator's log");
    appended_ = 0;
    return true;
}

void Port::each_record(const std::function<void(const void *, size_t)> &heard)
{
    dtx::each_record(log_, heard);
}

void Port::trim_all()
{
    dtx::trim_all(log_);
}

void each_record(rpm_log *log, const std::function<void(const void *, size_t)> &heard)
{
    rpm_reader *reader = nullptr;
    rpm_record record;
    int got;

    check(rpm_reader_open(log, nullptr, &reader), "reading a coordinator's log");
    try {
        while ((got = rpm_reader_next(reader, &record)) == 1)
            heard(record.data, record.len);
    } catch (...) {
        rpm_reader_close(&reader);
        throw;
    }
    rpm_reader_close(&reader);
    check(got, "reading a coordinator's log");
}

void trim_all(rpm_log *log)
{
    struct rpm_log_info info = rpm_log_info_init();

    check(rpm_log_info(log, &info), "a coordinator's log");
    check(rpm_log_trim(log, info.tail_lsn), "trimming a coordinator's log");
}

} // namespace dtx
