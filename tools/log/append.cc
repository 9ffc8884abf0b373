/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * append.cc: the command append of rpm-log. A record stays in its slot until it is acknowledged:
 * after a lost connection rpm_log_resume() reports which records are absent, and the command
 * appends these again.
 *
 * Tests: tests/tools/log_test, tests/kill/, scripts/quickstart
 */
#include "log/append.h"

#include <algorithm>
#include <fcntl.h>

namespace logtool
{

AckFile::AckFile(const std::string &path) : path_(path)
{
    if (path.empty())
        return;
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd_ < 0)
        throw cli::Failure(path + ": " + strerror(errno));
}

AckFile::~AckFile()
{
    if (fd_ >= 0)
        close(fd_);
}

void AckFile::add(uint64_t index, uint64_t lsn)
{
    if (fd_ >= 0)
        pending_ += std::to_string(index) + ' ' + std::to_string(lsn) + '\n';
}

void AckFile::flush()
{
    if (!pending_.empty() && !write_all(fd_, path_, pending_.data(), pending_.size()))
        throw cli::Failure(path_ + ": its reader has closed the pipe");
    pending_.clear();
}

static size_t slots_needed(const AppendOptions &options)
{
    return std::max({ options.async, options.batch, 1u });
}

Appender::Appender(const AppendOptions &options)
    : options_(options), session_(options),
      input_(options.file, options.binary ? options.record_bytes : 0), acks_(options.ack_file),
      slots_(slots_needed(options)), done_(slots_.size()), outcomes_(slots_.size()),
      progress_(!options.quiet && !input_.is_terminal())
{
    rpm_hist_init(&hist_);
}

rpm_log_opts Appender::log_opts() const
{
    rpm_log_opts opts = rpm_log_opts_init();

    opts.flags = RPM_LOG_WRITE | (options_.no_create ? 0 : RPM_LOG_CREATE) |
                 (options_.takeover ? RPM_LOG_TAKEOVER : 0) |
                 (options_.agent_tier ? RPM_LOG_AGENT_TIER : 0);
    opts.level = options_.level;
    opts.capacity_bytes = options_.capacity;
    opts.inflight_max = static_cast<uint32_t>(slots_.size());
    return opts;
}

void Appender::open()
{
    rpm_log_opts opts = log_opts();
    struct rpm_log_info info = rpm_log_info_init();

    session_.open(options_.url);
    session_.open_log(options_, opts);
    record_max_ = rpm_log_record_max(session_.log.get());
    cli::check("info", rpm_log_info(session_.log.get(), &info));
    torn_ = info.torn;
    if (options_.capacity != 0 && options_.capacity != info.capacity_bytes)
        fprintf(
            stderr, "rpm-log: %s has a capacity of %s: --capacity %s counts only when it is made\n",
            options_.name.c_str(), cli::size_text(static_cast<double>(info.capacity_bytes)).c_str(),
            cli::size_text(static_cast<double>(options_.capacity)).c_str());
}

/* Compare the records in the log with the first records of the input, which are then skipped. */
void Appender::skip_present()
{
    struct rpm_log_info info = rpm_log_info_init();
    rpm_record record;
    std::string line;
    int found;

    cli::check("info", rpm_log_info(session_.log.get(), &info));
    if (info.head_lsn != 0)
        throw cli::Failure("resume: " + options_.name + " was trimmed up to " +
                           std::to_string(info.head_lsn) +
                           ", so the record of the input to continue at is unknown: pass the rest "
                           "of it without --resume");
    session_.open_reader(0, RPM_VISIBLE);
    while ((found = cli::check("resume", rpm_reader_next(session_.reader.get(), &record))) == 1) {
        if (!input_.next(line, record_max_) || line.size() != record.len ||
            memcmp(line.data(), record.data, record.len) != 0)
            throw cli::Failure("resume: record " + std::to_string(skipped_ + 1) + " of " +
                               options_.name + " is not that of the input");
        skipped_++;
        show_progress(": comparing with the input");
    }
    session_.reader.reset();
}

