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
 * An object is [shard, bytes of its payload, bytes of its slot, letters, table, number]. Objects
 * are numbered from 1, in the order of their first access. The letters:
 *
 *   r  the attempt read it
 *   s  the commit validates that it is unchanged
 *   l  the message that read it found its lock free: if it is the only object with s, it is not
 *      validated again
 *   w  the attempt wrote it
 *   t  the message that read it took its lock
 *
 * log_bytes is the length of the redo record, remote the engine's count of operations on servers. A
 * trace whose attempts explain less than 97 % of that count is refused. The remainder are reads of
 * inner nodes of an ordered index, which are neither validated nor traced.
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
    uint32_t slot; /* bytes, with header and padding */
    bool read;
    bool seen;
    bool written;
    uint32_t table;
    uint32_t number; /* identifies the object */
    bool settled = false;
    bool taken = false;
};

struct Attempt {
    bool committed;
    uint64_t log_bytes;
    std::vector<Object> objects;

    uint32_t writes() const;
    /* Does the attempt validate a single object and write none? */
    bool is_lone_read() const
    {
        return writes() == 0 && validated() == 1;
    }
    /* Objects that were only read and are validated; an attempt that aborts writes none. */
    uint32_t validated() const;
    /* Number of operations on servers, as the engine counts them. */
    uint64_t remote(uint32_t replicas, bool durable) const;
};

struct Trace {
    std::string workload;
    uint32_t servers = 1;
    uint32_t replicas = 1;
    bool durable = true;
    uint64_t transactions = 0; /* of the workload; one may be several attempts */
    uint64_t remote = 0;
    uint32_t objects = 0;            /* the largest number of an object */
    std::vector<std::string> tables; /* names, by number */
    std::vector<Attempt> attempts;

    /* Keep the accesses to rows of @table only, and set their payload to @payload bytes: as if
     * clients had all other data locally. Redo records shrink accordingly. False: no such table. */
    bool keep_only(const std::string &table, uint32_t payload);
};

/* Throws std::runtime_error with file and line. */
Trace read_trace(const std::string &path);

} // namespace dtx::model
#endif
