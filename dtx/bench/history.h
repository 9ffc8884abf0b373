/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history.h: what sessions do, into a history file.
 */
#ifndef DTX_BENCH_HISTORY_H
#define DTX_BENCH_HISTORY_H

#include "engine/session.h"
#include "history/writer.h"

#include <memory>
#include <string>
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

  private:
    history::Recorder &recorder_;
    uint32_t first_; /* session of the history */
    uint32_t lanes_;
    std::vector<history::Access> reads_;
    std::vector<history::Access> writes_;
};

/* The file of a run, and a listener for each of its threads. */
class History
{
  public:
    /* Throws history::Failure. */
    History(const std::string &path, const history::Header &header, uint32_t threads,
            uint32_t coroutines);
    Listener *listener(uint32_t thread)
    {
        return scribes_[thread].get();
    }
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
