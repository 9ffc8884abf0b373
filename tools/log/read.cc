/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read.cc: the commands cat and tail of rpm-log: records to standard output.
 *
 * A reader that closes the pipe ends the command, without a failure.
 *
 * Tests: tests/tools/log_test, tests/tools/full_test
 */
#include "log/logtool.h"

#include <deque>

namespace logtool
{

static constexpr size_t kBufferBytes = 128u << 10;

/* Standard output, gathered into large writes. */
class Output
{
  public:
    explicit Output(bool with_lsn) : with_lsn_(with_lsn)
    {
        buffer_.reserve(kBufferBytes * 2);
    }

    /* False: the reader has closed the pipe. */
    bool put(const rpm_record &record)
    {
        const char *data = static_cast<const char *>(record.data);

        if (with_lsn_)
            buffer_ += std::to_string(record.lsn) + '\t';
        buffer_.append(data, record.len);
        if (with_lsn_ && data[record.len - 1] != '\n')
            buffer_ += '\n';
        return buffer_.size() < kBufferBytes || flush();
    }

    bool flush()
    {
        bool read = write_all(STDOUT_FILENO, "-", buffer_.data(), buffer_.size());

        buffer_.clear();
        return read;
    }

  private:
    bool with_lsn_;
    std::string buffer_;
};

/* The level that a record must have reached to be printed; RPM_VISIBLE if the user gave none. */
static uint32_t reader_level(const Common &common)
{
    return common.level == 0 ? static_cast<uint32_t>(RPM_VISIBLE) : common.level;
}

static void open_for_reading(Session &session, const Common &common)
{
    session.open(common.url);
    session.open_log(common, rpm_log_opts_init());
}

/* Print records until the tail, @count at most. An error is thrown after the records read before it
 * are printed. */
static void print(Session &session, Output &output, const char *command, uint64_t count)
{
    rpm_record record;
    int found = 1;

    while (found == 1 && count-- > 0 && !cli::stopped()) {
        found = rpm_reader_next(session.reader.get(), &record);
        if (found == 1 && !output.put(record))
            return;
    }
    (void)output.flush();
    cli::check(command, found);
}

/* The records of a log in a folder of segments, without a server. */
static int cat_segments(const CatOptions &options)
{
    cli::Tier tier = open_tier(options.segments);
    std::vector<rpm_tier_log> logs = tier_logs(tier.get(), options.segments, options.name);
    rpm_tier_reader *opened = nullptr;
    Output output(options.lsn);
    rpm_record record;
    uint64_t end = options.from;
    int found = 1;

    if (logs.size() != 1)
        throw cli::Failure(options.segments + " has " + std::to_string(logs.size()) +
                           " logs: name one of them ('rpm-log segments' lists them)");
    cli::check("cat", rpm_tier_reader_open(tier.get(), logs.front().log_id, options.from, &opened));
    TierReader reader(opened);
    for (uint64_t left = options.count; found == 1 && left > 0 && !cli::stopped(); left--) {
        found = rpm_tier_reader_next(reader.get(), &record);
        if (found == 1 && !output.put(record))
            return cli::kDone;
        end = found == 1 ? record.next_lsn : end;
    }
    (void)output.flush();
    cli::check("cat", found);
    if (found == 0 && logs.front().gaps != 0 && end < logs.front().end_lsn)
        throw cli::Failure("cat: records are missing behind LSN " + std::to_string(end) +
                           ": no segment in " + options.segments +
                           " has them; --from goes on behind the gap");
    return cli::kDone;
}

int cat(const CatOptions &options)
{
    if (!options.segments.empty())
        return cat_segments(options);

    Session session(options);
    Output output(options.lsn);

    open_for_reading(session, options);
    session.open_reader(options.from, reader_level(options));
    print(session, output, "cat", options.count);
    return cli::kDone;
}

/* Reads the log from its head, or if that has too few records, @through_tier. Returns the LSN at
 * which the last @n records start, 0 if the log has none. */
static uint64_t find_last(Session &session, uint64_t n, uint32_t level, bool through_tier)
{
    std::deque<uint64_t> starts;
    rpm_record record;
    uint64_t end = 0;

    session.open_reader(0, level, through_tier);
    while (cli::check("tail", rpm_reader_next(session.reader.get(), &record)) == 1) {
        starts.push_back(record.lsn);
        if (starts.size() > n)
            starts.pop_front();
        end = record.next_lsn;
    }
    session.reader.reset();
    if (starts.size() < n && session.tier != nullptr && !through_tier)
        return find_last(session, n, level, true);
    return starts.empty() ? end : starts.front();
}

/* After a lost connection: reconnect, and continue at the same record. */
static void reconnect(Session &session, const CatOptions &options, uint64_t next_lsn, int err)
{
    if (options.reconnect <= 0)
        throw cli::RpmFailure("tail", err);
    session.reader.reset();
    session.log.reset();
    session.conn.reset();
    session.open(options.url);
    session.open_log(options, rpm_log_opts_init());
    session.open_reader(next_lsn, reader_level(options));
}

/* @next_lsn: where the session's reader stands. */
static void follow(Session &session, const CatOptions &options, Output &output, uint64_t next_lsn)
{
    rpm_record record;

    while (!cli::stopped()) {
        int found = rpm_reader_next(session.reader.get(), &record);

        if (found != 1 && !output.flush())
            return;
        if (found == 0)
            found = rpm_reader_wait(session.reader.get(), 200000, &record);
        if (found == 1) {
            next_lsn = record.next_lsn;
            if (!output.put(record))
                return;
        } else if (is_unreachable(found)) {
            reconnect(session, options, next_lsn, found);
        } else {
            cli::check("tail", found);
        }
    }
    (void)output.flush();
}

int tail(const CatOptions &options)
{
    Session session(options);
    Output output(options.lsn);
    uint64_t from = options.from;

    open_for_reading(session, options);
    if (from == 0)
        from = find_last(session, options.last, reader_level(options), false);
    session.open_reader(from, reader_level(options));
    if (options.follow)
        follow(session, options, output, from);
    else
        print(session, output, "tail", UINT64_MAX);
    return cli::kDone;
}

} // namespace logtool
