/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h: a trace of dtx-bench: which remote objects the attempts of transactions accessed.
 *
 * Lines of JSON. The first says what ran, the last how much; a line between them is an attempt:
 *
 *   {"dtx":2,"what":"trace","workload":"tpcc","servers":3,"replicas":2,"durable":true,
 *    "tables":["","warehouse",...],...}
 *   {"committed":true,"log_bytes":416,"objects":[[0,88,128,"rsw",1,7],...]}
 *   {"what":"end","attempts":1000,"transactions":1000,"remote":35000}
 *
 * An object is [shard, bytes of its payload, bytes of its slot, letters, table, number]: r it was
 * read, s what was seen has to be so still at the commit, unless it is all that was seen and l, its
 * lock was found free in the message that read it, w it was written, t its lock was taken in the
 * message that read it; objects are numbered from 1 as the run meets with them. log_bytes are of
 * the redo record, remote counts the engine's operations on servers: attempts that explain less
 * than 97 % of it are refused. What is left are nodes above the leaves of an ordered index, which
 * are read for the way and not kept.
 *
 * Tests: tests/unit/dtx/model/trace_test.cpp
 */
#ifndef DTX_MODEL_TRACE_H
#define DTX_MODEL_TRACE_H

#include <cstdint>
#include <string>
#include <vector>

namespace dtx::model
{

struct Object {
    uint32_t shard;
    uint32_t payload;
    uint32_t slot; /* with header and padding */
    bool read;
    bool seen;
    bool written;
    uint32_t table;
    uint32_t number; /* the same for the same object */
    bool settled = false;
    bool taken = false;
};

struct Attempt {
    bool committed;
    uint64_t log_bytes;
    std::vector<Object> objects;

    uint32_t writes() const;
    /* Is one object all that has to be so still, and nothing written? */
    bool is_lone_read() const
    {
        return writes() == 0 && looked_at() == 1;
    }
    /* Only read, and validated at the end: an attempt that gives up writes nothing. */
    uint32_t looked_at() const;
    /* Operations on servers, as the engine counts them. */
    uint64_t remote(uint32_t replicas, bool durable) const;
};

struct Trace {
    std::string workload;
    uint32_t servers = 1;
    uint32_t replicas = 1;
    bool durable = true;
    uint64_t transactions = 0; /* as the workload counts them */
    uint64_t remote = 0;
    uint32_t objects = 0;            /* the largest number of one */
    std::vector<std::string> tables; /* names, by number */
    std::vector<Attempt> attempts;

    /* As if a client had all it needs at hand but one table's rows: only these are on servers and
     * in redo records, with payloads of @payload bytes. False: there is no such table. */
    bool keep_only(const std::string &table, uint32_t payload);
};

/* Throws std::runtime_error with file and line. */
Trace read_trace(const std::string &path);

} // namespace dtx::model
#endif
