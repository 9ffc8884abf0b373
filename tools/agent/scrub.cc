/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scrub.cc: read each log by a reader, which reports damage that a later record or the head proves;
 * then find all damaged records of the log by a repair that only reports.
 *
 * Tests: tests/tools/agent_test
 */
#include "agent/scrub.h"

#include <algorithm>

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

static constexpr milliseconds kLook{ 50 };       /* between looks whether the agent has to stop */
static constexpr milliseconds kRetry{ 1000 };    /* after the server was away */
static constexpr uint64_t kTailUs = 250000;      /* a reader checks behind the tail after 100 ms */
static constexpr uint64_t kPaceBytes = 64 << 10; /* between two pauses */

static std::string number(uint64_t value)
{
    return std::to_string(value);
}

/* Connects before the thread starts, so that a wrong URL ends the program. */
Scrub::Scrub(const Source &source, double period) : source_(source), period_(period)
{
    if (!source_.tier.empty())
        tier_ = source_.open_tier();
    conn_ = source_.connect();
    thread_ = without_signals([this] { loop(); });
}

std::string Scrub::summary() const
{
    return number(records_) + " records verified in " + number(passes_) + " passes, " +
           number(damaged_) + " damaged ranges found";
}

bool Scrub::ended() const
{
    return stopping_ || cli::stopped();
}

/* Or until the agent has to stop. */
void Scrub::sleep_until(Clock::time_point at) const
{
    while (!ended() && Clock::now() < at)
        std::this_thread::sleep_for(std::min<Clock::duration>(kLook, at - Clock::now()));
}

/* When a share of the pass may be done. */
Scrub::Clock::time_point Scrub::due(double share) const
{
    return began_ + duration_cast<Clock::duration>(duration<double>(period_ * share));
}

void Scrub::loop()
{
    std::string told;

    while (!ended())
        try {
            if (conn_ == nullptr)
                conn_ = source_.connect();
            pass();
            told.clear();
            sleep_until(due(1));
        } catch (const std::exception &failure) {
            if (told != failure.what())
                notice("scrub: " + std::string(failure.what()) + "; trying again");
            told = failure.what();
            conn_.reset();
            sleep_until(Clock::now() + kRetry);
        }
}

static cli::Log opened(rpm_conn *conn, const std::string &name, int *err)
{
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *log = nullptr;

    *err = rpm_log_open(conn, name.c_str(), &opts, &log);
    return cli::Log(log);
}

/* The logs that are to be verified. */
std::vector<Scrub::Part> Scrub::parts()
{
    rpm_entry entry = rpm_entry_init();
    std::vector<Part> parts;

    while (cli::check("list", rpm_conn_next(conn_.get(), &entry)) == 1)
        if (source_.wants(entry))
            parts.push_back({ entry.name, entry.bytes });
    for (const std::string &name : source_.logs)
        if (std::none_of(parts.begin(), parts.end(),
                         [&name](const Part &part) { return part.name == name; }))
            tell_once("scrub: no log '" + name + "' at " + source_.pool);
    return parts;
}

/* Verify the logs, or go on with the one at which the last try failed. */
void Scrub::pass()
{
    if (next_ == parts_.size()) {
        began_ = Clock::now();
        parts_ = parts();
        next_ = 0;
        has_read_ = to_read_ = 0;
        for (const Part &part : parts_)
            to_read_ += part.bytes;
    }
    for (; next_ < parts_.size() && !ended(); next_++)
        verify(parts_[next_]);
    passes_ += ended() ? 0 : 1;
}

/* Spread the reads of a pass over the period. */
void Scrub::pace(uint64_t bytes)
{
    uint64_t before = has_read_;

    has_read_ += bytes;
    if (before / kPaceBytes == has_read_ / kPaceBytes)
        return;
    /* A log that is read again after the server was away is counted again. */
    sleep_until(due(std::min(1.0, static_cast<double>(has_read_) / static_cast<double>(to_read_))));
}

/* Read a log to its tail, but not more than @left bytes: a writer may append as fast as this reads.
 * 0, or the error of the reader. */
int Scrub::read(rpm_log *log, uint64_t &left)
{
    rpm_reader *reader = nullptr;
    rpm_record record;
    rpm_reader_opts opts = rpm_reader_opts_init();
    opts.engine = source_.engine_name();
    int found = rpm_reader_open(log, &opts, &reader);
    cli::Reader closing(reader);

    while (found >= 0 && left > 0 && !ended()) {
        found = rpm_reader_next(reader, &record);
        if (found == 0)
            found = rpm_reader_wait(reader, kTailUs, &record);
        if (found != 1)
            break;
        records_++;
        left -= std::min(left, record.next_lsn - record.lsn);
        pace(record.next_lsn - record.lsn);
    }
    return std::min(found, 0);
}

