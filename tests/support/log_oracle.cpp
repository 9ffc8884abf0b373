// SPDX-License-Identifier: BSD-3-Clause
#include "support/log_oracle.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace cuts
{

LogOracle::LogOracle(std::string given, uint64_t bytes) : name(std::move(given)), capacity(bytes) {}

LogOracle::~LogOracle() = default;

uint32_t LogOracle::submit(size_t len)
{
    entries_.push_back({ std::max(len, RECORD_MIN), Fate::flying, NOWHERE });
    return static_cast<uint32_t>(entries_.size() - 1);
}

// The serial number, then bytes that depend on it and on their position: no two records share a
// line.
std::string LogOracle::bytes_of(uint32_t serial) const
{
    size_t len = entries_[serial].len;
    std::string bytes(len, '\0');
    uint32_t mix = serial * 2654435761u + static_cast<uint32_t>(len);

    memcpy(&bytes[0], &serial, sizeof(serial));
    for (size_t i = sizeof(serial); i < len; i++) {
        mix = mix * 1664525u + 1013904223u;
        bytes[i] = static_cast<char>(mix >> 24);
    }
    return bytes;
}

bool LogOracle::overtaken(uint32_t serial) const
{
    for (size_t i = serial + 1; i < entries_.size(); i++)
        if (entries_[i].fate == Fate::acked)
            return true;
    return false;
}

void LogOracle::creating()
{
    existence_ = existence_ == Existence::yes ? Existence::yes : Existence::maybe;
}

void LogOracle::created()
{
    existence_ = Existence::yes;
}

void LogOracle::removing()
{
    existence_ = Existence::maybe;
}

void LogOracle::removed()
{
    existence_ = Existence::no;
    for (Entry &entry : entries_)
        entry.fate = Fate::gone;
    trims_.clear();
    head_least_ = 0;
}

void LogOracle::trim_asked(uint64_t lsn)
{
    trims_.push_back(lsn);
}

void LogOracle::trim_acked(uint64_t lsn)
{
    head_least_ = std::max(head_least_, lsn);
}

LogOracle::Seen LogOracle::identify(const rpm_record &record) const
{
    uint32_t serial = 0;

    if (record.len < RECORD_MIN)
        violate("log %s: a record of %zu bytes at %" PRIu64 " that no client submitted",
                name.c_str(), record.len, record.lsn);
    memcpy(&serial, record.data, sizeof(serial));
    if (serial >= entries_.size())
        violate("log %s: a record at %" PRIu64 " that no client submitted", name.c_str(),
                record.lsn);
    std::string bytes = bytes_of(serial);
    if (bytes.size() != record.len || memcmp(bytes.data(), record.data, record.len) != 0)
        violate("log %s: record %u at %" PRIu64 " is not what was submitted", name.c_str(), serial,
                record.lsn);
    return { serial, record.lsn };
}

void LogOracle::check_head(uint64_t head) const
{
    if (tier != nullptr) // the writer trims by itself
        return;
    if (head < head_least_)
        violate("log %s: the head is %" PRIu64 ", but was acknowledged to be %" PRIu64,
                name.c_str(), head, head_least_);
    if (head != 0 && std::find(trims_.begin(), trims_.end(), head) == trims_.end())
        violate("log %s: the head is %" PRIu64 ", which no client trimmed to", name.c_str(), head);
}

void LogOracle::compare(const std::vector<Seen> &seen, uint64_t from) const
{
    std::vector<bool> there(entries_.size());

    for (size_t i = 0; i < seen.size(); i++) {
        const Entry &entry = entries_[seen[i].serial];

        if (there[seen[i].serial])
            violate("log %s: record %u is there twice", name.c_str(), seen[i].serial);
        if (i > 0 && seen[i].serial < seen[i - 1].serial)
            violate("log %s: record %u comes after %u", name.c_str(), seen[i].serial,
                    seen[i - 1].serial);
        if (entry.fate == Fate::gone)
            violate("log %s: record %u came back to life", name.c_str(), seen[i].serial);
        if (entry.lsn != NOWHERE && entry.lsn != seen[i].lsn)
            violate("log %s: record %u was put at %" PRIu64 " and found at %" PRIu64, name.c_str(),
                    seen[i].serial, entry.lsn, seen[i].lsn);
        there[seen[i].serial] = true;
    }
    for (uint32_t serial = 0; serial < entries_.size(); serial++) {
        const Entry &entry = entries_[serial];

        if (entry.fate == Fate::acked && entry.lsn >= from && !there[serial])
            violate("log %s: record %u at %" PRIu64 " was acknowledged and is lost (%zu records)",
                    name.c_str(), serial, entry.lsn, seen.size());
    }
}

// Records that were found must stay. @all: the others must never appear.
void LogOracle::settle(const std::vector<Seen> &seen, bool all)
{
    for (const Seen &one : seen) {
        entries_[one.serial].lsn = one.lsn;
        entries_[one.serial].fate = Fate::acked;
    }
    if (!all)
        return;
    for (Entry &entry : entries_)
        if (entry.fate == Fate::flying)
            entry.fate = Fate::gone;
}

void LogOracle::given(const rpm_record &record)
{
    Seen seen = identify(record);

    if (entries_[seen.serial].fate == Fate::gone)
        violate("log %s: record %u came back to life", name.c_str(), seen.serial);
    settle({ seen }, false);
}

void LogOracle::read_all(Run &run, rpm_log *log, uint32_t level, bool settled, uint64_t from_lsn)
{
    rpm_reader_opts opts = rpm_reader_opts_init();
    struct rpm_log_info info = rpm_log_info_init();
    rpm_reader *reader = nullptr;
    rpm_record record;
    std::vector<Seen> seen;
    int more = 0;

    run.must(rpm_log_info(log, &info), "info");
    check_head(info.head_lsn);
    opts.from_lsn = from_lsn;
    opts.tier = tier;
    opts.level = level;
    opts.buffer_bytes = 4096;
    run.must(rpm_reader_open(log, &opts, &reader), "reader open");
    try {
        while ((more = run.must(rpm_reader_next(reader, &record), "read")) == 1)
            seen.push_back(identify(record));
        if (settled && tier == nullptr && info.records != seen.size())
            violate("log %s: recovery counted %" PRIu64 " records, %zu can be read", name.c_str(),
                    info.records, seen.size());
        compare(seen, tier != nullptr ? from_lsn : std::max(info.head_lsn, from_lsn));
    } catch (...) {
        rpm_reader_close(&reader);
        if (level == run.setup.level)
            settle(seen, false); // records that a reader got must stay
        throw;
    }
    rpm_reader_close(&reader);
    run.say("read %zu records of %s, head %" PRIu64 " tail %" PRIu64 "%s", seen.size(),
            name.c_str(), info.head_lsn, info.tail_lsn, settled ? ", settled" : "");
    if (settled || level == run.setup.level)
        settle(seen, settled);
    if (settled)
        head_least_ = info.head_lsn;
}

void LogOracle::check_existence(int err)
{
    if (err == RPM_E_NOENT && existence_ == Existence::yes)
        violate("log %s was created and is gone", name.c_str());
    if (err == 0 && existence_ == Existence::no)
        violate("log %s was removed and is back", name.c_str());
    if (err == 0)
        existence_ = Existence::yes;
    if (err == RPM_E_NOENT)
        removed();
}

// Sometimes lets a client that only reads open the log first. False: the log does not exist.
bool LogOracle::read_first(Run &run, rpm_conn *conn)
{
    rpm_log *log = nullptr;
    int err = rpm_log_open(conn, name.c_str(), nullptr, &log);

    if (err == RPM_E_NOENT || err == 0)
        check_existence(err);
    if (err == RPM_E_NOENT)
        return false;
    run.must(err, "open to read");
    try {
        uint32_t level = run.chance.one_in(2) ? run.setup.level : uint32_t{ RPM_VISIBLE };

        if (!run.chance.one_in(3))
            read_all(run, log, level, false);
    } catch (...) {
        rpm_log_close(&log);
        throw;
    }
    rpm_log_close(&log);
    return true;
}

void LogOracle::verify(Run &run)
{
    if (!read_first(run, run.client(READER)))
        return;
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_TAKEOVER;
    opts.level = run.setup.level;
    opts.inflight_max = inflight_max;
    opts.staging_bytes = 64u << 10;
    opts.tier = tier;
    run.must(rpm_log_open(run.client(CHECKER), name.c_str(), &opts, &log), "open to write");
    try {
        read_all(run, log, RPM_VISIBLE, true);
    } catch (...) {
        rpm_log_close(&log);
        throw;
    }
    rpm_log_close(&log);
}

void LogOracle::use_again(Run &run)
{
    writer_ = std::make_unique<Writer>(run, CHECKER, *this, uint32_t{ RPM_LOG_TAKEOVER });
    for (size_t len : { 40, 300 })
        if (!writer_->try_append(len)) {
            tier != nullptr ? archive(run, writer_->log()) : writer_->trim(0);
            writer_->append_stored(len);
        }
    // Both are outstanding when this returns: without RPM_MORE the second would wait for the flush
    // of the first.
    if (writer_->try_async(100, RPM_MORE))
        (void)writer_->try_async(8);
}

void LogOracle::archive(Run &run, rpm_log *log)
{
    rpm_archiver *archiver = nullptr;
    run.must(rpm_archiver_open(tier, log, &archiver), "archiver open");
    std::unique_ptr<rpm_archiver, void (*)(rpm_archiver *)> owner(
        archiver, [](rpm_archiver *ours) { rpm_archiver_close(&ours); });

    while (run.must(rpm_archiver_turn(archiver, 1), "archive") == 1)
        run.say("stored a segment of %s", name.c_str());
    stored(run, archiver);
}

void LogOracle::close_handles()
{
    writer_.reset();
}

static void *context_of(uint32_t serial)
{
    return reinterpret_cast<void *>(static_cast<uintptr_t>(serial) + 1);
}

static uint32_t serial_of(const void *context)
{
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context) - 1);
}

