/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history.h: record the attempts of sessions in a history file.
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

/* Records the attempts of one thread. A session of a history runs one transaction after the other,
 * but a thread runs several at once: each of its coroutines runs one transaction, which may start a
 * nested one to allocate slots. The history therefore has two sessions for each coroutine, one for
 * each read-write set that they can use at once. */
class ThreadRecorder : public Listener
{
  public:
    ThreadRecorder(history::Recorder &recorder, uint32_t first, uint32_t sessions)
        : recorder_(recorder), first_(first), sessions_(sessions)
    {
    }
    void ended(const Attempt &attempt) override;
    /* Addresses of all objects that the thread has written, or may have. */
    const std::unordered_set<uint64_t> &written() const
    {
        return written_;
    }

  private:
    history::Recorder &recorder_;
    uint32_t first_; /* first session of this thread in the history */
    uint32_t sessions_;
    std::vector<history::Access> reads_;
    std::vector<history::Access> writes_;
    std::unordered_set<uint64_t> written_;
};

/* The history file of a run, and a listener for each of its threads. */
class History
{
  public:
    struct Options {
        uint32_t first = 0; /* coordinator number of the first thread */
        uint32_t threads = 1;
        uint32_t coroutines = 1;
        bool buffered = true; /* false: ended() writes the attempt before it returns */
    };

    /* Throws history::Failure. */
    History(const std::string &path, const history::Header &header, const Options &options);
    Listener *listener(uint32_t thread)
    {
        return threads_[thread].get();
    }
    /* Record the version and writer of each written object, from every copy. All sessions have
     * ended, and no other process uses the database. */
    void final_state(const Cluster &cluster);
    /* After all sessions have ended. Throws history::Failure. */
    void close()
    {
        recorder_->close();
    }

  private:
    std::unique_ptr<history::Recorder> recorder_;
    std::vector<std::unique_ptr<ThreadRecorder>> threads_;
};

} // namespace dtx::bench
#endif
