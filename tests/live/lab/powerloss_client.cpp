// SPDX-License-Identifier: BSD-3-Clause
// powerloss_client.cpp: appends to one log while its server loses power again and again, and after
// each loss compares the log with all records that were ever acknowledged. Usage:
//   powerloss_client URL DIR [METHOD]
// DIR gets "acks", every acknowledgement at once (kill/payload.h's messages), and "events", a line
// for each step, which powerloss watches. A file "stop" in DIR ends it after one more comparison.
#include "kill/model.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <memory>
#include <time.h>
#include <unistd.h>

using namespace kill_suite;

namespace
{

const uint32_t kInflight = 32;
const uint64_t kSecond = 1000000000;
const uint64_t kPatience = 120 * kSecond; // time for a guest to be killed and to boot

uint64_t now_ns()
{
    timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
}

void nap(long ns)
{
    timespec time = { 0, ns };

    nanosleep(&time, nullptr);
}

[[noreturn]] void fail(const std::string &what, int err)
{
    fprintf(stderr, "powerloss_client: %s: %s: %s\n", what.c_str(), rpm_error_name(err),
            rpm_last_error());
    exit(kViolation);
}

// Whether the server is unreachable, or restarted and still holds claims of earlier connections.
bool passes(int err)
{
    return err == RPM_E_LOST || err == RPM_E_TIMEDOUT || err == RPM_E_REFUSED || err == RPM_E_OWNED;
}

// Tries until it succeeds or the deadline passes; any other error is a bug of the library.
template <typename Try> void insist(const char *what, Try attempt)
{
    uint64_t until = now_ns() + kPatience;

    for (;;) {
        int err = attempt();

        if (err == 0)
            return;
        if (!passes(err) || now_ns() > until)
            fail(what, err);
        nap(100000000);
    }
}

// The files that the host reads.
class Told
{
  public:
    explicit Told(const std::string &dir)
        : stop_(dir + "/stop"), acks_(open_file(dir + "/acks")), events_(open_file(dir + "/events"))
    {
    }
    void message(const Message &message)
    {
        queued_.push_back(message);
    }
    // Collects acknowledgements: each write to the file is a message to the host.
    void flush()
    {
        auto bytes = static_cast<ssize_t>(queued_.size() * sizeof(Message));

        if (bytes != 0 && write(acks_, queued_.data(), static_cast<size_t>(bytes)) != bytes)
            fail("cannot tell the host", RPM_E_IO);
        queued_.clear();
    }
    __attribute__((format(printf, 2, 3))) void event(const char *format, ...)
    {
        va_list args;

        flush();
        va_start(args, format);
        if (vdprintf(events_, format, args) < 0)
            fail("cannot tell the host", RPM_E_IO);
        va_end(args);
    }
    // Checked rarely: each check is a message to the host.
    bool stop()
    {
        if (!stopped_ && now_ns() >= look_ns_) {
            look_ns_ = now_ns() + kSecond / 5;
            stopped_ = access(stop_.c_str(), F_OK) == 0;
        }
        return stopped_;
    }

  private:
    static int open_file(const std::string &path)
    {
        int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);

        if (fd < 0)
            fail("cannot open " + path, RPM_E_IO);
        return fd;
    }

    std::string stop_;
    bool stopped_ = false;
    uint64_t look_ns_ = 0;
    std::vector<Message> queued_;
    int acks_;
    int events_;
};

struct Close {
    void operator()(rpm_conn *conn) const
    {
        rpm_conn_close(&conn);
    }
    void operator()(rpm_log *log) const
    {
        rpm_log_close(&log);
    }
    void operator()(rpm_reader *reader) const
    {
        rpm_reader_close(&reader);
    }
};

// A connection with the log claimed on it.
struct Grip {
    uint32_t method; // enum rpm_method to demand, or the default
    std::unique_ptr<rpm_conn, Close> conn;
    std::unique_ptr<rpm_log, Close> log;

    int take(const char *url)
    {
        rpm_conn_opts conn_opts = rpm_conn_opts_init();
        rpm_log_opts opts = rpm_log_opts_init();
        rpm_conn *new_conn = nullptr;
        rpm_log *new_log = nullptr;

        log.reset();
        conn.reset();
        conn_opts.timeout_us = 3000000;
        conn_opts.method = method;
        opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | RPM_LOG_TAKEOVER;
        opts.level = RPM_DURABLE;
        opts.capacity_bytes = 1 << 20;
        opts.inflight_max = kInflight;
        int err = rpm_conn_open(url, &conn_opts, &new_conn);
        conn.reset(new_conn);
        if (err == 0)
            err = rpm_log_open(new_conn, "log", &opts, &new_log);
        log.reset(new_log);
        return err;
    }
    int read(std::vector<Entry> *found, uint64_t *head_lsn) const
    {
        struct rpm_log_info info = {};
        rpm_reader *reader = nullptr;
        rpm_record record;
        int got = 0;

        found->clear();
        info.size = sizeof(info);
        int err = rpm_log_info(log.get(), &info);
        if (err == 0)
            err = rpm_reader_open(log.get(), nullptr, &reader);
        std::unique_ptr<rpm_reader, Close> owner(reader);
        while (err == 0 && (got = rpm_reader_next(reader, &record)) == 1) {
            PayloadHead head = {};
            bool whole = payload_check(record.data, record.len, &head);

            found->push_back({ head.life, head.seq, record.lsn, whole });
        }
        *head_lsn = info.head_lsn;
        return err != 0 ? err : got;
    }
};