Writer::Writer(Run &run, unsigned who, LogOracle &oracle, uint32_t flags)
    : run_(run), who_(who), oracle_(oracle)
{
    rpm_log_opts opts = rpm_log_opts_init();

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | flags | oracle.writer_flags();
    opts.level = run.setup.level;
    opts.capacity_bytes = oracle.capacity;
    opts.inflight_max = oracle.inflight_max;
    opts.staging_bytes = 64u << 10;
    opts.tier = oracle.by_agent ? nullptr : oracle.tier;
    oracle.creating();
    run.must(rpm_log_open(run.client(who), oracle.name.c_str(), &opts, &log_), "open to write");
    oracle.created();
    run.say("client %u writes %s", who, oracle.name.c_str());
}

Writer::~Writer()
{
    rpm_log_close(&log_);
}

void Writer::acked(uint32_t serial, uint64_t lsn)
{
    Entry &entry = oracle_.entry(serial);

    run_.say("record %u of %zu bytes acknowledged at %" PRIu64, serial, entry.len, lsn);
    if (entry.lsn != NOWHERE && entry.lsn != lsn)
        violate("record %u was submitted for %" PRIu64 " and acknowledged at %" PRIu64, serial,
                entry.lsn, lsn);
    entry.lsn = lsn;
    entry.fate = Fate::acked;
    starts_.push_back(lsn);
}