void Appender::acknowledge(uint64_t lsn)
{
    Slot &done = slot(acked_);

    rpm_hist_add(&hist_, now_ns() - done.start_ns);
    bytes_ += done.data.size();
    acks_.add(done.index, lsn);
    acked_++;
}

/* Acknowledge completed records. Those that completed with an error are left to recover(). */
int Appender::reap()
{
    int n = cli::check("poll", rpm_log_poll(session_.log.get(), done_.data(),
                                            static_cast<uint32_t>(done_.size())));
    int err = 0;

    for (int i = 0; i < n; i++) {
        if (done_[static_cast<size_t>(i)].status == 0 && err == 0)
            acknowledge(done_[static_cast<size_t>(i)].lsn);
        else
            err = done_[static_cast<size_t>(i)].status;
    }
    acks_.flush();
    return err != 0 ? err : n;
}

/* Append one record. Returns 0, RPM_E_BUSY, or another error. */
int Appender::post_one(uint64_t seq)
{
    Slot &next = slot(seq);
    void *context = reinterpret_cast<void *>(seq + 1);
    bool more = options_.batch > 1 && (seq + 1) % options_.batch != 0;
    uint64_t lsn;
    int err;

    next.start_ns = now_ns();
    if (slots_.size() > 1)
        return rpm_log_append_async(session_.log.get(), next.data.data(), next.data.size(),
                                    more ? static_cast<uint32_t>(RPM_MORE) : 0u, context, nullptr);
    err = rpm_log_append(session_.log.get(), next.data.data(), next.data.size(), &lsn);
    if (err == 0) {
        acknowledge(lsn);
        acks_.flush();
    }
    return err;
}

/* The log is full: wait until rpm-agent has stored records, which the next append then trims. What
 * is outstanding must be acknowledged before it can be stored. */
void Appender::await_room(int err)
{
    uint64_t now = now_ns();
    int reaped;

    if (full_since_ns_ == 0)
        full_since_ns_ = now;
    if (options_.tier.empty() || cli::stopped() ||
        now - full_since_ns_ > static_cast<uint64_t>(options_.timeout * 1e9))
        fail(err);
    reaped = rpm_log_persist(session_.log.get());
    if (reaped == 0)
        reaped = reap();
    if (is_unreachable(reaped))
        recover(reaped);
    else if (reaped < 0)
        fail(reaped);
    show_progress(", waiting for rpm-agent");
    sleep_ns(1000000);
}

void Appender::post_all()
{
    while (posted_ < filled_) {
        int err = post_one(posted_);

        if (err == 0) {
            posted_++;
            full_since_ns_ = 0;
            continue;
        }
        if (err == RPM_E_FULL) {
            await_room(err);
            continue;
        }
        if (err == RPM_E_BUSY) {
            err = reap();
            if (err == 0)
                err = rpm_log_persist(session_.log.get());
        }
        if (is_unreachable(err)) {
            if (slots_.size() == 1)
                posted_++; /* its outcome is unknown now */
            recover(err);
        } else if (err < 0) {
            fail(err);
        }
    }
}

/* Wait until every filled slot is acknowledged. */
void Appender::drain()
{
    for (;;) {
        int err;

        post_all();
        if (acked_ == filled_)
            return;
        err = rpm_log_persist(session_.log.get());
        if (err == 0)
            err = reap();
        if (is_unreachable(err))
            recover(err);
        else if (err < 0)
            fail(err);
    }
}

/* Handle one outcome of rpm_log_resume(). An absent record, and all records after it, are posted
 * again. */
void Appender::settle(const rpm_outcome &outcome)
{
    uint64_t context = reinterpret_cast<uint64_t>(outcome.context);
    uint64_t seq = context != 0 ? context - 1 : acked_;

    if (outcome.present < 0)
        throw cli::Failure("append: another client trimmed record " +
                           std::to_string(slot(seq).index) + " before its outcome was known");
    if (outcome.present == 0) {
        settled_absent_++;
        posted_ = std::min(posted_, seq);
        return;
    }
    if (seq != acked_)
        throw cli::Failure("append: record " + std::to_string(slot(seq).index) +
                           " is in the log without the records before it");
    settled_present_++;
    acknowledge(outcome.lsn);
}