// The appends from one comparison to the next loss.
class Life
{
  public:
    Life(Grip *grip, Model *model, Told *told, uint32_t life)
        : grip_(grip), model_(model), told_(told), life_(life), room_(kPayloadMax)
    {
        model->begin(life);
        tell(kReady, 0, 0);
    }

    // Appends until the host stops it or the server is lost; then takes the outcomes of the
    // outstanding appends. Returns the number of the first record that is not in the log, if it is
    // known.
    uint32_t run()
    {
        int err = 0;

        while (err == 0 && !told_->stop()) {
            told_->flush();
            err = life_ % 3 == 0 ? blocking() : life_ % 3 == 1 ? pipelined() : batch();
            if (err == RPM_E_FULL)
                err = make_room();
        }
        if (err == 0)
            err = settle();
        if (err == 0)
            return acked_;
        if (!passes(err))
            fail("append", err);
        told_->event("lost %u after %u\n", life_, acked_);
        last_acks();
        return resume() ? acked_ : UINT32_MAX;
    }

  private:
    void tell(uint32_t kind, uint32_t seq, uint64_t lsn)
    {
        Message message = { kind, seq, lsn };

        told_->message(message);
        model_->hear(message);
    }
    void ack(uint32_t seq, uint64_t lsn)
    {
        if (seq != acked_)
            fail("acknowledgement " + std::to_string(seq) + " out of order", 0);
        acked_++;
        lsns_.push_back(lsn);
        if (lsns_.size() > 400)
            lsns_.pop_front();
        tell(kAck, seq, lsn);
        if (acked_ == 1)
            told_->event("acked %u\n", life_);
    }