// A record was refused. Returns 0 if the log is full or the writer is fenced; throws otherwise.
int Writer::refused(uint32_t serial, int err, const char *what)
{
    Entry &entry = oracle_.entry(serial);

    if (err == RPM_E_FULL)
        entry.fate = Fate::gone;
    fenced_ = fenced_ || err == RPM_E_FENCED;
    run_.say("record %u refused: %s", serial, rpm_error_name(err));
    if (err == RPM_E_FULL || err == RPM_E_FENCED)
        return 0;
    return run_.must(err, what);
}

bool Writer::try_append(size_t len)
{
    uint32_t serial = oracle_.submit(len);
    std::string bytes = oracle_.bytes_of(serial);
    uint64_t lsn = 0;
    int err = rpm_log_append(log_, bytes.data(), bytes.size(), &lsn);

    if (err != 0) {
        if (err != RPM_E_FULL)
            silent_.push_back(serial);
        refused(serial, err, "append");
        return false;
    }
    acked(serial, lsn);
    return true;
}

void Writer::append(size_t len)
{
    if (!try_append(len))
        violate("an append of %zu bytes was refused", len);
}

bool Writer::try_async(size_t len, uint32_t flags)
{
    uint32_t serial = oracle_.submit(len);
    std::string bytes = oracle_.bytes_of(serial);
    uint64_t lsn = 0;
    int err;

    while ((err = rpm_log_append_async(log_, bytes.data(), bytes.size(), flags, context_of(serial),
                                       &lsn)) == RPM_E_BUSY)
        poll(false);
    if (err != 0) {
        oracle_.entry(serial).fate = Fate::gone; // after an error it must not be in the log
        refused(serial, err, "append async");
        return false;
    }
    run_.say("record %u of %zu bytes submitted for %" PRIu64, serial, bytes.size(), lsn);
    oracle_.entry(serial).lsn = lsn;
    flying_.push_back(serial);
    return true;
}

