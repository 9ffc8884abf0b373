/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * append.h: append the records of the input to a log, each exactly once, also across failures of
 * the server.
 */
#ifndef RPM_TOOLS_LOG_APPEND_H
#define RPM_TOOLS_LOG_APPEND_H

#include "log/input.h"
#include "log/logtool.h"
#include "progress.h"

#include <vector>

namespace logtool
{

/* The file of acknowledged records, one "index lsn" a line, written before the next append. */
class AckFile
{
  public:
    explicit AckFile(const std::string &path);
    ~AckFile();
    AckFile(const AckFile &) = delete;
    AckFile &operator=(const AckFile &) = delete;

    void add(uint64_t index, uint64_t lsn);
    void flush();

  private:
    std::string path_;
    int fd_ = -1;
    std::string pending_;
};

/*
 * Invariants
 *   acked_ <= posted_ <= filled_, filled_ - acked_ <= slots_.size()
 *   record i is in slot i % slots_.size() until it is acknowledged
 */
class Appender
{
  public:
    explicit Appender(const AppendOptions &options);
    int run();

  private:
    struct Slot {
        std::string data;
        uint64_t index = 0; /* of the record in the input, from 1 on */
        uint64_t start_ns = 0;
    };

    Slot &slot(uint64_t seq)
    {
        return slots_[seq % slots_.size()];
    }

    void open();
    rpm_log_opts log_opts() const;
    void skip_present();
    void work();
    bool read_one();
    void pace();
    void post_all();
    int post_one(uint64_t seq);
    void await_room(int err);
    void acknowledge(uint64_t lsn);
    int reap();
    void drain();
    void recover(int err);
    [[noreturn]] void fail(int err) const;
    void settle(const rpm_outcome &outcome);
    void show_progress(const char *what);
    void summary(bool failed);
    struct rpm_conn_stats conn_stats() const;
    void print_table(const rpm_facts &facts, double seconds) const;
    void print_json(const rpm_facts &facts, double seconds) const;

    const AppendOptions &options_;
    Session session_;
    Input input_;
    AckFile acks_;
    std::vector<Slot> slots_;
    std::vector<rpm_completion> done_;
    std::vector<rpm_outcome> outcomes_;
    cli::Progress progress_;
    rpm_hist hist_;
    uint64_t acked_ = 0;
    uint64_t posted_ = 0;
    uint64_t filled_ = 0;
    uint64_t bytes_ = 0;
    uint64_t skipped_ = 0;
    uint64_t reconnects_ = 0;
    uint64_t settled_present_ = 0;
    uint64_t settled_absent_ = 0;
    uint64_t torn_ = 0;
    uint64_t start_ns_ = 0;
    uint64_t record_max_ = 0;
    uint64_t full_since_ns_ = 0; /* 0: an append was accepted since */
};

} // namespace logtool
#endif
