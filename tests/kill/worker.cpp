// SPDX-License-Identifier: BSD-3-Clause
// worker.cpp: the writer and the reader that the kill suite kills. Usage:
//   kill_worker write URL LEVEL LIFE STYLE TIMEOUT_US    (acknowledgements to standard output)
//   kill_worker read URL
#include "kill/payload.h"
#include "kill/pipeline.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <librpm.h>
#include <time.h>
#include <unistd.h>
#include <vector>

using namespace kill_suite;

namespace
{

volatile std::sig_atomic_t asked_to_end;

const uint32_t kInflight = 32;
const char *const kLog = "log";

void violation(const char *what, int err)
{
    fprintf(stderr, "worker: %s: %s: %s\n", what, rpm_error_name(err), rpm_last_error());
    _exit(kViolation);
}

void nap(long ns)
{
    timespec time = { 0, ns };

    nanosleep(&time, nullptr);
}

bool is_loss(int err)
{
    return err == RPM_E_LOST || err == RPM_E_TIMEDOUT;
}

rpm_conn *connect(const char *url, uint64_t timeout_us)
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_conn *conn = nullptr;
    int err = RPM_E_REFUSED;

    opts.timeout_us = timeout_us;
    for (int i = 0; i < 2000 && err != 0; i++) {
        err = rpm_conn_open(url, &opts, &conn);
        if (err == 0)
            return conn;
        if (!is_loss(err) && err != RPM_E_REFUSED)
            violation("connect", err);
        nap(5000000);
    }
    _exit(kGaveUp);
}

class Writer
{
  public:
    Writer(const char *url, uint32_t level, uint32_t life, uint32_t style, uint64_t timeout_us)
        : life_(life), style_(style), room_(kPayloadMax)
    {
        rpm_log_opts opts = rpm_log_opts_init();
        int err = RPM_E_LOST;

        opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE | RPM_LOG_TAKEOVER;
        opts.level = level;
        opts.capacity_bytes = 1 << 20;
        opts.inflight_max = kInflight;
        conn_ = connect(url, timeout_us);
        for (int i = 0; i < 2000; i++) {
            err = rpm_log_open(conn_, kLog, &opts, &log_);
            if (err == 0)
                break;
            if (!is_loss(err) && err != RPM_E_OWNED)
                violation("open", err);
            nap(2000000);
            if (is_loss(err))
                (void)!rpm_conn_reconnect(conn_);
        }
        if (err != 0)
            _exit(kGaveUp);
        first_lsn_ = tail();
        tell(kReady, 0, first_lsn_);
    }

    void run()
    {
        while (!asked_to_end) {
            int err = step();

            if (err == RPM_E_FULL)
                err = make_room();
            if (err == RPM_E_FENCED)
                _exit(kFenced);
            if (is_loss(err))
                resume();
            else if (err != 0)
                violation("append", err);
        }
        int err = settle();
        if (is_loss(err))
            _exit(kGaveUp);
        if (err != 0 && err != RPM_E_FENCED)
            violation("persist", err);
        rpm_log_close(&log_);
        rpm_conn_close(&conn_);
    }

  private:
    void tell(uint32_t kind, uint32_t seq, uint64_t lsn)
    {
        Message message = { kind, seq, lsn };

        if (write(STDOUT_FILENO, &message, sizeof(message)) != sizeof(message))
            _exit(kGaveUp);
    }
    void ack(uint32_t seq, uint64_t lsn)
    {
        if (seq != acked_) {
            fprintf(stderr, "worker: acknowledgement of record %u, expected %u\n", seq, acked_);
            _exit(kViolation);
        }
        acked_++;
        acked_lsns_.push_back(lsn);
        if (acked_lsns_.size() > 400)
            acked_lsns_.pop_front();
        tell(kAck, seq, lsn);
    }
    uint64_t tail()
    {
        struct rpm_log_info info = {};

        info.size = sizeof(info);
        int err = rpm_log_info(log_, &info);
        if (err != 0)
            violation("info", err);
        return info.tail_lsn;
    }