void Writer::append_once(size_t len)
{
    uint32_t serial = oracle_.submit(len);
    std::string bytes = oracle_.bytes_of(serial);
    uint64_t lsn = 0;
    int err = rpm_log_append_async(log_, bytes.data(), bytes.size(), 0, context_of(serial), &lsn);

    run_.say("record %u in haste: %s", serial, rpm_error_name(err));
    if (err == 0)
        oracle_.entry(serial).lsn = lsn;
    else
        oracle_.entry(serial).fate = Fate::gone;
    if (err != RPM_E_FULL && err != RPM_E_TIMEDOUT)
        run_.must(err, "append in haste");
}

void Writer::async(size_t len, uint32_t flags)
{
    if (!try_async(len, flags))
        violate("an asynchronous append of %zu bytes was refused", len);
}

void Writer::batch(std::initializer_list<size_t> lens)
{
    std::vector<uint32_t> serials;
    std::vector<std::string> bytes;
    std::vector<rpm_slice> slices;
    std::vector<uint64_t> lsns(lens.size());

    for (size_t len : lens) {
        serials.push_back(oracle_.submit(len));
        bytes.push_back(oracle_.bytes_of(serials.back()));
    }
    for (const std::string &one : bytes)
        slices.push_back({ one.data(), one.size() });
    int err = rpm_log_append_batch(log_, slices.data(), static_cast<uint32_t>(slices.size()),
                                   lsns.data());
    if (err != 0)
        silent_.insert(silent_.end(), serials.begin(), serials.end());
    run_.must(err, "batch");
    for (size_t i = 0; i < serials.size(); i++)
        acked(serials[i], lsns[i]);
}

void Writer::reserve(size_t len, size_t used)
{
    uint32_t serial = oracle_.submit(used);
    std::string bytes = oracle_.bytes_of(serial);
    void *room = nullptr;
    uint64_t lsn = 0;
    int err;

    while ((err = rpm_log_reserve(log_, len, &room)) == RPM_E_BUSY)
        poll(false);
    if (err == 0) {
        memcpy(room, bytes.data(), bytes.size());
        err = rpm_log_commit(log_, bytes.size(), 0, context_of(serial), &lsn);
    }
    if (err != 0) {
        oracle_.entry(serial).fate = Fate::gone;
        run_.must(err == RPM_E_BUSY ? 0 : err, "reserve and commit");
        return;
    }
    oracle_.entry(serial).lsn = lsn;
    flying_.push_back(serial);
}

void Writer::persist()
{
    run_.must(rpm_log_persist(log_), "persist");
}

void Writer::finish(uint32_t serial, const rpm_completion &done)
{
    if (done.status == 0) {
        acked(serial, done.lsn);
        return;
    }
    run_.say("record %u ends as %s", serial, rpm_error_name(done.status));
    unknown_.push_back(serial);
    if (done.status == RPM_E_FENCED)
        fenced_ = true;
    else if (!run_.is_expected(done.status))
        violate("record %u ended as %s without a fault", serial, rpm_error_name(done.status));
}