    static void *context(uint32_t seq)
    {
        return reinterpret_cast<void *>(uintptr_t{ seq } + 1);
    }
    static uint32_t number(void *context)
    {
        return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context)) - 1;
    }

    int blocking()
    {
        size_t len = payload_make(life_, next_, room_.data());
        uint64_t lsn = 0;
        int err = rpm_log_append(grip_->log.get(), room_.data(), len, &lsn);

        pending_ = passes(err) ? next_ + 1 : next_;
        if (err == 0)
            ack(next_++, lsn);
        return err;
    }
    int pipelined()
    {
        int err = 0;

        while (err == 0 && next_ - acked_ < kInflight) {
            size_t len = payload_make(life_, next_, room_.data());

            err = rpm_log_append_async(grip_->log.get(), room_.data(), len, 0, context(next_),
                                       nullptr);
            if (err == 0)
                pending_ = ++next_;
        }
        if (err != 0 && err != RPM_E_BUSY && err != RPM_E_FULL)
            return err;
        int reaped = reap();
        return reaped != 0 || err != RPM_E_FULL ? reaped : err;
    }
    int reap()
    {
        rpm_completion done[kInflight];
        int n;

        while ((n = rpm_log_poll(grip_->log.get(), done, kInflight)) > 0)
            for (int i = 0; i < n; i++) {
                if (done[i].status != 0)
                    return done[i].status;
                ack(number(done[i].context), done[i].lsn);
            }
        return n;
    }
    int batch()
    {
        uint32_t n = 1 + next_ % 13;
        std::vector<std::vector<unsigned char>> bytes(n, std::vector<unsigned char>(kPayloadMax));
        std::vector<rpm_slice> slices(n);
        std::vector<uint64_t> lsns(n);

        for (uint32_t i = 0; i < n; i++)
            slices[i] = { bytes[i].data(), payload_make(life_, next_ + i, bytes[i].data()) };
        int err = rpm_log_append_batch(grip_->log.get(), slices.data(), n, lsns.data());
        pending_ = passes(err) ? next_ + n : next_;
        for (uint32_t i = 0; err == 0 && i < n; i++)
            ack(next_++, lsns[i]);
        return err;
    }
    int settle()
    {
        int err = rpm_log_persist(grip_->log.get());

        return err != 0 ? err : reap();
    }
    // Trims the older half of this life's records, or all records of earlier lives.
    int make_room()
    {
        struct rpm_log_info info = {};
        int err = settle();

        info.size = sizeof(info);
        if (err == 0)
            err = rpm_log_info(grip_->log.get(), &info);
        if (err != 0)
            return err;
        uint64_t lsn = lsns_.empty() ? info.tail_lsn : lsns_[lsns_.size() / 2];
        tell(kTrim, 0, lsn);
        return rpm_log_trim(grip_->log.get(), lsn);
    }

    // Completions that arrived before the loss are acknowledgements; resume has no outcome for
    // them.
    void last_acks()
    {
        rpm_completion done;

        while (rpm_log_poll(grip_->log.get(), &done, 1) == 1)
            if (done.status == 0)
                ack(number(done.context), done.lsn);
    }
    // False if the log cannot be resumed because it has changed: the comparison gives details.
    bool resume()
    {
        std::vector<rpm_outcome> outcomes(kInflight);
        uint32_t count = 0;
        bool whole = true;

        insist("resume", [&] {
            int err = rpm_conn_reconnect(grip_->conn.get());

            if (err == 0)
                err = rpm_log_resume(grip_->log.get(), outcomes.data(), kInflight, &count);
            whole = err != RPM_E_CORRUPT;
            return whole ? err : 0;
        });
        if (whole)
            decide(outcomes, count);
        told_->event("resumed %u at %u%s%s\n", life_, acked_, whole ? "" : ": ",
                     whole ? "" : rpm_last_error());
        return whole;
    }
    void decide(const std::vector<rpm_outcome> &outcomes, uint32_t count)
    {
        uint32_t next = acked_; // outcomes without a context come in the order of their calls
        bool absent = false;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t seq = outcomes[i].context ? number(outcomes[i].context) : next++;

            if (seq >= pending_ || outcomes[i].present < 0 || (absent && outcomes[i].present))
                fail("an outcome that cannot be, of record " + std::to_string(seq), 0);
            absent = absent || !outcomes[i].present;
            if (outcomes[i].present)
                ack(seq, outcomes[i].lsn);
        }
    }

    Grip *grip_;
    Model *model_;
    Told *told_;
    uint32_t life_;
    uint32_t next_ = 0;    // number of the next record to append
    uint32_t acked_ = 0;   // number of the next acknowledgement
    uint32_t pending_ = 0; // records below it may be in the log
    std::deque<uint64_t> lsns_;
    std::vector<unsigned char> room_;
};

// Claims the log anew and compares all of it with the acknowledged records. No record of @life from
// @absent on may be there: resume reported them as absent.
Verdict compare(Grip *grip, const char *url, Model *model, Told *told, uint32_t life,
                uint32_t absent)
{
    std::vector<Entry> found;
    uint64_t head_lsn = 0;

    insist("recovery", [&] {
        int err = grip->take(url);

        if (err == 0)
            told->event("open %u\n", life);
        return err != 0 ? err : grip->read(&found, &head_lsn);
    });
    Verdict verdict = model->judge(found, head_lsn);
    for (const Entry &entry : found)
        if (entry.life == life && entry.seq >= absent) {
            verdict.invented++;
            verdict.text += " absent record " + std::to_string(entry.seq) + " came to life";
        }
    return verdict;
}

int run(const char *url, const std::string &dir, uint32_t method)
{
    Told told(dir);
    Model model;
    Grip grip = { method, nullptr, nullptr };
    uint32_t absent = 0;
    uint64_t bad = 0;

    for (uint32_t life = 0;; life++) {
        bool last = told.stop(); // before the claim, so that losses up to here are counted
        Verdict verdict = compare(&grip, url, &model, &told, life, absent);

        bad += verdict.lost + verdict.invented;
        told.event("judged %u acked %" PRIu64 " lost %" PRIu64 " invented %" PRIu64 " %s\n", life,
                   verdict.acked, verdict.lost, verdict.invented, verdict.text.c_str());
        if (last)
            return bad == 0 ? kDone : kViolation;
        absent = Life(&grip, &model, &told, life + 1).run();
    }
}

} // namespace

int main(int argc, char **argv)
{
    uint32_t method = RPM_METHOD_DEFAULT;

    if (argc == 4)
        for (method = RPM_METHOD_WRITE; method < RPM_METHOD_COUNT; method++)
            if (std::string(argv[3]) == rpm_method_name(static_cast<rpm_method>(method)))
                break;
    if (argc < 3 || argc > 4 || method == RPM_METHOD_COUNT) {
        fprintf(stderr, "usage: powerloss_client URL DIR [METHOD]\n");
        return kUsage;
    }
    return run(argv[1], argv[2], method);
}