/* End the program with a report of the records' outcomes, and of the option that continues from
 * here. */
void Appender::fail(int err) const
{
    std::string kept = "the " + std::to_string(acked_) + " records acknowledged are in it";

    if (err == RPM_E_FENCED)
        throw cli::RpmFailure("append", err,
                              "another writer claimed log '" + options_.name + "'; " + kept +
                                  "; to claim it back, append with --takeover");
    if (is_unreachable(err))
        throw cli::RpmFailure("append", err,
                              "lost the connection to " + options_.url + ", log '" + options_.name +
                                  "'; " + kept + "; --reconnect SECONDS keeps trying");
    throw cli::RpmFailure("append", err);
}

/* After a lost connection: reconnect, and learn the outcomes of all outstanding appends. */
void Appender::recover(int err)
{
    uint64_t deadline = now_ns() + static_cast<uint64_t>(options_.reconnect * 1e9);
    uint32_t count = 0;

    if (options_.reconnect <= 0)
        fail(err);
    (void)reap();
    do {
        if (now_ns() > deadline || cli::stopped())
            throw cli::RpmFailure("reconnect", err);
        err = rpm_conn_reconnect(session_.conn.get());
        if (err == 0)
            err = rpm_log_resume(session_.log.get(), outcomes_.data(),
                                 static_cast<uint32_t>(outcomes_.size()), &count);
        if (err == RPM_E_OWNED || is_unreachable(err)) {
            show_progress(", the connection is lost: trying again");
            sleep_ns(10000000);
        }
    } while (err == RPM_E_OWNED || is_unreachable(err));
    if (err != RPM_E_FENCED)
        cli::check("resume", err);
    reconnects_++;
    for (uint32_t i = 0; i < count; i++)
        settle(outcomes_[i]);
    acks_.flush();
    /* Another writer has or had the log: do not append behind its records. */
    cli::check("resume", err);
}

/* Wait until the next record is due at --rate. */
void Appender::pace()
{
    uint64_t due;

    if (options_.rate <= 0)
        return;
    due = start_ns_ + static_cast<uint64_t>(static_cast<double>(filled_) * 1e9 / options_.rate);
    if (due <= now_ns())
        return;
    drain();
    while (!cli::stopped() && due > now_ns())
        sleep_ns(std::min<uint64_t>(due - now_ns(), 100000000));
}

/* Read the next record of the input into its slot. */
bool Appender::read_one()
{
    Slot &next = slot(filled_);

    /* While acknowledgements are outstanding, do not block on the input. */
    if (acked_ < filled_ && !input_.ready())
        drain();
    pace();
    if (!input_.next(next.data, record_max_))
        return false;
    next.index = input_.index();
    filled_++;
    show_progress("");
    return true;
}

void Appender::work()
{
    while (read_one()) {
        post_all();
        if (slots_.size() > 1)
            (void)reap();
        while (filled_ - acked_ == slots_.size()) {
            int err = reap();

            if (err == 0)
                err = rpm_log_persist(session_.log.get());
            if (is_unreachable(err))
                recover(err);
            else if (err < 0)
                fail(err);
            post_all();
        }
    }
    drain();
}

int Appender::run()
{
    bool stopped;

    open();
    if (options_.resume)
        skip_present();
    start_ns_ = now_ns();
    try {
        work();
    } catch (...) {
        /* Records acknowledged so far are durable and are counted in the summary. */
        (void)!rpm_log_persist(session_.log.get());
        (void)reap();
        summary(true);
        throw;
    }
    stopped = cli::stopped();
    summary(stopped);
    if (stopped)
        throw cli::Failure("append: interrupted behind record " + std::to_string(input_.index()));
    return cli::kDone;
}

int append(const AppendOptions &options)
{
    Appender appender(options);

    return appender.run();
}

} // namespace logtool
