/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history.h: what sessions do, into a history file.
 */
#ifndef DTX_BENCH_HISTORY_H
#define DTX_BENCH_HISTORY_H

#include "history/writer.h"
#include <dtx/session.h>

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace dtx::bench
{

/* Sessions of a history do one transaction after the other, but a thread several at once: each of
 * its coroutines one, and inside of that perhaps one that gets it slots. The history has a session
 * for each. */
class Scribe : public Listener
{
  public:
    Scribe(history::Recorder &recorder, uint32_t first, uint32_t lanes)
        : recorder_(recorder), first_(first), lanes_(lanes)
    {
    }
    void ended(const Attempt &attempt) override;
    /* Addresses of all that it has heard was written, or might have been. */
    const std::unordered_set<uint64_t> &written() const
    {
        return written_;
    }

  private:
    history::Recorder &recorder_;
    uint32_t first_; /* session of the history */
    uint32_t lanes_;
    std::vector<history::Access> reads_;
    std::vector<history::Access> writes_;
    std::unordered_set<uint64_t> written_;
};

/* The file of a run, and a listener for each of its threads. */
class History
{
  public:
    struct Options {
        uint32_t first = 0; /* coordinator of the first thread: another process has those before */
        uint32_t threads = 1;
        uint32_t coroutines = 1;
        bool buffered = true; /* no: what was told is in the file, also if the process is killed */
    };

    /* Throws history::Failure. */
    History(const std::string &path, const history::Header &header, const Options &options);
    Listener *listener(uint32_t thread)
    {
        return scribes_[thread].get();
    }
    /* What is there of all that was written, on every copy: when all sessions have ended, and
     * nobody else uses the database. */
    void final_state(const Cluster &cluster);
    /* When all sessions have ended. Throws history::Failure. */
    void close()
    {
        recorder_->close();
    }

  private:
    std::unique_ptr<history::Recorder> recorder_;
    std::vector<std::unique_ptr<Scribe>> scribes_;
};

} // namespace dtx::bench
#endif
