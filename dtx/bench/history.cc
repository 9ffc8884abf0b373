/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history.cc: attempts as entries of a history.
 */
#include "bench/history.h"

namespace dtx::bench
{

namespace
{

history::Status status_of(Status status)
{
    switch (status) {
    case Status::committed:
        return history::Status::kCommitted;
    case Status::aborted:
        return history::Status::kAborted;
    default:
        return history::Status::kUnknown;
    }
}

} // namespace

void Scribe::ended(const Attempt &attempt)
{
    history::Entry entry;

    if (attempt.lane >= lanes_)
        throw Error(0, "more transactions at once than coroutines can have");
    reads_.clear();
    writes_.clear();
    for (const Access *access : attempt.accesses) {
        uint64_t object = access->address.word;
        /* An attempt that was given up may not have come to make versions. */
        uint64_t made =
            attempt.status == Status::aborted ? access->version + 1 : access->header().version;

        if (access->seen)
            reads_.push_back({ object, access->version, access->writer });
        if (access->written)
            writes_.push_back({ object, made, 0 });
    }
    entry.txn = attempt.txn;
    entry.session = first_ + attempt.lane;
    entry.begin_ns = attempt.begin_ns;
    entry.end_ns = attempt.end_ns;
    entry.status = status_of(attempt.status);
    entry.reads = reads_;
    entry.writes = writes_;
    recorder_.record(entry);
}

History::History(const std::string &path, const history::Header &header, uint32_t threads,
                 uint32_t coroutines)
{
    uint32_t lanes = 2 * coroutines; /* see Scribe */
    history::Recorder::Options options;

    options.sessions = threads * lanes;
    recorder_ = history::Recorder::open(path, header, options);
    for (uint32_t i = 0; i < threads; i++)
        scribes_.push_back(std::make_unique<Scribe>(*recorder_, i * lanes, lanes));
}

} // namespace dtx::bench