    // Appends a record in this writer's style.
    int step()
    {
        switch (style_ % 4) {
        case 0:
            return blocking();
        case 1:
            return pipelined(false);
        case 2:
            return batch();
        default:
            return pipelined(true);
        }
    }
    int blocking()
    {
        size_t len = payload_make(life_, next_, room_.data());
        uint64_t lsn = 0;

        pending_ = next_ + 1;
        int err = rpm_log_append(log_, room_.data(), len, &lsn);
        if (!is_loss(err))
            pending_ = next_;
        if (err == 0)
            ack(next_++, lsn);
        return err;
    }
    int pipelined(bool in_place)
    {
        int err = reap();

        if (err != 0)
            return err;
        if (next_ - acked_ >= kInflight) {
            nap(20000);
            return 0;
        }
        err = in_place ? submit_in_place() : submit();
        if (err == RPM_E_BUSY)
            err = reap();
        return err;
    }
    int submit()
    {
        size_t len = payload_make(life_, next_, room_.data());
        uint32_t flags = next_ % 5 == 0 ? static_cast<uint32_t>(RPM_MORE) : 0;
        int err = rpm_log_append_async(log_, room_.data(), len, flags,
                                       kill_suite::context_of(next_), nullptr);

        if (err == 0)
            pending_ = ++next_;
        return err;
    }
    int submit_in_place()
    {
        size_t len = payload_size(life_, next_);
        void *room = nullptr;
        int err = rpm_log_reserve(log_, len, &room);

        if (err != 0)
            return err;
        payload_make(life_, next_, static_cast<unsigned char *>(room));
        err = rpm_log_commit(log_, len, 0, kill_suite::context_of(next_), nullptr);
        if (err == 0)
            pending_ = ++next_;
        return err;
    }
    int batch()
    {
        uint32_t n = 1 + next_ % 13;
        std::vector<std::vector<unsigned char>> bytes(n);
        std::vector<rpm_slice> slices(n);
        std::vector<uint64_t> lsns(n);

        for (uint32_t i = 0; i < n; i++) {
            bytes[i].resize(kPayloadMax);
            slices[i] = { bytes[i].data(), payload_make(life_, next_ + i, bytes[i].data()) };
        }
        pending_ = next_ + n;
        int err = rpm_log_append_batch(log_, slices.data(), n, lsns.data());
        if (!is_loss(err))
            pending_ = next_;
        for (uint32_t i = 0; err == 0 && i < n; i++)
            ack(next_++, lsns[i]);
        return err;
    }
    int reap()
    {
        return kill_suite::reap(log_, [this](uint32_t seq, uint64_t lsn) { ack(seq, lsn); });
    }
    int settle()
    {
        return kill_suite::settle(log_, [this](uint32_t seq, uint64_t lsn) { ack(seq, lsn); });
    }

    // Trims the older half of this writer's records, or all records of earlier writers.
    int make_room()
    {
        int err = settle();

        if (err != 0)
            return err;
        uint64_t lsn = acked_lsns_.empty() ? first_lsn_ : acked_lsns_[acked_lsns_.size() / 2];
        tell(kTrim, 0, lsn);
        return rpm_log_trim(log_, lsn);
    }

    // The server is lost: reconnect, resume, and continue behind the records that are in the log.
    void resume()
    {
        std::vector<rpm_outcome> outcomes(kInflight);
        uint32_t count = 0;
        int err = RPM_E_LOST;

        // Appends that succeeded before the loss are not among the outcomes: they come first.
        (void)reap();
        for (int i = 0; i < 2000 && err != 0; i++) {
            err = rpm_conn_reconnect(conn_);
            if (err == 0)
                err = rpm_log_resume(log_, outcomes.data(), kInflight, &count);
            if (err == RPM_E_FENCED)
                _exit(kFenced);
            if (err == 0)
                break;
            if (!is_loss(err) && err != RPM_E_REFUSED && err != RPM_E_OWNED)
                violation("resume", err);
            nap(2000000);
        }
        if (err != 0)
            _exit(kGaveUp);
        decide(outcomes, count);
        tell(kResumed, acked_, 0);
    }
    void decide(const std::vector<rpm_outcome> &outcomes, uint32_t count)
    {
        uint32_t blocking = acked_; // outcomes without a context come in the order of their calls
        bool absent = false;

        for (uint32_t i = 0; i < count; i++) {
            auto tag = reinterpret_cast<uintptr_t>(outcomes[i].context);
            uint32_t seq = tag != 0 ? static_cast<uint32_t>(tag) - 1 : blocking++;

            if (seq >= pending_)
                violation("an outcome of a record that was not outstanding", 0);
            if (!outcomes[i].present) {
                absent = true;
                continue;
            }
            if (absent)
                violation("a record behind one that is absent", 0);
            ack(seq, outcomes[i].lsn);
        }
        next_ = acked_;
        pending_ = next_;
    }

