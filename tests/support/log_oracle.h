// SPDX-License-Identifier: BSD-3-Clause
// log_oracle.h: the expected content of a log, kept beside it: every record that was submitted,
// whether it was acknowledged, and which trims were requested. And a writer that updates it.
#ifndef TESTS_SUPPORT_LOG_ORACLE_H
#define TESTS_SUPPORT_LOG_ORACLE_H

#include "support/cuts.h"

#include <deque>

namespace cuts
{

// flying: submitted, fate unknown. acked: must be in the log. gone: must never be in it again.
enum class Fate { flying, acked, gone };

const uint64_t NOWHERE = UINT64_MAX;

struct Entry {
    size_t len;
    Fate fate;
    uint64_t lsn; // NOWHERE: unknown
};

// The serial number in its first bytes identifies a record.
const size_t RECORD_MIN = 8;

class LogOracle : public Oracle
{
  public:
    LogOracle(std::string name, uint64_t capacity);

    ~LogOracle() override;
    void verify(Run &run) override;
    void use_again(Run &run) override;
    void close_handles() override;

    // Registers a new record of @len bytes (at least RECORD_MIN) as submitted. Its serial number.
    uint32_t submit(size_t len);
    std::string bytes_of(uint32_t serial) const;
    Entry &entry(uint32_t serial)
    {
        return entries_[serial];
    }
    // Whether there is an acknowledged record behind this one.
    bool overtaken(uint32_t serial) const;
    void trim_asked(uint64_t lsn);
    void trim_acked(uint64_t lsn);
    void creating();
    void created();
    void removing();
    void removed();
    // A reader delivered this record at the log's level.
    void given(const rpm_record &record);

    // Read all records from @from_lsn (0: the head) on and compare. @settled: the log was claimed
    // and recovered, so records that were found must stay, and the others must never appear.
    void read_all(Run &run, rpm_log *log, uint32_t level, bool settled, uint64_t from_lsn = 0);

    // Store in the tier what is durable in the log, to its tail.
    void archive(Run &run, rpm_log *log);

    const std::string name;
    const uint64_t capacity;
    uint32_t inflight_max = 64;
    // Where records are stored before the writer trims them: no record ever goes. NULL: nowhere.
    rpm_tier *tier = nullptr;
    // Its writers do not see that: they trim by the decisions of their connection's agent.
    bool by_agent = false;
    uint32_t writer_flags() const
    {
        return by_agent ? RPM_LOG_AGENT_TIER : 0;
    }

  protected:
    // The archiver has stored what it could.
    virtual void stored(Run & /*run*/, rpm_archiver * /*archiver*/) {}

  private:
    struct Seen {
        uint32_t serial;
        uint64_t lsn;
    };
    Seen identify(const rpm_record &record) const;
    void check_head(uint64_t head) const;
    void compare(const std::vector<Seen> &seen, uint64_t from) const;
    void settle(const std::vector<Seen> &seen, bool all);
    bool read_first(Run &run, rpm_conn *conn);
    void check_existence(int err);

    std::vector<Entry> entries_;
    std::vector<uint64_t> trims_; // requested
    uint64_t head_least_ = 0;     // the last trim that was acknowledged
    Existence existence_ = Existence::no;
    std::unique_ptr<class Writer> writer_; // of use_again()
};

// A log that a client has opened for writing, and its outstanding records.
class Writer
{
  public:
    // @flags besides RPM_LOG_WRITE and RPM_LOG_CREATE.
    Writer(Run &run, unsigned who, LogOracle &oracle, uint32_t flags = 0);
    ~Writer();
    Writer(const Writer &) = delete;
    Writer &operator=(const Writer &) = delete;

    void append(size_t len);
    // With a tier, after everything was stored: there is room, or a fault took it away.
    void append_stored(size_t len)
    {
        if (!oracle_.by_agent) {
            append(len);
        } else if (!try_append(len)) {
            if (!run_.fired())
                violate("log %s is full although the agent has decided", oracle_.name.c_str());
            throw Lost(); // the agent's machine ended before its decision was fetched
        }
    }
    // False if the log is full, or another writer has claimed it.
    bool try_append(size_t len);
    void async(size_t len, uint32_t flags = 0);
    bool try_async(size_t len, uint32_t flags = 0);
    // Tries an append once and accepts any result: success, full, deadline, or no completion.
    void append_once(size_t len);
    void batch(std::initializer_list<size_t> lens);
    void reserve(size_t len, size_t used);
    void persist();
    // Reap completions; with @all wait until nothing is outstanding.
    void poll(bool all);
    // Trim to the start of the acknowledged record @back from the newest (0: to the tail).
    void trim(size_t back);
    // After a fault: reconnect, resume, and append again the records that are absent.
    void resume(bool again = true);

    rpm_log *log()
    {
        return log_;
    }
    size_t outstanding() const
    {
        return flying_.size();
    }
    bool fenced() const
    {
        return fenced_;
    }

  private:
    void acked(uint32_t serial, uint64_t lsn);
    void finish(uint32_t serial, const rpm_completion &done);
    void decide(const rpm_outcome &outcome, std::vector<uint32_t> *absent);
    void settle(const std::vector<rpm_outcome> &outcomes, bool again);
    int refused(uint32_t serial, int err, const char *what);

    Run &run_;
    const unsigned who_;
    LogOracle &oracle_;
    rpm_log *log_ = nullptr;
    std::deque<uint32_t> flying_;   // asynchronous appends, not reaped, oldest first
    std::vector<uint32_t> unknown_; // reaped as unknown: resume must report them
    std::deque<uint32_t> silent_;   // blocking appends that ended as unknown, oldest first
    std::deque<uint64_t> starts_;   // LSNs of acknowledged records
    bool fenced_ = false;
};

} // namespace cuts

#endif