void Writer::poll(bool all)
{
    static const int POLLS_MAX = 200000;
    rpm_completion done[4];

    for (int turn = 0;; turn++) {
        int n = run_.must(rpm_log_poll(log_, done, 4), "poll");

        for (int i = 0; i < n; i++) {
            uint32_t serial = serial_of(done[i].context);

            if (flying_.empty() || flying_.front() != serial)
                violate("completion of record %u out of order", serial);
            flying_.pop_front();
            finish(serial, done[i]);
        }
        if (!unknown_.empty() && !fenced_)
            throw Lost();
        if (!all || flying_.empty())
            return;
        if (turn == POLLS_MAX)
            violate("%zu appends never complete", flying_.size());
    }
}

void Writer::trim(size_t back)
{
    struct rpm_log_info info = rpm_log_info_init();
    uint64_t lsn;

    run_.must(rpm_log_info(log_, &info), "info");
    lsn = back == 0 || back > starts_.size() ? info.tail_lsn : starts_[starts_.size() - back];
    if (lsn < info.head_lsn)
        return;
    oracle_.trim_asked(lsn);
    run_.must(rpm_log_trim(log_, lsn), "trim");
    oracle_.trim_acked(lsn);
    run_.say("trimmed to %" PRIu64, lsn);
}

// One outcome of resume: it must be of a record whose fate is unknown.
void Writer::decide(const rpm_outcome &outcome, std::vector<uint32_t> *absent)
{
    uint32_t serial;

    if (outcome.context != nullptr) {
        serial = serial_of(outcome.context);
        auto reaped = std::find(unknown_.begin(), unknown_.end(), serial);
        auto flying = std::find(flying_.begin(), flying_.end(), serial);

        if (reaped != unknown_.end())
            unknown_.erase(reaped);
        else if (flying != flying_.end())
            flying_.erase(flying);
        else
            violate("an outcome of record %u, which has ended", serial);
    } else {
        if (silent_.empty())
            violate("an outcome of a record that no client submitted");
        serial = silent_.front();
        silent_.pop_front();
    }
    run_.say("record %u at %" PRIu64 " is %s", serial, outcome.lsn,
             outcome.present == 1   ? "present"
             : outcome.present == 0 ? "absent"
                                    : "unknown");
    oracle_.entry(serial).lsn = outcome.lsn;
    if (outcome.present == 1) {
        oracle_.entry(serial).fate = Fate::acked;
        starts_.push_back(outcome.lsn);
    } else if (outcome.present == 0) {
        oracle_.entry(serial).fate = Fate::gone;
        absent->push_back(serial);
    }
}

void Writer::settle(const std::vector<rpm_outcome> &outcomes, bool again)
{
    std::vector<uint32_t> absent;

    for (const rpm_outcome &outcome : outcomes)
        decide(outcome, &absent);
    if (!unknown_.empty())
        violate("record %u was lost and resume says nothing about it", unknown_.front());
    if (!silent_.empty())
        violate("record %u ended unknown and resume says nothing about it", silent_.front());
    poll(true); // completions of acknowledged records that were not reaped yet
    for (uint32_t serial : absent) {
        if (!again || fenced_)
            return;
        if (oracle_.overtaken(serial) || run_.chance.one_in(2)) {
            append(oracle_.entry(serial).len);
            continue;
        }
        // Append the same record again: it must not be there twice.
        std::string bytes = oracle_.bytes_of(serial);
        uint64_t lsn = 0;

        oracle_.entry(serial).lsn = NOWHERE;
        oracle_.entry(serial).fate = Fate::flying;
        silent_.push_back(serial);
        run_.must(rpm_log_append(log_, bytes.data(), bytes.size(), &lsn), "append again");
        silent_.pop_back();
        acked(serial, lsn);
    }
}

void Writer::resume(bool again)
{
    std::vector<rpm_outcome> outcomes(oracle_.inflight_max);
    uint32_t count = 0;

    run_.reconnect(who_);
    int err = rpm_log_resume(log_, outcomes.data(), oracle_.inflight_max, &count);
    if (err == RPM_E_FENCED || err == RPM_E_TRIMMED) {
        fenced_ = fenced_ || err == RPM_E_FENCED;
        err = 0;
    }
    run_.must(err, "resume");
    outcomes.resize(count);
    settle(outcomes, again);
}

} // namespace cuts