    rpm_conn *conn_ = nullptr;
    rpm_log *log_ = nullptr;
    uint32_t life_;
    uint32_t style_;
    uint32_t next_ = 0;    // number of the next record to append
    uint32_t acked_ = 0;   // number of the next acknowledgement
    uint32_t pending_ = 0; // records below it may be in the log
    uint64_t first_lsn_ = 0;
    std::deque<uint64_t> acked_lsns_;
    std::vector<unsigned char> room_;
};

// Follows the log; records must be whole and in order.
class Reader
{
  public:
    explicit Reader(const char *url) : conn_(connect(url, 2000000)) {}
    void run()
    {
        while (!asked_to_end) {
            int err = follow();

            if (is_loss(err))
                reconnect();
            else if (err != 0 && err != RPM_E_TRIMMED && err != RPM_E_NOENT && err != RPM_E_RANGE)
                violation("read", err);
            if (err != 0)
                nap(1000000);
        }
        rpm_conn_close(&conn_);
    }

  private:
    void reconnect()
    {
        for (int i = 0; i < 2000 && !asked_to_end; i++) {
            int err = rpm_conn_reconnect(conn_);

            if (err == 0)
                return;
            if (!is_loss(err) && err != RPM_E_REFUSED)
                violation("reader's reconnect", err);
            nap(2000000);
        }
    }
    int follow()
    {
        rpm_log *log = nullptr;
        rpm_reader *reader = nullptr;
        int err = rpm_log_open(conn_, kLog, nullptr, &log);

        if (err != 0)
            return err;
        err = rpm_reader_open(log, nullptr, &reader);
        life_ = 0;
        while (err == 0 && !asked_to_end) {
            rpm_record record;
            int got = rpm_reader_wait(reader, 20000, &record);

            if (got < 0)
                err = got;
            else if (got == 1)
                judge(record);
        }
        rpm_reader_close(&reader);
        rpm_log_close(&log);
        return err;
    }
    void judge(const rpm_record &record)
    {
        PayloadHead head;

        if (!payload_check(record.data, record.len, &head))
            violation("a record that no writer wrote", 0);
        if (life_ != 0 && (head.life < life_ || (head.life == life_ && head.seq != seq_ + 1)))
            violation("records out of order", 0);
        life_ = head.life;
        seq_ = head.seq;
    }

    rpm_conn *conn_;
    uint32_t life_ = 0;
    uint32_t seq_ = 0;
};

uint32_t number(const char *text)
{
    return static_cast<uint32_t>(strtoul(text, nullptr, 10));
}

} // namespace

int main(int argc, char **argv)
{
    struct sigaction action = {};

    action.sa_handler = [](int) { asked_to_end = 1; };
    sigaction(SIGTERM, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
    if (argc == 7 && std::string(argv[1]) == "write") {
        Writer(argv[2], number(argv[3]), number(argv[4]), number(argv[5]), number(argv[6])).run();
        return kDone;
    }
    if (argc == 3 && std::string(argv[1]) == "read") {
        Reader(argv[2]).run();
        return kDone;
    }
    fprintf(stderr, "usage: kill_worker write URL LEVEL LIFE STYLE TIMEOUT_US | read URL\n");
    return kUsage;
}