/* Where a writer has trimmed what was to be read next, this goes on at the head. A log that was
 * removed is not verified. */
void Scrub::verify(const Part &part)
{
    uint64_t left = part.bytes; /* its capacity */
    int err = 0;
    cli::Log log = opened(conn_.get(), part.name, &err);

    if (err == 0)
        do
            err = read(log.get(), left);
        while (err == RPM_E_TRIMMED && left > 0 && !ended());
    if (err == RPM_E_TRIMMED)
        return;
    if (cli::is_unreachable(err))
        throw cli::RpmFailure(part.name, err);
    if (err < 0 && err != RPM_E_NOENT)
        tell_once("scrub: " + std::string(cli::RpmFailure(part.name, err).what()));
    if (err == RPM_E_CORRUPT)
        tell(part.name, log.get());
}

/* What lies between the whole records of the log, and in front of them. If the report has not room
 * for all of them, what lies between the last ones. */
std::vector<Scrub::Gap> Scrub::gaps(const std::string &name)
{
    rpm_repair_report report = rpm_repair_report_init();
    std::vector<Gap> found;
    uint64_t turn = 0;
    uint64_t at = 0;
    int err = rpm_log_repair(conn_.get(), name.c_str(), nullptr, &report);

    if (cli::is_unreachable(err))
        throw cli::RpmFailure(name, err);
    if (err != 0 && err != RPM_E_CORRUPT)
        return {}; /* removed, or trimmed meanwhile */
    for (const rpm_repair_slot &slot : report.slots)
        if (slot.wrong == nullptr && slot.turn > turn) {
            turn = slot.turn;
            at = slot.head_lsn;
        }
    if (report.chains > report.chains_reported) {
        at = 0;
        tell_once("scrub: log '" + name + "' has more than " + number(report.chains_reported) +
                  " damaged ranges; those before LSN " + number(report.chain[0].first_lsn) +
                  " are not listed");
    }
    for (uint32_t i = 0; i < report.chains_reported; i++) {
        const rpm_repair_chain &chain = report.chain[i];

        if (chain.fate != RPM_REPAIR_KEPT && chain.fate != RPM_REPAIR_LOST)
            continue;
        if (at != 0 && at < chain.first_lsn)
            found.push_back({ at, chain.first_lsn });
        at = chain.end_lsn;
    }
    return found;
}

/* How a user gets at the records of a gap. */
std::string Scrub::remedy(const std::string &name, rpm_log *log, const Gap &gap) const
{
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    rpm_record record;
    uint64_t at = gap.from;
    int found = 0;

    opts.from_lsn = gap.from;
    opts.tier = tier_.get();
    if (opts.tier != nullptr) {
        found = rpm_reader_open(log, &opts, &reader);
        cli::Reader closing(reader);

        while (found >= 0 && at < gap.to && (found = rpm_reader_next(reader, &record)) == 1)
            at = record.next_lsn;
        if (cli::is_unreachable(found))
            throw cli::RpmFailure(name, found);
        if (found < 0 && found != RPM_E_CORRUPT && found != RPM_E_TRIMMED)
            return "its segments cannot be read: " +
                   std::string(cli::RpmFailure(source_.tier, found).what());
    }
    if (at >= gap.to)
        return "segments in '" + source_.tier +
               "' have them: a reader with this tier (rpm-log cat --tier) gets them from there";
    return std::string(at > gap.from
                           ? "segments in '" + source_.tier + "' have them up to LSN " + number(at)
                           : "no segment has them") +
           "; restore the pool from a backup, or see what rpm-log repair " + source_.pool + " " +
           name + " would keep";
}

void Scrub::tell_once(const std::string &text)
{
    if (errors_.insert(text).second)
        notice(text);
}

/* Print each damaged range once. If a writer appends or trims meanwhile, one report may show a
 * range that is none, so a range counts if two reports show it. */
void Scrub::tell(const std::string &name, rpm_log *log)
{
    std::vector<Gap> first = gaps(name);

    for (const Gap &gap : gaps(name)) {
        if (std::find(first.begin(), first.end(), gap) == first.end() ||
            told_.count({ name, gap.from }) != 0)
            continue;

        std::string how = remedy(name, log, gap);

        told_.insert({ name, gap.from });
        damaged_++;
        notice("log '" + name + "': the records from LSN " + number(gap.from) + " up to " +
               number(gap.to) + " are damaged; " + how);
    }
}
