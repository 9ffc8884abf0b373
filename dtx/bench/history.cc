/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history.cc: attempts as entries of a history.
 */
#include "bench/history.h"

#include "workload/final.h"

namespace dtx::bench
{

namespace
{

/* Did the body abort by its own decision, after the session had validated its reads? The history
 * has that as a committed transaction without writes, so that the checker checks the reads. */
bool gave_up(const Attempt &attempt)
{
    return attempt.status == Status::aborted && attempt.holds;
}

history::Status status_of(const Attempt &attempt)
{
    switch (attempt.status) {
    case Status::committed:
        return history::Status::kCommitted;
    case Status::aborted:
        return gave_up(attempt) ? history::Status::kCommitted : history::Status::kAborted;
    default:
        return history::Status::kUnknown;
    }
}

} // namespace

void ThreadRecorder::ended(const Attempt &attempt)
{
    history::Entry entry;

    if (attempt.set >= sessions_)
        throw Error(0, "a thread has more transactions under way than coroutines (" +
                           std::to_string(sessions_) + "): this is a bug of dtx-bench; report it");
    reads_.clear();
    writes_.clear();
    for (const Access *access : attempt.accesses) {
        uint64_t object = access->address.word;
        /* An attempt that a conflict ended may not have set the new version in the header. */
        uint64_t made =
            attempt.status == Status::aborted ? access->version + 1 : access->header().version;

        if (access->seen)
            reads_.push_back({ object, access->version, access->writer });
        if (access->written && !gave_up(attempt)) {
            writes_.push_back({ object, made, 0 });
            written_.insert(object);
        }
    }
    entry.txn = attempt.txn;
    entry.session = first_ + attempt.set;
    entry.begin_ns = attempt.begin_ns;
    entry.end_ns = attempt.end_ns;
    entry.status = status_of(attempt);
    entry.reads = reads_;
    entry.writes = writes_;
    recorder_.record(entry);
}

History::History(const std::string &path, const history::Header &header, const Options &options)
{
    uint32_t sessions = 2 * options.coroutines; /* see ThreadRecorder */
    history::Recorder::Options recording;

    recording.sessions = (options.first + options.threads) * sessions;
    if (!options.buffered)
        recording.buffer_bytes = 0;
    recorder_ = history::Recorder::open(path, header, recording);
    for (uint32_t i = 0; i < options.threads; i++)
        threads_.push_back(
            std::make_unique<ThreadRecorder>(*recorder_, (options.first + i) * sessions, sessions));
}

void History::final_state(const Cluster &cluster)
{
    std::unordered_set<uint64_t> written;

    for (const auto &thread : threads_)
        written.insert(thread->written().begin(), thread->written().end());
    record_final<history::Access>(
        *recorder_, cluster, [&](Address address) { return written.count(address.word) != 0; });
}

} // namespace dtx::bench
