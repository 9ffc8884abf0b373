/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * entry.h: one transaction of a history. FORMAT.md describes its fields.
 */
#ifndef DTX_HISTORY_ENTRY_H
#define DTX_HISTORY_ENTRY_H

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace dtx::history
{

enum class Status : uint8_t { kCommitted, kAborted, kUnknown };

inline const char *status_name(Status status)
{
    static const char *const names[] = { "committed", "aborted", "unknown" };

    return names[static_cast<size_t>(status)];
}

/* One version of one object: read (writer: the transaction that made it, 0 for the initial load) or
 * written (writer is ignored). Version 0: the object was never written. */
struct Access {
    uint64_t object = 0;
    uint64_t version = 0;
    uint64_t writer = 0;
};

/* One attempt of a transaction. Times are of one monotonic clock in ns: before its first access,
 * and when its caller got the outcome. */
struct Entry {
    uint64_t txn = 0; /* unique in the history, never 0 */
    uint32_t session = 0;
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;
    Status status = Status::kCommitted;
    std::span<const Access> reads;
    std::span<const Access> writes;
};

/* First line of a file. */
struct Header {
    std::string workload;
    uint64_t seed = 0;
    bool fresh =
        false; /* the database was loaded for this history: FORMAT.md, "Before the history" */
};

/* A file that cannot be written, or one that is not a history; what() is one line. */
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace dtx::history
#endif
